/** @file Threads for computation, and memory that is kept between calls. Every function that computes takes a context
 * as its last argument before the error; NULL computes on the calling thread, with temporary memory.
 *
 *      cq_context *ctx;
 *      cq_context_open(&ctx, 0, &err);     // 0: one thread per processor
 *      ... cq_encoder_encode(..., ctx, ...);
 *      cq_context_free(ctx);
 *
 * @threads Any number of threads may use a context at once; a program usually has one. A call computes on the calling
 * thread and the context's idle threads. Results never depend on the number of threads, nor on other users of the
 * context. See docs/threading.md. */
#ifndef CALQUE_CONTEXT_H
#define CALQUE_CONTEXT_H

#include "calque/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_context cq_context;

/** Starts n_threads - 1 threads (the caller is the remaining one); 0: one per processor in the caller's affinity mask.
 * The threads block all signals. In the child of a fork, the parent's context runs everything on the calling thread.
 * @errors CQ_ERR_ARGUMENT for fewer than 0 or more than 4,096 threads; CQ_ERR_MEMORY; CQ_ERR_IO when a thread cannot be
 * started. */
CQ_API CQ_MUST_USE cq_status cq_context_open(cq_context **out, int n_threads, cq_error *error);
/** Ends its threads. No call may be in progress. */
CQ_API void cq_context_free(cq_context *ctx);
CQ_API int cq_context_n_threads(const cq_context *ctx); /**< 1 for NULL */

/** Frees the memory kept for later calls, at most 512 MiB; for use before a pause. */
CQ_API void cq_context_trim(cq_context *ctx);

#ifdef __cplusplus
}
#endif
#endif
