/* Any bytes as a collection and as topics are an error with a place, or records that are well-formed. */
#include "fuzz.h"

#include "base/utf8.h"
#include "format/collection.h"

#include <string.h>

static void check_status(cq_status status, const cq_error *error, const char *path) {
  CHECK(status == CQ_OK || (status == CQ_ERR_FORMAT && error->message[0] && !strcmp(error->file, path)));
}

static void check_text(cq_slice text) {
  CHECK(text.data || text.n == 0);
  CHECK(cq_utf8_invalid_at(text.data, text.n) == text.n);
}

static void check_id(cq_slice id) {
  CHECK(id.n > 0);
  check_text(id);
  for (size_t i = 0; i < id.n; i++) CHECK(!strchr(" \t\n\v\f\r", id.data[i])); /* finds the NUL too */
}

/* A document that is refused does not end the collection. */
static void read_collection(const char *path, const char *const *fields, size_t n_fields) {
  cq_collection *c;
  cq_raw_document raw;
  cq_builder room = {0};
  cq_error error = {0};
  uint64_t line = 0;
  CHECK(cq_collection_open(&c, &path, 1, &error) == CQ_OK);
  cq_status status;
  while (!(status = cq_collection_next(&raw, c, &error)) && raw.bytes.data) {
    cq_collection_document d;
    CHECK(raw.line > line && !strcmp(raw.path, path));
    line = raw.line;
    status = cq_document_read(&d, &raw, fields, n_fields, &room, &error);
    check_status(status, &error, path);
    if (status) {
      CHECK(error.line == line);
      continue;
    }
    check_id(d.id);
    check_text(d.text);
  }
  check_status(status, &error, path);
  CHECK(!status || error.line == 0 || error.line >= line); /* 0: a byte of a gzip stream */
  cq_builder_free(&room);
  cq_collection_close(c);
}

static void read_topics(const char *path) {
  cq_topics topics;
  cq_error error = {0};
  const cq_status status = cq_topics_read(&topics, path, &error);
  check_status(status, &error, path);
  CHECK((topics.n > 0) == !status);
  for (size_t i = 0; i < topics.n; i++) {
    const cq_topic *t = &topics.items[i];
    const cq_slice fields[] = {t->title, t->description, t->narrative};
    check_id(t->id);
    for (size_t f = 0; f < 3; f++) {
      check_text(fields[f]);
      CHECK(!fields[f].n || (fields[f].data[0] != ' ' && fields[f].data[fields[f].n - 1] != ' '));
    }
    for (size_t k = 0; k < i; k++) CHECK(!cq_slice_equal(topics.items[k].id, t->id));
  }
  cq_topics_free(&topics);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static const char *const fields[] = {"title", "p"};
  const char *path = input_file(data, n);
  read_collection(path, NULL, 0);
  read_collection(path, fields, 2);
  read_topics(path);
  return 0;
}
