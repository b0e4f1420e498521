/* The precision of mined pairs, estimated by decoys: by hand, and where the truth is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "calque/mine.h"

#include <math.h>
#include <stdlib.h>

/* 4 sources, 8 targets. Down to 2.5 there is no decoy. At 2 there is one of the sources, of 4 rows, while 2 pairs have left
 * 2 of the 4 free: 2/4; the one of the targets at 2.2 gives 2/8, which is less. At 1 one of 4 is free: of the sources the
 * second, of 2 rows that the first left, gives 1/2 more, one and a half times; of the targets come 1/6, 1/4 and 1/2, each
 * more than once, which is more. */
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
  assert_float_equal(precision[2], 1 - 0.25 / 3, 1e-12);
  assert_float_equal(precision[3], 1 - 1.25 / 4, 1e-12);
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

static double nearest_of(cq_random *rng, int n) {
  double nearest = -HUGE_VAL;
  for (int i = 0; i < n; i++) nearest = fmax(nearest, 1.05 + 0.08 * cq_random_normal(rng));
  return nearest;
}

enum { N_ROWS = 6000 };

/* n_true of 6,000 sentences have a translation, whose scores are higher; the scores of the others are of one
 * distribution. Within a text, where each row goes into one pair, it is the nearest of n_nearer. All are in pairs. */
static void estimate(double *precision, double *truth, uint32_t n_true, int n_nearer) {
  static cq_mined_pair pairs[N_ROWS], within[2][N_ROWS / 2];
  cq_random rng = cq_random_seeded(11, 0);
  for (uint32_t i = 0; i < N_ROWS; i++)
    pairs[i] =
        (cq_mined_pair){.source = i, .score = i < n_true ? 1.35 + 0.08 * cq_random_normal(&rng) : nearest_of(&rng, 1)};
  for (uint32_t i = 0; i < N_ROWS; i++) within[i % 2][i / 2].score = nearest_of(&rng, n_nearer);
  qsort(pairs, N_ROWS, sizeof *pairs, by_score);
  for (int side = 0; side < 2; side++) qsort(within[side], N_ROWS / 2, sizeof *within[side], by_score);
  const cq_decoys decoys[2] = {{within[0], N_ROWS / 2, N_ROWS}, {within[1], N_ROWS / 2, N_ROWS}};
  cq_margin_precision(precision, pairs, N_ROWS, decoys);
  for (size_t i = 0, n_found = 0; i < N_ROWS; i++) {
    n_found += pairs[i].source < n_true;
    truth[i] = (double)n_found / (double)(i + 1);
    assert_true(i == 0 || precision[i] <= precision[i - 1]);
  }
}

static void where_the_truth_is_known(void **state) {
  (void)state;
  static double precision[N_ROWS], truth[N_ROWS];
  /* Sentences of one language are nearer to one another than to those of another: it never promises too much, and while
   * most pairs are true hardly too little. */
  estimate(precision, truth, 2000, 2);
  for (size_t i = 200; i < N_ROWS; i++) assert_true(precision[i] <= truth[i] + 0.02);
  for (size_t i = 200; i < N_ROWS && truth[i] > 0.75; i++) assert_float_equal(precision[i], truth[i], 0.05);
  estimate(precision, truth, 5900, 2);
  assert_true(precision[N_ROWS - 1] > 0.95);
  /* They are not: down to where half of the pairs are true it promises a fifth too much at most. Texts with nothing in
   * common: nearly all pairs are false. */
  estimate(precision, truth, 2000, 1);
  for (size_t i = 200; i < N_ROWS && truth[i] > 0.5; i++) assert_float_equal(precision[i], truth[i], 0.2);
  estimate(precision, truth, 0, 1);
  assert_true(precision[N_ROWS - 1] < 0.3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(by_hand), cmocka_unit_test(edges),
                                     cmocka_unit_test(where_the_truth_is_known)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
