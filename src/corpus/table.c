/* Lines of fields: tab-separated tables, by number or by the names of their first line (TED2020), with scores
 * (WikiMatrix), and lists of two words a line (MUSE).
 *
 *   wikimatrix   1.0534 <tab> A sentence. <tab> Ein Satz.
 *   muse         cat chat                                     a blank or a tab between */
#include "corpus/format.h"

#include "base/error.h"
#include "base/memory.h"

enum { MOST_FILES = 1024 };

typedef struct table {
  cq_form base;
  cq_row_reader rows;
  size_t places[CQ_ROW_MOST]; /* [n], from 0: the columns that are taken */
  size_t n;
  double threshold;
} table;

static cq_status take_numbers(table *t, cq_error *error) {
  const cq_corpus_convert_options *o = t->base.o;
  for (size_t i = 0; i < o->n_columns; i++) {
    double number;
    if (!cq_slice_number(&number, cq_slice_of(o->columns[i])) || number < 1 || number > CQ_ROW_MOST ||
        number != (double)(size_t)number)
      return cq_fail(error, CQ_ERR_ARGUMENT, "column '%s', expected a number from 1 to %d", o->columns[i], CQ_ROW_MOST);
    t->places[t->n++] = (size_t)number - 1;
  }
  return CQ_OK;
}

/* The first line has the columns' names. */
static cq_status take_names(table *t, cq_error *error) {
  const cq_corpus_convert_options *o = t->base.o;
  cq_row head;
  if (o->n_columns == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "%s: which columns?", t->base.kind->about.name);
  cq_status status = cq_row_reader_next(&head, &t->rows, error);
  if (status) return status;
  if (head.n == 0) return cq_fail_file(error, CQ_ERR_FORMAT, o->inputs[0], "no line of column names");
  t->base.counts->n_read--; /* it is no row */
  for (size_t i = 0; i < o->n_columns; i++) {
    size_t place = 0;
    while (place < head.n && !cq_slice_equal(head.columns[place], cq_slice_of(o->columns[i]))) place++;
    if (place == head.n)
      return cq_fail_line(error, CQ_ERR_FORMAT, o->inputs[0], 1, "no column is named '%s'", o->columns[i]);
    t->places[t->n++] = place;
  }
  return CQ_OK;
}

/* Every form: the lines, whatever is on them. */
static cq_status open_lines(cq_form *form, cq_error *error) {
  const cq_corpus_convert_options *o = form->o;
  ((table *)form)->rows =
      (cq_row_reader){.paths = o->inputs, .n_paths = o->n_inputs, .least = 1, .flow = &o->flow, .counts = form->counts};
  (void)error;
  return CQ_OK;
}

/* Columns; a score comes before them. */
static cq_status open_table(cq_form *form, cq_error *error) {
  table *t = (table *)form;
  const cq_corpus_convert_options *o = form->o;
  const size_t first = form->kind->about.has_scores;
  t->threshold = o->threshold >= 0 ? o->threshold : 1.05;
  cq_status status = open_lines(form, error);
  if (t->base.kind == &cq_form_ted2020)
    status = take_names(t, error);
  else if (o->n_columns > 0)
    status = take_numbers(t, error);
  for (size_t i = 0; !status && t->n < 2 && i < 2; i++) t->places[t->n++] = first + i;
  t->rows.least = first + 2;
  for (size_t i = 0; i < t->n; i++)
    if (t->places[i] >= t->rows.least) t->rows.least = t->places[i] + 1;
  return status;
}

static void close_table(cq_form *form) {
  cq_row_reader_close(&((table *)form)->rows);
}

static cq_status malformed(table *t, cq_slice field, const char *expected, cq_error *error) {
  if (t->base.o->flow.skip_bad) {
    cq_corpus_lose(t->base.counts, "malformed");
    return CQ_OK;
  }
  return cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(t->rows.lines), cq_lines_number(t->rows.lines),
                      "'%.*s', expected %s", (int)cq_smaller(field.n, 80), field.data, expected);
}

static cq_status next_row(cq_row *out, cq_form *form, cq_error *error) {
  table *t = (table *)form;
  cq_slice taken[CQ_ROW_MOST];
  for (;;) {
    cq_status status = cq_row_reader_next(out, &t->rows, error);
    if (status || out->n == 0) return status;
    if (form->kind->about.has_scores) {
      double score;
      if (!cq_slice_number(&score, out->columns[0])) {
        status = malformed(t, out->columns[0], "a score", error);
        if (status) return status;
        continue;
      }
      if (score < t->threshold) {
        cq_corpus_lose(form->counts, "below the threshold");
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
static cq_status next_words(cq_row *out, cq_form *form, cq_error *error) {
  table *t = (table *)form;
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
    status = malformed(t, line, "two words", error);
    if (status) return status;
  }
}

#define TABLE_FORM(label, files, most, columns, scores, text, opens, nexts)                                            \
  {                                                                                                                    \
    .about = {.name = label,                                                                                           \
              .inputs = files,                                                                                         \
              .least_inputs = 1,                                                                                       \
              .most_inputs = most,                                                                                     \
              .has_columns = columns,                                                                                  \
              .has_scores = scores,                                                                                    \
              .help = text},                                                                                           \
    .size = sizeof(table), .open = opens, .next = nexts, .close = close_table,                                         \
  }

const cq_form_kind cq_form_tsv =
    TABLE_FORM("tsv", "FILE...", MOST_FILES, true, false,
               "tab-separated columns: the first two, or those of --columns 3,1", open_table, next_row);
const cq_form_kind cq_form_ted2020 =
    TABLE_FORM("ted2020", "FILE", 1, true, false,
               "tab-separated columns that the first line names, as TED2020's; --columns en,de", open_table, next_row);
const cq_form_kind cq_form_wikimatrix = TABLE_FORM(
    "wikimatrix", "FILE...", MOST_FILES, false, true,
    "score, sentence, translation between tabs: WikiMatrix, CCMatrix; pairs of --threshold", open_table, next_row);
const cq_form_kind cq_form_muse =
    TABLE_FORM("muse", "FILE...", MOST_FILES, false, false,
               "two words a line, a blank or tab between: MUSE's dictionaries", open_lines, next_words);
