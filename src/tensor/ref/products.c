/* Products: packed is B itself, row-major [k, n]. */
#include "tensor/ref/reference.h"

int64_t ref_packed_floats(int64_t k, int64_t n) {
  return k * n;
}

void ref_pack(float *packed, const float *b, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n) {
  for (int64_t p = 0; p < k; p++)
    for (int64_t j = 0; j < n; j++) packed[p * n + j] = b[p * k_stride + j * n_stride];
}

void ref_product(float *c, int64_t c_stride, const float *a, int64_t a_stride, const float *packed, int64_t m,
                 int64_t n, int64_t k, const cq_epilogue *epilogue) {
  const cq_epilogue none = {0};
  if (!epilogue) epilogue = &none;
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      double sum = 0;
      for (int64_t p = 0; p < k; p++) sum += (double)a[i * a_stride + p] * (double)packed[p * n + j];
      float *out = &c[i * c_stride + j];
      if (epilogue->accumulate) {
        *out = (float)((double)*out + sum);
        continue;
      }
      if (epilogue->bias) sum += (double)epilogue->bias[j];
      float before = (float)sum;
      if (epilogue->before) epilogue->before[i * c_stride + j] = before;
      *out = ref_activation(before, epilogue->activation);
    }
  }
}

void ref_product_transposed(float *c, int64_t c_stride, const float *a, int64_t a_stride, const float *b,
                            int64_t b_stride, int64_t m, int64_t n, int64_t k, float *scratch) {
  (void)scratch;
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      double sum = 0;
      for (int64_t p = 0; p < k; p++) sum += (double)a[p * a_stride + i] * (double)b[p * b_stride + j];
      c[i * c_stride + j] = (float)((double)c[i * c_stride + j] + sum);
    }
  }
}

void ref_add_columns(float *sum, const float *a, int64_t a_stride, int64_t m, int64_t n) {
  for (int64_t j = 0; j < n; j++) {
    double column = 0;
    for (int64_t i = 0; i < m; i++) column += (double)a[i * a_stride + j];
    sum[j] = (float)((double)sum[j] + column);
  }
}
