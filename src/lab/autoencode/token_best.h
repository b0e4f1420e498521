/* The most probable token of softmax(x W^T + b), for greedy decoding: without the softmax and, if 8-bit products are
 * faster, without most of the f32 logits.
 *
 *     x, W ──8 bits──▶ bounds [rows, vocabulary] ──▶ the highest one's logit is a threshold
 *       ──▶ the logits of tokens that may reach it ──▶ the best
 *
 * The bounds are those of tensor/int8.h, so the result is the best of all logits, even of those not computed. */
#ifndef LAB_AUTOENCODE_TOKEN_BEST_H
#define LAB_AUTOENCODE_TOKEN_BEST_H

#include "nn/linear.h"
#include "tensor/int8.h"

/* An output layer's weight in 8 bits. */
typedef struct cq_token_bounds {
  const cq_int8_kernels *kernels; /* NULL: all logits are worked out */
  void *packed;                   /* of the rows divided by the longest one's length */
  float *bias;                    /* [vocabulary, and to the panel's end -inf] */
  float longest;
} cq_token_bounds;

/* Computes the bounds; call it again after each update. kernels stays NULL if bounds do not help: without fast 8-bit
 * products, for too many dimensions, and for weights that are not finite. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_token_bounds_make(cq_token_bounds *bounds, const cq_linear *output, const cq_kernels *kernels,
                                           cq_error *error);
void cq_token_bounds_free(cq_token_bounds *bounds);

/* best [x.rows] = the token with the highest logit for each row of x, the first on a tie. A row that is not finite
 * gives token 0. bounds: of the current output layer, or with kernels NULL. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_token_best(int32_t *best, cq_worker *worker, const cq_linear *output,
                                    const cq_token_bounds *bounds, cq_tensor x, cq_error *error);

#endif
