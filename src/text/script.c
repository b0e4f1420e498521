#include "text/script.h"

#include "base/utf8.h"

#include <unicode/uscript.h>

int cq_char_script(uint32_t c) {
  UErrorCode error = U_ZERO_ERROR;
  const UScriptCode script = uscript_getScript((UChar32)c, &error);
  if (U_FAILURE(error) || script <= USCRIPT_INHERITED || script == USCRIPT_UNKNOWN || (int)script >= CQ_N_SCRIPTS)
    return CQ_SCRIPT_NONE;
  if (script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA) return USCRIPT_HAN;
  return script;
}

int cq_script_of(cq_slice text) {
  uint32_t counts[CQ_N_SCRIPTS] = {0}, most = 0;
  int best = CQ_SCRIPT_NONE;
  for (size_t i = 0; i < text.n;) {
    uint32_t c;
    i += cq_utf8_decode(&c, text.data + i, text.n - i);
    const int script = cq_char_script(c);
    if (script != CQ_SCRIPT_NONE) counts[script]++;
  }
  for (size_t i = 0; i < text.n;) {
    uint32_t c;
    i += cq_utf8_decode(&c, text.data + i, text.n - i);
    const int script = cq_char_script(c);
    if (script != CQ_SCRIPT_NONE && counts[script] > most) most = counts[script], best = script;
  }
  return best;
}
