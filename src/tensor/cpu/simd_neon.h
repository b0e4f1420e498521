/* Vectors of 4 floats: NEON, which every 64-bit ARM processor has. simd_portable.h describes each function. */
#ifndef TENSOR_CPU_SIMD_NEON_H
#define TENSOR_CPU_SIMD_NEON_H

#include <arm_neon.h>
#include <stdint.h>

/* 20 sums, 4 vectors of B and 5 elements of A in 32 registers: with 6 rows gcc 12 keeps two sums on the stack. */
enum { LANES = 4, TILE_ROWS = 5, TILE_VECTORS = 4 };
#define TILE_HEIGHTS HEIGHTS_5
#define TILE_WIDTHS  WIDTHS_4

typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));
typedef uint32_t vu __attribute__((vector_size(16)));
#define INLINE static inline __attribute__((always_inline))

INLINE vf v_load(const float *p) {
  return (vf)vld1q_f32(p);
}
INLINE void v_store(float *p, vf x) {
  vst1q_f32(p, (float32x4_t)x);
}
INLINE vf v_load_n(const float *p, int64_t n) {
  if (n >= LANES) return v_load(p);
  float32x4_t x = vdupq_n_f32(0.0f);
  if (n > 0) x = vld1q_lane_f32(p, x, 0);
  if (n > 1) x = vld1q_lane_f32(p + 1, x, 1);
  if (n > 2) x = vld1q_lane_f32(p + 2, x, 2);
  return (vf)x;
}
INLINE void v_store_n(float *p, vf x, int64_t n) {
  if (n >= LANES) {
    v_store(p, x);
    return;
  }
  if (n > 0) p[0] = x[0];
  if (n > 1) p[1] = x[1];
  if (n > 2) p[2] = x[2];
}
INLINE vf v_set(float x) {
  return (vf)vdupq_n_f32(x);
}
INLINE vf v_fma(vf a, vf b, vf c) {
  return (vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
INLINE vf v_fnma(vf a, vf b, vf c) {
  return (vf)vfmsq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
INLINE vf v_min(vf x, float bound) {
  return (vf)vminq_f32((float32x4_t)x, vdupq_n_f32(bound));
}
INLINE vf v_max(vf x, float bound) {
  return (vf)vmaxq_f32((float32x4_t)x, vdupq_n_f32(bound));
}
INLINE vf v_max_of(vf x, vf y) {
  return (vf)vbslq_f32((uint32x4_t)(x > y), (float32x4_t)x, (float32x4_t)y);
}
INLINE vf v_sqrt(vf x) {
  return (vf)vsqrtq_f32((float32x4_t)x);
}
INLINE vf v_abs(vf x) {
  return (vf)vabsq_f32((float32x4_t)x);
}
INLINE vf v_round(vf x) {
  return (vf)vrndnq_f32((float32x4_t)x);
}
INLINE vi v_to_int(vf x) {
  return (vi)vcvtnq_s32_f32((float32x4_t)x);
}
INLINE vf v_to_float(vi x) {
  return (vf)vcvtq_f32_s32((int32x4_t)x);
}
INLINE vf v_times_power(vf x, vf n) {
  vi whole = v_to_int(n), half = whole >> 1; /* in two steps: 2^128 alone overflows, 2^-140 alone underflows */
  return x * (vf)((half + 127) << 23) * (vf)((whole - half + 127) << 23);
}
INLINE vf v_where_positive(vf x, vf yes, vf no) {
  return (vf)vbslq_f32(vcgtzq_f32((float32x4_t)x), (float32x4_t)yes, (float32x4_t)no);
}
INLINE uint32_t v_mask_at_least(vf x, vf bound) {
  const vu bits = (vu)(x >= bound) & (vu){1, 2, 4, 8};
  return vaddvq_u32((uint32x4_t)bits);
}
INLINE vf v_where_kept(vu bits, uint32_t threshold, vf x) {
  return (vf)((vu)x & (vu)vcgeq_u32((uint32x4_t)bits, vdupq_n_u32(threshold)));
}
INLINE vf v_fill_tail(vf x, int64_t n, float fill) {
  const vi exists = (vi){0, 1, 2, 3} < (int32_t)(n < LANES ? n : LANES);
  return (vf)vbslq_f32((uint32x4_t)exists, (float32x4_t)x, vdupq_n_f32(fill));
}
INLINE vu v_iota(void) {
  return (vu){0, 1, 2, 3};
}
INLINE float v_sum(vf x) {
  return vaddvq_f32((float32x4_t)x);
}
INLINE float v_reduce_max(vf x) {
  return vmaxvq_f32((float32x4_t)x);
}

INLINE void v_transpose(vf r[LANES]) {
  const float32x4x2_t a = vtrnq_f32((float32x4_t)r[0], (float32x4_t)r[1]),
                      b = vtrnq_f32((float32x4_t)r[2], (float32x4_t)r[3]);
  r[0] = (vf)vcombine_f32(vget_low_f32(a.val[0]), vget_low_f32(b.val[0]));
  r[1] = (vf)vcombine_f32(vget_low_f32(a.val[1]), vget_low_f32(b.val[1]));
  r[2] = (vf)vcombine_f32(vget_high_f32(a.val[0]), vget_high_f32(b.val[0]));
  r[3] = (vf)vcombine_f32(vget_high_f32(a.val[1]), vget_high_f32(b.val[1]));
}

#endif
