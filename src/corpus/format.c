/* What the readers of several formats need: endings of files' names, and names of languages. See format.h. */
#include "corpus/format.h"

#include "base/error.h"
#include "base/input.h"
#include "text/language_codes.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

bool cq_format_ends(const cq_format *format, const char *path) {
  const size_t n = strlen(path) - cq_compression_ending(path);
  for (const char *at = format->endings; at && *at; at += strspn(at, " ")) {
    const size_t n_ending = strcspn(at, " ");
    if (n > n_ending && !strncasecmp(path + n - n_ending, at, n_ending)) return true;
    at += n_ending;
  }
  return false;
}

static bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

bool cq_is_region(cq_slice rest) {
  if (rest.n == 0 || (rest.n == 6 && !strncasecmp(rest.data, ".utf-8", 6))) return true;
  for (size_t i = 0, n = 0; i <= rest.n; i++) {
    const bool ends = i == rest.n || rest.data[i] == '-' || rest.data[i] == '_';
    const bool is_private = ends && n == 1 && (rest.data[i - 1] | 32) == 'x';
    if (ends && i > 0 && (n < 2 || n > 8) && !is_private) return false;
    if (!ends && (i == 0 || !is_letter_or_digit(rest.data[i]))) return false;
    n = ends ? 0 : n + 1;
  }
  return true;
}

bool cq_is_code(cq_slice name) {
  return name.n >= 2 && name.data[0] >= 'a' && name.data[0] <= 'z' && name.data[1] >= 'a' && name.data[1] <= 'z' &&
         cq_is_region((cq_slice){name.data + 2, name.n - 2});
}

static bool matches_tag(bool *is_exact, const char *wanted, cq_slice name) {
  const size_t n = strlen(wanted);
  if (n == 0 || name.n < n) return false;
  for (size_t i = 0; i < n; i++) {
    const char a = wanted[i] == '-' ? '_' : wanted[i], b = name.data[i] == '-' ? '_' : name.data[i];
    if (a != b && !(is_letter_or_digit(a) && is_letter_or_digit(b) && (a | 32) == (b | 32))) return false;
  }
  *is_exact = name.n == n;
  return cq_is_region((cq_slice){name.data + n, name.n - n});
}

bool cq_language_matches(bool *is_exact, const char *wanted, cq_slice name) {
  char codes[CQ_LANGUAGE_CODES][CQ_LANGUAGE_LETTERS], tag[64];
  size_t n_code;
  const size_t n = cq_language_codes(codes, &n_code, wanted, strlen(wanted));
  if (n == 0) return matches_tag(is_exact, wanted, name);
  for (size_t i = 0; i < n; i++)
    if ((size_t)snprintf(tag, sizeof tag, "%s%s", codes[i], wanted + n_code) < sizeof tag &&
        matches_tag(is_exact, tag, name))
      return true;
  return false;
}

cq_status cq_fail_language(const char *path, const char *wanted, const cq_intern *seen, cq_error *error) {
  cq_builder list = {0};
  for (uint32_t i = 0; i < seen->n; i++)
    cq_builder_printf(&list, "%s%.*s", i ? ", " : "", (int)seen->items[i].n, seen->items[i].data);
  const cq_status status = cq_fail_file(error, CQ_ERR_ARGUMENT, path, "no text is of language '%s'; there are %s",
                                        wanted, list.n ? list.data : "none");
  cq_builder_free(&list);
  return status;
}
