/* Text to terms: normal form, words, stop words and stems, in scripts that go wrong in different ways. */
#include "support/files.h"

#include "base/memory.h"
#include "text/analyzer.h"

#define ZWNJ "\xE2\x80\x8C"
#define ZWJ  "\xE2\x80\x8D"

static const cq_analyzer *open_analyzer(const char *language, bool stems) {
  static cq_analyzer *analyzer;
  cq_error error = {0};
  cq_analyzer_free(analyzer);
  analyzer = NULL;
  if (language && cq_analyzer_open_with(&analyzer, language, stems, NULL, 0, &error)) fail_msg("%s", error.message);
  return analyzer;
}

static void join(cq_builder *out, const cq_analysis *analysis, const uint32_t *ids, size_t n, const char *between) {
  cq_builder_clear(out);
  cq_builder_bytes(out, "", 0);
  for (size_t i = 0; i < n; i++) {
    const cq_slice term = cq_analysis_terms(analysis)->items[ids[i]];
    if (i) cq_builder_text(out, between);
    cq_builder_bytes(out, term.data, term.n);
  }
}

static void check_with(const cq_analyzer *analyzer, const char *text, const char *expected) {
  cq_analysis *analysis;
  const uint32_t *ids;
  size_t n;
  cq_error error = {0};
  cq_builder got = {0};
  assert_int_equal(cq_analysis_open(&analysis, analyzer, &error), CQ_OK);
  /* twice: what has been met is not analyzed again */
  for (int time = 0; time < 2; time++) {
    assert_int_equal(cq_analysis_run(&ids, &n, analysis, cq_slice_of(text), &error), CQ_OK);
    join(&got, analysis, ids, n, "|");
    if (strcmp(got.data, expected) != 0) fail_msg("'%s' gave '%s', expected '%s'", text, got.data, expected);
  }
  cq_analysis_free(analysis);
  cq_builder_free(&got);
}

/* The terms without stems, with a bar between them. */
static void check(const char *language, const char *text, const char *expected) {
  check_with(open_analyzer(language, false), text, expected);
  open_analyzer(NULL, false);
}

static void check_stems(const char *language, const char *text, const char *expected) {
  check_with(open_analyzer(language, true), text, expected);
  open_analyzer(NULL, false);
}

static void texts_take_their_normal_form(void **state) {
  (void)state;
  check("", "The Old\tHARBOUR,\nat dawn!", "the|old|harbour|at|dawn");
  check("", "ﬁsh ①② Ｗｉｄｅ", "fish|12|wide");
  check("", "CAFE\xCC\x81 café", "café|café");
  check("", "Straße ÄPFEL", "straße|äpfel");
  check("", "кошка КОШКА", "кошка|кошка");
  check("", "well-known e-mail", "well|known|e|mail");
  check("", "snake_case", "snake_case");
  check("",
        "no\xC2\xA0"
        "break",
        "no|break");
}

/* A capital and a mark that make no one character, while the small letter and the mark do. */
static void case_does_not_matter_where_marks_follow(void **state) {
  (void)state;
  check("", "H\xCC\xB1 h\xCC\xB1", "\xE1\xBA\x96|\xE1\xBA\x96");
  check("", "T\xCC\x88", "\xE1\xBA\x97");
  check("", "\xCE\xAA\xCC\x81", "\xCE\x90"); /* iota with diaeresis and tonos */
}

/* Nukta, virama and joiners belong to a word. */
static void words_of_india_stay_whole(void **state) {
  (void)state;
  check("hi", "पढ़ना सड़क", "पढ\xE0\xA4\xBCना|सड\xE0\xA4\xBCक");
  check("hi", "\xE0\xA4\xB8\xE0\xA5\x9C\xE0\xA4\x95", "सड\xE0\xA4\xBCक"); /* the letter with nukta as one character */
  check("hi", "विद्यार्थी, पुस्तक।", "विद्यार्थी|पुस्तक");
  check("hi", "क्" ZWJ "ष क्" ZWNJ "ष", "क्" ZWJ "ष|क्" ZWNJ "ष");
  check("bn", "র্" ZWJ "যাব বিশ্ববিদ্যালয়ে", "র্" ZWJ "যাব|বিশ্ববিদ্যালয\xE0\xA6\xBCে");
  check("fa", "می" ZWNJ "روم", "می" ZWNJ "روم");
}

