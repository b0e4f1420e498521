/* A word's forms: the exact one, and the keys that other forms of the word share. See word_forms.h. */
#include "text/word_forms.h"

#include "base/memory.h"
#include "text/language_rules.h"
#include "text/script.h"
#include "text/unicode.h"

#include <assert.h>
#include <libstemmer.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>

#define EXACT_SHARE 0.1

enum { FIRST_ROW = CQ_UNKNOWN_LANGUAGE + 1 }; /* the language of a row of the table is its number plus this */

struct cq_word_forms {
  struct sb_stemmer *stemmers[CQ_N_WORD_LANGUAGES]; /* by row, opened when first needed */
  cq_builder exact, plain, stem, key, scratch;      /* plain: without accents */
  cq_builder bytes;                                 /* of all terms */
  size_t begins[CQ_MAX_WORD_FORMS];
  cq_word_form items[CQ_MAX_WORD_FORMS];
  size_t n;
};

cq_word_forms *cq_word_forms_open(void) {
  return cq_alloc_zeroed(sizeof(cq_word_forms));
}

void cq_word_forms_free(cq_word_forms *f) {
  if (!f) return;
  for (size_t i = 0; i < CQ_N_WORD_LANGUAGES; i++)
    if (f->stemmers[i]) sb_stemmer_delete(f->stemmers[i]);
  cq_builder_free(&f->exact);
  cq_builder_free(&f->plain);
  cq_builder_free(&f->stem);
  cq_builder_free(&f->key);
  cq_builder_free(&f->scratch);
  cq_builder_free(&f->bytes);
  cq_free(f);
}

/* --- languages --- */

int cq_word_language(cq_slice code) {
  static const char *const alike[][2] = {{"nb", "no"}, {"nn", "no"}, {"bs", "sr"}, {"hr", "sr"}};
  char text[32] = "", parsed[CQ_LANGUAGE_CODE];
  if (code.n == 0 || code.n >= sizeof text) return CQ_UNKNOWN_LANGUAGE;
  memcpy(text, code.data, code.n);
  if (!cq_language_code(parsed, text)) return CQ_UNKNOWN_LANGUAGE;
  const char *name = parsed;
  for (size_t i = 0; i < sizeof alike / sizeof *alike; i++)
    if (!strcmp(parsed, alike[i][0])) name = alike[i][1];
  for (size_t i = 0; i < cq_n_languages; i++)
    if (!strcmp(cq_languages[i].code, name)) return FIRST_ROW + (int)i;
  return CQ_UNKNOWN_LANGUAGE;
}

/* Whether a language's stemmer takes words in a script. Serbian's takes both of its alphabets. */
static bool stems_script(const cq_language *l, int script) {
  if (!l->stemmer || !script) return false;
  return cq_char_script(l->letter ? l->letter : 'a') == script || (!strcmp(l->code, "sr") && script == USCRIPT_LATIN);
}

/* The row of a script's own stemmer; cq_n_languages: none. */
static size_t row_of_script(int script) {
  const char *name = cq_language_stemmer(cq_language_of("mul"), script);
  size_t row = 0;
  while (row < cq_n_languages && !(name && cq_languages[row].stemmer && !strcmp(cq_languages[row].stemmer, name)))
    row++;
  return row;
}

/* --- folding --- */

/* Letters with a stroke, and pairs of letters, which no decomposition takes apart. */
static const char *plain_letter(uint32_t c) {
  switch (c) {
  case 0xe6: return "ae";
  case 0xf0:
  case 0x111: return "d";
  case 0xf8: return "o";
  case 0xfe: return "th";
  case 0x127: return "h";
  case 0x131: return "i";
  case 0x142: return "l";
  case 0x153: return "oe";
  default: return NULL;
  }
}

/* Cyrillic loses stress marks alone: й and ї are letters. */
static bool is_accent(uint32_t c, uint32_t base) {
  if (c < 0x300 || c > 0x36f) return false;
  return c <= 0x301 || cq_char_script(base) != USCRIPT_CYRILLIC;
}

/* out = the text without accents. */
static void fold_accents(cq_builder *out, cq_builder *scratch, cq_slice text) {
  uint32_t base = 0;
  cq_builder_clear(out);
  if (cq_text_is_ascii(text)) {
    cq_builder_slice(out, text);
    return;
  }
  cq_builder apart = {0};
  cq_text_normal_form(&apart, text, CQ_NFD);
  cq_builder_clear(scratch);
  cq_slice rest = cq_built(&apart);
  for (uint32_t c; cq_utf8_next(&c, &rest);) {
    if (is_accent(c, base)) continue;
    if (c < 0x300 || c > 0x36f) base = c;
    const char *plain = plain_letter(c);
    if (plain)
      cq_builder_text(scratch, plain);
    else
      cq_builder_code(scratch, c);
  }
  cq_text_normal_form(out, cq_built(scratch), CQ_NFC);
  out->failed |= apart.failed || scratch->failed;
  cq_builder_free(&apart);
}

