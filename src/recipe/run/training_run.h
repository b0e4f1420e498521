/* A run: stages of updates, evaluations, the best model, the log, checkpoints, the end. A task defines what is trained
 * and how.
 *
 *   open ──▶ (the task reads its data) ──▶ start ──▶ (the task makes its model) ──▶ all ──▶ close
 *
 *   all:  the checkpoint of an unfinished run ──▶ each stage: begin, update ... evaluate, keep ... save, end ──▶ finish
 *
 * A run that was stopped or killed resumes from its last checkpoint and gives the same bits as an uninterrupted run.
 * Work in progress is in OUTPUT.work (work_directory.h). */
#ifndef RECIPE_RUN_TRAINING_RUN_H
#define RECIPE_RUN_TRAINING_RUN_H

#include "cache/checkpoint.h"
#include "nn/param.h"
#include "ranks/ranks.h"
#include "recipe/run/identity.h"
#include "recipe/run/run_clock.h"
#include "recipe/run/run_log.h"
#include "recipe/run/work_directory.h"
#include "train/schedule.h"
#include "train/tree_exchange.h"

/* A stage: one learning-rate schedule. */
typedef struct cq_run_stage {
  const char *name;  /* in news, messages and the log */
  uint64_t n_steps;  /* 0: the stage is left out */
  uint64_t n_warmup; /* of them the learning rate rises in */
  bool evaluates;
  bool evaluates_first;    /* before its first step, too */
  uint64_t evaluate_every; /* steps, and at the end; 0: only at the end */
  uint64_t most_steps;     /* as many as the clock may make of n_steps */
  bool spreads; /* evaluations and checkpoints over the time of the clock, instead of at every so many steps */
  const cq_params *params; /* what is trained */
} cq_run_stage;

typedef struct cq_run_task {
  int n_stages;
  /* Describes a stage and prepares it: from a checkpoint saved during the stage, or (NULL) from the end of the previous
   * stage. Called again when a stage is resumed in a new process. */
  cq_status (*begin)(cq_run_stage *out, void *context, int number, const cq_checkpoint *from, cq_error *error);
  /* One update and its record in the log. CQ_ERR_LIMIT: a number is not finite; the run reports where. */
  cq_status (*update)(double *loss, void *context, cq_error *error);
  /* Measures, logs; *better: than what was kept last. */
  cq_status (*evaluate)(bool *better, void *context, cq_error *error);
  cq_status (*keep)(void *context, const char *directory, cq_error *error); /* the model as it was evaluated */
  cq_status (*end)(void *context, cq_error *error);                         /* of a stage */
  /* Writes the output: the model in the directory `best`, or (NULL) the current one. */
  cq_status (*finish)(void *context, const char *best, cq_error *error);
  /* Called on all ranks before rank 0 saves, to send it the state that the others keep. NULL: they keep nothing. */
  cq_status (*collect)(void *context, cq_error *error);
  /* Saves everything that the next update depends on, except the run's own state, as sections. */
  cq_status (*save)(void *context, cq_checkpoint_writer *w, cq_error *error);
  /* News; text NULL: only numbers. False: stop. */
  bool (*tell)(void *context, const char *phase, uint64_t step, uint64_t n_steps, const char *text);
  void *context;
} cq_run_task;

typedef struct cq_run_options {
  const char *output, *log_path; /* log_path NULL: in the work directory, and at the end next to the model */
  bool resume, replace;
  int checkpoint_every; /* steps; 0: at the end of a stage and when stopped */
  int patience;         /* a stage ends after this number of evaluations without improvement; 0: never early */
  cq_schedule schedule;
  double learning_rate, table_learning_rate; /* the latter for word embeddings; 0: the same */
  cq_ranks *ranks;                           /* the processes of the run; rank 0 writes; NULL: only this process */
  bool narrow_exchange;                      /* gradients are exchanged as bf16 (train/tree_exchange.h) */
  bool shard_tables;                         /* each keeps a part of them (train/table_parts.h) */
  cq_run_time time;
} cq_run_options;

/* The run's own section of a checkpoint. Only fixed-size numbers, since it is stored as a memory image. */
typedef struct cq_run_state {
  uint64_t stage, step; /* of the stage */
  uint64_t n_steps;     /* of all stages until now */
  uint64_t log_bytes, has_best, best_step, n_waited;
  double loss; /* a running mean over the stage, for display */
} cq_run_state;

typedef struct cq_run {
  cq_run_options o;
  cq_run_task task;
  cq_work_directory work;
  cq_run_log log;
  cq_run_stage stage; /* the current one */
  cq_schedule_plan plan;
  cq_run_state state;
  cq_run_clock clock;
  cq_checkpoint *resumed;     /* until its stage has begun; NULL: none */
  cq_tree_exchange *exchange; /* of the ranks; NULL: this process is alone */
  bool leads;                 /* rank 0: it writes */
  bool stopped;               /* by tell, or by the task */
  bool over;                  /* the task ends the stage */
  double saving;              /* seconds that the last checkpoint took */
  double started;             /* seconds: when the stage began or was resumed */
  uint64_t first_step;        /* that was done then */
} cq_run;

/* Finds the work directory and checks its contents. Call cq_run_close(r) even if this fails. */
CQ_MUST_USE cq_status cq_run_open(cq_run *r, const cq_run_options *options, const cq_run_task *task, cq_error *error);
void cq_run_close(cq_run *r); /* legal on {0} */
/* How gradients are summed over ranks. */
const cq_exchange *cq_run_exchange(const cq_run *r);
/* Makes the work directory and locks it for this process. */
CQ_MUST_USE cq_status cq_run_start(cq_run *r, cq_error *error);
/* Trains to the end and puts the model in place. Errors: CQ_ERR_ARGUMENT when the unfinished run has another identity;
 * CQ_ERR_LIMIT when a loss, a gradient or a weight is not finite; CQ_ERR_STOPPED after a checkpoint; the task's. */
CQ_MUST_USE cq_status cq_run_all(cq_run *r, const cq_run_identity *identity, cq_error *error);

/* Updates a running mean of roughly the last 50 values, for display; if *mean is 0, it becomes this value. */
void cq_run_average(double *mean, double value);
/* An optimizer's learning_rate; the context is the run. */
double cq_run_learning_rate(const void *run, uint64_t step, bool table);

#endif
