/* One pass over all cosines of two sets of rows, which fills lists of neighbors. */
#ifndef SEARCH_FILL_H
#define SEARCH_FILL_H

#include "calque/nearest.h"
#include "search/rows.h"

typedef struct cq_filling {
  cq_row_set x, y;                       /* the lists number rows from x.first and y.first on, or by these: */
  const uint32_t *x_numbers, *y_numbers; /* [x.n], [y.n]; NULL: not */
  bool within;                           /* y is x: of each two rows one pair */
  cq_first_pass first_pass;
  cq_neighbors *of_x, *of_y; /* lists for the rows of x and y, as filled so far; of_y NULL: not needed, or within */
  size_t done;               /* rows of y that have been offered to them */
  cq_status (*chunk_done)(void *context, size_t done, cq_error *error); /* called now and then; may be NULL */
  void *context;
} cq_filling;

/* Offers all pairs of rows of x and the rows of y after the first `done` to the lists. Errors: CQ_ERR_ARGUMENT as
 * cq_nearest; CQ_ERR_MEMORY; an error of chunk_done, which ends the pass. */
CQ_MUST_USE cq_status cq_lists_fill(const cq_filling *filling, cq_context *ctx, cq_error *error);

#endif
