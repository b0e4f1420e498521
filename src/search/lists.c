/* Lists of the k best, sorted by insertion: k is small, and the last entry's cosine rules out most documents. */
#include "search/lists.h"

#include "base/error.h"
#include "base/memory.h"
#include "tensor/kernels.h"

#include <math.h>

bool cq_lists_new(cq_neighbors *out, size_t n, size_t k) {
  size_t count;
  *out = (cq_neighbors){.n = n, .k = k};
  if (!cq_checked_mul(&count, n, k)) return false;
  out->index = cq_alloc_array(count, sizeof *out->index);
  out->cosine = cq_alloc_array(count, sizeof *out->cosine);
  return out->index && out->cosine;
}

void cq_neighbors_free(cq_neighbors *neighbors) {
  cq_free(neighbors->index);
  cq_free(neighbors->cosine);
  *neighbors = (cq_neighbors){0};
}

void cq_lists_clear(cq_neighbors *lists, size_t first, size_t n) {
  for (size_t i = first * lists->k; i < (first + n) * lists->k; i++) {
    lists->cosine[i] = -INFINITY;
    lists->index[i] = UINT32_MAX;
  }
}

void cq_lists_insert(cq_neighbors *lists, size_t list, uint32_t index, double cosine) {
  double *cosines = lists->cosine + list * lists->k;
  uint32_t *indices = lists->index + list * lists->k;
  size_t at = lists->k;
  for (; at > 0 && (cosine > cosines[at - 1] || (cosine == cosines[at - 1] && index < indices[at - 1])); at--)
    if (at < lists->k) cosines[at] = cosines[at - 1], indices[at] = indices[at - 1];
  if (at == lists->k) return;
  cosines[at] = cosine;
  indices[at] = index;
}

cq_status cq_exact_lengths(double **out, const cq_row_set *rows, const char *side, cq_error *error) {
  const cq_kernels *kernels = cq_kernels_best();
  double *lengths = cq_alloc_array(rows->n, sizeof *lengths);
  if (!lengths) return cq_fail_memory(error, "lengths of vectors");
  *out = lengths;
  for (size_t i = 0; i < rows->n; i++) {
    const float *row = cq_row(rows, i);
    lengths[i] = sqrt(kernels->exact_dot(row, row, (int64_t)rows->dim));
    if (!isfinite(lengths[i]))
      return cq_fail(error, CQ_ERR_ARGUMENT, "row %zu of the %s vectors holds a number that is not finite",
                     rows->first + i + 1, side);
  }
  return CQ_OK;
}
