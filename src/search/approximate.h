/* Approximate search: FAISS finds candidates, and calque computes their cosines. Results have exact scores, but a
 * neighbor that FAISS does not find is missing. For collections of millions of vectors, for which exact search is too
 * slow. */
#ifndef SEARCH_APPROXIMATE_H
#define SEARCH_APPROXIMATE_H

#include "search/top.h"

typedef struct cq_approximate cq_approximate;

/* Writes the approximate index of n vectors [n, dim], n >= 1, as a graph (HNSW) or as lists (IVF), atomically. Errors:
 * CQ_ERR_UNSUPPORTED without the plugin; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_approximate_build(const char *path, bool graph, const float *vectors, size_t n, size_t dim,
                                           cq_context *ctx, cq_error *error);
/* Opens an approximate index of the first n rows of a matrix. Any number of threads may search it at once. Errors:
 * CQ_ERR_UNSUPPORTED without the plugin; CQ_ERR_IO for a missing file; CQ_ERR_FORMAT for another format or a size that
 * does not match. */
CQ_MUST_USE cq_status cq_approximate_open(cq_approximate **out, const char *path, size_t n, size_t dim,
                                          cq_error *error);
void cq_approximate_free(cq_approximate *a);

/* Like cq_top_csls (search/top.h), but rows in the approximate index are compared only if they are candidates. Later
 * rows are always compared, and all rows are if too few candidates are allowed. Candidates are chosen by cosine, even
 * with means.
 *   effort   lists probed or candidates kept; 0: chosen automatically */
CQ_MUST_USE cq_status cq_approximate_top(cq_neighbors *out, const cq_approximate *a, const float *queries,
                                         size_t n_queries, const float *documents, size_t n, size_t dim, size_t k,
                                         size_t effort, const cq_top_facts *facts,
                                         bool (*allowed)(const void *context, size_t row), const void *context,
                                         cq_context *ctx, cq_error *error);

#endif
