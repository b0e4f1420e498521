/* Products in bf16 and 8 bits against plain loops in the same numbers: shapes that leave rests, every epilogue, guards;
 * rows that do not depend on their neighbors; what is no number. */
#include "tensor/harness.h"

#include "tensor/products.h"

enum { MAX_PRODUCTS = 16 };

static const cq_products *all[MAX_PRODUCTS];
static size_t n_all;

#ifdef EMULATED_AMX
extern const cq_products cq_products_int8_amx_emulated, cq_products_bf16_amx_emulated;
#endif

static const cq_products *reference_of(cq_precision precision) {
  return cq_products_of(cq_kernels_named("reference"), precision);
}

static void *bytes(size_t n) {
  void *p = cq_arena_alloc(&arena, n ? n : 1);
  assert_non_null(p);
  return p;
}

/* A left side of 64-byte alignment with one byte after it that stays as it is. */
typedef struct aligned {
  unsigned char *bytes;
  size_t n;
} aligned;
static aligned make_side(size_t n) {
  aligned s = {bytes(n + 65), n};
  s.bytes += -(uintptr_t)s.bytes & 63;
  s.bytes[n] = 0x5a;
  return s;
}

static aligned packed_b(const cq_products *p, const float *b, int64_t k_stride, int64_t n_stride, int64_t k,
                        int64_t n) {
  const aligned s = make_side(p->packed_bytes(k, n));
  p->pack(s.bytes, b, k_stride, n_stride, k, n);
  assert_int_equal(s.bytes[s.n], 0x5a);
  return s;
}

static aligned left_a(const cq_products *p, const float *a, int64_t a_stride, int64_t m, int64_t k) {
  const aligned s = make_side(p->left_bytes(m, k));
  p->convert(s.bytes, a, a_stride, m, k);
  assert_int_equal(s.bytes[s.n], 0x5a);
  return s;
}

static void multiply(const cq_products *p, float *c, int64_t c_stride, const float *a, int64_t a_stride, const float *b,
                     bool rows_of_b, int64_t m, int64_t n, int64_t k, const cq_epilogue *e) {
  const aligned right = packed_b(p, b, rows_of_b ? n : 1, rows_of_b ? 1 : k, k, n), left = left_a(p, a, a_stride, m, k);
  p->product(c, c_stride, left.bytes, a_stride, right.bytes, m, n, k, e);
}

/* Of [m, n] between rows of `stride`; bound is of the largest sum of absolute products. */
static void compare(const cq_products *p, const float *c, const float *expected, int64_t stride, int64_t m, int64_t n,
                    double bound) {
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < stride && (j < n || i < m - 1); j++) {
      const double x = (double)c[i * stride + j], y = (double)expected[i * stride + j];
      if (!(fabs(x - y) <= (j < n ? bound : 0)))
        fail_msg("%s, precision %d: [%d, %d] of [%d, %d] is %.9g, not %.9g", p->name, (int)p->precision, (int)i, (int)j,
                 (int)m, (int)n, x, y);
    }
}

static void products_agree_with_plain_loops(void **state) {
  static const int64_t shapes[][3] = {{1, 1, 1},     {1, 64, 384},  {5, 17, 3},     {6, 64, 64},
                                      {7, 63, 65},   {13, 130, 33}, {3, 8, 31},     {12, 129, 96},
                                      {6, 80, 1536}, {2, 33, 2},    {70, 130, 100}, {33, 96, 128}};
  (void)state;
  for (size_t a = 0; a < n_all; a++) {
    const cq_products *p = all[a], *reference = reference_of(p->precision);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
      const int64_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2], stride = n + 3, a_stride = k + 5;
      const float *x = random_buffer(m * a_stride, 1, -2, 6), *b = random_buffer(k * n, 3, -1, 1),
                  *bias = random_buffer(n, 0, -3, 3), *before = random_buffer(m * stride, 0, -5, 5);
      const double bound = 6e-6 * sqrt((double)k) * 6 + 1e-5;
      for (int kind = 0; kind < 5; kind++) {
        float *c[2], *kept[2];
        for (int side = 0; side < 2; side++) {
          c[side] = copy_of(before, m * stride, 2), kept[side] = copy_of(before, m * stride, 2);
          cq_epilogue e = {.accumulate = kind == 1, .bias = kind > 1 ? bias : NULL};
          if (kind == 3) e.activation = CQ_GELU;
          if (kind == 4) e.activation = CQ_TANH, e.before = kept[side];
          multiply(side ? reference : p, c[side], stride, x, a_stride, b, s % 2 == 0, m, n, k, kind ? &e : NULL);
        }
        compare(p, c[0], c[1], stride, m, n, bound);
        compare(p, kept[0], kept[1], stride, m, n, bound);
        assert_true(intact(p->name, c[0], m * stride) && intact(p->name, kept[0], m * stride));
      }
    }
    cq_arena_free(&arena);
  }
}

