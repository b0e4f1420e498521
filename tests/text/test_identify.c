/* Language identification. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "calque/language.h"
#include "text/identify.h"
#include "text/language_model.h"
#include "text/ngrams.h"
#include "text/script.h"

#include <stdlib.h>
#include <string.h>

static cq_language_guess guess_of(const char *text) {
  return cq_language_identify(cq_slice_of(text));
}

static void assert_language(const char *text, const char *code) {
  const cq_language_guess guess = guess_of(text);
  assert_string_equal(guess.code, code);
  if (strcmp(code, "und") != 0)
    assert_true(guess.probability >= 0.5 && guess.probability <= 1);
  else
    assert_true(guess.probability == 0);
}

static void languages(void **state) {
  (void)state;
  static const char *const texts[][2] = {
      {"ar", "نسافر غدا إلى المدينة مع أصدقائنا"},
      {"bg", "Утре ще пътуваме с влака до града"},
      {"bn", "আমরা কাল শহরে যাব"},
      {"ca", "Demà anirem amb tren a la ciutat amb els nostres amics"},
      {"cs", "Zítra pojedeme vlakem do města se svými přáteli"},
      {"da", "I morgen tager vi toget ind til byen sammen med nogle venner"},
      {"de", "Morgen fahren wir mit dem Zug in die Stadt"},
      {"el", "Αύριο θα πάμε στην πόλη"},
      {"en", "Tomorrow we will take the train to the city"},
      {"eo", "Morgaŭ ni veturos trajne al la urbo kun niaj amikoj"},
      {"es", "Mañana iremos en tren a la ciudad con nuestros amigos"},
      {"et", "Homme sõidame rongiga linna koos oma sõpradega"},
      {"fa", "فردا با قطار به شهر می‌رویم"},
      {"fi", "Huomenna matkustamme junalla kaupunkiin ystävien kanssa"},
      {"fr", "Demain nous prendrons le train pour aller en ville"},
      {"he", "מחר ניסע העירה"},
      {"hi", "हम कल रेलगाड़ी से शहर जाएँगे"},
      {"hu", "Holnap vonattal megyünk a városba a barátainkkal"},
      {"hy", "Վաղը մենք կգնանք քաղաք"},
      {"it", "Domani andremo in città con il treno"},
      {"ja", "明日は電車で町へ行きます"},
      {"ka", "ხვალ ქალაქში წავალთ"},
      {"ko", "내일 우리는 기차를 타고 도시에 갑니다"},
      {"lt", "Rytoj važiuosime traukiniu į miestą su draugais"},
      {"lv", "Rīt mēs brauksim ar vilcienu uz pilsētu"},
      {"mk", "Утре ќе патуваме со воз до градот"},
      {"mr", "आम्ही उद्या रेल्वेने शहरात जाणार आहोत"},
      {"nb", "I morgen skal vi ta toget inn til byen sammen med noen venner"},
      {"pl", "Jutro pojedziemy pociągiem do miasta"},
      {"pt", "Amanhã vamos de comboio à cidade com os nossos amigos"},
      {"ro", "Mâine vom merge cu trenul în oraș"},
      {"ru", "Завтра мы поедем на поезде в город"},
      {"sk", "Zajtra pôjdeme vlakom do mesta so svojimi priateľmi"},
      {"sv", "I morgon tar vi tåget in till staden med några vänner"},
      {"th", "พรุ่งนี้เราจะไปในเมือง"},
      {"uk", "Завтра ми поїдемо потягом до міста"},
      {"ur", "کل ہم ریل گاڑی سے شہر جائیں گے"},
      {"vi", "Ngày mai chúng tôi sẽ đi tàu hỏa vào thành phố"},
      {"zh", "明天我们坐火车去城里"},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) assert_language(texts[i][1], texts[i][0]);
  assert_language("MORGEN FAHREN WIR MIT DEM ZUG IN DIE STADT", "de");
}

static void no_letters(void **state) {
  (void)state;
  static const char *const texts[] = {"",       " \t\n", "12:30", "... --- !?", "😀🎉 👍🏽", "\xCC\x81\xCC\x88",
                                      "$ 4.50", "①②"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) assert_language(texts[i], "und");
  assert_language("\xFF\xFE\x80\xC3", "und");
  assert_language("ᚠᚢᚦᚨᚱᚲ", "und"); /* runes: a script without known languages */
  assert_true(cq_language_identify((cq_slice){NULL, 0}).probability == 0);
}

/* What is not in the script of most letters does not count, and invalid bytes only divide words. */
static void mixed(void **state) {
  (void)state;
  assert_language("Мы купили новый iPhone и MacBook Pro", "ru");
  assert_language("Wir lesen «Война и мир» gemeinsam in der Schule", "de");
  assert_language("😀 Morgen fahren wir \xFF mit dem Zug 12 in die Stadt 🎉", "de");
  assert_language("明日は iPhone を買います", "ja");
  const cq_language_guess whole = guess_of("Morgen fahren wir mit dem Zug"),
                          broken = guess_of("Morgen\xFF"
                                            "fahren \x80wir\xC3 mit 7 dem, Zug!");
  assert_string_equal(whole.code, broken.code);
  assert_true(whole.probability == broken.probability); /* the same words */
}

