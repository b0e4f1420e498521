/* The second half of a transformer block: an up projection, an activation, a down projection; if gated, a second up
 * projection multiplies the activation.
 *
 *   plain   y = down(activation(up x))
 *   gated   y = down(activation(gate x) * (up x))
 *
 * Source: Vaswani et al. 2017, section 3.3; Shazeer 2020 (GLU variants). */
#ifndef NN_FEED_FORWARD_H
#define NN_FEED_FORWARD_H

#include "nn/batch.h"
#include "nn/linear.h"

typedef struct cq_feed_forward {
  cq_linear up, gate, down; /* shapes [ffn, dim], [ffn, dim], [dim, ffn]; gate.weight NULL: plain, or fused */
  cq_linear fused;          /* gate and up as one [2 ffn, dim]; weight NULL: two separate matrices */
  bool up_first;            /* the fused matrix begins with up's rows */
  int64_t dim;              /* ffn */
  cq_activation activation;
  float dropout; /* before down */
} cq_feed_forward;

typedef struct cq_feed_forward_saved {
  cq_tensor before; /* [n_tokens, ffn], if gated [n_tokens, 2 ffn]: the values before the activation */
  cq_tensor inner;  /* [n_tokens, ffn]: what goes down */
} cq_feed_forward_saved;

/* y [n_tokens, dim] must not be x. Uses one dropout site. saved NULL: not training. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_feed_forward_forward(cq_worker *worker, const cq_feed_forward *l, const cq_batch *batch,
                                              cq_tensor y, cq_tensor x, uint32_t site, cq_feed_forward_saved *saved,
                                              cq_error *error);
/* dx [n_tokens, dim] is added to; not dy. */
CQ_MUST_USE cq_status cq_feed_forward_backward(cq_worker *worker, const cq_feed_forward *l, const cq_batch *batch,
                                               cq_gradients *gradients, cq_tensor dx, cq_tensor dy, cq_tensor x,
                                               uint32_t site, const cq_feed_forward_saved *saved, cq_error *error);
void cq_feed_forward_free(cq_feed_forward *l);

#endif
