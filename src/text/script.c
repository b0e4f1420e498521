/* The script of a character and of a word. See script.h. */
#include "text/script.h"

#include "base/utf8.h"
#include "text/language_codes.h"

#include <stdio.h>
#include <string.h>
#include <unicode/uscript.h>

/* ICU's number as ours. */
static int script_of(UScriptCode script) {
  if (script <= USCRIPT_INHERITED || script == USCRIPT_UNKNOWN || (int)script >= CQ_N_SCRIPTS) return CQ_SCRIPT_NONE;
  if (script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA) return USCRIPT_HAN;
  return script;
}

int cq_char_script(uint32_t c) {
  if (c < 0x80) return (c | 0x20) >= 'a' && (c | 0x20) <= 'z' ? USCRIPT_LATIN : CQ_SCRIPT_NONE;
  UErrorCode error = U_ZERO_ERROR;
  const UScriptCode script = uscript_getScript((UChar32)c, &error);
  return U_FAILURE(error) ? CQ_SCRIPT_NONE : script_of(script);
}

int cq_script_of(cq_slice text) {
  uint32_t counts[CQ_N_SCRIPTS] = {0}, max = 0;
  int best = CQ_SCRIPT_NONE;
  cq_slice rest = text;
  for (uint32_t c; cq_utf8_next(&c, &rest);) {
    const int script = cq_char_script(c);
    if (script != CQ_SCRIPT_NONE) counts[script]++;
  }
  for (uint32_t c; cq_utf8_next(&c, &text);) {
    const int script = cq_char_script(c);
    if (script != CQ_SCRIPT_NONE && counts[script] > max) max = counts[script], best = script;
  }
  return best;
}

const char *cq_script_name(int script) {
  const char *name = script == CQ_SCRIPT_NONE ? NULL : uscript_getName((UScriptCode)script);
  return name ? name : "none";
}

bool cq_script_has_no_spaces(int script) {
  return script == USCRIPT_HAN || script == USCRIPT_THAI || script == USCRIPT_LAO || script == USCRIPT_KHMER ||
         script == USCRIPT_MYANMAR;
}

bool cq_scripts_of_language(cq_scripts *out, const char *language) {
  enum { ROOM = sizeof out->items / sizeof *out->items };
  UScriptCode codes[ROOM];
  UErrorCode error = U_ZERO_ERROR;
  char known[CQ_LANGUAGE_CODES][CQ_LANGUAGE_LETTERS], tag[64];
  size_t n_code;
  if (cq_language_codes(known, &n_code, language, strlen(language)) &&
      (size_t)snprintf(tag, sizeof tag, "%s%s", known[0], language + n_code) < sizeof tag)
    language = tag;
  const int n = uscript_getCode(language, codes, ROOM, &error);
  *out = (cq_scripts){0};
  for (int i = 0; i < n && !U_FAILURE(error); i++) {
    /* Simplified and traditional are variants of Han; characters only have the script Han. */
    const bool han = codes[i] == USCRIPT_SIMPLIFIED_HAN || codes[i] == USCRIPT_TRADITIONAL_HAN;
    const int script = script_of(han ? USCRIPT_HAN : codes[i]);
    if (script != CQ_SCRIPT_NONE && !cq_scripts_have(out, script)) out->items[out->n++] = script;
  }
  return out->n > 0;
}

bool cq_scripts_have(const cq_scripts *scripts, int script) {
  for (size_t i = 0; i < scripts->n; i++)
    if (scripts->items[i] == script) return true;
  return false;
}
