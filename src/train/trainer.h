/* One training step of an encoder: forward -> loss -> backward -> update. The loss is computed either per vector, from
 * its target, or from all of a batch's vectors together. A batch is computed in shards (train/shards.h), so that the
 * result does not depend on the number of threads. */
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H

#include "cache/checkpoint.h"
#include "model/encoder.h"
#include "nn/optimizer.h"
#include "train/exchange.h"

typedef struct cq_trainer_options {
  int n_shards;
  int accumulate; /* batches summed before an update, at least 1 */
  uint64_t seed;  /* of dropout */
  bool dropout;   /* use the model's dropouts */
  cq_optimizer_options optimizer;
  const cq_exchange *exchange; /* with other processes; NULL: none */
  bool shard_tables;           /* among them (train/table_parts.h) */
} cq_trainer_options;

typedef struct cq_trainer cq_trainer;

/* Makes the encoder trainable (cq_encoder_make_trainable) and allocates gradients and optimizer state. The encoder is
 * borrowed. Errors: CQ_ERR_ARGUMENT, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_trainer_new(cq_trainer **out, cq_encoder *encoder, cq_context *ctx,
                                     const cq_trainer_options *options, cq_error *error);
void cq_trainer_free(cq_trainer *t);

typedef struct cq_step_report {
  double loss;          /* before the update */
  double gradient_norm; /* before clipping; of the last update */
  bool updated;         /* false while batches are accumulated */
  uint64_t n_sentences, n_tokens, n_truncated;
  int64_t n_gradients; /* of the last update: number of floats, including only touched rows of tables */
} cq_step_report;

/* Computes a batch and, when it completes an accumulation, updates the model. targets [n]: the vector that each
 * sentence should have; the loss is the mean over all n * dim of (y - target)^2. Errors: CQ_ERR_LIMIT when the loss or
 * the gradient is not finite (in the latter case, the model is unusable), CQ_ERR_MEMORY; an accumulation cannot
 * continue after an error. */
CQ_MUST_USE cq_status cq_trainer_step(cq_trainer *t, const cq_slice *texts, const float *const *targets, size_t n,
                                      cq_step_report *report, cq_error *error);

/* Computes the loss of n vectors, and adds its gradient to theirs; both [n, dim]. */
typedef cq_status (*cq_joint_loss)(void *context, double *loss, float *gradients, const float *vectors, size_t n,
                                   cq_error *error);
/* The same with a loss of all vectors together. Activations of the whole batch are kept from forward to backward. */
CQ_MUST_USE cq_status cq_trainer_step_jointly(cq_trainer *t, const cq_slice *texts, size_t n, cq_joint_loss loss,
                                              void *context, cq_step_report *report, cq_error *error);

/* After this call, the first n sentences of each batch are tokenized with piece dropout (token/tokenizer.h), which
 * depends on the trainer's seed and the batch's number. */
void cq_trainer_drop_pieces(cq_trainer *t, double share, size_t n);

/* Batches computed and updates done so far. */
uint64_t cq_trainer_batches(const cq_trainer *t);
uint64_t cq_trainer_updates(const cq_trainer *t);

/* Brings all parameters to the current step, so that the encoder may be evaluated or saved. Training may continue.
 * Called by all ranks. Errors: the exchange's, if tables are divided. */
CQ_MUST_USE cq_status cq_trainer_settle(cq_trainer *t, cq_error *error);
/* Call on all ranks before rank 0 saves: it receives the others' table parts. Errors: the exchange's. */
CQ_MUST_USE cq_status cq_trainer_collect(cq_trainer *t, cq_error *error);

/* The trainer's whole state as sections of a checkpoint, and back. Legal only between updates (not amid an
 * accumulation). Errors of restoring: CQ_ERR_FORMAT when the checkpoint is of another model. */
CQ_MUST_USE cq_status cq_trainer_save(cq_trainer *t, cq_checkpoint_writer *w, cq_error *error);
CQ_MUST_USE cq_status cq_trainer_restore(cq_trainer *t, const cq_checkpoint *c, cq_error *error);

#endif
