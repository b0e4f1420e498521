/* Running work on a context's threads. See calque/context.h for its making. */
#ifndef BASE_CONTEXT_H
#define BASE_CONTEXT_H

#include "calque/context.h"

#include <stddef.h>

/* Calls work(context, item, worker) for every item in [0, n_items) and returns when all are done. Items are handed
 * out in order, one at a time, to whichever worker is free; worker is in [0, n_threads). ctx NULL runs all on the
 * caller. Work must not call cq_context_run on the same ctx. */
void cq_context_run(cq_context *ctx, size_t n_items, void (*work)(void *context, size_t item, int worker),
                    void *context);

#endif
