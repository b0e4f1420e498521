/* One check a kernel: the level under test against the reference, on odd sizes, strides and places. A check returns
 * false at the first difference, so that test_kernels.c can also prove that it notices a broken kernel.
 *
 * Tolerances: a sum of n products of numbers up to 1 differs between two orders of adding by about n * 6e-8 at worst
 * (sum_tolerance); the activations' polynomials are good to 6e-7 of absolute error and 1e-6 is asked. */
#ifndef TESTS_TENSOR_CHECKS_H
#define TESTS_TENSOR_CHECKS_H

#include "harness.h"

static inline double sum_tolerance(int64_t n) {
  return 1e-7 * (double)(n + 16);
}

static inline const cq_kernels *reference(void) {
  return cq_kernels_named("reference");
}

static const cq_activation activations[] = {CQ_IDENTITY, CQ_GELU, CQ_GELU_TANH, CQ_RELU, CQ_TANH, CQ_SIGMOID, CQ_SILU};
static const int64_t lengths[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 257};

static inline float *packed_b(const cq_kernels *k, const float *b, int64_t k_stride, int64_t n_stride, int64_t depth,
                              int64_t n) {
  int64_t size = k->packed_floats(depth, n);
  float *packed = buffer(size, 0);
  k->pack(packed, b, k_stride, n_stride, depth, n);
  return intact("pack", packed, size) ? packed : NULL;
}

static inline bool product_case(const cq_kernels *k, int64_t m, int64_t n, int64_t depth, bool turned, int64_t gap,
                                const cq_epilogue *epilogue) {
  const int64_t a_stride = depth + gap, c_stride = n + gap, b_stride = (turned ? depth : n) + gap;
  const int64_t c_size = m * c_stride;
  float *a = random_buffer(m * a_stride, gap, -1, 1);
  float *b = random_buffer((turned ? n : depth) * b_stride, gap, -1, 1);
  float *c = random_buffer(c_size, gap, -1, 1), *before = random_buffer(c_size, gap, -1, 1);
  float *outputs[2], *befores[2];
  const cq_kernels *levels[2] = {k, reference()};
  for (int l = 0; l < 2; l++) {
    float *packed = packed_b(levels[l], b, turned ? 1 : b_stride, turned ? b_stride : 1, depth, n);
    if (!packed) return false;
    outputs[l] = copy_of(c, c_size, gap);
    befores[l] = copy_of(before, c_size, gap);
    cq_epilogue e = epilogue ? *epilogue : (cq_epilogue){0};
    if (e.before) e.before = befores[l];
    levels[l]->product(outputs[l], c_stride, a, a_stride, packed, m, n, depth, epilogue ? &e : NULL);
  }
  double tolerance = 2e-6 + sum_tolerance(depth); /* the activations' own error is below 1e-6, their slopes below 1.2 */
  return near("product", outputs[0], outputs[1], c_size, tolerance, 1e-6) &&
         near("product's values before the activation", befores[0], befores[1], c_size, tolerance, 1e-6);
}

static inline bool check_product(const cq_kernels *k) {
  const int64_t ms[] = {0, 1, 2, 5, 6, 7, 13, 20, 33}, ns[] = {0, 1, 3, 15, 16, 17, 63, 64, 65, 130};
  const int64_t ks[] = {0, 1, 3, 16, 31, 100};
  float kept;
  for (size_t i = 0; i < COUNT(ms); i++) {
    for (size_t j = 0; j < COUNT(ns); j++) {
      for (size_t p = 0; p < COUNT(ks); p++) {
        int64_t m = ms[i], n = ns[j], depth = ks[p], gap = (int64_t)(i + j + p) % 3;
        float *bias = random_buffer(n, 1, -1, 1);
        cq_activation activation = activations[(i + j + p) % COUNT(activations)];
        if (!product_case(k, m, n, depth, false, gap, NULL) ||
            !product_case(k, m, n, depth, true, gap, &(cq_epilogue){.bias = bias}) ||
            !product_case(k, m, n, depth, true, gap, &(cq_epilogue){.accumulate = true}) ||
            !product_case(k, m, n, depth, false, gap,
                          &(cq_epilogue){.bias = (i & 1) ? bias : NULL,
                                         .activation = activation,
                                         .before = (j & 1) ? &kept : NULL}))
          return false;
        cq_arena_free(&arena);
      }
    }
  }
  return product_case(k, 19, 200, 3072, true, 1, NULL);
}

static inline bool check_product_transposed(const cq_kernels *k) {
  const int64_t ms[] = {0, 1, 5, 7, 40}, ns[] = {0, 1, 17, 64, 70}, ks[] = {0, 1, 3, 100, 1300};
  for (size_t i = 0; i < COUNT(ms); i++) {
    for (size_t j = 0; j < COUNT(ns); j++) {
      for (size_t p = 0; p < COUNT(ks); p++) {
        const int64_t m = ms[i], n = ns[j], depth = ks[p], gap = (int64_t)(i + j + p) % 3;
        float *a = random_buffer(depth * (m + gap), gap, -1, 1), *b = random_buffer(depth * (n + gap), gap, -1, 1);
        float *c = random_buffer(m * (n + gap), gap, -1, 1), *want = copy_of(c, m * (n + gap), gap);
        int64_t size = k->packed_floats(depth, n);
        float *scratch = buffer(size, 0);
        k->product_transposed(c, n + gap, a, m + gap, b, n + gap, m, n, depth, scratch);
        reference()->product_transposed(want, n + gap, a, m + gap, b, n + gap, m, n, depth, NULL);
        if (!near("product_transposed", c, want, m * (n + gap), sum_tolerance(depth), 1e-6) ||
            !intact("product_transposed's scratch", scratch, size))
          return false;
        cq_arena_free(&arena);
      }
    }
  }
  return true;
}

