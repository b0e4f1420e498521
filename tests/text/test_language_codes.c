/* Codes of the same language, by the tables of ISO 639. */
#include "text/language_codes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* All codes of the tag's language, with commas. */
static const char *codes_of(const char *tag) {
  static char text[64];
  char codes[CQ_LANGUAGE_CODES][CQ_LANGUAGE_LETTERS];
  size_t n_code;
  const size_t n = cq_language_codes(codes, &n_code, tag, strlen(tag));
  *text = '\0';
  for (size_t i = 0; i < n; i++) strcat(strcat(text, i ? "," : ""), codes[i]);
  assert_true(n == 0 || n_code == strcspn(tag, "-_"));
  return text;
}

static void all_codes_of_a_language(void **state) {
  (void)state;
  const char *const german[] = {"de", "deu", "ger", "DE", "Deu", "de-AT", "deu_Latn", "GER-1901"};
  for (size_t i = 0; i < sizeof german / sizeof *german; i++) assert_string_equal(codes_of(german[i]), "de,deu,ger");
  assert_string_equal(codes_of("fra"), "fr,fra,fre");
  assert_string_equal(codes_of("zho-Hant"), "zh,zho,chi");
  assert_string_equal(codes_of("swa"), "sw,swa");
  assert_string_equal(codes_of("heb"), "he,heb,iw");
  assert_string_equal(codes_of("iw"), "he,heb,iw");
  assert_string_equal(codes_of("in"), "id,ind,in");
}

static void languages_of_their_own(void **state) {
  (void)state;
  assert_string_equal(codes_of("nb"), "nb,nob"); /* Norwegian is no and nor */
  assert_string_equal(codes_of("no"), "no,nor");
  assert_string_equal(codes_of("cmn"), "cmn");
  assert_string_equal(codes_of("fil"), "fil");
  assert_string_equal(codes_of("mul"), "mul");
  assert_string_equal(codes_of("und"), "und");
  assert_string_equal(codes_of("xx"), "xx");
}

static void no_codes(void **state) {
  (void)state;
  const char *const bad[] = {"", "d", "d-AT", "-de", "de1", "de.AT", "german", "none", " de", "\xc3\xa4h"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_string_equal(codes_of(bad[i]), "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_codes_of_a_language),
      cmocka_unit_test(languages_of_their_own),
      cmocka_unit_test(no_codes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
