/* The learning rate over a run, as in Hugging Face's schedulers: update t uses factor(t - 1). */
#ifndef TRAIN_SCHEDULE_H
#define TRAIN_SCHEDULE_H

#include "calque/schedule.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct cq_schedule_plan {
  cq_schedule decay;
  uint64_t n_steps, n_warmup;
  uint64_t n_decayed; /* steps done when the end was moved last; 0: it was not */
  double decayed;     /* share of the decay that was over then */
} cq_schedule_plan;

/* The share of the peak rate at update `step` (1-based): rising from 0 over n_warmup, then falling to 0 at n_steps. */
double cq_schedule_factor(const cq_schedule_plan *plan, uint64_t step);

/* Moves the end to n_steps, at least `done`, when `done` steps are done. The rate continues from where it is. */
void cq_schedule_move_end(cq_schedule_plan *plan, uint64_t done, uint64_t n_steps);

/* Whether an action with this interval is due after this step; never if the interval is 0. */
static inline bool cq_is_due(uint64_t step, int every) {
  return every > 0 && step % (uint64_t)every == 0;
}

#endif
