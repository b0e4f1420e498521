/* The table of languages' writing rules: how text is put into normal form, and which stemmer is used. See
 * language_rules.h. */
#include "text/language_rules.h"

#include "base/utf8.h"
#include "text/language_codes.h"
#include "text/script.h"
#include "text/unicode.h"

#include <string.h>

const cq_language cq_languages[] = {
    {"ar", "arabic", CQ_ARABIC_FORMS, 0x628},
    {"az", NULL, CQ_DOTLESS_I, 0},
    {"ca", "catalan", CQ_APOSTROPHE_ENDS, 0},
    {"da", "danish", 0, 0},
    {"de", "german", 0, 0},
    {"el", "greek", 0, 0x3b1},
    {"en", "english", 0, 0},
    {"es", "spanish", 0, 0},
    {"eu", "basque", 0, 0},
    {"fi", "finnish", 0, 0},
    {"fr", "french", CQ_APOSTROPHE_ENDS, 0},
    {"ga", "irish", 0, 0},
    {"hi", "hindi", 0, 0x915},
    {"hu", "hungarian", 0, 0},
    {"hy", "armenian", 0, 0x561},
    {"id", "indonesian", 0, 0},
    {"it", "italian", CQ_APOSTROPHE_ENDS, 0},
    {"lt", "lithuanian", 0, 0},
    {"mul", NULL, CQ_ARABIC_FORMS | CQ_APOSTROPHE_ENDS | CQ_ALIKE_FORMS | CQ_STEM_BY_SCRIPT, 0},
    {"ne", "nepali", 0, 0x915},
    {"nl", "dutch", 0, 0},
    {"no", "norwegian", 0, 0},
    {"pt", "portuguese", 0, 0},
    {"ro", "romanian", 0, 0},
    {"ru", "russian", 0, 0x430},
    {"sr", "serbian", 0, 0x430},
    {"sv", "swedish", 0, 0},
    {"ta", "tamil", 0, 0xb95},
    {"tr", "turkish", CQ_DOTLESS_I, 0},
    {"yi", "yiddish", 0, 0x5d0},
};
const size_t cq_n_languages = sizeof cq_languages / sizeof *cq_languages;

cq_language cq_language_of(const char *code) {
  for (size_t i = 0; i < cq_n_languages; i++)
    if (!strcmp(cq_languages[i].code, code)) return cq_languages[i];
  return (cq_language){.code = code};
}

/* The number of these characters at the text's start. */
static size_t n_letters(const char *text) {
  return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
}
static size_t n_digits(const char *text) {
  return strspn(text, "0123456789");
}

bool cq_language_code(char out[CQ_LANGUAGE_CODE], const char *text) {
  const size_t n = n_letters(text);
  if (*text && n != 2 && n != CQ_LANGUAGE_CODE - 1) return false;
  char codes[CQ_LANGUAGE_CODES][CQ_LANGUAGE_LETTERS] = {""};
  size_t n_code;
  (void)cq_language_codes(codes, &n_code, text, n);
  memcpy(out, codes[0], CQ_LANGUAGE_CODE);
  text += n;
  if (n && *text == '-' && n_letters(text + 1) == 4) text += 5;
  if (n && *text == '-' && n_letters(text + 1) == 2)
    text += 3;
  else if (n && *text == '-' && n_digits(text + 1) == 3)
    text += 4;
  return *text == '\0';
}

/* For words of any language: English's stemmer removes little except endings (s, es, ed) that are also common in other
 * languages in Latin letters. */
static const struct {
  uint32_t letter;
  const char *stemmer;
} stemmers[] = {{'a', "english"}, {0x430, "russian"},  {0x628, "arabic"}, {0x915, "hindi"},
                {0x3b1, "greek"}, {0x561, "armenian"}, {0xb95, "tamil"}};

const char *cq_language_stemmer(cq_language language, int script) {
  if (!(language.rules & CQ_STEM_BY_SCRIPT)) return language.stemmer;
  for (size_t i = 0; i < sizeof stemmers / sizeof *stemmers; i++)
    if (cq_char_script(stemmers[i].letter) == script) return stemmers[i].stemmer;
  return NULL;
}

/* --- normal form --- */

