/* Significance tests: what scipy, statsmodels and 50 digits give, values worked out by hand, and the ends. */
#include "eval/golden.h"

#include "base/memory.h"
#include "lab/measures/significance.h"

#define N(array) (sizeof(array) / sizeof *(array))

static FILE *golden_file(const char *name) {
  char path[1024];
  snprintf(path, sizeof path, CQ_TESTS_DIR "/golden/significance/%s", name);
  FILE *file = fopen(path, "r");
  if (!file) fail_msg("%s: cannot open", path);
  return file;
}

static void read_numbers(double *out, FILE *file, size_t n) {
  for (size_t i = 0; i < n; i++) assert_int_equal(fscanf(file, "%lf", &out[i]), 1);
}

static double wilcoxon(const double *d, size_t n, bool expected_exact) {
  double p = NAN;
  bool exact = !expected_exact;
  assert_int_equal(cq_wilcoxon(&p, &exact, d, n, NULL), CQ_OK);
  assert_int_equal(exact, expected_exact);
  return p;
}

static double randomization(const double *d, size_t n, bool expected_exact) {
  bool exact = !expected_exact;
  const double p = cq_randomization(&exact, d, n, 100000, 7);
  assert_int_equal(exact, expected_exact);
  return p;
}

/* ---- golden ---- */

static void pairs_give_what_scipy_gives(void **state) {
  (void)state;
  FILE *file = golden_file("pairs.txt");
  char name[32];
  size_t n, n_cases = 0, n_signs = 0;
  while (fscanf(file, "%31s %zu", name, &n) == 2) {
    double a[128], b[128], d[128], back[128], expected[3];
    int exact;
    assert_true(n <= N(a));
    read_numbers(a, file, n);
    read_numbers(b, file, n);
    assert_int_equal(fscanf(file, "%d", &exact), 1);
    read_numbers(expected, file, 3);
    assert_int_equal(cq_differences(d, a, b, n, NULL), CQ_OK);
    assert_int_equal(cq_differences(back, b, a, n, NULL), CQ_OK);
    /* Relative: the smallest is 1e-16. */
    assert_near(wilcoxon(d, n, exact) / expected[0], 1, 1e-12);
    assert_near(cq_paired_t(d, n) / expected[1], 1, 1e-12);
    assert_near(wilcoxon(back, n, exact) / expected[0], 1, 1e-12);
    assert_near(cq_paired_t(back, n) / expected[1], 1, 1e-12);
    if (!isnan(expected[2])) {
      assert_near(randomization(d, n, true), expected[2], 1e-15);
      n_signs++;
    }
    n_cases++;
  }
  assert_int_equal(fclose(file), 0);
  assert_int_equal(n_cases, 28);
  assert_int_equal(n_signs, 16);
}

static void students_distribution(void **state) {
  (void)state;
  FILE *file = golden_file("student.txt");
  double t, degrees, p;
  size_t n = 0;
  for (; fscanf(file, "%lf %lf %lf", &t, &degrees, &p) == 3; n++) {
    const double got = cq_student_two_sided(t, degrees);
    if (!(fabs(got / p - 1) <= 1e-12)) fail_msg("t %g, %g degrees: %.17g, expected %.17g", t, degrees, got, p);
    assert_true(cq_student_two_sided(-t, degrees) == got);
  }
  assert_int_equal(fclose(file), 0);
  assert_true(n > 90);
  /* One degree is Cauchy's distribution, 1 - 2 atan(t) / pi; two have p = 1 - t / sqrt(2 + t^2). */
  assert_near(cq_student_two_sided(1, 1), 0.5, 1e-15);
  assert_near(cq_student_two_sided(sqrt(2), 2), 1 - sqrt(0.5), 1e-15);
  assert_true(cq_student_two_sided(0, 5) == 1);
  assert_true(cq_student_two_sided(INFINITY, 5) == 0);
}

