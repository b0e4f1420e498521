/* 8 bits on AVX-512 VNNI: a step adds four products to each of 16 sums. With AMX_DOT, a step is a whole tile. */
#include "tensor/cpu/simd_avx512.h"
#include "tensor/levels.h"

enum { GROUP = 4 };
typedef uint8_t narrow;
typedef int8_t narrow_b;
#define LEFT_ZERO(zero) (zero)

/* The instruction as inline assembly: gcc 12 spills the sums of its own intrinsic to the stack. */
INLINE vi n_dot(vi s, vi a, vi b) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(s) : "v"(a), "v"(b));
  return s;
}

INLINE void n_store(narrow *to, vi q, int32_t zero) {
  const __m512i x = _mm512_max_epi32((__m512i)(q + zero), _mm512_setzero_si512());
  _mm_storeu_si128((__m128i *)(void *)to, _mm512_cvtusepi32_epi8(x));
}

INLINE void n_store_b(narrow_b *to, vi q) {
  _mm_storeu_si128((__m128i *)(void *)to, _mm512_cvtepi32_epi8((__m512i)q));
}

#include "tensor/cpu/int8.inc.h"
