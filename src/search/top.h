/* The documents nearest to a few queries. */
#ifndef SEARCH_TOP_H
#define SEARCH_TOP_H

#include "calque/nearest.h"

/* The k rows of documents [n, dim] nearest to each of n_queries rows [n_queries, dim], of those that allowed() says
 * yes to (NULL: all), exactly, ties to the lowest index. Places without a document have index UINT32_MAX. Reads the
 * documents once for 64 queries; made for few queries where cq_nearest is made for many. Errors: CQ_ERR_ARGUMENT for
 * a number in queries that is not finite, k or dim 0; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_top(cq_neighbours *out, const float *queries, size_t n_queries, const float *documents,
                             size_t n, size_t dim, size_t k, bool (*allowed)(const void *context, size_t row),
                             const void *context, cq_context *ctx, cq_error *error);

#endif