static void arabic_forms_are_one(void **state) {
  (void)state;
  check("ar", "أحمد إحمد آحمد احمد", "احمد|احمد|احمد|احمد");
  check("ar", "مدرسة مدرسه", "مدرسه|مدرسه");
  check("ar", "على علي", "علي|علي");
  check("ar", "كـــتاب كِتَابٌ كتاب", "كتاب|كتاب|كتاب");
  check("ar", "رحمٰن", "رحمن");
  check("ar", "ـــ", "");
  check("fa", "أحمد", "أحمد");                     /* Arabic's rule only */
  check("ar", "\xEF\xBB\xB7", "\xD9\x84\xD8\xA7"); /* a ligature of presentation: lam and alif with hamza */
}

static void turkish_i_has_two_forms(void **state) {
  (void)state;
  check("tr", "IŞIK ışık", "ışık|ışık");
  check("tr", "İSTANBUL istanbul I\xCC\x87STANBUL", "istanbul|istanbul|istanbul");
  check("az", "QIZIL", "qızıl");
  check("en", "INSIDE", "inside");
}

static void apostrophes_end_words_where_they_elide(void **state) {
  (void)state;
  check("fr", "L'eau d’Orsay", "l|eau|d|orsay");
  check("it", "dell'acqua", "dell|acqua");
  check("ca", "l’aigua", "l|aigua");
  check("en", "don't don’t", "don't|don't");
  check("", "o’clock", "o'clock");
}

static void numbers_are_words(void **state) {
  (void)state;
  check("", "1999 3.14 1,000 b2b 4x4", "1999|3.14|1,000|b2b|4x4");
  check("hi", "२०२४ २k", "2024|2k"); /* digits of all scripts are those of ASCII */
  check("bn", "১৯৭১", "1971");
  check("ar", "٣٫١٤ ۱۲",
        "3\xD9\xAB"
        "14|12");
  check("", "12% $5 #7", "12|5|7");
}

static void punctuation_is_no_word(void **state) {
  (void)state;
  check("", "", "");
  check("", " \t\r\n\v\f ", "");
  check("", "... -- ! ( ) …", "");
  check("", "🙂 ❤", "");
}

static void stems_are_snowballs(void **state) {
  (void)state;
  check_stems("en", "Houses running don’t", "hous|run|don't");
  check_stems("de", "Häusern", "haus");
  check_stems("fr", "l'été continuellement", "l|été|continuel");
  check_stems("", "houses", "houses");
  check_stems("zu", "houses", "houses");
  check("en", "houses", "houses");
  assert_true(cq_has_stemmer("en") && cq_has_stemmer("hi") && cq_has_stemmer("ar"));
  assert_false(cq_has_stemmer("az") || cq_has_stemmer("zh") || cq_has_stemmer("") || cq_has_stemmer(NULL) ||
               cq_has_stemmer("english"));
  assert_true(cq_analyzer_stems(open_analyzer("en", true)));
  assert_false(cq_analyzer_stems(open_analyzer("en", false)));
  assert_false(cq_analyzer_stems(open_analyzer("az", true)));
  assert_string_equal(cq_analyzer_language(open_analyzer("az", true)), "az");
  open_analyzer(NULL, false);
}

/* Every language of the table has its stemmer in the library that is linked. */
static void named_stemmers_are_there(void **state) {
  (void)state;
  static const char *const codes[] = {"ar", "ca", "da", "de", "el", "en", "es", "eu", "fi", "fr",
                                      "ga", "hi", "hu", "hy", "id", "it", "lt", "ne", "nl", "no",
                                      "pt", "ro", "ru", "sr", "sv", "ta", "tr", "yi"};
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    assert_true(cq_has_stemmer(codes[i]));
    check_stems(codes[i], "", "");
  }
}

