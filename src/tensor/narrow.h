/* Rows of 16-bit, 8-bit and 4-bit elements, as in files, and the conversion to them. */
#ifndef TENSOR_NARROW_H
#define TENSOR_NARROW_H

#include "base/dtype.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Rows of a matrix. The value of a CQ_I8 or CQ_I4 element is the element times its row's scale. A byte of CQ_I4 has, in
 * two's complement, an element of the row's first half in its lower bits and one of the second half in its upper bits. */
typedef struct cq_narrow_rows {
  const void *data; /* in any alignment; NULL: none */
  cq_dtype dtype;   /* CQ_BF16, CQ_F16, CQ_I8 or CQ_I4 */
  const float *scales;
} cq_narrow_rows;

/* A row or column with a smaller range counts as zeros: the inverse of its scale would not be finite. */
#define CQ_INT8_MIN_RANGE 1e-30f

/* The scale of a row or column of a weight, from its largest magnitude; NaN if an element is not finite. */
typedef struct cq_int8_scale {
  float scale, inverse;
} cq_int8_scale;
static inline cq_int8_scale cq_int8_scale_of(float max, bool finite) {
  if (!finite || !(max < INFINITY)) return (cq_int8_scale){NAN, 0};
  return (cq_int8_scale){max / 127, max > CQ_INT8_MIN_RANGE ? 127 / max : 0};
}
static inline int32_t cq_int8_element(float scaled) {
  return scaled >= -127 && scaled <= 127 ? (int32_t)rintf(scaled) : scaled > 0 ? 127 : scaled < 0 ? -127 : 0;
}

/* A row of n in 8 bits; returns its scale. */
static inline float cq_int8_row(int8_t *out, const float *row, int64_t n) {
  float max = 0;
  bool finite = true;
  for (int64_t i = 0; i < n; i++) {
    max = fabsf(row[i]) > max ? fabsf(row[i]) : max;
    finite = finite && row[i] * 0.0f == 0;
  }
  const cq_int8_scale scale = cq_int8_scale_of(max, finite);
  for (int64_t i = 0; i < n; i++) out[i] = (int8_t)cq_int8_element(row[i] * scale.inverse);
  return scale.scale;
}

/* A row of n, an even number, in 4 bits; returns its scale, of a few the one with the least squared error. */
static inline float cq_int4_row(uint8_t *out, const float *row, int64_t n) {
  float max = 0, best = 0, best_error = INFINITY;
  for (int64_t i = 0; i < n; i++) max = fabsf(row[i]) > max || isnan(row[i]) ? fabsf(row[i]) : max;
  if (!(max < INFINITY)) best = NAN;
  for (int part = 20; max > CQ_INT8_MIN_RANGE && max < INFINITY && part > 7; part--) {
    const float scale = max * (float)part / (20 * 7);
    float error = 0;
    for (int64_t i = 0; i < n; i++) {
      const float q = rintf(fminf(fmaxf(row[i] / scale, -7), 7)), off = q * scale - row[i];
      error += off * off;
    }
    if (error < best_error) best = scale, best_error = error;
  }
  for (int64_t i = 0; i < n / 2; i++) {
    int32_t q[2] = {0};
    for (int k = 0; k < 2 && best > 0; k++) q[k] = (int32_t)rintf(fminf(fmaxf(row[i + k * (n / 2)] / best, -7), 7));
    out[i] = (uint8_t)((uint32_t)(q[0] & 15) | (uint32_t)(q[1] & 15) << 4);
  }
  return best;
}

#endif
