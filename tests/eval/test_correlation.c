/* Correlations against SciPy's, and their edge cases. */
#include "golden.h"

#include "base/memory.h"
#include "calque/eval.h"

#include <math.h>

enum { N = 60, COLUMNS = 6, CONSTANT = 5 };

static void column(double *out, const double *table, int c) {
  for (int i = 0; i < N; i++) out[i] = table[i * COLUMNS + c];
}

static void both_equal_scipy(void **state) {
  (void)state;
  double *table = golden_array("correlation", N * COLUMNS * sizeof(double)), x[N], y[N], r;
  for (int i = 0; i < CONSTANT; i++)
    for (int j = i + 1; j < CONSTANT; j++) {
      char name[32];
      column(x, table, i);
      column(y, table, j);
      snprintf(name, sizeof name, "pearson_%d%d", i, j);
      assert_near(cq_pearson(x, y, N), golden_number(name), 1e-8); /* column 4 stands at 1e8: 8 digits are left */
      snprintf(name, sizeof name, "spearman_%d%d", i, j);
      assert_int_equal(cq_spearman(&r, x, y, N, NULL), CQ_OK);
      assert_near(r, golden_number(name), 1e-14);
      assert_int_equal(cq_spearman(&r, y, x, N, NULL), CQ_OK);
      assert_near(r, golden_number(name), 1e-14);
    }
  free(table);
}

static void a_constant_side_is_nan(void **state) {
  (void)state;
  double *table = golden_array("correlation", N * COLUMNS * sizeof(double)), x[N], y[N], r = 0;
  column(x, table, 0);
  column(y, table, CONSTANT); /* 60 times 0.1: its computed variance is not zero */
  assert_true(isnan(cq_pearson(x, y, N)));
  assert_true(isnan(cq_pearson(y, x, N)));
  assert_int_equal(cq_spearman(&r, y, x, N, NULL), CQ_OK);
  assert_true(isnan(r));
  free(table);
}

static void too_few_values_are_nan(void **state) {
  (void)state;
  double x[2] = {1, 2}, y[2] = {5, 3}, r;
  for (size_t n = 0; n < 2; n++) {
    assert_true(isnan(cq_pearson(x, y, n)));
    assert_int_equal(cq_spearman(&r, x, y, n, NULL), CQ_OK);
    assert_true(isnan(r));
  }
  assert_int_equal(cq_spearman(&r, x, y, 2, NULL), CQ_OK);
  assert_near(r, -1, 1e-15);
}

static void ties_share_the_mean_rank(void **state) {
  (void)state;
  /* ranks of x: 1.5 1.5 3 5 5 5; of y: 6 5 4 3 2 1 */
  double x[] = {-1, -1, 0, 7, 7, 7}, y[] = {6, 5, 4, 3, 2, 1}, ranks[] = {1.5, 1.5, 3, 5, 5, 5}, r;
  assert_int_equal(cq_spearman(&r, x, y, 6, NULL), CQ_OK);
  assert_near(r, cq_pearson(ranks, y, 6), 1e-15);
  double zeros[] = {0.0, -0.0, 1}, three[] = {1, 2, 3}; /* the two zeros are equal */
  assert_int_equal(cq_spearman(&r, zeros, three, 3, NULL), CQ_OK);
  assert_near(r, sqrt(3) / 2, 1e-15);
}

static void nan_is_refused(void **state) {
  (void)state;
  double x[] = {1, 2, 3}, y[] = {1, NAN, 3}, r = 5;
  cq_error error = {0};
  assert_int_equal(cq_spearman(&r, x, y, 3, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "value 2"));
  assert_int_equal(cq_spearman(&r, y, x, 3, &error), CQ_ERR_ARGUMENT);
  assert_true(r == 5);
}

static void every_failed_allocation_is_reported(void **state) {
  (void)state;
  double x[] = {1, 2, 3}, y[] = {2, 1, 3}, r;
  for (long n = 1;; n++) {
    cq_error error = {0};
    cq_alloc_fail_at(n);
    cq_status status = cq_spearman(&r, x, y, 3, &error);
    bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (!failed) {
      assert_int_equal(status, CQ_OK);
      assert_true(n > 1);
      break;
    }
    assert_int_equal(status, CQ_ERR_MEMORY);
    assert_int_equal(error.status, CQ_ERR_MEMORY);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(both_equal_scipy),       cmocka_unit_test(a_constant_side_is_nan),
      cmocka_unit_test(too_few_values_are_nan), cmocka_unit_test(ties_share_the_mean_rank),
      cmocka_unit_test(nan_is_refused),         cmocka_unit_test(every_failed_allocation_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
