/* The tables for dispatch.c, and the few numbers with the same bits at every level. Private to src/tensor/. */
#ifndef TENSOR_LEVELS_H
#define TENSOR_LEVELS_H

#include "tensor/int8.h"
#include "tensor/narrow.h"
#include "tensor/products.h"

#include <math.h>
#include <string.h>

extern const cq_kernels cq_kernels_reference;
extern const cq_kernels cq_kernels_portable;
#ifdef CQ_ARM64
extern const cq_kernels cq_kernels_neon;
extern const cq_products cq_products_bf16_neon, cq_products_int8_i8mm, cq_products_int8_dotprod;
#endif
#ifdef CQ_X86
extern const cq_kernels cq_kernels_avx2;
extern const cq_kernels cq_kernels_avx512;
extern const cq_int8_kernels cq_int8_avx512vnni;
#endif

extern const cq_products cq_products_bf16_reference, cq_products_int8_reference;
#ifdef CQ_X86
extern const cq_products cq_products_bf16_avx512, cq_products_int8_avx512, cq_products_int8_avxvnni,
    cq_products_int8_avx2;
#endif
#ifdef CQ_AMX
extern const cq_products cq_products_bf16_amx, cq_products_int8_amx;
#endif

/* Rounds to the nearest bf16, ties to even, subnormal numbers to zero, like AVX512-BF16. */
static inline uint16_t cq_bf16_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7F800000u) == 0x7F800000u && (bits & 0x7FFFFFu)) return (uint16_t)(bits >> 16 | 0x40); /* NaN */
  if (!(bits & 0x7F800000u)) return (uint16_t)(bits >> 16 & 0x8000u);
  return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}

/* Quantization is the same at all levels: it is a small part of the work. */
void cq_int8_quantize_left(uint8_t *a, cq_int8_terms *terms, const float *x, int64_t m, int64_t dim);
void cq_int8_quantize_right(void *packed, const float *y, int64_t n, int64_t dim);

/* An element is kept if its bits are at least `threshold`; it is then multiplied by `factor`. */
typedef struct cq_dropout_rule {
  uint32_t threshold;
  float factor; /* 0 when nothing is kept */
} cq_dropout_rule;

static inline cq_dropout_rule cq_dropout_rule_of(float rate) {
  if (!(rate < 1.0f)) return (cq_dropout_rule){UINT32_MAX, 0.0f};
  return (cq_dropout_rule){(uint32_t)((double)rate * 4294967296.0), 1.0f / (1.0f - rate)};
}

/* The range of row i of attention's scores; everything outside is masked. */
static inline int64_t cq_attention_first(const cq_attention_shape *s, int64_t i) {
  return s->window > 0 && i >= s->window ? i - s->window + 1 : 0;
}
static inline int64_t cq_attention_end(const cq_attention_shape *s, int64_t i) {
  const int64_t reach = s->causal ? 1 : s->window > 0 ? s->window : s->n_tokens;
  return s->n_tokens - i < reach ? s->n_tokens : i + reach;
}
/* The first column of the keys and values for a head of queries. */
static inline int64_t cq_attention_kv_column(const cq_attention_shape *s, int64_t head) {
  return (s->n_kv_heads > 0 ? head / (s->n_heads / s->n_kv_heads) : head) * s->head_dim;
}
/* Whether it is the first head that uses them. */
static inline bool cq_attention_first_of_kv(const cq_attention_shape *s, int64_t head) {
  return s->n_kv_heads <= 0 || head % (s->n_heads / s->n_kv_heads) == 0;
}

#endif
