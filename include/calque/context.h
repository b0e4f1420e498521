/* What calls compute with: threads, and memory that is kept from call to call. Every function that computes takes a
 * context, last but for the error; NULL computes on the calling thread, with memory of its own.
 *
 *   cq_context *ctx;
 *   cq_context_open(&ctx, 0, &err);     // 0: one thread per processor
 *   ... cq_encoder_encode(..., ctx, ...);
 *   cq_context_free(ctx);
 *
 * Threads: any number of threads may use a context at once; one context for a whole program is the usual thing. A call
 * computes on the thread that makes it, helped by those of the context's threads that are idle. Results never depend
 * on the number of threads, nor on who else uses the context. See docs/threading.md. */
#ifndef CALQUE_CONTEXT_H
#define CALQUE_CONTEXT_H

#include "calque/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_context cq_context;

/* Starts n_threads - 1 threads (the caller is the remaining one); 0 means one per processor that the caller may
 * run on (its affinity). They take no signals. In the child of a fork a context of the parent's runs everything on the
 * calling thread.
 * Errors: CQ_ERR_ARGUMENT for fewer than 0 or more than 4,096 threads; CQ_ERR_MEMORY; CQ_ERR_IO when a thread cannot
 * be started. */
CQ_API CQ_MUST_USE cq_status cq_context_open(cq_context **out, int n_threads, cq_error *error);
/* Ends its threads. No call may be using the context. */
CQ_API void cq_context_free(cq_context *ctx);
CQ_API int cq_context_n_threads(const cq_context *ctx); /* of NULL: 1 */

/* Frees what is kept for the next calls, at most 512 MiB: for a program that will not compute for a while. */
CQ_API void cq_context_trim(cq_context *ctx);

#ifdef __cplusplus
}
#endif
#endif
