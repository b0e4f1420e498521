/* Rotary positions: rotates pairs of dimensions by an angle that grows with the position. See rotary.h. */
#include "nn/rotary.h"

#include <math.h>

const float *cq_rotary_turns(cq_worker *worker, const cq_rotary *l, const cq_batch *batch) {
  const int64_t half = l->n_turned / 2;
  int64_t longest = 0;
  for (int64_t s = 0; s < batch->n_seqs; s++)
    if (cq_batch_length(batch, s) > longest) longest = cq_batch_length(batch, s);
  float *turns = cq_workspace_take(&worker->workspace, (size_t)(longest * l->n_turned) * sizeof *turns);
  if (!turns) return NULL;
  for (int64_t p = 0; p < longest; p++) {
    float *row = turns + p * l->n_turned;
    for (int64_t j = 0; j < half; j++) {
      const double angle = (double)((float)p * l->frequencies[j]); /* rounded to single precision, as PyTorch has it */
      row[j] = (float)cos(angle) * l->magnitude;
      row[half + j] = (float)sin(angle) * l->magnitude;
    }
  }
  return turns;
}
