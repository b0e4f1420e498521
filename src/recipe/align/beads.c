/* The sides of an alignment. See beads.h. */
#include "recipe/align/beads.h"

#include "base/error.h"
#include "base/memory.h"
#include "tensor/kernels.h"

#include <math.h>

void cq_align_unit(float *x, size_t dim) {
  const double length = sqrt((double)cq_kernels_best()->dot(x, x, (int64_t)dim));
  for (size_t i = 0; length > 0 && i < dim; i++) x[i] = (float)(x[i] / length);
}

cq_status cq_align_side_new(cq_align_side *out, size_t n, size_t dim, size_t max_group, cq_error *error) {
  *out = (cq_align_side){.n = n, .dim = dim, .max_group = max_group};
  out->groups = cq_alloc_array_zeroed(n * max_group, dim * sizeof *out->groups);
  out->begins = cq_alloc_array_zeroed(n + 1, sizeof *out->begins);
  out->chance = cq_alloc_array_zeroed(n, max_group * sizeof *out->chance);
  return out->groups && out->begins && out->chance ? CQ_OK : cq_fail_memory(error, "the vectors of a document");
}

void cq_align_side_free(cq_align_side *s) {
  cq_free(s->groups), cq_free(s->begins), cq_free(s->words), cq_free(s->word_starts), cq_free(s->chance);
  *s = (cq_align_side){0};
}

void cq_align_side_join(cq_align_side *s) {
  for (size_t end = 1; end <= s->n; end++) {
    for (size_t k = 2; k <= s->max_group && k <= end; k++) {
      float *group = cq_align_group(s, end, k);
      for (size_t i = end - k; i < end; i++) {
        const float *x = cq_align_group(s, i + 1, 1);
        const float weight = (float)(s->begins[i + 1] - s->begins[i]);
        for (size_t j = 0; j < s->dim; j++) group[j] += weight * x[j];
      }
      cq_align_unit(group, s->dim);
    }
  }
}

cq_status cq_align_set_chance(cq_align_side sides[2], cq_error *error) {
  const cq_kernels *kernels = cq_kernels_best();
  const size_t dim = sides[0].dim;
  float *mean = cq_alloc_array_zeroed(dim, sizeof *mean); /* of the other side's sentences */
  if (!mean) return cq_fail_memory(error, "the mean of a document");
  for (int side = 0; side < 2; side++) {
    const cq_align_side *other = &sides[1 - side];
    cq_align_side *s = &sides[side];
    for (size_t j = 0; j < dim; j++) mean[j] = 0;
    for (size_t i = 1; i <= other->n; i++) {
      const float *x = cq_align_group(other, i, 1);
      for (size_t j = 0; j < dim; j++) mean[j] += x[j] / (float)other->n;
    }
    for (size_t i = 0; i < s->n * s->max_group; i++)
      s->chance[i] = kernels->dot(s->groups + i * dim, mean, (int64_t)dim);
  }
  cq_free(mean);
  return CQ_OK;
}
