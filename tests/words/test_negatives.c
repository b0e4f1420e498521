/* The alias table against the probabilities it stands for: worked out of the table, not drawn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "words/negatives.h"

#include <math.h>
#include <stdlib.h>

enum { MOST = 5000 };
static double got[MOST], want[MOST];

/* Each place of the table is drawn as often as any other. */
static void expect_shares(const uint64_t *counts, uint32_t n, double power) {
  cq_negatives t;
  double sum = 0;
  assert_int_equal(cq_negatives_open(&t, counts, n, power, NULL), CQ_OK);
  assert_int_equal(t.n, n);
  for (uint32_t i = 0; i < n; i++) sum += want[i] = pow((double)counts[i], power), got[i] = 0;
  for (uint32_t i = 0; i < n; i++) {
    const double below = t.table[i].below / 4294967296.0;
    assert_true(t.table[i].other < n);
    got[i] += below / n;
    got[t.table[i].other] += (1 - below) / n;
  }
  for (uint32_t i = 0; i < n; i++)
    if (!(fabs(got[i] - want[i] / sum) <= 1e-9)) /* NaN fails; a place has 32 bits, 2.3e-10 */
      fail_msg("word %u of %u: %.15g, expected %.15g", i, n, got[i], want[i] / sum);
  cq_negatives_close(&t);
  assert_null(t.table);
}

static void shares_are_exact(void **state) {
  (void)state;
  static uint64_t counts[MOST];
  expect_shares((uint64_t[]){1}, 1, 0.75);
  expect_shares((uint64_t[]){123456}, 1, 0.75);
  expect_shares((uint64_t[]){7, 7, 7, 7, 7}, 5, 0.75);
  expect_shares((uint64_t[]){1, 1}, 2, 0.75);
  expect_shares((uint64_t[]){16, 1}, 2, 0.75); /* 8 to 1 */
  expect_shares((uint64_t[]){1000000000000, 1}, 2, 0.75);
  expect_shares((uint64_t[]){1, 1000000000000, 1, 1}, 4, 0.75);
  expect_shares((uint64_t[]){0, 5, 0, 3}, 4, 0.75); /* a word that does not occur is never drawn */
  expect_shares((uint64_t[]){9, 4, 1}, 3, 1);
  expect_shares((uint64_t[]){9, 4, 1}, 3, 0);
  for (uint32_t i = 0; i < MOST; i++) counts[i] = 1 + 10000000 / (i + 1); /* Zipf's law */
  expect_shares(counts, MOST, 0.75);
  cq_random random = cq_random_seeded(4, 0);
  for (uint32_t n = 1; n < 60; n++) {
    for (uint32_t i = 0; i < n; i++) counts[i] = 1 + cq_random_below(&random, (uint64_t)1 << (1 + i % 40));
    expect_shares(counts, n, 0.75);
  }
}

static void draws_follow_the_table(void **state) {
  (void)state;
  enum { N = 200000 };
  const uint64_t counts[] = {81, 16, 1, 0}; /* to the power 3/4: 27, 8, 1, 0 */
  cq_random random = cq_random_seeded(9, 1), same = random;
  size_t drawn[4] = {0};
  cq_negatives t;
  assert_int_equal(cq_negatives_open(&t, counts, 4, 0.75, NULL), CQ_OK);
  for (int i = 0; i < N; i++) {
    const uint32_t word = cq_negatives_draw(&t, &random);
    drawn[word]++;
    assert_int_equal(cq_negatives_draw(&t, &same), word);
  }
  assert_float_equal((double)drawn[0] / N, 27.0 / 36, 0.006); /* six deviations */
  assert_float_equal((double)drawn[1] / N, 8.0 / 36, 0.006);
  assert_float_equal((double)drawn[2] / N, 1.0 / 36, 0.003);
  assert_int_equal(drawn[3], 0);
  cq_negatives_close(&t);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  const uint64_t counts[] = {3, 2, 1};
  for (long n = 1;; n++) {
    cq_negatives t;
    cq_alloc_fail_at(n);
    const cq_status status = cq_negatives_open(&t, counts, 3, 0.75, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    cq_negatives_close(&t);
    if (!failed) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shares_are_exact),
      cmocka_unit_test(draws_follow_the_table),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
