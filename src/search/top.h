/* The documents nearest to a few queries. */
#ifndef SEARCH_TOP_H
#define SEARCH_TOP_H

#include "calque/nearest.h"

/* The exact k nearest rows of documents [n, dim] for each of queries [n_queries, dim], among those for which allowed()
 * returns true (NULL: all); ties go to the lowest index. Places without a document have index UINT32_MAX. Reads the
 * documents once per 64 queries; made for few queries (cq_nearest is for many). Errors: CQ_ERR_ARGUMENT for a number in
 * queries that is not finite, k or dim 0; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_top(cq_neighbors *out, const float *queries, size_t n_queries, const float *documents,
                             size_t n, size_t dim, size_t k, bool (*allowed)(const void *context, size_t row),
                             const void *context, cq_context *ctx, cq_error *error);

/* Precomputed data on the documents. */
typedef struct cq_top_facts {
  /* Cross-domain similarity local scaling (CSLS) penalizes hubs, documents near to everything, by subtracting the mean
   * cosine of document i and its nearest queries, means[i * stride]; NULL: no scaling. */
  const float *means;
  size_t stride;
  _Atomic double *lengths; /* [n] Euclidean lengths, cached between searches; 0: not yet known; may be NULL */
} cq_top_facts;
/* The same by CSLS: ranks by 2 cos(query, document) - mean(document), which is returned as the cosine; without means,
 * by the cosine. facts may be NULL. The query's own mean, which CSLS also subtracts, is the same for all documents and
 * is left out. Source: Conneau et al. 2018, section 2.3. */
CQ_MUST_USE cq_status cq_top_csls(cq_neighbors *out, const float *queries, size_t n_queries, const float *documents,
                                  size_t n, size_t dim, size_t k, const cq_top_facts *facts,
                                  bool (*allowed)(const void *context, size_t row), const void *context,
                                  cq_context *ctx, cq_error *error);

#endif
