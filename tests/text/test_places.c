/* Where the words of a text are: in scripts whose normal forms are longer, shorter or divided otherwise. */
#include "support/files.h"

#include "base/memory.h"
#include "base/random.h"
#include "text/analyzer.h"
#include "text/language_rules.h"
#include "text/places.h"
#include "text/unicode.h"

static cq_analysis *opened(cq_analyzer **analyzer, const char *language) {
  cq_analysis *analysis;
  assert_int_equal(cq_analyzer_open_with(analyzer, language, true, NULL, 0, NULL), CQ_OK);
  assert_int_equal(cq_analysis_open(&analysis, *analyzer, NULL), CQ_OK);
  return analysis;
}

/* The words where they are, each with a bar behind it; and the terms are those that come without places. */
static void check(const char *language, const char *text, const char *expected) {
  cq_analyzer *analyzer;
  cq_analysis *analysis = opened(&analyzer, language);
  const uint32_t *ids;
  const cq_span *spans;
  size_t n, n_plain;
  uint32_t kept[64];
  cq_builder got = {0};
  assert_int_equal(cq_analysis_run(&ids, &n_plain, analysis, cq_slice_of(text), NULL), CQ_OK);
  assert_true(n_plain <= 64);
  if (n_plain) memcpy(kept, ids, n_plain * sizeof *kept);
  assert_int_equal(cq_analysis_run_spans(&ids, &spans, &n, analysis, cq_slice_of(text), NULL), CQ_OK);
  assert_int_equal(n, n_plain);
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(ids[i], kept[i]);
    cq_builder_bytes(&got, text + spans[i].begin, spans[i].end - spans[i].begin);
    cq_builder_char(&got, '|');
  }
  if (!got.data || strcmp(got.data, expected) != 0) fail_msg("'%s' gave '%s'", text, got.data);
  cq_builder_free(&got);
  cq_analysis_free(analysis);
  cq_analyzer_free(analyzer);
}

static void words_are_where_they_are(void **state) {
  (void)state;
  check("en", "The old\tHOUSES, (and) boats.", "The|old|HOUSES|and|boats|");
  check("mul", "Die Straße: GRO\u1E9E!", "Die|Straße|GRO\u1E9E|");
  check("", "ﬁsh, ﬁn-ﬂap Ｗｉｄｅ①", "ﬁsh|ﬁn|ﬂap|Ｗｉｄｅ①|");
  check("", "de\u0301ja\u0300 vu\u0301", "de\u0301ja\u0300|vu\u0301|");
  check("ar", "قال مُحَمَّدٌ الكــتاب،", "قال|مُحَمَّدٌ|الكــتاب|");
  check("mul", "l’eau d'Orsay", "l|eau|d|Orsay|");
  check("tr", "ISIK İyi", "ISIK|İyi|");
  check("zh", "我们在，北京大学。", "我们|在|北京|大学|");
  check("th", "น้ำ ทำ", "น้ำ|ทำ|");
  check("th", "น\u0e49\u0e4d\u0e32 ท\u0e4d\u0e32", "น\u0e49\u0e4d\u0e32|ท\u0e4d\u0e32|");
  check("ko", "\u1112\u1161\u11ab\u1100\u1173\u11af 한글", "\u1112\u1161\u11ab\u1100\u1173\u11af|한글|");
  check("hi", "हिन्दी क़लम, पढ़ना", "हिन्दी|क़लम|पढ़ना|");
  check("", "a\xff\xfe b\xc3", "a|b|");
}

/* Text of letters of all sorts: words lie in the text, in order, on whole characters, and give their terms. */
static void any_text_has_its_places(void **state) {
  (void)state;
  static const uint32_t letters[] = {'a',    'B',    's',    '\'',   ' ',    ',',    0xdf,   0x130,  0x131,
                                     0x301,  0x327,  0x4d0,  0x627,  0x640,  0x64b,  0x644,  0x915,  0x93c,
                                     0xe17,  0xe4d,  0xe32,  0xe33,  0xe49,  0x1100, 0x1161, 0x11a8, 0x3a3,
                                     0x5317, 0x4eac, 0xfb01, 0xff21, 0x2460, 0x1e9e, 0x2019, 0x345,  0xfdfa};
  static const char *const languages[] = {"", "mul", "tr", "ar", "fr"};
  size_t n_words = 0;
  for (uint64_t seed = 0; seed < 3000; seed++) {
    cq_random r = cq_random_seeded(3, seed);
    cq_builder text = {0};
    cq_analyzer *analyzer;
    cq_analysis *analysis = opened(&analyzer, languages[seed % 5]);
    const uint32_t *ids;
    const cq_span *spans;
    size_t n, end = 0;
    for (uint64_t i = cq_random_below(&r, 30); i > 0; i--)
      cq_builder_code(&text, letters[cq_random_below(&r, sizeof letters / sizeof *letters)]);
    const cq_slice whole = {text.n ? text.data : "", text.n};
    assert_int_equal(cq_analysis_run_spans(&ids, &spans, &n, analysis, whole, NULL), CQ_OK);
    for (size_t i = 0; i < n; i++, n_words++) {
      const cq_span s = spans[i];
      assert_true(s.begin < s.end && s.end <= whole.n && s.end >= end);
      assert_true(((unsigned char)whole.data[s.begin] & 0xc0) != 0x80);
      assert_true(s.end == whole.n || ((unsigned char)whole.data[s.end] & 0xc0) != 0x80);
      end = s.end;
    }
    cq_analysis_free(analysis);
    cq_analyzer_free(analyzer);
    cq_builder_free(&text);
  }
  assert_true(n_words > 3000);
}

/* Pieces add up to the whole; if not, all of it is one place. */
static void pieces_add_up(void **state) {
  (void)state;
  cq_places places = {0};
  const cq_slice text = cq_slice_of("ﬁn dé");
  assert_true(cq_places_set(&places, text, cq_slice_of("fin dé"), 0));
  cq_span span = cq_places_find(&places, 4, 7);
  assert_true(span.begin == 5 && span.end == 8);
  span = cq_places_find(&places, 1, 2); /* inside of a piece: all of it */
  assert_true(span.begin == 0 && span.end == 3);
  assert_true(cq_places_set(&places, text, cq_slice_of("something else"), 0));
  span = cq_places_find(&places, 3, 5);
  assert_true(span.begin == 0 && span.end == text.n);
  cq_places_free(&places);
}

static void memory_may_run_out(void **state) {
  (void)state;
  for (long k = 1;; k++) {
    cq_analyzer *analyzer;
    cq_analysis *analysis = opened(&analyzer, "mul");
    const uint32_t *ids;
    const cq_span *spans;
    size_t n;
    const cq_slice text = cq_slice_of("Die Straße de\u0301ja\u0300 我们在北京 vu");
    cq_alloc_fail_at(k);
    const cq_status status = cq_analysis_run_spans(&ids, &spans, &n, analysis, text, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    assert_int_equal(cq_analysis_run_spans(&ids, &spans, &n, analysis, text, NULL), CQ_OK);
    assert_int_equal(n, 7);
    assert_int_equal(spans[6].end, text.n);
    cq_analysis_free(analysis);
    cq_analyzer_free(analyzer);
    if (!failed) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_are_where_they_are),
      cmocka_unit_test(any_text_has_its_places),
      cmocka_unit_test(pieces_add_up),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
