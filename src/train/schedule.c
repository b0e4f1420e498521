/* Learning rates over a run, as in Hugging Face's schedulers. See schedule.h. */
#include "train/schedule.h"

#include <math.h>
#include <stddef.h>

const char *const cq_schedule_names[] = {"linear", "constant", "cosine", NULL};

double cq_schedule_factor(const cq_schedule_plan *plan, uint64_t step) {
  const double done = (double)(step - 1), warmup = (double)plan->n_warmup, total = (double)plan->n_steps;
  if (done < warmup) return done / warmup;
  if (plan->decay == CQ_SCHEDULE_CONSTANT) return 1;
  if (done >= total) return 0;
  const double share = (done - warmup) / (total - warmup > 1 ? total - warmup : 1);
  return plan->decay == CQ_SCHEDULE_LINEAR ? 1 - share : 0.5 * (1 + cos(3.141592653589793 * share));
}
