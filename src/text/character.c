/* Properties of single characters. */
#include "text/unicode.h"

#include <unicode/uchar.h>
#include <unicode/ustring.h>

static bool is_of(uint32_t c, uint32_t categories) {
  return (U_GET_GC_MASK((UChar32)c) & categories) != 0;
}

bool cq_char_is_whitespace(uint32_t c) {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

bool cq_char_is_letter(uint32_t c) {
  if (c < 0x80) return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
  return is_of(c, U_GC_L_MASK);
}

bool cq_char_is_number(uint32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  return is_of(c, U_GC_N_MASK);
}

int cq_char_digit(uint32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9' ? (int)(c - '0') : -1;
  return u_charDigitValue((UChar32)c);
}

bool cq_char_is_punctuation(uint32_t c) {
  return is_of(c, U_GC_P_MASK);
}

bool cq_char_is_symbol(uint32_t c) {
  return is_of(c, U_GC_S_MASK);
}

bool cq_char_is_nonspacing_mark(uint32_t c) {
  return c >= 0x300 && is_of(c, U_GC_MN_MASK);
}

bool cq_char_is_mark(uint32_t c) {
  return c >= 0x300 && is_of(c, U_GC_M_MASK);
}

bool cq_char_is_other(uint32_t c) {
  return is_of(c, U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK);
}

bool cq_char_is_word(uint32_t c) {
  if (c < 0x80) return cq_char_is_letter(c) || cq_char_is_number(c) || c == '_';
  return is_of(c, U_GC_L_MASK | U_GC_M_MASK | U_GC_ND_MASK | U_GC_NL_MASK | U_GC_PC_MASK) || c == 0x200C ||
         c == 0x200D || (c >= 0x24B6 && c <= 0x24E9); /* joiners; circled letters are alphabetic */
}

/* BERT models' tokenizers use the characters of Unicode 8. They treat marks, punctuation and format characters that
 * were added (or moved) later as plain characters. We must do the same to get the same ids. */
static const struct {
  uint32_t low, high;
} after_unicode_8[] = {
    {0x61D, 0x61D},     {0x7FD, 0x7FD},     {0x890, 0x891},     {0x898, 0x89F},     {0x8CA, 0x8E2},
    {0x9FD, 0x9FE},     {0xA76, 0xA76},     {0xAFA, 0xAFF},     {0xB55, 0xB55},     {0xC04, 0xC04},
    {0xC3C, 0xC3C},     {0xC77, 0xC77},     {0xC84, 0xC84},     {0xD00, 0xD00},     {0xD3B, 0xD3C},
    {0xD81, 0xD81},     {0xEBA, 0xEBA},     {0xECE, 0xECE},     {0x180F, 0x180F},   {0x1885, 0x1886},
    {0x1ABF, 0x1ACE},   {0x1B7D, 0x1B7E},   {0x1DF6, 0x1DFB},   {0x2E43, 0x2E4F},   {0x2E52, 0x2E5D},
    {0xA82C, 0xA82C},   {0xA8C5, 0xA8C5},   {0xA8FF, 0xA8FF},   {0xA9BD, 0xA9BD},   {0x10D24, 0x10D27},
    {0x10EAB, 0x10EAD}, {0x10EFD, 0x10EFF}, {0x10F46, 0x10F50}, {0x10F55, 0x10F59}, {0x10F82, 0x10F89},
    {0x11070, 0x11070}, {0x11073, 0x11074}, {0x110C2, 0x110C2}, {0x110CD, 0x110CD}, {0x111C9, 0x111C9},
    {0x111CF, 0x111CF}, {0x1123E, 0x1123E}, {0x11241, 0x11241}, {0x1133B, 0x1133B}, {0x11438, 0x1143F},
    {0x11442, 0x11444}, {0x11446, 0x11446}, {0x1144B, 0x1144F}, {0x1145A, 0x1145B}, {0x1145D, 0x1145E},
    {0x11660, 0x1166C}, {0x116B9, 0x116B9}, {0x1182F, 0x11837}, {0x11839, 0x1183B}, {0x1193B, 0x1193C},
    {0x1193E, 0x1193E}, {0x11943, 0x11946}, {0x119D4, 0x119D7}, {0x119DA, 0x119DB}, {0x119E0, 0x119E0},
    {0x119E2, 0x119E2}, {0x11A01, 0x11A0A}, {0x11A33, 0x11A38}, {0x11A3B, 0x11A47}, {0x11A51, 0x11A56},
    {0x11A59, 0x11A5B}, {0x11A8A, 0x11A96}, {0x11A98, 0x11A9C}, {0x11A9E, 0x11AA2}, {0x11B00, 0x11B09},
    {0x11C30, 0x11C36}, {0x11C38, 0x11C3D}, {0x11C3F, 0x11C3F}, {0x11C41, 0x11C45}, {0x11C70, 0x11C71},
    {0x11C92, 0x11CA7}, {0x11CAA, 0x11CB0}, {0x11CB2, 0x11CB3}, {0x11CB5, 0x11CB6}, {0x11D31, 0x11D36},
    {0x11D3A, 0x11D3A}, {0x11D3C, 0x11D3D}, {0x11D3F, 0x11D45}, {0x11D47, 0x11D47}, {0x11D90, 0x11D91},
    {0x11D95, 0x11D95}, {0x11D97, 0x11D97}, {0x11EF3, 0x11EF4}, {0x11EF7, 0x11EF8}, {0x11F00, 0x11F01},
    {0x11F36, 0x11F3A}, {0x11F40, 0x11F40}, {0x11F42, 0x11F4F}, {0x11FFF, 0x11FFF}, {0x12FF1, 0x12FF2},
    {0x13430, 0x13440}, {0x13447, 0x13455}, {0x16E97, 0x16E9A}, {0x16F4F, 0x16F4F}, {0x16FE2, 0x16FE2},
    {0x16FE4, 0x16FE4}, {0x1CF00, 0x1CF2D}, {0x1CF30, 0x1CF46}, {0x1E000, 0x1E006}, {0x1E008, 0x1E018},
    {0x1E01B, 0x1E021}, {0x1E023, 0x1E024}, {0x1E026, 0x1E02A}, {0x1E08F, 0x1E08F}, {0x1E130, 0x1E136},
    {0x1E2AE, 0x1E2AE}, {0x1E2EC, 0x1E2EF}, {0x1E4EC, 0x1E4EF}, {0x1E944, 0x1E94A}, {0x1E95E, 0x1E95F},
};

static bool is_new_to_bert(uint32_t c) {
  if (c < after_unicode_8[0].low) return false;
  size_t low = 0, high = sizeof after_unicode_8 / sizeof *after_unicode_8;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (c > after_unicode_8[middle].high)
      low = middle + 1;
    else
      high = middle;
  }
  return low < sizeof after_unicode_8 / sizeof *after_unicode_8 && c >= after_unicode_8[low].low;
}

