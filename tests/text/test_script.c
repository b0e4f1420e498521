/* Scripts of characters and of words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text/script.h"

static int of(const char *text) {
  return cq_script_of(cq_slice_of(text));
}

static void characters(void **state) {
  (void)state;
  assert_int_equal(cq_char_script('a'), cq_char_script(0x1E9E)); /* capital sharp s */
  assert_int_equal(cq_char_script(0x416), cq_char_script(0x45F));
  assert_int_not_equal(cq_char_script('a'), cq_char_script(0x430)); /* the Cyrillic one */
  assert_int_not_equal(cq_char_script(0x915), cq_char_script(0x995));
  assert_int_equal(cq_char_script(0x3042), cq_char_script(0x30A2)); /* hiragana, katakana */
  assert_int_equal(cq_char_script(0x3042), cq_char_script(0x4E00)); /* and Han */
  assert_int_not_equal(cq_char_script(0xAC00), cq_char_script(0x4E00));
  static const uint32_t common[] = {0, 7, 0x37, 0x20, 0x2E, 0x301, 0xD800, 0x110000, UINT32_MAX};
  for (size_t i = 0; i < sizeof common / sizeof *common; i++)
    assert_int_equal(cq_char_script(common[i]), CQ_SCRIPT_NONE);
  for (uint32_t c = 0; c < 0x110000; c++) assert_in_range(cq_char_script(c), 0, CQ_N_SCRIPTS - 1);
}

static void words(void **state) {
  (void)state;
  assert_int_equal(of(""), CQ_SCRIPT_NONE);
  assert_int_equal(of("12.7 %"), CQ_SCRIPT_NONE);
  assert_int_equal(of("e\xCC\x81t\xC3\xA9"), cq_char_script('e'));
  assert_int_equal(of("мир-x"), cq_char_script(0x43C));
  assert_int_equal(of("xx-я"), cq_char_script('x'));
  assert_int_equal(of("xя"), cq_char_script('x')); /* as many of both */
  assert_int_equal(of("яx"), cq_char_script(0x44F));
  assert_int_equal(of("\xFF\xFE"), CQ_SCRIPT_NONE);
  assert_int_equal(of("テスト"), of("漢字"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(characters), cmocka_unit_test(words)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
