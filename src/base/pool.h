/* Running work on the pool. See calque/pool.h for its making. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "calque/pool.h"

#include <stddef.h>

/* Calls work(context, item, worker) for every item in [0, n_items) and returns when all are done. Items are handed
 * out in order, one at a time, to whichever worker is free; worker is in [0, n_threads). pool NULL runs all on the
 * caller. Work must not call cq_pool_run on the same pool. */
void cq_pool_run(cq_pool *pool, size_t n_items, void (*work)(void *context, size_t item, int worker), void *context);

#endif
