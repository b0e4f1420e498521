/** @file Copies an index of files into PostgreSQL.
 *
 *      cq_index_copy_options o = cq_index_copy_default_options();
 *      cq_index_copy(index, "postgresql://me@host/news", &result, &o, &err);
 *
 * It copies documents, passages, metadata and vectors, and replaces documents with the same id. If a copy is
 * interrupted, calling it again resumes after the last batch, with the same result.
 *
 * @threads As for a search of the index. */
#ifndef CALQUE_INDEX_COPY_H
#define CALQUE_INDEX_COPY_H

#include "calque/index.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_index_copy_options {
  size_t size;
  size_t batch; /**< documents in a transaction */
  bool halfvec; /**< 16-bit vectors (halfvec) instead of 32-bit (vector), in an index that the copy makes */
  bool hnsw;    /**< make pgvector's HNSW index at the end, if there is none */
  /** Receives the number of copied passages after each batch; return false to stop; may be NULL */
  bool (*progress)(void *context, uint64_t n_done, uint64_t n_all);
  void *progress_context;
} cq_index_copy_options;
CQ_DEFAULT_OPTIONS(cq_index_copy_options, cq_index_copy_default_options, index_copy) /**< group "index_copy" */

typedef struct cq_index_copy_result {
  uint64_t n_copied;                /**< documents, in this call */
  bool is_resumed;                  /**< it resumed an earlier copy */
  uint64_t n_documents, n_passages; /**< in the database's index now */
} cq_index_copy_result;

/** Copies to `postgresql://...`, as for cq_index_open(); makes the index if it does not exist. @errors CQ_ERR_ARGUMENT
 * for an index with another model or other dimensions; CQ_ERR_UNSUPPORTED without calque's plugin for PostgreSQL, or
 * pgvector 0.8 on the server; CQ_ERR_FORMAT for damage, a text with a NUL character, or other tables in this schema;
 * CQ_ERR_UNAVAILABLE; CQ_ERR_STOPPED. */
CQ_API CQ_MUST_USE cq_status cq_index_copy(const cq_index *from, const char *to, cq_index_copy_result *result,
                                           const cq_index_copy_options *options, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
