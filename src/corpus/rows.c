/* Reads and writes rows of parallel text, and counts dropped rows. See rows.h. */
#include "corpus/rows.h"

#include "base/error.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

const char *const cq_corpus_matches[] = {"exact", "normalized", NULL};

/* --- counts --- */

static void count_dropped(cq_corpus_counts *counts, const char *reason, uint64_t n) {
  size_t i = 0;
  while (i < counts->n_reasons && strcmp(counts->dropped[i].reason, reason) != 0) i++;
  assert(i < CQ_CORPUS_MAX_REASONS);
  if (i == counts->n_reasons) counts->dropped[counts->n_reasons++].reason = reason;
  counts->dropped[i].n += n;
}

void cq_corpus_drop(cq_corpus_counts *counts, const char *reason) {
  count_dropped(counts, reason, 1);
}

void cq_corpus_add_dropped(cq_corpus_counts *counts, const cq_corpus_counts *other) {
  for (size_t i = 0; i < other->n_reasons; i++) {
    counts->n_read += other->dropped[i].n;
    count_dropped(counts, other->dropped[i].reason, other->dropped[i].n);
  }
}

cq_status cq_corpus_count_row(cq_corpus_counts *counts, const cq_corpus_flow *flow, cq_error *error) {
  return ++counts->n_read % CQ_CORPUS_EVERY == 0 ? cq_corpus_ask(counts, flow, error) : CQ_OK;
}

cq_status cq_corpus_ask(const cq_corpus_counts *counts, const cq_corpus_flow *flow, cq_error *error) {
  if (!flow->progress) return CQ_OK;
  return flow->progress(flow->progress_context, counts->n_read) ? CQ_OK : cq_fail(error, CQ_ERR_STOPPED, "stopped");
}

/* --- reading --- */

cq_status cq_corpus_check_inputs(const char *const *inputs, size_t n, const char *const *more, size_t n_more,
                                 cq_error *error) {
  size_t n_standard = 0;
  for (size_t i = 0; i < n + n_more; i++) n_standard += !strcmp(i < n ? inputs[i] : more[i - n], "-");
  return n_standard < 2 ? CQ_OK : cq_fail(error, CQ_ERR_ARGUMENT, "standard input is named %zu times", n_standard);
}

cq_status cq_corpus_line(cq_slice *out, cq_lines *lines, const cq_corpus_flow *flow, cq_corpus_counts *counts,
                         cq_error *error) {
  cq_error why = {0};
  for (;;) {
    const cq_status status = cq_lines_next(out, lines, &why);
    if (!status) return CQ_OK;
    if (status != CQ_ERR_FORMAT || !flow->skip_bad || cq_lines_broken(lines)) {
      if (error) *error = why;
      return status;
    }
    counts->n_read++;
    cq_corpus_drop(counts, "malformed");
  }
}

static cq_status fail_columns(const cq_row_reader *r, size_t n, cq_error *error) {
  if (r->flow->skip_bad) {
    cq_corpus_drop(r->counts, "malformed");
    return CQ_OK;
  }
  const char *path = cq_lines_path(r->lines);
  const uint64_t line = cq_lines_number(r->lines);
  if (n > CQ_ROW_MAX) return cq_fail_line(error, CQ_ERR_FORMAT, path, line, "more than %d columns", CQ_ROW_MAX);
  return cq_fail_line(error, CQ_ERR_FORMAT, path, line, "%zu column%s, expected at least %zu", n, n == 1 ? "" : "s",
                      r->min_columns);
}

/* In quotation marks, with doubled ones inside and no others. */
static bool is_quoted(cq_slice field) {
  size_t n_inside = 0;
  if (field.n < 4 || field.data[0] != '"' || field.data[field.n - 1] != '"') return false;
  for (size_t i = 1; i + 1 < field.n; i++) {
    if (field.data[i] != '"') continue;
    if (i + 2 >= field.n || field.data[i + 1] != '"') return false;
    n_inside++, i++;
  }
  return n_inside > 0;
}

cq_status cq_row_reader_next(cq_row *out, cq_row_reader *r, cq_error *error) {
  out->n = 0;
  for (;;) {
    cq_status status = CQ_OK;
    if (!r->lines) {
      if (r->next_path == r->n_paths) return CQ_OK;
      status = cq_lines_open(&r->lines, r->paths[r->next_path++], error);
    }
    if (!status) status = cq_corpus_line(&out->line, r->lines, r->flow, r->counts, error);
    if (status) return status;
    if (!out->line.data) {
      cq_row_reader_close(r);
      continue;
    }
    status = cq_corpus_count_row(r->counts, r->flow, error);
    if (status) return status;
    const size_t n = cq_tsv_split(out->columns, CQ_ROW_MAX, out->line);
    if (n >= r->min_columns && n <= CQ_ROW_MAX) {
      size_t quoted = 0;
      while (quoted < n && !is_quoted(out->columns[quoted])) quoted++;
      r->counts->n_quoted += quoted < n;
      out->n = n;
      return CQ_OK;
    }
    status = fail_columns(r, n, error);
    if (status) return status;
  }
}

void cq_row_reader_close(cq_row_reader *r) {
  cq_lines_close(r->lines);
  r->lines = NULL;
}