static inline bool check_add_columns(const cq_kernels *k) {
  for (size_t j = 0; j < COUNT(lengths); j++) {
    for (int64_t m = 0; m < 40; m += 13) {
      int64_t n = lengths[j], stride = n + (int64_t)(j % 2);
      float *a = random_buffer(m * stride, 1, -1, 1), *sum = random_buffer(n, 3, -1, 1), *want = copy_of(sum, n, 0);
      k->add_columns(sum, a, stride, m, n);
      reference()->add_columns(want, a, stride, m, n);
      if (!near("add_columns", sum, want, n, sum_tolerance(m), 0)) return false;
    }
  }
  cq_arena_free(&arena);
  return true;
}

/* The whole range, its edges, and what is no number. */
static inline float *activation_inputs(int64_t *n) {
  static const float edges[] = {0.0f,   -0.0f, 1e-30f, -1e-30f, 1e-4f,   -1e-4f, 5.39f,  5.41f,
                                -5.41f, 5.61f, -5.61f, 9.1f,    -9.1f,   20.0f,  -20.0f, 88.0f,
                                -88.0f, 89.5f, -89.5f, 120.0f,  -120.0f, 1e10f,  -1e10f};
  *n = 4000 + (int64_t)COUNT(edges);
  float *x = random_buffer(*n, 1, -12, 12);
  memcpy(x + 7, edges, sizeof edges);
  return x;
}

/* Scores and bounds from a few values, so that equality is common; NaN among both. */
static inline bool check_at_least(const cq_kernels *k) {
  static const float values[] = {-2, -1, -0.5f, 0, 0.5f, 1, 2, INFINITY, -INFINITY, NAN};
  for (size_t i = 0; i < COUNT(lengths); i++) {
    const int64_t n = lengths[i], m = lengths[COUNT(lengths) - 1 - i] % 40, stride = n + (int64_t)(i % 3);
    float *scores = buffer(m * stride, 1), *rows = buffer(m, 2), *columns = buffer(n, 3);
    for (int64_t j = 0; j < m * stride; j++) scores[j] = values[cq_random_below(&rng, COUNT(values))];
    for (int64_t j = 0; j < m; j++) rows[j] = values[3 + cq_random_below(&rng, COUNT(values) - 3)];
    for (int64_t j = 0; j < n; j++) columns[j] = values[3 + cq_random_below(&rng, COUNT(values) - 3)];
    uint32_t *got = (uint32_t *)(void *)buffer(m * n, 0), *want = (uint32_t *)(void *)buffer(m * n, 0);
    int64_t n_got = k->at_least(got, scores, stride, rows, columns, m, n);
    int64_t n_want = reference()->at_least(want, scores, stride, rows, columns, m, n);
    if (n_got != n_want || (n_got > 0 && memcmp(got, want, (size_t)n_got * sizeof *got) != 0)) {
      if (verbose) print_error("at_least: %lld hits, expected %lld\n", (long long)n_got, (long long)n_want);
      return false;
    }
    if (!intact("at_least's hits", (float *)(void *)got, m * n)) return false;
    cq_arena_free(&arena);
  }
  return true;
}

static inline bool check_dot(const cq_kernels *k) {
  for (size_t i = 0; i < COUNT(lengths); i++) {
    const int64_t n = lengths[i];
    float *x = random_buffer(n, 1, -1, 1), *y = random_buffer(n, 3, -1, 1);
    float *got = buffer(1, 0), *want = buffer(1, 0);
    *got = k->dot(x, y, n), *want = reference()->dot(x, y, n);
    if (!near("dot", got, want, 1, sum_tolerance(n), 0)) return false;
    cq_arena_free(&arena);
  }
  return true;
}

/* The same bits, where the order of adding tells: numbers of one order of magnitude would add up exactly. */
static inline bool check_exact_dot(const cq_kernels *k) {
  for (size_t i = 0; i < COUNT(lengths); i++) {
    const int64_t n = lengths[i];
    float *x = random_buffer(n, 1, -3, 3), *y = random_buffer(n, 3, -1, 1);
    for (int64_t j = 0; j < n; j += 3) x[j] *= 1e-5f;
    const double got = k->exact_dot(x, y, n), want = reference()->exact_dot(x, y, n);
    if (memcmp(&got, &want, sizeof got) != 0) {
      if (verbose) print_error("exact_dot of %lld: %.17g, expected %.17g\n", (long long)n, got, want);
      return false;
    }
    cq_arena_free(&arena);
  }
  return true;
}

static inline bool check_activate(const cq_kernels *k) {
  int64_t n;
  float *x = activation_inputs(&n), *got = buffer(n, 3), *want = buffer(n, 0);
  for (size_t a = 0; a < COUNT(activations); a++) {
    k->activate(got, x, n, activations[a]);
    reference()->activate(want, x, n, activations[a]);
    if (!near("activate", got, want, n, 1e-6, 1e-6)) return false;
    for (size_t j = 0; j < COUNT(lengths); j++) { /* in place, and no further than n */
      float *y = copy_of(x, lengths[j], 5);
      k->activate(y, y, lengths[j], activations[a]);
      if (!near("activate in place", y, copy_of(want, lengths[j], 0), lengths[j], 1e-6, 1e-6)) return false;
    }
    float *nan = random_buffer(20, 0, -1, 1);
    nan[3] = NAN;
    k->activate(nan, nan, 20, activations[a]);
    for (int i = 0; i < 20; i++)
      if ((i == 3) != (bool)isnan(nan[i])) return false;
  }
  cq_arena_free(&arena);
  return true;
}