/* Terms without stems and stop words; the file has `words`. */
static void check_without(const char *language, const char *words, const char *text, const char *expected) {
  const char *path = test_path("stop.txt");
  const cq_analysis_options o = {.size = sizeof o, .language = language, .stop_words = path, .no_stems = true};
  cq_analyzer *analyzer;
  cq_error error = {0};
  write_text(path, words);
  if (cq_analyzer_open(&analyzer, &o, &error)) fail_msg("%s", error.message);
  check_with(analyzer, text, expected);
  cq_analyzer_free(analyzer);
}

static void stop_words_are_compared_before_stemming(void **state) {
  (void)state;
  const char *path = test_path("stop.txt");
  const cq_analysis_options o = {.size = sizeof o, .language = "en", .stop_words = path};
  cq_analyzer *analyzer;
  write_text(path, "Houses\nＴＨＥ\ndon’t\n of \n\nTHE\n  \n");
  assert_int_equal(cq_analyzer_open(&analyzer, &o, NULL), CQ_OK);
  assert_int_equal(cq_analyzer_stop_words(analyzer)->n, 4);
  assert_true(cq_slice_equal(cq_analyzer_stop_words(analyzer)->items[1], cq_slice_of("the")));
  check_with(analyzer, "The HOUSES of the house DON'T housing", "hous|hous");
  cq_analyzer_free(analyzer);
}

static void stop_words_follow_the_language(void **state) {
  (void)state;
  check_without("tr", "ILIK", "ılık ilik", "ilik");
  check_without("fr", "l'\nQU’", "L’eau qu'elle", "eau|elle");
  check_without("ar", "إلى", "الى إلي بيت", "بيت");
}

/* What stands between blanks is taken as text is. */
static void stop_words_are_what_text_gives(void **state) {
  (void)state;
  check_without("en", "don't\ncan’t", "Don’t can't do", "do");
  check_without("en", "'ll\n'tis", "they 'll ll 'tis tis true", "they|true");
  check_without("es", "por qué", "por qué no, por eso, qué", "no|eso");
  check_without("fr", "au   | à + le\n  | les articles\nla #remarque", "au le la remarque articles",
                "le|remarque|articles");
  check_without("zh", "。\n、", "他。是、", "他|是");
}

static void stop_words_of_several_words_match_as_a_whole(void **state) {
  (void)state;
  check_without("en", "no-one", "No-one, no one saw no-one's one-no.", "no|one|saw|no|one's|one|no");
  check_without("en", "no-one\nno", "no-one no one", "one");
  check_without("en", "a-b-c\nb-c", "a-b-c a-b-d b-c/d a-b-b-c", "a|b|d|d|a|b");
  check_without("fr", "aujourd'hui celui-ci", "aujourd’hui celui-ci celui ci hui", "celui|ci|hui");
  check_without("fr", "celui-ci", "celui", "celui");
  check_without("zh", "一转眼", "他一转眼，一个转眼", "他|一个|转眼");
}

static void stop_words_are_not_endless(void **state) {
  (void)state;
  const char *path = test_path("stop.txt");
  const cq_analysis_options o = {.size = sizeof o, .stop_words = path};
  cq_analyzer *analyzer;
  cq_error error = {0};
  write_text(path, "a\n1-2-3-4-5-6-7-8-9-10-11-12-13-14-15-16\n");
  assert_int_equal(cq_analyzer_open(&analyzer, &o, &error), CQ_OK);
  check_with(analyzer, "0-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15-16-17 a", "0|17");
  cq_analyzer_free(analyzer);
  write_text(path, "a\n1-2-3-4-5-6-7-8-9-10-11-12-13-14-15-16-17\n");
  assert_int_equal(cq_analyzer_open(&analyzer, &o, &error), CQ_ERR_FORMAT);
  assert_null(analyzer);
  assert_int_equal(error.line, 2);
  assert_non_null(strstr(error.message, "a stop word of 17 words, expected at most 16"));
}

