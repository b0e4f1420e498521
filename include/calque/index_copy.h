/* Copying an index of files into PostgreSQL.
 *
 *   cq_index_copy_options o = cq_index_copy_default_options();
 *   cq_index_copy(index, "postgresql://me@host/news", &result, &o, &err);
 *
 * Documents, passages, metadata and vectors; a document whose id is there already is replaced. A copy that was cut off,
 * at any moment, and is called again goes on behind its last batch, with the same result.
 *
 * Threads: as for a search of the index. */
#ifndef CALQUE_INDEX_COPY_H
#define CALQUE_INDEX_COPY_H

#include "calque/index.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_index_copy_options { /* group "index_copy" */
  size_t size;
  size_t batch; /* documents of a transaction */
  bool halfvec; /* vectors of 16 bits (halfvec), not of 32 (vector); of an index that is made by the copy */
  bool hnsw;    /* make pgvector's HNSW index at the end, where there is none */
  bool (*progress)(void *context, uint64_t n_done,
                   uint64_t n_all); /* passages, after each batch; false stops; may be NULL */
  void *progress_context;
} cq_index_copy_options;
CQ_DEFAULT_OPTIONS(cq_index_copy_options, cq_index_copy_default_options, index_copy)

typedef struct cq_index_copy_result {
  uint64_t n_copied;                /* documents, by this call */
  bool is_resumed;                  /* it went on with an earlier one */
  uint64_t n_documents, n_passages; /* of the index in the database now */
} cq_index_copy_result;

/* to: postgresql://..., as cq_index_open takes it; the index is made where there is none. Errors: CQ_ERR_ARGUMENT for
 * an index of another model or other dimensions; CQ_ERR_UNSUPPORTED without calque's plugin for PostgreSQL, and for a
 * server without pgvector 0.8; CQ_ERR_FORMAT for damage, a text with a NUL character, and a database with other tables
 * in this place; CQ_ERR_UNAVAILABLE; CQ_ERR_STOPPED. */
CQ_API CQ_MUST_USE cq_status cq_index_copy(const cq_index *from, const char *to, cq_index_copy_result *result,
                                           const cq_index_copy_options *options, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
