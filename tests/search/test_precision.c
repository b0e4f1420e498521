/* The precision of mined pairs, estimated by decoys: by hand, and where the truth is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "calque/mine.h"

#include <stdlib.h>

/* 4 rows and 8 rows, so of the decoys of 8 each counts half: at a score of 3 no decoy; at 2 a quarter of a row's, or an
 * eighth, which is fewer: half a pair of 4 rows; at 1 a half of either. */
static void by_hand(void **state) {
  (void)state;
  const cq_mined_pair pairs[] = {{.score = 3}, {.score = 2.5}, {.score = 2}, {.score = 1}};
  const cq_mined_pair of_source[] = {{.score = 2}, {.score = 1.5}},
                      of_target[] = {{.score = 2.2}, {.score = 1.9}, {.score = 1.8}, {.score = 1}};
  const cq_decoys decoys[2] = {{of_source, 2, 4}, {of_target, 4, 8}};
  double precision[4];
  cq_margin_precision(precision, pairs, 4, decoys);
  assert_float_equal(precision[0], 1, 1e-12);
  assert_float_equal(precision[1], 1, 1e-12);
  assert_float_equal(precision[2], 1 - 0.5 / 3, 1e-12);
  assert_float_equal(precision[3], 1 - 2.0 / 4, 1e-12);
}

static void edges(void **state) {
  (void)state;
  const cq_mined_pair pairs[] = {{.score = 2}, {.score = 1}};
  const cq_mined_pair many[] = {{.score = 9}, {.score = 8}, {.score = 7}};
  const cq_decoys none[2] = {{NULL, 0, 2}, {NULL, 0, 5}}, of_one[2] = {{many, 3, 2}, {NULL, 0, 5}},
                  of_both[2] = {{many, 3, 2}, {many, 3, 2}};
  double precision[2] = {-1, -1};
  cq_margin_precision(precision, pairs, 0, none);
  assert_true(precision[0] == -1);
  cq_margin_precision(precision, pairs, 2, none);
  assert_true(precision[0] == 1 && precision[1] == 1);
  cq_margin_precision(precision, pairs, 2, of_one); /* the side with fewer */
  assert_true(precision[0] == 1 && precision[1] == 1);
  cq_margin_precision(precision, pairs, 2, of_both); /* more decoys than pairs */
  assert_true(precision[0] == 0 && precision[1] == 0);
}

static int by_score(const void *a, const void *b) {
  const double x = ((const cq_mined_pair *)a)->score, y = ((const cq_mined_pair *)b)->score;
  return (x < y) - (x > y);
}

/* A third of 6,000 sentences have a translation, whose scores are higher; the others, and all within a text, score alike. */
static void where_the_truth_is_known(void **state) {
  (void)state;
  enum { N = 6000, N_TRUE = 2000 };
  static cq_mined_pair pairs[N], within[2][N];
  static double precision[N];
  cq_random rng = cq_random_seeded(11, 0);
  for (uint32_t i = 0; i < N; i++) {
    pairs[i] = (cq_mined_pair){.source = i, .score = (i < N_TRUE ? 1.35 : 1.05) + 0.08 * cq_random_normal(&rng)};
    for (int side = 0; side < 2; side++) within[side][i].score = 1.05 + 0.08 * cq_random_normal(&rng);
  }
  qsort(pairs, N, sizeof *pairs, by_score);
  for (int side = 0; side < 2; side++) qsort(within[side], N, sizeof *within[side], by_score);
  const cq_decoys decoys[2] = {{within[0], N, N}, {within[1], N, N}};
  cq_margin_precision(precision, pairs, N, decoys);
  for (size_t i = 0, n_true = 0; i < N; i++) {
    n_true += pairs[i].source < N_TRUE;
    assert_true(i == 0 || precision[i] <= precision[i - 1]);
    if (i < 200) continue;
    /* All sentences count as rows of false pairs, those with a translation, too: the share of false pairs may come out
     * half too high. */
    const double truth = (double)n_true / (double)(i + 1), false_share = 1 - truth;
    assert_true(precision[i] <= truth + 0.02);
    assert_true(precision[i] >= 1 - 1.5 * false_share - 0.03);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(by_hand), cmocka_unit_test(edges),
                                     cmocka_unit_test(where_the_truth_is_known)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
