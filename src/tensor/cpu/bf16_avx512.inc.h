/* bf16 on AVX-512: a step adds two products to each of 16 f32 sums. With AMX_DOT, a step is a whole tile. */
#include "tensor/cpu/simd_avx512.h"
#include "tensor/levels.h"

INLINE vf n_dot(vf s, vf a, vf b) {
  return (vf)_mm512_dpbf16_ps((__m512)s, (__m512bh)a, (__m512bh)b);
}

INLINE void bf16_store(uint16_t *to, vf x) {
  const __m256bh half = _mm512_cvtneps_pbh((__m512)x);
  memcpy(to, &half, sizeof half);
}

INLINE vf bf16_run(vf low, vf high) {
  return (vf)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low);
}

INLINE vf bf16_pair(vf even, vf odd) {
  static const uint16_t turned[2 * LANES] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                             8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return (vf)_mm512_permutexvar_epi16(_mm512_loadu_si512(turned), (__m512i)bf16_run(even, odd));
}

#include "tensor/cpu/bf16.inc.h"
