/* CSV with the columns' names in the first row, as spreadsheets and translators' tools export it.
 *
 *   en;de
 *   "It rains; often.";"Es regnet; ""oft""."
 *
 * The separator is a comma, semicolon, tab or bar: the one with which the first row has all wanted names, or the most
 * fields; or that of a line "sep=;". */
#include "base/error.h"
#include "base/memory.h"
#include "corpus/format.h"
#include "format/csv_rows.h"

#include <strings.h>

typedef struct csv {
  cq_format_reader base;
  cq_csv rows;
  cq_lines *lines;
  size_t next_path;
  size_t places[CQ_ROW_MAX], n; /* columns that are taken */
  cq_builder names[2];          /* of the first two, which may be languages */
  const char *languages[2];
} csv;

static cq_status next_line(cq_slice *out, csv *c, cq_error *error) {
  cq_status status;
  do status = cq_csv_line(out, &c->rows, c->lines, error);
  while (!status && out->data && cq_slice_trimmed(*out).n == 0);
  cq_csv_clear(&c->rows);
  c->rows.first = c->rows.number;
  return status;
}

static cq_slice field_at(const csv *c, size_t i) {
  return cq_csv_field(&c->rows.row, c->rows.end, i);
}

/* Finds the columns in the first row; *missing: the first that is not there. */
static void find_columns(csv *c, const char **missing) {
  const cq_corpus_convert_options *o = c->base.o;
  const size_t n_fields = cq_min(c->rows.n, CQ_CSV_COLUMNS);
  *missing = o->n_columns || n_fields > 1 ? NULL : "2";
  c->n = 0;
  for (size_t i = 0; i < (o->n_columns ? o->n_columns : 2) && !*missing; i++) {
    size_t place = o->n_columns ? 0 : i;
    double number = 0;
    while (o->n_columns && place < n_fields &&
           !cq_slice_equal(cq_slice_trimmed(field_at(c, place)), cq_slice_of(o->columns[i])))
      place++;
    if (place == n_fields && cq_slice_number(&number, cq_slice_of(o->columns[i])) && number >= 1 &&
        number <= (double)n_fields)
      place = (size_t)number - 1;
    if (place == n_fields) *missing = o->columns[i];
    c->places[c->n++] = place;
  }
}

static cq_status fail_column(const csv *c, const char *missing, cq_error *error) {
  cq_builder list = {0};
  if (c->rows.n > CQ_CSV_COLUMNS)
    return cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(c->lines), c->rows.first,
                        "no column is named '%s' among the first %d", missing, CQ_CSV_COLUMNS);
  for (size_t i = 0; i < cq_min(c->rows.n, 40); i++)
    cq_builder_printf(&list, "%s%.*s", i ? ", " : "", (int)cq_min(field_at(c, i).n, 60), field_at(c, i).data);
  const cq_status status =
      cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(c->lines), c->rows.first, "no column is named '%s'; there %s %s",
                   missing, c->rows.n == 1 ? "is only" : "are", cq_built(&list).data);
  cq_builder_free(&list);
  return status;
}

