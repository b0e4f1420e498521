/* A run against the clock: how many steps fit the time left, and when to pause. See run_clock.h. */
#include "recipe/run/run_clock.h"

#include "base/memory.h"

#include <math.h>

enum {
  MEMORY = 50,   /* steps whose mean is the pace */
  EVERY = 10,    /* steps after which the end is planned again */
  AT_THE_END = 2 /* pauses after the last step: its own evaluation, and the kept model's */
};
#define MOST_OF_TIME 0.1 /* for pauses */

void cq_run_clock_step(cq_run_clock *c, double seconds) {
  const size_t n = cq_min(++c->n_paced, MEMORY);
  c->pace += (seconds - c->pace) / (double)n;
  if (n == EVERY && c->paused_at == 0) c->paused_at = c->pace;
}

void cq_run_clock_pause(cq_run_clock *c, uint64_t step, double seconds) {
  c->pause = seconds, c->paused_at = 0, c->n_paced = 0;
  c->n_pauses += step > 0, c->last_pause = step;
}

bool cq_run_clock_is_due(const cq_run_clock *c, uint64_t step) {
  return c->time.deadline > 0 && step % EVERY == 0;
}

void cq_run_clock_plan(cq_run_clock *c, uint64_t step, uint64_t n_steps, double now) {
  /* What makes steps slower makes pauses longer, too. */
  const double pause = c->paused_at > 0 ? c->pause * fmin(c->pace / c->paused_at, 2) : c->pause;
  const double n_left = c->n_pauses + 1 < CQ_RUN_PAUSES ? (double)(CQ_RUN_PAUSES - c->n_pauses) : 1;
  double end = (double)n_steps, least = 0;
  if (step > 0) {
    const double left = c->time.deadline - now - AT_THE_END * pause;
    end = (double)step + floor((left - fmin((n_left - 1) * pause, MOST_OF_TIME * left)) / c->pace);
    end = fmin(fmax(end, (double)step), (double)c->most);
    least = pause / c->pace * (1 / MOST_OF_TIME - 1);
  }
  const double apart = fmax((end - (double)c->last_pause) / n_left, least);
  c->next.end = (uint64_t)end;
  c->next.pause = n_left == 1 ? UINT64_MAX : c->last_pause + (uint64_t)fmax(ceil(apart), 1);
}
