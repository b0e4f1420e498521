/* Learning rates over a run, as in Hugging Face's schedulers. See schedule.h. */
#include "train/schedule.h"

#include <math.h>
#include <stddef.h>

const char *const cq_schedule_names[] = {"linear", "constant", "cosine", NULL};

/* The share of the decay, from 0 to 1, that is over after n steps. */
static double decayed_after(const cq_schedule_plan *plan, uint64_t n) {
  const double from = (double)(plan->n_decayed ? plan->n_decayed : plan->n_warmup), total = (double)plan->n_steps;
  if ((double)n >= total) return 1;
  const double share = ((double)n - from) / (total - from > 1 ? total - from : 1);
  return plan->decayed + (1 - plan->decayed) * share;
}

void cq_schedule_move_end(cq_schedule_plan *plan, uint64_t done, uint64_t n_steps) {
  if (done > plan->n_warmup) plan->decayed = decayed_after(plan, done), plan->n_decayed = done;
  plan->n_steps = n_steps;
}

double cq_schedule_factor(const cq_schedule_plan *plan, uint64_t step) {
  const uint64_t done = step - 1;
  if (done < plan->n_warmup) return (double)done / (double)plan->n_warmup;
  if (plan->decay == CQ_SCHEDULE_CONSTANT) return 1;
  if (done >= plan->n_steps) return 0;
  const double share = decayed_after(plan, done);
  return plan->decay == CQ_SCHEDULE_LINEAR ? 1 - share : 0.5 * (1 + cos(3.141592653589793 * share));
}
