/* A run that has to end in time: its last step moves with the pace of the steps. */
#ifndef RECIPE_RUN_RUN_CLOCK_H
#define RECIPE_RUN_RUN_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Pauses of a run, for an evaluation and a checkpoint, the last one after its last step. There are fewer if they would
 * take more than a tenth of the time. */
enum { CQ_RUN_PAUSES = 10 };

/* In seconds. */
typedef struct cq_run_time {
  double deadline; /* CLOCK_MONOTONIC: the number of steps follows the clock; 0: it is fixed */
  double budget;   /* the whole time; a resumed run gets the difference to its earlier one */
} cq_run_time;

/* Times are in seconds. Stored as a memory image in a checkpoint. */
typedef struct cq_run_clock {
  cq_run_time time;
  double left;      /* until the deadline, when the checkpoint was written */
  double pace;      /* of a step, the mean of the last ones since the last pause */
  double pause;     /* of the last pause */
  double paused_at; /* the pace just after it; 0: not known yet */
  uint64_t most;    /* steps */
  uint64_t n_paced; /* steps timed since the last pause */
  uint64_t n_pauses, last_pause;
  struct {
    uint64_t end, pause; /* the last step, the step of the next pause */
  } next;
} cq_run_clock;

/* Enters the time of a step. */
void cq_run_clock_step(cq_run_clock *c, double seconds);
/* Enters the time of a pause after `step`; 0: before the first step. */
void cq_run_clock_pause(cq_run_clock *c, uint64_t step, double seconds);
/* Whether to plan again after this step: the same on all ranks. */
bool cq_run_clock_is_due(const cq_run_clock *c, uint64_t step);
/* Sets `next`, if `step` is done now. Before the first step, n_steps of them are planned. */
void cq_run_clock_plan(cq_run_clock *c, uint64_t step, uint64_t n_steps, double now);

#endif
