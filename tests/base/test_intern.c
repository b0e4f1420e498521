/* Equal strings, one number: against a plain list, with numbers that stay and memory that runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/intern.h"
#include "base/memory.h"

static void equal_strings_have_one_number(void **state) {
  (void)state;
  static const char *const texts[] = {"river", "", "a", "riverbank", "a", "river", "RIVER", ""};
  static const uint32_t ids[] = {0, 1, 2, 3, 2, 0, 4, 1};
  cq_intern intern = {0};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    assert_int_equal(cq_intern_put(&intern, cq_slice_of(texts[i])), ids[i]);
  assert_int_equal(intern.n, 5);
  assert_int_equal(cq_intern_find(&intern, cq_slice_of("riverbank")), 3);
  assert_int_equal(cq_intern_find(&intern, (cq_slice){"riverbank", 5}), 0);
  assert_int_equal(cq_intern_find(&intern, (cq_slice){NULL, 0}), 1);
  assert_int_equal(cq_intern_find(&intern, cq_slice_of("rive")), CQ_INTERN_NONE);
  assert_true(cq_slice_equal(intern.items[3], cq_slice_of("riverbank")));
  cq_intern_free(&intern);
}

static void bytes_are_not_text(void **state) {
  (void)state;
  cq_intern intern = {0};
  assert_int_equal(cq_intern_put(&intern, (cq_slice){"a\0b", 3}), 0);
  assert_int_equal(cq_intern_put(&intern, (cq_slice){"a\0c", 3}), 1);
  assert_int_equal(cq_intern_put(&intern, (cq_slice){"a", 1}), 2);
  assert_int_equal(cq_intern_put(&intern, (cq_slice){"\xFF", 1}), 3);
  assert_memory_equal(intern.items[1].data, "a\0c", 3);
  cq_intern_free(&intern);
}

/* What was given may change afterwards; numbers and strings stay when the tables grow. */
static void many_strings_stay(void **state) {
  (void)state;
  enum { N = 5000 };
  cq_intern intern = {0};
  char text[32];
  for (int round = 0; round < 2; round++)
    for (uint32_t i = 0; i < N; i++) {
      snprintf(text, sizeof text, "word %u", i * 7919u);
      assert_int_equal(cq_intern_put(&intern, cq_slice_of(text)), i);
    }
  assert_int_equal(intern.n, N);
  for (uint32_t i = 0; i < N; i++) {
    snprintf(text, sizeof text, "word %u", i * 7919u);
    assert_true(cq_slice_equal(intern.items[i], cq_slice_of(text)));
    assert_int_equal(cq_intern_find(&intern, cq_slice_of(text)), i);
  }
  cq_intern_free(&intern);
}

static void an_empty_one_has_nothing(void **state) {
  (void)state;
  cq_intern intern = {0};
  assert_int_equal(cq_intern_find(&intern, cq_slice_of("")), CQ_INTERN_NONE);
  cq_intern_free(&intern);
  assert_int_equal(cq_intern_put(&intern, cq_slice_of("x")), 0);
  cq_intern_free(&intern); /* it may be used again, and freed twice */
  cq_intern_free(&intern);
  assert_true(intern.n == 0 && !intern.items);
}

/* A put that fails takes no number, and those before it stay. */
static void failed_allocations_are_reported(void **state) {
  (void)state;
  for (long n = 1;; n++) {
    cq_intern intern = {0};
    uint32_t done = 0;
    char text[16];
    cq_alloc_fail_at(n);
    for (; done < 100; done++) {
      snprintf(text, sizeof text, "%u", done);
      if (cq_intern_put(&intern, cq_slice_of(text)) == CQ_INTERN_NONE) break;
    }
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(done < 100, failed);
    assert_int_equal(intern.n, done);
    for (uint32_t i = 0; i < done; i++) {
      snprintf(text, sizeof text, "%u", i);
      assert_int_equal(cq_intern_find(&intern, cq_slice_of(text)), i);
    }
    snprintf(text, sizeof text, "%u", done);
    assert_int_equal(cq_intern_put(&intern, cq_slice_of(text)), done);
    cq_intern_free(&intern);
    if (!failed) {
      assert_true(n > 4);
      break;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_strings_have_one_number),
      cmocka_unit_test(bytes_are_not_text),
      cmocka_unit_test(many_strings_stay),
      cmocka_unit_test(an_empty_one_has_nothing),
      cmocka_unit_test(failed_allocations_are_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