bool cq_char_is_bert_punctuation(uint32_t c) {
  if (c < 0x80) return c > ' ' && c < 0x7F && !cq_char_is_letter(c) && !cq_char_is_number(c);
  if (c == 0x166D || c == 0x111C9) return true; /* were punctuation */
  return cq_char_is_punctuation(c) && !is_new_to_bert(c);
}

bool cq_char_is_bert_accent(uint32_t c) {
  return (cq_char_is_nonspacing_mark(c) && !is_new_to_bert(c)) || c == 0x1734; /* was nonspacing */
}

bool cq_char_is_bert_control(uint32_t c) {
  return cq_char_is_other(c) && !is_new_to_bert(c);
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
  if (c == 0x130) { /* the only character with two characters in lower case: i and a dot above */
    out[0] = 'i';
    out[1] = 0x307;
    return 2;
  }
  out[0] = (uint32_t)u_tolower((UChar32)c);
  return 1;
}

bool cq_char_is_capital(uint32_t c) {
  uint32_t lower[2];
  return cq_char_is_letter(c) && (cq_char_lower(lower, c) > 1 || lower[0] != c);
}

int cq_char_fold(uint32_t out[3], uint32_t c) {
  if (c < 0x80) return cq_char_lower(out, c);
  UErrorCode code = U_ZERO_ERROR;
  UChar from[2], to[6];
  int32_t n_from = 0;
  out[0] = c;
  if (c > 0x10FFFF) return 1;
  u_strFromUTF32(from, 2, &n_from, &(UChar32){(UChar32)c}, 1, &code);
  UChar32 wide[3];
  int32_t n_wide = 0;
  const int32_t n = u_strFoldCase(to, 6, from, n_from, U_FOLD_CASE_DEFAULT, &code);
  u_strToUTF32(wide, 3, &n_wide, to, n, &code);
  if (U_FAILURE(code)) return 1;
  for (int32_t i = 0; i < n_wide; i++) out[i] = (uint32_t)wide[i];
  return n_wide;
}
