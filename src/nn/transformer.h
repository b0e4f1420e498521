/* One post-norm transformer layer.
 *
 *   x -> attention -> dropout -> + x -> norm -> h -> up -> activation -> down -> dropout -> + h -> norm -> y
 *
 * Source: Vaswani et al. 2017, section 3.1; Devlin et al. 2019. */
#ifndef NN_TRANSFORMER_H
#define NN_TRANSFORMER_H

#include "nn/attention.h"
#include "nn/norm.h"

typedef struct cq_transformer_layer {
  cq_attention attention;
  cq_norm attention_norm, output_norm;
  cq_linear up, down; /* [ffn, dim], [dim, ffn] */
  cq_activation activation;
  float attention_output_dropout, output_dropout;
} cq_transformer_layer;

typedef struct cq_transformer_saved {
  cq_tensor x, h; /* the layer's input, and the state between its halves */
  cq_attention_saved attention;
  cq_norm_saved attention_norm, output_norm;
  cq_tensor before, inner; /* [n_tokens, ffn] around the activation */
} cq_transformer_saved;

/* y [n_tokens, dim] must not be x. first_site: the layer uses this dropout site and the next two. saved NULL: not
 * training. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_transformer_forward(cq_worker *worker, const cq_transformer_layer *l, const cq_batch *batch,
                                             cq_tensor y, cq_tensor x, const float *const *bias, uint32_t first_site,
                                             cq_transformer_saved *saved, cq_error *error);
/* dy [n_tokens, dim] becomes the gradient of x. */
CQ_MUST_USE cq_status cq_transformer_backward(cq_worker *worker, const cq_transformer_layer *l, const cq_batch *batch,
                                              cq_gradients *gradients, cq_tensor dy, const float *const *bias,
                                              float *const *dbias, uint32_t first_site,
                                              const cq_transformer_saved *saved, cq_error *error);

/* Call after the backward pass of a layer used only once: its gradients are then complete (cq_gradients_pass). */
void cq_transformer_pass(const cq_transformer_layer *l, const cq_gradients *gradients);
void cq_transformer_free(cq_transformer_layer *l);

#endif
