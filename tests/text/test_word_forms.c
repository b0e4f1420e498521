/* Forms of words: which words of a document a query finds, in the document's language, whatever the query's is. */
#include "support/files.h"

#include "base/memory.h"
#include "text/analyzer.h"
#include "text/word_forms.h"

/* The weight of the forms that a query's words have in common with a document; 1: all of one word's. */
static double match(const char *language, const char *document, const char *query) {
  cq_analyzer *analyzer;
  cq_analysis *of_document, *of_query;
  const uint32_t *ids;
  const cq_query_form *forms;
  size_t n, n_forms;
  double weight = 0;
  assert_int_equal(cq_analyzer_open_forms(&analyzer, NULL), CQ_OK);
  assert_int_equal(cq_analysis_open(&of_document, analyzer, NULL), CQ_OK);
  assert_int_equal(cq_analysis_open(&of_query, analyzer, NULL), CQ_OK);
  cq_analysis_set_language(of_document, cq_slice_of(language));
  for (int time = 0; time < 2; time++) { /* the second time from what is kept */
    assert_int_equal(cq_analysis_run(&ids, &n, of_document, cq_slice_of(document), NULL), CQ_OK);
    if (cq_analysis_n_words(of_document) != 1) fail_msg("%s: %zu words", document, cq_analysis_n_words(of_document));
  }
  assert_int_equal(cq_analysis_run_query(&forms, &n_forms, of_query, cq_slice_of(query), NULL), CQ_OK);
  for (size_t f = 0; f < n_forms; f++)
    for (size_t i = 0; i < n; i++)
      if (cq_slice_equal(cq_analysis_terms(of_query)->items[forms[f].id],
                         cq_analysis_terms(of_document)->items[ids[i]]))
        weight += forms[f].share;
  cq_analysis_free(of_document);
  cq_analysis_free(of_query);
  cq_analyzer_free(analyzer);
  return weight;
}

typedef struct pair {
  const char *language, *document, *query;
} pair;

static const pair inflected[] = {
    {"en", "Rents", "rent"},        {"en-GB", "rising", "rises"},
    {"de", "Häuser", "Haus"},       {"fr", "maisons", "maison"},
    {"es", "casas", "casa"},        {"es", "canciones", "canción"},
    {"it", "case", "casa"},         {"pt-BR", "informações", "informação"},
    {"ro", "casele", "casă"},       {"nl", "boeken", "boek"},
    {"sv", "husen", "hus"},         {"nb", "husene", "hus"}, /* identification's code for Norwegian */
    {"da", "huse", "hus"},          {"fi", "taloissa", "talo"},
    {"hu", "házak", "ház"},         {"tr", "evler", "ev"},
    {"hr", "kuće", "kuća"}, /* Serbian's stemmer, in Latin letters */
    {"sr", "књиге", "књига"},       {"ru", "книги", "книга"},
    {"el", "σπίτια", "σπίτι"},      {"ar", "الكتاب", "كتاب"},
    {"ar", "المدرسة", "مدرسة"},     {"ar", "الكبيرة", "كبيرة"},
    {"hi", "किताबें", "किताब"},       {"id", "makanan", "makan"},
    {"", "Rents", "rent"},       /* unknown: by script */
    {"ru", "Windows", "window"}, /* another script than the language's */
    {"ko", "학교에서", "학교"},     {"ko", "학교에서는", "학교"},
    {"ko", "도서관으로", "도서관"}, {"ko", "결과가", "결과를"},
    {"ko", "고양이에게", "고양이"}, {"ko", "제주도에서", "제주도"},
    {"ko", "사람들이", "사람"},     {"ko", "책이", "책"},
};

static const pair folded[] = {
    {"en", "café", "cafe"},       {"fr", "café", "cafe"},
    {"fr", "été", "ete"},         {"pt", "informação", "informacao"},
    {"tr", "ISPARTA", "ısparta"}, {"it", "città", "citta"},
    {"vi", "đường", "duong"},     {"pl", "łódź", "lodz"},
    {"da", "Ærø", "aero"},        {"cs", "Příliš", "prilis"},
    {"el", "ΟΔΟΣ", "οδός"},       {"ru", "за\xCC\x81мок", "замок"},
};

