/* Random numbers: fixed streams (files depend on them), their moments. */
#include "support/files.h"

#include "base/random.h"

#include <math.h>

/* These values are the generator's definition: a change of them breaks every seeded result. */
static void streams_are_fixed(void **state) {
  (void)state;
  cq_random r = {0};
  assert_true(cq_random_u64(&r) == 0xe220a8397b1dcdafu); /* SplitMix64's published first value for seed 0 */
  assert_true(cq_random_u64(&r) == 0x6e789e6aa1b965f4u);
  cq_random a = cq_random_seeded(1, 2), b = cq_random_seeded(1, 2), c = cq_random_seeded(2, 1),
            d = cq_random_seeded(1, 3);
  uint64_t first = cq_random_u64(&a);
  assert_true(first == cq_random_u64(&b));
  assert_true(first != cq_random_u64(&c) && first != cq_random_u64(&d));
}

static void uniform_and_normal_have_their_moments(void **state) {
  (void)state;
  enum { N = 200000 };
  cq_random r = cq_random_seeded(7, 0);
  double sum = 0, square = 0, normal = 0, normal_square = 0;
  for (int i = 0; i < N; i++) {
    double u = cq_random_uniform(&r), z = cq_random_normal(&r);
    assert_true(u >= 0 && u < 1 && isfinite(z));
    sum += u;
    square += u * u;
    normal += z;
    normal_square += z * z;
  }
  /* Five standard errors of the mean each. */
  assert_true(fabs(sum / N - 0.5) < 5 * 0.2887 / sqrt(N));
  assert_true(fabs(square / N - 1.0 / 3) < 5 * 0.2981 / sqrt(N));
  assert_true(fabs(normal / N) < 5 / sqrt(N));
  assert_true(fabs(normal_square / N - 1) < 5 * 1.4142 / sqrt(N));
}

static void below_is_even(void **state) {
  (void)state;
  enum { N = 70000 };
  unsigned counts[7] = {0};
  cq_random r = cq_random_seeded(3, 9);
  for (int i = 0; i < N; i++) {
    uint64_t x = cq_random_below(&r, 7);
    assert_true(x < 7);
    counts[x]++;
  }
  for (int i = 0; i < 7; i++) assert_in_range(counts[i], 9500, 10500);
  for (int i = 0; i < 100; i++) assert_int_equal(cq_random_below(&r, 1), 0);
  for (int i = 0; i < 100; i++) assert_true(cq_random_below(&r, UINT64_MAX) < UINT64_MAX);
}

static void shuffling_permutes_evenly(void **state) {
  (void)state;
  unsigned first[5] = {0};
  for (uint64_t item = 0; item < 5000; item++) {
    uint32_t items[5] = {0, 1, 2, 3, 4};
    unsigned seen = 0;
    cq_random r = cq_random_seeded(11, item);
    cq_random_shuffle(&r, items, 5);
    for (int i = 0; i < 5; i++) seen |= 1u << items[i];
    assert_int_equal(seen, 31);
    first[items[0]]++;
  }
  for (int i = 0; i < 5; i++) assert_in_range(first[i], 850, 1150);
  cq_random r = {0};
  cq_random_shuffle(&r, NULL, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(streams_are_fixed),
      cmocka_unit_test(uniform_and_normal_have_their_moments),
      cmocka_unit_test(below_is_even),
      cmocka_unit_test(shuffling_permutes_evenly),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
