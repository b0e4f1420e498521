/* The kernel table: every arithmetic loop of calque, one table per level.
 *
 *   const cq_kernels *k = cq_kernels_best();
 *   k->pack(packed, weight, 1, in, in, out);                  // B[k][n] = weight[n * in + k]: y = x W^T
 *   k->product(y, out, x, in, packed, n_tokens, out, in, &(cq_epilogue){.bias = bias});
 *
 * Levels: "reference" (ref/: plain loops, the specification), "portable" (any processor), "neon", "avx2", "avx512".
 * All pointers are to host memory. Layers also read and write elements directly where a loop is too simple for a kernel
 * (gathering rows, copying states, positions). Matrices are row-major; a "stride" is the distance between two rows in
 * elements. int64_t sizes may be 0 (then nothing happens; a product with k 0 applies the epilogue to zeros). NaN and
 * infinities propagate as in IEEE arithmetic.
 *
 * The summation order of a product's element depends on k alone: a row's result does not depend on m or on the row's
 * position, so a sentence's vector does not depend on its neighbors. */
#ifndef TENSOR_KERNELS_H
#define TENSOR_KERNELS_H

#include "tensor/narrow.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CQ_NORMALIZE_MIN 1e-12f /* the shortest length that a row is divided by */

typedef enum cq_activation {
  CQ_IDENTITY,
  CQ_GELU,      /* x (1 + erf(x / sqrt 2)) / 2, exact */
  CQ_GELU_TANH, /* x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2 */
  CQ_RELU,
  CQ_TANH,
  CQ_SIGMOID,
  CQ_SILU,
} cq_activation;

typedef struct cq_epilogue {
  const float *bias;        /* [n], added to each row; NULL: none */
  cq_activation activation; /* applied after the bias */
  float *before;   /* [m, n] with stride c_stride: the value before the activation, kept for backward; NULL: not kept */
  bool accumulate; /* C += instead of C = (then no bias, no activation) */
} cq_epilogue;

/* Dropout without stored masks: element i of the run named by `key` is kept when a hash of (key, i) is at least
 * rate * 2^32, and scaled by 1 / (1 - rate). Forward and backward draw the same mask from the same key. */
typedef struct cq_dropout {
  float rate; /* 0: no dropout */
  uint64_t key;
} cq_dropout;

