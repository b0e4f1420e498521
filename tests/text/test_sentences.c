/* Sentences of texts: where they end in ten languages, lines and lists, text that is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "calque/sentences.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cq_sentence_splitter *splitter;

/* The sentences with '|' between them. */
static const char *split(const char *text, const char *language) {
  static char out[4096];
  const cq_sentence *found;
  size_t n, at = 0, length = 0;
  cq_error error = {0};
  const cq_slice all = {text, strlen(text)};
  assert_int_equal(cq_sentence_splitter_run(&found, &n, splitter, all, language, &error), CQ_OK);
  *out = 0;
  for (size_t i = 0; i < n; i++) {
    for (; at < found[i].begin; at++) assert_non_null(strchr(" \n\r\t", text[at])); /* only blanks are left out */
    assert_true(found[i].end > found[i].begin && found[i].end <= all.n);
    length += (size_t)snprintf(out + length, sizeof out - length, "%s%.*s", i ? "|" : "",
                               (int)(found[i].end - found[i].begin), text + found[i].begin);
    at = found[i].end;
  }
  for (; at < all.n; at++) assert_non_null(strchr(" \n\r\t", text[at]));
  return out;
}

/* A text is written with '|' instead of the blank where a sentence ends; with '^' where no blank is. */
static void check(const char *language, const char *expected) {
  char text[2048], marked[2048];
  size_t n = 0, n_marked = 0;
  for (const char *c = expected; *c; c++) {
    if (*c != '^') text[n++] = *c == '|' ? ' ' : *c;
    marked[n_marked++] = *c == '^' ? '|' : *c;
  }
  text[n] = marked[n_marked] = 0;
  assert_string_equal(split(text, language), marked);
}

static void languages(void **state) {
  (void)state;
  check("en",
        "Dr. Miller arrived at 3.15 p.m. on Monday.|She had met J. R. Brown in St. Louis.|Was it $4.5 million?|No!");
  check("en", "\"Where is it?\" he asked.|Nobody knew...|They left at once.");
  check("en", "Yes.|No.|Maybe.|I do not know.");
  check("de", "Wir treffen uns am 3. Mai um 9.30 Uhr.|Das kostet z. B. 4.500 Euro.|Prof. Klein kommt auch!|Wirklich?");
  check("de", "„Kommst du mit?“, fragte sie.|Er sagte nichts.|Die Straße ist ca. 20 km lang.");
  check("de", "Ja.|Nein.|Am 3. Mai kam er.");
  check("fr", "M. Durand habite ici depuis 1998.|Elle a dit : « Venez demain. »|Nous sommes venus.|Et vous ?");
  check("fr", "Il dit : \" Tu es là ! \"|Elle rit.|Il part.|\" Reste ! \"");
  check("es", "Tiene 42,07 hab. / km².|Es un pueblo \"pequeño\".|\"Sí\", dijo.");
  check("ru", "Он поёт: ``Где любовь? ``.|В 1932 году он уехал.");
  check("es", "El Sr. García vive en la calle Mayor.|¿Dónde está su casa?|¡Qué lejos!|No lo sé.");
  check("it", "Il dott. Rossi non c'è.|Torna domani mattina.|Vuole aspettare?");
  check("ru", "Он родился в 1850 г. в деревне.|Его звали И. П. Петров.|Кто это знает?|Никто.");
  check("tr", "Yarın sabah erken kalkacağız.|Hava çok güzel olacak.|Sen de gelir misin?");
  check("zh", "我们明天去北京。^你也来吗？^太好了！");
  check("ja", "明日は町へ行きます。^あなたも来ますか？^「はい。」^それは良かった。");
  check("hi", "हम कल शहर जाएँगे।|क्या तुम भी आओगे?|बहुत अच्छा।");
  check("el", "Αύριο θα πάμε στην πόλη.|Θα έρθεις κι εσύ;|Πολύ ωραία.");
  check("ar", "سنسافر غدا إلى المدينة.|هل تأتي معنا؟|هذا جيد جدا.");
  check("hy", "Վաղը մենք կգնանք քաղաք։|Դու էլ կգա՞ս։|Շատ լավ։");
}

