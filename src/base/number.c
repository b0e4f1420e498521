/* Numbers as text in the C locale, which is set during the call and restored after it. */
#include "base/number.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

/* glibc has the C locale built in: switching to it is cheap. */
typedef struct held {
  locale_t c, before;
} held;

static held take_c_locale(void) {
  const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  return (held){c, c ? uselocale(c) : (locale_t)0};
}

static void put_back(held h) {
  if (h.c) uselocale(h.before), freelocale(h.c);
}

double cq_strtod(const char *text, char **end) {
  const held h = take_c_locale();
  const double value = strtod(text, end);
  put_back(h);
  return value;
}

bool cq_parse_count(uint64_t *out, const char *text) {
  char *end;
  if (text[0] == '\0' || strspn(text, "0123456789") != strlen(text)) return false;
  errno = 0;
  const unsigned long long value = strtoull(text, &end, 10);
  if (*end != '\0' || errno == ERANGE) return false;
  *out = value;
  return true;
}

int cq_vsnprintf(char *out, size_t size, const char *format, va_list args) {
  const held h = take_c_locale();
  const int n = vsnprintf(out, size, format, args);
  put_back(h);
  return n;
}

int cq_snprintf(char *out, size_t size, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int n = cq_vsnprintf(out, size, format, args);
  va_end(args);
  return n;
}

int cq_fprintf(FILE *out, const char *format, ...) {
  const held h = take_c_locale();
  va_list args;
  va_start(args, format);
  const int n = vfprintf(out, format, args);
  va_end(args);
  put_back(h);
  return n;
}