static inline bool check_activate_backward(const cq_kernels *k) {
  int64_t n;
  float *x = activation_inputs(&n), *dy = random_buffer(n, 2, -1, 1), *got = buffer(n, 3), *want = buffer(n, 0);
  for (size_t a = 0; a < COUNT(activations); a++) {
    k->activate_backward(got, dy, x, n, activations[a]);
    reference()->activate_backward(want, dy, x, n, activations[a]);
    /* x s (1 - s) of SiLU and the inner slope of GELU_TANH multiply a rounding of s or tanh by up to 12 */
    if (!near("activate_backward", got, want, n, 5e-6, 1e-6)) return false;
    for (size_t j = 0; j < COUNT(lengths); j++) {
      float *dx = copy_of(dy, lengths[j], 5);
      k->activate_backward(dx, dx, x, lengths[j], activations[a]);
      if (!near("activate_backward in place", dx, copy_of(want, lengths[j], 0), lengths[j], 5e-6, 1e-6)) return false;
    }
  }
  cq_arena_free(&arena);
  return true;
}

static inline bool check_elementwise(const cq_kernels *k) {
  for (size_t j = 0; j < COUNT(lengths); j++) {
    int64_t n = lengths[j], offset = (int64_t)(j % 5);
    float *x = random_buffer(n, offset, -1, 1), *y = random_buffer(n, 1, -1, 1), *want = copy_of(y, n, 0);
    k->add(y, x, n);
    reference()->add(want, x, n);
    if (!near("add", y, want, n, 0, 0)) return false;
    k->scale(y, x, -1.7f, n);
    reference()->scale(want, x, -1.7f, n);
    if (!near("scale", y, want, n, 0, 0)) return false;
    for (int r = 0; r <= 4; r++) {
      cq_dropout d = {.rate = 0.25f * (float)r, .key = 0x123456789abcdefu + j};
      float *kept = copy_of(x, n, offset), *kept_want = copy_of(x, n, 0);
      k->dropout(kept, n, d);
      reference()->dropout(kept_want, n, d);
      if (!near("dropout", kept, kept_want, n, 0, 0)) return false;
    }
  }
  cq_arena_free(&arena);
  return true;
}

static inline bool check_gather(const cq_kernels *k) {
  static const int32_t ids[] = {3, 0, 6, 3, 3, 1};
  for (size_t j = 0; j < COUNT(lengths); j++) {
    int64_t dim = lengths[j], n = (int64_t)COUNT(ids);
    float *table = random_buffer(7 * dim, 1, -1, 1), *y = random_buffer(n * dim, 2, -1, 1),
          *want = copy_of(y, n * dim, 0);
    for (int accumulate = 1; accumulate >= 0; accumulate--) {
      k->gather(y, table, ids, n, dim, accumulate);
      reference()->gather(want, table, ids, n, dim, accumulate);
      if (!near("gather", y, want, n * dim, 0, 0)) return false;
    }
    float *sum = copy_of(table, 7 * dim, 3), *sum_want = copy_of(table, 7 * dim, 0);
    k->scatter_add(sum, y, ids, n, dim);
    reference()->scatter_add(sum_want, y, ids, n, dim);
    if (!near("scatter_add", sum, sum_want, 7 * dim, 0, 0)) return false;
  }
  cq_arena_free(&arena);
  return true;
}

static inline bool check_gather_narrow(const cq_kernels *k) {
  static const cq_dtype dtypes[] = {CQ_BF16, CQ_F16, CQ_I8, CQ_I4};
  static const int32_t ids[] = {3, 0, 6, 3, 3, 1};
  static const float scales[7] = {1, 0.25f, 3e-4f, 0.1f, 7, 1e-20f, 0.3f};
  uint16_t elements[7 * 257 + 1];
  for (size_t i = 0; i < COUNT(elements); i++) elements[i] = (uint16_t)(i * 40503u); /* subnormals, infinities, NaN */
  for (size_t d = 0; d < COUNT(dtypes); d++) {
    for (size_t j = 0; j < COUNT(lengths); j++) {
      const int64_t dim = lengths[j], n = (int64_t)COUNT(ids);
      if (dtypes[d] == CQ_I4 && dim % 2) continue;
      const cq_narrow_rows table = {(const char *)elements + j % 2, dtypes[d], scales};
      float *y = random_buffer(n * dim, 2, -1, 1), *want = copy_of(y, n * dim, 0);
      for (int way = 0; way < 2; way++) {
        k->gather_narrow(y, &table, way ? ids : NULL, n, dim);
        reference()->gather_narrow(want, &table, way ? ids : NULL, n, dim);
        for (int64_t i = 0; i < n * dim; i++) {
          if (isnan(y[i]) && isnan(want[i])) y[i] = want[i] = 0;
        }
        if (!near("gather_narrow", y, want, n * dim, 0, 0)) return false;
      }
    }
  }
  cq_arena_free(&arena);
  return true;
}

static const cq_pooling_mode pooling_modes[CQ_N_POOLING_MODES] = {
    CQ_POOL_CLS, CQ_POOL_MAX, CQ_POOL_MEAN, CQ_POOL_MEAN_SQRT, CQ_POOL_WEIGHTED_MEAN, CQ_POOL_LAST};

