/* Parquet files, the format of data sets on the hub: columns by name. Without names: the two text columns, plus a score
 * or label column if there is one; or the columns of a struct `translation`; or anchor, positive, negative. A null is
 * an empty text. */
#include "base/error.h"
#include "corpus/format.h"
#include "format/parquet.h"

#include <strings.h>

typedef struct parquet {
  cq_format_reader base;
  cq_parquet *file; /* that is read; NULL: the next one is opened */
  cq_parquet_rows *rows;
  size_t next_input;
  size_t n_columns;
} parquet;

/* --- which columns --- */

static bool is_one_of(const char *name, const char *const *names) {
  while (*names && strcasecmp(name, *names) != 0) names++;
  return *names;
}

/* Finds columns of one kind, up to three; returns their total number. */
static size_t find_texts(size_t out[3], const cq_parquet *file, const char *beginning) {
  size_t n = 0;
  for (size_t i = 0; i < cq_parquet_n_columns(file); i++) {
    const cq_parquet_column *column = cq_parquet_column_at(file, i);
    if (column->kind != CQ_PARQUET_TEXT || strncmp(column->name, beginning, strlen(beginning)) != 0) continue;
    if (n < 3) out[n] = i;
    n++;
  }
  return n;
}

/* Finds a score or label: a number, or a text besides the pair. */
static bool find_label(size_t *out, const cq_parquet *file) {
  static const char *const names[] = {"score", "label", "similarity", "similarity_score", "gold_label", NULL};
  for (size_t i = 0; i < cq_parquet_n_columns(file); i++) {
    const cq_parquet_column *column = cq_parquet_column_at(file, i);
    *out = i;
    if (column->kind != CQ_PARQUET_OTHER && is_one_of(column->name, names)) return true;
  }
  return false;
}

/* Chooses two texts and a label; *n is 0 if the choice is ambiguous. */
static void choose_columns(size_t out[3], size_t *n, const cq_parquet *file) {
  static const char *const triplet[] = {"anchor", "positive", "negative"};
  size_t texts[3], label = 0, taken = 0;
  const bool has_label = find_label(&label, file);
  *n = 0;
  if (find_texts(out, file, "translation.") == 2) {
    *n = 2;
    return;
  }
  const size_t n_texts = find_texts(texts, file, "");
  if (n_texts > 3) return;
  for (size_t i = 0; i < n_texts; i++) taken += !(has_label && texts[i] == label);
  if (taken == 2) {
    for (size_t i = 0; i < n_texts; i++)
      if (!has_label || texts[i] != label) out[(*n)++] = texts[i];
    if (has_label) out[(*n)++] = label;
    return;
  }
  if (taken != 3) return;
  for (size_t k = 0; k < 3; k++)
    for (size_t i = 0; i < n_texts; i++)
      if (!strcasecmp(cq_parquet_column_at(file, texts[i])->name, triplet[k])) out[k] = texts[i], *n += 1;
  if (*n != 3) *n = 0;
}

static cq_status fail_choice(const cq_parquet *file, const char *path, cq_error *error) {
  cq_builder names = {.limit = 400};
  for (size_t i = 0; i < cq_parquet_n_columns(file); i++) {
    const cq_parquet_column *column = cq_parquet_column_at(file, i);
    if (column->kind == CQ_PARQUET_OTHER) continue;
    if (names.n) cq_builder_char(&names, ',');
    cq_builder_text(&names, column->name);
  }
  const cq_status status = cq_fail_file(error, CQ_ERR_ARGUMENT, path, "which columns? Some of %s%s",
                                        names.n ? names.data : "none", names.failed ? " ..." : "");
  cq_builder_free(&names);
  return status;
}

static cq_status find_columns(size_t columns[CQ_ROW_MAX], parquet *p, const char *path, cq_error *error) {
  const cq_corpus_convert_options *o = p->base.o;
  cq_status status = CQ_OK;
  p->n_columns = o->n_columns;
  for (size_t i = 0; !status && i < o->n_columns; i++)
    status = cq_parquet_find(&columns[i], p->file, o->columns[i], error);
  if (o->n_columns > 0) return status;
  choose_columns(columns, &p->n_columns, p->file);
  return p->n_columns ? CQ_OK : fail_choice(p->file, path, error);
}

/* --- rows --- */

static void close_parquet(cq_format_reader *reader) {
  parquet *p = (parquet *)reader;
  cq_parquet_rows_close(p->rows);
  cq_parquet_close(p->file);
  p->rows = NULL, p->file = NULL;
}

static cq_status open_next(parquet *p, cq_error *error) {
  const char *path = p->base.o->inputs[p->next_input++];
  size_t columns[CQ_ROW_MAX];
  if (!strcmp(path, "-"))
    return cq_fail(error, CQ_ERR_ARGUMENT, "parquet is read from files only: its end is read first");
  cq_status status = cq_parquet_open(&p->file, path, error);
  if (!status) status = find_columns(columns, p, path, error);
  return status ? status : cq_parquet_rows_open(&p->rows, p->file, columns, p->n_columns, error);
}

/* Opens the first file, so that its errors are reported before anything is written. */
static cq_status open_parquet(cq_format_reader *reader, cq_error *error) {
  return open_next((parquet *)reader, error);
}

/* Malformed text in a single row: with skip_bad, skipped and counted; otherwise an error. */
static cq_status pass_over(const parquet *p, cq_status status, const cq_error *why, cq_error *error) {
  if (status == CQ_ERR_FORMAT && p->base.flow.skip_bad && !cq_parquet_rows_broken(p->rows)) {
    cq_corpus_drop(p->base.counts, "malformed");
    return CQ_OK;
  }
  if (error) *error = *why;
  return status;
}

static cq_status next_parquet_row(cq_row *out, cq_format_reader *reader, cq_error *error) {
  parquet *p = (parquet *)reader;
  out->n = 0;
  for (;;) {
    cq_error why = {0};
    bool found = false;
    cq_status status = CQ_OK;
    if (!p->rows) {
      if (p->next_input == reader->o->n_inputs) return CQ_OK;
      status = open_next(p, error);
      if (status) return status;
    }
    const cq_status read = cq_parquet_rows_next(&found, out->columns, p->rows, &why);
    if (found || read) status = cq_corpus_count_row(reader->counts, &reader->flow, error);
    if (!status && read) status = pass_over(p, read, &why, error);
    if (status) return status;
    if (read) continue;
    if (!found) {
      close_parquet(reader);
      continue;
    }
    for (size_t i = 0; i < p->n_columns; i++)
      if (!out->columns[i].data) out->columns[i] = cq_slice_of("");
    out->n = p->n_columns;
    return CQ_OK;
  }
}

const cq_format cq_format_parquet =
    CQ_FORMAT_OF(".parquet", "parquet", "FILE...", 1, CQ_MANY_FILES, .has_columns = true, parquet, open_parquet,
                 next_parquet_row, close_parquet,
                 "Parquet, the hub's format: two columns of text, with their score or "
                 "label, or --columns translation.en,translation.de");
