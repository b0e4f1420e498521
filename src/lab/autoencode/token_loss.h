/* The likelihood of tokens under softmax(x W^T + b): a decoder's training objective and its basis for generation.
 *
 * The logits of a batch, n_tokens times a vocabulary of tens of thousands, would be by far the largest matrix. They are
 * computed for a block of rows, turned into their gradient in place, and passed to the backward products before the
 * next block reuses their memory:
 *
 *     x [block, dim] --W^T + b--> logits [block, vocabulary] --softmax - target--> their gradient --> dx, dW, db */
#ifndef LAB_AUTOENCODE_TOKEN_LOSS_H
#define LAB_AUTOENCODE_TOKEN_LOSS_H

#include "nn/linear.h"

/* Adds the sum over rows of x [n_tokens, dim] of -log p(ids[t]) to *loss, and with gradients, factor times its
 * gradient: dx [n_tokens, dim] is written, the parameters' gradients are added to.
 *   output     [vocabulary, dim], its bias may be missing; with gradients, packed for training
 *   gradients  NULL: only the loss; dx is then ignored
 *   dx         data NULL: not needed
 *   ids        [n_tokens] in [0, vocabulary)
 *   smoothing  0 for the likelihood; s replaces onehot(id) by (1 - s) onehot(id) + s / vocabulary
 * Errors: CQ_ERR_MEMORY; *loss is then unchanged. */
CQ_MUST_USE cq_status cq_token_loss(cq_worker *worker, const cq_linear *output, cq_gradients *gradients, cq_tensor dx,
                                    cq_tensor x, const int32_t *ids, float factor, float smoothing, double *loss,
                                    cq_error *error);

/* y [n, vocabulary] = log p of every token after each row of x [n, dim]. */
CQ_MUST_USE cq_status cq_token_log_probabilities(cq_worker *worker, const cq_linear *output, cq_tensor y, cq_tensor x,
                                                 cq_error *error);

#endif
