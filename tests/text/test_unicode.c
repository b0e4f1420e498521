/* Properties and transformations of text, on examples from the Unicode standard and on every character. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "text/unicode.h"

static void expect(cq_builder *out, const char *expected) {
  assert_false(out->failed);
  assert_string_equal(out->data ? out->data : "", expected);
  cq_builder_free(out);
}

static void test_normal_forms(void **state) {
  (void)state;
  static const struct {
    const char *text, *nfc, *nfd, *nfkc, *nfkd;
  } cases[] = {
      {"", "", "", "", ""},
      {"plain", "plain", "plain", "plain", "plain"},
      {"é", "é", "e\xCC\x81", "é", "e\xCC\x81"},
      {"e\xCC\x81", "é", "e\xCC\x81", "é", "e\xCC\x81"},
      {"ﬁ①", "ﬁ①", "ﬁ①", "fi1", "fi1"},
      {"가", "가", "\xE1\x84\x80\xE1\x85\xA1", "가", "\xE1\x84\x80\xE1\x85\xA1"},
      /* marks are put in order: acute (230) and dot below (220) */
      {"e\xCC\x81\xCC\xA3", "\xE1\xBA\xB9\xCC\x81", "e\xCC\xA3\xCC\x81", "\xE1\xBA\xB9\xCC\x81", "e\xCC\xA3\xCC\x81"},
      {"\xE1\xBA\x9B\xCC\xA3", "\xE1\xBA\x9B\xCC\xA3", "\xC5\xBF\xCC\xA3\xCC\x87", "\xE1\xB9\xA9", "s\xCC\xA3\xCC\x87"},
      {"Å", "Å", "A\xCC\x8A", "Å", "A\xCC\x8A"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *expected[] = {cases[i].nfc, cases[i].nfd, cases[i].nfkc, cases[i].nfkd};
    for (int form = CQ_NFC; form <= CQ_NFKD; form++) {
      cq_builder out = {0};
      cq_text_normal_form(&out, cq_slice_of(cases[i].text), (cq_normal_form)form);
      expect(&out, expected[form]);
    }
  }
}

/* A normal form is a fixed point of itself, for every character. */
static void test_normal_forms_of_all(void **state) {
  (void)state;
  for (uint32_t c = 1; c < 0x30000; c++) {
    if (c >= 0xD800 && c < 0xE000) continue;
    char bytes[8] = "a";
    size_t n = 1 + cq_utf8_encode(bytes + 1, c);
    for (int form = CQ_NFC; form <= CQ_NFKD; form++) {
      cq_builder once = {0}, twice = {0};
      cq_text_normal_form(&once, (cq_slice){bytes, n}, (cq_normal_form)form);
      cq_text_normal_form(&twice, (cq_slice){once.data, once.n}, (cq_normal_form)form);
      assert_int_equal(once.n, twice.n);
      assert_memory_equal(once.data, twice.data, once.n);
      cq_builder_free(&once);
      cq_builder_free(&twice);
    }
  }
}

static void test_lower(void **state) {
  (void)state;
  cq_builder out = {0};
  cq_text_lower(&out, cq_slice_of("ABC ÄÖ ΣΑΣ İI ẞ ДЖ 漢"));
  expect(&out, "abc äö σασ i\xCC\x87i ß дж 漢");
  cq_text_lower_in_context(&out, cq_slice_of("ΣΑΣ. ΣΑΣΑ Σ ΑΣ'Α ΑΣ'"));
  expect(&out, "σας. σασα σ ασ'α ας'");
}

static void test_strip(void **state) {
  (void)state;
  cq_builder out = {0};
  cq_text_strip_marks(&out, cq_slice_of("e\xCC\x81 a\xCC\x8A"));
  expect(&out, "e a");
}