static inline bool check_pool(const cq_kernels *k) {
  for (size_t j = 0; j < COUNT(lengths); j++) {
    for (int64_t n = 1; n < 40; n += 1 + n / 3) {
      for (size_t mode = 0; mode < COUNT(pooling_modes); mode++) {
        int64_t dim = lengths[j];
        float *x = random_buffer(n * dim, 1, -1, 1), *y = buffer(dim, 3), *want = buffer(dim, 0);
        for (int64_t i = 0; i < n * dim; i += 5) x[i] = 0.75f; /* equals: the first counts */
        if (n * dim > 10 && mode == 1) x[n * dim - 3] = NAN;
        int32_t places[257] = {0}, places_want[257] = {0};
        k->pool(y, places, x, n, dim, pooling_modes[mode]);
        reference()->pool(want, places_want, x, n, dim, pooling_modes[mode]);
        if (!near("pool", y, want, dim, 1e-6, 1e-6) || memcmp(places, places_want, sizeof places) != 0) return false;
        k->pool(y, NULL, x, n, dim, pooling_modes[mode]);
        if (!near("pool", y, want, dim, 1e-6, 1e-6)) return false;
        float *dy = random_buffer(dim, 1, -1, 1), *dx = random_buffer(n * dim, 1, -1, 1),
              *dx_want = copy_of(dx, n * dim, 0);
        k->pool_backward(dx, dy, places, n, dim, pooling_modes[mode]);
        reference()->pool_backward(dx_want, dy, places, n, dim, pooling_modes[mode]);
        if (!near("pool_backward", dx, dx_want, n * dim, 1e-6, 1e-6)) return false;
      }
    }
    cq_arena_free(&arena);
  }
  return true;
}

static inline bool check_layer_norm(const cq_kernels *k) {
  for (size_t j = 1; j < COUNT(lengths); j++) {
    for (int keeps = 0; keeps < 2; keeps++) {
      int64_t dim = lengths[j], rows = 3, size = rows * dim;
      float *x = random_buffer(size, 1, -2, 3), *residual = (j & 1) ? random_buffer(size, 2, -1, 1) : NULL;
      float *gamma = random_buffer(dim, 1, 0.5f, 2), *beta = random_buffer(dim, 3, -1, 1);
      float *y = buffer(size, 1), *want = buffer(size, 0), *xhat = buffer(size, 1), *xhat_want = buffer(size, 0);
      float *rstd = buffer(rows, 0), *rstd_want = buffer(rows, 0);
      k->layer_norm(y, keeps ? xhat : NULL, keeps ? rstd : NULL, x, residual, gamma, beta, 1e-5f, rows, dim);
      reference()->layer_norm(want, xhat_want, rstd_want, x, residual, gamma, beta, 1e-5f, rows, dim);
      /* two near-equal elements give a variance near eps, and rstd up to 300 multiplies the mean's rounding of 1e-7 */
      double tolerance = dim < 4 ? 2e-4 : 2e-6;
      if (!near("layer_norm", y, want, size, tolerance, 1e-6)) return false;
      if (!keeps) {
        float *in_place = residual && (j & 2) ? residual : x;
        k->layer_norm(in_place, NULL, NULL, x, residual, gamma, beta, 1e-5f, rows, dim);
        if (!near("layer_norm in place", in_place, want, size, tolerance, 1e-6)) return false;
        continue;
      }
      if (!near("layer_norm's xhat", xhat, xhat_want, size, tolerance, 1e-6) ||
          !near("layer_norm's rstd", rstd, rstd_want, rows, 0, dim < 4 ? 1e-4 : 2e-6))
        return false;
      float *dy = random_buffer(size, 1, -1, 1), *dx = buffer(size, 2), *dx_want = buffer(size, 0);
      float *dgamma = random_buffer(dim, 1, -1, 1), *dgamma_want = copy_of(dgamma, dim, 0);
      float *dbeta = random_buffer(dim, 1, -1, 1), *dbeta_want = copy_of(dbeta, dim, 0);
      reference()->layer_norm_backward(dx_want, dgamma_want, dbeta_want, dy, xhat_want, rstd_want, gamma, rows, dim);
      k->layer_norm_backward(dx, dgamma, dbeta, dy, xhat_want, rstd_want, gamma, rows, dim);
      if (!near("layer_norm_backward", dx, dx_want, size, 3e-7 * (double)rstd_want[0] + tolerance, 1e-5) ||
          !near("layer_norm_backward's dgamma", dgamma, dgamma_want, dim, 1e-6, 1e-6) ||
          !near("layer_norm_backward's dbeta", dbeta, dbeta_want, dim, 1e-6, 1e-6))
        return false;
      float *plain = buffer(size, 2), *plain_want = buffer(size, 0);
      k->layer_norm(plain, NULL, NULL, x, residual, gamma, NULL, 1e-5f, rows, dim);
      reference()->layer_norm(plain_want, NULL, NULL, x, residual, gamma, NULL, 1e-5f, rows, dim);
      if (!near("layer_norm without beta", plain, plain_want, size, tolerance, 1e-6)) return false;
      float *alone = buffer(size, 2);
      k->layer_norm_backward(alone, NULL, NULL, dy, xhat_want, rstd_want, gamma, rows, dim);
      if (memcmp(alone, dx, (size_t)size * sizeof *dx) != 0) {
        printf("layer_norm_backward without gamma and beta differs\n");
        return false;
      }
      k->layer_norm_backward(dy, dgamma, dbeta, dy, xhat_want, rstd_want, gamma, rows, dim);
      if (!near("layer_norm_backward in place", dy, dx_want, size, 3e-7 * (double)rstd_want[0] + tolerance, 1e-5))
        return false;
    }
  }
  cq_arena_free(&arena);
  return true;
}