/* An index keeps them as they are compared. */
static void stored_stop_words_stay(void **state) {
  (void)state;
  const char *path = test_path("stop.txt");
  const cq_analysis_options o = {.size = sizeof o, .language = "fr", .stop_words = path, .no_stems = true};
  cq_analyzer *once, *twice;
  write_text(path, "İ L' celui-ci 一转眼");
  assert_int_equal(cq_analyzer_open(&once, &o, NULL), CQ_OK);
  const cq_intern *words = cq_analyzer_stop_words(once);
  assert_int_equal(cq_analyzer_open_with(&twice, "fr", false, words->items, words->n, NULL), CQ_OK);
  assert_int_equal(cq_analyzer_stop_words(twice)->n, words->n);
  for (uint32_t i = 0; i < words->n; i++)
    assert_true(cq_slice_equal(words->items[i], cq_analyzer_stop_words(twice)->items[i]));
  check_with(twice, "l'eau de celui-ci İ 他一转眼 ci", "eau|de|他|ci");
  cq_analyzer_free(once);
  cq_analyzer_free(twice);
}

static void stop_words_come_from_a_file(void **state) {
  (void)state;
  const char *path = test_path("stop.txt");
  const cq_analysis_options o = {.size = sizeof o, .language = "en", .stop_words = path};
  cq_analyzer *analyzer;
  cq_error error = {0};
  write_text(path, "\xEF\xBB\xBF# a remark\nThe\r\n\n \tat \n#at dawn\nthe");
  assert_int_equal(cq_analyzer_open(&analyzer, &o, &error), CQ_OK);
  assert_int_equal(cq_analyzer_stop_words(analyzer)->n, 2);
  check_with(analyzer, "the boats at dawn", "boat|dawn");
  cq_analyzer_free(analyzer);

  write_bytes(path, "the\nat\n\xFFx\n", 10);
  assert_int_equal(cq_analyzer_open(&analyzer, &o, &error), CQ_ERR_FORMAT);
  assert_null(analyzer);
  assert_int_equal(error.line, 3);
  unlink(path);
  assert_int_equal(cq_analyzer_open(&analyzer, &o, &error), CQ_ERR_IO);
  assert_null(analyzer);
}

static void a_language_is_a_code(void **state) {
  (void)state;
  static const struct {
    const char *given, *code;
  } taken[] = {{"en", "en"},    {"EN", "en"},         {"De", "de"},         {"en-US", "en"},
               {"pt-br", "pt"}, {"es-419", "es"},     {"zh-Hant", "zh"},    {"tlh", "tlh"},
               {"FIL", "fil"},  {"sr-Latn-RS", "sr"}, {"zh-hans-cn", "zh"}, {"", ""}};
  static const char *const refused[] = {"english",
                                        "e",
                                        "engl",
                                        "e1",
                                        "12",
                                        "en-",
                                        "en_US",
                                        "-US",
                                        "en-USA",
                                        "en-U",
                                        "en-41",
                                        "en-4190",
                                        "en-US-x",
                                        "en US",
                                        "en ",
                                        " en",
                                        "en-US-",
                                        "añ",
                                        "en-Latn-",
                                        "none",
                                        "en-US-Latn",
                                        "en-US-419",
                                        "a-language-that-is-none"};
  cq_analyzer *analyzer;
  cq_error error = {0};
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
    assert_int_equal(cq_analyzer_open_with(&analyzer, taken[i].given, true, NULL, 0, &error), CQ_OK);
    assert_string_equal(cq_analyzer_language(analyzer), taken[i].code);
    assert_int_equal(cq_analyzer_stems(analyzer), cq_has_stemmer(taken[i].code));
    assert_int_equal(cq_has_stemmer(taken[i].given), cq_has_stemmer(taken[i].code));
    cq_analyzer_free(analyzer);
  }
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    if (cq_analyzer_open_with(&analyzer, refused[i], true, NULL, 0, &error) != CQ_ERR_ARGUMENT)
      fail_msg("'%s' was taken", refused[i]);
    assert_null(analyzer);
    assert_false(cq_has_stemmer(refused[i]));
  }
  assert_int_equal(cq_analyzer_open_with(&analyzer, "english", true, NULL, 0, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "the language is 'english', expected a code of 2 or 3 letters"));
  check_stems("EN-gb", "Houses", "hous");
  check("TR", "IŞIK", "ışık");
  assert_int_equal(cq_analyzer_open(&analyzer, NULL, &error), CQ_OK);
  assert_string_equal(cq_analyzer_language(analyzer), "");
  cq_analyzer_free(analyzer);
  cq_analyzer_free(NULL);
  cq_analysis_free(NULL);
}

