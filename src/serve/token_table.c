/* Reads tables of OpenAI's tokens. */
#include "serve/token_table.h"

#include "base/base64.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"

const char *const serve_token_kinds[] = {"refuse", "cl100k", "o200k", "own", NULL};

size_t serve_token_table_size(serve_token_kind kind) {
  static const size_t sizes[] = {[SERVE_TOKENS_CL100K] = 100256, [SERVE_TOKENS_O200K] = 199998, [SERVE_TOKENS_OWN] = 0};
  return sizes[kind];
}

static cq_status read_lines(serve_token_table *t, cq_slice text, size_t n, const char *path, cq_error *error) {
  for (size_t line = 1; text.n; line++) {
    const char *end = memchr(text.data, '\n', text.n);
    const size_t n_line = end ? (size_t)(end - text.data) : text.n;
    const cq_slice row = cq_slice_trimmed((cq_slice){text.data, n_line});
    const char *blank = row.n ? memchr(row.data, ' ', row.n) : NULL;
    const cq_slice token = {row.data, blank ? (size_t)(blank - row.data) : 0};
    char number[32];
    uint64_t id;
    if (t->n == n) return cq_fail_line(error, CQ_ERR_FORMAT, path, line, "a token too many: the table has %zu", n);
    if (!token.n || !cq_base64_decode(&t->bytes, token))
      return cq_fail_line(error, CQ_ERR_FORMAT, path, line, "no token in base64, expected one, a blank, and its id");
    cq_slice_copy(number, sizeof number, (cq_slice){blank + 1, row.n - token.n - 1});
    if (!cq_parse_count(&id, number) || id != t->n)
      return cq_fail_line(error, CQ_ERR_FORMAT, path, line, "the id is '%s', expected %zu", number, t->n);
    t->ends[t->n++] = t->bytes.n;
    text.data += n_line + (end != NULL), text.n -= n_line + (end != NULL);
  }
  if (t->bytes.failed) return cq_fail_memory(error, "a table of tokens");
  if (t->n == n) return CQ_OK;
  return cq_fail_file(error, CQ_ERR_FORMAT, path, "%zu tokens, the table has %zu", t->n, n);
}

cq_status serve_token_table_open(serve_token_table *out, serve_token_kind kind, const char *path, cq_error *error) {
  const size_t n = serve_token_table_size(kind);
  cq_slice text;
  cq_status status = cq_file_read(&text, path, error);
  if (status) return status;
  out->ends = cq_alloc_array(n, sizeof *out->ends);
  status = out->ends ? read_lines(out, text, n, path, error) : cq_fail_memory(error, "a table of tokens");
  cq_free((void *)(size_t)text.data);
  if (status) serve_token_table_close(out);
  return status;
}

void serve_token_table_close(serve_token_table *t) {
  cq_builder_free(&t->bytes);
  cq_free(t->ends);
  *t = (serve_token_table){0};
}

cq_slice serve_token_bytes(const serve_token_table *t, size_t id) {
  const size_t begin = id ? t->ends[id - 1] : 0;
  return (cq_slice){t->bytes.data + begin, t->ends[id] - begin};
}
