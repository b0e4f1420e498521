/* One latent layer for several encoders: the last Dense module of all is one set of parameters, the first encoder's.
 *
 *   encoder 0 ──▶ ... ──▶ Dense ──▶ vector
 *                           │ values, gradients, moments
 *   encoder 1 ──▶ ... ──▶ Dense ──▶ vector
 *
 * The others' parameters are views of the first's, in no list of what is trained: who packs all encoders and saves all
 * has the same layer in each. */
#ifndef LAB_AUTOENCODE_SHARED_LAYER_H
#define LAB_AUTOENCODE_SHARED_LAYER_H

#include "model/encoder.h"

enum { CQ_MAX_SHARING = 64 };

typedef struct cq_shared_layer {
  int n_encoders;                   /* 0: nothing is shared */
  size_t n;                         /* parameters */
  cq_param *params[CQ_MAX_SHARING]; /* [n] of each encoder's layer */
} cq_shared_layer;

/* Changes nothing of the encoders, CQ_MAX_SHARING or fewer. Errors: CQ_ERR_ARGUMENT for an encoder without a Dense
 * module, and for layers of unlike shapes. */
CQ_MUST_USE cq_status cq_shared_layer_find(cq_shared_layer *out, const cq_encoder *const *encoders, int n_encoders,
                                           cq_error *error);
/* Whether this is a shared parameter of any encoder but the first. */
bool cq_shared_layer_is_view(const cq_shared_layer *l, const cq_param *p);
/* Makes the other encoders' layers views of the first one's. Call when that has its memory and offsets. */
void cq_shared_layer_tie(const cq_shared_layer *l);

#endif
