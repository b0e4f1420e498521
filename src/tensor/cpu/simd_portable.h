/* Vectors of 4 floats in the compilers' own vector types: any processor, no flags. This header documents the functions
 * of every level; the other headers implement them with their processor's instructions.
 *
 * vf, vi, vu are vectors of LANES floats, signed and unsigned 32-bit integers; + - * / on vf and all operators on vi
 * and vu are built into the compilers. Pointers need no alignment. Functions of one argument propagate NaN. */
#ifndef TENSOR_CPU_SIMD_PORTABLE_H
#define TENSOR_CPU_SIMD_PORTABLE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* A product's tile: TILE_ROWS x TILE_VECTORS accumulators, plus TILE_VECTORS of B and one of A in registers. */
enum { LANES = 4, TILE_ROWS = 4, TILE_VECTORS = 2 };
#define TILE_HEIGHTS HEIGHTS_4
#define TILE_WIDTHS  WIDTHS_2

typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));
typedef uint32_t vu __attribute__((vector_size(16)));
#define INLINE static inline __attribute__((always_inline))

INLINE vf v_load(const float *p) {
  vf x;
  memcpy(&x, p, sizeof x);
  return x;
}
INLINE void v_store(float *p, vf x) {
  memcpy(p, &x, sizeof x);
}

/* The first n lanes (all if n >= LANES); the others read as zero and are not written. */
INLINE vf v_load_n(const float *p, int64_t n) {
  if (n >= LANES) return v_load(p);
  vf x = {0};
  for (int i = 0; i < LANES; i++)
    if (i < n) x[i] = p[i];
  return x;
}
INLINE void v_store_n(float *p, vf x, int64_t n) {
  if (n >= LANES)
    v_store(p, x);
  else
    for (int i = 0; i < LANES; i++)
      if (i < n) p[i] = x[i];
}
INLINE vf v_set(float x) {
  return (vf){x, x, x, x};
}
INLINE vf v_fma(vf a, vf b, vf c) {
  return a * b + c;
} /* rounded once or twice, depending on the processor */
INLINE vf v_fnma(vf a, vf b, vf c) {
  return c - a * b;
} /* likewise */
INLINE vf v_select(vi mask, vf yes, vf no) {
  return (vf)(((vi)yes & mask) | ((vi)no & ~mask));
}
/* x held below or above a bound; NaN stays. */
INLINE vf v_min(vf x, float bound) {
  return v_select(x > v_set(bound), v_set(bound), x);
}
INLINE vf v_max(vf x, float bound) {
  return v_select(x < v_set(bound), v_set(bound), x);
}
/* The larger of two; y if one is NaN. */
INLINE vf v_max_of(vf x, vf y) {
  return v_select(x > y, x, y);
}
INLINE vf v_sqrt(vf x) {
  for (int i = 0; i < LANES; i++) x[i] = sqrtf(x[i]);
  return x;
}
INLINE vf v_abs(vf x) {
  return (vf)((vi)x & INT32_MAX);
}
/* To the nearest whole number, for |x| < 2^22. */
INLINE vf v_round(vf x) {
  return (x + v_set(12582912.0f)) - v_set(12582912.0f);
}
INLINE vi v_to_int(vf x) {
  return (vi)(x + v_set(12582912.0f)) - 0x4b400000;
} /* whole numbers below 2^22 */
INLINE vf v_to_float(vi x) {
  return (vf)(x + 0x4b400000) - v_set(12582912.0f);
}
/* x 2^n for whole n in [-160, 130]. */
INLINE vf v_times_power(vf x, vf n) {
  vi whole = v_to_int(n), half = whole >> 1; /* in two steps: 2^128 alone overflows, 2^-140 alone underflows */
  return x * (vf)((half + 127) << 23) * (vf)((whole - half + 127) << 23);
}
INLINE vf v_where_positive(vf x, vf yes, vf no) {
  return v_select(x > v_set(0), yes, no);
}
/* One bit per lane, the first lane's lowest: x >= bound, never for NaN. */
INLINE uint32_t v_mask_at_least(vf x, vf bound) {
  uint32_t mask = 0;
  const vi larger = x >= bound;
  for (int i = 0; i < LANES; i++) mask |= (uint32_t)(larger[i] & 1) << i;
  return mask;
}
/* x where bits >= threshold, else 0. */
INLINE vf v_where_kept(vu bits, uint32_t threshold, vf x) {
  return (vf)((vi)x & (vi)(bits >= threshold));
}
/* x with the lanes from n on replaced. */
INLINE vf v_fill_tail(vf x, int64_t n, float fill) {
  for (int i = 0; i < LANES; i++)
    if (i >= n) x[i] = fill;
  return x;
}
INLINE vu v_iota(void) {
  return (vu){0, 1, 2, 3};
}
INLINE float v_sum(vf x) {
  return (x[0] + x[2]) + (x[1] + x[3]);
}
INLINE float v_reduce_max(vf x) {
  float a = x[0] > x[2] ? x[0] : x[2], b = x[1] > x[3] ? x[1] : x[3];
  return a > b ? a : b;
}

/* Transposes LANES vectors, the rows of a square. */
INLINE void v_transpose(vf r[LANES]) {
  for (int i = 0; i < LANES; i++) {
    for (int j = 0; j < i; j++) {
      float above = r[j][i];
      r[j][i] = r[i][j];
      r[i][j] = above;
    }
  }
}

#endif
