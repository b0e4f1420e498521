/* The only writer of JSON strings and numbers: for model files, the program's --json, and the server's responses. */
#include "base/json_writer.h"

#include "base/number.h"
#include "base/utf8.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void append_escaped(cq_builder *b, char c, const char *shorts) {
  static const char forms[] = "\nn\rr\tt";
  if (c == '"' || c == '\\')
    cq_builder_bytes(b, (const char[]){'\\', c}, 2);
  else if (c && c != 0x7f && strchr(shorts, c))
    cq_builder_bytes(b, (const char[]){'\\', strchr(forms, c)[1]}, 2);
  else
    cq_builder_printf(b, "\\u%04x", c);
}

void cq_json_string(cq_builder *b, const char *text, size_t n, const char *shorts) {
  const bool escapes_del = strchr(shorts, 0x7f);
  const size_t n_valid = cq_utf8_invalid_at(text, n); /* up to where no character needs a look */
  cq_builder_char(b, '"');
  for (size_t i = 0, begin = 0; i <= n;) {
    const unsigned char c = i < n ? (unsigned char)text[i] : 0;
    uint32_t code = 0;
    const bool is_plain =
        i < n && c >= 0x20 && c != '"' && c != '\\' && (c != 0x7f || !escapes_del) && (c < 0x80 || i < n_valid);
    const size_t length = is_plain || i == n ? 1 : cq_utf8_decode(&code, text + i, n - i);
    if (is_plain || length > 1) {
      i += length;
      continue;
    }
    cq_builder_bytes(b, text + begin, i - begin);
    if (i < n && c >= 0x80)
      cq_builder_text(b, "\xEF\xBF\xBD");
    else if (i < n)
      append_escaped(b, (char)c, shorts);
    begin = ++i;
  }
  cq_builder_char(b, '"');
}

void cq_json_text(cq_builder *b, const char *text, size_t n) {
  cq_json_string(b, text, n, "\n");
}

void cq_json_member(cq_builder *b, const char *before, cq_slice text) {
  cq_builder_text(b, before);
  cq_json_text(b, text.data ? text.data : "", text.n);
}

/* Nine digits distinguish any two floats. They are found in double precision, whose error is far below half a step of
 * the ninth. */
void cq_json_float(cq_builder *b, float x) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  enum { DIGITS = 9 };
  if (!isfinite(x)) {
    cq_builder_bytes(b, "null", 4);
    return;
  }
  const double a = fabs((double)x);
  if (a == 0) {
    cq_builder_bytes(b, signbit(x) ? "-0.0" : "0.0", signbit(x) ? 4 : 3);
    return;
  }
  if (a < 1e-4 || a >= 1e8) {
    cq_builder_printf(b, "%.9g", (double)x);
    return;
  }
  int places = DIGITS; /* after the point: DIGITS digits in all */
  while (places > 0 && a >= powers[DIGITS - places]) places--;
  for (double least = 0.1; a < least && places < DIGITS + 4; least /= 10) places++;
  uint64_t n = (uint64_t)(a * powers[places] + 0.5);
  while (places > 1 && n % 10 == 0) n /= 10, places--;
  char text[32];
  size_t at = sizeof text;
  for (int i = 0; n || i <= places; i++) {
    if (i == places && places) text[--at] = '.';
    if (i == places && !n && places) {
      text[--at] = '0';
      break;
    }
    text[--at] = (char)('0' + n % 10);
    n /= 10;
  }
  if (x < 0) text[--at] = '-';
  cq_builder_bytes(b, text + at, sizeof text - at);
}

void cq_json_floats(cq_builder *b, const float *x, size_t n) {
  cq_builder_bytes(b, "[", 1);
  for (size_t i = 0; i < n; i++) {
    if (i) cq_builder_bytes(b, ",", 1);
    cq_json_float(b, x[i]);
  }
  cq_builder_bytes(b, "]", 1);
}

/* The code unit of "\uXXXX"; 0: something else. */
static uint32_t escaped_unit(const char *at, size_t n) {
  char digits[5] = "";
  if (n < 6 || at[0] != '\\' || at[1] != 'u') return 0;
  memcpy(digits, at + 2, 4);
  return strspn(digits, "0123456789abcdefABCDEF") == 4 ? (uint32_t)strtoul(digits, NULL, 16) : 0;
}

/* Copies an escape; returns its length. */
static size_t mend_escape(cq_builder *b, const char *at, size_t n) {
  const uint32_t unit = escaped_unit(at, n), next = unit ? escaped_unit(at + 6, n - 6) : 0;
  const bool is_high = unit >= 0xd800 && unit < 0xdc00, is_low = unit >= 0xdc00 && unit < 0xe000;
  const bool is_pair = is_high && next >= 0xdc00 && next < 0xe000;
  const size_t length = is_pair ? 12 : unit ? 6 : n < 2 ? n : 2;
  if (is_low || (is_high && !is_pair))
    cq_builder_text(b, "\\ufffd");
  else
    cq_builder_bytes(b, at, length);
  return length;
}

static void mend_number(cq_builder *b, const char *at, size_t n, bool as_text) {
  const size_t sign = *at == '-', n_digits = n - sign;
  const char *digits = at + sign, *limit = sign ? "9223372036854775808" : "9223372036854775807";
  bool is_real = false, is_big = false;
  for (size_t i = 0; i < n_digits; i++) is_real |= !(digits[i] >= '0' && digits[i] <= '9');
  if (is_real) {
    char copy[400], *end = copy;
    memcpy(copy, at, n < sizeof copy ? n : 0), copy[n < sizeof copy ? n : 0] = 0;
    is_big = isinf(cq_strtod(copy, &end)) && end == copy + n;
  } else if (n_digits && *digits != '0') {
    is_big = n_digits > 19 || (n_digits == 19 && memcmp(digits, limit, 19) > 0);
  }
  if (is_big && as_text) cq_builder_char(b, '"');
  if (is_big && is_real && !as_text)
    cq_builder_text(b, sign ? "-1.7976931348623157e308" : "1.7976931348623157e308");
  else
    cq_builder_bytes(b, at, n);
  if (is_big && (as_text || !is_real)) cq_builder_text(b, as_text ? "\"" : ".0");
}

/* Whether the string that ends after i is the name of a member. */
static bool in_name(cq_slice text, size_t i) {
  while (i < text.n && text.data[i] != '"') i += text.data[i] == '\\' ? 2 : 1;
  for (i++; i < text.n && cq_is_blank(text.data[i]);) i++;
  return i < text.n && text.data[i] == ':';
}

void cq_json_mend(cq_builder *b, cq_slice text, bool as_text) {
  bool in_string = false;
  for (size_t i = 0, n; i < text.n; i += n) {
    const char *at = text.data + i;
    n = 0;
    if (in_string && *at == '\\') {
      const bool is_nul = !as_text && text.n - i > 6 && !memcmp(at, "\\u0000", 6) && in_name(text, i);
      n = is_nul ? 6 : mend_escape(b, at, text.n - i);
      if (is_nul) cq_builder_text(b, "\\ufffd");
      continue;
    }
    while (!in_string && i + n < text.n && at[n] && strchr("0123456789.eE+-", at[n])) n++;
    if (n && (*at == '-' || (*at >= '0' && *at <= '9'))) {
      mend_number(b, at, n, as_text);
      continue;
    }
    n = 1;
    in_string ^= *at == '"';
    cq_builder_char(b, *at);
  }
}
