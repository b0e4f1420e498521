/* 8 bits on AVX2: a step widens to 16 bits, multiplies, and adds two products to each of 8 sums. vpmaddubsw would add
 * four products at a time, but its 16-bit sums saturate unless one side has 7 bits, and widening them takes a second
 * multiplication: no gain. */
#ifdef CQ_X86
#include "tensor/cpu/simd_avx2.h"
#include "tensor/levels.h"

#define PRODUCTS_TABLE cq_products_int8_avx2
#define PRODUCTS_NAME  "avx2"

enum { GROUP = 2 };
typedef int16_t narrow, narrow_b;
#define LEFT_ZERO(zero) 0

INLINE vi n_dot(vi s, vi a, vi b) {
  return s + (vi)_mm256_madd_epi16((__m256i)a, (__m256i)b);
}

INLINE void n_store(narrow *to, vi q, int32_t zero) {
  const __m256i x =
      _mm256_min_epi32(_mm256_max_epi32((__m256i)q, _mm256_set1_epi32(-zero)), _mm256_set1_epi32(255 - zero));
  _mm_storeu_si128((__m128i *)(void *)to, _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1)));
}

INLINE void n_store_b(narrow_b *to, vi q) {
  _mm_storeu_si128((__m128i *)(void *)to,
                   _mm_packs_epi32(_mm256_castsi256_si128((__m256i)q), _mm256_extracti128_si256((__m256i)q, 1)));
}

#include "tensor/cpu/int8.inc.h"
#else
typedef int cq_level_not_built; /* C wants a declaration in every file */
#endif
