/* Cosine, and embeddings in smaller number types. */
#include "calque/embedding.h"
#include "tensor/kernels.h"

#include <math.h>
#include <string.h>

double cq_cosine(const float *a, const float *b, size_t dim) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t d = 0; d < dim; d++) {
    ab += (double)a[d] * (double)b[d];
    aa += (double)a[d] * (double)a[d];
    bb += (double)b[d] * (double)b[d];
  }
  return aa == 0 || bb == 0 ? 0 : ab / sqrt(aa * bb); /* exactly 1 for equal vectors, so that their ranks are tied */
}

void cq_normalize(float *vectors, size_t n, size_t dim) {
  cq_kernels_best()->normalize(vectors, NULL, vectors, (int64_t)n, (int64_t)dim);
}

void cq_int8_ranges(float *ranges, const float *vectors, size_t n, size_t dim) {
  float *min = ranges, *max = ranges + dim;
  if (n == 0) {
    memset(ranges, 0, 2 * dim * sizeof *ranges);
    return;
  }
  memcpy(min, vectors, dim * sizeof *min);
  memcpy(max, vectors, dim * sizeof *max);
  for (size_t i = 1; i < n; i++)
    for (size_t d = 0; d < dim; d++) {
      float x = vectors[i * dim + d];
      if (x < min[d]) min[d] = x;
      if (x > max[d]) max[d] = x;
    }
}

void cq_quantize_int8(int8_t *out, const float *vectors, size_t n, size_t dim, const float *ranges) {
  for (size_t d = 0; d < dim; d++) {
    float start = ranges[d], step = (ranges[dim + d] - start) / 255;
    if (step == 0) step = 1;
    for (size_t i = 0; i < n; i++) {
      float level = floorf((vectors[i * dim + d] - start) / step);
      out[i * dim + d] = (int8_t)((level >= 255 ? 255 : level > 0 ? (int)level : 0) - 128); /* NaN: the lowest */
    }
  }
}

static uint8_t eight_signs(const float *x, size_t n) {
  unsigned bits = 0;
  for (size_t i = 0; i < 8; i++) bits = bits << 1 | (i < n && x[i] > 0);
  return (uint8_t)bits;
}

void cq_quantize_ubinary(uint8_t *out, const float *vectors, size_t n, size_t dim) {
  for (size_t i = 0; i < n; i++)
    for (size_t d = 0; d < dim; d += 8) *out++ = eight_signs(vectors + i * dim + d, dim - d);
}

void cq_quantize_binary(int8_t *out, const float *vectors, size_t n, size_t dim) {
  for (size_t i = 0; i < n; i++)
    for (size_t d = 0; d < dim; d += 8) *out++ = (int8_t)(eight_signs(vectors + i * dim + d, dim - d) - 128);
}
