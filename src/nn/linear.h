/* y = activation(x W^T + b): the layer nearly all time is spent in. */
#ifndef NN_LINEAR_H
#define NN_LINEAR_H

#include "nn/param.h"

typedef struct cq_linear {
  cq_param *weight;       /* [out, in] */
  cq_param *bias;         /* [1, out]; NULL: none */
  float *packed;          /* the weight as forward wants it */
  float *packed_backward; /* the same for the gradient of x; NULL until training */
} cq_linear;

/* Packs the weight again from its parameter: after loading and after every update. training: for backward too.
 * Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_linear_pack(cq_linear *l, const cq_kernels *kernels, bool training, cq_error *error);
void cq_linear_free(cq_linear *l);

/* y [n, out] from x [n, in]; before [n, out] of y's stride receives the value before the activation (data NULL: not
 * kept). */
void cq_linear_forward(cq_worker *worker, const cq_linear *l, cq_tensor y, cq_tensor x, cq_activation activation,
                       cq_tensor before);

/* dx [n, in] is written, or added to with accumulate (dx.data NULL: not wanted); the parameters' gradients are added
 * to. dy [n, out] is the gradient before the activation: undo it first with kernels->activate_backward. Errors:
 * CQ_ERR_MEMORY for scratch. */
CQ_MUST_USE cq_status cq_linear_backward(cq_worker *worker, const cq_linear *l, cq_gradients *gradients, cq_tensor dx,
                                         bool accumulate, cq_tensor dy, cq_tensor x, cq_error *error);

#endif
