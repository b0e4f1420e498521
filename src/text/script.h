/* The scripts that words are written in: Latin, Cyrillic, Devanagari and so on, by Unicode's Script property. Japanese
 * (Han, Hiragana, Katakana) counts as one script. */
#ifndef TEXT_SCRIPT_H
#define TEXT_SCRIPT_H

#include "base/slice.h"

#include <stdint.h>

enum { CQ_SCRIPT_NONE = 0, CQ_N_SCRIPTS = 256 };

/* A number below CQ_N_SCRIPTS; CQ_SCRIPT_NONE for characters of no particular script: digits, punctuation, common
 * marks. */
int cq_char_script(uint32_t c);

/* The script of most characters of a text; on a tie, the one that appears first. */
int cq_script_of(cq_slice text);

/* "Latin", "Cyrillic"; "none". */
const char *cq_script_name(int script);

/* Whether the script has no spaces between words: Chinese, Japanese, Thai, Lao, Khmer, Burmese. */
bool cq_script_has_no_spaces(int script);

/* The script of a language. */
typedef struct cq_scripts {
  int items[8];
  size_t n;
} cq_scripts;

/* A language's script by its code ("ru", "zh", "sr-Latn"), from CLDR; false: unknown. */
bool cq_scripts_of_language(cq_scripts *out, const char *language);
bool cq_scripts_have(const cq_scripts *scripts, int script);

#endif
