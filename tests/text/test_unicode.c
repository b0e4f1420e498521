/* Properties and transformations of text, on examples from the Unicode standard and on every character. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/utf8.h"
#include "text/unicode.h"

#include <unicode/ubrk.h>

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
    assert_int_equal(cq_text_is_composed(cq_slice_of(cases[i].text)), strcmp(cases[i].text, cases[i].nfc) == 0);
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
      if (form == CQ_NFC)
        assert_int_equal(cq_text_is_composed((cq_slice){bytes, n}), n == once.n && memcmp(bytes, once.data, n) == 0);
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

/* Runs of ASCII are seen eight bytes at a time: one character of note at every place of such a run. */
static void test_places_in_runs(void **state) {
  static const char notable[] = {'A', 'Z', '@', '[', ' ', '~', '\t', 0x1F, 0x7F};
  const cq_bert_rules rules = {true, false, false, false};
  (void)state;
  for (size_t n = 1; n < 20; n++)
    for (size_t at = 0; at < n; at++)
      for (size_t i = 0; i < sizeof notable; i++) {
        const char c = notable[i];
        char text[32] = {0}, lower[32] = {0}, clean[32] = {0};
        memset(text, 'b', n);
        text[at] = c;
        memcpy(lower, text, n);
        if (c == 'A' || c == 'Z') lower[at] = (char)(c + 32);
        memcpy(clean, text, n);
        if (c == '\t') clean[at] = ' ';
        if (c == 0x1F || c == 0x7F) memmove(clean + at, clean + at + 1, n - at);
        cq_builder out = {0};
        cq_text_lower(&out, cq_slice_of(text));
        expect(&out, lower);
        cq_text_bert_clean(&out, cq_slice_of(text), &rules);
        expect(&out, clean);
      }
}

static void test_strip(void **state) {
  (void)state;
  cq_builder out = {0};
  cq_text_strip_marks(&out, cq_slice_of("e\xCC\x81 a\xCC\x8A"));
  expect(&out, "e a");
}

static void bert(cq_builder *out, cq_slice text, const cq_bert_rules *rules) {
  cq_builder clean = {0}, form = {0};
  cq_text_bert_clean(rules->strip_accents ? &clean : out, text, rules);
  if (!rules->strip_accents) return;
  cq_text_normal_form(&form, (cq_slice){clean.data, clean.n}, CQ_NFD);
  cq_text_bert_strip(out, (cq_slice){form.data, form.n}, rules);
  out->failed |= clean.failed || form.failed;
  cq_builder_free(&clean);
  cq_builder_free(&form);
}

static void test_bert(void **state) {
  (void)state;
  cq_bert_rules uncased = {true, true, true, true}, cased = {true, true, false, false};
  cq_builder out = {0};
  bert(&out, cq_slice_of("Héllo\tWÖRLD\x01 漢字x\xEF\xBF\xBD\xC2\xAD"), &uncased);
  expect(&out, "hello world  漢  字 x");
  /* marks that stay are in order, whatever was dropped between them */
  bert(&out, cq_slice_of("x\xF0\x9E\xA5\x8A\x7F\xF0\x96\xBF\xB1"), &uncased);
  expect(&out, "x\xF0\x96\xBF\xB1\xF0\x9E\xA5\x8A");
  bert(&out, cq_slice_of("Héllo\tWÖRLD\x01 漢字x"), &cased);
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

/* Random sequences of characters from every class end where ICU's iterator says. */
static void test_graphemes_as_icu(void **state) {
  enum { MANY = 300000, LONGEST = 6 };
  static const uint32_t often[] = {'a',    '\r',   '\n',   0xAD,   0x301,   0x200D,  0x903,   0x600,  0x1100,
                                   0x1161, 0x11A8, 0xAC00, 0xAC01, 0x1F1E9, 0x1F466, 0x1F3FB, 0x2764, 0x1FD18};
  (void)state;
  UErrorCode code = U_ZERO_ERROR;
  UBreakIterator *icu = ubrk_open(UBRK_CHARACTER, "", NULL, 0, &code);
  assert_true(U_SUCCESS(code));
  cq_random random = cq_random_seeded(1, 2);
  for (int i = 0; i < MANY; i++) {
    char text[4 * LONGEST];
    size_t n = 0;
    for (uint64_t k = 1 + cq_random_below(&random, LONGEST); k > 0; k--) {
      uint32_t c = often[cq_random_below(&random, sizeof often / sizeof *often)];
      if (cq_random_below(&random, 3) == 0) c = (uint32_t)cq_random_below(&random, i % 2 ? 0x3100 : 0x20000);
      if (c < 0xD800 || c > 0xDFFF) n += cq_utf8_encode(text + n, c);
    }
    if (n == 0) continue;
    UText view = UTEXT_INITIALIZER;
    utext_openUTF8(&view, text, (int64_t)n, &code);
    ubrk_setUText(icu, &view, &code);
    assert_true(U_SUCCESS(code));
    if (cq_grapheme_length(text, n) != (size_t)ubrk_following(icu, 0)) {
      for (size_t k = 0; k < n; k++) print_error("%02X ", (unsigned char)text[k]);
      fail_msg("%zu and %d", cq_grapheme_length(text, n), ubrk_following(icu, 0));
    }
    utext_close(&view);
  }
  ubrk_close(icu);
}

/* Each bad byte becomes U+FFFD, which itself stays. */
static void test_malformed(void **state) {
  static const char *const texts[] = {"\xC3", "a\xC3z", "\xE9\x81", "\x80 \xFF", "\xED\xA0\x80", "\xEF\xBF\xBD"};
  const cq_bert_rules rules = {false, true, true, true};
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    for (int what = 0; what < 8; what++) {
      const cq_slice text = cq_slice_of(texts[i]);
      cq_builder out = {0};
      if (what <= CQ_NFKD)
        cq_text_normal_form(&out, text, (cq_normal_form)what);
      else if (what == 4)
        cq_text_lower(&out, text);
      else if (what == 5)
        cq_text_fold(&out, text);
      else if (what == 6)
        bert(&out, text, &rules);
      else
        cq_text_strip_marks(&out, text);
      assert_false(out.failed);
      assert_int_equal(cq_utf8_invalid_at(out.data, out.n), out.n);
      assert_non_null(strstr(out.data, "\xEF\xBF\xBD"));
      cq_builder_free(&out);
    }
  cq_builder out = {0}; /* bytes after the text are not read */
  cq_text_normal_form(&out, (cq_slice){"a\xC3\xA9", 2}, CQ_NFC);
  expect(&out, "a\xEF\xBF\xBD");
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
    bert(&out, cq_slice_of("é \xE0\xA4\x95\xE0\xA4\xBC and some more"), &rules);
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
      cmocka_unit_test(test_lower),        cmocka_unit_test(test_places_in_runs),
      cmocka_unit_test(test_strip),        cmocka_unit_test(test_bert),
      cmocka_unit_test(test_graphemes),    cmocka_unit_test(test_graphemes_as_icu),
      cmocka_unit_test(test_malformed),    cmocka_unit_test(test_properties),
      cmocka_unit_test(test_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
