/* bf16 on AVX-512: a step adds two products to each of 16 f32 sums. */
#ifdef CQ_X86
#include "tensor/cpu/simd_avx512.h"
#include "tensor/levels.h"

#define PRODUCTS_TABLE     cq_products_bf16_avx512
#define PRODUCTS_NAME      "avx512bf16"
#define PRODUCTS_PRECISION CQ_PRECISION_BF16

#include "tensor/cpu/math.inc.h"
#include "tensor/cpu/tiles.inc.h"

enum { GROUP = 2, COLUMN_TERMS = 0 };
typedef uint16_t narrow, narrow_b;
typedef vf sums;
typedef struct row_term {
  float unused; /* bf16 needs no terms */
} row_term, column_terms;

INLINE sums n_dot(sums s, sums a, sums b) {
  return (sums)_mm512_dpbf16_ps((__m512)s, (__m512bh)a, (__m512bh)b);
}

INLINE vf n_value(sums s, const row_term *row, const column_terms *columns, vf start) {
  (void)row, (void)columns;
  return s + start;
}

INLINE void n_convert_row(narrow *to, row_term *term, const float *from, int64_t k) {
  term->unused = 0;
  for (int64_t i = 0; i < round_up(k, LANES * GROUP); i += LANES) {
    const __m256bh x = _mm512_cvtneps_pbh((__m512)(i < k ? v_load_n(from + i, k - i) : v_set(0.0f)));
    memcpy(to + i, &x, sizeof x);
  }
}

INLINE float n_column(column_terms *columns, int64_t lane, const float *b, int64_t stride, int64_t k) {
  (void)columns, (void)lane, (void)b, (void)stride, (void)k;
  return 1;
}

INLINE narrow_b n_element(float x, column_terms *columns, int64_t lane) {
  (void)columns, (void)lane;
  return cq_bf16_of(x);
}

#include "tensor/cpu/narrow.inc.h"
#else
typedef int cq_level_not_built; /* C wants a declaration in every file */
#endif
