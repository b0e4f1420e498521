/* One latent layer for two encoders: the last Dense module of both is one set of parameters, the first encoder's.
 *
 *   encoder 0 ──▶ ... ──▶ Dense ──▶ vector
 *                           │ values, gradients, moments
 *   encoder 1 ──▶ ... ──▶ Dense ──▶ vector
 *
 * The second's parameters are views of the first's, in no list of what is trained: who packs both encoders and saves
 * both has the same layer in each. */
#ifndef TRAIN_SHARED_LAYER_H
#define TRAIN_SHARED_LAYER_H

#include "model/encoder.h"

typedef struct cq_shared_layer {
  cq_param *params[2]; /* [n] of each encoder's layer; NULL: nothing is shared */
  size_t n;
} cq_shared_layer;

/* Changes nothing. Errors: CQ_ERR_ARGUMENT for an encoder without a Dense module, and for layers of unlike shapes. */
CQ_MUST_USE cq_status cq_shared_layer_find(cq_shared_layer *out, const cq_encoder *const encoders[2], cq_error *error);
/* Is this one of the second encoder's shared parameters? */
bool cq_shared_layer_is_view(const cq_shared_layer *l, const cq_param *p);
/* Makes the second's views of the first's: once those have their memory and their offsets. */
void cq_shared_layer_tie(const cq_shared_layer *l);

#endif