static void holm(void **state) {
  (void)state;
  FILE *file = golden_file("holm.txt");
  double p[16], expected[16], got[16];
  size_t m, n_cases = 0;
  for (; fscanf(file, "%zu", &m) == 1; n_cases++) {
    assert_true(m <= N(p));
    read_numbers(p, file, m);
    read_numbers(expected, file, m);
    assert_int_equal(cq_holm(got, p, m, NULL), CQ_OK);
    for (size_t i = 0; i < m; i++) assert_near(got[i], expected[i], 1e-15);
  }
  assert_int_equal(fclose(file), 0);
  assert_int_equal(n_cases, 4);
  /* Sorted .01 .02 .022 .9, times 4 3 2 1: .04 .06 .044 .9, and the third may not be below the second. In place. */
  double by_hand[] = {0.022, 0.9, 0.01, 0.02};
  const double wanted[] = {0.06, 0.9, 0.04, 0.06};
  assert_int_equal(cq_holm(by_hand, by_hand, 4, NULL), CQ_OK);
  for (size_t i = 0; i < 4; i++) assert_near(by_hand[i], wanted[i], 1e-15);
  assert_int_equal(cq_holm(NULL, NULL, 0, NULL), CQ_OK);
}

/* ---- by hand ---- */

static void wilcoxon_by_hand(void **state) {
  (void)state;
  /* Ranks 1 2 3 4 5, the negative ones' sum is 1: {} and {1} of 32 subsets reach no further, on both sides. */
  const double five[] = {-0.1, 0.2, 0.5, 0.3, 0.4};
  assert_near(wilcoxon(five, 5, true), 4.0 / 32, 0);
  /* Zeros are as if they were not there. */
  const double zeros[] = {0, -0.1, 0.2, 0, 0.5, 0.3, -0.0, 0.4};
  assert_near(wilcoxon(zeros, 8, true), 4.0 / 32, 0);
  /* 1 1 1 -1: ranks 2.5; W = 2.5, mean 5, variance (4 * 5 * 9 - (64 - 4) / 2) / 24 = 6.25, z = (2.5 - 0.5) / 2.5. */
  const double ties[] = {1, -1, 1, 1};
  assert_near(wilcoxon(ties, 4, false), erfc(0.8 / sqrt(2)), 1e-15);
  /* Half of the ranks on either side: the correction does not reach beyond the mean. */
  const double even[] = {1, -1};
  assert_near(wilcoxon(even, 2, false), 1, 0);
  /* 50 of one sign are exact, 51 are not. */
  double many[51];
  for (size_t i = 0; i < N(many); i++) many[i] = (double)(i + 1);
  assert_near(wilcoxon(many, 50, true), 0x1p-49, 0);
  assert_near(wilcoxon(many, 51, false), erfc((51 * 52 / 4.0 - 0.5) / sqrt(51 * 52 * 103 / 12.0)), 1e-24);
}

static void t_by_hand(void **state) {
  (void)state;
  /* Mean 2, variance 2, n 2: t = 2 with one degree of freedom. */
  const double two[] = {1, 3};
  assert_near(cq_paired_t(two, 2), 1 - 2 * atan(2) / acos(-1), 1e-15);
  /* The unit does not matter, however small or large. */
  const double small[] = {1e-300, 3e-300}, large[] = {1e300, 3e300};
  assert_near(cq_paired_t(small, 2), cq_paired_t(two, 2), 1e-15);
  assert_near(cq_paired_t(large, 2), cq_paired_t(two, 2), 1e-15);
  const double same[] = {2, 2, 2, 2};
  assert_near(cq_paired_t(same, 4), 0, 0);
}

static void randomization_by_hand(void **state) {
  (void)state;
  /* Sum 3 of 1, -1, 3: of the 8 sums +-1 +-1 +-3 those of size 3 and up are +-5 and, twice each, +-3. */
  const double three[] = {1, -1, 3};
  assert_near(randomization(three, 3, true), 6.0 / 8, 0);
  /* In tenths 1 1 1 -2: every sum is odd, none nearer to 0 than this one, though in binary some are by a last bit. */
  const double rounded[] = {0.1, 0.1, 0.1, -0.2};
  assert_near(randomization(rounded, 4, true), 1, 0);
  const double cancels[] = {0.1, 0.2, -0.3};
  assert_near(randomization(cancels, 3, true), 1, 0);
  /* 20 that are not 0, and zeros: counted in full; 18 of one size and sign are 2 of 2^18 ways. */
  double d[64] = {0};
  for (size_t i = 0; i < 20; i++) d[3 * i] = 0.25;
  assert_near(randomization(d, 64, true), 0x1p-19, 0);
  /* 24 of one size, 6 of them negative: 24 coins with at least 18 alike, P = 2 * 190051 / 2^24 = 0.0227. 1e5 samples
   * have a standard error of 0.0005. */
  for (size_t i = 0; i < 24; i++) d[i] = i % 4 ? 0.1 : -0.1;
  bool exact = true;
  const double p = cq_randomization(&exact, d, 24, 100000, 1), exactly = 2 * 190051 / 0x1p24;
  assert_false(exact);
  assert_near(p, exactly, 0.002);
  assert_true(p == cq_randomization(&exact, d, 24, 100000, 1));
  assert_true(p != cq_randomization(&exact, d, 24, 100000, 2));
  for (size_t i = 0; i < 24; i++) d[i] = -d[i];
  assert_true(p == cq_randomization(&exact, d, 24, 100000, 1));
  /* None of the samples reaches 64 of one sign: the one that was seen remains. */
  for (size_t i = 0; i < 64; i++) d[i] = 1;
  assert_near(cq_randomization(&exact, d, 64, 999, 3), 1.0 / 1000, 0);
}

