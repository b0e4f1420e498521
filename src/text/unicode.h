/* Characters and their properties, and the transformations of text that tokenizers need.
 *
 *   cq_builder out = {0};
 *   cq_text_normal_form(&out, text, CQ_NFKC);
 *   cq_text_lower(&out, text);                  // appends, as everything here does
 *
 * Input is well-formed UTF-8; malformed bytes are read as U+FFFD and never crash. A failed allocation sets out->failed.
 * Properties are those of the Unicode version that ICU carries. */
#ifndef TEXT_UNICODE_H
#define TEXT_UNICODE_H

#include "base/slice.h"
#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum cq_normal_form { CQ_NFC, CQ_NFD, CQ_NFKC, CQ_NFKD } cq_normal_form;

/* --- one character --- */

bool cq_char_is_whitespace(uint32_t c);      /* the White_Space property */
bool cq_char_is_letter(uint32_t c);          /* L* */
bool cq_char_is_number(uint32_t c);          /* N* */
int cq_char_digit(uint32_t c);               /* the value of a decimal digit (Nd) of any script, -1 for others */
bool cq_char_is_punctuation(uint32_t c);     /* P* */
bool cq_char_is_symbol(uint32_t c);          /* S* */
bool cq_char_is_nonspacing_mark(uint32_t c); /* Mn */
bool cq_char_is_mark(uint32_t c);            /* M* */
bool cq_char_is_other(uint32_t c);           /* Cc, Cf, Co */
bool cq_char_is_word(uint32_t c);            /* matched by \w: letters, marks, decimal and letter numbers, connectors */
bool cq_char_is_cjk(uint32_t c);             /* BERT's ideograph blocks: no kana, no hangul */

/* As in BERT's tokenizers, with the tables of Unicode 8. */
bool cq_char_is_bert_punctuation(uint32_t c); /* P* and every ASCII character except letters, digits and space */
bool cq_char_is_bert_accent(uint32_t c);      /* Mn */
bool cq_char_is_bert_control(uint32_t c);     /* Cc, Cf, Co, tab and newlines included */

/* The lower-case form, one character or two (only U+0130 has two); returns how many. */
int cq_char_lower(uint32_t out[2], uint32_t c);
bool cq_char_is_capital(uint32_t c); /* a letter with another lower-case form */
/* Case folding of a character (CaseFolding.txt, C and F: both sigmas fold to one, sharp s to ss), to one to three
 * characters; returns how many. */
int cq_char_fold(uint32_t out[3], uint32_t c);

/* --- text --- */

static inline bool cq_text_is_ascii(cq_slice text) {
  uint64_t any = 0, eight;
  size_t i = 0;
  for (; text.n - i >= sizeof eight; i += sizeof eight) memcpy(&eight, text.data + i, sizeof eight), any |= eight;
  for (; i < text.n; i++) any |= (unsigned char)text.data[i];
  return (any & 0x8080808080808080u) == 0;
}

void cq_text_normal_form(cq_builder *out, cq_slice text, cq_normal_form form);
/* Whether it is in NFC. Well-formed text only. */
bool cq_text_is_composed(cq_slice text);
/* Whether the text before a character and the text that begins with it can be normalized separately. */
bool cq_char_begins_normal_form(uint32_t c, cq_normal_form form);

/* Each character by itself. */
void cq_text_lower(cq_builder *out, cq_slice text);
/* The text in upper case, for no language in particular: sharp s becomes SS. */
void cq_text_upper(cq_builder *out, cq_slice text);
/* As cq_text_lower, but a capital sigma at a word's end becomes the final one (Unicode 15, table 3-17; what str.lower()
 * does). */
void cq_text_lower_in_context(cq_builder *out, cq_slice text);

/* Texts that differ only in case and compatibility forms become equal: NFKC, case folding of each character, NFKC. */
void cq_text_fold(cq_builder *out, cq_slice text);

/* Removes marks; decompose first (CQ_NFD) to take accents off. */
void cq_text_strip_marks(cq_builder *out, cq_slice text);

/* BERT's normalization: clean; then, if accents are stripped, CQ_NFD and strip. */
typedef struct cq_bert_rules {
  bool clean;         /* drop U+0000, U+FFFD and control characters, make every white space a space */
  bool space_cjk;     /* put spaces around ideographs */
  bool strip_accents; /* decompose and drop nonspacing marks */
  bool lowercase;
} cq_bert_rules;
void cq_text_bert_clean(cq_builder *out, cq_slice text, const cq_bert_rules *rules);
void cq_text_bert_strip(cq_builder *out, cq_slice text, const cq_bert_rules *rules);

/* The length in bytes of the extended grapheme cluster that text (not empty) begins with. */
size_t cq_grapheme_length(const char *text, size_t n);

/* Appends a character. */
static inline void cq_builder_code(cq_builder *b, uint32_t c) {
  char bytes[4];
  cq_builder_bytes(b, bytes, cq_utf8_encode(bytes, c));
}

#endif
