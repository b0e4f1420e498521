/* Reads and writes rows of parallel text, and counts dropped rows. See rows.h. */
#include "corpus/rows.h"

#include "base/error.h"

#include <assert.h>
#include <string.h>

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
  out->n = 0, out->unit = NULL;
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

cq_status cq_row_writer_open(cq_row_writer *out, const cq_corpus_flow *flow, cq_corpus_counts *counts,
                             cq_error *error) {
  cq_pairs_kind kind;
  *out = (cq_row_writer){.counts = counts};
  cq_status status = cq_pairs_kind_of(&kind, flow->output, error);
  if (!status) status = cq_pairs_open(&out->pairs, kind, flow->output, NULL, error);
  out->pairs.languages = flow->languages, out->pairs.n_languages = flow->n_languages;
  return status;
}

cq_status cq_row_writer_render(cq_builder *out, cq_row_writer *w, const cq_row *row, cq_error *error) {
  bool any = false;
  if (row->line.data && w->pairs.kind == CQ_PAIRS_AS_TSV) {
    cq_builder_slice(out, row->line);
    cq_builder_char(out, '\n');
    return out->failed ? cq_fail_memory(error, w->pairs.path) : CQ_OK;
  }
  for (size_t c = 1; c < row->n; c++) any |= cq_slice_trimmed(row->columns[c]).n > 0;
  if (any && cq_slice_trimmed(row->columns[0]).n > 0)
    return cq_pairs_render(out, &w->pairs, (cq_slice){0}, row->columns, row->n, row->unit, error);
  cq_corpus_drop(w->counts, "empty");
  return CQ_OK;
}

cq_status cq_row_writer_put(cq_row_writer *w, const cq_row *row, cq_error *error) {
  cq_builder *room = &w->pairs.row;
  cq_builder_clear(room);
  const cq_status status = cq_row_writer_render(room, w, row, error);
  w->counts->n_written += room->n > 0;
  return status ? status : cq_pairs_put_rendered(&w->pairs, cq_built(room), error);
}

cq_status cq_row_writer_finish(cq_row_writer *w, cq_status status, cq_error *error) {
  return cq_pairs_finish(&w->pairs, status, error);
}
