/* Hypotheses and references from files: line i of each is sentence i. */
#include "calque/lab/mt.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include "calque/lines.h"

#include <string.h>

typedef struct owned {
  cq_mt_texts texts; /* first: it is what the caller holds */
  cq_arena bytes;
  cq_slice **columns; /* [n_columns] the hypotheses, then each reference's */
  size_t n_columns;
} owned;

/* Reads one file. n_wanted SIZE_MAX: any number of lines; otherwise, the number in `first`. */
static cq_status read_column(owned *o, size_t column, const char *path, size_t n_wanted, const char *first,
                             cq_error *error) {
  size_t n = 0, capacity = 0;
  cq_lines *lines;
  cq_slice line;
  cq_status status = cq_lines_open(&lines, path, error);
  if (status) return status;
  while ((status = cq_lines_next(&line, lines, error)) == CQ_OK && line.data) {
    if (n == n_wanted) {
      status = cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(lines), cq_lines_number(lines),
                            "one line more than the %zu of %s", n_wanted, first);
      break;
    }
    char *copy = cq_arena_strndup(&o->bytes, line.data, line.n);
    if (!copy || !cq_reserve((void **)&o->columns[column], &capacity, n + 1, sizeof **o->columns)) {
      status = cq_fail_memory(error, path);
      break;
    }
    o->columns[column][n++] = (cq_slice){copy, line.n};
  }
  if (!status && n == 0)
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, cq_lines_path(lines), "the file is empty");
  else if (!status && n_wanted != SIZE_MAX && n < n_wanted)
    status = cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(lines), n + 1,
                          "the file ends after %zu line%s, %s has %zu", n, n == 1 ? "" : "s", first, n_wanted);
  if (!status) o->texts.n = n;
  cq_lines_close(lines);
  return status;
}

cq_status cq_mt_read(cq_mt_texts **out, const char *hypotheses, const char *const *references, size_t n_references,
                     cq_error *error) {
  *out = NULL;
  size_t n_stdin = !strcmp(hypotheses, "-");
  if (n_references == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "%s: there are no references", hypotheses);
  for (size_t r = 0; r < n_references; r++) n_stdin += !strcmp(references[r], "-");
  if (n_stdin > 1) return cq_fail(error, CQ_ERR_ARGUMENT, "<stdin>: only one of the files can be standard input");
  owned *o = cq_alloc_zeroed(sizeof *o);
  if (!o) return cq_fail_memory(error, hypotheses);
  o->columns = cq_alloc_array_zeroed(n_references + 1, sizeof *o->columns);
  if (!o->columns) {
    cq_free(o);
    return cq_fail_memory(error, hypotheses);
  }
  o->n_columns = n_references + 1;
  cq_status status = read_column(o, 0, hypotheses, SIZE_MAX, NULL, error);
  for (size_t r = 0; !status && r < n_references; r++)
    status = read_column(o, r + 1, references[r], o->texts.n, strcmp(hypotheses, "-") ? hypotheses : "<stdin>", error);
  if (status) {
    cq_mt_free(&o->texts);
    return status;
  }
  o->texts.hypotheses = o->columns[0];
  o->texts.references = (const cq_slice *const *)(o->columns + 1);
  o->texts.n_references = n_references;
  *out = &o->texts;
  return CQ_OK;
}

void cq_mt_free(cq_mt_texts *texts) {
  owned *o = (owned *)texts;
  if (!o) return;
  for (size_t c = 0; c < o->n_columns; c++) cq_free(o->columns[c]);
  cq_free(o->columns);
  cq_arena_free(&o->bytes);
  cq_free(o);
}
