/* Nearest neighbors and translation accuracy against a plain double loop, exact ties and zero vectors included. */
#include "golden.h"

#include "base/memory.h"
#include "base/random.h"
#include "calque/embedding.h"
#include "eval/translation.h"

#include <math.h>

static void plain_matches(size_t *best, const float *a, size_t n_a, const float *b, size_t n_b, size_t dim) {
  for (size_t i = 0; i < n_a; i++) {
    double max = -INFINITY;
    best[i] = n_b;
    for (size_t j = 0; j < n_b; j++) {
      double score = cq_cosine(a + i * dim, b + j * dim, dim);
      if (score > max) max = score, best[i] = j;
    }
  }
}

static void fill(float *x, size_t n, uint64_t seed) {
  cq_random r = cq_random_seeded(seed, n);
  for (size_t i = 0; i < n; i++) x[i] = (float)cq_random_normal(&r);
}

static void check(const float *a, size_t n_a, const float *b, size_t n_b, size_t dim, cq_context *ctx) {
  size_t *expected = malloc((n_a + 1) * sizeof *expected), *got = malloc((n_a + 1) * sizeof *got);
  plain_matches(expected, a, n_a, b, n_b, dim);
  assert_int_equal(cq_best_matches(got, a, n_a, b, n_b, dim, ctx, NULL), CQ_OK);
  for (size_t i = 0; i < n_a; i++)
    if (got[i] != expected[i])
      fail_msg("%zu x %zu x %zu: row %zu matches %zu, expected %zu", n_a, n_b, dim, i, got[i], expected[i]);
  free(expected);
  free(got);
}

static void matches_equal_the_plain_loop(void **state) {
  (void)state;
  const size_t sizes[][3] = {{1, 1, 1},     {3, 7, 2},    {48, 512, 16}, {49, 513, 33}, {1, 600, 5},
                             {130, 90, 64}, {7, 1500, 3}, {0, 4, 4},     {4, 0, 4}};
  for (int threads = 0; threads <= 3; threads++) {
    cq_context *ctx = NULL;
    if (threads) assert_int_equal(cq_context_open(&ctx, threads, NULL), CQ_OK);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      size_t n_a = sizes[s][0], n_b = sizes[s][1], dim = sizes[s][2];
      float *a = malloc((n_a * dim + 1) * sizeof *a), *b = malloc((n_b * dim + 1) * sizeof *b);
      fill(a, n_a * dim, s);
      fill(b, n_b * dim, s + 100);
      check(a, n_a, b, n_b, dim, ctx);
      free(a);
      free(b);
    }
    cq_context_free(ctx);
  }
}

/* Rows that differ in the last bits only, equal rows, scaled rows, zero rows: where f32 cosines cannot decide. */
static void close_calls_are_decided_in_double(void **state) {
  (void)state;
  enum { N = 700, DIM = 40 };
  static float a[N * DIM], b[N * DIM];
  cq_random r = cq_random_seeded(3, 3);
  fill(a, N * DIM, 1);
  for (size_t i = 0; i < N; i++) {
    const float *from = i % 10 == 0 ? a + i * DIM : b + (i - i % 10) * DIM;
    for (size_t d = 0; d < DIM; d++) b[i * DIM + d] = from[d];
    switch (i % 10) {
    case 1: /* the next float in one place */ b[i * DIM + 7] = nextafterf(from[7], 9); break;
    case 3: /* twice as long */
      for (size_t d = 0; d < DIM; d++) b[i * DIM + d] = 2 * from[d];
      break;
    case 4: /* a little noise */
      for (size_t d = 0; d < DIM; d++) b[i * DIM + d] = from[d] * (1 + 1e-7f * (float)cq_random_normal(&r));
      break;
    case 6:
      for (size_t d = 0; d < DIM; d++) b[i * DIM + d] = 0;
      break;
    default: break; /* an exact copy */
    }
  }
  for (size_t d = 0; d < DIM; d++) a[13 * DIM + d] = 0; /* all cosines 0: the first row */
  check(a, N, b, N, DIM, NULL);
  check(b, N, a, N, DIM, NULL);
  size_t best[N];
  assert_int_equal(cq_best_matches(best, a, N, b, N, DIM, NULL, NULL), CQ_OK);
  assert_int_equal(best[13], 0);
}

