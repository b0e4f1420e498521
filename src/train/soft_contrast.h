/* A contrastive loss (InfoNCE) with a teacher's similarities as soft labels: a student's vector should have the same
 * similarities to the teacher's candidate vectors as the teacher's own vector of the sentence.
 *
 *   p_j = softmax_j(cos(y, t_j) / temperature)      y: the student's vector of a sentence or its translation
 *   q_j = softmax_j(cos(t, t_j) / temperature)      t: the teacher's vector of the sentence
 *   loss = mean over y of -sum_j q_j log p_j
 *
 * A repeated sentence or a paraphrase in a batch is not a false negative: it has its share of q. Low temperatures make
 * the labels harder. Candidates are the batch's own sentences and any hard negatives. Source: Hu et al. 2024 (IMASCL,
 * arXiv 2405.16155), section 3; van den Oord et al. 2018, eq. 4.
 *
 * With prefixes (Matryoshka, Kusupati et al. 2022, arXiv 2205.13147, eq. 1) the loss of the vectors' first dimensions
 * is added, for each prefix length. Candidates are truncated as well, but the labels are those of all dimensions. */
#ifndef TRAIN_SOFT_CONTRAST_H
#define TRAIN_SOFT_CONTRAST_H

#include "base/context.h"
#include "tensor/kernels.h"

#include <stddef.h>
#include <stdint.h>

typedef struct cq_soft_contrast {
  const float *const *candidates; /* [n_candidates] the teacher's vectors [dim], those of the batch's sentences first */
  size_t n_own, n_candidates;     /* n_own: the first ones, of the batch's sentences; the others are only negatives */
  int64_t dim;
  double temperature;
  const int *prefixes; /* [n_prefixes] of 1 to dim dimensions */
  size_t n_prefixes;
} cq_soft_contrast;

/* The positive of row i of vectors [n, dim] is candidate i modulo n_own. Adds weight times the gradient to gradients
 * [n, dim]. A vector of at most CQ_NORMALIZE_MIN has no gradient. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_soft_contrast_loss(double *loss, float *gradients, const float *vectors, size_t n,
                                            const cq_soft_contrast *c, double weight, const cq_kernels *kernels,
                                            cq_context *ctx, cq_error *error);

#endif
