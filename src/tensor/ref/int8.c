/* 8-bit bounds in plain loops. */
#include "tensor/int8.h"

#include "tensor/levels.h"

#include <math.h>
#include <string.h>

/* Rounds to the nearest integer for |x| < 2^22, ties to even: the result of rintf, without a call. */
static float round_to_whole(float x) {
  return (x + 12582912.0f) - 12582912.0f;
}

/* q [row_bytes] of one row, and its scale, error and length. */
static cq_int8_terms quantize_row(int8_t *q, const float *x, int64_t dim) {
  float max = 0;
  for (int64_t d = 0; d < dim; d++) max = fabsf(x[d]) > max ? fabsf(x[d]) : max;
  const float scale = max / 127, inverse = scale > 0 ? 1 / scale : 0;
  double error = 0, length = 0;
  for (int64_t d = 0; d < dim; d++) {
    const float whole = round_to_whole(x[d] * inverse), held = whole < -127 ? -127 : whole > 127 ? 127 : whole;
    const double kept = (double)scale * (double)held, rest = (double)x[d] - kept;
    q[d] = (int8_t)held;
    error += rest * rest;
    length += kept * kept;
  }
  for (int64_t d = dim; d < cq_int8_row_bytes(dim); d++) q[d] = 0;
  /* Rounded up: what is below is a bound. */
  return (cq_int8_terms){scale, nextafterf((float)sqrt(error), INFINITY), nextafterf((float)sqrt(length), INFINITY)};
}

void cq_int8_quantize_left(uint8_t *a, cq_int8_terms *terms, const float *x, int64_t m, int64_t dim) {
  const int64_t row_bytes = cq_int8_row_bytes(dim);
  for (int64_t i = 0; i < m; i++, a += row_bytes) {
    int8_t q[CQ_INT8_MAX_DIM] = {0};
    terms[i] = quantize_row(q, x + i * dim, dim);
    for (int64_t d = 0; d < row_bytes; d++) a[d] = (uint8_t)(q[d] + 128);
  }
}

void cq_int8_quantize_right(void *packed, const float *y, int64_t n, int64_t dim) {
  const int64_t row_bytes = cq_int8_row_bytes(dim);
  unsigned char *panel = packed;
  memset(packed, 0, cq_int8_packed_bytes(n, dim));
  for (int64_t first = 0; first < n; first += CQ_INT8_PANEL, panel += cq_int8_panel_bytes(dim)) {
    float *scale = (float *)(void *)panel, *error = scale + CQ_INT8_PANEL;
    int32_t *offset = (int32_t *)(void *)(error + CQ_INT8_PANEL);
    int8_t *values = (int8_t *)(offset + CQ_INT8_PANEL);
    for (int64_t j = 0; j < CQ_INT8_PANEL && first + j < n; j++) {
      int8_t q[CQ_INT8_MAX_DIM] = {0};
      const cq_int8_terms t = quantize_row(q, y + (first + j) * dim, dim);
      scale[j] = t.scale, error[j] = t.error;
      for (int64_t d = 0; d < row_bytes; d++) offset[j] -= 128 * q[d];
      for (int64_t d = 0; d < row_bytes; d += CQ_INT8_GROUP)
        memcpy(values + (d / CQ_INT8_GROUP * CQ_INT8_PANEL + j) * CQ_INT8_GROUP, q + d, CQ_INT8_GROUP);
    }
  }
}

static void int8_bounds(float *c, int64_t c_stride, const uint8_t *a, const cq_int8_terms *terms, const void *packed,
                        int64_t m, int64_t n, int64_t dim) {
  const int64_t row_bytes = cq_int8_row_bytes(dim);
  const unsigned char *panel = packed;
  for (int64_t j = 0; j < n; j++) {
    const int64_t column = j % CQ_INT8_PANEL;
    if (j > 0 && column == 0) panel += cq_int8_panel_bytes(dim);
    const float *scale = (const float *)(const void *)panel, *error = scale + CQ_INT8_PANEL;
    const int32_t *offset = (const int32_t *)(const void *)(error + CQ_INT8_PANEL);
    const int8_t *values = (const int8_t *)(offset + CQ_INT8_PANEL);
    for (int64_t i = 0; i < m; i++) {
      int32_t sum = offset[column];
      for (int64_t d = 0; d < row_bytes; d++)
        sum += a[i * row_bytes + d] *
               values[(d / CQ_INT8_GROUP * CQ_INT8_PANEL + column) * CQ_INT8_GROUP + d % CQ_INT8_GROUP];
      c[i * c_stride + j] = (float)((double)sum * (double)terms[i].scale * (double)scale[column] +
                                    (double)terms[i].error + (double)terms[i].length * (double)error[column]);
    }
  }
}

const cq_int8_kernels cq_int8_reference = {"reference", cq_int8_quantize_left, cq_int8_quantize_right, int8_bounds};
