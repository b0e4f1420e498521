/* F1, by hand. */
#include "golden.h"

#include "base/memory.h"
#include "calque/eval.h"

#include <math.h>

static void a_curve_by_hand(void **state) {
  (void)state;
  /* sorted: 5 right, 4 wrong, 3 right + 3 wrong (a tie), 1 right; 4 gold pairs, one of them not found */
  const double scores[] = {3, 5, 1, 4, 3};
  const bool correct[] = {true, true, true, false, false};
  cq_f1_point *curve;
  size_t n;
  assert_int_equal(cq_f1_curve(&curve, &n, scores, correct, 5, 4, NULL), CQ_OK);
  assert_int_equal(n, 4);
  const double thresholds[] = {4.5, 3.5, 2, 1}, precisions[] = {1, 0.5, 0.5, 0.6}, recalls[] = {0.25, 0.25, 0.5, 0.75};
  for (size_t i = 0; i < n; i++) {
    assert_float_equal(curve[i].threshold, thresholds[i], 1e-15);
    assert_float_equal(curve[i].precision, precisions[i], 1e-15);
    assert_float_equal(curve[i].recall, recalls[i], 1e-15);
    cq_f1_point same;
    cq_f1_at(&same, curve[i].threshold, scores, correct, 5, 4);
    assert_float_equal(same.f1, curve[i].f1, 1e-15);
    assert_int_equal(same.n_taken, curve[i].n_taken);
  }
  cq_f1_point best;
  cq_f1_best(&best, curve, n);
  assert_float_equal(best.threshold, 1, 0);
  assert_float_equal(best.f1, 2 * 0.6 * 0.75 / 1.35, 1e-15);
  cq_free(curve);
}

static void ends_and_errors(void **state) {
  (void)state;
  cq_f1_point *curve, point;
  size_t n = 9;
  const double up = nextafter(1, 2), scores[] = {1, up}, bad[] = {NAN};
  const bool correct[] = {false, true};
  cq_error error = {0};
  assert_int_equal(cq_f1_curve(&curve, &n, scores, correct, 0, 3, NULL), CQ_OK);
  assert_null(curve);
  assert_int_equal(n, 0);
  cq_f1_best(&point, curve, n);
  assert_float_equal(point.f1, 0, 0);
  /* There is no number between the two. */
  assert_int_equal(cq_f1_curve(&curve, &n, scores, correct, 2, 1, NULL), CQ_OK);
  cq_f1_at(&point, curve[0].threshold, scores, correct, 2, 1);
  assert_true(curve[0].threshold == up && point.n_taken == 1);
  cq_free(curve);
  /* Nothing correct, no gold. */
  assert_int_equal(cq_f1_curve(&curve, &n, scores, (bool[]){false, false}, 2, 0, NULL), CQ_OK);
  cq_f1_best(&point, curve, n);
  assert_float_equal(point.f1, 0, 0);
  cq_free(curve);
  assert_int_equal(cq_f1_curve(&curve, &n, bad, correct, 1, 1, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "F1: score 1 is not a number");
  assert_int_equal(cq_f1_curve(&curve, &n, scores, (bool[]){true, true}, 2, 1, &error), CQ_ERR_ARGUMENT);
  for (int i = 1; i <= 2; i++) {
    cq_alloc_fail_at(i);
    assert_int_equal(cq_f1_curve(&curve, &n, scores, correct, 2, 1, &error), CQ_ERR_MEMORY);
    cq_alloc_fail_at(0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_curve_by_hand), cmocka_unit_test(ends_and_errors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
