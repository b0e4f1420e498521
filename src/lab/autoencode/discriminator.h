/* A network that predicts from a vector which of two languages its sentence is in. Encoders learn to make vectors that
 * do not reveal it.
 *
 *   v [dim] --linear, leaky ReLU--> [hidden] --linear--> x, the log odds of the second language
 *
 * It is trained alongside the encoders, with its own optimizer:
 *
 *   cq_discriminator_forward(d, &report, &space, weight, ctx, error);   // gradients of the vectors
 *   cq_discriminator_update(d, ctx, error);                             // its own, from the last forward
 *
 * Results do not depend on the number of threads. Sources: Ganin et al. 2016 (the reversed gradient), Lample et al.
 * 2018 (the other language's label; the slope of 0.2). */
#ifndef LAB_AUTOENCODE_DISCRIMINATOR_H
#define LAB_AUTOENCODE_DISCRIMINATOR_H

#include "cache/checkpoint.h"
#include "nn/optimizer.h"
#include "train/space_loss.h"

/* The encoders' objective. */
typedef enum cq_adversary {
  CQ_ADVERSARY_REVERSED, /* minus the discriminator's loss */
  CQ_ADVERSARY_SWAPPED,  /* the loss with swapped language labels: its gradient does not vanish when the discriminator
                          * is nearly always right */
} cq_adversary;

typedef struct cq_discriminator_options {
  int64_t dim, hidden;
  cq_adversary adversary_by;
  double smoothing; /* labels are this and 1 minus this, instead of 0 and 1; below 0.5 */
  int n_shards;     /* ranges of the batch: train/shards.h */
  uint64_t seed;
  cq_optimizer_options optimizer;
} cq_discriminator_options;

typedef struct cq_discriminator_report {
  double loss;      /* cross-entropy, averaged over both languages' vectors */
  double accuracy;  /* share of the vectors whose language it predicts correctly */
  double adversary; /* what the encoders make less, unweighted */
} cq_discriminator_report;

typedef struct cq_discriminator cq_discriminator;

/* A new one, initialized like PyTorch's linear layers. Errors: CQ_ERR_ARGUMENT, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_discriminator_new(cq_discriminator **out, const cq_kernels *kernels,
                                           const cq_discriminator_options *options, cq_error *error);
void cq_discriminator_free(cq_discriminator *d);

/* Adds weight times the gradient of the encoders' adversarial loss to the space's; keeps its own gradient. Errors:
 * CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_discriminator_forward(cq_discriminator *d, cq_discriminator_report *report,
                                               const cq_space *space, double weight, cq_context *ctx, cq_error *error);
/* Updates by the kept gradient. Errors: CQ_ERR_LIMIT if that is not finite (the discriminator is then unusable). */
CQ_MUST_USE cq_status cq_discriminator_update(cq_discriminator *d, cq_context *ctx, cq_error *error);

/* Weight and bias of both layers, first to last. Pack them after a change. */
const cq_params *cq_discriminator_params(const cq_discriminator *d);
CQ_MUST_USE cq_status cq_discriminator_pack(cq_discriminator *d, cq_error *error);

/* Its whole state as sections "discriminator.*", and back. Errors of restoring: CQ_ERR_FORMAT. */
CQ_MUST_USE cq_status cq_discriminator_save(const cq_discriminator *d, cq_checkpoint_writer *w, cq_error *error);
CQ_MUST_USE cq_status cq_discriminator_restore(cq_discriminator *d, const cq_checkpoint *c, cq_error *error);

#endif