enum {
  APOSTROPHE = '\'',
  RIGHT_QUOTE = 0x2019,
  SHARP_S = 0xdf,
  CAPITAL_SHARP_S = 0x1e9e,
  TATWEEL = 0x640,
  FIRST_VOWEL_SIGN = 0x64b, /* fathatan ... sukun */
  LAST_VOWEL_SIGN = 0x652,
  SUPERSCRIPT_ALIF = 0x670,
  FIRST_MARK = 0x300, /* the first of the marks that compose with small letters of Latin and Greek */
  LAST_MARK = 0x36f,
};

/* The letter that replaces c; 0: c is removed. */
static uint32_t arabic_form(uint32_t c) {
  if (c == TATWEEL || c == SUPERSCRIPT_ALIF || (c >= FIRST_VOWEL_SIGN && c <= LAST_VOWEL_SIGN)) return 0;
  if (c == 0x622 || c == 0x623 || c == 0x625) return 0x627; /* alif with madda or hamza: alif */
  if (c == 0x649) return 0x64a;                             /* alif maqsura: ya */
  return c == 0x629 ? 0x647 : c;                            /* ta marbuta: ha */
}

/* The Thai or Lao vowel am, which NFKC splits and ICU's dictionaries contain whole; 0: these two are not one. */
static uint32_t vowel_am(uint32_t nikhahit, uint32_t aa) {
  if (nikhahit == 0xe4d && aa == 0xe32) return 0xe33;
  return nikhahit == 0xecd && aa == 0xeb2 ? 0xeb3 : 0;
}

/* For several languages: replaces common substitutes for letters that keyboards may lack, if no word changes. */
static uint32_t alike_form(uint32_t c) {
  if (c == 0x130) return 'i';
  if (c == 0x451) return 0x435; /* yo: ie */
  return c == 0x401 ? 0x415 : c;
}

static uint32_t by_rules(uint32_t c, unsigned rules) {
  if (c < 0x80 && !(rules & (CQ_APOSTROPHE_ENDS | CQ_DOTLESS_I))) return c;
  if (c == RIGHT_QUOTE) c = APOSTROPHE;
  const int digit = cq_char_digit(c);
  if (digit >= 0) return '0' + (uint32_t)digit;
  if (c == APOSTROPHE && (rules & CQ_APOSTROPHE_ENDS)) return ' ';
  if ((rules & CQ_DOTLESS_I) && c == 'I') return 0x131;
  if ((rules & CQ_DOTLESS_I) && c == 0x130) return 'i';
  if (rules & CQ_ALIKE_FORMS) c = alike_form(c);
  return (rules & CQ_ARABIC_FORMS) ? arabic_form(c) : c;
}

void cq_language_normal_form(cq_builder *out, cq_builder *scratch, cq_slice text, unsigned rules) {
  bool has_marks = false;
  cq_builder_clear(out);
  cq_builder_clear(scratch);
  cq_text_normal_form(out, text, CQ_NFKC);
  for (size_t i = 0; i < out->n;) {
    uint32_t c, next, am;
    i += cq_utf8_decode(&c, out->data + i, out->n - i);
    if ((c == 0xe4d || c == 0xecd) && i < out->n) {
      const size_t n = cq_utf8_decode(&next, out->data + i, out->n - i);
      if ((am = vowel_am(c, next))) c = am, i += n;
    }
    c = by_rules(c, rules);
    if ((rules & CQ_ALIKE_FORMS) && (c == SHARP_S || c == CAPITAL_SHARP_S))
      cq_builder_text(scratch, "ss");
    else if (c)
      cq_builder_code(scratch, c);
    has_marks |= c >= FIRST_MARK && c <= LAST_MARK;
  }
  bool failed = scratch->failed || out->failed;
  cq_builder_clear(out);
  cq_text_lower(out, (cq_slice){scratch->data, scratch->n});
  if (has_marks && !out->failed) {
    /* A mark may compose with a small letter even if it does not with the capital. */
    cq_builder_clear(scratch);
    cq_text_normal_form(scratch, (cq_slice){out->data, out->n}, CQ_NFC);
    failed |= scratch->failed;
    cq_builder_clear(out);
    cq_builder_bytes(out, scratch->data, scratch->n);
  }
  out->failed |= failed;
}
