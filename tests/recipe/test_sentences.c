/* Corpora: plain lines and lines with ids, repeated sentences, and what is malformed. */
#include "support/files.h"

#include "base/memory.h"
#include "base/slice.h"
#include "calque/mine.h"
#include "recipe/encode/sentences.h"

#include <math.h>

static const char *written(const char *name, const char *text) {
  const char *path = test_path(name);
  write_text(path, text);
  return path;
}

static bool is(cq_slice slice, const char *text) {
  return cq_slice_equal(slice, cq_slice_of(text));
}

static void repeated_sentences_are_one(void **state) {
  (void)state;
  cq_sentences c;
  assert_int_equal(cq_sentences_read(&c, written("plain", "One.\nTwo.\n\nOne.\n \nThree.\nTwo.\n"), false, NULL),
                   CQ_OK);
  assert_int_equal(c.n, 3);
  assert_int_equal(c.n_lines, 5);
  assert_int_equal(c.n_blank, 2);
  assert_null(c.ids);
  assert_true(is(c.sentences[0], "One.") && is(c.sentences[1], "Two.") && is(c.sentences[2], "Three."));
  const uint32_t lines[] = {0, 2, 1, 4, 3};
  const size_t starts[] = {0, 2, 4, 5};
  assert_memory_equal(c.lines, lines, sizeof lines);
  assert_memory_equal(c.starts, starts, sizeof starts);
  cq_sentences_free(&c);
}

static void ids_are_found(void **state) {
  (void)state;
  cq_sentences c;
  assert_int_equal(cq_sentences_read(&c, written("ids", "x1\tOne.\nx2\tOne.\nx3\t\nx4\tA\ttab.\n"), false, NULL),
                   CQ_OK);
  assert_int_equal(c.n, 2);
  assert_int_equal(c.n_lines, 3);
  assert_int_equal(c.n_blank, 1);
  assert_true(is(c.sentences[1], "A\ttab."));
  assert_true(is(c.ids[2], "x4"));
  assert_int_equal(cq_map_get(&c.line_of, cq_slice_of("x4")), 2);
  cq_sentences_free(&c);
}

static void bad_lines_are_named(void **state) {
  (void)state;
  const struct {
    const char *text;
    cq_status status;
    uint64_t line;
    size_t n_with_skipping;
  } cases[] = {
      {"x1\tOne.\nTwo.\n", CQ_ERR_FORMAT, 2, 1},
      {"x1\tOne.\nx1\tTwo.\nx2\tThree.\n", CQ_ERR_FORMAT, 2, 2},
      {"x1\tOne.\n\tTwo.\n", CQ_ERR_FORMAT, 2, 1},
      {"One.\n\xff\nTwo.\n", CQ_ERR_FORMAT, 2, 2},
      {"", CQ_ERR_ARGUMENT, 0, 0},
      {"\n\n", CQ_ERR_ARGUMENT, 0, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_sentences c;
    cq_error error = {0};
    const char *path = written("bad", cases[i].text);
    assert_int_equal(cq_sentences_read(&c, path, false, &error), cases[i].status);
    assert_int_equal(error.line, cases[i].line);
    assert_non_null(strstr(error.message, "bad"));
    cq_sentences_free(&c);
    const cq_status status = cq_sentences_read(&c, path, true, &error);
    assert_int_equal(status, cases[i].n_with_skipping ? CQ_OK : CQ_ERR_ARGUMENT);
    assert_int_equal(c.n, cases[i].n_with_skipping);
    cq_sentences_free(&c);
  }
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  const char *path = written("small", "x1\tOne.\nx2\tOne.\nx3\tTwo.\n");
  for (long n = 1;; n++) {
    cq_sentences c;
    cq_alloc_fail_at(n);
    const cq_status status = cq_sentences_read(&c, path, false, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    cq_sentences_free(&c);
    if (!failed) break;
  }
}

/* --- pairs beside gold --- */

static void labelled_pairs_are_read_and_judged(void **state) {
  (void)state;
  char gold[400]; /* test_path's own are used up below */
  snprintf(gold, sizeof gold, "%s", written("gold", "a\tx\nb\ty\nc\tz\n"));
  const char *pairs = written("pairs", "0.5\tb\tx\t0.9\tB.\tX.\n1.5\ta\tx\t0.8\tA.\tX.\n-1\tc\tz\t0.7\tC.\tZ.\n");
  cq_labeled l;
  cq_f1_point *curve, point;
  size_t n;
  assert_int_equal(cq_labelled_read(&l, gold, pairs, NULL), CQ_OK);
  assert_int_equal(l.n, 3);
  assert_int_equal(l.n_gold, 3);
  assert_true(l.has_cosines && l.pairs[0].correct && !l.pairs[1].correct && l.pairs[2].correct);
  assert_true(is(l.pairs[1].source, "B.") && is(l.pairs[2].target_id, "z"));
  assert_int_equal(cq_labelled_curve(&curve, &n, &l, false, NULL), CQ_OK);
  assert_int_equal(n, 3);
  cq_f1_best(&point, curve, n);
  assert_float_equal(point.f1, 2.0 / 3, 1e-12); /* all three taken, two right */
  cq_free(curve);
  assert_int_equal(cq_labelled_at(&point, &l, true, 0.75, NULL), CQ_OK);
  assert_int_equal(point.n_taken, 2);
  assert_int_equal(point.n_correct, 1);
  cq_labelled_free(&l);
  const char *const bad[] = {"0.5\tb\n", "half\tb\tx\n", "1\tb\tx\n1\tb\tx\n", "1\tb\tx\tnan\n", "1\ta\tb\tc\td\n"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    cq_error error = {0};
    assert_int_equal(cq_labelled_read(&l, gold, written("bad-pairs", bad[i]), &error), CQ_ERR_FORMAT);
    assert_int_equal(error.line, i == 2 ? 2 : 1);
  }
  assert_int_equal(cq_labelled_read(&l, written("bad-gold", "a\tx\nonly\n"), pairs, NULL), CQ_ERR_FORMAT);
  assert_int_equal(cq_labelled_read(&l, gold, written("few", "1\ta\tx\n"), NULL), CQ_OK);
  assert_int_equal(cq_labelled_at(&point, &l, true, 0.75, NULL), CQ_ERR_ARGUMENT); /* no cosines */
  cq_labelled_free(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(repeated_sentences_are_one),
      cmocka_unit_test(ids_are_found),
      cmocka_unit_test(bad_lines_are_named),
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(labelled_pairs_are_read_and_judged),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