/* Languages without rules, and scripts whose marks Unicode knows. */
static void root_rules(void **state) {
  (void)state;
  assert_true(cq_sentence_splitter_knows("de") && cq_sentence_splitter_knows("pt-BR") &&
              cq_sentence_splitter_knows("EN"));
  assert_false(cq_sentence_splitter_knows("") || cq_sentence_splitter_knows("xx") ||
               cq_sentence_splitter_knows("deu-long-code") || cq_sentence_splitter_knows("d"));
  check("xx", "Aba ebe ibi.|Obo ubu?|Aba.");
  check("", "One sentence.|Another one.");
  assert_string_equal(split("Das ist ein Satz. Das ist am 3. Mai noch einer.", NULL),
                      "Das ist ein Satz.|Das ist am 3. Mai noch einer.");
}

static void lines(void **state) {
  (void)state;
  assert_string_equal(split("A heading\n\nThe first sentence.\nThe second one.\r\n\r\n  The third.  ", "en"),
                      "A heading|The first sentence.|The second one.|The third.");
  assert_string_equal(split("Shopping\n- apples\n- pears\n2. go home", "en"), "Shopping|- apples|- pears|2. go home");
  /* Wrapped at 50 columns: lines are filled as far as the next word allows. */
  assert_string_equal(split("The old house on the hill had been empty for many\nyears before we bought it. "
                            "Nobody had cut the\nhedges around the garden since the last war ended.",
                            "en"),
                      "The old house on the hill had been empty for many\nyears before we bought it.|"
                      "Nobody had cut the\nhedges around the garden since the last war ended.");
  assert_string_equal(split("1. Wash the apples. 2. Cut them into pieces. 3. Serve.", "en"),
                      "1. Wash the apples.|2. Cut them into pieces.|3. Serve.");
  assert_string_equal(split("", "en"), "");
  assert_string_equal(split(" \n \n", "en"), "");
  assert_string_equal(split("...", "en"), "...");
}

static void bad_text(void **state) {
  (void)state;
  const cq_sentence *found;
  size_t n;
  cq_error error = {0};
  const cq_slice text = {"Gut. Sch\xF6n.", 11};
  assert_int_equal(cq_sentence_splitter_run(&found, &n, splitter, text, "de", &error), CQ_ERR_FORMAT);
  assert_string_equal(error.message, "not UTF-8 at byte 8 of a text");
  assert_true(n == 0 && !found);
}

/* Text that could take more than linear time: one line without an end, blanks, open brackets, marks, no blanks. */
static void long_text(void **state) {
  (void)state;
  static const char *const units[] = {"word ", "(", " ", ". ", "\xE3\x80\x82", "\xE3\x81\x82", "a", "\"", "A. ", "x\n"};
  enum { N = 1 << 21 };
  char *text = malloc(N);
  const cq_sentence *found;
  size_t n;
  cq_error error = {0};
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    const size_t length = strlen(units[i]), n_all = N / length * length;
    for (size_t at = 0; at < n_all; at += length) memcpy(text + at, units[i], length);
    assert_int_equal(cq_sentence_splitter_run(&found, &n, splitter, (cq_slice){text, n_all}, "en", &error), CQ_OK);
    assert_true(i == 2 ? n == 0 : n > 0);
  }
  free(text);
}

static void memory(void **state) {
  (void)state;
  const cq_slice text = {"Eins. Zwei. Drei.", 17};
  cq_error error = {0};
  int n_failed = 0;
  for (long at = 1;; at++) {
    cq_sentence_splitter *s = NULL;
    const cq_sentence *found;
    size_t n;
    cq_alloc_fail_at(at);
    cq_status status = cq_sentence_splitter_open(&s, &error);
    if (!status) status = cq_sentence_splitter_run(&found, &n, s, text, at % 2 ? "de" : "xx", &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    cq_sentence_splitter_free(s);
    if (!failed) break;
    assert_int_equal(status, CQ_ERR_MEMORY);
    n_failed++;
  }
  assert_true(n_failed >= 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(languages), cmocka_unit_test(root_rules), cmocka_unit_test(lines),
      cmocka_unit_test(bad_text),  cmocka_unit_test(long_text),  cmocka_unit_test(memory),
  };
  cq_error error = {0};
  if (cq_sentence_splitter_open(&splitter, &error)) return 1;
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cq_sentence_splitter_free(splitter);
  return failed;
}