/* The hash: 32 random bits for element i of a run. The definition that all levels share. */
static inline uint32_t cq_dropout_bits(uint64_t key, uint32_t i) {
  uint32_t x = (i + (uint32_t)key) * 0x9e3779b1u ^ (uint32_t)(key >> 32);
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

/* One sequence's attention: n_heads heads of head_dim columns side by side. */
typedef struct cq_attention_shape {
  int64_t n_tokens, n_heads, head_dim;
  int64_t stride;     /* row stride of q, k, v and their gradients, e.g. 3 * n_heads * head_dim if in one matrix */
  int64_t out_stride; /* of out and its gradient */
  float scale;        /* of the scores, usually 1 / sqrt(head_dim) */
  const float *bias;  /* [n_heads, n_tokens, n_tokens] added to the scores; NULL: none */
  cq_dropout dropout; /* dropout of the probabilities; the element is (head * n_tokens + row) * n_tokens + column */
  /* Features of later encoders; 0 is BERT's attention. */
  int64_t n_kv_heads;  /* heads of k and v; n_heads / n_kv_heads adjacent heads of q share each; 0: n_heads */
  int64_t window;      /* row i attends to column j only if |i - j| < window; 0: no limit */
  bool causal;         /* and only where j <= i */
  const float *slopes; /* [n_heads]: slopes[head] |i - j| is subtracted from the scores (ALiBi); NULL: nothing */
} cq_attention_shape;

/* How tokens' vectors are pooled into a sentence's vector. Several results are concatenated in this order. */
typedef enum cq_pooling_mode {
  CQ_POOL_CLS,           /* the first */
  CQ_POOL_MAX,           /* the maximum of each dimension */
  CQ_POOL_MEAN,          /* sum / n */
  CQ_POOL_MEAN_SQRT,     /* sum / sqrt n */
  CQ_POOL_WEIGHTED_MEAN, /* sum of (i + 1) x_i / sum of (i + 1), i from 0 */
  CQ_POOL_LAST,          /* the last */
} cq_pooling_mode;
#define CQ_N_POOLING_MODES 6

/* Doubles, because as a float, 1 - 0.999 is wrong in the fifth digit; the elements are computed in f32. */
typedef struct cq_adamw {
  double learning_rate, beta1, beta2, eps, weight_decay;
  double correction1, correction2; /* 1 - beta1^t, 1 - beta2^t */
  float gradient_scale;            /* multiplied into every gradient first: clipping times 1 / accumulated batches */
} cq_adamw;
#define CQ_ADAMW_LEAST(eps) ((eps) < 1e-8f ? 1e-12f * (eps) : 1e-20f)

typedef struct cq_products cq_products; /* tensor/products.h */

typedef struct cq_kernels {
  const char *name;

  /* ---- products ---- */

  const cq_products *products; /* in f32; of others see there */

  /* Floats a packed k x n right-hand side takes. */
  int64_t (*packed_floats)(int64_t k, int64_t n);
  /* Packs B[k][n] = b[k * k_stride + n * n_stride]; one of the two strides is 1. packed is 64-byte aligned. */
  void (*pack)(float *packed, const float *b, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n);
  /* C [m, n] = epilogue(A [m, k] B [k, n]). C must not overlap A. */
  void (*product)(float *c, int64_t c_stride, const float *a, int64_t a_stride, const float *packed, int64_t m,
                  int64_t n, int64_t k, const cq_epilogue *epilogue); /* epilogue NULL: none */
  /* C [m, n] += A^T B with unpacked A [k, m] and B [k, n]: a weight's gradient, where k counts tokens. scratch:
   * packed_floats(k, n) floats. */
  void (*product_transposed)(float *c, int64_t c_stride, const float *a, int64_t a_stride, const float *b,
                             int64_t b_stride, int64_t m, int64_t n, int64_t k, float *scratch);
  /* sum [n] += column sums of a [m, n]: a bias's gradient. */
  void (*add_columns)(float *sum, const float *a, int64_t a_stride, int64_t m, int64_t n);

  /* ---- search ---- */

  /* Lists the elements of scores [m, n] that are at least their row's or their column's bound, row after row: hits[i]
   * is row << 16 | column; returns the number of hits. m, n <= 65535; hits: room for m * n. NaN is never a hit. */
  int64_t (*at_least)(uint32_t *hits, const float *scores, int64_t stride, const float *row_bounds,
                      const float *column_bounds, int64_t m, int64_t n);
  /* The dot product of x and y [n] in f32: for a few rows, which are not worth packing. */
  float (*dot)(const float *x, const float *y, int64_t n);
  /* The dot product of x and y [n] in double precision, in which each product is exact: 16 partial sums, by i mod 16,
   * over whole groups of 16; then the remaining products and the partial sums, in order. The same bits at every
   * level. */
  double (*exact_dot)(const float *x, const float *y, int64_t n);

  /* ---- elementwise ---- */

  void (*activate)(float *y, const float *x, int64_t n, cq_activation activation);
  /* dx = dy * activation'(x), x the value before the activation; dx may be dy. */
  void (*activate_backward)(float *dx, const float *dy, const float *x, int64_t n, cq_activation activation);
  void (*add)(float *y, const float *x, int64_t n);                      /* y += x */
  void (*multiply)(float *y, const float *x, const float *z, int64_t n); /* y = x z; y may be x or z */
  void (*scale)(float *y, const float *x, float factor, int64_t n);      /* y = factor x; y may be x */
  void (*dropout)(float *y, int64_t n, cq_dropout dropout);              /* in place */
  /* y[i] = table[ids[i]] or, with accumulate, y[i] += table[ids[i]]: rows of dim floats. */
  void (*gather)(float *y, const float *table, const int32_t *ids, int64_t n, int64_t dim, bool accumulate);
  /* y[i] = table[ids[i]] from narrow rows; ids NULL: rows 0 to n - 1. */
  void (*gather_narrow)(float *y, const cq_narrow_rows *table, const int32_t *ids, int64_t n, int64_t dim);
  /* table[ids[i]] += y[i], i ascending: the gradient of gather. */
  void (*scatter_add)(float *table, const float *y, const int32_t *ids, int64_t n, int64_t dim);

  /* ---- rows ---- */

  /* y = gamma * xhat + beta with xhat = (s - mean s) * rstd, s = x + residual, variance over dim, eps inside the root.
   *   x, residual (may be NULL), y   [rows, dim]; y may be x or residual
   *   xhat [rows, dim], rstd [rows]  kept for backward; NULL: not kept
   *   beta                           NULL: zeros
   * Source: Ba et al. 2016, eq. 4. */
  void (*layer_norm)(float *y, float *xhat, float *rstd, const float *x, const float *residual, const float *gamma,
                     const float *beta, float eps, int64_t rows, int64_t dim);
  /* dx [rows, dim] is written (may be dy); dgamma [dim] and dbeta [dim] are added to; NULL: not needed. */
  void (*layer_norm_backward)(float *dx, float *dgamma, float *dbeta, const float *dy, const float *xhat,
                              const float *rstd, const float *gamma, int64_t rows, int64_t dim);
  /* y = (offset + gamma) xhat with xhat = x rstd, rstd = 1 / sqrt(mean x^2 + eps) per row; y may be x.
   *   offset  0, or 1 if gamma is stored minus 1
   * Source: Zhang & Sennrich 2019, eq. 4. */
  void (*rms_norm)(float *y, float *xhat, float *rstd, const float *x, const float *gamma, float offset, float eps,
                   int64_t rows, int64_t dim);
  /* dx [rows, dim] is written (may be dy); dgamma [dim] is added to; NULL: not needed. */
  void (*rms_norm_backward)(float *dx, float *dgamma, const float *dy, const float *xhat, const float *rstd,
                            const float *gamma, float offset, int64_t rows, int64_t dim);
  /* Rotates the pairs (j, k = n_turned / 2 + j) of each of n_heads adjacent heads of head_dim columns, in place. Row i
   * of `turns` has the cosines [n_turned / 2], then the sines, of the angles for row i of x: x_j' = x_j cos - x_k sin,
   * x_k' = x_k cos + x_j sin. back: rotates by the opposite angles, for the gradient. Source: Su et al. 2021, section
   * 3.2, with a pair's elements in different halves of a head. */
  void (*rotate)(float *x, int64_t stride, const float *turns, bool back, int64_t rows, int64_t n_heads,
                 int64_t head_dim, int64_t n_turned);
  /* y = x / length with length = max(|x|, CQ_NORMALIZE_MIN) per row; length [rows] kept for backward, may be NULL; y
   * may be x. */
  void (*normalize)(float *y, float *length, const float *x, int64_t rows, int64_t dim);
  /* dx may be dy. */
  void (*normalize_backward)(float *dx, const float *dy, const float *y, const float *length, int64_t rows,
                             int64_t dim);

  /* ---- pooling: the rows of one sequence, tokens[0 .. n_tokens), to one row ---- */

  /* y [dim] from tokens [n_tokens, dim]; n_tokens >= 1. argmax [dim] is kept for CQ_POOL_MAX's backward; NULL: not
   * kept. */
  void (*pool)(float *y, int32_t *argmax, const float *tokens, int64_t n_tokens, int64_t dim, cq_pooling_mode mode);
  /* dtokens [n_tokens, dim] is added to. */
  void (*pool_backward)(float *dtokens, const float *dy, const int32_t *argmax, int64_t n_tokens, int64_t dim,
                        cq_pooling_mode mode);

  /* ---- attention ---- */

  /* Floats of scratch the two functions below need for a sequence of n_tokens. */
  int64_t (*attention_scratch)(int64_t n_tokens, int64_t head_dim);
  /* out = dropout(softmax(scale q k^T + bias)) v, head by head.
   *   log_sum [n_heads, n_tokens]  log of the softmax's denominator (maximum included), kept for backward; NULL: not kept
   * Source: Vaswani et al. 2017, eq. 1. */
  void (*attention)(float *out, float *log_sum, const float *q, const float *k, const float *v,
                    const cq_attention_shape *shape, float *scratch);
  /* Gradients of q, k, v (written, not added). dbias [n_heads, n_tokens, n_tokens] is added to; NULL: not needed. The
   * probabilities are recomputed from q, k and log_sum. Source: Dao et al. 2022, appendix B.2. */
  void (*attention_backward)(float *dq, float *dk, float *dv, float *dbias, const float *dout, const float *out,
                             const float *log_sum, const float *q, const float *k, const float *v,
                             const cq_attention_shape *shape, float *scratch);

  /* ---- LSTM ---- */

  /* One step for rows sequences. gates [rows, 4 dim] holds the pre-activations in PyTorch's order i, f, g, o and is
   * replaced by the activated values; c = f c_before + i g; h = o tanh(c). c_before may be NULL (zeros). c may be
   * c_before. Source: Hochreiter & Schmidhuber 1997, in PyTorch's variant. */
  void (*lstm_cell)(float *h, int64_t h_stride, float *c, float *gates, const float *c_before, int64_t rows,
                    int64_t dim);
  /* dgates [rows, 4 dim] from dh [rows, dim] and dc [rows, dim]; dc becomes the gradient of c_before. */
  void (*lstm_cell_backward)(float *dgates, float *dc, const float *dh, const float *gates, const float *c,
                             const float *c_before, int64_t rows, int64_t dim);

  /* ---- tokens: rows of logits, one vocabulary of n per row; n >= 1 ---- */

  /* y = x - log sum exp x by rows; y [rows, n] may be x. -inf stays: its probability is 0. A row that contains NaN or
   * +inf, or only -inf, becomes NaN. */
  void (*log_softmax)(float *y, int64_t y_stride, const float *x, int64_t x_stride, int64_t rows, int64_t n);
  /* The sum over rows of -log p(id) under softmax(logits), in double precision. With smoothing s the target is
   * (1 - s) onehot(id) + s / n instead of onehot(id): Szegedy et al. 2016, section 7, as in PyTorch.
   *   gradient  [rows, n] with the logits' stride = factor * (softmax - target); may be the logits; NULL: not needed
   *   ids       [rows] in [0, n)
   * Non-finite numbers are handled as in log_softmax. */
  double (*cross_entropy)(float *gradient, const float *logits, int64_t stride, const int32_t *ids, float factor,
                          float smoothing, int64_t rows, int64_t n);

  /* ---- training ---- */

  /* gradient = factor * (y - target) (may be NULL); returns the sum of (y - target)^2 in double precision. */
  double (*squared_error)(float *gradient, const float *y, const float *target, float factor, int64_t n);
  double (*sum_squares)(const float *x, int64_t n);
  /* Decoupled weight decay (Loshchilov & Hutter 2019, algorithm 2), in PyTorch's order of operations:
   * p *= 1 - lr wd; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; p -= lr / c1 * m / (sqrt(v) / sqrt(c2) + eps).
   * g NULL means a zero gradient. |m| up to CQ_ADAMW_LEAST(eps) becomes 0: such an m changes nothing, and numbers so small
   * that they are subnormal are slow. */
  void (*adamw)(float *p, float *m, float *v, const float *g, int64_t n, const cq_adamw *step);

  /* ---- word vectors ---- */

  /* One input x [dim] against n rows of outputs: the first is the positive, the others are negatives. Gradient ascent
   * on log s(x o_0) + sum of log s(-x o_i), where s is the logistic function. With f_i = x o_i, and g_i = rate (1 -
   * s(f_0)) for the positive or -rate s(f_i) for a negative (0 if |f_i| >= 6), row after row
   *   dx = sum of g_i o_i (written), o_i += g_i x
   * so that a repeated row is read after its update.
   *   outputs  rows of dim floats, `stride` apart; rows [n] are the indices of the rows used
   * Source: Mikolov et al. 2013, eq. 4; the limit of 6 is gensim's. */
  void (*negative_sampling)(float *dx, const float *x, float *outputs, int64_t stride, const uint32_t *rows, int64_t n,
                            float rate, int64_t dim);
} cq_kernels;

/* The best level that this processor supports, or a lower one if CALQUE_SIMD=reference|portable|avx2|avx512 is set. */
const cq_kernels *cq_kernels_best(void);
/* A level by name; NULL when unknown or when this processor lacks it. */
const cq_kernels *cq_kernels_named(const char *name);
/* All levels that this processor supports, best first; returns how many. */
size_t cq_kernels_all(const cq_kernels **out, size_t max);

#endif