static void test_bert(void **state) {
  (void)state;
  cq_bert_rules uncased = {true, true, true, true}, cased = {true, true, false, false};
  cq_builder out = {0};
  cq_text_bert(&out, cq_slice_of("Héllo\tWÖRLD\x01 漢字x\xEF\xBF\xBD\xC2\xAD"), &uncased);
  expect(&out, "hello world  漢  字 x");
  cq_text_bert(&out, cq_slice_of("Héllo\tWÖRLD\x01 漢字x"), &cased);
  expect(&out, "Héllo WÖRLD  漢  字 x");
}

static void test_graphemes(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t n;
  } cases[] = {{"ab", 1}, {"\r\n", 2}, {"\r\r", 1}, {"e\xCC\x81x", 3}, {"🇩🇪🇫🇷", 8}, {"👩‍👧x", 11}, {"한", 3}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(cq_grapheme_length(cases[i].text, strlen(cases[i].text)), cases[i].n);
}

static void test_properties(void **state) {
  (void)state;
  assert_true(cq_char_is_whitespace(' ') && cq_char_is_whitespace(0x3000) && cq_char_is_whitespace(0x85));
  assert_false(cq_char_is_whitespace(0x200B) || cq_char_is_whitespace('x'));
  assert_true(cq_char_is_bert_punctuation('$') && cq_char_is_bert_punctuation('`') &&
              cq_char_is_bert_punctuation(0x3002));
  assert_false(cq_char_is_bert_punctuation(' ') || cq_char_is_bert_punctuation(0x7F) ||
               cq_char_is_bert_punctuation(0x20AC));
  assert_true(cq_char_is_punctuation('!') && !cq_char_is_punctuation('$'));
  assert_true(cq_char_is_symbol('$') && cq_char_is_symbol('^') && cq_char_is_symbol(0x2103) && !cq_char_is_symbol('!'));
  assert_true(cq_char_is_cjk(0x4E00) && cq_char_is_cjk(0x3400) && cq_char_is_cjk(0x2F800));
  assert_false(cq_char_is_cjk(0x3042) || cq_char_is_cjk(0xAC00) || cq_char_is_cjk('a') || cq_char_is_cjk(0x4DC0));
  assert_true(cq_char_is_letter('z') && cq_char_is_letter(0x436) && cq_char_is_number(0xBD) && cq_char_is_number('7'));
  assert_true(cq_char_is_word('_') && cq_char_is_word(0x301) && !cq_char_is_word('-'));
  assert_true(cq_char_is_nonspacing_mark(0x301) && !cq_char_is_nonspacing_mark(0x903) && cq_char_is_mark(0x903));
  /* came after Unicode 8 */
  assert_true(cq_char_is_punctuation(0x9FD) && !cq_char_is_bert_punctuation(0x9FD) &&
              cq_char_is_bert_punctuation(0x964));
  assert_true(cq_char_is_nonspacing_mark(0x8D3) && !cq_char_is_bert_accent(0x8D3) && cq_char_is_bert_accent(0x301));
  assert_true(cq_char_is_other(0x8E2) && !cq_char_is_bert_control(0x8E2) && cq_char_is_bert_control(0xAD));
  assert_true(cq_char_is_other(0xAD) && cq_char_is_other(0xE000) && !cq_char_is_other('a'));
}

/* Allocations that fail leave a mark, not a crash. */
static void test_memory(void **state) {
  (void)state;
  cq_bert_rules rules = {true, true, true, true};
  for (long n = 1; n < 8; n++) {
    cq_builder out = {0};
    cq_alloc_fail_at(n);
    cq_text_normal_form(&out, cq_slice_of("é ﬁ 漢字 and some more that needs to grow"), CQ_NFKC);
    cq_text_bert(&out, cq_slice_of("é \xE0\xA4\x95\xE0\xA4\xBC and some more"), &rules);
    cq_text_lower(&out, cq_slice_of("ABC"));
    bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(out.failed, failed);
    cq_builder_free(&out);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_normal_forms), cmocka_unit_test(test_normal_forms_of_all),
      cmocka_unit_test(test_lower),        cmocka_unit_test(test_strip),
      cmocka_unit_test(test_bert),         cmocka_unit_test(test_graphemes),
      cmocka_unit_test(test_properties),   cmocka_unit_test(test_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
