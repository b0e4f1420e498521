/* Nearest-neighbor search by several ranks together: ring.c. */
#ifndef SEARCH_RING_H
#define SEARCH_RING_H

#include "search/fill.h"

/* filling->x, y, first_pass, of_x (empty, as of_y) are used on rank 0 only; `within` and whether of_y is NULL agree on
 * all. Errors: as cq_nearest; CQ_ERR_ARGUMENT if a different number of ranks began the search; CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_ring_nearest(const cq_filling *filling, const cq_nearest_options *options, cq_context *ctx,
                                      cq_error *error);

#endif
