/* Products in bf16 and 8 bits in plain loops, which the others are tested against. Packed B is [k, n], as f32 (bf16),
 * or as one scale per column followed by integers. */
#include "tensor/levels.h"
#include "tensor/ref/reference.h"

static float bf16_round(float x) {
  const uint32_t bits = (uint32_t)cq_bf16_of(x) << 16;
  float y;
  memcpy(&y, &bits, sizeof y);
  return y;
}

static void finish_element(float *c, double sum, int64_t at, int64_t j, const cq_epilogue *e) {
  if (e && e->accumulate) {
    c[at] = (float)((double)c[at] + sum);
    return;
  }
  const float before = (float)(sum + (e && e->bias ? (double)e->bias[j] : 0));
  if (e && e->before) e->before[at] = before;
  c[at] = ref_activation(before, e ? e->activation : CQ_IDENTITY);
}

/* --- bf16 --- */

static size_t bf16_packed_bytes(int64_t k, int64_t n) {
  return (size_t)(k * n) * sizeof(float);
}
static void bf16_pack(void *packed, const float *b, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n) {
  float *to = packed;
  for (int64_t p = 0; p < k; p++)
    for (int64_t j = 0; j < n; j++) to[p * n + j] = bf16_round(b[p * k_stride + j * n_stride]);
}
static size_t bf16_left_bytes(int64_t m, int64_t k) {
  return (size_t)(m * k) * sizeof(float);
}
static void bf16_convert(void *left, const float *a, int64_t a_stride, int64_t m, int64_t k) {
  bf16_pack(left, a, a_stride, 1, m, k);
}
static void bf16_product(float *c, int64_t c_stride, const void *left, int64_t a_stride, const void *packed, int64_t m,
                         int64_t n, int64_t k, const cq_epilogue *epilogue) {
  const float *a = left, *b = packed;
  (void)a_stride;
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      double sum = 0;
      for (int64_t p = 0; p < k; p++) sum += (double)a[i * k + p] * (double)b[p * n + j];
      finish_element(c, sum, i * c_stride + j, j, epilogue);
    }
  }
}
static size_t bf16_transposed_bytes(int64_t m, int64_t n, int64_t k) {
  (void)m, (void)n, (void)k;
  return 0;
}
static void bf16_product_transposed(float *c, int64_t c_stride, const float *a, int64_t a_stride, const float *b,
                                    int64_t b_stride, int64_t m, int64_t n, int64_t k, void *scratch) {
  (void)scratch;
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      double sum = 0;
      for (int64_t p = 0; p < k; p++)
        sum += (double)bf16_round(a[p * a_stride + i]) * (double)bf16_round(b[p * b_stride + j]);
      c[i * c_stride + j] = (float)((double)c[i * c_stride + j] + sum);
    }
  }
}
const cq_products cq_products_bf16_reference = {.name = "reference",
                                                .precision = CQ_PRECISION_BF16,
                                                .packed_bytes = bf16_packed_bytes,
                                                .pack = bf16_pack,
                                                .left_bytes = bf16_left_bytes,
                                                .convert = bf16_convert,
                                                .product = bf16_product,
                                                .transposed_bytes = bf16_transposed_bytes,
                                                .product_transposed = bf16_product_transposed};

/* --- 8 bits: cpu/int8.inc.h describes the representation --- */

typedef struct row {
  float scale;
  int32_t zero;
} row;

static size_t int8_packed_bytes(int64_t k, int64_t n) {
  return (size_t)n * (sizeof(float) + (size_t)k);
}
static void int8_pack(void *packed, const float *b, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n) {
  float *scales = packed;
  int8_t *to = (int8_t *)(scales + n);
  for (int64_t j = 0; j < n; j++) {
    float max = 0;
    bool finite = true;
    for (int64_t p = 0; p < k; p++) {
      const float x = b[p * k_stride + j * n_stride];
      if (fabsf(x) > max) max = fabsf(x);
      finite &= isfinite(x) != 0;
    }
    const cq_int8_scale scale = cq_int8_scale_of(max, finite);
    scales[j] = scale.scale;
    for (int64_t p = 0; p < k; p++)
      to[p * n + j] = (int8_t)cq_int8_element(b[p * k_stride + j * n_stride] * scale.inverse);
  }
}
static size_t int8_left_bytes(int64_t m, int64_t k) {
  return (size_t)m * (sizeof(row) + (size_t)k * sizeof(int16_t));
}
static void int8_convert(void *left, const float *a, int64_t a_stride, int64_t m, int64_t k) {
  row *rows = left;
  int16_t *to = (int16_t *)(void *)(rows + m); /* q - zero */
  for (int64_t i = 0; i < m; i++, a += a_stride) {
    float top = 0, bottom = 0;
    bool finite = true;
    for (int64_t p = 0; p < k; p++) {
      if (a[p] > top) top = a[p];
      if (-a[p] > bottom) bottom = -a[p];
      finite &= isfinite(a[p]) != 0;
    }
    const float range = top + bottom;
    finite &= isfinite(range) != 0;
    const float inverse = finite && range > CQ_INT8_MIN_RANGE ? 255.0f / range : 0.0f;
    const int32_t zero = finite ? (int32_t)rintf(bottom * inverse) : 0;
    rows[i] = (row){finite ? range / 255.0f : NAN, zero};
    for (int64_t p = 0; p < k; p++) {
      const int32_t q = finite ? (int32_t)rintf(a[p] * inverse) + zero : 0;
      to[i * k + p] = (int16_t)((q < 0 ? 0 : q > 255 ? 255 : q) - zero);
    }
  }
}
static void int8_product(float *c, int64_t c_stride, const void *left, int64_t a_stride, const void *packed, int64_t m,
                         int64_t n, int64_t k, const cq_epilogue *epilogue) {
  const row *rows = left;
  const int16_t *a = (const int16_t *)(const void *)(rows + m);
  const float *scales = packed;
  const int8_t *b = (const int8_t *)(scales + n);
  (void)a_stride;
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      int32_t sum = 0;
      for (int64_t p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
      finish_element(c, (double)sum * (double)(rows[i].scale * scales[j]), i * c_stride + j, j, epilogue);
    }
  }
}
const cq_products cq_products_int8_reference = {.name = "reference",
                                                .precision = CQ_PRECISION_INT8,
                                                .packed_bytes = int8_packed_bytes,
                                                .pack = int8_pack,
                                                .left_bytes = int8_left_bytes,
                                                .convert = int8_convert,
                                                .product = int8_product};
