/* TREC collections: all text of a document except its id; <TITLE> or <HEADLINE> is also its title. */
#include "base/error.h"
#include "base/memory.h"
#include "document/reader.h"
#include "format/collection.h"

typedef struct trec {
  cq_collection *documents;
  const cq_lines *lines; /* its own */
  cq_builder room;
} trec;

static void close_trec(void *state) {
  trec *t = state;
  if (!t) return;
  cq_collection_close(t->documents);
  cq_builder_free(&t->room);
  cq_free(t);
}

static cq_status open_trec(void **state, cq_document_file *file, cq_error *error) {
  trec *t = cq_alloc_zeroed(sizeof *t);
  if (!t) return cq_fail_memory(error, file->path);
  t->lines = file->lines;
  const cq_status status = cq_collection_of_lines(&t->documents, file->lines, error);
  file->lines = NULL;
  if (status) close_trec(t);
  *state = status ? NULL : t;
  return status;
}

static void put_trimmed(cq_builder *out, cq_slice text) {
  text = cq_slice_trimmed(text);
  cq_builder_bytes(out, text.data, text.n);
}

static cq_status read_trec(bool *found, void *state, cq_document_file *file, cq_error *error) {
  static const char *const titles[] = {"title", "headline"};
  trec *t = state;
  cq_raw_document raw;
  cq_collection_document document;
  cq_status status = cq_collection_next(&raw, t->documents, error);
  *found = !status && raw.bytes.data;
  file->is_broken = cq_lines_broken(t->lines);
  if (!*found) return status;
  file->line = raw.line;
  status = cq_document_read(&document, &raw, NULL, 0, &t->room, error);
  if (status) return status;
  put_trimmed(&file->room->role[CQ_ROLE_ID], document.id);
  put_trimmed(&file->room->role[CQ_ROLE_TEXT], document.text);
  status = cq_document_read(&document, &raw, titles, 2, &t->room, error);
  if (!status) put_trimmed(&file->room->role[CQ_ROLE_TITLE], document.text);
  return status;
}

const cq_document_type cq_document_type_trec = {.name = "trec",
                                                .endings = " .trec .sgml ",
                                                .resumes = true,
                                                .open = open_trec,
                                                .read = read_trec,
                                                .close = close_trec};