/* A collapsed model: more places within rounding than are kept, so that whole rows are computed in double. */
static void a_collapsed_model_is_counted_right(void **state) {
  (void)state;
  enum { N = 300, DIM = 24 };
  static float a[N * DIM], b[N * DIM];
  cq_random r = cq_random_seeded(4, 4);
  for (size_t i = 0; i < N * DIM; i++) {
    a[i] = 0.5f + 1e-7f * (float)cq_random_normal(&r);
    b[i] = 0.5f + 1e-7f * (float)cq_random_normal(&r);
  }
  check(a, N, b, N, DIM, NULL);
  cq_translation_result result;
  for (size_t i = 0; i < N * DIM; i++) a[i] = b[i] = 0.5f;
  assert_int_equal(cq_translation_accuracy(&result, a, b, N, DIM, NULL, NULL), CQ_OK);
  assert_true(result.source_to_target == 1.0 / N && result.target_to_source == 1.0 / N && result.mean == 1.0 / N);
}

static void what_is_no_number_matches_nothing(void **state) {
  (void)state;
  float a[] = {1, 0, NAN, 1, 0, 1}, b[] = {1, 0, 0, 1, NAN, 0};
  size_t best[3];
  assert_int_equal(cq_best_matches(best, a, 3, b, 3, 2, NULL, NULL), CQ_OK);
  assert_int_equal(best[0], 0);
  assert_int_equal(best[1], 3);
  assert_int_equal(best[2], 1);
}

static void accuracy_equals_the_golden_figures(void **state) {
  (void)state;
  enum { N = 50, DIM = 24 };
  float *a = golden_array("a", N * DIM * sizeof(float)), *b = golden_array("b", N * DIM * sizeof(float));
  cq_translation_result r;
  assert_int_equal(cq_translation_accuracy(&r, a, b, N, DIM, NULL, NULL), CQ_OK);
  assert_near(r.source_to_target, golden_number("source_to_target"), 1e-15);
  assert_near(r.target_to_source, golden_number("target_to_source"), 1e-15);
  assert_near(r.mean, (r.source_to_target + r.target_to_source) / 2, 1e-15);
  assert_int_equal(r.n, N);
  assert_int_equal(r.n_skipped, 0);
  free(a);
  free(b);
}

static void no_pairs_is_an_error(void **state) {
  (void)state;
  cq_translation_result r;
  cq_error error = {0};
  float x = 0;
  assert_int_equal(cq_translation_accuracy(&r, &x, &x, 0, 1, NULL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "no pairs"));
}

static void every_failed_allocation_is_reported(void **state) {
  (void)state;
  float a[6] = {1, 0, 0, 1, 1, 1};
  cq_translation_result r;
  for (long n = 1;; n++) {
    cq_error error = {0};
    cq_alloc_fail_at(n);
    cq_status status = cq_translation_accuracy(&r, a, a, 3, 2, NULL, &error);
    bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (!failed) {
      assert_int_equal(status, CQ_OK);
      assert_true(n > 10); /* both directions were reached */
      assert_true(r.mean == 1);
      break;
    }
    assert_int_equal(status, CQ_ERR_MEMORY);
    assert_int_equal(error.status, CQ_ERR_MEMORY);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(matches_equal_the_plain_loop),        cmocka_unit_test(close_calls_are_decided_in_double),
      cmocka_unit_test(a_collapsed_model_is_counted_right),  cmocka_unit_test(what_is_no_number_matches_nothing),
      cmocka_unit_test(accuracy_equals_the_golden_figures),  cmocka_unit_test(no_pairs_is_an_error),
      cmocka_unit_test(every_failed_allocation_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