static inline bool check_normalize(const cq_kernels *k) {
  for (size_t j = 1; j < COUNT(lengths); j++) {
    int64_t dim = lengths[j], rows = 3, size = rows * dim;
    float *x = random_buffer(size, 1, -2, 2), *y = buffer(size, 3), *want = buffer(size, 0);
    for (int64_t i = 0; i < dim; i++) x[dim + i] = 0; /* a row of no length */
    float *length = buffer(rows, 0), *length_want = buffer(rows, 0), *dy = random_buffer(size, 1, -1, 1);
    k->normalize(y, length, x, rows, dim);
    reference()->normalize(want, length_want, x, rows, dim);
    if (!near("normalize", y, want, size, 1e-6, 0) || !near("normalize's length", length, length_want, rows, 0, 1e-6))
      return false;
    k->normalize(x, NULL, x, rows, dim);
    if (!near("normalize in place", x, want, size, 1e-6, 0)) return false;
    float *dx = buffer(size, 1), *dx_want = buffer(size, 0);
    reference()->normalize_backward(dx_want, dy, want, length_want, rows, dim);
    k->normalize_backward(dx, dy, want, length_want, rows, dim);
    /* the difference dy - y (y . dy) may cancel; it is divided by a length that may be small when dim is */
    double tolerance = 1e-6 / (double)fminf(length_want[0], length_want[2]) + 1e-6;
    if (!near("normalize_backward", dx, dx_want, size, tolerance, 1e-6)) return false;
    k->normalize_backward(dy, dy, want, length_want, rows, dim);
    if (!near("normalize_backward in place", dy, dx_want, size, tolerance, 1e-6)) return false;
  }
  cq_arena_free(&arena);
  return true;
}

/* like: n_kv_heads, window, causal and slopes. */
static inline bool attention_like(const cq_kernels *k, int64_t n, int64_t heads, int64_t dim, int64_t gap, bool biased,
                                  float rate, const cq_attention_shape *like) {
  const int64_t width = heads * dim, kv = like->n_kv_heads > 0 ? like->n_kv_heads * dim : width,
                stride = 3 * width + gap, out_stride = width + gap, size = n * stride;
  float *qkv = random_buffer(size, gap, -2, 2), *dout = random_buffer(n * out_stride, gap, -1, 1);
  cq_attention_shape s = {.n_tokens = n,
                          .n_heads = heads,
                          .head_dim = dim,
                          .stride = stride,
                          .out_stride = out_stride,
                          .scale = 1.0f / sqrtf((float)dim + 1.0f),
                          .dropout = {rate, 99},
                          .n_kv_heads = like->n_kv_heads,
                          .window = like->window,
                          .causal = like->causal,
                          .slopes = like->slopes};
  if (biased) s.bias = random_buffer(heads * n * n, 1, -1, 1);
  float *initial = random_buffer(size, gap, -1, 1), *dbias = random_buffer(heads * n * n, 1, -1, 1);
  float *out[2], *sum[2], *gradient[2], *bias_gradient[2];
  const cq_kernels *levels[2] = {k, reference()};
  for (int l = 1; l >= 0; l--) {
    int64_t scratch_size = levels[l]->attention_scratch(n, dim);
    float *scratch = buffer(scratch_size, 0);
    out[l] = copy_of(initial, n * out_stride, 2);
    sum[l] = buffer(heads * n, 1);
    levels[l]->attention(out[l], sum[l], qkv, qkv + width, qkv + width + kv, &s, scratch);
    if (!intact("attention's scratch", scratch, scratch_size)) return false;
    gradient[l] = copy_of(initial, size, 3);
    bias_gradient[l] = copy_of(dbias, heads * n * n, 0);
    float *g = gradient[l];
    levels[l]->attention_backward(g, g + width, g + width + kv, biased ? bias_gradient[l] : NULL, dout, out[1], sum[1],
                                  qkv, qkv + width, qkv + width + kv, &s, scratch);
    if (!intact("attention_backward's scratch", scratch, scratch_size)) return false;
  }
  /* probabilities carry a relative 1e-6: exp's own error, and that of a score of size 4 */
  const double t = 4e-6 + sum_tolerance(dim);
  return near("attention", out[0], out[1], n * out_stride, t, 1e-6) &&
         near("attention's log_sum", sum[0], sum[1], heads * n, 4e-6, 1e-6) &&
         near("attention_backward", gradient[0], gradient[1], size, 8 * t, 1e-5) &&
         near("attention_backward's dbias", bias_gradient[0], bias_gradient[1], heads * n * n, 4 * t, 1e-5);
}

static inline bool attention_case(const cq_kernels *k, int64_t n, int64_t heads, int64_t dim, int64_t gap, bool biased,
                                  float rate) {
  return attention_like(k, n, heads, dim, gap, biased, rate, &(cq_attention_shape){0});
}

