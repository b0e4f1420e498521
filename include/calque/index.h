/* A search index: documents in any of a model's languages, found by meaning.
 *
 *   cq_index_create("news.index", "multilingual", NULL, NULL, &err);
 *   cq_index_open(&index, "news.index", NULL, true, NULL, NULL, &err);
 *   cq_index_add(index, documents, n, ctx, &err), cq_index_commit(index, &err);
 *   cq_index_search(&hits, index, &query, 1, &options, ctx, &err);         // hits[0 .. k), best first
 *   free(hits), cq_index_free(index);
 *
 * Search is exact unless an approximation is made, which pays from some millions of documents on. A change counts
 * when it is committed, all at once: a process killed at any moment leaves the index as it was before or as it is
 * after. One process writes at a time; readers need not wait. */
#ifndef CALQUE_INDEX_H
#define CALQUE_INDEX_H

#include "calque/encoder.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_index cq_index;

typedef struct cq_document {
  cq_slice id;       /* one document at a time has it */
  cq_slice language; /* for filters; may be empty */
  cq_slice text;
} cq_document;

/* Makes an empty index for a model. Errors: CQ_ERR_ARGUMENT when the directory exists; those of opening the model;
 * CQ_ERR_IO. */
CQ_API CQ_MUST_USE cq_status cq_index_create(const char *directory, const char *model, cq_notice_fn notice,
                                             void *notice_context, cq_error *error);

/* Opens an index.
 *   model    what encodes documents and queries; NULL: the one it was made with, by its name then, opened when it is needed
 *   writing  waits for nobody: CQ_ERR_ARGUMENT when it is open for writing elsewhere
 * Errors: CQ_ERR_ARGUMENT when the model is not the one it was made with (with NULL told by what needs it);
 * CQ_ERR_FORMAT, CQ_ERR_IO. */
CQ_API CQ_MUST_USE cq_status cq_index_open(cq_index **out, const char *directory, const char *model, bool writing,
                                           cq_notice_fn notice, void *notice_context, cq_error *error);
CQ_API void cq_index_free(cq_index *index);
CQ_API size_t cq_index_size(const cq_index *index); /* documents that count */
CQ_API int cq_index_dim(const cq_index *index);
CQ_API const char *cq_index_model(const cq_index *index); /* the name it was made with */
/* The first so many documents, removed ones included, are searched by an approximation; 0: there is none. */
CQ_API size_t cq_index_approximated(const cq_index *index);

/* Adds documents, found after the next commit, in place of those that have their ids; and removes documents by id, of
 * which *n_removed were there. Errors: CQ_ERR_ARGUMENT for an id that is empty or comes twice before a commit, or for
 * a tab or newline in id or language or a newline in text; those of encoding; CQ_ERR_IO (a full disk: what counts is
 * untouched). */
CQ_API CQ_MUST_USE cq_status cq_index_add(cq_index *index, const cq_document *documents, size_t n, cq_context *ctx,
                                          cq_error *error);
CQ_API CQ_MUST_USE cq_status cq_index_remove(cq_index *index, const cq_slice *ids, size_t n, size_t *n_removed,
                                             cq_error *error);

/* Approximate search, by the library FAISS: documents are chosen by it, then scored exactly. */
typedef enum cq_approximation {
  CQ_APPROXIMATE_NONE,
  CQ_APPROXIMATE_IVF,  /* lists around centres: quick to make (Sivic & Zisserman 2003) */
  CQ_APPROXIMATE_HNSW, /* a graph of neighbours: quick to search (Malkov & Yashunin 2018) */
} cq_approximation;
/* Makes, of the documents that count, or drops an approximation; it counts from the next commit on. Documents added
 * later are searched exactly beside it, until it is made anew. Two HNSW graphs of the same documents may differ.
 * Errors: CQ_ERR_UNSUPPORTED where calque's plugin for FAISS is missing; CQ_ERR_ARGUMENT for an index without
 * documents; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_index_approximate(cq_index *index, cq_approximation method, cq_context *ctx,
                                                  cq_error *error);

/* Makes the changes count. */
CQ_API CQ_MUST_USE cq_status cq_index_commit(cq_index *index, cq_error *error);

typedef struct cq_hit {
  double cosine;
  cq_document document; /* borrowed until the next commit; id.data NULL: there are no more */
} cq_hit;

typedef struct cq_search_options {
  size_t k;
  const char *language; /* only documents of this language; NULL: of all */
  bool exact;           /* though there is an approximation */
  size_t effort; /* of an approximation, lists looked into (IVF) or candidates kept on the way (HNSW); 0: its default */
} cq_search_options;
CQ_API cq_search_options cq_search_default_options(void); /* 10, all */

/* The documents nearest to each query by cosine: *out [n_queries, k], best first, released with free().
 * Errors: those of encoding; CQ_ERR_ARGUMENT for k 0; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_index_search(cq_hit **out, cq_index *index, const cq_slice *queries, size_t n_queries,
                                             const cq_search_options *options, cq_context *ctx, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