static void transposed_ones_agree_too(void **state) {
  static const int64_t shapes[][3] = {{1, 1, 1}, {1, 64, 7}, {5, 17, 33}, {70, 130, 100}, {384, 40, 65}, {33, 16, 0}};
  (void)state;
  for (size_t a = 0; a < n_all; a++) {
    const cq_products *p = all[a], *reference = reference_of(p->precision);
    assert_true((p->precision == CQ_PRECISION_BF16) == (p->product_transposed != NULL));
    for (size_t s = 0; p->product_transposed && s < sizeof shapes / sizeof *shapes; s++) {
      const int64_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2], a_stride = m + 2, b_stride = n + 5;
      const float *x = random_buffer(k * a_stride, 1, -2, 6), *y = random_buffer(k * b_stride, 3, -1, 1);
      float *c = random_buffer(m * (n + 3), 0, -5, 5), *expected = copy_of(c, m * (n + 3), 2);
      const aligned scratch = make_side(p->transposed_bytes(m, n, k));
      p->product_transposed(c, n + 3, x, a_stride, y, b_stride, m, n, k, scratch.bytes);
      reference->product_transposed(expected, n + 3, x, a_stride, y, b_stride, m, n, k, NULL);
      assert_int_equal(scratch.bytes[scratch.n], 0x5a);
      compare(p, c, expected, n + 3, m, n, 6e-6 * sqrt((double)k) * 6 + 1e-5);
      assert_true(intact(p->name, c, m * (n + 3)));
    }
    cq_arena_free(&arena);
  }
}

/* bf16 rounds to 8 bits, 8 bits to a 255th of a row's range: what that leaves of a product of random numbers. */
static void products_are_near_exact_ones(void **state) {
  enum { M = 24, N = 96, K = 768 };
  (void)state;
  float *x = random_buffer(M * K, 0, -1, 1), *b = random_buffer(K * N, 0, -1, 1), *exact = buffer(M * N, 0);
  for (int i = 0; i < M; i++) x[i * K + i] = 4; /* an outlier each */
  const cq_kernels *f32 = cq_kernels_named("reference");
  float *packed = buffer(K * N, 0);
  f32->pack(packed, b, N, 1, K, N);
  f32->product(exact, N, x, K, packed, M, N, K, NULL);
  for (size_t a = 0; a < n_all; a++) {
    float *c = buffer(M * N, 0);
    double error = 0, all_squares = 0;
    multiply(all[a], c, N, x, K, b, true, M, N, K, NULL);
    for (int i = 0; i < M * N; i++) {
      error += ((double)c[i] - (double)exact[i]) * ((double)c[i] - (double)exact[i]);
      all_squares += (double)exact[i] * (double)exact[i];
    }
    const double relative = sqrt(error / all_squares);
    print_message("%s, precision %d: relative error %.5f\n", all[a]->name, (int)all[a]->precision, relative);
    assert_true(relative < (all[a]->precision == CQ_PRECISION_BF16 ? 0.003 : 0.015));
  }
  cq_arena_free(&arena);
}

