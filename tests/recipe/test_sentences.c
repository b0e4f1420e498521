/* Corpora: plain lines and lines with ids, repeated sentences, and what is malformed. */
#include "support/files.h"

#include "base/memory.h"
#include "base/slice.h"
#include "recipe/encode/sentences.h"

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(repeated_sentences_are_one),
      cmocka_unit_test(ids_are_found),
      cmocka_unit_test(bad_lines_are_named),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
