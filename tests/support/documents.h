/* For tests of documents: what is read of a file, and what is refused, with its place. */
#ifndef SUPPORT_DOCUMENTS_H
#define SUPPORT_DOCUMENTS_H

#include "support/files.h"

#include "base/memory.h"
#include "base/slice.h"
#include "calque/document.h"

/* Documents have the languages that they say, and no others. */
static inline cq_documents_options as_they_say(void) {
  cq_documents_options o = cq_documents_default_options();
  o.language = "none";
  return o;
}

/* All documents of a path as JSON lines, '\n' behind each; NULL: an error, which stands in *error. */
static inline char *all(const char *path, const cq_documents_options *options, cq_error *error) {
  cq_documents *in;
  cq_document document;
  size_t n = 0, size = 1 << 16;
  char *text = calloc(1, size);
  *error = (cq_error){0};
  const cq_documents_options plain = as_they_say();
  if (cq_documents_open(&in, &path, 1, options ? options : &plain, error)) {
    free(text);
    return NULL;
  }
  for (;;) {
    char *json;
    if (cq_documents_next(&document, in, error)) break;
    if (!document.id.data) break;
    assert_int_equal(cq_document_json(&json, &document, error), CQ_OK);
    n += (size_t)snprintf(text + n, size - n, "%s\n", json);
    assert_true(n < size);
    cq_free(json);
  }
  cq_documents_close(in);
  if (!error->status) return text;
  free(text);
  return NULL;
}

/* A file's documents; "%" in what is expected stands for its path. */
static inline void reads(const char *name, const char *content, const char *expected,
                         const cq_documents_options *options) {
  cq_error error;
  char wanted[4096] = "";
  const char *path = test_path(name);
  write_bytes(path, content, strlen(content));
  for (const char *at = expected; *at; at++) {
    const size_t n = strlen(wanted);
    if (*at == '%')
      snprintf(wanted + n, sizeof wanted - n, "%s", path);
    else
      wanted[n] = *at;
  }
  char *got = all(path, options, &error);
  if (!got) fail_msg("%s", error.message);
  assert_string_equal(got, wanted);
  free(got);
}

static inline void fails(const char *name, const void *content, size_t n, cq_status status, uint64_t line,
                         const char *message, const cq_documents_options *options) {
  cq_error error;
  write_bytes(test_path(name), content, n);
  assert_null(all(test_path(name), options, &error));
  if (error.status != status) fail_msg("%s: %s", name, error.message);
  assert_int_equal(error.line, line);
  if (!strstr(error.message, message)) fail_msg("%s\nlacks %s", error.message, message);
}
#define FAILS(name, content, line, message)                                                                            \
  fails(name, content, sizeof(content) - 1, CQ_ERR_FORMAT, line, message, NULL)

#endif
