/* Vectors on disk by text: what a model said of a sentence, kept so that it is asked once.
 *
 *   DIRECTORY/keys      a head with dim, then for each text the XXH3 of its bytes (128 bits) and its vector's check
 *   DIRECTORY/vectors   dim f32 a text, in the same order
 *
 * Both files only grow. A record counts when both its parts are there whole: after a crash the longer file is truncated
 * to the shorter. A vector is compared with its check before it is first used; one that is damaged is as good as
 * absent, and is added again. One process writes at a time: a lock on keys is held from opening until the vectors are
 * mapped. Which model the vectors are of is the directory's name's business. docs/formats.md has the bytes. */
#ifndef CACHE_VECTOR_STORE_H
#define CACHE_VECTOR_STORE_H

#include "base/slice.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct cq_vector_store cq_vector_store;

/* Opens or makes the store; dim must be the one it was made with. Waits for another process that is writing, with a
 * notice (NULL: silently). Errors: CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_vector_store_open(cq_vector_store **out, const char *directory, int64_t dim,
                                           cq_notice_fn notice, void *notice_context, cq_error *error);
void cq_vector_store_close(cq_vector_store *store);

/* Whether a text has an undamaged vector; the record of a damaged one is forgotten. Call it before the vectors are
 * mapped. */
bool cq_vector_store_verify(cq_vector_store *store, cq_slice text);
/* Damaged records found since the store was opened. */
uint64_t cq_vector_store_n_damaged(const cq_vector_store *store);
/* The file of vectors, for messages. */
const char *cq_vector_store_path(const cq_vector_store *store);

/* The record of a text, -1 when there is none. */
int64_t cq_vector_store_find(const cq_vector_store *store, cq_slice text);
/* Appends n vectors [n, dim]; texts that have a sound one must not be among them. Errors: CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_vector_store_append(cq_vector_store *store, const cq_slice *texts, size_t n,
                                             const float *vectors, cq_error *error);
/* Maps the vectors [n_records, dim] as they now are, valid until close, and gives up the lock so that others may add
 * theirs; nothing can be appended afterwards. */
CQ_MUST_USE cq_status cq_vector_store_map(const float **out, cq_vector_store *store, cq_error *error);

/* Compares all of a store with its checks, without changing anything or waiting for anybody: *n records, of which
 * *n_damaged are damaged (all, if the head is). Errors: CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_vector_store_check(uint64_t *n, uint64_t *n_damaged, const char *directory, cq_error *error);

#endif
