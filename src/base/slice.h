/* Compares and reads borrowed byte strings; a string that grows. */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include "calque/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline cq_slice cq_slice_of(const char *text) {
  return (cq_slice){text, strlen(text)};
}
static inline bool cq_slice_equal(cq_slice a, cq_slice b) {
  return a.n == b.n && (a.n == 0 || memcmp(a.data, b.data, a.n) == 0);
}

static inline bool cq_slice_begins(cq_slice text, cq_slice beginning) {
  return text.n >= beginning.n && cq_slice_equal((cq_slice){text.data, beginning.n}, beginning);
}

/* Bytewise comparison for qsort; a prefix comes first. */
static inline int cq_slice_compare(cq_slice a, cq_slice b) {
  const size_t n = a.n < b.n ? a.n : b.n;
  const int difference = n ? memcmp(a.data, b.data, n) : 0;
  return difference ? difference : (a.n > b.n) - (a.n < b.n);
}

/* White space of ASCII. */
static inline bool cq_is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
/* What fits of a text, zero-terminated; size > 0. */
static inline const char *cq_slice_copy(char *out, size_t size, cq_slice text) {
  const size_t n = text.n < size ? text.n : size - 1;
  if (n) memcpy(out, text.data, n);
  out[n] = '\0';
  return out;
}

/* Strips blanks at both ends; a slice of blanks becomes empty. */
static inline cq_slice cq_slice_trimmed(cq_slice s) {
  while (s.n && cq_is_blank(s.data[s.n - 1])) s.n--;
  while (s.n && cq_is_blank(*s.data)) s.data++, s.n--;
  return s;
}

/* Parses all of text as a decimal number, in the C locale whatever the process's locale is; no blanks, hexadecimal,
 * "nan" or "inf". False: not a number, or out of range. */
bool cq_slice_number(double *out, cq_slice text);

/* A string that grows; `data` is zero-terminated after every append. A failed append sets `failed`, which stays set:
 * append freely, check once at the end. Start from {0}. */
typedef struct cq_builder {
  char *data;
  size_t n, capacity;
  size_t limit;         /* maximum size in bytes, for untrusted input; 0: no limit. Appends beyond it fail. */
  bool failed, is_full; /* is_full: the limit was the reason */
} cq_builder;

void cq_builder_bytes(cq_builder *b, const char *bytes, size_t n);
static inline void cq_builder_slice(cq_builder *b, cq_slice text) {
  cq_builder_bytes(b, text.data, text.n);
}
void cq_builder_text(cq_builder *b, const char *text);
void cq_builder_char(cq_builder *b, char c);
void cq_builder_field(cq_builder *b, cq_slice text); /* as a field between tabs: white space becomes blanks */
void cq_builder_printf(cq_builder *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What was built so far, borrowed; never NULL. */
static inline cq_slice cq_built(const cq_builder *b) {
  return (cq_slice){b->data ? b->data : "", b->n};
}
void cq_builder_clear(cq_builder *b); /* keeps the memory */
void cq_builder_free(cq_builder *b);

#endif
