/* One blocked pass over the cosines of two sets of rows; computes exactly only those that may matter. */
#ifndef SEARCH_PASS_H
#define SEARCH_PASS_H

#include "calque/nearest.h"
#include "search/rows.h"

#include <stdatomic.h>

typedef struct cq_pass cq_pass;

/* The input of a pass, and the callback for cosines that may matter. */
typedef struct cq_pass_of {
  cq_row_set x, y;
  bool within; /* y is x: of each two rows one pair, i > j */
  cq_first_pass first_pass;
  /* [x.n], [y.n] the bounds of rows and columns, from cq_pass_bound(): a cosine that may reach either is computed.
   * Bounds may rise during the pass. y_bounds NULL: only row bounds count; within: the same as x_bounds. */
  const _Atomic float *x_bounds, *y_bounds;
  /* Called by the context's threads, with the worker's number: the exact cosine of row i of x and row j of y. It may be
   * below the bound. */
  void (*found)(void *context, int worker, size_t i, size_t j, double cosine);
  void *context;
} cq_pass_of;

/* Errors: CQ_ERR_ARGUMENT for a number that is not finite (the message names side and row), dim 0, or 2^32 - 1 rows;
 * CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_pass_open(cq_pass **out, const cq_pass_of *of, cq_context *ctx, cq_error *error);
void cq_pass_free(cq_pass *pass);

/* The score bound for a cosine: every pair with at least this cosine has at least this score. */
float cq_pass_bound(const cq_pass *pass, double cosine);

/* Compares the next rows of y, after the first `done`, with all of x; returns how many are then done. */
size_t cq_pass_run(cq_pass *pass, size_t done, cq_context *ctx);

#endif
