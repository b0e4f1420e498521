/* Vectors of 16 floats: AVX-512 F, BW, VL, DQ. simd_portable.h describes each function. */
#ifndef TENSOR_CPU_SIMD_AVX512_H
#define TENSOR_CPU_SIMD_AVX512_H

#include <immintrin.h>
#include <stdint.h>

enum { LANES = 16, TILE_ROWS = 6, TILE_VECTORS = 4 };
#define TILE_HEIGHTS HEIGHTS_6
#define TILE_WIDTHS  WIDTHS_4

typedef float vf __attribute__((vector_size(64)));
typedef int32_t vi __attribute__((vector_size(64)));
typedef uint32_t vu __attribute__((vector_size(64)));
#define INLINE static inline __attribute__((always_inline))

INLINE __mmask16 first_lanes(int64_t n) {
  return (__mmask16)((1u << n) - 1u);
}

INLINE vf v_load(const float *p) {
  return _mm512_loadu_ps(p);
}
INLINE void v_store(float *p, vf x) {
  _mm512_storeu_ps(p, x);
}
INLINE vf v_load_n(const float *p, int64_t n) {
  return n >= LANES ? v_load(p) : (vf)_mm512_maskz_loadu_ps(first_lanes(n), p);
}
INLINE void v_store_n(float *p, vf x, int64_t n) {
  if (n >= LANES)
    v_store(p, x);
  else
    _mm512_mask_storeu_ps(p, first_lanes(n), x);
}
INLINE vf v_set(float x) {
  return _mm512_set1_ps(x);
}
INLINE vf v_fma(vf a, vf b, vf c) {
  return _mm512_fmadd_ps(a, b, c);
}
INLINE vf v_fnma(vf a, vf b, vf c) {
  return _mm512_fnmadd_ps(a, b, c);
}
INLINE vf v_min(vf x, float bound) {
  return _mm512_min_ps(v_set(bound), x);
}
INLINE vf v_max(vf x, float bound) {
  return _mm512_max_ps(v_set(bound), x);
}
INLINE vf v_max_of(vf x, vf y) {
  return _mm512_max_ps(x, y);
}
INLINE vf v_sqrt(vf x) {
  return _mm512_sqrt_ps(x);
}
INLINE vf v_abs(vf x) {
  return _mm512_abs_ps(x);
}
INLINE vf v_round(vf x) {
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
INLINE vi v_to_int(vf x) {
  return (vi)_mm512_cvtps_epi32(x);
}
INLINE vf v_to_float(vi x) {
  return _mm512_cvtepi32_ps((__m512i)x);
}
INLINE vf v_times_power(vf x, vf n) {
  return _mm512_scalef_ps(x, n);
}
INLINE vf v_where_positive(vf x, vf yes, vf no) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GT_OQ), no, yes);
}
INLINE uint32_t v_mask_at_least(vf x, vf bound) {
  return _mm512_cmp_ps_mask(x, bound, _CMP_GE_OQ);
}
INLINE vf v_where_kept(vu bits, uint32_t threshold, vf x) {
  return _mm512_maskz_mov_ps(_mm512_cmpge_epu32_mask((__m512i)bits, _mm512_set1_epi32((int)threshold)), x);
}
INLINE vf v_fill_tail(vf x, int64_t n, float fill) {
  return n >= LANES ? x : (vf)_mm512_mask_blend_ps(first_lanes(n), v_set(fill), x);
}
INLINE vu v_iota(void) {
  return (vu){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
}
INLINE float v_sum(vf x) {
  return _mm512_reduce_add_ps(x);
}
INLINE float v_reduce_max(vf x) {
  return _mm512_reduce_max_ps(x);
}

INLINE void v_transpose(vf r[LANES]) {
  __m512 t[LANES];
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i += 4) { /* 4 x 4 blocks within each quarter of a register */
    __m512 a = _mm512_unpacklo_ps(r[i], r[i + 1]), b = _mm512_unpackhi_ps(r[i], r[i + 1]);
    __m512 c = _mm512_unpacklo_ps(r[i + 2], r[i + 3]), d = _mm512_unpackhi_ps(r[i + 2], r[i + 3]);
    t[i] = _mm512_shuffle_ps(a, c, 0x44);
    t[i + 1] = _mm512_shuffle_ps(a, c, 0xee);
    t[i + 2] = _mm512_shuffle_ps(b, d, 0x44);
    t[i + 3] = _mm512_shuffle_ps(b, d, 0xee);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 4; i++) { /* then the 4 x 4 matrix of quarters */
    __m512 a = _mm512_shuffle_f32x4(t[i], t[i + 4], 0x88), b = _mm512_shuffle_f32x4(t[i], t[i + 4], 0xdd);
    __m512 c = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0x88), d = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0xdd);
    r[i] = _mm512_shuffle_f32x4(a, c, 0x88);
    r[i + 8] = _mm512_shuffle_f32x4(a, c, 0xdd);
    r[i + 4] = _mm512_shuffle_f32x4(b, d, 0x88);
    r[i + 12] = _mm512_shuffle_f32x4(b, d, 0xdd);
  }
}

#endif
