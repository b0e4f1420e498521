/* What all kinds of tasks need: rows of a file, their vectors, figures as JSON. */
#include "calque/lines.h"
#include "cli/mteb/mteb.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void mteb_rows_free(mteb_rows *r) {
  for (size_t i = 0; i < r->n; i++) free((void *)(uintptr_t)r->column[0][i].data);
  for (size_t c = 0; c < 3; c++) free(r->column[c]);
  free(r->line);
  *r = (mteb_rows){0};
}

static bool rows_add(mteb_rows *r, const cq_slice *columns, size_t n_columns, uint64_t line) {
  if (r->n == r->capacity) {
    const size_t capacity = r->capacity ? 2 * r->capacity : 256;
    for (size_t c = 0; c < 3; c++) {
      cq_slice *grown = reallocarray(r->column[c], capacity, sizeof *grown);
      if (!grown) return false;
      r->column[c] = grown;
    }
    uint64_t *lines = reallocarray(r->line, capacity, sizeof *lines);
    if (!lines) return false;
    r->line = lines;
    r->capacity = capacity;
  }
  size_t n_bytes = 1;
  assert(n_columns > 0); /* the first has the text */
  for (size_t c = 0; c < n_columns; c++) n_bytes += columns[c].n;
  char *text = malloc(n_bytes);
  if (!text) return false;
  for (size_t c = 0, at = 0; c < n_columns; at += columns[c++].n) {
    memcpy(text + at, columns[c].data, columns[c].n);
    r->column[c][r->n] = (cq_slice){text + at, columns[c].n};
  }
  text[n_bytes - 1] = '\0';
  r->line[r->n++] = line;
  return true;
}

static bool is_score(cq_slice text) {
  char copy[64];
  double value;
  if (text.n >= sizeof copy) return false;
  memcpy(copy, text.data, text.n);
  copy[text.n] = 0;
  return cli_parse_number(&value, copy);
}

/* Lines of n_columns columns, the third of them a number. */
int mteb_rows_read(mteb_rows *r, const char *file, size_t n_columns, const cq_eval_options *options) {
  cq_lines *lines;
  cq_slice line, columns[3];
  cq_error error = {0};
  int code = CLI_OK;
  if (cq_lines_open(&lines, file, &error)) return cli_fail_error(&error);
  while (code == CLI_OK && (!options->max_rows || r->n < options->max_rows)) {
    const char *reason = NULL;
    if (cq_lines_next(&line, lines, &error)) {
      if (!options->skip_bad || cq_lines_broken(lines)) code = cli_fail_error(&error);
      r->n_skipped++;
      continue;
    }
    if (!line.data) break;
    const size_t n_found = cq_tsv_split(columns, n_columns, line);
    if (n_found < n_columns)
      reason = n_columns == 3 ? "expected sentence, sentence and score" : "expected two columns, separated by a tab";
    for (size_t c = 0; !reason && c < n_columns; c++)
      if (!columns[c].n) reason = "a column is empty";
    if (!reason && n_columns == 3 && !is_score(columns[2])) reason = "the score is no number";
    if (!reason && !rows_add(r, columns, n_columns, cq_lines_number(lines))) code = cli_fail("out of memory");
    if (!reason) continue;
    if (!options->skip_bad) code = cli_fail("%s:%llu: %s", file, (unsigned long long)cq_lines_number(lines), reason);
    r->n_skipped++;
  }
  if (code == CLI_OK && !r->n) code = cli_fail("%s: no rows", file);
  if (code == CLI_OK && r->n_skipped) cli_note("%s: %zu malformed lines were skipped", file, r->n_skipped);
  cq_lines_close(lines);
  return code;
}

/* A new array [n, b->dim]. */
int mteb_encode(float **out, const mteb_bench *b, const cq_slice *sentences, size_t n) {
  cq_encode_options options = cq_encode_default_options();
  cq_error error = {0};
  options.prompt = b->args->eval->prompt, options.truncate_dim = b->args->eval->truncate_dim;
  *out = reallocarray(NULL, n, b->dim * sizeof **out);
  if (!*out) return cli_fail("out of memory");
  if (cq_encoder_encode(*out, NULL, b->model, sentences, n, &options, b->ctx, &error)) return cli_fail_error(&error);
  return CLI_OK;
}

/* To be freed; NULL: out of memory. */
char *mteb_path(const char *directory, const char *between, const char *name, const char *end) {
  const size_t size = strlen(directory) + strlen(between) + strlen(name) + strlen(end) + 1;
  char *path = malloc(size);
  if (path) snprintf(path, size, "%s%s%s%s", directory, between, name, end);
  return path;
}

/* NaN, which JSON has not, becomes null. */
int mteb_put_figure(json_t *object, const char *name, double value) {
  return json_object_set_new(object, name, isfinite(value) ? json_real(value) : json_null());
}
