/* 8-bit bounds by AVX-512 VNNI: a step adds four products to each of 16 sums.
 *
 *   acc[r][v]  += left row r: 4 unsigned numbers, broadcast  .  16 columns of panel v: 4 signed numbers each
 *
 * The tile is that of the f32 product (product.inc.h): 6 rows x 64 columns, 24 sums in registers, 4 loads and 6
 * broadcasts per step. */
#ifdef CQ_X86
#include "tensor/levels.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum { ROWS = 6, VECTORS = 4, LANES = 16 };

/* The instruction as inline assembly: gcc 12 spills the sums of its own intrinsic to the stack. */
INLINE __m512i dot4(__m512i sum, __m512i left, __m512i right) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(left), "v"(right));
  return sum;
}

INLINE __m512i broadcast(const uint8_t *a) {
  int32_t four;
  memcpy(&four, a, sizeof four);
  return _mm512_set1_epi32(four);
}

INLINE void tile(float *c, int64_t c_stride, const uint8_t *a, int64_t row_bytes, const cq_int8_terms *terms,
                 const unsigned char *panel, int rows) {
  const float *scale = (const float *)(const void *)panel, *error = scale + CQ_INT8_PANEL;
  const int32_t *offset = (const int32_t *)(const void *)(error + CQ_INT8_PANEL);
  const unsigned char *b = (const unsigned char *)(offset + CQ_INT8_PANEL);
  __m512i acc[ROWS][VECTORS];
#pragma GCC unroll 6
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; v++) acc[r][v] = _mm512_load_si512(offset + v * LANES);
  for (int64_t d = 0; d < row_bytes; d += CQ_INT8_GROUP, b += CQ_INT8_PANEL * CQ_INT8_GROUP) {
    __m512i right[VECTORS];
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; v++) right[v] = _mm512_load_si512(b + v * 64);
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
      const __m512i left = broadcast(a + r * row_bytes + d);
#pragma GCC unroll 4
      for (int v = 0; v < VECTORS; v++) acc[r][v] = dot4(acc[r][v], left, right[v]);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < rows; r++) {
    const __m512 row_scale = _mm512_set1_ps(terms[r].scale), length = _mm512_set1_ps(terms[r].length);
    const __m512 row_error = _mm512_set1_ps(terms[r].error);
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; v++) {
      const __m512 both = _mm512_mul_ps(row_scale, _mm512_load_ps(scale + v * LANES));
      const __m512 rest = _mm512_fmadd_ps(length, _mm512_load_ps(error + v * LANES), row_error);
      _mm512_storeu_ps(c + r * c_stride + v * LANES, _mm512_fmadd_ps(_mm512_cvtepi32_ps(acc[r][v]), both, rest));
    }
  }
}

#define TILE(n)                                                                                                        \
  static void tile_##n(float *c, int64_t c_stride, const uint8_t *a, int64_t row_bytes, const cq_int8_terms *terms,    \
                       const unsigned char *panel) {                                                                   \
    tile(c, c_stride, a, row_bytes, terms, panel, n);                                                                  \
  }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)
static void (*const tiles[ROWS])(float *, int64_t, const uint8_t *, int64_t, const cq_int8_terms *,
                                 const unsigned char *) = {tile_1, tile_2, tile_3, tile_4, tile_5, tile_6};

static void vnni_bounds(float *c, int64_t c_stride, const uint8_t *a, const cq_int8_terms *terms, const void *packed,
                        int64_t m, int64_t n, int64_t dim) {
  const int64_t row_bytes = cq_int8_row_bytes(dim);
  const unsigned char *panel = packed;
  for (int64_t j = 0; j < n; j += CQ_INT8_PANEL, panel += cq_int8_panel_bytes(dim)) {
    for (int64_t i = 0; i < m; i += ROWS) {
      const int64_t rows = m - i < ROWS ? m - i : ROWS;
      tiles[rows - 1](c + i * c_stride + j, c_stride, a + i * row_bytes, row_bytes, terms + i, panel);
    }
  }
}

const cq_int8_kernels cq_int8_avx512vnni = {"avx512vnni", cq_int8_quantize_left, cq_int8_quantize_right, vnni_bounds};
#else
typedef int cq_level_not_built; /* C wants a declaration in every file */
#endif
