/* Vectors of 8 floats: AVX2 and FMA. simd_portable.h describes each function. */
#ifndef TENSOR_CPU_SIMD_AVX2_H
#define TENSOR_CPU_SIMD_AVX2_H

#include <immintrin.h>
#include <stdint.h>

enum { LANES = 8, TILE_ROWS = 6, TILE_VECTORS = 2 };
#define TILE_HEIGHTS HEIGHTS_6
#define TILE_WIDTHS  WIDTHS_2

typedef float vf __attribute__((vector_size(32)));
typedef int32_t vi __attribute__((vector_size(32)));
typedef uint32_t vu __attribute__((vector_size(32)));
#define INLINE static inline __attribute__((always_inline))

static const int32_t lane_masks[2 * LANES] = {-1, -1, -1, -1, -1, -1, -1, -1};
INLINE __m256i first_lanes(int64_t n) {
  return _mm256_loadu_si256((const __m256i *)(lane_masks + LANES - n));
}

INLINE vf v_load(const float *p) {
  return _mm256_loadu_ps(p);
}
INLINE void v_store(float *p, vf x) {
  _mm256_storeu_ps(p, x);
}
INLINE vf v_load_n(const float *p, int64_t n) {
  return n >= LANES ? v_load(p) : (vf)_mm256_maskload_ps(p, first_lanes(n));
}
INLINE void v_store_n(float *p, vf x, int64_t n) {
  if (n >= LANES)
    v_store(p, x);
  else
    _mm256_maskstore_ps(p, first_lanes(n), x);
}
INLINE vf v_set(float x) {
  return _mm256_set1_ps(x);
}
INLINE vf v_fma(vf a, vf b, vf c) {
  return _mm256_fmadd_ps(a, b, c);
}
INLINE vf v_fnma(vf a, vf b, vf c) {
  return _mm256_fnmadd_ps(a, b, c);
}
INLINE vf v_min(vf x, float bound) {
  return _mm256_min_ps(v_set(bound), x);
}
INLINE vf v_max(vf x, float bound) {
  return _mm256_max_ps(v_set(bound), x);
}
INLINE vf v_max_of(vf x, vf y) {
  return _mm256_max_ps(x, y);
}
INLINE vf v_sqrt(vf x) {
  return _mm256_sqrt_ps(x);
}
INLINE vf v_abs(vf x) {
  return _mm256_andnot_ps(v_set(-0.0f), x);
}
INLINE vf v_round(vf x) {
  return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
INLINE vi v_to_int(vf x) {
  return (vi)_mm256_cvtps_epi32(x);
}
INLINE vf v_to_float(vi x) {
  return _mm256_cvtepi32_ps((__m256i)x);
}
INLINE vf v_times_power(vf x, vf n) {
  vi whole = v_to_int(n), half = whole >> 1; /* in two steps: 2^128 alone overflows, 2^-140 alone underflows */
  return x * (vf)((half + 127) << 23) * (vf)((whole - half + 127) << 23);
}
INLINE vf v_where_positive(vf x, vf yes, vf no) {
  return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_GT_OQ));
}
INLINE uint32_t v_mask_at_least(vf x, vf bound) {
  return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(x, bound, _CMP_GE_OQ));
}
INLINE vf v_where_kept(vu bits, uint32_t threshold, vf x) {
  __m256i low = _mm256_set1_epi32((int)threshold);
  __m256i kept = _mm256_cmpeq_epi32(_mm256_max_epu32((__m256i)bits, low), (__m256i)bits);
  return _mm256_and_ps(x, (__m256)kept);
}
INLINE vf v_fill_tail(vf x, int64_t n, float fill) {
  return n >= LANES ? x : (vf)_mm256_blendv_ps(v_set(fill), x, (__m256)first_lanes(n));
}
INLINE vu v_iota(void) {
  return (vu){0, 1, 2, 3, 4, 5, 6, 7};
}
INLINE float v_sum(vf x) {
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(half, _mm_shuffle_ps(half, half, 1)));
}
INLINE float v_reduce_max(vf x) {
  __m128 half = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  half = _mm_max_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_max_ss(half, _mm_shuffle_ps(half, half, 1)));
}

INLINE void v_transpose(vf r[LANES]) {
  __m256 t[LANES];
#pragma GCC unroll 8
  for (int i = 0; i < LANES; i += 4) { /* 4 x 4 blocks within each half of a register */
    __m256 a = _mm256_unpacklo_ps(r[i], r[i + 1]), b = _mm256_unpackhi_ps(r[i], r[i + 1]);
    __m256 c = _mm256_unpacklo_ps(r[i + 2], r[i + 3]), d = _mm256_unpackhi_ps(r[i + 2], r[i + 3]);
    t[i] = _mm256_shuffle_ps(a, c, 0x44);
    t[i + 1] = _mm256_shuffle_ps(a, c, 0xee);
    t[i + 2] = _mm256_shuffle_ps(b, d, 0x44);
    t[i + 3] = _mm256_shuffle_ps(b, d, 0xee);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 4; i++) { /* then the 2 x 2 matrix of halves */
    r[i] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x20);
    r[i + 4] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x31);
  }
}

#endif
