/* A thread that sums one array after another over all ranks while others are computed. */
#ifndef TRAIN_SUM_THREAD_H
#define TRAIN_SUM_THREAD_H

#include "calque/status.h"

#include <stdint.h>

typedef struct cq_sum_thread cq_sum_thread;

/* In the thread, in the order of the calls of _begin. */
typedef cq_status (*cq_sum_fn)(void *context, float *values, int64_t n, cq_error *error);

/* The thread itself starts with the first sum. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_sum_thread_new(cq_sum_thread **out, cq_sum_fn sum, void *context, cq_error *error);
/* Waits for the sum under way and drops those queued. */
void cq_sum_thread_free(cq_sum_thread *t);

/* May be called by any thread. The sum owns the values until cq_sum_thread_finish. */
void cq_sum_thread_begin(cq_sum_thread *t, float *values, int64_t n);
/* Waits for all started sums. Errors: that of the first failed sum, after which none is started; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_sum_thread_finish(cq_sum_thread *t, cq_error *error);

#endif