/* Scripts without spaces: where the dictionaries of ICU cut depends on its version, that they cut does not. */
static void dictionaries_split_what_has_no_spaces(void **state) {
  (void)state;
  static const char *const texts[][2] = {
      {"zh", "我们昨天在图书馆里学习"}, {"ja", "私は昨日図書館で本を読みました"},
      {"th", "ปลาตัวใหญ่อยู่ในบ้าน"},        {"th", "เขาทำงานสำหรับน้ำดื่มและคำถาม"},
      {"lo", "ຄຳຖາມສຳລັບນ້ຳດື່ມ"},          {"km", "ខ្ញុំចូលចិត្តអានសៀវភៅ"},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    cq_analysis *analysis;
    const uint32_t *ids;
    size_t n;
    cq_builder got = {0};
    assert_int_equal(cq_analysis_open(&analysis, open_analyzer(texts[i][0], true), NULL), CQ_OK);
    assert_int_equal(cq_analysis_run(&ids, &n, analysis, cq_slice_of(texts[i][1]), NULL), CQ_OK);
    assert_in_range(n, 2, cq_slice_of(texts[i][1]).n / 3 - 1);
    join(&got, analysis, ids, n, "");
    assert_string_equal(got.data, texts[i][1]);
    cq_analysis_free(analysis);
    cq_builder_free(&got);
  }
  open_analyzer(NULL, false);
}

/* The vowel am of Thai and Lao is kept whole, however it is written: the dictionaries know it so. */
static void vowel_am_is_one_character(void **state) {
  (void)state;
  check("th", "ทำ ท\xE0\xB9\x8D\xE0\xB8\xB2", "ทำ|ทำ");
  check("th", "น้ำ", "น้ำ");
  check("lo", "ຄຳ ຄ\xE0\xBB\x8D\xE0\xBA\xB2", "ຄຳ|ຄຳ");
  check("th", "\xE0\xB9\x8D", "");                 /* nothing after the first half */
  check("th", "ก\xE0\xB9\x8Dก", "ก\xE0\xB9\x8Dก"); /* another letter after it */
}

static cq_slice run_once(cq_builder *out, const char *language, cq_slice text) {
  cq_slice *terms;
  size_t n;
  const cq_analysis_options o = {.size = sizeof o, .language = language, .no_stems = true};
  assert_int_equal(cq_analyze(&terms, &n, text, &o, NULL), CQ_OK);
  cq_builder_clear(out);
  cq_builder_bytes(out, "", 0);
  for (size_t i = 0; i < n; i++) {
    if (i) cq_builder_char(out, '|');
    cq_builder_bytes(out, terms[i].data, terms[i].n);
  }
  cq_free(terms);
  return (cq_slice){out->data, out->n};
}

