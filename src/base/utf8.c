/* UTF-8 by the table of well-formed byte sequences of the Unicode standard (table 3-7). */
#include "base/utf8.h"

#include <string.h>
#include <unistd.h>

/* The length of the well-formed character at p; 0 if it is malformed. */
static size_t well_formed(const unsigned char *p, size_t n) {
  unsigned char a = p[0];
  if (a < 0x80) return 1;
  if (a < 0xC2 || a > 0xF4) return 0;
  size_t length = a < 0xE0 ? 2 : a < 0xF0 ? 3 : 4;
  if (n < length) return 0;
  /* The second byte's range excludes overlong forms, surrogates and code points beyond U+10FFFF. */
  unsigned char low = a == 0xE0 ? 0xA0 : a == 0xF0 ? 0x90 : 0x80, high = a == 0xED ? 0x9F : a == 0xF4 ? 0x8F : 0xBF;
  if (p[1] < low || p[1] > high) return 0;
  for (size_t i = 2; i < length; i++) {
    if ((p[i] & 0xC0) != 0x80) return 0;
  }
  return length;
}

size_t cq_utf8_invalid_at(const char *text, size_t n) {
  const unsigned char *p = (const unsigned char *)text;
  size_t i = 0;
  while (i < n) {
    if (p[i] < 0x80) { /* ASCII, eight bytes at a time */
      uint64_t eight;
      for (; n - i >= sizeof eight; i += sizeof eight) {
        memcpy(&eight, p + i, sizeof eight);
        if (eight & 0x8080808080808080u) break;
      }
      while (i < n && p[i] < 0x80) i++;
      continue;
    }
    size_t step = well_formed(p + i, n - i);
    if (step == 0) return i;
    i += step;
  }
  return n;
}

size_t cq_utf8_decode(uint32_t *code, const char *text, size_t n) {
  const unsigned char *p = (const unsigned char *)text;
  size_t length = well_formed(p, n);
  switch (length) {
  case 1: *code = p[0]; return 1;
  case 2: *code = (p[0] & 0x1Fu) << 6 | (p[1] & 0x3Fu); return 2;
  case 3: *code = (p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu); return 3;
  case 4: *code = (p[0] & 0x07u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu); return 4;
  default: *code = 0xFFFD; return 1;
  }
}

size_t cq_utf8_encode(char out[4], uint32_t code) {
  if (code < 0x80) {
    out[0] = (char)code;
    return 1;
  }
  if (code < 0x800) {
    out[0] = (char)(0xC0 | code >> 6);
    out[1] = (char)(0x80 | (code & 0x3F));
    return 2;
  }
  if (code < 0x10000) {
    out[0] = (char)(0xE0 | code >> 12);
    out[1] = (char)(0x80 | (code >> 6 & 0x3F));
    out[2] = (char)(0x80 | (code & 0x3F));
    return 3;
  }
  out[0] = (char)(0xF0 | code >> 18);
  out[1] = (char)(0x80 | (code >> 12 & 0x3F));
  out[2] = (char)(0x80 | (code >> 6 & 0x3F));
  out[3] = (char)(0x80 | (code & 0x3F));
  return 4;
}

size_t cq_utf8_length(const char *text, size_t n) {
  size_t length = 0;
  for (size_t i = 0; i < n; i++) length += ((unsigned char)text[i] & 0xC0) != 0x80;
  return length;
}

/* ---- for people ---- */

/* The length of the control character that text begins with, other than tab and newline; 0: none. */
static size_t control_character(unsigned *out, const char *text, size_t n) {
  const unsigned char *c = (const unsigned char *)text;
  const bool is_c1 = n > 1 && c[0] == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0;
  *out = is_c1 ? c[1] : c[0];
  return is_c1 ? 2 : (c[0] < ' ' && c[0] != '\t' && c[0] != '\n') || c[0] == 0x7F;
}

void cq_print_text(FILE *stream, cq_slice text) {
  size_t written = 0, length;
  for (size_t i = 0; i < text.n; i += length ? length : 1) {
    unsigned c;
    length = control_character(&c, text.data + i, text.n - i);
    if (length && !isatty(fileno(stream))) break;
    if (!length) continue;
    fwrite(text.data + written, 1, i - written, stream);
    fprintf(stream, "\\x%02x", c);
    written = i + length;
  }
  if (written < text.n) fwrite(text.data + written, 1, text.n - written, stream);
}
