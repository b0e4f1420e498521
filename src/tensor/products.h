/* Products with a packed right-hand side, in one precision at one level.
 *
 *   const cq_products *p = cq_products_of(kernels, CQ_PRECISION_BF16); // or the next wider available
 *   p->pack(packed, weight, 1, in, in, out);                           // once
 *   p->convert(left, x, x_stride, n, in);                              // once for all products of x
 *   p->product(y, y_stride, left, packed, n, out, in, &epilogue);
 *
 * A row of C depends only on its row of A and on B. */
#ifndef TENSOR_PRODUCTS_H
#define TENSOR_PRODUCTS_H

#include "calque/precision.h"
#include "tensor/kernels.h"

#include <stddef.h>

/* The longest row of 8-bit numbers: the sums of a longer one would not fit into 32 bits. */
enum { CQ_INT8_MAX_K = 65536 };

struct cq_products {
  const char *name; /* of what multiplies: "avx512", "avxvnni" */
  cq_precision precision;
  /* Bytes of a packed k x n right-hand side. */
  size_t (*packed_bytes)(int64_t k, int64_t n);
  /* Packs B[k][n] = b[k * k_stride + n * n_stride]; one of the two strides is 1. packed is 64-byte aligned. */
  void (*pack)(void *packed, const float *b, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n);
  /* Bytes of a converted A [m, k], and the conversion; both NULL: A is used unconverted. left is 64-byte aligned. */
  size_t (*left_bytes)(int64_t m, int64_t k);
  void (*convert)(void *left, const float *a, int64_t a_stride, int64_t m, int64_t k);
  /* C [m, n] = epilogue(A [m, k] B [k, n]). C must not overlap A.
   *   left  the output of convert (a_stride is then ignored); without convert, A itself
   *   epilogue  NULL: none */
  void (*product)(float *c, int64_t c_stride, const void *left, int64_t a_stride, const void *packed, int64_t m,
                  int64_t n, int64_t k, const cq_epilogue *epilogue);
  /* kernels->product_transposed in this precision: C [m, n] += A^T B with unpacked A [k, m] and B [k, n].
   * transposed_bytes: size of scratch, which is 64-byte aligned. NULL: not for training. */
  size_t (*transposed_bytes)(int64_t m, int64_t n, int64_t k);
  void (*product_transposed)(float *c, int64_t c_stride, const float *a, int64_t a_stride, const float *b,
                             int64_t b_stride, int64_t m, int64_t n, int64_t k, void *scratch);
  /* kernels->attention forward, without dropout and log_sum, in this precision; NULL: none. attention_scratch: floats
   * of scratch for a sequence. */
  int64_t (*attention_scratch)(int64_t n_tokens, int64_t head_dim);
  void (*attention)(float *out, const float *q, const float *k, const float *v, const cq_attention_shape *shape,
                    float *scratch);
};

/* Products in this precision at the level of `kernels`, or in the next wider one if the processor or level lacks it. */
const cq_products *cq_products_of(const cq_kernels *kernels, cq_precision precision);
/* All products that this processor supports, except f32; returns how many. */
size_t cq_products_all(const cq_products **out, size_t max);

#endif