/* What a chunk gives depends neither on what was met before nor on its length: 64 bytes are kept, more are not. */
static void a_chunk_gives_the_same_again(void **state) {
  (void)state;
  cq_analysis *analysis;
  cq_builder text = {0}, want = {0}, got = {0};
  assert_int_equal(cq_analysis_open(&analysis, open_analyzer("en", false), NULL), CQ_OK);
  for (int length = 60; length <= 130; length++) {
    cq_builder_clear(&text);
    for (int i = 0; i < length; i++) cq_builder_char(&text, i % 3 == 2 ? '/' : (char)('a' + (i + length) % 20));
    const cq_slice once = run_once(&want, "en", (cq_slice){text.data, text.n});
    for (int time = 0; time < 3; time++) {
      const uint32_t *ids;
      size_t n;
      assert_int_equal(cq_analysis_run(&ids, &n, analysis, (cq_slice){text.data, text.n}, NULL), CQ_OK);
      assert_int_equal(n, (length + 2) / 3);
      join(&got, analysis, ids, n, "|");
      assert_string_equal(got.data, once.data);
    }
  }
  cq_analysis_free(analysis);
  open_analyzer(NULL, false);
  cq_builder_free(&text);
  cq_builder_free(&want);
  cq_builder_free(&got);
}

/* A chunk and what follows it are apart: a text is its chunks in turn. */
static void a_text_is_its_chunks(void **state) {
  (void)state;
  check("",
        "a.b a.b c-d a.b\x0B"
        "c-d",
        "a.b|a.b|c|d|a.b|c|d");
  check("", "x ---- x ---- x", "x|x|x");
}

static void malformed_text_is_no_crash(void **state) {
  (void)state;
  check("",
        "a\xFF"
        "b",
        "a|b");
  check("", "\xE0\xA4 x\xC3 \xED\xA0\x80 \xF5\x80", "x");
  static const char *const languages[] = {"", "ar", "fr", "tr", "zh", "th"};
  for (size_t l = 0; l < sizeof languages / sizeof *languages; l++) {
    cq_analysis *analysis;
    assert_int_equal(cq_analysis_open(&analysis, open_analyzer(languages[l], true), NULL), CQ_OK);
    for (unsigned first = 0; first < 256; first++)
      for (unsigned second = 0; second < 256; second++) {
        const char bytes[] = {'x', (char)first, (char)second, (char)first};
        const uint32_t *ids;
        size_t n;
        assert_int_equal(cq_analysis_run(&ids, &n, analysis, (cq_slice){bytes, 4}, NULL), CQ_OK);
        assert_in_range(n, 0, 4);
        for (size_t i = 0; i < n; i++) assert_true(cq_analysis_terms(analysis)->items[ids[i]].n > 0);
      }
    cq_analysis_free(analysis);
  }
  open_analyzer(NULL, false);
}

/* Two analyses share an analyzer and nothing else. */
static void analyses_have_their_own_numbers(void **state) {
  (void)state;
  const cq_analyzer *analyzer = open_analyzer("en", true);
  cq_analysis *a, *b;
  const uint32_t *ids_a, *ids_b;
  size_t n_a, n_b;
  assert_int_equal(cq_analysis_open(&a, analyzer, NULL), CQ_OK);
  assert_int_equal(cq_analysis_open(&b, analyzer, NULL), CQ_OK);
  assert_int_equal(cq_analysis_run(&ids_a, &n_a, a, cq_slice_of("boats rivers boats"), NULL), CQ_OK);
  assert_int_equal(cq_analysis_run(&ids_b, &n_b, b, cq_slice_of("rivers boat"), NULL), CQ_OK);
  assert_int_equal(n_a, 3);
  assert_int_equal(n_b, 2);
  assert_true(ids_a[0] == 0 && ids_a[1] == 1 && ids_a[2] == 0);
  assert_true(ids_b[0] == 0 && ids_b[1] == 1);
  assert_true(cq_slice_equal(cq_analysis_terms(a)->items[0], cq_slice_of("boat")));
  assert_true(cq_slice_equal(cq_analysis_terms(b)->items[0], cq_slice_of("river")));
  cq_analysis_free(a);
  assert_int_equal(cq_analysis_run(&ids_b, &n_b, b, cq_slice_of("boating rivers"), NULL), CQ_OK);
  assert_true(n_b == 2 && ids_b[0] == 1 && ids_b[1] == 0);
  cq_analysis_free(b);
  open_analyzer(NULL, false);
}

