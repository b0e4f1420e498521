/* Numbers in text: what is one. */
#include "support/files.h"

#include "base/slice.h"

static void numbers_fill_their_text(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double value;
  } good[] = {{"0", 0}, {"-1.5", -1.5}, {"+2e3", 2000}, {".5", 0.5}, {"1e-320", 1e-320}, {"12.", 12}};
  static const char *const bad[] = {"", " 1", "1 ", "nan", "inf", "0x10", "1e999", "-", "1.2.3", "1,5", "1e", "--1"};
  double value = 7;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    assert_true(cq_slice_number(&value, cq_slice_of(good[i].text)));
    assert_true(value == good[i].value);
  }
  value = 7;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(cq_slice_number(&value, cq_slice_of(bad[i])));
  assert_true(value == 7);
  assert_true(cq_slice_number(&value, (cq_slice){"3.25 and more", 4}));
  assert_true(value == 3.25);
}

static void slices_and_builders_go_together(void **state) {
  cq_builder b = {0};
  (void)state;
  assert_true(cq_built(&b).data && cq_built(&b).n == 0);
  cq_builder_slice(&b, cq_slice_of("before"));
  assert_true(cq_slice_equal(cq_built(&b), cq_slice_of("before")));
  assert_true(cq_slice_begins(cq_built(&b), cq_slice_of("be")) && cq_slice_begins(cq_built(&b), cq_slice_of("")));
  assert_false(cq_slice_begins(cq_built(&b), cq_slice_of("for")) || cq_slice_begins(cq_slice_of("be"), cq_built(&b)));
  cq_builder_free(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_fill_their_text),
                                     cmocka_unit_test(slices_and_builders_go_together)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
