/* Properties of single characters. */
#include "text/unicode.h"

#include <utf8proc.h>

static utf8proc_category_t category(uint32_t c) {
  return utf8proc_category((utf8proc_int32_t)c);
}

bool cq_char_is_whitespace(uint32_t c) {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

bool cq_char_is_letter(uint32_t c) {
  if (c < 0x80) return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
  utf8proc_category_t k = category(c);
  return k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO;
}

bool cq_char_is_number(uint32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  utf8proc_category_t k = category(c);
  return k == UTF8PROC_CATEGORY_ND || k == UTF8PROC_CATEGORY_NL || k == UTF8PROC_CATEGORY_NO;
}

bool cq_char_is_punctuation(uint32_t c) {
  utf8proc_category_t k = category(c);
  return k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO;
}

bool cq_char_is_nonspacing_mark(uint32_t c) {
  return c >= 0x300 && category(c) == UTF8PROC_CATEGORY_MN;
}

bool cq_char_is_mark(uint32_t c) {
  if (c < 0x300) return false;
  utf8proc_category_t k = category(c);
  return k == UTF8PROC_CATEGORY_MN || k == UTF8PROC_CATEGORY_MC || k == UTF8PROC_CATEGORY_ME;
}

bool cq_char_is_other(uint32_t c) {
  utf8proc_category_t k = category(c);
  return k == UTF8PROC_CATEGORY_CC || k == UTF8PROC_CATEGORY_CF || k == UTF8PROC_CATEGORY_CO;
}

bool cq_char_is_word(uint32_t c) {
  if (c < 0x80) return cq_char_is_letter(c) || cq_char_is_number(c) || c == '_';
  switch (category(c)) {
  case UTF8PROC_CATEGORY_LU:
  case UTF8PROC_CATEGORY_LL:
  case UTF8PROC_CATEGORY_LT:
  case UTF8PROC_CATEGORY_LM:
  case UTF8PROC_CATEGORY_LO:
  case UTF8PROC_CATEGORY_MN:
  case UTF8PROC_CATEGORY_MC:
  case UTF8PROC_CATEGORY_ME:
  case UTF8PROC_CATEGORY_ND:
  case UTF8PROC_CATEGORY_NL:
  case UTF8PROC_CATEGORY_PC: return true;
  default:
    return c == 0x200C || c == 0x200D || (c >= 0x24B6 && c <= 0x24E9); /* joiners; circled letters are alphabetic */
  }
}

bool cq_char_is_bert_punctuation(uint32_t c) {
  if (c < 0x80) return c > ' ' && c < 0x7F && !cq_char_is_letter(c) && !cq_char_is_number(c);
  return cq_char_is_punctuation(c);
}

bool cq_char_is_cjk(uint32_t c) {
  return c >= 0x3400 &&
         ((c >= 0x4E00 && c <= 0x9FFF) || c <= 0x4DBF || (c >= 0xF900 && c <= 0xFAFF) ||
          (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) ||
          (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0x2F800 && c <= 0x2FA1F));
}

int cq_char_lower(uint32_t out[2], uint32_t c) {
  if (c < 0x80) {
    out[0] = c >= 'A' && c <= 'Z' ? c + 32 : c;
    return 1;
  }
  if (c == 0x130) { /* the one character whose lower case is two: i and a dot above */
    out[0] = 'i';
    out[1] = 0x307;
    return 2;
  }
  out[0] = (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
  return 1;
}
