/* Every level against the reference, and proof that the comparison notices a broken kernel of every kind. */
#include "checks.h"

static void every_level_agrees_with_the_reference(void **state) {
  (void)state;
  const cq_kernels *levels[8];
  size_t n = cq_kernels_all(levels, COUNT(levels));
  assert_true(n >= 2);
  for (size_t l = 0; l < n; l++) {
    for (size_t c = 0; c < COUNT(checks); c++) {
      bool good = checks[c].run(levels[l]);
      cq_arena_free(&arena);
      if (!good) fail_msg("level %s, check %s", levels[l]->name, checks[c].name);
    }
  }
}

/* ---- kernels with one small fault each, around those of the best level ---- */

static void bad_pack(float *packed, const float *b, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n) {
  cq_kernels_best()->pack(packed, b, k_stride, n_stride, k, n > 1 ? n - 1 : n);
}
static void bad_product(float *c, int64_t c_stride, const float *a, int64_t a_stride, const float *packed, int64_t m,
                        int64_t n, int64_t k, const cq_epilogue *e) {
  cq_kernels_best()->product(c, c_stride, a, a_stride, packed, m, n, k, e);
  if (m == 13 && n == 65) c[12 * c_stride + 64] += 1e-3f;
}
static void nan_product(float *c, int64_t c_stride, const float *a, int64_t a_stride, const float *packed, int64_t m,
                        int64_t n, int64_t k, const cq_epilogue *e) {
  cq_kernels_best()->product(c, c_stride, a, a_stride, packed, m, n, k, e);
  if (m > 0 && n > 0) c[0] = NAN;
}
static void bad_product_transposed(float *c, int64_t c_stride, const float *a, int64_t a_stride, const float *b,
                                   int64_t b_stride, int64_t m, int64_t n, int64_t k, float *scratch) {
  cq_kernels_best()->product_transposed(c, c_stride, a, a_stride, b, b_stride, m, n, k > 1 ? k - 1 : k, scratch);
}
static void bad_add_columns(float *sum, const float *a, int64_t a_stride, int64_t m, int64_t n) {
  cq_kernels_best()->add_columns(sum, a, a_stride, m > 0 ? m - 1 : m, n);
}
static int64_t bad_at_least(uint32_t *hits, const float *scores, int64_t stride, const float *row_bounds,
                            const float *column_bounds, int64_t m, int64_t n) {
  (void)column_bounds; /* rows alone */
  return cq_kernels_best()->at_least(hits, scores, stride, row_bounds, row_bounds, m, n < m ? n : m);
}
static float bad_dot(const float *x, const float *y, int64_t n) {
  return cq_kernels_best()->dot(x, y, n > 1 ? n - 1 : n);
}
static double bad_exact_dot(const float *x, const float *y, int64_t n) {
  double sum = 0; /* one sum, in order */
  for (int64_t i = 0; i < n; i++) sum += (double)x[i] * (double)y[i];
  return sum;
}
static void bad_activate(float *y, const float *x, int64_t n, cq_activation activation) {
  cq_kernels_best()->activate(y, x, n, activation == CQ_GELU ? CQ_GELU_TANH : activation);
}
static void bad_activate_backward(float *dx, const float *dy, const float *x, int64_t n, cq_activation activation) {
  cq_kernels_best()->activate_backward(dx, dy, x, n, activation == CQ_GELU ? CQ_GELU_TANH : activation);
}
static void bad_add(float *y, const float *x, int64_t n) {
  cq_kernels_best()->add(y, x, n > 100 ? n - 1 : n);
}
static void bad_scale(float *y, const float *x, float factor, int64_t n) {
  cq_kernels_best()->scale(y, x, factor, n);
  if (n == 33) y[n] = 0; /* past the end */
}
static void bad_dropout(float *y, int64_t n, cq_dropout d) {
  d.key++;
  cq_kernels_best()->dropout(y, n, d);
}
static void bad_gather(float *y, const float *table, const int32_t *ids, int64_t n, int64_t dim, bool accumulate) {
  cq_kernels_best()->gather(y, table, ids, n, dim, !accumulate);
}
static void bad_gather_narrow(float *y, const cq_narrow_rows *table, const int32_t *ids, int64_t n, int64_t dim) {
  cq_narrow_rows other = *table;
  other.dtype = table->dtype == CQ_I8 ? CQ_I8 : CQ_BF16;
  cq_kernels_best()->gather_narrow(y, &other, ids, n, dim);
}
static void bad_scatter_add(float *table, const float *y, const int32_t *ids, int64_t n, int64_t dim) {
  cq_kernels_best()->scatter_add(table, y, ids, n - 1, dim);
}
static void bad_pool(float *y, int32_t *argmax, const float *tokens, int64_t n_tokens, int64_t dim,
                     cq_pooling_mode mode) {
  cq_kernels_best()->pool(y, argmax, tokens, n_tokens, dim, mode == CQ_POOL_LAST ? CQ_POOL_CLS : mode);
}
static void bad_pool_backward(float *dtokens, const float *dy, const int32_t *argmax, int64_t n_tokens, int64_t dim,
                              cq_pooling_mode mode) {
  cq_kernels_best()->pool_backward(dtokens, dy, argmax, n_tokens, dim, mode == CQ_POOL_MEAN_SQRT ? CQ_POOL_MEAN : mode);
}
static void bad_layer_norm(float *y, float *xhat, float *rstd, const float *x, const float *residual,
                           const float *gamma, const float *beta, float eps, int64_t rows, int64_t dim) {
  cq_kernels_best()->layer_norm(y, xhat, rstd, x, residual, gamma, beta, eps * 100, rows, dim);
}
static void bad_layer_norm_backward(float *dx, float *dgamma, float *dbeta, const float *dy, const float *xhat,
                                    const float *rstd, const float *gamma, int64_t rows, int64_t dim) {
  cq_kernels_best()->layer_norm_backward(dx, dbeta, dgamma, dy, xhat, rstd, gamma, rows, dim);
}
static void bad_normalize(float *y, float *length, const float *x, int64_t rows, int64_t dim) {
  cq_kernels_best()->normalize(y, length, x, rows, dim);
  if (length) length[1] = 0;
}
static void bad_normalize_backward(float *dx, const float *dy, const float *y, const float *length, int64_t rows,
                                   int64_t dim) {
  cq_kernels_best()->normalize_backward(dx, dy, dy, length, rows, dim);
  (void)y;
}
static void bad_attention(float *out, float *log_sum, const float *q, const float *k, const float *v,
                          const cq_attention_shape *s, float *scratch) {
  cq_attention_shape wrong = *s;
  wrong.dropout.key++;
  cq_kernels_best()->attention(out, log_sum, q, k, v, &wrong, scratch);
}
static void bad_attention_backward(float *dq, float *dk, float *dv, float *dbias, const float *dout, const float *out,
                                   const float *log_sum, const float *q, const float *k, const float *v,
                                   const cq_attention_shape *s, float *scratch) {
  cq_kernels_best()->attention_backward(dq, dk, dv, NULL, dout, out, log_sum, q, k, v, s, scratch);
  (void)dbias;
}
static void unmasked_attention(float *out, float *log_sum, const float *q, const float *k, const float *v,
                               const cq_attention_shape *s, float *scratch) {
  cq_attention_shape wrong = *s;
  if (wrong.window > 1) wrong.window++;
  cq_kernels_best()->attention(out, log_sum, q, k, v, &wrong, scratch);
}
static void unsloped_attention_backward(float *dq, float *dk, float *dv, float *dbias, const float *dout,
                                        const float *out, const float *log_sum, const float *q, const float *k,
                                        const float *v, const cq_attention_shape *s, float *scratch) {
  cq_attention_shape wrong = *s;
  wrong.slopes = NULL;
  cq_kernels_best()->attention_backward(dq, dk, dv, dbias, dout, out, log_sum, q, k, v, &wrong, scratch);
}
static void bad_rms_norm(float *y, float *xhat, float *rstd, const float *x, const float *gamma, float offset,
                         float eps, int64_t rows, int64_t dim) {
  cq_kernels_best()->rms_norm(y, xhat, rstd, x, gamma, offset, eps * 1000, rows, dim);
}
static void bad_rms_norm_backward(float *dx, float *dgamma, const float *dy, const float *xhat, const float *rstd,
                                  const float *gamma, float offset, int64_t rows, int64_t dim) {
  cq_kernels_best()->rms_norm_backward(dx, dgamma, dy, xhat, rstd, gamma, 0, rows, dim);
  (void)offset;
}
static void bad_rotate(float *x, int64_t stride, const float *turns, bool back, int64_t rows, int64_t n_heads,
                       int64_t head_dim, int64_t n_turned) {
  cq_kernels_best()->rotate(x, stride, turns, false, rows, n_heads, head_dim, n_turned);
  (void)back;
}
static void bad_multiply(float *y, const float *x, const float *z, int64_t n) {
  cq_kernels_best()->multiply(y, x, z, n > 30 ? n - 1 : n);
}
static void bad_lstm_cell(float *h, int64_t h_stride, float *c, float *gates, const float *c_before, int64_t rows,
                          int64_t dim) {
  cq_kernels_best()->lstm_cell(h, h_stride, c, gates, NULL, rows, dim);
  (void)c_before;
}
static void bad_lstm_cell_backward(float *dgates, float *dc, const float *dh, const float *gates, const float *c,
                                   const float *c_before, int64_t rows, int64_t dim) {
  cq_kernels_best()->lstm_cell_backward(dgates, dc, dh, gates, dh, c_before, rows, dim);
  (void)c;
}
static void bad_log_softmax(float *y, int64_t y_stride, const float *x, int64_t x_stride, int64_t rows, int64_t n) {
  cq_kernels_best()->log_softmax(y, y_stride, x, x_stride, rows, n > 1 ? n - 1 : n);
}
static double bad_cross_entropy(float *gradient, const float *logits, int64_t stride, const int32_t *ids, float factor,
                                float smoothing, int64_t rows, int64_t n) {
  (void)smoothing;
  return cq_kernels_best()->cross_entropy(gradient, logits, stride, ids, factor, 0, rows, n);
}
static double worse_cross_entropy(float *gradient, const float *logits, int64_t stride, const int32_t *ids,
                                  float factor, float smoothing, int64_t rows, int64_t n) {
  double loss = cq_kernels_best()->cross_entropy(gradient, logits, stride, ids, factor, smoothing, rows, n);
  if (gradient) gradient[ids[0]] += 1e-4f;
  return loss;
}
static double bad_squared_error(float *gradient, const float *y, const float *target, float factor, int64_t n) {
  return cq_kernels_best()->squared_error(gradient, y, target, 2 * factor, n);
}
static double bad_sum_squares(const float *x, int64_t n) {
  return cq_kernels_best()->sum_squares(x, n) * 1.0001;
}
static void bad_adamw(float *p, float *m, float *v, const float *g, int64_t n, const cq_adamw *step) {
  cq_adamw wrong = *step;
  wrong.weight_decay = 0;
  cq_kernels_best()->adamw(p, m, v, g, n, &wrong);
}

