/* One layer of today's decoders: norms stand before what they norm, the feed-forward part is gated.
 *
 *   x -> RMS norm -> grouped-query attention -> (RMS norm) -> + x -> h
 *   h -> RMS norm -> down(activation(gate) * up) -> (RMS norm) -> + h -> y
 *
 * Forward only. Source: Touvron et al. 2023 (Llama); Zhang & Sennrich 2019 (RMS norm); Shazeer 2020 (gated units);
 * Ainslie et al. 2023 (grouped queries); Gemma Team 2025 (norms on both sides, of queries and keys). */
#ifndef NN_GATED_LAYER_H
#define NN_GATED_LAYER_H

#include "nn/batch.h"
#include "nn/linear.h"
#include "nn/rotary.h"

/* y = x / sqrt(mean of x^2 + eps) * gamma. */
typedef struct cq_rms_norm {
  cq_param *gamma; /* [1, dim]; NULL: no norm */
  float eps;
  bool from_one; /* gamma is stored less 1 */
} cq_rms_norm;

typedef struct cq_gated_layer {
  cq_rms_norm attention_norm, after_attention, feed_norm, after_feed;
  cq_rms_norm query_norm, key_norm; /* of each head */
  cq_linear query, output;          /* [n_heads head_dim, dim], [dim, n_heads head_dim] */
  cq_linear key, value;             /* [n_kv_heads head_dim, dim] */
  cq_linear gate, up, down;         /* [ffn, dim] twice, [dim, ffn] */
  cq_activation activation;
  int64_t n_heads, n_kv_heads, head_dim; /* n_heads / n_kv_heads heads share keys and values */
  float scale;                           /* of the scores */
  bool causal;                           /* a token sees none behind it */
  int64_t window;                        /* a token sees those less than this away; 0: all */
} cq_gated_layer;

/* x [n_tokens, dim] becomes the layer's output. positions: cq_rotary_table of the longest sequence. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_gated_forward(cq_worker *worker, const cq_gated_layer *l, const cq_batch *batch, cq_tensor x,
                                       const float *positions, cq_error *error);
/* y may be x. */
void cq_rms_norm_forward(const cq_kernels *kernels, const cq_rms_norm *l, cq_tensor y, cq_tensor x);
void cq_gated_free(cq_gated_layer *l);

#endif