/* A long text is no other than a short one, and is told in the time of reading it. */
static void long_text(void **state) {
  (void)state;
  static const char sentence[] = "Demain nous prendrons le train pour aller en ville. ";
  const size_t n = sizeof sentence - 1, n_repeats = 20000;
  char *text = malloc(n * n_repeats + 1000);
  assert_non_null(text);
  for (size_t i = 0; i < n_repeats; i++) memcpy(text + i * n, sentence, n);
  assert_string_equal(cq_language_identify((cq_slice){text, n * n_repeats}).code, "fr");
  memset(text, 'a', 1000000); /* one word */
  assert_true(cq_language_identify((cq_slice){text, 1000000}).probability <= 1);
  free(text);
}

static void known_languages(void **state) {
  (void)state;
  size_t n = 0;
  for (const char *code, *last = ""; (code = cq_language_known(n)); last = code, n++) {
    assert_true(strcmp(last, code) < 0);
    assert_string_equal(cq_language_known_as(code), code);
  }
  assert_true(n >= 40);
  assert_null(cq_language_known(n));
  assert_null(cq_language_known(n + 100));
  static const char *const tags[][2] = {{"pt-BR", "pt"}, {"ZH_tw", "zh"}, {"iw", "he"},    {"no", "nb"},
                                        {"in-ID", "id"}, {"deu", "de"},   {"GER_at", "de"}};
  for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
    assert_string_equal(cq_language_known_as(tags[i][0]), tags[i][1]);
  static const char *const unknown[] = {"", "-", "xx", "d", "deux", "german-language", "und"};
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) assert_null(cq_language_known_as(unknown[i]));
}

/* " ab " has the n-grams a b, _a ab b_, _ab ab_, _ab_. */
static void ngrams(void **state) {
  (void)state;
  uint32_t hashes[CQ_NGRAM_HASHES], again[CQ_NGRAM_HASHES];
  cq_ngram_words words = {.text = cq_slice_of("7 aB, ж abcdef"), .script = cq_char_script('a')};
  assert_true(cq_ngram_next(&words));
  assert_int_equal(words.n, 4);
  assert_int_equal(cq_ngram_hashes(hashes, &words), 2 + 3 + 2 + 1);
  for (size_t i = 0; i < 8; i++)
    for (size_t k = 0; k < i; k++) assert_int_not_equal(hashes[i], hashes[k]);
  assert_true(cq_ngram_next(&words));
  assert_int_equal(words.n, 8);
  assert_int_equal(cq_ngram_hashes(again, &words), 6 + 7 + 6 + 5 + 4 + 1);
  assert_int_equal(again[0], hashes[0]); /* _a */
  assert_false(cq_ngram_next(&words));
  assert_false(cq_ngram_next(&words));
  char text[300];
  memset(text, 'x', sizeof text);
  words = (cq_ngram_words){.text = {text, sizeof text}, .script = cq_char_script('x')};
  for (size_t n = 0; n < sizeof text; n += words.n - 2) {
    assert_true(cq_ngram_next(&words));
    assert_true(words.n <= CQ_NGRAM_WORD && cq_ngram_hashes(hashes, &words) <= CQ_NGRAM_HASHES);
  }
  assert_false(cq_ngram_next(&words));
  assert_int_equal(cq_ngram_script(cq_slice_of("abc дe")), cq_char_script('a'));
  assert_int_equal(cq_ngram_script(cq_slice_of("abc де")), cq_char_script(0x434)); /* by bytes */
  assert_int_equal(cq_ngram_script(cq_slice_of("1 😀")), CQ_SCRIPT_NONE);
}

/* The file that the library carries is what its description says. */
static void model_file(void **state) {
  (void)state;
  cq_language_view v;
  size_t n = 0;
  for (; cq_language_view_at(&v, n); n++) {
    assert_in_range(v.head.n_languages, 1, CQ_LANGUAGES_MAX);
    assert_true((v.head.n_languages == 1) == (v.head.n_ngrams == 0));
    for (size_t l = 0; l < v.head.n_languages; l++) assert_in_range(strlen(v.codes[l]), 2, CQ_LANGUAGE_CODE - 1);
    if (!v.head.n_ngrams) continue;
    const uint32_t n_buckets = 1u << v.head.bits;
    assert_int_equal(v.starts[0], 0);
    assert_int_equal(v.starts[n_buckets], v.head.n_ngrams);
    for (uint32_t b = 0; b < n_buckets; b++) assert_true(v.starts[b] <= v.starts[b + 1]);
    assert_true(v.head.scale > 0);
  }
  assert_true(n > 5);
  assert_false(cq_language_view_at(&v, n + 1));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(languages),       cmocka_unit_test(no_letters),
                                     cmocka_unit_test(mixed),           cmocka_unit_test(long_text),
                                     cmocka_unit_test(known_languages), cmocka_unit_test(ngrams),
                                     cmocka_unit_test(model_file)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
