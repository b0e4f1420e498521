/* y = activation(x W^T + b): nearly all time is spent in this layer. Only this layer knows its precision and how its
 * weight is packed. */
#ifndef NN_LINEAR_H
#define NN_LINEAR_H

#include "nn/param.h"
#include "tensor/products.h"

/* How weights are packed. */
typedef struct cq_packing {
  const cq_kernels *kernels;
  cq_precision precision; /* or the next wider that the processor has */
  bool training;          /* for backward too */
} cq_packing;

typedef struct cq_packed {
  const cq_products *products; /* what packed it, and multiplies with it */
  void *bytes;                 /* NULL: not packed */
} cq_packed;

typedef struct cq_linear {
  cq_param *weight;          /* [out, in] */
  cq_param *bias;            /* [1, out]; NULL: none */
  cq_packed packed;          /* the weight as forward wants it */
  cq_packed packed_backward; /* the same for the gradient of x; empty until training starts */
  bool stays_narrow; /* a 16-bit weight is packed again for each f32 product, to save the memory of a packed copy */
} cq_linear;

/* Packs the weight from its parameter: call it after loading and after every update (a frozen weight has no updates).
 * Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_linear_pack(cq_linear *l, const cq_packing *packing, cq_error *error);
void cq_linear_free(cq_linear *l);

/* y [n, out] from x [n, in]; before [n, out] with y's stride receives the value before the activation (data NULL: not
 * kept). Errors of all products: CQ_ERR_MEMORY for scratch. */
CQ_MUST_USE cq_status cq_linear_forward(cq_worker *worker, const cq_linear *l, cq_tensor y, cq_tensor x,
                                        cq_activation activation, cq_tensor before, cq_error *error);
/* Several layers on the same x, without activation: x is prepared once. */
CQ_MUST_USE cq_status cq_linears_forward(cq_worker *worker, const cq_linear *const *layers, const cq_tensor *y,
                                         size_t n_layers, cq_tensor x, cq_error *error);
/* y = epilogue(x W^T), ignoring the layer's own bias. */
CQ_MUST_USE cq_status cq_linear_product(cq_worker *worker, const cq_linear *l, cq_tensor y, cq_tensor x,
                                        const cq_epilogue *epilogue, cq_error *error);

/* dx [n, in] is written, or added to with accumulate (dx.data NULL: not needed); adds to the gradients of unfrozen
 * parameters. dy [n, out] is the gradient before the activation: undo it first with kernels->activate_backward. */
CQ_MUST_USE cq_status cq_linear_backward(cq_worker *worker, const cq_linear *l, cq_gradients *gradients, cq_tensor dx,
                                         bool accumulate, cq_tensor dy, cq_tensor x, cq_error *error);
/* Its two parts. */
CQ_MUST_USE cq_status cq_linear_backward_input(cq_worker *worker, const cq_linear *l, cq_tensor dx, bool accumulate,
                                               cq_tensor dy, cq_error *error);
CQ_MUST_USE cq_status cq_linear_backward_weight(cq_worker *worker, const cq_linear *l, cq_gradients *gradients,
                                                cq_tensor dy, cq_tensor x, cq_error *error);

#endif