/* Windows, causal attention, ALiBi and shared keys and values, each alone and together. */
static inline bool check_masked_attention(const cq_kernels *k) {
  static const float slopes[] = {0.5f, 0.125f, 0.03f, 1.5f};
  static const cq_attention_shape kinds[] = {{.window = 1},
                                             {.window = 4},
                                             {.causal = true},
                                             {.slopes = slopes},
                                             {.n_kv_heads = 2},
                                             {.n_kv_heads = 1, .window = 7, .causal = true},
                                             {.n_kv_heads = 2, .window = 20, .slopes = slopes}};
  const int64_t ns[] = {0, 1, 2, 7, 16, 17, 49, 70}, dims[] = {1, 7, 16, 70};
  for (size_t kind = 0; kind < COUNT(kinds); kind++) {
    for (size_t i = 0; i < COUNT(ns); i++) {
      for (size_t d = 0; d < COUNT(dims); d++) {
        const bool good =
            attention_like(k, ns[i], 4, dims[d], (int64_t)(i + d) % 3, (i + d) % 2, d == 2 ? 0.2f : 0.0f, &kinds[kind]);
        cq_arena_free(&arena);
        if (!good) return false;
      }
    }
  }
  const bool long_run = attention_like(k, 400, 2, 16, 0, false, 0.1f, &(cq_attention_shape){.window = 65});
  cq_arena_free(&arena);
  return long_run;
}

static inline bool check_rms_norm(const cq_kernels *k) {
  for (size_t j = 1; j < COUNT(lengths); j++) {
    const int64_t dim = lengths[j], rows = 3, size = rows * dim;
    const float offset = j & 1 ? 1.0f : 0.0f;
    float *x = random_buffer(size, 1, -2, 3), *gamma = random_buffer(dim, 1, 0.5f, 2);
    float *y = buffer(size, 1), *want = buffer(size, 0), *xhat = buffer(size, 1), *xhat_want = buffer(size, 0);
    float *rstd = buffer(rows, 0), *rstd_want = buffer(rows, 0);
    k->rms_norm(y, xhat, rstd, x, gamma, offset, 1e-5f, rows, dim);
    reference()->rms_norm(want, xhat_want, rstd_want, x, gamma, offset, 1e-5f, rows, dim);
    if (!near("rms_norm", y, want, size, 2e-6, 1e-6) || !near("rms_norm's xhat", xhat, xhat_want, size, 2e-6, 1e-6) ||
        !near("rms_norm's rstd", rstd, rstd_want, rows, 0, 2e-6))
      return false;
    k->rms_norm(x, NULL, NULL, x, gamma, offset, 1e-5f, rows, dim);
    if (!near("rms_norm in place", x, want, size, 2e-6, 1e-6)) return false;
    float *dy = random_buffer(size, 1, -1, 1), *dx = buffer(size, 2), *dx_want = buffer(size, 0);
    float *dgamma = random_buffer(dim, 1, -1, 1), *dgamma_want = copy_of(dgamma, dim, 0);
    reference()->rms_norm_backward(dx_want, dgamma_want, dy, xhat_want, rstd_want, gamma, offset, rows, dim);
    k->rms_norm_backward(dx, dgamma, dy, xhat_want, rstd_want, gamma, offset, rows, dim);
    const double tolerance = 1e-6 + 1e-6 * (double)rstd_want[0] + 1e-6 * (double)rstd_want[2];
    if (!near("rms_norm_backward", dx, dx_want, size, tolerance, 1e-5) ||
        !near("rms_norm_backward's dgamma", dgamma, dgamma_want, dim, 1e-6, 1e-6))
      return false;
    k->rms_norm_backward(dy, NULL, dy, xhat_want, rstd_want, gamma, offset, rows, dim);
    if (!near("rms_norm_backward in place", dy, dx_want, size, tolerance, 1e-5)) return false;
  }
  cq_arena_free(&arena);
  return true;
}

/* Some columns of each head, and all; beside them nothing changes. */
static inline bool check_rotate(const cq_kernels *k) {
  const int64_t halves[] = {1, 3, 8, 16, 17, 40};
  for (size_t j = 0; j < COUNT(halves); j++) {
    const int64_t turned = 2 * halves[j], dim = turned + (int64_t)(j % 3), heads = 2, rows = 5,
                  stride = heads * dim + 3;
    const float *turns = random_buffer(rows * turned, 1, -1, 1);
    for (int back = 0; back < 2; back++) {
      float *x = random_buffer(rows * stride, 1, -2, 2), *want = copy_of(x, rows * stride, 0);
      k->rotate(x, stride, turns, back, rows, heads, dim, turned);
      reference()->rotate(want, stride, turns, back, rows, heads, dim, turned);
      if (!near("rotate", x, want, rows * stride, 1e-6, 1e-6)) return false;
    }
  }
  cq_arena_free(&arena);
  return true;
}

static inline bool check_multiply(const cq_kernels *k) {
  for (size_t j = 0; j < COUNT(lengths); j++) {
    const int64_t n = lengths[j];
    float *x = random_buffer(n, 1, -2, 2), *z = random_buffer(n, 2, -2, 2), *y = buffer(n, 3), *want = buffer(n, 0);
    k->multiply(y, x, z, n);
    reference()->multiply(want, x, z, n);
    if (!near("multiply", y, want, n, 0, 0)) return false;
    k->multiply(x, x, z, n);
    if (!near("multiply in place", x, want, n, 0, 0)) return false;
  }
  cq_arena_free(&arena);
  return true;
}

