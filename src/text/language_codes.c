/* Codes of languages, from ICU's tables and what these lack. See language_codes.h. */
#include "text/language_codes.h"

#include <string.h>
#include <unicode/uloc.h>

/* What ICU does not know: the codes of ISO 639-2/B, and those replaced in 639-1. */
static const char other_codes[][2][CQ_LANGUAGE_LETTERS] = {
    {"alb", "sq"}, {"arm", "hy"}, {"baq", "eu"}, {"bur", "my"}, {"chi", "zh"}, {"cze", "cs"},
    {"dut", "nl"}, {"fre", "fr"}, {"geo", "ka"}, {"ger", "de"}, {"gre", "el"}, {"ice", "is"},
    {"mac", "mk"}, {"mao", "mi"}, {"may", "ms"}, {"per", "fa"}, {"rum", "ro"}, {"slo", "sk"},
    {"tib", "bo"}, {"wel", "cy"}, {"iw", "he"},  {"in", "id"},  {"ji", "yi"},
};
enum { N_OTHERS = sizeof other_codes / sizeof *other_codes };

static void set_code(char out[CQ_LANGUAGE_LETTERS], const char *code) {
  memcpy(out, code, strnlen(code, CQ_LANGUAGE_LETTERS - 1) + 1);
  out[CQ_LANGUAGE_LETTERS - 1] = '\0';
}

size_t cq_language_codes(char out[CQ_LANGUAGE_CODES][CQ_LANGUAGE_LETTERS], size_t *n_code, const char *tag, size_t n) {
  char code[CQ_LANGUAGE_LETTERS] = "";
  UErrorCode error = U_ZERO_ERROR;
  size_t length = 0, n_codes = 1;
  while (length < n && ((tag[length] | 0x20) >= 'a' && (tag[length] | 0x20) <= 'z')) length++;
  *n_code = length;
  if (length < 2 || length > 3 || (length < n && tag[length] != '-' && tag[length] != '_')) return 0;
  for (size_t i = 0; i < length; i++) code[i] = (char)(tag[i] | 0x20);
  for (size_t i = 0; i < N_OTHERS; i++)
    if (!strcmp(code, other_codes[i][0])) set_code(code, other_codes[i][1]);
  if (uloc_getLanguage(code, out[0], CQ_LANGUAGE_LETTERS, &error) < 2 || U_FAILURE(error)) set_code(out[0], code);
  const char *three = uloc_getISO3Language(out[0]);
  if (strlen(three) == 3 && strcmp(three, out[0]) != 0) set_code(out[n_codes++], three);
  for (size_t i = 0; i < N_OTHERS; i++)
    if (!strcmp(out[0], other_codes[i][1])) set_code(out[n_codes++], other_codes[i][0]);
  return n_codes;
}
