/* The paired bootstrap: against a plain loop that draws the rows and measures them, at the ends, and on threads. */
#include "eval/golden.h"

#include "base/memory.h"
#include "base/random.h"
#include "calque/eval.h"
#include "lab/measures/bootstrap.h"

enum { N = 40, N_SAMPLES = 300 };

static double a[N], b[N], gold[N];

/* Values with ties. */
static void make_values(void) {
  cq_random random = cq_random_seeded(5, 0);
  for (size_t i = 0; i < N; i++) {
    gold[i] = (double)cq_random_below(&random, 6);
    a[i] = (double)cq_random_below(&random, 20) / 20;
    b[i] = gold[i] / 6 + (double)cq_random_below(&random, 10) / 20;
  }
}

static void samples_are_those_of_a_plain_loop(void **state) {
  (void)state;
  double means[N_SAMPLES], correlations[N_SAMPLES];
  make_values();
  assert_int_equal(cq_bootstrap(means, &(cq_paired_values){a, b, NULL, N}, N_SAMPLES, 7, NULL, NULL), CQ_OK);
  assert_int_equal(cq_bootstrap(correlations, &(cq_paired_values){a, b, gold, N}, N_SAMPLES, 7, NULL, NULL), CQ_OK);
  for (size_t s = 0; s < N_SAMPLES; s++) {
    cq_random random = cq_random_seeded(7, s);
    double x[N], y[N], z[N], sum = 0, of_x, of_y;
    for (size_t i = 0; i < N; i++) {
      const size_t row = (size_t)cq_random_below(&random, N);
      x[i] = a[row], y[i] = b[row], z[i] = gold[row], sum += y[i] - x[i];
    }
    assert_near(means[s], sum / N, 1e-12);
    assert_int_equal(cq_spearman(&of_x, x, z, N, NULL), CQ_OK);
    assert_int_equal(cq_spearman(&of_y, y, z, N, NULL), CQ_OK);
    assert_near(correlations[s], of_y - of_x, 1e-12);
  }
}

static void threads_change_nothing_and_the_seed_does(void **state) {
  (void)state;
  double one[N_SAMPLES], three[N_SAMPLES];
  cq_context *ctx;
  make_values();
  const cq_paired_values v = {a, b, gold, N};
  assert_int_equal(cq_context_open(&ctx, 3, NULL), CQ_OK);
  assert_int_equal(cq_bootstrap(one, &v, N_SAMPLES, 1, NULL, NULL), CQ_OK);
  assert_int_equal(cq_bootstrap(three, &v, N_SAMPLES, 1, ctx, NULL), CQ_OK);
  assert_memory_equal(one, three, sizeof one);
  assert_int_equal(cq_bootstrap(three, &v, N_SAMPLES, 2, ctx, NULL), CQ_OK);
  assert_memory_not_equal(one, three, sizeof one);
  cq_context_free(ctx);
}

/* 999 samples from -399 to 599: 25 on each side are outside of the interval; 400 are not above 0. */
static void intervals_and_p_are_those_counted(void **state) {
  (void)state;
  double d[999], low, high, p;
  for (size_t i = 0; i < 999; i++) d[i] = (double)((i * 7) % 999) - 399;
  cq_bootstrap_interval(&low, &high, &p, d, 999);
  assert_true(low == -399 + 24 && high == 599 - 24);
  assert_near(p, 2.0 * 401 / 1000, 1e-15);

  for (size_t i = 0; i < 999; i++) d[i] = 0;
  cq_bootstrap_interval(&low, &high, &p, d, 999);
  assert_true(low == 0 && high == 0 && p == 1);
  /* What is left of sums that cancel lies on both sides of 0. */
  for (size_t i = 0; i < 999; i++) d[i] = i < 400 ? 1 - 1 / 3.0 - 1 / 3.0 - 1 / 3.0 : i < 500 ? -1 : 1e-11;
  assert_true(d[0] != 0);
  cq_bootstrap_interval(&low, &high, &p, d, 999);
  assert_true(low == -1 && high == 1e-11);
  assert_near(p, 1, 1e-15);
  d[0] = 3;
  cq_bootstrap_interval(&low, &high, &p, d, 1);
  assert_true(low == 3 && high == 3 && p == 1);
}

/* The same difference in each row; and one row, or equal gold scores, of which no correlation is defined. */
static void what_is_certain_is_certain(void **state) {
  (void)state;
  double d[N_SAMPLES], low, high, p;
  make_values();
  for (size_t i = 0; i < N; i++) b[i] = a[i] + 0.25, gold[i] = 1;
  assert_int_equal(cq_bootstrap(d, &(cq_paired_values){a, b, NULL, N}, N_SAMPLES, 0, NULL, NULL), CQ_OK);
  cq_bootstrap_interval(&low, &high, &p, d, N_SAMPLES);
  assert_near(low, 0.25, 1e-12);
  assert_near(high, 0.25, 1e-12);
  assert_near(p, 2.0 / (N_SAMPLES + 1), 1e-15);
  for (size_t n = 1; n <= N; n += N - 1) {
    assert_int_equal(cq_bootstrap(d, &(cq_paired_values){a, b, gold, n}, N_SAMPLES, 0, NULL, NULL), CQ_OK);
    for (size_t i = 0; i < N_SAMPLES; i++) assert_true(d[i] == 0);
  }
}

static void memory_may_run_out(void **state) {
  (void)state;
  double d[4];
  make_values();
  for (long i = 1;; i++) {
    cq_error error = {0};
    cq_alloc_fail_at(i);
    const cq_status status = cq_bootstrap(d, &(cq_paired_values){a, b, gold, N}, 4, 0, NULL, &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (!failed) {
      assert_int_equal(status, CQ_OK);
      assert_true(i == 4);
      return;
    }
    assert_int_equal(status, CQ_ERR_MEMORY);
    assert_non_null(strstr(error.message, "samples of rows"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(samples_are_those_of_a_plain_loop),
      cmocka_unit_test(threads_change_nothing_and_the_seed_does),
      cmocka_unit_test(intervals_and_p_are_those_counted),
      cmocka_unit_test(what_is_certain_is_certain),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