static void bad_negative_sampling(float *dx, const float *x, float *outputs, int64_t stride, const uint32_t *rows,
                                  int64_t n, float rate, int64_t dim) {
  uint32_t other[16]; /* what comes again is seen as it was at first */
  for (int64_t i = 0; i < n; i++) other[i] = rows[i] == 7 && i > 3 ? 8 : rows[i];
  cq_kernels_best()->negative_sampling(dx, x, outputs, stride, other, n, rate, dim);
}

static void every_broken_kernel_is_noticed(void **state) {
  (void)state;
#define BROKEN(check, entry, function)                                                                                 \
  {                                                                                                                    \
    cq_kernels broken = *cq_kernels_best();                                                                            \
    broken.entry = function;                                                                                           \
    verbose = false;                                                                                                   \
    bool passed = check(&broken);                                                                                      \
    verbose = true;                                                                                                    \
    cq_arena_free(&arena);                                                                                             \
    if (passed) fail_msg("%s passes " #check, #function);                                                              \
  }
  BROKEN(check_product, pack, bad_pack)
  BROKEN(check_product, product, bad_product)
  BROKEN(check_product, product, nan_product)
  BROKEN(check_product_transposed, product_transposed, bad_product_transposed)
  BROKEN(check_add_columns, add_columns, bad_add_columns)
  BROKEN(check_at_least, at_least, bad_at_least)
  BROKEN(check_dot, dot, bad_dot)
  BROKEN(check_exact_dot, exact_dot, bad_exact_dot)
  BROKEN(check_activate, activate, bad_activate)
  BROKEN(check_activate_backward, activate_backward, bad_activate_backward)
  BROKEN(check_elementwise, add, bad_add)
  BROKEN(check_elementwise, scale, bad_scale)
  BROKEN(check_elementwise, dropout, bad_dropout)
  BROKEN(check_gather, gather, bad_gather)
  BROKEN(check_gather_narrow, gather_narrow, bad_gather_narrow)
  BROKEN(check_gather, scatter_add, bad_scatter_add)
  BROKEN(check_pool, pool, bad_pool)
  BROKEN(check_pool, pool_backward, bad_pool_backward)
  BROKEN(check_layer_norm, layer_norm, bad_layer_norm)
  BROKEN(check_layer_norm, layer_norm_backward, bad_layer_norm_backward)
  BROKEN(check_normalize, normalize, bad_normalize)
  BROKEN(check_normalize, normalize_backward, bad_normalize_backward)
  BROKEN(check_attention, attention, bad_attention)
  BROKEN(check_attention, attention_backward, bad_attention_backward)
  BROKEN(check_masked_attention, attention, unmasked_attention)
  BROKEN(check_masked_attention, attention_backward, unsloped_attention_backward)
  BROKEN(check_rms_norm, rms_norm, bad_rms_norm)
  BROKEN(check_rms_norm, rms_norm_backward, bad_rms_norm_backward)
  BROKEN(check_rotate, rotate, bad_rotate)
  BROKEN(check_multiply, multiply, bad_multiply)
  BROKEN(check_lstm, lstm_cell, bad_lstm_cell)
  BROKEN(check_lstm, lstm_cell_backward, bad_lstm_cell_backward)
  BROKEN(check_tokens, log_softmax, bad_log_softmax)
  BROKEN(check_tokens, cross_entropy, bad_cross_entropy)
  BROKEN(check_tokens, cross_entropy, worse_cross_entropy)
  BROKEN(check_losses, squared_error, bad_squared_error)
  BROKEN(check_losses, sum_squares, bad_sum_squares)
  BROKEN(check_adamw, adamw, bad_adamw)
  BROKEN(check_negative_sampling, negative_sampling, bad_negative_sampling)
}

/* A row of a product is the same to the bit whatever stands beside it: sums run over k in one order. */
static void a_row_depends_on_nothing_beside_it(void **state) {
  (void)state;
  enum { K = 77, N = 150, M = 20 };
  const cq_kernels *levels[8];
  size_t n_levels = cq_kernels_all(levels, COUNT(levels));
  for (size_t l = 0; l < n_levels; l++) {
    const cq_kernels *k = levels[l];
    float *a = random_buffer(M * K, 0, -1, 1), *b = random_buffer(K * N, 0, -1, 1), *bias = random_buffer(N, 0, -1, 1);
    float *packed = packed_b(k, b, N, 1, K, N);
    for (int epilogue = 0; epilogue < 3; epilogue++) {
      cq_epilogue e = {.bias = epilogue ? bias : NULL, .activation = epilogue == 2 ? CQ_GELU : CQ_IDENTITY};
      float *alone = buffer(M * N, 0), *together = buffer(M * N, 0);
      for (int64_t row = 0; row < M; row++) k->product(alone + row * N, N, a + row * K, K, packed, 1, N, K, &e);
      for (int64_t first = 0; first < M; first++) {
        for (int64_t m = 1; first + m <= M; m++) {
          k->product(together, N, a + first * K, K, packed, m, N, K, &e);
          if (memcmp(together, alone + first * N, (size_t)(m * N) * sizeof(float)) != 0)
            fail_msg("level %s: %d rows from %d on differ", k->name, (int)m, (int)first);
        }
      }
    }
    cq_arena_free(&arena);
  }
}

/* The same call gives the same bits. */
static void calls_repeat_exactly(void **state) {
  (void)state;
  enum { K = 1100, N = 70, M = 30 };
  const cq_kernels *k = cq_kernels_best();
  float *a = random_buffer(K * M, 0, -1, 1), *b = random_buffer(K * N, 0, -1, 1);
  float *first = buffer(M * N, 0), *second = buffer(M * N, 0), *scratch = buffer(k->packed_floats(K, N), 0);
  memset(first, 0, M * N * sizeof *first);
  memset(second, 0, M * N * sizeof *second);
  k->product_transposed(first, N, a, M, b, N, M, N, K, scratch);
  k->product_transposed(second, N, a, M, b, N, M, N, K, scratch);
  assert_memory_equal(first, second, M * N * sizeof *first);
  cq_arena_free(&arena);
}

/* NaN and infinity in an input reach every output they belong to. */
static void what_is_no_number_is_not_hidden(void **state) {
  (void)state;
  enum { K = 40, N = 70, M = 7 };
  const cq_kernels *levels[8];
  size_t n_levels = cq_kernels_all(levels, COUNT(levels));
  for (size_t l = 0; l < n_levels; l++) {
    const cq_kernels *k = levels[l];
    float *a = random_buffer(M * K, 0, -1, 1), *b = random_buffer(K * N, 0, -1, 1), *c = buffer(M * N, 0);
    a[2 * K + 5] = NAN;
    for (size_t act = 0; act < COUNT(activations); act++) {
      k->product(c, N, a, K, packed_b(k, b, N, 1, K, N), M, N, K, &(cq_epilogue){.activation = activations[act]});
      for (int i = 0; i < M * N; i++) assert_int_equal(isnan(c[i]) != 0, i / N == 2);
    }
    float *y = random_buffer(2 * K, 0, -1, 1), *gamma = random_buffer(K, 0, 1, 2);
    y[3] = NAN;
    k->layer_norm(y, NULL, NULL, y, NULL, gamma, gamma, 1e-5f, 2, K);
    for (int i = 0; i < 2 * K; i++) assert_int_equal(isnan(y[i]) != 0, i < K);
    y[3] = INFINITY;
    for (int i = 0; i < K; i++) y[i] = i == 3 ? NAN : 1.0f;
    k->normalize(y, NULL, y, 2, K);
    for (int i = 0; i < 2 * K; i++) assert_int_equal(isnan(y[i]) != 0, i < K);
    enum { T = 21, D = 8 };
    float *qkv = random_buffer(3 * T * D, 0, -1, 1), *out = buffer(T * D, 0);
    qkv[4 * 3 * D] = NAN; /* token 4's query: its row, and no other */
    cq_attention_shape s = {.n_tokens = T, .n_heads = 1, .head_dim = D, .stride = 3 * D, .out_stride = D, .scale = 1};
    k->attention(out, NULL, qkv, qkv + D, qkv + 2 * D, &s, buffer(k->attention_scratch(T, D), 0));
    for (int i = 0; i < T * D; i++) assert_int_equal(isnan(out[i]) != 0, i / D == 4);
    cq_arena_free(&arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_level_agrees_with_the_reference), cmocka_unit_test(every_broken_kernel_is_noticed),
      cmocka_unit_test(a_row_depends_on_nothing_beside_it),    cmocka_unit_test(calls_repeat_exactly),
      cmocka_unit_test(what_is_no_number_is_not_hidden),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
