/* One latent layer for several encoders: the last Dense modules of all use the first encoder's parameters.
 *
 *   encoder 0 ──▶ ... ──▶ Dense ──▶ vector
 *                           │ values, gradients, moments
 *   encoder 1 ──▶ ... ──▶ Dense ──▶ vector
 *
 * The others' parameters are views of the first's, and not in the list of trained parameters: packing and saving all
 * encoders gives each the same layer. */
#ifndef LAB_AUTOENCODE_SHARED_LAYER_H
#define LAB_AUTOENCODE_SHARED_LAYER_H

#include "model/encoder.h"

enum { CQ_MAX_SHARING = 64 };

typedef struct cq_shared_layer {
  int n_encoders;                   /* 0: nothing is shared */
  size_t n;                         /* parameters */
  cq_param *params[CQ_MAX_SHARING]; /* [n] of each encoder's layer */
} cq_shared_layer;

/* Does not change the encoders (at most CQ_MAX_SHARING). Errors: CQ_ERR_ARGUMENT for an encoder without a Dense module,
 * and for layers with different shapes. */
CQ_MUST_USE cq_status cq_shared_layer_find(cq_shared_layer *out, const cq_encoder *const *encoders, int n_encoders,
                                           cq_error *error);
/* Whether this is a shared parameter of any encoder but the first. */
bool cq_shared_layer_is_view(const cq_shared_layer *l, const cq_param *p);
/* Makes the other encoders' layers views of the first one's. Call it once that layer has its memory and offsets. */
void cq_shared_layer_tie(const cq_shared_layer *l);

#endif