static void terms_of_one_text(void **state) {
  (void)state;
  cq_slice *terms;
  size_t n;
  cq_error error = {0};
  assert_int_equal(cq_analyze(&terms, &n, cq_slice_of("One two ONE"), NULL, &error), CQ_OK);
  assert_int_equal(n, 3);
  assert_true(cq_slice_equal(terms[0], cq_slice_of("one")) && cq_slice_equal(terms[1], cq_slice_of("two")) &&
              cq_slice_equal(terms[2], cq_slice_of("one")));
  cq_free(terms);
  assert_int_equal(cq_analyze(&terms, &n, (cq_slice){NULL, 0}, NULL, &error), CQ_OK);
  assert_non_null(terms);
  assert_int_equal(n, 0);
  cq_free(terms);
  const cq_analysis_options wrong = {.size = sizeof wrong, .stop_words = test_path("nowhere")};
  assert_int_equal(cq_analyze(&terms, &n, cq_slice_of("one"), &wrong, &error), CQ_ERR_IO);
  assert_true(!terms && n == 0);
}

/* Words of scripts without spaces stand beside what they make together; nothing reaches across a gap, a stop word at the
 * beginning or another script. */
/* Text of several languages: one analysis in which a query means what the text does. */
static void languages_are_mixed(void **state) {
  (void)state;
  check("mul", "Straße STRASSE GRO\u1E9E", "strasse|strasse|gross");
  check("mul", "İstanbul ISTANBUL Ёлка елка", "istanbul|istanbul|елка|елка");
  check("mul", "l'eau d’Orsay", "l|eau|d|orsay");
  check("mul", "مُحَمَّد إسلام", "محمد|اسلام");
  check("de", "Straße Ёлка", "straße|ёлка");
  check_stems("mul", "Houses casas 2 houses2", "hous|casa|2|houses2");
  check_stems("mul", "книгами книга", "книг|книг");
  check_stems("mul", "الكتاب كتابها", "كتاب|كتاب");
  check_stems("mul", "किताबें", "किताब");
  check_stems("mul", "我们在北京 ภาษาไทย", "我们|在|北京|ภาษา|ไทย");
  assert_true(cq_has_stemmer("mul"));
}

static void adjacent_words_are_joined(void **state) {
  (void)state;
  cq_analyzer *analyzer;
  cq_analysis *analysis;
  const uint32_t *ids;
  uint32_t first, last;
  size_t n;
  cq_builder got = {0};
  const cq_slice stop = cq_slice_of("的");
  assert_int_equal(cq_analyzer_open_with(&analyzer, "zh", false, &stop, 1, NULL), CQ_OK);
  assert_int_equal(cq_analysis_open(&analysis, analyzer, NULL), CQ_OK);
  cq_analysis_join(analysis, 3);
  for (int time = 0; time < 2; time++) {
    const cq_slice text = cq_slice_of("苹果学校老师 学校，苹果 one-two 学校x的苹果");
    assert_int_equal(cq_analysis_run(&ids, &n, analysis, text, NULL), CQ_OK);
    join(&got, analysis, ids, n, "|");
    assert_string_equal(got.data, "苹果|苹果学校|苹果学校老师|学校|学校老师|老师|学校|苹果|one|two|学校|x|苹果");
  }
  assert_false(cq_analysis_is_joined(analysis, ids[0], &first, &last));
  assert_true(cq_analysis_is_joined(analysis, ids[2], &first, &last));
  assert_int_equal(first, ids[0]);
  assert_int_equal(last, ids[5]);
  assert_false(cq_analysis_is_joined(analysis, ids[3], &first, &last));
  assert_false(cq_analysis_is_joined(analysis, ids[8], &first, &last));
  cq_builder_free(&got);
  cq_analysis_free(analysis);
  cq_analyzer_free(analyzer);
}

