/* The documents nearest to a few queries. */
#ifndef SEARCH_TOP_H
#define SEARCH_TOP_H

#include "calque/nearest.h"

/* The k rows of documents [n, dim] nearest to each of n_queries rows [n_queries, dim], of those that allowed() says
 * yes to (NULL: all), exactly, ties to the lowest index. Places without a document have index UINT32_MAX. Reads the
 * documents once for 64 queries; made for few queries where cq_nearest is made for many. Errors: CQ_ERR_ARGUMENT for
 * a number in queries that is not finite, k or dim 0; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_top(cq_neighbors *out, const float *queries, size_t n_queries, const float *documents,
                             size_t n, size_t dim, size_t k, bool (*allowed)(const void *context, size_t row),
                             const void *context, cq_context *ctx, cq_error *error);

/* Precomputed data on the documents. */
typedef struct cq_top_facts {
  /* Cross-domain similarity local scaling (CSLS) subtracts this from hubs, documents near to everything: the mean
   * cosine of document i and its nearest queries, means[i * stride]; NULL: no scaling. */
  const float *means;
  size_t stride;
  _Atomic double *lengths; /* [n] Euclidean lengths, kept from one search to the next; 0: not known yet; may be NULL */
} cq_top_facts;
/* The same by CSLS: by 2 cos(query, document) - mean(document), which the results have as cosines; without means by the
 * cosine. facts may be NULL. The query's own mean, which CSLS takes away as well, is the same for all of its documents.
 * Source: Conneau et al. 2018, section 2.3. */
CQ_MUST_USE cq_status cq_top_csls(cq_neighbors *out, const float *queries, size_t n_queries, const float *documents,
                                  size_t n, size_t dim, size_t k, const cq_top_facts *facts,
                                  bool (*allowed)(const void *context, size_t row), const void *context,
                                  cq_context *ctx, cq_error *error);

#endif