static void a_row_does_not_depend_on_its_neighbors(void **state) {
  enum { M = 37, N = 70, K = 50 };
  (void)state;
  const float *x = random_buffer(M * K, 0, -1, 3), *b = random_buffer(K * N, 0, -1, 1),
              *bias = random_buffer(N, 0, -1, 1);
  const cq_epilogue e = {.bias = bias, .activation = CQ_GELU};
  for (size_t a = 0; a < n_all; a++) {
    float *alone = buffer(M * N, 0), *together = buffer(M * N, 0);
    for (int64_t i = 0; i < M; i++) multiply(all[a], alone + i * N, N, x + i * K, K, b, true, 1, N, K, &e);
    for (int64_t m = 2; m <= M; m++) {
      multiply(all[a], together, N, x, K, b, true, m, N, K, &e);
      assert_memory_equal(together, alone, (size_t)(m * N) * sizeof(float));
    }
  }
  cq_arena_free(&arena);
}

/* Sums of 8 bits are whole numbers: every level computes the same ones, and the same bits from them. */
static void all_levels_of_8_bits_are_one(void **state) {
  enum { M = 11, N = 75, K = 3072 };
  (void)state;
  const float *x = random_buffer(M * K, 0, -0.2f, 7), *b = random_buffer(K * N, 0, -1, 1);
  float *first = NULL;
  for (size_t a = 0; a < n_all; a++) {
    if (all[a]->precision != CQ_PRECISION_INT8 || strcmp(all[a]->name, "reference") == 0) continue;
    float *c = buffer(M * N, 0);
    multiply(all[a], c, N, x, K, b, false, M, N, K, NULL);
    if (first) assert_memory_equal(c, first, M * N * sizeof(float));
    first = c;
  }
  cq_arena_free(&arena);
}

/* The largest sums that 8 bits can make stay whole numbers: 65,536 times 255 times 127 is below 2^31. */
static void the_largest_sums_fit(void **state) {
  enum { K = CQ_INT8_MAX_K, N = 2 };
  (void)state;
  float *x = buffer(K, 0), *b = buffer(K * N, 0);
  for (int i = 0; i < K; i++) x[i] = 1, b[i] = 1, b[K + i] = -1;
  for (size_t a = 0; a < n_all; a++) {
    float c[N];
    multiply(all[a], c, N, x, K, b, false, 1, N, K, NULL);
    assert_float_equal(c[0], K, 0.01);
    assert_float_equal(c[1], -K, 0.01);
  }
  cq_arena_free(&arena);
}

static void what_is_no_number_stays_none(void **state) {
  enum { M = 3, N = 20, K = 40 };
  static const float bad[] = {NAN, INFINITY, -INFINITY};
  (void)state;
  for (size_t a = 0; a < n_all; a++)
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
      float *x = random_buffer(M * K, 0, -1, 1), *b = random_buffer(K * N, 0, 0.5, 1), *c = buffer(M * N, 0);
      x[K + 37] = bad[i];
      multiply(all[a], c, N, x, K, b, true, M, N, K, NULL);
      for (int j = 0; j < N; j++) {
        assert_true(isfinite(c[j]) && isfinite(c[2 * N + j]));
        assert_false(isfinite(c[N + j]));
      }
      x[K + 37] = 0.5f, b[7 * N + 19] = bad[i]; /* a weight */
      multiply(all[a], c, N, x, K, b, true, M, N, K, NULL);
      for (int row = 0; row < M; row++) assert_true(isfinite(c[row * N + 18]) && !isfinite(c[row * N + 19]));
      memset(x, 0, M * K * sizeof *x); /* rows of zeros, and of numbers too small to be scaled */
      b[7 * N + 19] = 1, x[K] = 1e-38f;
      multiply(all[a], c, N, x, K, b, true, M, N, K, NULL);
      for (int j = 0; j < M * N; j++) assert_true(fabsf(c[j]) <= 1e-37f);
    }
  cq_arena_free(&arena);
}

