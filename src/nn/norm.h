/* Layer normalization fused with the residual sum: y = LN(x + residual); or RMSNorm, without a residual. */
#ifndef NN_NORM_H
#define NN_NORM_H

#include "nn/batch.h"
#include "nn/param.h"

typedef struct cq_norm {
  cq_param *gamma; /* [1, dim]; NULL if a stack leaves out a norm */
  cq_param *beta;  /* [1, dim]; NULL: none */
  float eps;
  bool rms;     /* RMSNorm: no mean is subtracted, no beta */
  float offset; /* RMSNorm multiplies by offset + gamma: 1 in Gemma, else 0 */
} cq_norm;

typedef struct cq_norm_saved {
  cq_tensor xhat;
  float *rstd;
} cq_norm_saved;

/* y may be x or residual (residual.data NULL: none). saved NULL: not training. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_norm_forward(cq_worker *worker, const cq_norm *l, cq_tensor y, cq_tensor x, cq_tensor residual,
                                      cq_norm_saved *saved, cq_error *error);
/* dx is the gradient of the sum, i.e. of the residual, and of x before its dropout is undone; may be dy. */
void cq_norm_backward(cq_worker *worker, const cq_norm *l, cq_gradients *gradients, cq_tensor dx, cq_tensor dy,
                      const cq_norm_saved *saved);

/* Applies dropout to each sequence's rows in place, forward or backward; does nothing if the batch has no keys. */
void cq_dropout_apply(cq_worker *worker, const cq_batch *batch, cq_tensor x, float rate, uint32_t site);

#endif
