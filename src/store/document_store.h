/* Documents of an index, in SQLite: one row per document, identified by the number of its first record.
 *
 *   document(first INTEGER PRIMARY KEY, id, language, title, url, text, metadata, check_of_all)
 *
 * Each page of the file has a check (page_checks.h), and so has each row.
 *
 * Rows are only added, in the order of their records. The index's manifest says which of them are valid and which
 * are deleted: a reader reads only the records that the manifest counts, and ignores a writer's appends. Each call that
 * writes is one transaction, which is on disk when the call returns.
 *
 * Threads: calls on one store wait for each other. */
#ifndef STORE_DOCUMENT_STORE_H
#define STORE_DOCUMENT_STORE_H

#include "base/arena.h"
#include "base/slice.h"
#include "calque/document.h"
#include "store/document_filter.h"

#include <stdint.h>

typedef struct cq_document_store cq_document_store;

/* path NULL: in memory. writing: creates a missing file. Errors: CQ_ERR_IO; CQ_ERR_FORMAT for another format. */
CQ_MUST_USE cq_status cq_document_store_open(cq_document_store **out, const char *path, bool writing, cq_error *error);
/* Adds a user, which must close it as well. */
cq_document_store *cq_document_store_share(cq_document_store *store);
void cq_document_store_close(cq_document_store *store);

/* Adds documents with first records firsts [n], ascending and after all existing ones. A failed call adds none. Errors:
 * CQ_ERR_IO (a full disk); CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_document_store_append(cq_document_store *store, const cq_document *documents,
                                               const int64_t *firsts, size_t n, cq_error *error);
/* Buffers borrowed documents and appends many at once. Start from {.to = store}; release it even after an error. */
typedef struct cq_document_batch {
  cq_document_store *to;
  cq_document *documents;
  int64_t *firsts;
  size_t n, n_bytes;
  cq_arena arena;
} cq_document_batch;
CQ_MUST_USE cq_status cq_document_batch_add(cq_document_batch *batch, const cq_document *document, int64_t first,
                                            cq_error *error);
CQ_MUST_USE cq_status cq_document_batch_flush(cq_document_batch *batch, cq_error *error);
void cq_document_batch_free(cq_document_batch *batch);

/* Removes all but the first n_records. */
CQ_MUST_USE cq_status cq_document_store_truncate(cq_document_store *store, int64_t n_records, cq_error *error);

/* The document with this first record, its text in the arena. Errors: CQ_ERR_FORMAT when it is missing or does not
 * match its check; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_document_store_read(cq_document *out, cq_arena *arena, cq_document_store *store, int64_t first,
                                             cq_error *error);
/* The first record of the newest document with this id among the first n_records; -1: none. */
CQ_MUST_USE cq_status cq_document_store_find(int64_t *first, cq_document_store *store, cq_slice id, int64_t n_records,
                                             cq_error *error);
/* Calls `found` with each document's first record below n_records that matches a filter, ascending. */
CQ_MUST_USE cq_status cq_document_store_select(cq_document_store *store, const cq_filter *filter, int64_t n_records,
                                               void (*found)(void *context, int64_t first), void *context,
                                               cq_error *error);
/* Calls `visit` with the borrowed documents of records [from, to) in ascending order; stops at its first error. */
typedef cq_status (*cq_visit_document_fn)(void *context, int64_t first, const cq_document *document, cq_error *error);
CQ_MUST_USE cq_status cq_document_store_visit(cq_document_store *store, int64_t from, int64_t to,
                                              cq_visit_document_fn visit, void *context, cq_error *error);
/* Calls `found` with each language code and the first record of each document in it, below n_records. */
CQ_MUST_USE cq_status cq_document_store_languages(cq_document_store *store, int64_t n_records,
                                                  void (*found)(void *context, cq_slice language, int64_t first),
                                                  void *context, cq_error *error);

/* Verifies SQLite's own structures: pages, rows, and indexes against the table. Takes longer than reading all
 * documents, and blocks other processes' commits. Errors: CQ_ERR_FORMAT, with SQLite's message, for damage. */
CQ_MUST_USE cq_status cq_document_store_verify(cq_document_store *store, cq_error *error);

/* --- for document_select.c --- */

/* A filter as an SQL expression over `document`; bind values [n_values], which are in the arena, in order. */
typedef struct cq_sql_value {
  cq_slice text;
  double number;
  bool is_number;
} cq_sql_value;
typedef struct cq_sql {
  cq_builder text;
  cq_sql_value *values;
  size_t n_values, capacity;
  cq_arena arena;
} cq_sql;
CQ_MUST_USE cq_status cq_filter_sql(cq_sql *out, const cq_filter *filter, cq_error *error);
void cq_sql_free(cq_sql *sql);

#endif
