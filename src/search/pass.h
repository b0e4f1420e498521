/* One blocked pass over the cosines of two sets of rows, which computes exactly those that may matter. */
#ifndef SEARCH_PASS_H
#define SEARCH_PASS_H

#include "calque/nearest.h"
#include "search/rows.h"

#include <stdatomic.h>

typedef struct cq_pass cq_pass;

/* The input of a pass, and its action where a cosine may matter. */
typedef struct cq_pass_of {
  cq_row_set x, y;
  bool within; /* y is x: of each two rows one pair, i > j */
  cq_first_pass first_pass;
  /* [x.n], [y.n] the bound of a row or a column, from cq_pass_bound(): a cosine that may reach either is
   * computed. Bounds may rise meanwhile. y_bounds NULL: the rows decide alone; within: as x_bounds. */
  const _Atomic float *x_bounds, *y_bounds;
  /* Called by the context's threads, each with its number: the exact cosine of rows i of x and j of y, which may be
   * lower than the requested one. */
  void (*found)(void *context, int worker, size_t i, size_t j, double cosine);
  void *context;
} cq_pass_of;

/* Errors: CQ_ERR_ARGUMENT for a number that is not finite, naming side and row, dim 0, or 2^32 - 1 rows;
 * CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_pass_open(cq_pass **out, const cq_pass_of *of, cq_context *ctx, cq_error *error);
void cq_pass_free(cq_pass *pass);

/* A lower bound of the score of any cosine from this one up: what bounds are made of. */
float cq_pass_bound(const cq_pass *pass, double cosine);

/* Looks at the next rows of y, after the first `done`, with all of x; returns how many are done then. */
size_t cq_pass_run(cq_pass *pass, size_t done, cq_context *ctx);

#endif
