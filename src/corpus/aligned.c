/* Files whose n-th lines are translations of each other: Moses pairs, and Europarl, whose files also have lines of
 * markup (<SPEAKER ID=3 NAME="...">). */
#include "corpus/format.h"

#include "base/error.h"

enum { MAX_FILES = 64 };

typedef struct aligned {
  cq_format_reader base;
  cq_lines *files[MAX_FILES];
} aligned;

static cq_status open_files(cq_format_reader *reader, cq_error *error) {
  aligned *a = (aligned *)reader;
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < reader->o->n_inputs; i++)
    status = cq_lines_open(&a->files[i], reader->o->inputs[i], error);
  return status;
}

static void close_files(cq_format_reader *reader) {
  aligned *a = (aligned *)reader;
  for (size_t i = 0; i < MAX_FILES; i++) cq_lines_close(a->files[i]);
}

/* Reads a line of each file; *malformed: one of them is malformed, so skip the pair. */
static cq_status read_aligned_lines(cq_row *out, bool *is_malformed, aligned *a, cq_error *error) {
  const size_t n = a->base.o->n_inputs;
  *is_malformed = false;
  for (size_t i = 0; i < n; i++) {
    cq_error why = {0};
    const cq_status status = cq_lines_next(&out->columns[i], a->files[i], &why);
    if (status == CQ_ERR_FORMAT && a->base.flow.skip_bad && !cq_lines_broken(a->files[i])) {
      *is_malformed = true;
      out->columns[i] = cq_slice_of("");
    } else if (status) {
      if (error) *error = why;
      return status;
    }
    if (!out->columns[i].data == !out->columns[0].data) continue;
    const cq_lines *ended = a->files[out->columns[i].data ? 0 : i], *other = a->files[out->columns[i].data ? i : 0];
    return cq_fail_file(error, CQ_ERR_FORMAT, cq_lines_path(ended), "ends after line %llu, but %s has more lines",
                        (unsigned long long)cq_lines_number(ended), cq_lines_path(other));
  }
  out->n = out->columns[0].data ? n : 0;
  return CQ_OK;
}

static bool is_markup(cq_slice line) {
  line = cq_slice_trimmed(line);
  return line.n > 1 && line.data[0] == '<' && line.data[line.n - 1] == '>';
}

static cq_status next_aligned_row(cq_row *out, cq_format_reader *reader, cq_error *error) {
  for (;;) {
    bool is_malformed, markup = false;
    cq_status status = read_aligned_lines(out, &is_malformed, (aligned *)reader, error);
    if (status || out->n == 0) return status;
    status = cq_corpus_count_row(reader->counts, &reader->flow, error);
    if (status) return status;
    for (size_t i = 0; reader->format == &cq_format_europarl && i < out->n; i++) markup |= is_markup(out->columns[i]);
    if (!is_malformed && !markup) return CQ_OK;
    cq_corpus_drop(reader->counts, is_malformed ? "malformed" : "markup");
  }
}

const cq_format cq_format_moses =
    CQ_FORMAT("moses", "SOURCE TARGET...", 2, MAX_FILES, .has_columns = false, aligned, open_files, next_aligned_row,
              close_files, "files whose n-th lines are translations of each other: Moses, most of OPUS and WMT");

const cq_format cq_format_europarl =
    CQ_FORMAT("europarl", "SOURCE TARGET...", 2, MAX_FILES, .has_columns = false, aligned, open_files, next_aligned_row,
              close_files, "the same, without lines of markup: Europarl as it is aligned at statmt.org");
