/* 8 bits on ARM, for a file that defines PRODUCTS_TABLE, PRODUCTS_NAME, LEFT_ZERO, and LEFT_OFFSET: the number
 * subtracted from A's elements when they are stored, 0 if the instruction takes them unsigned. */
#include "tensor/cpu/simd_neon.h"
#include "tensor/levels.h"

enum { GROUP = 4 };
typedef uint8_t narrow;
typedef int8_t narrow_b;

INLINE vi n_dot(vi s, vi a, vi b) {
#if LEFT_OFFSET
  return (vi)vdotq_s32((int32x4_t)s, (int8x16_t)a, (int8x16_t)b);
#else
  return (vi)vusdotq_s32((int32x4_t)s, (uint8x16_t)a, (int8x16_t)b);
#endif
}

INLINE void store_bytes(void *to, vi x) {
  const uint16x4_t half = vmovn_u32((uint32x4_t)x);
  const uint32_t bytes = vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(half, half))), 0);
  memcpy(to, &bytes, sizeof bytes);
}

INLINE void n_store(narrow *to, vi q, int32_t zero) {
  const int32x4_t x = vminq_s32(vmaxq_s32((int32x4_t)(q + zero), vdupq_n_s32(0)), vdupq_n_s32(255));
  store_bytes(to, (vi)x - LEFT_OFFSET);
}

INLINE void n_store_b(narrow_b *to, vi q) {
  store_bytes(to, q);
}

#include "tensor/cpu/int8.inc.h"
