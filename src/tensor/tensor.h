/* A tensor is a view of a matrix in memory: shape and element type travel with the pointer. Layers slice views and hand them
 * to kernels; code that reads elements directly uses cq_f32, which asserts the type. */
#ifndef TENSOR_TENSOR_H
#define TENSOR_TENSOR_H

#include "base/dtype.h"
#include "tensor/kernels.h"

#include <assert.h>

typedef struct cq_tensor {
  void *data;
  cq_dtype dtype;
  int64_t rows, cols;
  int64_t stride; /* elements from one row to the next */
} cq_tensor;

/* The elements for a kernel; asserts that they are f32. */
static inline float *cq_f32(cq_tensor t) {
  assert(t.dtype == CQ_F32);
  return t.data;
}

static inline cq_tensor cq_tensor_f32(float *data, int64_t rows, int64_t cols) {
  return (cq_tensor){data, CQ_F32, rows, cols, cols};
}

/* Rows [first, first + n) and columns [first, first + n) of a tensor of any element type. */
static inline cq_tensor cq_tensor_rows(cq_tensor t, int64_t first, int64_t n) {
  assert(first >= 0 && n >= 0 && first + n <= t.rows);
  t.data = (char *)t.data + first * t.stride * (int64_t)cq_dtype_size(t.dtype);
  t.rows = n;
  return t;
}
static inline cq_tensor cq_tensor_columns(cq_tensor t, int64_t first, int64_t n) {
  assert(first >= 0 && n >= 0 && first + n <= t.cols);
  t.data = (char *)t.data + first * (int64_t)cq_dtype_size(t.dtype);
  t.cols = n;
  return t;
}

static inline bool cq_is_dense(cq_tensor t) {
  return t.stride == t.cols || t.rows <= 1;
}

#endif