cq_status cq_corpus_visit_rows(const char *const *paths, size_t n_paths, size_t min_columns, cq_row_visit visit,
                               void *context, const char *what, const cq_corpus_flow *flow, cq_corpus_counts *counts,
                               cq_error *error) {
  cq_corpus_counts uncounted = {0};
  cq_row row;
  cq_row_reader rows = {
      .paths = paths, .n_paths = n_paths, .min_columns = min_columns, .flow = flow, .counts = &uncounted};
  cq_status status = CQ_OK;
  while (cq_row_reader_more(&status, &row, &rows, error))
    if (!visit(context, &row)) status = cq_fail_memory(error, what);
  cq_row_reader_close(&rows);
  cq_corpus_add_dropped(counts, &uncounted);
  return status;
}

/* --- writing --- */

static bool ends_in(const char *path, size_t n, const char *end) {
  return n > strlen(end) && !strncasecmp(path + n - strlen(end), end, strlen(end));
}

/* The extension of another format in a file's name, also before that of a compression; NULL: there is none. */
static const char *other_format(const char *path) {
  static const char *const formats[] = {".tmx",     ".xlf", ".xliff", ".xml",  ".json", ".jsonl", ".csv",
                                        ".parquet", ".npy", ".moses", ".html", ".md",   ".xlsx",  ".ods"};
  const size_t n = strlen(path) - cq_text_writer_ending(path);
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (ends_in(path, n, formats[i])) return formats[i];
  return NULL;
}

cq_status cq_row_writer_open(cq_row_writer *out, const cq_corpus_flow *flow, cq_corpus_counts *counts,
                             cq_error *error) {
  const char *other = flow->output ? other_format(flow->output) : NULL;
  *out = (cq_row_writer){.counts = counts};
  if (other)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, flow->output,
                        "rows are written as tab-separated text, not as %s: give the file another name", other + 1);
  return cq_text_writer_open(&out->text, flow->output, error);
}

cq_status cq_row_writer_line(cq_row_writer *w, cq_slice line, cq_error *error) {
  w->counts->n_written++;
  const cq_status status = cq_text_writer_put(&w->text, line.data, line.n, error);
  return status ? status : cq_text_writer_put(&w->text, "\n", 1, error);
}

/* A column without tabs and line breaks. */
static cq_status put_column(cq_row_writer *w, cq_slice text, cq_error *error) {
  cq_status status = CQ_OK;
  while (!status && text.n) {
    size_t n = 0;
    while (n < text.n && text.data[n] != '\t' && text.data[n] != '\n' && text.data[n] != '\r') n++;
    status = cq_text_writer_put(&w->text, text.data, n, error);
    if (n == text.n) break;
    while (n < text.n && cq_is_blank(text.data[n])) n++; /* not at the end: it is trimmed */
    text.data += n, text.n -= n;
    if (!status) status = cq_text_writer_put(&w->text, " ", 1, error);
  }
  return status;
}

cq_status cq_row_writer_put(cq_row_writer *w, const cq_row *row, cq_error *error) {
  cq_slice columns[CQ_ROW_MAX];
  bool any = false;
  for (size_t c = 0; c < row->n; c++) {
    columns[c] = cq_slice_trimmed(row->columns[c]);
    any |= c > 0 && columns[c].n > 0;
  }
  if (!any || columns[0].n == 0) {
    cq_corpus_drop(w->counts, "empty");
    return CQ_OK;
  }
  cq_status status = CQ_OK;
  for (size_t c = 0; !status && c < row->n; c++) {
    status = put_column(w, columns[c], error);
    if (!status) status = cq_text_writer_put(&w->text, c + 1 < row->n ? "\t" : "\n", 1, error);
  }
  w->counts->n_written++;
  return status;
}

cq_status cq_row_writer_finish(cq_row_writer *w, cq_status status, cq_error *error) {
  if (!status) status = cq_text_writer_commit(&w->text, error);
  cq_text_writer_abort(&w->text);
  return status;
}

/* --- choosing --- */

static cq_status put_rejected(cq_text_writer *w, const char *why, cq_slice line, cq_error *error) {
  cq_status status = cq_text_writer_put(w, why, strlen(why), error);
  if (!status) status = cq_text_writer_put(w, "\t", 1, error);
  if (!status) status = cq_text_writer_put(w, line.data, line.n, error);
  return status ? status : cq_text_writer_put(w, "\n", 1, error);
}

cq_status cq_corpus_choose(cq_row_reader *rows, cq_row_check check, void *context, cq_error *error) {
  const char *path = rows->flow->rejected;
  cq_row_writer writer;
  cq_text_writer rejected = {0};
  cq_row row;
  if (path && rows->flow->output && !strcmp(path, rows->flow->output))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, path, "kept and rejected rows need two files");
  cq_status status = cq_row_writer_open(&writer, rows->flow, rows->counts, error);
  if (status) return status;
  if (path) status = cq_text_writer_open(&rejected, path, error);
  while (cq_row_reader_more(&status, &row, rows, error)) {
    const char *why;
    const cq_slice line = row.line;
    status = check(&why, context, &row, error);
    if (!status && !why) status = cq_row_writer_line(&writer, row.line, error);
    if (status || !why) continue;
    cq_corpus_drop(rows->counts, why);
    if (path) status = put_rejected(&rejected, why, line, error);
  }
  cq_row_reader_close(rows);
  if (path && !status) status = cq_text_writer_commit(&rejected, error);
  cq_text_writer_abort(&rejected);
  return cq_row_writer_finish(&writer, status, error);
}
