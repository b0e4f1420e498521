/* The learning rate over a run, as in Hugging Face's schedulers: update t uses factor(t - 1). */
#ifndef TRAIN_SCHEDULE_H
#define TRAIN_SCHEDULE_H

#include "calque/schedule.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct cq_schedule_plan {
  cq_schedule decay;
  uint64_t n_steps, n_warmup;
} cq_schedule_plan;

/* The share of the peak rate at update `step` (1-based): rising from 0 over n_warmup, then falling to 0 at n_steps. */
double cq_schedule_factor(const cq_schedule_plan *plan, uint64_t step);

/* Whether an action with this interval is due after this step; never if the interval is 0. */
static inline bool cq_is_due(uint64_t step, int every) {
  return every > 0 && step % (uint64_t)every == 0;
}

#endif
