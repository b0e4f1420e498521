/* Records of an index for tests of the store: a document with one passage, all of its text. */
#ifndef TESTS_SUPPORT_INDEX_H
#define TESTS_SUPPORT_INDEX_H

#include "base/memory.h"
#include "base/slice.h"
#include "store/index_store.h"

typedef struct test_record {
  cq_slice id, language, text;
} test_record;

static inline cq_status test_append(cq_index_store *store, const test_record *records, size_t n, const float *vectors,
                                    cq_error *error) {
  cq_document documents[256];
  cq_index_passage passages[256];
  cq_index_addition additions[256];
  for (size_t i = 0; i < n; i++) {
    documents[i] = (cq_document){.id = records[i].id, .language = records[i].language, .text = records[i].text};
    passages[i] = (cq_index_passage){.end = (uint32_t)records[i].text.n};
    additions[i] = (cq_index_addition){&documents[i], &passages[i], 1};
  }
  return cq_index_store_append(store, additions, n, vectors, error);
}

/* The document of a record that is sound, good until the arena is freed. */
static inline cq_document test_document(const cq_index_snapshot *snapshot, cq_arena *arena, int64_t record) {
  cq_document document = {0};
  cq_error error = {0};
  if (cq_index_snapshot_document(&document, arena, snapshot, record, &error)) document = (cq_document){0};
  return document;
}

#endif
