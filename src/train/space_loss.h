/* Losses between the vectors of a batch's two sides. Row i of one side belongs to row i of the other: its translation,
 * or its partner in a scored or labeled pair. Each loss returns its unweighted value, and adds weight times its
 * gradient to both sides'. */
#ifndef TRAIN_SPACE_LOSS_H
#define TRAIN_SPACE_LOSS_H

#include "base/context.h"
#include "calque/status.h"
#include "tensor/workspace.h"

typedef struct cq_space {
  const float *vectors[2]; /* [n, dim] */
  float *gradients[2];     /* [n, dim], added to */
  int64_t n, dim;          /* n >= 1 */
} cq_space;

/* The mean over pairs of |a - b|^2. */
double cq_space_distance(const cq_space *s, double weight);

/* The mean over pairs of d^2 for the pair and max(0, margin - d)^2 for its sentence and the next pair's translation,
 * cyclically (batches are in random order); d is the Euclidean distance. Source: Hadsell et al. 2006, eq. 4. */
double cq_space_pairs(const cq_space *s, double margin, double weight);

/* The mean over one language's sentences of |v - target|^2, with targets [n, dim], for example a teacher's. */
double cq_space_distillation(const cq_space *s, int side, const float *targets, double weight);

/* The mean over pairs of (cos(a, b) - wanted)^2, wanted [n]. A vector of length 0 has cosine 0 and no gradient. Source:
 * Reimers & Gurevych 2019, section 3, the regression objective. */
double cq_space_cosines(const cq_space *s, const float *wanted, double weight);

/* The mean over a reranker's logits [n] of the binary cross-entropy with wanted [n], probabilities. */
double cq_logits_loss(float *gradients, const float *logits, const float *wanted, size_t n);

/* The contrastive loss over the batch's translations, in both directions: contrast.h. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_space_in_batch(double *loss, const cq_space *s, double temperature, double weight,
                                        cq_worker *worker, cq_context *ctx, cq_error *error);

#endif
