/* The thread pool that is handed to every function that computes in parallel.
 *
 *   cq_pool *pool;
 *   cq_pool_open(&pool, 0, &err);     // 0: one thread per processor
 *   ... cq_encoder_encode(..., pool, ...);
 *   cq_pool_free(pool);
 *
 * Results never depend on the number of threads. A pool serves one caller at a time. */
#ifndef CALQUE_POOL_H
#define CALQUE_POOL_H

#include "calque/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_pool cq_pool;

/* Starts n_threads - 1 threads (the caller is the remaining one); 0 means one per online processor.
 * Errors: CQ_ERR_MEMORY, CQ_ERR_IO when a thread cannot be started. */
CQ_API CQ_MUST_USE cq_status cq_pool_open(cq_pool **out, int n_threads, cq_error *error);
CQ_API void cq_pool_free(cq_pool *pool);
CQ_API int cq_pool_n_threads(const cq_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