static inline bool check_attention(const cq_kernels *k) {
  const int64_t ns[] = {0, 1, 2, 5, 6, 7, 15, 16, 17, 33, 49, 70}, dims[] = {1, 7, 16, 32, 64, 70};
  for (size_t i = 0; i < COUNT(ns); i++) {
    for (size_t d = 0; d < COUNT(dims); d++) {
      if (!attention_case(k, ns[i], 2, dims[d], (int64_t)(i + d) % 3, (i + d) % 2, (d % 3 == 2) ? 0.2f : 0.0f))
        return false;
      cq_arena_free(&arena);
    }
  }
  bool long_run = attention_case(k, 600, 1, 32, 0, true, 0.1f);
  cq_arena_free(&arena);
  return long_run;
}

static inline bool check_lstm(const cq_kernels *k) {
  for (size_t j = 0; j < COUNT(lengths); j++) {
    int64_t dim = lengths[j], rows = 3, size = rows * dim, h_stride = dim + (int64_t)(j % 3);
    float *gates = random_buffer(4 * size, 1, -3, 3), *c_before = (j & 1) ? random_buffer(size, 1, -2, 2) : NULL;
    float *h = random_buffer(rows * h_stride, 1, 0, 1), *h_want = copy_of(h, rows * h_stride, 0);
    float *c = buffer(size, 2), *c_want = buffer(size, 0), *gates_want = copy_of(gates, 4 * size, 0);
    k->lstm_cell(h, h_stride, c, gates, c_before, rows, dim);
    reference()->lstm_cell(h_want, h_stride, c_want, gates_want, c_before, rows, dim);
    if (!near("lstm_cell's gates", gates, gates_want, 4 * size, 1e-6, 0) ||
        !near("lstm_cell's c", c, c_want, size, 3e-6, 0) || !near("lstm_cell", h, h_want, rows * h_stride, 3e-6, 0))
      return false;
    float *dh = random_buffer(size, 1, -1, 1), *dc = random_buffer(size, 1, -1, 1), *dc_want = copy_of(dc, size, 0);
    float *dgates = buffer(4 * size, 1), *dgates_want = buffer(4 * size, 0);
    k->lstm_cell_backward(dgates, dc, dh, gates_want, c_want, c_before, rows, dim);
    reference()->lstm_cell_backward(dgates_want, dc_want, dh, gates_want, c_want, c_before, rows, dim);
    if (!near("lstm_cell_backward", dgates, dgates_want, 4 * size, 3e-6, 0) ||
        !near("lstm_cell_backward's dc", dc, dc_want, size, 3e-6, 0))
      return false;
  }
  cq_arena_free(&arena);
  return true;
}

/* Logits as they come, some of no probability, rows that are none, and one far above the others. */
static inline float *logits_case(int64_t rows, int64_t stride, int64_t n, int64_t offset) {
  float *x = random_buffer(rows * stride, offset, -8, 8);
  for (int64_t i = 0; i < rows; i++) {
    float *row = x + i * stride;
    if (i % 6 == 1) row[n / 2] = 300;
    if (i % 6 == 2 && n > 1) row[n - 1] = -INFINITY;
    if (i % 6 == 3) row[n - 1] = NAN;
    if (i % 6 == 4) row[0] = INFINITY;
    for (int64_t j = 0; j < n && i % 6 == 5; j++) row[j] = -INFINITY;
  }
  return x;
}

/* One row's loss against the reference's. */
static inline bool loss_case(const cq_kernels *k, const float *row, int64_t n, int32_t id, float smoothing) {
  const double got = k->cross_entropy(NULL, row, n, &id, 1, smoothing, 1, n),
               want = reference()->cross_entropy(NULL, row, n, &id, 1, smoothing, 1, n);
  if (isnan(want) ? isnan(got) : got == want || fabs(got - want) <= 3e-6 + 1e-6 * fabs(want)) return true;
  if (verbose) print_error("cross_entropy among %lld: %.9g, expected %.9g\n", (long long)n, got, want);
  return false;
}

static inline bool check_tokens(const cq_kernels *k) {
  static const int64_t many[] = {1, 2, 7, 16, 33, 64, 65, 100, 257, 9001};
  enum { ROWS = 7 };
  for (size_t j = 0; j < COUNT(many); j++) {
    const int64_t n = many[j], gap = (int64_t)(j % 3), stride = n + gap, size = ROWS * stride;
    float *x = logits_case(ROWS, stride, n, gap), *y = copy_of(x, size, 1), *want = copy_of(x, size, 0);
    int32_t ids[ROWS];
    k->log_softmax(y, stride, x, stride, ROWS, n);
    reference()->log_softmax(want, stride, x, stride, ROWS, n);
    /* the maximum and the sum's logarithm are rounded once each, up to 20 or relative to 300 */
    if (!near("log_softmax", y, want, size, 6e-6, 1e-6)) return false;
    for (int i = 0; i < ROWS; i++) ids[i] = (int32_t)cq_random_below(&rng, (uint64_t)n);
    for (int s = 0; s < 2; s++) {
      const float smoothing = s ? 0.1f : 0.0f;
      for (int i = 0; i < ROWS; i++)
        if (!loss_case(k, x + i * stride, n, ids[i], smoothing)) return false;
      float *g = copy_of(x, size, gap), *g_want = copy_of(x, size, 0), *in_place = copy_of(x, size, 2);
      double got = k->cross_entropy(g, x, stride, ids, 0.3f, smoothing, 2, n);
      double expected = reference()->cross_entropy(g_want, x, stride, ids, 0.3f, smoothing, 2, n);
      if (!(fabs(got - expected) <= 6e-6 + 1e-6 * fabs(expected))) return false;
      /* probabilities carry a relative 1e-6, near the token they are taken from 1 */
      if (!near("cross_entropy's gradient", g, g_want, size, 3e-7, 2e-6)) return false;
      reference()->cross_entropy(g_want, x, stride, ids, 0.3f, smoothing, ROWS, n);
      k->cross_entropy(in_place, in_place, stride, ids, 0.3f, smoothing, ROWS, n);
      if (!near("cross_entropy's gradient in place", in_place, g_want, size, 3e-7, 2e-6)) return false;
    }
    k->log_softmax(x, stride, x, stride, ROWS, n);
    if (!near("log_softmax in place", x, want, size, 6e-6, 1e-6)) return false;
    cq_arena_free(&arena);
  }
  return true;
}

