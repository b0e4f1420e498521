/* 8 bits on AVX-VNNI: a step adds four products to each of 8 sums. */
#ifdef CQ_X86
#include "tensor/cpu/simd_avx2.h"
#include "tensor/levels.h"

#define PRODUCTS_TABLE cq_products_int8_avxvnni
#define PRODUCTS_NAME  "avxvnni"

enum { GROUP = 4 };
typedef uint8_t narrow;
typedef int8_t narrow_b;
#define LEFT_ZERO(zero) (zero)

INLINE vi n_dot(vi s, vi a, vi b) {
  __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(s) : "x"(a), "x"(b));
  return s;
}

INLINE void n_store(narrow *to, vi q, int32_t zero) {
  const __m256i x =
      _mm256_min_epi32(_mm256_max_epi32((__m256i)(q + zero), _mm256_setzero_si256()), _mm256_set1_epi32(255));
  const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  _mm_storel_epi64((__m128i *)(void *)to, _mm_packus_epi16(words, words));
}

INLINE void n_store_b(narrow_b *to, vi q) {
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128((__m256i)q), _mm256_extracti128_si256((__m256i)q, 1));
  _mm_storel_epi64((__m128i *)(void *)to, _mm_packs_epi16(words, words));
}

#include "tensor/cpu/int8.inc.h"
#else
typedef int cq_level_not_built; /* C wants a declaration in every file */
#endif
