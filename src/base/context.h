/* Runs work on a context's threads, and keeps memory with it between calls. calque/context.h makes contexts. */
#ifndef BASE_CONTEXT_H
#define BASE_CONTEXT_H

#include "calque/context.h"

#include <stddef.h>

/* Calls work(context, item, worker) for every item in [0, n_items) and returns when all are done. Items are handed
 * out in order, one at a time, to whichever worker is free. worker is in [0, n_threads): the calling thread is worker
 * 0, and no two threads have the same number in one call. Any number of threads may call this at once: each works on
 * its own items, and threads of the context that are idle help with any of them. ctx NULL, one item, and a call from
 * within work of the same ctx run on the caller alone. */
void cq_context_run(cq_context *ctx, size_t n_items, void (*work)(void *context, size_t item, int worker),
                    void *context);

/* The same for work that may fail. Returns the first failure in order of the items, whichever thread had it first.
 * Items after one that has failed may not run. */
CQ_MUST_USE cq_status cq_context_try(cq_context *ctx, size_t n_items,
                                     cq_status (*work)(void *context, size_t item, int worker, cq_error *error),
                                     void *context, cq_error *error);

/* --- spares: objects that a call makes, such as a worker's memory, and that are kept for later calls --- */

/* A kind of interchangeable objects, identified by its address. */
typedef struct cq_spare_kind {
  void (*free)(void *object);
} cq_spare_kind;

/* Takes a spare object of that kind, preferably one that this thread put back; NULL: there is none, make one. */
void *cq_context_take(cq_context *ctx, const cq_spare_kind *kind);

/* Puts back an object of n_bytes, taken or new. The oldest ones are freed when there are too many or their total size
 * is too large; without a context (ctx NULL) the object is freed at once. */
void cq_context_put(cq_context *ctx, const cq_spare_kind *kind, void *object, size_t n_bytes);

#endif
