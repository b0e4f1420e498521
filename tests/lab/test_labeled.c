/* Scored pairs against a gold file, and what is malformed in either. */
#include "support/files.h"

#include "base/memory.h"
#include "base/slice.h"
#include "calque/lab/labeled.h"

static const char *written(const char *name, const char *text) {
  const char *path = test_path(name);
  write_text(path, text);
  return path;
}

static bool is(cq_slice slice, const char *text) {
  return cq_slice_equal(slice, cq_slice_of(text));
}

static void labeled_pairs_are_read_and_judged(void **state) {
  (void)state;
  char gold[400]; /* test_path's own are used up below */
  snprintf(gold, sizeof gold, "%s", written("gold", "a\tx\nb\ty\nc\tz\n"));
  const char *pairs = written("pairs", "0.5\tb\tx\t0.9\tB.\tX.\n1.5\ta\tx\t0.8\tA.\tX.\n-1\tc\tz\t0.7\tC.\tZ.\n");
  cq_labeled l;
  cq_f1_point *curve, point;
  size_t n;
  assert_int_equal(cq_labeled_read(&l, gold, pairs, NULL), CQ_OK);
  assert_int_equal(l.n, 3);
  assert_int_equal(l.n_gold, 3);
  assert_true(l.has_cosines && l.pairs[0].correct && !l.pairs[1].correct && l.pairs[2].correct);
  assert_true(is(l.pairs[1].source, "B.") && is(l.pairs[2].target_id, "z"));
  assert_int_equal(cq_labeled_curve(&curve, &n, &l, false, NULL), CQ_OK);
  assert_int_equal(n, 3);
  cq_f1_best(&point, curve, n);
  assert_float_equal(point.f1, 2.0 / 3, 1e-12); /* all three taken, two right */
  cq_free(curve);
  assert_int_equal(cq_labeled_at(&point, &l, true, 0.75, NULL), CQ_OK);
  assert_int_equal(point.n_taken, 2);
  assert_int_equal(point.n_correct, 1);
  cq_labeled_free(&l);
  const char *const bad[] = {"0.5\tb\n", "half\tb\tx\n", "1\tb\tx\n1\tb\tx\n", "1\tb\tx\tnan\n", "1\ta\tb\tc\td\n"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    cq_error error = {0};
    assert_int_equal(cq_labeled_read(&l, gold, written("bad-pairs", bad[i]), &error), CQ_ERR_FORMAT);
    assert_int_equal(error.line, i == 2 ? 2 : 1);
  }
  assert_int_equal(cq_labeled_read(&l, written("bad-gold", "a\tx\nonly\n"), pairs, NULL), CQ_ERR_FORMAT);
  assert_int_equal(cq_labeled_read(&l, gold, written("few", "1\ta\tx\n"), NULL), CQ_OK);
  assert_int_equal(cq_labeled_at(&point, &l, true, 0.75, NULL), CQ_ERR_ARGUMENT); /* no cosines */
  cq_labeled_free(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(labeled_pairs_are_read_and_judged),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
