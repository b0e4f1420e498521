/* One block of later encoders: attention and a feed-forward layer, each a branch around which the residual passes.
 *
 *   x -> before_attention -> attention -> dropout -> after_attention -> + x -> h
 *   h -> before_ffn -> feed-forward -> dropout -> after_ffn -> + h -> y
 *
 * Every norm is optional (gamma NULL). Pre-norm uses the first norm of each branch, sandwich norm all four; post-norm
 * (post) uses the last ones, which normalize the sum with the residual. Source: Xiong et al. 2020, figure 1. */
#ifndef NN_BLOCK_H
#define NN_BLOCK_H

#include "nn/attention.h"
#include "nn/feed_forward.h"
#include "nn/norm.h"

typedef struct cq_block {
  cq_attention attention;
  cq_feed_forward ffn;
  cq_norm before_attention, after_attention, before_ffn, after_ffn;
  bool post;
  int rotary; /* which of the stack's rotations, from 1; 0: none */
  float attention_output_dropout, output_dropout;
} cq_block;

enum { CQ_SITES_PER_BLOCK = 4 }; /* of dropout */

/* Shared by all blocks of a stack in one batch. */
typedef struct cq_block_inputs {
  const float *const *bias; /* added to the scores, as in attention.h; NULL: none */
  float *const *dbias;      /* backward; NULL: not wanted */
  const float *turns[2];    /* of rotary 1 and 2; see nn/rotary.h */
} cq_block_inputs;

typedef struct cq_half_saved {
  cq_tensor x; /* what the branch takes: the residual, normalized */
  cq_norm_saved before, after;
} cq_half_saved;

typedef struct cq_block_saved {
  cq_half_saved attention_half, ffn_half;
  cq_attention_saved attention;
  cq_feed_forward_saved ffn;
} cq_block_saved;

/* y [n_tokens, dim] must not be x. The block uses CQ_SITES_PER_BLOCK dropout sites from first_site on. saved NULL: not
 * training. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_block_forward(cq_worker *worker, const cq_block *l, const cq_batch *batch, cq_tensor y,
                                       cq_tensor x, const cq_block_inputs *inputs, uint32_t first_site,
                                       cq_block_saved *saved, cq_error *error);
/* dy [n_tokens, dim] becomes the gradient of x. */
CQ_MUST_USE cq_status cq_block_backward(cq_worker *worker, const cq_block *l, const cq_batch *batch,
                                        cq_gradients *gradients, cq_tensor dy, const cq_block_inputs *inputs,
                                        uint32_t first_site, const cq_block_saved *saved, cq_error *error);
/* Call after the block's backward pass: its gradients are then complete (cq_gradients_pass). */
void cq_block_pass(const cq_block *l, const cq_gradients *gradients);
void cq_block_free(cq_block *l);

#endif
