/* The blocks of an encoder in order, with their shared parts: rotary positions, a relative bias, a last norm. */
#ifndef NN_STACK_H
#define NN_STACK_H

#include "nn/block.h"
#include "nn/relative_bias.h"
#include "nn/rotary.h"

typedef struct cq_stack {
  cq_block *blocks;
  int64_t n_blocks;
  cq_rotary rotary[2]; /* block.rotary counts from 1 */
  int n_rotary;
  cq_relative_bias relative; /* table NULL: none */
  cq_norm last_norm;         /* gamma NULL: none */
} cq_stack;

typedef struct cq_stack_saved {
  cq_block_saved *blocks;
  cq_block_inputs inputs;
  cq_norm_saved last_norm;
} cq_stack_saved;

/* *x [n_tokens, dim] becomes the stack's output, in the same or other workspace memory. The stack uses n_blocks *
 * CQ_SITES_PER_BLOCK dropout sites from first_site on. saved NULL: not training. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_stack_forward(cq_worker *worker, const cq_stack *l, const cq_batch *batch, cq_tensor *x,
                                       uint32_t first_site, cq_stack_saved *saved, cq_error *error);
/* dy becomes the gradient of the stack's input. */
CQ_MUST_USE cq_status cq_stack_backward(cq_worker *worker, const cq_stack *l, const cq_batch *batch,
                                        cq_gradients *gradients, cq_tensor dy, uint32_t first_site,
                                        const cq_stack_saved *saved, cq_error *error);
void cq_stack_free(cq_stack *l);

#endif
