/* The common part of all runs that train an encoder (training_run.h): steps, evaluation during training, log, model
 * card. A task defines how a batch is built and computed.
 *
 *   open ──▶ (the task reads its data, opens its encoder) ──▶ run ──▶ close */
#ifndef RECIPE_RUN_ENCODER_TRAINING_H
#define RECIPE_RUN_ENCODER_TRAINING_H

#include "calque/training.h"
#include "recipe/run/dev_sets.h"
#include "recipe/run/training_run.h"
#include "train/average.h"
#include "train/parallel.h"
#include "train/sampler.h"
#include "train/trainer.h"

typedef struct cq_training_task {
  const char *name; /* of the command */
  /* Computes the next batch: number cq_trainer_batches. */
  cq_status (*batch)(void *context, cq_step_report *report, cq_error *error);
  /* Saves and restores the task's other trained parts as sections of a checkpoint; NULL: none. */
  cq_status (*save)(void *context, cq_checkpoint_writer *w, cq_error *error);
  cq_status (*restore)(void *context, const cq_checkpoint *c, cq_error *error);
  /* Adds the task's own options and data, and the initial encoder. */
  cq_status (*identify)(const void *context, cq_run_identity *out, cq_error *error);
  /* The model card's first paragraph, its training data, and list items on the training method. */
  void (*card_title)(const void *context, cq_builder *card);
  void (*card_data)(const void *context, cq_builder *card);
  void (*card_task)(const void *context, cq_builder *card);
  /* The model from which the trained one is derived, and text whose labels may be language codes; NULL: none. */
  const char *base_model;
  const cq_parallel *labeled;
  cq_slice card_end; /* the last part of the model card */
  cq_run_time time;
  const char *done; /* a file that gets the result, as a memory image, once the model is in place; NULL: none */
  void *context;
} cq_training_task;

typedef struct cq_training {
  cq_run run;
  cq_training_options options; /* taken, best_by decided */
  const cq_training_options *o;
  cq_context *ctx;
  cq_training_task task;
  cq_encoder *encoder;              /* that learns */
  const cq_cached_encoder *teacher; /* of the MSE on dev; NULL: none */
  cq_trainer *trainer;
  cq_average average; /* of the last evaluations' weights; {0}: no averaging */
  bool keeps_average; /* keep is to save it, not the weights */
  cq_dev_sets dev;
  bool by_weight;   /* files are drawn from by weight */
  const char *kind; /* the kind of the last batch, for the log; NULL: there is only one kind */
  uint64_t n_pairs; /* of an epoch */
  uint64_t n_steps; /* planned; a clock may move the run's end */
  bool spreads;     /* evaluations over the time, by the clock */
  cq_dev_figures before, now;
  bool has_before;
  struct {
    double best_score;    /* of what is kept */
    double best_mse;      /* its mean squared error to the teacher; NaN: none */
    double highest;       /* score so far */
    uint64_t n_collapsed; /* evaluations that found the vectors hardly different */
    uint64_t averaged;    /* evaluations averaged in the kept model; 0: not a mean */
  } measured;             /* as a checkpoint has it */
  double gradient_norm;   /* the last update's */
  double started;         /* seconds: of the teacher's work, or of the steps' */
  uint64_t sentences, truncated;
  struct {
    uint64_t n_updates, n_gradients; /* floats; of tables the touched rows */
    uint64_t sent, received;         /* bytes */
  } exchanged;                       /* with other ranks by this process */
} cq_training;

/* o: copied and checked by the table (recipe/run/training_options.h). Finds the work directory and reads the held-out
 * files. Call cq_training_close(r) even if this fails. */
CQ_MUST_USE cq_status cq_training_open(cq_training *r, const cq_training_options *o, const cq_training_task *task,
                                       cq_context *ctx, cq_error *error);
void cq_training_close(cq_training *r);

/* --- for the task, while it gets ready --- */

/* False: stop. text NULL: only numbers. */
bool cq_training_tell(void *training, const char *phase, uint64_t step, uint64_t n, const char *text);
void cq_training_notice(void *training, const char *text); /* a cq_notice_fn */
CQ_MUST_USE cq_status cq_training_open_encoder(cq_training *r, const char *name, cq_error *error);
/* Adds files of training data, and reports the size of each. */
CQ_MUST_USE cq_status cq_training_read(cq_parallel *data, cq_training *r, const cq_training_data *files, size_t n,
                                       const cq_parallel_options *options, cq_error *error);
cq_parallel_options cq_training_text_options(const cq_training *r);
/* Weights only have an effect with several sets. Errors: CQ_ERR_ARGUMENT with no_shuffle. */
CQ_MUST_USE cq_status cq_training_sampling(cq_sampling *out, cq_training *r, const cq_training_data *files, size_t n,
                                           cq_error *error);

/* The number of steps of a run with n_pairs per epoch. */
uint64_t cq_training_steps(const cq_training *r, uint64_t n_pairs);

/* --- the run --- */

/* The optimizer's options, for other modules that the task trains. */
cq_optimizer_options cq_training_optimizer(const cq_training *r);
/* Trains to the end, with n_pairs per epoch, and puts the model in place. result may be NULL. */
CQ_MUST_USE cq_status cq_training_run(cq_training *r, uint64_t n_pairs, cq_training_result *result, cq_error *error);
/* For identify: adds the number of files, their weights and their text. */
void cq_training_identify_data(cq_run_identity *out, const char *kind, const cq_parallel *data);

#endif
