/* Rotary positions: pairs of a head's columns are rotated by angles that grow with the token's position, so that scores
 * depend on distances. Source: Su et al. 2021 (RoPE), section 3.2. */
#ifndef NN_ROTARY_H
#define NN_ROTARY_H

#include "nn/batch.h"
#include "tensor/workspace.h"

typedef struct cq_rotary {
  int64_t n_turned;         /* number of rotated columns of each head, from the first on; even */
  const float *frequencies; /* [n_turned / 2] radians a position */
  float magnitude;          /* of cosines and sines, usually 1 (YaRN's is not) */
} cq_rotary;

/* Cosines, then sines, for each position of the batch's longest sequence: [longest, n_turned] in the workspace; NULL:
 * out of memory. */
const float *cq_rotary_turns(cq_worker *worker, const cq_rotary *l, const cq_batch *batch);

#endif
