/* Unifies interchangeable letters of a language, so that a vocabulary has each word only once:
 *
 *   Arabic         alef with hamza or madda as alef, alef maqsura as yeh, teh marbuta as heh, hamza on its seat as the
 *                  seat; the Persian yeh and kaf as the Arabic ones; no vowel points, no tatweel
 *   Hebrew         no vowel points
 *   Cyrillic       io (U+0451) as ie
 *   Devanagari     no nukta; candrabindu as anusvara
 *   Chinese        traditional characters as simplified ones, one by one (ICU's Traditional-Simplified)
 *   punctuation    typographic quotation marks and apostrophes as ' and ", dashes as -
 *
 * Distinctions that separate words of a language stay, above all accents of Latin letters. */
#ifndef TEXT_VARIANTS_H
#define TEXT_VARIANTS_H

#include "calque/status.h"

#include <stdbool.h>
#include <stdint.h>

/* A character and its replacement, in lower case if it has case; to 0: removed. False stops. */
typedef bool (*cq_variant_fn)(void *context, uint32_t from, uint32_t to);

/* Calls each once for every variant; no `to` is also a `from`. Errors: CQ_ERR_MEMORY, even when each returns false;
 * CQ_ERR_UNSUPPORTED when ICU's data is missing. */
CQ_MUST_USE cq_status cq_text_each_variant(cq_variant_fn each, void *context, cq_error *error);

#endif
