/* Checks that all ranks agree: rank 0's lines are sent to all, and each compares its own. */
#include "ranks/ranks.h"

#include "base/error.h"
#include "base/memory.h"
#include "calque/version.h"

#include <string.h>

void cq_agree_text(cq_builder *lines, const char *name, const char *value) {
  cq_builder_text(lines, name);
  cq_builder_char(lines, '\t');
  for (; value && *value; value++) cq_builder_char(lines, (unsigned char)*value < ' ' ? ' ' : *value);
  cq_builder_char(lines, '\n');
}

static bool agree_option(void *lines, const cq_option *row, const char *value) {
  const bool is_model = strcmp(row->name, "model") == 0; /* its contents are compared, wherever it is */
  if (row->effect == CQ_CHANGES_RESULT) cq_agree_text(lines, row->name, is_model && value ? "given" : value);
  return true;
}

void cq_agree_options(cq_builder *lines, const cq_option_group *group, const void *options) {
  if (!cq_options_each(group, options, agree_option, lines)) lines->failed = true;
}

/* Takes the first line off a text and splits it into name and value; sets name.data to NULL when no line is left. */
static cq_slice take_agreed_line(cq_slice *value, cq_slice *text) {
  *value = (cq_slice){"", 0};
  if (text->n == 0) return (cq_slice){NULL, 0};
  const char *end = memchr(text->data, '\n', text->n);
  const size_t n = end ? (size_t)(end - text->data) : text->n;
  const char *tab = memchr(text->data, '\t', n);
  const cq_slice name = {text->data, tab ? (size_t)(tab - text->data) : n};
  if (tab) *value = (cq_slice){tab + 1, n - name.n - 1};
  const size_t taken = end ? n + 1 : n;
  text->data += taken, text->n -= taken;
  return name;
}

static cq_status compare_lines(cq_slice own, cq_slice of_first, cq_error *error) {
  cq_slice a, b, name, other;
  do {
    name = take_agreed_line(&a, &own), other = take_agreed_line(&b, &of_first);
    if (!name.data && !other.data) return CQ_OK;
  } while (name.data && other.data && cq_slice_equal(name, other) && cq_slice_equal(a, b));
#define SHOW(slice) (int)(slice).n, (slice).n ? (slice).data : ""
  if (name.data && other.data && cq_slice_equal(name, other))
    return cq_fail(error, CQ_ERR_ARGUMENT, "rank 0 has %.*s %.*s, not %.*s", SHOW(name),
                   SHOW(b.n ? b : cq_slice_of("nothing")), SHOW(a.n ? a : cq_slice_of("nothing")));
  return cq_fail(error, CQ_ERR_ARGUMENT, "rank 0 %s %.*s", name.data ? "has no" : "has",
                 SHOW(name.data ? name : other));
#undef SHOW
}

cq_status cq_ranks_first_text(char **out, size_t *n, cq_ranks *ranks, cq_slice own, cq_error *error) {
  uint64_t length = own.n;
  *out = NULL;
  cq_status status = cq_ranks_broadcast(ranks, &length, sizeof length, error);
  if (status) return status;
  *n = (size_t)length;
  if (!(*out = cq_alloc(*n + 1))) return cq_fail_memory(error, "rank 0's text");
  if (cq_ranks_rank(ranks) == 0) memcpy(*out, own.data, *n);
  return cq_ranks_broadcast(ranks, *out, *n, error);
}

cq_status cq_ranks_agree(cq_ranks *ranks, const char *lines, cq_error *error) {
  cq_builder own = {0};
  char *first = NULL;
  size_t n = 0;
  if (cq_ranks_count(ranks) == 1) return CQ_OK;
  cq_agree_text(&own, "calque of version", CQ_VERSION);
  cq_builder_text(&own, lines);
  cq_status status = own.failed ? cq_fail_memory(error, "options")
                                : cq_ranks_first_text(&first, &n, ranks, (cq_slice){own.data, own.n}, error);
  if (!status) status = compare_lines((cq_slice){own.data, own.n}, (cq_slice){first, n}, error);
  cq_free(first);
  cq_builder_free(&own);
  return status ? status : cq_ranks_meet(ranks, NULL, error);
}
