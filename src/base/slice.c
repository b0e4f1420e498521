/* A builder grows by cq_reserve; a failed append leaves the text unchanged. */
#include "base/slice.h"

#include "base/memory.h"
#include "base/number.h"

#include <math.h>
#include <stdarg.h>

bool cq_slice_number(double *out, cq_slice text) {
  char copy[64], *end;
  if (text.n == 0 || text.n >= sizeof copy) return false;
  memcpy(copy, text.data, text.n);
  copy[text.n] = '\0';
  if (strspn(copy, "0123456789+-.eE") != text.n) return false;
  const double value = cq_strtod(copy, &end);
  if (end != copy + text.n || !isfinite(value)) return false;
  *out = value;
  return true;
}

void cq_builder_bytes(cq_builder *b, const char *bytes, size_t n) {
  size_t needed;
  if (b->failed) return;
  if (b->limit && n > b->limit - (b->n < b->limit ? b->n : b->limit)) {
    b->failed = b->is_full = true;
    return;
  }
  if (!cq_checked_add(&needed, b->n, n) || !cq_checked_add(&needed, needed, 1) ||
      !cq_reserve((void **)&b->data, &b->capacity, needed, 1)) {
    b->failed = true;
    return;
  }
  if (n) memcpy(b->data + b->n, bytes, n);
  b->n += n;
  b->data[b->n] = '\0';
}

void cq_builder_text(cq_builder *b, const char *text) {
  cq_builder_bytes(b, text, strlen(text));
}

void cq_builder_char(cq_builder *b, char c) {
  cq_builder_bytes(b, &c, 1);
}

void cq_builder_field(cq_builder *b, cq_slice text) {
  for (size_t i = 0; i < text.n; i++) cq_builder_char(b, cq_is_blank(text.data[i]) ? ' ' : text.data[i]);
}

void cq_builder_printf(cq_builder *b, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = cq_vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (b->failed) return;
  if (n < 0 || !cq_reserve((void **)&b->data, &b->capacity, b->n + (size_t)n + 1, 1)) {
    b->failed = true;
    return;
  }
  va_start(args, format);
  cq_vsnprintf(b->data + b->n, (size_t)n + 1, format, args);
  va_end(args);
  b->n += (size_t)n;
}

void cq_builder_clear(cq_builder *b) {
  b->n = 0;
  b->failed = b->is_full = false;
  if (b->data) b->data[0] = '\0';
}

void cq_builder_free(cq_builder *b) {
  cq_free(b->data);
  *b = (cq_builder){0};
}
