/* Lines of fields: tab-separated tables with columns by number or by name in the first line (TED2020), with scores
 * (WikiMatrix), and lists of two words per line (MUSE).
 *
 *   wikimatrix   1.0534 <tab> A sentence. <tab> Ein Satz.
 *   muse         cat chat                                     separated by a blank or a tab */
#include "corpus/format.h"

#include "base/error.h"
#include "base/memory.h"

typedef struct table {
  cq_format_reader base;
  cq_row_reader rows;
  size_t places[CQ_ROW_MAX]; /* [n], from 0: the columns that are taken */
  size_t n;
  double threshold;
} table;

static cq_status take_numbers(table *t, cq_error *error) {
  const cq_corpus_convert_options *o = t->base.o;
  for (size_t i = 0; i < o->n_columns; i++) {
    double number;
    if (!cq_slice_number(&number, cq_slice_of(o->columns[i])) || number < 1 || number > CQ_ROW_MAX ||
        number != (double)(size_t)number)
      return cq_fail(error, CQ_ERR_ARGUMENT, "column '%s', expected a number from 1 to %d", o->columns[i], CQ_ROW_MAX);
    t->places[t->n++] = (size_t)number - 1;
  }
  return CQ_OK;
}

/* The first line has the columns' names. */
static cq_status take_names(table *t, cq_error *error) {
  const cq_corpus_convert_options *o = t->base.o;
  cq_row head;
  if (o->n_columns == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "%s: which columns?", t->base.format->about.name);
  cq_status status = cq_row_reader_next(&head, &t->rows, error);
  if (status) return status;
  if (head.n == 0) return cq_fail_file(error, CQ_ERR_FORMAT, o->inputs[0], "no line of column names");
  t->base.counts->n_read--; /* it is not a row */
  for (size_t i = 0; i < o->n_columns; i++) {
    size_t place = 0;
    while (place < head.n && !cq_slice_equal(head.columns[place], cq_slice_of(o->columns[i]))) place++;
    if (place == head.n)
      return cq_fail_line(error, CQ_ERR_FORMAT, o->inputs[0], 1, "no column is named '%s'", o->columns[i]);
    t->places[t->n++] = place;
  }
  return CQ_OK;
}

/* Every format: the lines, whatever is on them. */
static cq_status open_lines(cq_format_reader *reader, cq_error *error) {
  const cq_corpus_convert_options *o = reader->o;
  ((table *)reader)->rows = (cq_row_reader){
      .paths = o->inputs, .n_paths = o->n_inputs, .min_columns = 1, .flow = &reader->flow, .counts = reader->counts};
  (void)error;
  return CQ_OK;
}

/* Columns; a score comes before them. */
static cq_status open_table(cq_format_reader *reader, cq_error *error) {
  table *t = (table *)reader;
  const cq_corpus_convert_options *o = reader->o;
  const size_t first = reader->format->about.has_scores;
  t->threshold = o->threshold >= 0 ? o->threshold : 1.05;
  cq_status status = open_lines(reader, error);
  if (t->base.format == &cq_format_ted2020)
    status = take_names(t, error);
  else if (o->n_columns > 0)
    status = take_numbers(t, error);
  for (size_t i = 0; !status && t->n < 2 && i < 2; i++) t->places[t->n++] = first + i;
  t->rows.min_columns = first + 2;
  for (size_t i = 0; i < t->n; i++)
    if (t->places[i] >= t->rows.min_columns) t->rows.min_columns = t->places[i] + 1;
  return status;
}

static void close_table(cq_format_reader *reader) {
  cq_row_reader_close(&((table *)reader)->rows);
}

static cq_status fail_field(table *t, cq_slice field, const char *expected, cq_error *error) {
  if (t->base.flow.skip_bad) {
    cq_corpus_drop(t->base.counts, "malformed");
    return CQ_OK;
  }
  return cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(t->rows.lines), cq_lines_number(t->rows.lines),
                      "'%.*s', expected %s", (int)cq_min(field.n, 80), field.data, expected);
}

static cq_status next_table_row(cq_row *out, cq_format_reader *reader, cq_error *error) {
  table *t = (table *)reader;
  cq_slice taken[CQ_ROW_MAX];
  for (;;) {
    cq_status status = cq_row_reader_next(out, &t->rows, error);
    if (status || out->n == 0) return status;
    if (reader->format->about.has_scores) {
      double score;
      if (!cq_slice_number(&score, out->columns[0])) {
        status = fail_field(t, out->columns[0], "a score", error);
        if (status) return status;
        continue;
      }
      if (score < t->threshold) {
        cq_corpus_drop(reader->counts, "below the threshold");
        continue;
      }
    }
    for (size_t i = 0; i < t->n; i++) taken[i] = out->columns[t->places[i]];
    for (size_t i = 0; i < t->n; i++) out->columns[i] = taken[i];
    out->n = t->n;
    return CQ_OK;
  }
}

/* To the first white space. */
static size_t word_length(cq_slice text) {
  size_t n = 0;
  while (n < text.n && !cq_is_blank(text.data[n])) n++;
  return n;
}

/* Two words with white space between. */
static cq_status next_words(cq_row *out, cq_format_reader *reader, cq_error *error) {
  table *t = (table *)reader;
  for (;;) {
    cq_status status = cq_row_reader_next(out, &t->rows, error);
    if (status || out->n == 0) return status;
    const cq_slice line = cq_slice_trimmed(out->line);
    const size_t first = word_length(line);
    const cq_slice rest = cq_slice_trimmed((cq_slice){line.data + first, line.n - first});
    out->columns[0] = (cq_slice){line.data, first};
    out->columns[1] = rest;
    out->n = 2;
    if (rest.n > 0 && word_length(rest) == rest.n) return CQ_OK;
    status = fail_field(t, line, "two words", error);
    if (status) return status;
  }
}

const cq_format cq_format_tsv =
    CQ_FORMAT_OF(".tsv", "tsv", "FILE...", 1, CQ_MANY_FILES, .has_columns = true, table, open_table, next_table_row,
                 close_table, "tab-separated columns: the first two, or those of --columns 3,1");
const cq_format cq_format_ted2020 =
    CQ_FORMAT("ted2020", "FILE", 1, 1, .has_columns = true, table, open_table, next_table_row, close_table,
              "tab-separated columns that the first line names, as TED2020's; --columns en,de");
const cq_format cq_format_wikimatrix = CQ_FORMAT(
    "wikimatrix", "FILE...", 1, CQ_MANY_FILES, .has_scores = true, table, open_table, next_table_row, close_table,
    "score, sentence, translation between tabs: WikiMatrix, CCMatrix; pairs of at least --threshold");
const cq_format cq_format_muse =
    CQ_FORMAT("muse", "FILE...", 1, CQ_MANY_FILES, .has_columns = false, table, open_lines, next_words, close_table,
              "two words per line, separated by a blank or a tab: MUSE's dictionaries");