/* ---- ends ---- */

static void nothing_to_test(void **state) {
  (void)state;
  const double zeros[3] = {0}, one[] = {0.4}, two[] = {1, 2};
  for (size_t n = 0; n <= 3; n++) {
    assert_near(wilcoxon(zeros, n, true), 1, 0);
    assert_near(cq_paired_t(zeros, n), 1, 0);
    assert_near(randomization(zeros, n, true), 1, 0);
  }
  assert_near(wilcoxon(one, 1, true), 1, 0);
  assert_near(cq_paired_t(one, 1), 1, 0);
  assert_near(randomization(one, 1, true), 1, 0);
  assert_near(wilcoxon(two, 2, true), 0.5, 0);
  assert_near(randomization(two, 2, true), 0.5, 0);
}

static void effects(void **state) {
  (void)state;
  const double d[] = {0.5, -0.25, 0, 1, 0.75};
  const cq_effect effect = cq_effect_of(d, 5), none = cq_effect_of(d, 0);
  assert_near(effect.mean, 0.4, 1e-15);
  assert_int_equal(effect.n_wins, 3);
  assert_int_equal(effect.n_losses, 1);
  assert_int_equal(effect.n_ties, 1);
  assert_near(none.mean, 0, 0);
  assert_int_equal(none.n_wins + none.n_losses + none.n_ties, 0);
}

static void what_is_no_number_is_refused(void **state) {
  (void)state;
  const double fine[] = {1, 2, 3}, bad[][3] = {{NAN, 2, 3}, {1, INFINITY, 3}, {1, 2, -INFINITY}};
  double d[3];
  for (size_t i = 0; i < 3; i++) {
    char place[32];
    snprintf(place, sizeof place, "compare: pair %zu is", i + 1);
    for (int side = 0; side < 2; side++) {
      cq_error error = {0};
      assert_int_equal(cq_differences(d, side ? fine : bad[i], side ? bad[i] : fine, 3, &error), CQ_ERR_ARGUMENT);
      assert_non_null(strstr(error.message, place));
      assert_non_null(strstr(error.message, "expected finite numbers"));
    }
  }
  /* Finite both, and yet no finite difference. */
  assert_int_equal(cq_differences(d, (double[]){-1e308}, (double[]){1e308}, 1, NULL), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_differences(d, fine, (double[]){4, 4, 4}, 3, NULL), CQ_OK);
  assert_true(d[0] == 3 && d[1] == 2 && d[2] == 1);
}

static void memory_runs_out(void **state) {
  (void)state;
  const double d[] = {1, 2, 3};
  double p = 9, out[3];
  bool exact;
  cq_error error = {0};
  cq_alloc_fail_at(1);
  assert_int_equal(cq_wilcoxon(&p, &exact, d, 3, &error), CQ_ERR_MEMORY);
  assert_string_equal(error.message, "out of memory (ranks)");
  assert_true(p == 9);
  cq_alloc_fail_at(1);
  assert_int_equal(cq_holm(out, d, 3, &error), CQ_ERR_MEMORY);
  cq_alloc_fail_at(0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pairs_give_what_scipy_gives),
      cmocka_unit_test(students_distribution),
      cmocka_unit_test(holm),
      cmocka_unit_test(wilcoxon_by_hand),
      cmocka_unit_test(t_by_hand),
      cmocka_unit_test(randomization_by_hand),
      cmocka_unit_test(nothing_to_test),
      cmocka_unit_test(effects),
      cmocka_unit_test(what_is_no_number_is_refused),
      cmocka_unit_test(memory_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