static const pair equal[] = {
    {"tr", "İstanbul", "istanbul"},
    {"tr", "ISTANBUL", "istanbul"},
    {"en", "istanbul", "İSTANBUL"},
    {"tr", "I\xCC\x87stanbul", "istanbul"},
    {"de", "Straße", "STRASSE"},
    {"fr", "cafe\xCC\x81", "café"},
    {"ko", "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xA8\xE1\x84\x80\xE1\x85\xAD", "학교"}, /* NFD */
    {"en", "co\xC2\xADoperation", "cooperation"},                                   /* a soft hyphen */
    {"fa", "کتاب\xE2\x80\x8Cها", "کتابها"},                                         /* a non-joiner */
    {"he", "שָׁלוֹם", "שלום"},
    {"ja", "ｶﾞｲﾄﾞ", "ガイド"},
    {"en", "Ｒｅｎｔｓ", "rents"},
    {"ru", "ёлка", "елка"},
    {"en", "2021", "2021"},
};

/* Not the same words, although they are spelled alike or have the same endings. */
static const pair different[] = {
    {"ko", "가을", "가"},  {"ko", "결과를", "결과서"}, {"ru", "йод", "иод"},
    {"en", "new", "knew"}, {"de", "Rente", "Mieten"},  {"zh", "北京", "东京"},
};

static void check(const pair *p, double at_least, double below) {
  const double weight = match(p->language, p->document, p->query);
  if (!(weight >= at_least - 1e-9 && weight < below))
    fail_msg("%s: '%s', '%s': %g", p->language, p->document, p->query, weight);
}

#define FOR_EACH(table) for (const pair *p = (table); p < (table) + sizeof(table) / sizeof *(table); p++)

/* Both ways, and below the weight of the exact form, which is whole. */
static void words_are_found_by_other_forms(void **state) {
  (void)state;
  FOR_EACH(inflected) {
    const pair reversed = {p->language, p->query, p->document};
    check(p, 0.3, 0.95), check(&reversed, 0.3, 0.95);
  }
  FOR_EACH(folded) {
    const pair reversed = {p->language, p->query, p->document};
    check(p, 0.3, 0.95), check(&reversed, 0.3, 0.95);
  }
}

static void equal_forms_have_the_whole_weight(void **state) {
  (void)state;
  FOR_EACH(equal) check(p, 1, 1 + 1e-9);
  FOR_EACH(inflected) check(&(pair){p->language, p->document, p->document}, 1, 1 + 1e-9);
  FOR_EACH(folded) check(&(pair){p->language, p->document, p->document}, 1, 1 + 1e-9);
}

static void other_words_are_not_found(void **state) {
  (void)state;
  FOR_EACH(different) check(p, 0, 1e-9);
}

/* A document is found by the stems of its own language alone. */
static void stems_are_the_documents(void **state) {
  (void)state;
  check(&(pair){"en", "Häuser", "Haus"}, 0, 1e-9);
  check(&(pair){"en", "new", "news"}, 0, 1e-9);
  check(&(pair){"fr", "new", "news"}, 0.3, 0.95);
}

static void languages_are_known_by_their_codes(void **state) {
  (void)state;
  assert_int_equal(cq_word_language(cq_slice_of("nn")), cq_word_language(cq_slice_of("no")));
  assert_int_equal(cq_word_language(cq_slice_of("DE-at")), cq_word_language(cq_slice_of("de")));
  for (size_t i = 0; i < 5; i++) {
    static const char *const unknown[] = {"", "none", "und", "a code of more than thirty-two bytes", "zh"};
    assert_int_equal(cq_word_language(cq_slice_of(unknown[i])), CQ_UNKNOWN_LANGUAGE);
  }
  assert_int_equal(cq_word_language((cq_slice){0}), CQ_UNKNOWN_LANGUAGE);
}

static void memory_may_run_out(void **state) {
  (void)state;
  bool failed = true;
  for (long n = 1; failed; n++) {
    const cq_word_form *forms;
    size_t n_forms;
    cq_alloc_fail_at(n);
    cq_word_forms *f = cq_word_forms_open();
    const bool ok = f && cq_word_forms_of(&forms, &n_forms, f, cq_slice_of("Größen"), CQ_ANY_LANGUAGE);
    failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(ok, !failed);
    cq_word_forms_free(f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_are_found_by_other_forms),     cmocka_unit_test(equal_forms_have_the_whole_weight),
      cmocka_unit_test(other_words_are_not_found),          cmocka_unit_test(stems_are_the_documents),
      cmocka_unit_test(languages_are_known_by_their_codes), cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
