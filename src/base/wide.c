/* UTF-16 and UTF-32. See wide.h. */
#include "base/wide.h"

#include "base/memory.h"
#include "base/utf8.h"

#include <string.h>

static bool is_control(unsigned c) {
  return (c < ' ' && (c < '\t' || c == '\v' || c > '\r')) || (c >= 0x7F && c < 0xA0);
}

/* Whether text is UTF-16 without a mark: the beginning has no control characters, private use or half pairs, and an
 * eighth of it is below U+0100, such as blanks and newlines; seven eighths if it may also be UTF-8 with stray NULs.
 * High bytes are not mostly letters, unless it begins like HTML or JSON. high: the first or second byte of a unit. */
static bool is_utf16(cq_slice bytes, size_t high) {
  const size_t n = cq_min(bytes.n, (size_t)CQ_WIDE_LOOKED_AT) / 2;
  size_t n_latin = 0, n_low_nul = 0, n_letters = 0;
  bool after_high = false, may_be_utf8 = cq_utf8_invalid_at(bytes.data, 2 * n) + 4 > 2 * n;
  for (size_t i = 0; i < n; i++) {
    const unsigned above = (unsigned char)bytes.data[2 * i + high], low = (unsigned char)bytes.data[2 * i + 1 - high];
    const unsigned c = above * 256 + low;
    const bool is_second = c >= 0xDC00 && c < 0xE000;
    if (is_control(c) || (c >= 0xE000 && c < 0xF900) || c >= 0xFFFE || is_second != after_high) return false;
    after_high = c >= 0xD800 && c < 0xDC00;
    n_latin += above == 0, n_low_nul += low == 0;
    n_letters += above >= ' ' && low >= ' ' && above < 0x7F && low < 0x7F;
    may_be_utf8 &= (!above || above >= 0x80 || !is_control(above)) && (!low || low >= 0x80 || !is_control(low));
  }
  const bool is_marked_up = n >= 2 && strchr("<{[", bytes.data[1 - high]) && !bytes.data[high] && !bytes.data[2 + high];
  const size_t rarest = may_be_utf8 && !is_marked_up ? n - n / 8 : (n + 7) / 8;
  return n >= 2 && n_latin >= rarest && 4 * n_low_nul <= n_latin && (is_marked_up || 2 * n_letters <= n - n_latin);
}

const char *cq_encoding_marked(cq_slice bytes) {
  static const struct {
    char bytes[4];
    size_t n;
    const char *name;
  } marks[] = {{"\xFF\xFE\0\0", 4, "UTF-32LE"},
               {"\0\0\xFE\xFF", 4, "UTF-32BE"},
               {"\xFF\xFE", 2, "UTF-16LE"},
               {"\xFE\xFF", 2, "UTF-16BE"}};
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
    if (bytes.n >= marks[i].n && !memcmp(bytes.data, marks[i].bytes, marks[i].n)) return marks[i].name;
  return is_utf16(bytes, 1) ? "UTF-16LE" : is_utf16(bytes, 0) ? "UTF-16BE" : NULL;
}

static uint32_t read_unit(const char *at, size_t n, bool is_big) {
  uint32_t unit = 0;
  for (size_t i = 0; i < n; i++) unit = unit << 8 | (unsigned char)at[is_big ? i : n - 1 - i];
  return unit;
}

size_t cq_wide_decode(uint32_t *code, cq_slice text, const char *encoding, bool is_last) {
  const size_t n = encoding[4] == '1' ? 2 : 4; /* "UTF-16LE", "UTF-32BE" */
  const bool is_big = encoding[6] == 'B';
  *code = CQ_WIDE_BAD;
  if (text.n < n) return is_last ? text.n : 0;
  const uint32_t unit = read_unit(text.data, n, is_big);
  if (n == 2 && unit >= 0xD800 && unit < 0xDC00) { /* the first half of a pair */
    if (text.n < 4) return is_last ? n : 0;
    const uint32_t second = read_unit(text.data + 2, n, is_big);
    if (second < 0xDC00 || second >= 0xE000) return n;
    *code = 0x10000 + ((unit - 0xD800) << 10) + (second - 0xDC00);
    return 4;
  }
  if (unit <= 0x10FFFF && (unit < 0xD800 || unit >= 0xE000)) *code = unit;
  return n;
}
