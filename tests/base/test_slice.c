/* Numbers in text: what is one, whatever the locale. */
#include "support/files.h"

#include "base/slice.h"

#include <locale.h>

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

/* Where a comma is the decimal point, if such a locale is installed. */
static void the_locale_does_not_matter(void **state) {
  (void)state;
  double value;
  if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8")) skip();
  assert_true(cq_slice_number(&value, cq_slice_of("1.5")));
  assert_true(value == 1.5);
  assert_false(cq_slice_number(&value, cq_slice_of("1,5")));
  setlocale(LC_NUMERIC, "C");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_fill_their_text),
                                     cmocka_unit_test(the_locale_does_not_matter)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