/* Reads the first row, with the separator that fits best. */
static cq_status read_names(csv *c, cq_error *error) {
  const char *missing = NULL, *path = cq_lines_path(c->lines);
  char best = ',';
  size_t most = 0;
  cq_slice line;
  cq_status status = next_line(&line, c, error);
  if (!status && line.n == 5 && !strncasecmp(line.data, "sep=", 4)) {
    csv_set_delim(&c->rows.parser, (unsigned char)line.data[4]);
    best = 0;
    status = next_line(&line, c, error);
  }
  if (!status && !line.data) return cq_fail_file(error, CQ_ERR_FORMAT, path, "no line of column names");
  for (const char *s = ",;\t|"; best && *s && !status; s++) {
    cq_csv_clear(&c->rows);
    csv_set_delim(&c->rows.parser, (unsigned char)*s);
    if (cq_csv_parse_line(&c->rows, line, path, NULL) == CQ_ERR_MEMORY) return cq_fail_memory(error, path);
    find_columns(c, &missing);
    const size_t n = c->rows.n + (missing ? 0 : CQ_CSV_COLUMNS);
    if (n > most) most = n, best = *s;
  }
  if (!status && best) csv_set_delim(&c->rows.parser, (unsigned char)best);
  cq_csv_clear(&c->rows);
  if (!status) status = cq_csv_parse(&c->rows, c->lines, line, error);
  if (status) return status;
  find_columns(c, &missing);
  if (missing) return fail_column(c, missing, error);
  for (size_t i = 0; i < 2; i++) {
    cq_builder_clear(&c->names[i]);
    cq_builder_slice(&c->names[i], field_at(c, c->places[i]));
    c->languages[i] = cq_built(&c->names[i]).data;
    if (c->names[i].failed) return cq_fail_memory(error, path);
  }
  c->base.languages = c->languages;
  c->base.n_languages = cq_is_code(cq_built(&c->names[0])) && cq_is_code(cq_built(&c->names[1])) ? 2 : 0;
  return CQ_OK;
}

static cq_status open_csv(cq_format_reader *reader, cq_error *error) {
  return cq_csv_init(&((csv *)reader)->rows, reader->o->inputs[0], error);
}

static cq_status next_csv_row(cq_row *out, cq_format_reader *reader, cq_error *error) {
  csv *c = (csv *)reader;
  const cq_corpus_convert_options *o = reader->o;
  for (out->n = 0;;) {
    cq_slice line;
    cq_status status = CQ_OK;
    if (!c->lines) {
      if (c->next_path == o->n_inputs) return CQ_OK;
      cq_builder_clear(&c->rows.kept), c->rows.next_kept = 0;
      status = cq_lines_open(&c->lines, o->inputs[c->next_path++], error);
      if (!status) status = read_names(c, error);
      if (status) return status;
    }
    if (c->rows.next_kept == c->rows.kept.n) cq_builder_clear(&c->rows.kept), c->rows.next_kept = 0;
    cq_error why = {0};
    status = next_line(&line, c, &why);
    if (!status && !line.data) {
      cq_lines_close(c->lines), c->lines = NULL;
      continue;
    }
    if (!status) status = cq_csv_parse(&c->rows, c->lines, line, &why);
    for (size_t i = 0; i < c->n && !status; i++) {
      if (c->places[i] >= c->rows.n)
        status =
            cq_fail_line(&why, CQ_ERR_FORMAT, cq_lines_path(c->lines), c->rows.first,
                         "%zu column%s, expected at least %zu", c->rows.n, c->rows.n == 1 ? "" : "s", c->places[i] + 1);
      else
        out->columns[i] = field_at(c, c->places[i]);
    }
    const bool is_bad = status == CQ_ERR_FORMAT && reader->flow.skip_bad && !cq_lines_broken(c->lines);
    if (status && !is_bad) {
      if (error) *error = why;
      return status;
    }
    status = cq_corpus_count_row(reader->counts, &reader->flow, error);
    if (status) return status;
    if (!is_bad) {
      out->n = c->n;
      return CQ_OK;
    }
    cq_corpus_drop(reader->counts, "malformed");
  }
}

static void close_csv(cq_format_reader *reader) {
  csv *c = (csv *)reader;
  cq_csv_free(&c->rows);
  cq_lines_close(c->lines);
  for (size_t i = 0; i < 2; i++) cq_builder_free(&c->names[i]);
}

const cq_format cq_format_csv = CQ_FORMAT_OF(
    ".csv", "csv", "FILE...", 1, CQ_MANY_FILES, .has_columns = true, csv, open_csv, next_csv_row, close_csv,
    "columns that the first row names, between commas, semicolons, tabs or bars: --columns en,de, or the "
    "first two");
