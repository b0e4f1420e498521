/* Rows of 16-bit and 8-bit elements, as in files, and the conversion to them. */
#ifndef TENSOR_NARROW_H
#define TENSOR_NARROW_H

#include "base/dtype.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Rows of a matrix. The value of a CQ_I8 element is the element times its row's scale. */
typedef struct cq_narrow_rows {
  const void *data; /* in any alignment; NULL: none */
  cq_dtype dtype;   /* CQ_BF16, CQ_F16 or CQ_I8 */
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

#endif
