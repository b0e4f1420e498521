/* Upper bounds of dot products from 8-bit numbers: a first stage of exact search, four times as fast as f32.
 *
 *   x = scale q + rest,   q integers in [-127, 127],   |rest| = error
 *   x . y <= scale_x scale_y (q_x . q_y) + error_x |y| + |scale_x q_x| error_y           (Cauchy and Schwarz)
 *
 * For rows of length 1 the last two are about 0.007 each at 384 dimensions. The left side's numbers are stored plus 128
 * (the instruction needs one unsigned side); the sums are corrected for this.
 *
 *   const cq_int8_kernels *k = cq_int8_best();                 // NULL if f32 is as fast
 *   k->quantize_left(a, a_terms, x, m, dim);
 *   k->quantize_right(b, y, n, dim);
 *   k->bounds(c, stride, a, a_terms, b, m, n, dim);            // c[i][j] >= x_i . y_j
 */
#ifndef TENSOR_INT8_H
#define TENSOR_INT8_H

#include <stddef.h>
#include <stdint.h>

/* The data stored with a left row's numbers. */
typedef struct cq_int8_terms {
  float scale, error, length; /* length: at least that of scale * q */
} cq_int8_terms;

enum { CQ_INT8_PANEL = 64, CQ_INT8_GROUP = 4, CQ_INT8_MAX_DIM = 1024 /* sums stay exact in f32 */ };

typedef struct cq_int8_kernels {
  const char *name;

  /* Rows x [m, dim] of length at most 1 + 2^-20 go to a [m, dim rounded up to CQ_INT8_GROUP] and terms [m]. */
  void (*quantize_left)(uint8_t *a, cq_int8_terms *terms, const float *x, int64_t m, int64_t dim);
  /* The same for rows y [n, dim], the columns of a packed right side of cq_int8_packed_bytes(n, dim): panels of
   * CQ_INT8_PANEL columns, each
   *   scale [64] f32, error [64] f32, -128 * sum of q [64] int32, q [groups][64][4] int8
   * The last panel is padded with zeros. 64-byte aligned. */
  void (*quantize_right)(void *packed, const float *y, int64_t n, int64_t dim);
  /* c [m, n]; rows of c have room for n rounded up to CQ_INT8_PANEL. dim <= CQ_INT8_MAX_DIM. */
  void (*bounds)(float *c, int64_t c_stride, const uint8_t *a, const cq_int8_terms *terms, const void *packed,
                 int64_t m, int64_t n, int64_t dim);
} cq_int8_kernels;

static inline int64_t cq_int8_row_bytes(int64_t dim) {
  return (dim + CQ_INT8_GROUP - 1) / CQ_INT8_GROUP * CQ_INT8_GROUP;
}
static inline size_t cq_int8_panel_bytes(int64_t dim) {
  return (size_t)CQ_INT8_PANEL * (12 + (size_t)cq_int8_row_bytes(dim));
}
static inline size_t cq_int8_packed_bytes(int64_t n, int64_t dim) {
  return (size_t)((n + CQ_INT8_PANEL - 1) / CQ_INT8_PANEL) * cq_int8_panel_bytes(dim);
}

/* The plain loops: the specification. */
extern const cq_int8_kernels cq_int8_reference;
/* Products that are faster than f32 on this processor, up to the level that CALQUE_SIMD allows; NULL: none. */
const cq_int8_kernels *cq_int8_best(void);

#endif