/* Soft hyphens, joiners, marks of direction, Hebrew's vowel points. */
static bool is_left_out(uint32_t c) {
  return u_hasBinaryProperty((UChar32)c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT) ||
         (c >= 0x591 && c <= 0x5c7 && cq_char_is_nonspacing_mark(c));
}

static void fold_word(cq_builder *out, cq_builder *scratch, cq_slice word) {
  cq_builder_clear(out);
  if (cq_text_is_ascii(word)) {
    cq_builder_slice(out, word);
    return;
  }
  cq_builder_clear(scratch);
  for (uint32_t c; cq_utf8_next(&c, &word);)
    if (!is_left_out(c)) cq_builder_code(scratch, c);
  if (scratch->n) cq_text_fold(out, cq_built(scratch));
  out->failed |= scratch->failed;
}

/* --- forms --- */

static bool add_form(cq_word_forms *f, cq_slice form, const char *code, double share) {
  assert(f->n < CQ_MAX_WORD_FORMS);
  f->begins[f->n] = f->bytes.n;
  f->items[f->n++].share = share;
  cq_builder_bytes(&f->bytes, form.data, form.n);
  if (*code) cq_builder_char(&f->bytes, '/'), cq_builder_text(&f->bytes, code);
  return !f->bytes.failed;
}

/* A key, and another one if it differs: it has a third of the share. */
static bool add_keys(cq_word_forms *f, cq_slice key, cq_slice other, const char *code) {
  const bool two = other.n && !cq_slice_equal(key, other);
  const double share = 1 - EXACT_SHARE;
  return add_form(f, key, code, two ? share * 2 / 3 : share) && (!two || add_form(f, other, code, share / 3));
}

/* out = the stem of a word, without accents. */
static bool stem_plainly(cq_builder *out, cq_word_forms *f, struct sb_stemmer *stemmer, cq_slice word) {
  const sb_symbol *stem = sb_stemmer_stem(stemmer, (const sb_symbol *)word.data, (int)word.n);
  if (!stem) return false;
  const int n = sb_stemmer_length(stemmer);
  fold_accents(out, &f->scratch, n ? (cq_slice){(const char *)stem, (size_t)n} : word);
  return !out->failed;
}

static bool add_stems(cq_word_forms *f, size_t row) {
  const cq_language *l = &cq_languages[row];
  const cq_slice exact = cq_built(&f->exact), plain = cq_built(&f->plain);
  if (!f->stemmers[row] && !(f->stemmers[row] = sb_stemmer_new(l->stemmer, NULL))) return false;
  if (!stem_plainly(&f->stem, f, f->stemmers[row], exact)) return false;
  if (cq_slice_equal(exact, plain)) return add_keys(f, cq_built(&f->stem), (cq_slice){0}, l->code);
  return stem_plainly(&f->key, f, f->stemmers[row], plain) &&
         add_keys(f, cq_built(&f->stem), cq_built(&f->key), l->code);
}

/* --- Korean --- */

enum {
  SYLLABLE = 3,
  FIRST_SYLLABLE = 0xac00,
  LAST_SYLLABLE = 0xd7a3,
  FINAL_RIEUL = 8 /* bytes; code points; its number */
};

/* A particle, and what comes before it: 'c' a final consonant, 'v' none, 'r' none or rieul, ' ' any. Some also end nouns
 * (고양이, 결과, 제주도): these are taken off only if two syllables remain. */
static const struct particle {
  const char *text;
  char before;
  bool ends_nouns;
} particles[] = {
    {"에게서", ' ', false}, {"한테서", ' ', false}, {"으로서", 'c', false}, {"으로써", 'c', false},
    {"이라도", 'c', false}, {"입니다", ' ', false}, {"이라는", 'c', false}, {"에서", ' ', false},
    {"에게", ' ', false},   {"한테", ' ', false},   {"께서", ' ', false},   {"으로", 'c', false},
    {"로서", 'r', false},   {"로써", 'r', false},   {"부터", ' ', false},   {"까지", ' ', false},
    {"처럼", ' ', false},   {"보다", ' ', false},   {"마다", ' ', false},   {"조차", ' ', false},
    {"마저", ' ', false},   {"밖에", ' ', false},   {"이나", 'c', false},   {"이란", 'c', false},
    {"이랑", 'c', false},   {"이다", 'c', false},   {"라는", 'v', false},   {"하고", ' ', false},
    {"만큼", ' ', false},   {"을", 'c', false},     {"를", 'v', false},     {"은", 'c', false},
    {"는", 'v', false},     {"에", ' ', false},     {"이", 'c', true},      {"가", 'v', true},
    {"로", 'r', true},      {"과", 'c', true},      {"와", 'v', true},      {"도", ' ', true},
    {"만", ' ', true},      {"의", ' ', true},      {"들", ' ', true},      {"나", 'v', true},
    {"랑", 'v', true},
};

