/* Vectors on disk by text: a cache, so that a model encodes a sentence only once.
 *
 *   DIRECTORY/keys      a header with dim, then for each text the XXH3 of its bytes (128 bits) and its vector's check
 *   DIRECTORY/vectors   dim f32 per text, in the same order
 *
 * Both files only grow. A record is valid if both its parts are complete: after a crash, the longer file is truncated
 * to match the shorter. A vector is verified against its check before its first use; a damaged one counts as missing
 * and is added again. One process writes at a time: it locks `keys` from opening until the vectors are mapped. The
 * directory's name identifies the vectors' model. docs/formats.md describes the bytes. */
#ifndef CACHE_VECTOR_STORE_H
#define CACHE_VECTOR_STORE_H

#include "base/slice.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct cq_vector_store cq_vector_store;

/* Opens or makes the store; dim must be the same as when it was made. Waits, with a notice (NULL: silently), while
 * another process writes. Errors: CQ_ERR_IO, CQ_ERR_MEMORY. */
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
/* Appends n vectors [n, dim], of texts that have no undamaged vector yet. Errors: CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_vector_store_append(cq_vector_store *store, const cq_slice *texts, size_t n,
                                             const float *vectors, cq_error *error);
/* Maps the current vectors [n_records, dim], valid until close, and releases the lock so that others may append; this
 * store cannot append afterwards. */
CQ_MUST_USE cq_status cq_vector_store_map(const float **out, cq_vector_store *store, cq_error *error);

/* Verifies a whole store without changing anything or waiting for a writer: *n records, of which *n_damaged are damaged
 * (all of them if the header is). Errors: CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_vector_store_check(uint64_t *n, uint64_t *n_damaged, const char *directory, cq_error *error);

#endif
