/* bf16 on ARM: a step adds two products to each of 4 f32 sums. */
#ifdef CQ_ARM64
#define PRODUCTS_TABLE cq_products_bf16_neon
#define PRODUCTS_NAME  "bf16"
#include "tensor/cpu/simd_neon.h"
#include "tensor/levels.h"

INLINE vf n_dot(vf s, vf a, vf b) {
  return (vf)vbfdotq_f32((float32x4_t)s, (bfloat16x8_t)a, (bfloat16x8_t)b);
}

INLINE void bf16_store(uint16_t *to, vf x) {
  const bfloat16x4_t half = vcvt_bf16_f32((float32x4_t)x);
  memcpy(to, &half, sizeof half);
}

INLINE vf bf16_run(vf low, vf high) {
  return (vf)vcvtq_high_bf16_f32(vcvtq_low_bf16_f32((float32x4_t)low), (float32x4_t)high);
}

INLINE vf bf16_pair(vf even, vf odd) {
  const uint16x8_t e = (uint16x8_t)vcvtq_low_bf16_f32((float32x4_t)even),
                   o = (uint16x8_t)vcvtq_low_bf16_f32((float32x4_t)odd);
  return (vf)vzip1q_u16(e, o);
}

#include "tensor/cpu/bf16.inc.h"
#else
typedef int cq_level_not_built; /* C wants a declaration in every file */
#endif
