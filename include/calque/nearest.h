/** @file Exact nearest neighbors by cosine similarity, in both directions from one pass.
 *
 *      cq_neighbors of_x, of_y;
 *      cq_nearest(&of_x, &of_y, x, n_x, y, n_y, dim, NULL, ctx, &err);
 *      printf("%u at %.3f\n", of_x.index[0], of_x.cosine[0]);           // the row of y nearest to row 0 of x
 *      cq_neighbors_free(&of_x), cq_neighbors_free(&of_y);
 *
 * The matrix of cosines is never stored, and vectors are read in place, for example from mapped files: it uses memory
 * for the results and about 20 MB. Cosines and neighbors equal those of a plain loop in double precision, including
 * ties, at every SIMD level and number of threads. For approximate nearest neighbors (ANN) see calque/index.h.
 *
 * @threads Calls are independent of one another, and may share vectors. progress is called on the calling thread. */
#ifndef CALQUE_NEAREST_H
#define CALQUE_NEAREST_H

#include "calque/context.h"
#include "calque/options.h"
#include "calque/ranks.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Each row's k nearest rows of the other side (top-k), nearest first, on a tie the lowest index first. */
typedef struct cq_neighbors {
  size_t n, k;
  uint32_t *index; /**< [n, k] */
  double *cosine;  /**< [n, k]; 0 for a zero vector */
} cq_neighbors;
CQ_API void cq_neighbors_free(cq_neighbors *neighbors);

/** Receives how many of n_all equal parts are done; return false to stop (CQ_ERR_STOPPED). */
typedef bool (*cq_nearest_progress_fn)(void *context, uint64_t done, uint64_t n_all);

/** The number format of the first pass over all cosines. Its candidates are computed again exactly, so the result does
 * not depend on it. */
typedef enum cq_first_pass {
  CQ_FIRST_F32,
  CQ_FIRST_INT8, /**< faster with AVX-512 VNNI and at most 1,024 dimensions; otherwise the same as f32 */
} cq_first_pass;

typedef struct cq_nearest_options {
  size_t size;
  size_t k; /**< neighbors per row, at most the number of rows on the other side */
  cq_first_pass first_pass;
  const uint32_t *x_rows, *y_rows; /**< [n_x], [n_y]: row i is row x_rows[i] of x; NULL: row i */
  const char *checkpoint; /**< a file from which this search resumes, written regularly and removed at the end; NULL:
                           * none */
  double checkpoint_every_s;
  cq_nearest_progress_fn progress;
  void *progress_context;
  /** Divide the search (calque/ranks.h): rank 0 has x, y, the options and the results; the others pass NULL and 0 rows,
   * and get empty lists. Each rank compares a block of x with all of y, and has its own checkpoint,
   * CHECKPOINT.RANK-of-N.STEP, which only the same number of ranks can resume. NULL: only this process */
  cq_ranks *ranks;
} cq_nearest_options;
CQ_DEFAULT_OPTIONS(cq_nearest_options, cq_nearest_default_options, nearest) /**< group "nearest" */

/** Finds the k nearest rows of y [n_y, dim] for each row of x [n_x, dim], and the reverse.
 * @param of_y     NULL: not needed
 * @param options  NULL for the defaults: k 4
 * @errors CQ_ERR_ARGUMENT for a number that is not finite (naming side and row), dim 0, or more than 2^32 - 1 rows;
 * CQ_ERR_STOPPED, CQ_ERR_MEMORY.
 * @source Artetxe & Schwenk 2019, section 3: the neighbors for margins. */
CQ_API CQ_MUST_USE cq_status cq_nearest(cq_neighbors *of_x, cq_neighbors *of_y, const float *x, size_t n_x,
                                        const float *y, size_t n_y, size_t dim, const cq_nearest_options *options,
                                        cq_context *ctx, cq_error *error);

/** The k nearest other rows of the same matrix for each row: half the work of `cq_nearest(x, x)`. */
CQ_API CQ_MUST_USE cq_status cq_nearest_within(cq_neighbors *out, const float *x, size_t n, size_t dim,
                                               const cq_nearest_options *options, cq_context *ctx, cq_error *error);

/** Two rows of one matrix that are near each other. */
typedef struct cq_near_pair {
  uint32_t row, other; /**< row > other */
  double cosine;
} cq_near_pair;

/** All pairs of rows with a cosine of at least min_cosine, ordered by (row, other), without a limit per row.
 * @param out      released with cq_free(); NULL when there are none
 * @param options  k and checkpoint are ignored
 * @errors As above; CQ_ERR_LIMIT for more than max_pairs. */
CQ_API CQ_MUST_USE cq_status cq_near_pairs(cq_near_pair **out, size_t *n_pairs, const float *x, size_t n, size_t dim,
                                           double min_cosine, size_t max_pairs, const cq_nearest_options *options,
                                           cq_context *ctx, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
