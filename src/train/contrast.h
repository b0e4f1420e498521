/* Contrastive loss (InfoNCE): -log of the softmax over a batch's candidates, of cosines divided by a temperature.
 * Sources: van den Oord et al. 2018, eq. 4; Henderson et al. 2017, section 4.4 (multiple negatives ranking). */
#ifndef TRAIN_CONTRAST_H
#define TRAIN_CONTRAST_H

#include "base/context.h"
#include "calque/status.h"
#include "tensor/workspace.h"

/* The positive of row i of the first vectors is row i of the second; further rows of the second are negatives only.
 *
 * If rows have ids, equal ids on a side mean the same text. A row that repeats the positive, or whose positive repeats
 * the anchor, is then not a negative: it is left out of the candidates. */
typedef struct cq_contrast {
  const float *vectors[2]; /* [n[0], dim], [n[1], dim] */
  float *gradients[2];     /* the same, added to */
  const uint32_t *ids[2];  /* [n[0]], [n[1]]; NULL: all differ */
  int64_t n[2];            /* 1 <= n[0] <= n[1] */
  int64_t dim;
  double temperature;
  bool symmetric; /* also in the other direction, from the first n[0] rows of the second */
} cq_contrast;

/* The mean over all anchors; adds weight times its gradient. Similarities are computed twice, block by block, so memory
 * grows with n, not with its square; the result does not depend on the number of threads. A vector of length 0 has no
 * gradient. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_contrast_loss(double *loss, const cq_contrast *c, double weight, cq_worker *worker,
                                       cq_context *ctx, cq_error *error);

#endif
