/* The search kernels as plain loops: the specification. */
#include "tensor/ref/reference.h"

int64_t ref_at_least(uint32_t *hits, const float *scores, int64_t stride, const float *row_bounds,
                     const float *column_bounds, int64_t m, int64_t n) {
  int64_t n_hits = 0;
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++)
      if (scores[i * stride + j] >= row_bounds[i] || scores[i * stride + j] >= column_bounds[j])
        hits[n_hits++] = (uint32_t)(i << 16 | j);
  return n_hits;
}

float ref_dot(const float *x, const float *y, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += (double)x[i] * (double)y[i];
  return (float)sum;
}

double ref_exact_dot(const float *x, const float *y, int64_t n) {
  double parts[16] = {0}, sum = 0;
  const int64_t whole = n / 16 * 16;
  for (int64_t i = 0; i < whole; i++) parts[i % 16] += (double)x[i] * (double)y[i];
  for (int64_t i = whole; i < n; i++) sum += (double)x[i] * (double)y[i];
  for (int i = 0; i < 16; i++) sum += parts[i];
  return sum;
}