static void failed_allocations_are_reported(void **state) {
  (void)state;
  const char *path = test_path("few.txt");
  const cq_analysis_options o = {.size = sizeof o, .language = "en", .stop_words = path};
  const cq_slice text =
      cq_slice_of("The old Häuser de\xCC\x81j\xC3\xA0 H\xCC\xB1 and 图书馆, the old harbour of the town again");
  write_text(path, "the\nof\n");
  for (long n = 1;; n++) {
    cq_slice *terms;
    size_t n_terms = 77;
    cq_error error = {0};
    cq_alloc_fail_at(n);
    const cq_status status = cq_analyze(&terms, &n_terms, text, &o, &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (!failed) {
      assert_int_equal(status, CQ_OK);
      assert_in_range(n_terms, 9, 14);
      assert_true(n > 15);
      cq_free(terms);
      break;
    }
    if (status != CQ_ERR_MEMORY) fail_msg("allocation %ld gave status %d", n, status);
    assert_true(!terms && n_terms == 0);
  }
}

/* An analysis that ran out of memory gives the right terms the next time. */
static void an_analysis_goes_on_after_a_failure(void **state) {
  (void)state;
  const cq_slice text = cq_slice_of("old ha\xCC\x88user and old Boats");
  for (long n = 1;; n++) {
    cq_analysis *analysis;
    const uint32_t *ids;
    size_t n_ids;
    cq_builder got = {0};
    assert_int_equal(cq_analysis_open(&analysis, open_analyzer("en", false), NULL), CQ_OK);
    cq_alloc_fail_at(n);
    const cq_status status = cq_analysis_run(&ids, &n_ids, analysis, text, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    for (int time = 0; time < 2; time++) {
      assert_int_equal(cq_analysis_run(&ids, &n_ids, analysis, text, NULL), CQ_OK);
      join(&got, analysis, ids, n_ids, "|");
      assert_string_equal(got.data, "old|häuser|and|old|boats");
    }
    cq_analysis_free(analysis);
    cq_builder_free(&got);
    if (!failed) break;
  }
  open_analyzer(NULL, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_take_their_normal_form),
      cmocka_unit_test(case_does_not_matter_where_marks_follow),
      cmocka_unit_test(words_of_india_stay_whole),
      cmocka_unit_test(arabic_forms_are_one),
      cmocka_unit_test(turkish_i_has_two_forms),
      cmocka_unit_test(apostrophes_end_words_where_they_elide),
      cmocka_unit_test(numbers_are_words),
      cmocka_unit_test(punctuation_is_no_word),
      cmocka_unit_test(stems_are_snowballs),
      cmocka_unit_test(languages_are_mixed),
      cmocka_unit_test(adjacent_words_are_joined),
      cmocka_unit_test(named_stemmers_are_there),
      cmocka_unit_test(stop_words_are_compared_before_stemming),
      cmocka_unit_test(stop_words_follow_the_language),
      cmocka_unit_test(stop_words_are_what_text_gives),
      cmocka_unit_test(stop_words_of_several_words_match_as_a_whole),
      cmocka_unit_test(stop_words_are_not_endless),
      cmocka_unit_test(stored_stop_words_stay),
      cmocka_unit_test(stop_words_come_from_a_file),
      cmocka_unit_test(a_language_is_a_code),
      cmocka_unit_test(dictionaries_split_what_has_no_spaces),
      cmocka_unit_test(vowel_am_is_one_character),
      cmocka_unit_test(a_chunk_gives_the_same_again),
      cmocka_unit_test(a_text_is_its_chunks),
      cmocka_unit_test(malformed_text_is_no_crash),
      cmocka_unit_test(analyses_have_their_own_numbers),
      cmocka_unit_test(terms_of_one_text),
      cmocka_unit_test(failed_allocations_are_reported),
      cmocka_unit_test(an_analysis_goes_on_after_a_failure),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
