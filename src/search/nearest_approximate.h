/* Nearest neighbors of many rows by approximate search in both directions: for mining text of tens of millions of
 * sentences. Cosines are exact; a neighbor that FAISS does not propose is missing. */
#ifndef SEARCH_NEAREST_APPROXIMATE_H
#define SEARCH_NEAREST_APPROXIMATE_H

#include "calque/nearest.h"

typedef struct cq_nearest_approximate_options {
  size_t k, effort;                /* effort: lists probed; 0: chosen */
  const char *file;                /* for FAISS's lists while they are needed; removed at the end */
  cq_nearest_progress_fn progress; /* of both directions together */
  void *progress_context;
} cq_nearest_approximate_options;

/* As cq_nearest(), and *recall: the share of 1,000 rows of x, evenly spread, whose nearest row is the exact one. Errors:
 * as cq_nearest(), and CQ_ERR_UNSUPPORTED without the plugin. */
CQ_MUST_USE cq_status cq_nearest_approximate(cq_neighbors *of_x, cq_neighbors *of_y, double *recall, const float *x,
                                             size_t n_x, const float *y, size_t n_y, size_t dim,
                                             const cq_nearest_approximate_options *options, cq_context *ctx,
                                             cq_error *error);

#endif
