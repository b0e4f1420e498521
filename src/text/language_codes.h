/* The codes of a language: "de" (ISO 639-1), "deu" (639-2/T and 639-3), "ger" (639-2/B), and replaced ones ("iw"). */
#ifndef TEXT_LANGUAGE_CODES_H
#define TEXT_LANGUAGE_CODES_H

#include <stddef.h>

enum { CQ_LANGUAGE_CODES = 4, CQ_LANGUAGE_LETTERS = 4 };

/* Writes all codes of the language whose code is the tag's first part, in lower case, its BCP 47 code first. *n_code:
 * the bytes of that part in the tag. Returns their number; 0: the part does not have two or three letters. */
size_t cq_language_codes(char out[CQ_LANGUAGE_CODES][CQ_LANGUAGE_LETTERS], size_t *n_code, const char *tag, size_t n);

#endif
