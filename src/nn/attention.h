/* Multi-head self-attention, sequence by sequence. Source: Vaswani et al. 2017, section 3.2. */
#ifndef NN_ATTENTION_H
#define NN_ATTENTION_H

#include "nn/batch.h"
#include "nn/disentangled.h"
#include "nn/linear.h"

typedef struct cq_attention {
  cq_linear query, key, value, output; /* [dim, dim] each */
  int64_t n_heads;
  float dropout;                       /* of the probabilities */
  const cq_disentangled *disentangled; /* NULL: distances bear on no score; else the layer runs, but is not trained */
} cq_attention;

typedef struct cq_attention_saved {
  cq_tensor qkv;     /* [n_tokens, 3 dim] */
  cq_tensor context; /* [n_tokens, dim] before the output layer */
  float *log_sum;    /* [n_heads, length] a sequence, one behind the other */
} cq_attention_saved;

/* y [n_tokens, dim] from x.
 *   bias   one pointer a sequence, [n_heads, length, length] to add to its scores; NULL: none
 *   site   names the dropout's place in the model
 *   saved  NULL: not training
 * Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_attention_forward(cq_worker *worker, const cq_attention *l, const cq_batch *batch, cq_tensor y,
                                           cq_tensor x, const float *const *bias, uint32_t site,
                                           cq_attention_saved *saved, cq_error *error);

/* dx [n_tokens, dim] is added to. dbias: per sequence, added to; NULL: no bias. */
CQ_MUST_USE cq_status cq_attention_backward(cq_worker *worker, const cq_attention *l, const cq_batch *batch,
                                            cq_gradients *gradients, cq_tensor dx, cq_tensor dy, cq_tensor x,
                                            const float *const *bias, float *const *dbias, uint32_t site,
                                            const cq_attention_saved *saved, cq_error *error);

void cq_attention_free(cq_attention *l);

#endif
