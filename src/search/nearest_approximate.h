/* Nearest neighbors of many rows in both directions, approximately: for mining text of tens of millions of sentences.
 * Cosines are exact; a neighbor whose list is not searched is missing. */
#ifndef SEARCH_NEAREST_APPROXIMATE_H
#define SEARCH_NEAREST_APPROXIMATE_H

#include "calque/nearest.h"

typedef struct cq_nearest_approximate_options {
  size_t k;
  size_t effort;                   /* lists searched for a row of x; 0: as many as 99 % of a sample of pairs need */
  size_t n_lists;                  /* 0: twice the root of y's rows */
  size_t block;                    /* rows of x at a time; 0: 4 GiB of them */
  const uint32_t *x_rows, *y_rows; /* as in cq_nearest_options */
  const char *file;                /* for y's vectors in the order of the lists; removed at the end */
  cq_nearest_progress_fn progress; /* of the search; may be NULL */
  void *progress_context;
} cq_nearest_approximate_options;

/* What a search did. */
typedef struct cq_nearest_approximate_report {
  double recall;   /* the share of sampled mutual neighbors that were found; others chose the effort */
  double compared; /* the share of all pairs of rows that were */
  size_t n_lists, effort;
  /* Seconds of all processors: centroids; y to lists; exact pairs of the sample; the rest. */
  double train_s, assign_s, sample_s, search_s;
} cq_nearest_approximate_report;

/* As cq_nearest(). A row with fewer than k neighbors has its first again, with the cosine of its last. Errors: as
 * cq_nearest(), and CQ_ERR_IO for the file. */
CQ_MUST_USE cq_status cq_nearest_approximate(cq_neighbors *of_x, cq_neighbors *of_y,
                                             cq_nearest_approximate_report *report, const float *x, size_t n_x,
                                             const float *y, size_t n_y, size_t dim,
                                             const cq_nearest_approximate_options *options, cq_context *ctx,
                                             cq_error *error);

#endif
