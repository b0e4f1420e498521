/* Multi-head self-attention, sequence by sequence. Source: Vaswani et al. 2017, section 3.2. */
#ifndef NN_ATTENTION_H
#define NN_ATTENTION_H

#include "nn/batch.h"
#include "nn/disentangled.h"
#include "nn/linear.h"
#include "nn/norm.h"

typedef struct cq_attention {
  cq_linear query, key, value, output; /* [dim, dim] each in BERT */
  int64_t n_heads;
  float dropout;                       /* of the probabilities */
  const cq_disentangled *disentangled; /* NULL: scores ignore distances; otherwise the layer cannot be trained */
  /* Features of later encoders; 0 is BERT's attention. */
  cq_linear fused;        /* query, key and value as one matrix, in this order; weight NULL: three separate matrices */
  int64_t head_dim;       /* 0: dim / n_heads */
  int64_t n_kv_heads;     /* number of key and value heads, if fewer than query heads; 0: the same */
  float scale;            /* of the scores; 0: 1 / sqrt(head_dim) */
  cq_norm q_norm, k_norm; /* RMSNorm of each head's query and key, [1, head_dim]; gamma NULL: none */
  int64_t window;         /* attention window: a token attends to tokens less than this far away; 0: all */
  bool causal;            /* and no later token */
  const float *slopes;    /* [n_heads] of ALiBi; NULL: none */
  int64_t n_turned;       /* number of columns in each head that rotary positions rotate; 0: none */
} cq_attention;

typedef struct cq_attention_saved {
  cq_tensor qkv; /* [n_tokens, (n_heads + 2 n_kv_heads) head_dim] */
  cq_norm_saved q_norm, k_norm;
  cq_tensor context; /* [n_tokens, dim] before the output layer */
  float *log_sum;    /* [n_heads, length] a sequence, concatenated */
} cq_attention_saved;

/* y [n_tokens, dim] from x.
 *   bias   one pointer per sequence: [n_heads, length, length], added to its scores; NULL: none
 *   turns  [longest, n_turned] cosines and sines by position, see nn/rotary.h; NULL: l->n_turned is 0
 *   site   identifies the dropout layer within the model
 *   saved  NULL: not training
 * Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_attention_forward(cq_worker *worker, const cq_attention *l, const cq_batch *batch, cq_tensor y,
                                           cq_tensor x, const float *const *bias, const float *turns, uint32_t site,
                                           cq_attention_saved *saved, cq_error *error);

/* dx [n_tokens, dim] is added to. dbias: per sequence, added to; NULL: no bias. */
CQ_MUST_USE cq_status cq_attention_backward(cq_worker *worker, const cq_attention *l, const cq_batch *batch,
                                            cq_gradients *gradients, cq_tensor dx, cq_tensor dy, cq_tensor x,
                                            const float *const *bias, float *const *dbias, const float *turns,
                                            uint32_t site, const cq_attention_saved *saved, cq_error *error);

void cq_attention_free(cq_attention *l);

#endif
