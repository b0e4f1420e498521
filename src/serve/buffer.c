#include "serve/buffer.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void serve_buffer_free(serve_buffer *b) {
  free(b->data);
  *b = (serve_buffer){0};
}

/* Room for n bytes more. */
static char *reserve(serve_buffer *b, size_t n) {
  if (b->failed || n > SIZE_MAX / 4 || b->n > SIZE_MAX / 4) {
    b->failed = true;
    return NULL;
  }
  if (!b->data || b->n + n > b->capacity) {
    size_t capacity = b->capacity + b->capacity / 2;
    if (capacity < b->n + n) capacity = b->n + n;
    if (capacity < 256) capacity = 256;
    char *data = realloc(b->data, capacity);
    if (!data) {
      b->failed = true;
      return NULL;
    }
    b->data = data, b->capacity = capacity;
  }
  return b->data + b->n;
}

void serve_put(serve_buffer *b, const char *bytes, size_t n) {
  char *to = reserve(b, n);
  if (!to) return;
  if (n) memcpy(to, bytes, n);
  b->n += n;
}

void serve_put_text(serve_buffer *b, const char *text) {
  serve_put(b, text, strlen(text));
}

void serve_putf(serve_buffer *b, const char *format, ...) {
  va_list list;
  char small[512];
  va_start(list, format);
  const int n = vsnprintf(small, sizeof small, format, list);
  va_end(list);
  if (n < 0) {
    b->failed = true;
  } else if ((size_t)n < sizeof small) {
    serve_put(b, small, (size_t)n);
  } else {
    char *to = reserve(b, (size_t)n + 1);
    if (!to) return;
    va_start(list, format);
    vsnprintf(to, (size_t)n + 1, format, list);
    va_end(list);
    b->n += (size_t)n;
  }
}

/* Bytes of the UTF-8 character at text[0 .. n); 0: there is none. */
static size_t utf8_length(const unsigned char *s, size_t n) {
  static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
  const size_t length = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
  if (length <= 1) return length;
  if (length > n) return 0;
  unsigned c = s[0] & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; i++) {
    if (s[i] >> 6 != 2) return 0;
    c = c << 6 | (s[i] & 0x3Fu);
  }
  return c < least[length] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000) ? 0 : length;
}

void serve_put_json(serve_buffer *b, const char *text, size_t n) {
  serve_put(b, "\"", 1);
  for (size_t i = 0, begin = 0;; i++) {
    const unsigned char c = i < n ? (unsigned char)text[i] : 0;
    if (i < n && c >= 0x20 && c != '"' && c != '\\' && c < 0x80) continue;
    if (c >= 0x80) {
      const size_t length = utf8_length((const unsigned char *)text + i, n - i);
      if (length) {
        i += length - 1;
        continue;
      }
    }
    if (i > begin) serve_put(b, text + begin, i - begin);
    begin = i + 1;
    if (i >= n) break;
    if (c >= 0x80)
      serve_put_text(b, "\xEF\xBF\xBD");
    else if (c == '"' || c == '\\')
      serve_put(b, (const char[]){'\\', (char)c}, 2);
    else if (c == '\n')
      serve_put(b, "\\n", 2);
    else
      serve_putf(b, "\\u%04x", c);
  }
  serve_put(b, "\"", 1);
}

/* Nine digits tell any two floats apart. They are found in double precision, whose error is far below half a step of
 * the ninth. */
void serve_put_float(serve_buffer *b, float x) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  enum { DIGITS = 9 };
  if (!isfinite(x)) {
    serve_put(b, "null", 4);
    return;
  }
  const double a = fabs((double)x);
  if (a == 0) {
    serve_put(b, signbit(x) ? "-0.0" : "0.0", signbit(x) ? 4 : 3);
    return;
  }
  if (a < 1e-4 || a >= 1e8) {
    serve_putf(b, "%.9g", (double)x);
    return;
  }
  int places = DIGITS; /* behind the point: DIGITS digits in all */
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
  serve_put(b, text + at, sizeof text - at);
}

void serve_put_vector(serve_buffer *b, const float *x, size_t n) {
  serve_put(b, "[", 1);
  for (size_t i = 0; i < n; i++) {
    if (i) serve_put(b, ",", 1);
    serve_put_float(b, x[i]);
  }
  serve_put(b, "]", 1);
}

void serve_put_base64(serve_buffer *b, const void *bytes, size_t n) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const unsigned char *s = bytes;
  char *to = reserve(b, (n + 2) / 3 * 4);
  if (!to) return;
  for (size_t i = 0; i < n; i += 3) {
    const size_t left = n - i;
    const unsigned three = (unsigned)s[i] << 16 | (left > 1 ? (unsigned)s[i + 1] << 8 : 0) | (left > 2 ? s[i + 2] : 0u);
    *to++ = digits[three >> 18];
    *to++ = digits[three >> 12 & 63];
    *to++ = left > 1 ? digits[three >> 6 & 63] : '=';
    *to++ = left > 2 ? digits[three & 63] : '=';
  }
  b->n += (n + 2) / 3 * 4;
}
