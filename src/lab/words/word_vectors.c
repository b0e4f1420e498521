/* Reads and writes word vectors in word2vec's text format. See word_vectors.h. */
#include "lab/words/word_vectors.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "calque/lines.h"

#include <math.h>

enum { MAX_DIMS = 1 << 16 };

static const double too_large = 0x1.ffffffp127; /* the smallest that is rounded to infinity */

static cq_slice next_column(cq_slice *line) {
  size_t i = 0, end;
  while (i < line->n && line->data[i] == ' ') i++;
  for (end = i; end < line->n && line->data[end] != ' ';) end++;
  const cq_slice column = {line->data + i, end - i};
  line->data += end, line->n -= end;
  return column;
}

static bool is_whole(double x, double max) {
  return x >= 0 && x <= max && x == floor(x);
}

static cq_status read_row(cq_word_vectors *v, cq_slice line, const cq_lines *at, cq_error *error) {
  const cq_slice word = next_column(&line);
  const uint32_t before = v->words.n, id = cq_intern_put(&v->words, word);
  if (id == CQ_INTERN_NONE) return cq_fail_memory(error, cq_lines_path(at));
  if (id != before)
    return cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(at), cq_lines_number(at), "the word '%.*s' appears twice",
                        (int)word.n, word.data);
  for (int i = 0; i < v->dim; i++) {
    double x;
    const cq_slice column = next_column(&line);
    if (!cq_slice_number(&x, column) || fabs(x) >= too_large)
      return cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(at), cq_lines_number(at),
                          "column %d is '%.*s', expected a number", i + 2, (int)cq_min(column.n, 40), column.data);
    v->data[(size_t)id * (size_t)v->dim + (size_t)i] = (float)x;
  }
  if (next_column(&line).n)
    return cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(at), cq_lines_number(at), "more than a word and %d numbers",
                        v->dim);
  return CQ_OK;
}

cq_status cq_word_vectors_read(cq_word_vectors *out, const char *path, cq_error *error) {
  *out = (cq_word_vectors){0};
  cq_lines *lines;
  cq_slice line;
  double n = -1, dim = 0;
  cq_status status = cq_lines_open(&lines, path, error);
  if (status) return status;
  status = cq_lines_next(&line, lines, error);
  if (!status && line.data) {
    const cq_slice first = next_column(&line), second = next_column(&line);
    if (!cq_slice_number(&n, first) || !cq_slice_number(&dim, second) || !is_whole(n, UINT32_MAX - 1) ||
        !is_whole(dim, MAX_DIMS) || dim < 1 || next_column(&line).n)
      n = -1;
  }
  if (!status && n < 0) status = cq_fail_line(error, CQ_ERR_FORMAT, path, 1, "expected how many words and dimensions");
  if (!status) out->dim = (int)dim;
  size_t capacity = 0;
  while (!status && !(status = cq_lines_next(&line, lines, error)) && line.data) {
    /* The array grows with the lines, because the first line's numbers are not trusted. */
    const size_t needed = ((size_t)out->words.n + 1) * (size_t)out->dim;
    if (out->words.n == (uint32_t)n)
      status = cq_fail_line(error, CQ_ERR_FORMAT, path, cq_lines_number(lines), "more than %.0f words", n);
    else if (!cq_reserve((void **)&out->data, &capacity, needed, sizeof *out->data))
      status = cq_fail_memory(error, path);
    else
      status = read_row(out, line, lines, error);
  }
  if (!status && out->words.n != (uint32_t)n)
    status =
        cq_fail_line(error, CQ_ERR_FORMAT, path, cq_lines_number(lines), "%u words, expected %.0f", out->words.n, n);
  cq_lines_close(lines);
  return status;
}

cq_status cq_word_vectors_write(const cq_word_vectors *v, const char *path, cq_error *error) {
  cq_writer w;
  cq_status status = cq_writer_open(&w, path, error);
  if (status) return status;
  fprintf(w.stream, "%u %d\n", v->words.n, v->dim);
  for (uint32_t i = 0; i < v->words.n; i++) {
    fwrite(v->words.items[i].data, 1, v->words.items[i].n, w.stream);
    for (int j = 0; j < v->dim; j++)
      cq_fprintf(w.stream, " %.9g", (double)v->data[(size_t)i * (size_t)v->dim + (size_t)j]);
    fputc('\n', w.stream);
  }
  status = cq_writer_commit(&w, error);
  cq_writer_abort(&w);
  return status;
}

void cq_word_vectors_free(cq_word_vectors *v) {
  cq_intern_free(&v->words);
  cq_free(v->data);
  *v = (cq_word_vectors){0};
}
