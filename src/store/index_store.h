/* A search index on disk: documents, their vectors, and which model the vectors are of.
 *
 *   DIR/manifest.json    model, fingerprint, dim; how many documents and bytes count; the generation of deleted-G
 *   DIR/documents        a line a document: id <tab> language <tab> text
 *   DIR/vectors          dim f32 a document, in the same order
 *   DIR/deleted-G        a bit a document, least significant first; none for generation 0
 *   DIR/approximate-G    what helps to search the first documents' vectors, if anything does
 *   DIR/lock             held by the one process that writes
 *
 * documents and vectors only grow, and only what the manifest counts is there. A change is written behind it, synced,
 * and becomes visible when the manifest is replaced: a process killed at any moment leaves the index as it was before
 * or as it is after. Readers need no lock. */
#ifndef STORE_INDEX_STORE_H
#define STORE_INDEX_STORE_H

#include "calque/slice.h"
#include "calque/status.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct cq_index_store cq_index_store;

typedef struct cq_index_record {
  cq_slice id, language, text; /* language may be empty */
} cq_index_record;

typedef struct cq_index_info {
  const char *model;       /* the name it was made with */
  const char *fingerprint; /* cq_encoder_fingerprint's; NULL: calque 0.1 made it, and had other fingerprints */
  int64_t dim;
  int64_t n;             /* records, deleted ones included */
  int64_t n_live;        /* those that are not */
  int64_t n_approximate; /* the first so many have an approximation; 0: there is none */
} cq_index_info;

/* Makes an empty index. Errors: CQ_ERR_ARGUMENT when the directory exists; CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_index_store_create(const char *directory, const char *model, const char *fingerprint,
                                            int64_t dim, cq_error *error);
/* Opens one. Errors: CQ_ERR_IO; CQ_ERR_FORMAT for a manifest that is none, or files shorter than it says;
 * CQ_ERR_ARGUMENT when another process is writing and `writing` is asked for. */
CQ_MUST_USE cq_status cq_index_store_open(cq_index_store **out, const char *directory, bool writing, cq_error *error);
void cq_index_store_close(cq_index_store *store);

cq_index_info cq_index_store_info(const cq_index_store *store);
const float *cq_index_store_vectors(const cq_index_store *store); /* [n, dim], mapped */
cq_index_record cq_index_store_record(const cq_index_store *store, int64_t record);
bool cq_index_store_is_live(const cq_index_store *store, int64_t record);
/* The live record of an id; -1: none. Only of a store that is open for writing. */
int64_t cq_index_store_find(const cq_index_store *store, cq_slice id);

/* Writes documents and vectors [n, dim] behind what counts; a live record of the same id is marked as deleted. What
 * is new is not found before the commit; a failed append makes the store good for closing only. Errors:
 * CQ_ERR_ARGUMENT for an id that is empty or comes twice, or text that holds what separates fields and lines;
 * CQ_ERR_IO (a full disk: what counts is untouched), CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_index_store_append(cq_index_store *store, const cq_index_record *records, size_t n,
                                            const float *vectors, cq_error *error);
void cq_index_store_delete(cq_index_store *store, int64_t record);
/* Where the approximation is, when there is one, or where to write the next. Errors: CQ_ERR_ARGUMENT for a path that
 * is too long. */
CQ_MUST_USE cq_status cq_index_store_approximate(char path[PATH_MAX], const cq_index_store *store, bool next,
                                                 cq_error *error);
/* From the next commit on: the next one, for the records that count now; or none. */
void cq_index_store_set_approximate(cq_index_store *store, bool is_there);
/* Of the model, where none could be compared; kept at the next commit of changes. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_index_store_set_fingerprint(cq_index_store *store, const char *fingerprint, cq_error *error);
/* Makes the changes count, all at once, and opens the store on them. */
CQ_MUST_USE cq_status cq_index_store_commit(cq_index_store *store, cq_error *error);

#endif