static inline bool check_losses(const cq_kernels *k) {
  static const int64_t many[] = {0, 1, 17, 64, 257, 300, 5000};
  for (size_t j = 0; j < COUNT(many); j++) {
    int64_t n = many[j];
    float *x = random_buffer(n, 1, -1, 1), *y = random_buffer(n, 2, -1, 1), *g = buffer(n, 3), *want = buffer(n, 0);
    double got = k->squared_error(g, x, y, 0.3f, n), expected = reference()->squared_error(want, x, y, 0.3f, n);
    if (!(fabs(got - expected) <= 1e-6 * expected) || !near("squared_error", g, want, n, 0, 1e-7)) return false;
    if (k->squared_error(NULL, x, y, 0.3f, n) != got) return false;
    got = k->sum_squares(x, n), expected = reference()->sum_squares(x, n);
    if (!(fabs(got - expected) <= 1e-6 * expected)) return false;
  }
  cq_arena_free(&arena);
  return true;
}

static inline bool check_adamw(const cq_kernels *k) {
  for (size_t j = 0; j < COUNT(lengths); j++) {
    int64_t n = lengths[j];
    float *g = random_buffer(n, 1, -1, 1);
    float *p = random_buffer(n, 1, -1, 1), *m = random_buffer(n, 2, -1, 1), *v = random_buffer(n, 3, 0, 1);
    float *p_want = copy_of(p, n, 0), *m_want = copy_of(m, n, 0), *v_want = copy_of(v, n, 0);
    for (int step = 1; step <= 3; step++) {
      cq_adamw s = {.learning_rate = 1e-2,
                    .beta1 = 0.9,
                    .beta2 = 0.999,
                    .eps = 1e-6,
                    .weight_decay = 0.1,
                    .correction1 = 1 - pow(0.9, step),
                    .correction2 = 1 - pow(0.999, step),
                    .gradient_scale = 0.7f};
      k->adamw(p, m, v, step == 2 ? NULL : g, n, &s);
      reference()->adamw(p_want, m_want, v_want, step == 2 ? NULL : g, n, &s);
      if (!near("adamw's p", p, p_want, n, 1e-6, 1e-6) || !near("adamw's m", m, m_want, n, 1e-6, 0) ||
          !near("adamw's v", v, v_want, n, 1e-6, 0))
        return false;
    }
  }
  cq_arena_free(&arena);
  return true;
}

static inline bool check_negative_sampling(const cq_kernels *k) {
  static const int64_t dims[] = {1, 7, 16, 100, 112, 130};
  /* 7 and 9 come again; row 1 is far from x, so that the cut is met */
  static const uint32_t rows[] = {3, 0, 7, 2, 9, 7, 4, 1, 9, 9, 5, 6, 8};
  for (size_t j = 0; j < COUNT(dims); j++) {
    for (int64_t n = 0; n <= (int64_t)COUNT(rows); n++) {
      const int64_t dim = dims[j], stride = dim + 3;
      float *x = random_buffer(dim, 1, 0.1f, 0.3f), *o = random_buffer(10 * stride, 2, -0.3f, 0.3f);
      for (int64_t i = 0; i < dim; i++) o[stride + i] = 100;
      float *want = copy_of(o, 10 * stride, 0), *dx = random_buffer(dim, 3, -1, 1), *dx_want = copy_of(dx, dim, 0);
      k->negative_sampling(dx, x, o, stride, rows, n, 0.5f, dim);
      reference()->negative_sampling(dx_want, x, want, stride, rows, n, 0.5f, dim);
      if (!near("negative_sampling's dx", dx, dx_want, dim, 1e-5, 2e-6) ||
          !near("negative_sampling's rows", o, want, 10 * stride, 1e-5, 2e-6))
        return false;
    }
  }
  cq_arena_free(&arena);
  return true;
}

static const struct check {
  const char *name;
  bool (*run)(const cq_kernels *k);
} checks[] = {
    {"product", check_product},
    {"product_transposed", check_product_transposed},
    {"add_columns", check_add_columns},
    {"at_least", check_at_least},
    {"dot", check_dot},
    {"exact_dot", check_exact_dot},
    {"activate", check_activate},
    {"activate_backward", check_activate_backward},
    {"elementwise", check_elementwise},
    {"gather", check_gather},
    {"gather_narrow", check_gather_narrow},
    {"pool", check_pool},
    {"layer_norm", check_layer_norm},
    {"normalize", check_normalize},
    {"attention", check_attention},
    {"masked attention", check_masked_attention},
    {"rms_norm", check_rms_norm},
    {"rotate", check_rotate},
    {"multiply", check_multiply},
    {"lstm", check_lstm},
    {"tokens", check_tokens},
    {"losses", check_losses},
    {"adamw", check_adamw},
    {"negative_sampling", check_negative_sampling},
};

#endif
