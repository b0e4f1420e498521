/* Draws negative samples by the alias method: one random number and one lookup per word. See negatives.h. */
#include "words/negatives.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>

cq_status cq_negatives_open(cq_negatives *out, const uint64_t *counts, uint32_t n, double power, cq_error *error) {
  *out = (cq_negatives){.n = n};
  out->table = cq_alloc_array(n, sizeof *out->table);
  double *share = cq_alloc_array(n, sizeof *share), sum = 0;
  uint32_t *order = cq_alloc_array(n, sizeof *order);
  cq_status status = out->table && share && order ? CQ_OK : cq_fail_memory(error, "a table of negatives");
  if (!status) {
    /* Shares of n: those below one from the left, the others from the right; each small one is topped up from a large
     * one. */
    uint32_t n_small = 0, n_large = 0;
    for (uint32_t i = 0; i < n; i++) sum += share[i] = pow((double)counts[i], power);
    for (uint32_t i = 0; i < n; i++) share[i] *= n / sum;
    for (uint32_t i = 0; i < n; i++) {
      out->table[i] = (struct cq_alias){UINT32_MAX, i};
      if (share[i] < 1)
        order[n_small++] = i;
      else
        order[n - ++n_large] = i;
    }
    while (n_small && n_large) {
      const uint32_t small = order[--n_small], large = order[n - n_large];
      out->table[small] = (struct cq_alias){(uint32_t)fmin(share[small] * 4294967296.0, UINT32_MAX), large};
      share[large] -= 1 - share[small];
      if (share[large] >= 1) continue;
      n_large--;
      order[n_small++] = large;
    }
  }
  cq_free(share);
  cq_free(order);
  if (status) cq_negatives_close(out);
  return status;
}

void cq_negatives_close(cq_negatives *negatives) {
  cq_free(negatives->table);
  *negatives = (cq_negatives){0};
}