/* Whether a word may have the particle: a syllable is before it, with the right ending. */
static bool has_particle(cq_slice word, const struct particle *p) {
  const size_t n = strlen(p->text);
  uint32_t c;
  if (word.n < n + SYLLABLE || memcmp(word.data + word.n - n, p->text, n) != 0) return false;
  cq_utf8_decode(&c, word.data + word.n - n - SYLLABLE, SYLLABLE);
  if (c < FIRST_SYLLABLE || c > LAST_SYLLABLE) return p->before == ' ';
  const uint32_t final = (c - FIRST_SYLLABLE) % 28;
  switch (p->before) {
  case 'c': return final != 0;
  case 'v': return final == 0;
  case 'r': return final == 0 || final == FINAL_RIEUL;
  default: return true;
  }
}

/* The word without its last particle; false: it has none that surely is one. `last`: even if only one syllable remains. */
static bool strip_particle(cq_slice *word, bool last) {
  for (size_t i = 0; i < sizeof particles / sizeof *particles; i++) {
    const size_t n = strlen(particles[i].text);
    if (!has_particle(*word, &particles[i])) continue;
    if (particles[i].ends_nouns && !last && word->n < n + 2 * SYLLABLE) continue;
    word->n -= n;
    return true;
  }
  return false;
}

/* 학교에서는 is 학교. A word of two syllables may have a particle or not: 책이 is 책이 and 책. */
static bool add_korean(cq_word_forms *f) {
  cq_slice stem = cq_built(&f->exact);
  while (strip_particle(&stem, false)) continue;
  cq_slice shorter = stem;
  return add_keys(f, stem, strip_particle(&shorter, true) ? shorter : (cq_slice){0}, "ko");
}

/* --- a word --- */

/* The analyzer writes ta marbuta as ha, which the stemmer takes off only if the article is not before it. */
static void restore_ta_marbuta(cq_builder *word) {
  if (word->n > 2 && !memcmp(word->data + word->n - 2, "\xd9\x87", 2)) memcpy(word->data + word->n - 2, "\xd8\xa9", 2);
}

static bool add_all_keys(cq_word_forms *f, int script, size_t row_for_script, int language) {
  const size_t row = (size_t)(language - FIRST_ROW);
  bool ok = true;
  fold_accents(&f->plain, &f->scratch, cq_built(&f->exact));
  if (f->plain.failed) return false;
  if (script == USCRIPT_ARABIC) restore_ta_marbuta(&f->plain);
  if (language == CQ_ANY_LANGUAGE) {
    for (size_t i = 0; ok && i < cq_n_languages; i++)
      if (i == row_for_script || stems_script(&cq_languages[i], script)) ok = add_stems(f, i);
    return ok;
  }
  return add_stems(f, language >= FIRST_ROW && stems_script(&cq_languages[row], script) ? row : row_for_script);
}

bool cq_word_forms_of(const cq_word_form **out, size_t *n, cq_word_forms *f, cq_slice word, int language) {
  f->n = 0;
  cq_builder_clear(&f->bytes);
  fold_word(&f->exact, &f->scratch, word);
  bool ok = !f->exact.failed;
  if (ok && f->exact.n) {
    const int script = cq_script_of(cq_built(&f->exact));
    const size_t row = row_of_script(script);
    const bool has_keys = row < cq_n_languages || script == USCRIPT_HANGUL;
    ok = add_form(f, cq_built(&f->exact), "", has_keys ? EXACT_SHARE : 1);
    if (ok && script == USCRIPT_HANGUL) ok = add_korean(f);
    if (ok && row < cq_n_languages) ok = add_all_keys(f, script, row, language);
  }
  for (size_t i = 0; ok && i < f->n; i++)
    f->items[i].term =
        (cq_slice){f->bytes.data + f->begins[i], (i + 1 < f->n ? f->begins[i + 1] : f->bytes.n) - f->begins[i]};
  *out = f->items, *n = f->n;
  return ok;
}
