/* What calls compute with: threads, kept from call to call. Every function that computes takes one, last but for the error;
 * NULL computes on the calling thread.
 *
 *   cq_context *ctx;
 *   cq_context_open(&ctx, 0, &err);     // 0: one thread per processor
 *   ... cq_encoder_encode(..., ctx, ...);
 *   cq_context_free(ctx);
 *
 * Results never depend on the number of threads. A context serves one caller at a time. */
#ifndef CALQUE_CONTEXT_H
#define CALQUE_CONTEXT_H

#include "calque/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_context cq_context;

/* Starts n_threads - 1 threads (the caller is the remaining one); 0 means one per online processor.
 * Errors: CQ_ERR_MEMORY, CQ_ERR_IO when a thread cannot be started. */
CQ_API CQ_MUST_USE cq_status cq_context_open(cq_context **out, int n_threads, cq_error *error);
CQ_API void cq_context_free(cq_context *ctx);
CQ_API int cq_context_n_threads(const cq_context *ctx);

#ifdef __cplusplus
}
#endif
#endif
