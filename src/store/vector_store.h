/* Vectors on disk by text: what a model said of a sentence, kept so that it is asked once.
 *
 *   DIRECTORY/keys      16 bytes a text: XXH3 of its bytes, 128 bits
 *   DIRECTORY/vectors   dim f32 a text, in the same order
 *
 * Both files only grow. A record counts when both its halves are there whole: after a crash the longer file is cut to
 * the shorter. One process writes at a time: a lock on keys is held from opening until the vectors are mapped. Which
 * model the vectors are of is the directory's name's business. */
#ifndef STORE_VECTOR_STORE_H
#define STORE_VECTOR_STORE_H

#include "base/slice.h"
#include "calque/status.h"

#include <stdint.h>

typedef struct cq_vector_store cq_vector_store;

/* Opens or makes the store; dim must be the one it was made with. Errors: CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_vector_store_open(cq_vector_store **out, const char *directory, int64_t dim, cq_error *error);
void cq_vector_store_close(cq_vector_store *store);

/* The record of a text, -1 when there is none. */
int64_t cq_vector_store_find(const cq_vector_store *store, cq_slice text);
/* Appends n vectors [n, dim]; texts already there must not be among them. Errors: CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_vector_store_append(cq_vector_store *store, const cq_slice *texts, size_t n,
                                             const float *vectors, cq_error *error);
/* Maps the vectors [n_records, dim] as they now are, valid until close, and gives up the lock so that others may add
 * theirs; nothing can be appended afterwards. */
CQ_MUST_USE cq_status cq_vector_store_map(const float **out, cq_vector_store *store, cq_error *error);

#endif
