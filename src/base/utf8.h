/* UTF-8: the check that every line of input must pass, and stepping through checked text. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/slice.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The offset of the first byte that is not well-formed UTF-8 (Unicode 15, table 3-7: no overlong forms, no surrogates,
 * at most U+10FFFF); n if all of the text is well-formed. */
size_t cq_utf8_invalid_at(const char *text, size_t n);

/* Decodes the character at text (n > 0 bytes left) into *code and returns its length. Malformed input gives U+FFFD
 * and 1. */
size_t cq_utf8_decode(uint32_t *code, const char *text, size_t n);

/* Takes the first character off a text; false: it is empty. */
static inline bool cq_utf8_next(uint32_t *code, cq_slice *text) {
  if (text->n == 0) return false;
  const size_t n = cq_utf8_decode(code, text->data, text->n);
  text->data += n, text->n -= n;
  return true;
}

/* Where the character that ends before byte at > 0 of well-formed text begins. */
static inline size_t cq_utf8_begin(const char *text, size_t at) {
  do at--;
  while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80);
  return at;
}

/* Writes a character as UTF-8 and returns its length, 1 to 4. */
size_t cq_utf8_encode(char out[4], uint32_t code);

/* The number of characters of well-formed text. */
size_t cq_utf8_length(const char *text, size_t n);

/* Writes text from elsewhere. A terminal would obey control characters, so there they are written as \x1b. */
void cq_print_text(FILE *stream, cq_slice text);

#endif