/* Attention with products in bf16: near the plain loops in f32, wherever the sequence lies, with a bias and without. */
static void attention_is_near_that_in_f32(void **state) {
  static const int64_t lengths[] = {1, 2, 5, 6, 7, 16, 17, 31, 33, 64, 65, 130, 257},
                       dims[] = {1, 8, 24, 32, 33, 64, 80};
  enum { HEADS = 2 };
  (void)state;
  for (size_t a = 0; a < n_all; a++) {
    const cq_products *p = all[a];
    if (!p->attention) continue;
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
      for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
        const int64_t n = lengths[l], dim = dims[d], stride = 3 * HEADS * dim, out_stride = HEADS * dim;
        const bool biased = (l + d) % 2;
        const float *qkv = random_buffer(n * stride, 1, -1.5, 1.5), *bias = random_buffer(HEADS * n * n, 0, -1, 1);
        const cq_attention_shape s = {.n_tokens = n,
                                      .n_heads = HEADS,
                                      .head_dim = dim,
                                      .stride = stride,
                                      .out_stride = out_stride,
                                      .scale = 1 / sqrtf((float)dim),
                                      .bias = biased ? bias : NULL};
        float *out[2];
        for (int plain = 0; plain < 2; plain++) {
          const cq_kernels *reference = cq_kernels_named("reference");
          const int64_t n_scratch = plain ? reference->attention_scratch(n, dim) : p->attention_scratch(n, dim);
          float *scratch = buffer(n_scratch, 0);
          out[plain] = buffer(n * out_stride, 3);
          if (plain)
            reference->attention(out[1], NULL, qkv, qkv + HEADS * dim, qkv + 2 * HEADS * dim, &s, scratch);
          else
            p->attention(out[0], qkv, qkv + HEADS * dim, qkv + 2 * HEADS * dim, &s, scratch);
          assert_true(intact("scratch", scratch, n_scratch) && intact("out", out[plain], n * out_stride));
        }
        for (int64_t i = 0; i < n * out_stride; i++)
          if (!(fabsf(out[0][i] - out[1][i]) < 0.02f))
            fail_msg("%d tokens, heads of %d: element %d is %g, not %g", (int)n, (int)dim, (int)i, (double)out[0][i],
                     (double)out[1][i]);
        cq_arena_free(&arena);
      }
  }
}

/* What a level lacks is taken from the next wider precision. */
static void precisions_fall_back(void **state) {
  (void)state;
  const cq_kernels *levels[8];
  const size_t n = cq_kernels_all(levels, 8);
  for (size_t l = 0; l < n; l++) {
    assert_int_equal(cq_products_of(levels[l], CQ_PRECISION_F32)->precision, CQ_PRECISION_F32);
    for (cq_precision p = CQ_PRECISION_BF16; p <= CQ_PRECISION_INT8; p++)
      assert_true(cq_products_of(levels[l], p)->precision <= p);
    if (strcmp(levels[l]->name, "portable") == 0)
      assert_ptr_equal(cq_products_of(levels[l], CQ_PRECISION_INT8), levels[l]->products);
  }
}

static int find_products(void **state) {
  (void)state;
  n_all = cq_products_all(all, MAX_PRODUCTS - 2);
  if (n_all < 2) return 1;
#ifdef EMULATED_AMX /* what surrounds AMX's instructions needs AVX-512's */
  for (size_t a = 0, n = n_all; a < n; a++) {
    if (strcmp(all[a]->name, "avx512") == 0) all[n_all++] = &cq_products_int8_amx_emulated;
    if (strcmp(all[a]->name, "avx512bf16") == 0) all[n_all++] = &cq_products_bf16_amx_emulated;
  }
#endif
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_agree_with_plain_loops),
      cmocka_unit_test(transposed_ones_agree_too),
      cmocka_unit_test(products_are_near_exact_ones),
      cmocka_unit_test(a_row_does_not_depend_on_its_neighbors),
      cmocka_unit_test(all_levels_of_8_bits_are_one),
      cmocka_unit_test(the_largest_sums_fit),
      cmocka_unit_test(what_is_no_number_stays_none),
      cmocka_unit_test(attention_is_near_that_in_f32),
      cmocka_unit_test(precisions_fall_back),
  };
  return cmocka_run_group_tests(tests, find_products, NULL);
}
