/* Cleans text of user interfaces, step by step:
 *
 *   markup         <b>Save</b> &lt;all&gt;                        Save <all>
 *   accelerators   _File, &File, ~File, S&ave, 파일(&F), && &     File, File, File, Save, 파일, &
 *   placeholders   Open %s: %1$d of {count}, $1, %(name)s         Open : of ,
 *   ellipses       Open..., Open…                                 Open
 *
 * Then runs of blanks become one, and quotation marks and brackets around nothing are removed. */
#include "corpus/clean.h"

#include "base/utf8.h"
#include "calque/corpus.h"
#include "format/entities.h"

#include <stdlib.h>
#include <string.h>

const char *const cq_cleanings[] = {"markup", "accelerators", "placeholders", "ellipses", NULL};

enum { MAX_TAG = 256, MAX_NAME = 64 };

static bool is_ascii_letter(char c) {
  return (c | 32) >= 'a' && (c | 32) <= 'z';
}
static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
static bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
static char at(cq_slice text, size_t i) {
  return i < text.n ? text.data[i] : '\0';
}

/* --- what is found at a place: its length, 0: nothing --- */

static size_t tag_length(cq_slice text, size_t i) {
  const char next = at(text, i + 1);
  if (at(text, i) != '<' || !(is_ascii_letter(next) || next == '/' || next == '!')) return 0;
  for (size_t k = i + 1; k < text.n && k - i < MAX_TAG && text.data[k] != '<'; k++)
    if (text.data[k] == '>') return k + 1 - i;
  return 0;
}

static size_t entity_length(uint32_t *code, cq_slice text, size_t i) {
  size_t n = 1;
  if (at(text, i) != '&') return 0;
  while (n < MAX_NAME && (is_ascii_letter(at(text, i + n)) || is_digit(at(text, i + n)) || at(text, i + n) == '#')) n++;
  if (n < 3 || at(text, i + n) != ';') return 0;
  const cq_slice name = {text.data + i + 1, n - 1};
  char digits[MAX_NAME];
  const bool is_hex = (at(name, 1) | 32) == 'x';
  if (name.data[0] != '#') {
    *code = cq_html_entity(name);
  } else {
    memcpy(digits, name.data + 1 + is_hex, name.n - 1 - is_hex);
    digits[name.n - 1 - is_hex] = '\0';
    const unsigned long value = strtoul(digits, NULL, is_hex ? 16 : 10);
    *code = value < 0x110000 && (value < 0xD800 || value > 0xDFFF) ? cq_html_character((uint32_t)value) : 0;
  }
  return *code >= ' ' ? n + 1 : 0;
}

/* A key in parentheses, as East Asian languages have it: "(&F)". */
static size_t key_length(cq_slice text, size_t i) {
  const char mark = at(text, i + 1), key = at(text, i + 2);
  return at(text, i) == '(' && mark && strchr("_&~", mark) && (is_ascii_letter(key) || is_digit(key)) &&
                 at(text, i + 3) == ')'
             ? 4
             : 0;
}

/* A mark before a letter; not in "R&D", and not one of two. */
static bool is_accelerator(cq_slice text, size_t i) {
  const char mark = text.data[i], next = at(text, i + 1), before = i ? text.data[i - 1] : ' ';
  return strchr("_&~", mark) && mark && before != mark && (is_ascii_letter(next) || is_digit(next) || next & 0x80) &&
         !(mark == '&' && is_upper(before) && is_upper(next));
}

static size_t span_name(cq_slice text, size_t i, const char *others) {
  size_t n = 0;
  while (n < MAX_NAME && at(text, i + n) &&
         (is_ascii_letter(at(text, i + n)) || is_digit(at(text, i + n)) || strchr(others, at(text, i + n))))
    n++;
  return n;
}

/* printf's, Python's, and Qt's: "%s", "%-5.2f", "%1$ld", "%(name)s", "%1", "%L1". */
static size_t percent_length(cq_slice text, size_t i) {
  size_t n = i + 1;
  if (at(text, n) == '(') {
    n += 1 + span_name(text, n + 1, "_.-");
    if (at(text, n++) != ')') return 0;
  }
  const size_t begin = n;
  if (at(text, n) == 'L') n++;
  while (is_digit(at(text, n)) || (at(text, n) && strchr("$-+#*.'", at(text, n)))) n++;
  const bool is_number = is_digit(at(text, n - 1)) && n > begin;
  const size_t end = n;
  while (at(text, n) && strchr("hlqjzt", at(text, n))) n++;
  if (at(text, n) && strchr("diouxXeEfFgGaAcsSCpn@", at(text, n)) && !is_ascii_letter(at(text, n + 1)))
    return n + 1 - i;
  return is_number && text.data[i + 1] != '(' ? end - i : 0;
}

static size_t place_length(cq_slice text, size_t i) {
  const char c = text.data[i], next = at(text, i + 1);
  if (c == '%') return percent_length(text, i);
  if (c == '$' && is_digit(next) && next != '0' && !is_digit(at(text, i + 2)) &&
      !((at(text, i + 2) == '.' || at(text, i + 2) == ',') && is_digit(at(text, i + 3))))
    return 2;
  const size_t open = c == '$' && next == '{';
  if (at(text, i + open) != '{') return 0;
  const bool is_double = at(text, i + open + 1) == '{';
  const size_t begin = i + open + 1 + is_double, n = span_name(text, begin, is_double ? "_.:!- " : "_.:!-"),
               end = begin + n;
  return at(text, end) == '}' && (!is_double || at(text, end + 1) == '}') ? end + 1 + is_double - i : 0;
}

/* --- steps --- */

static void remove_markup(cq_builder *out, cq_slice text) {
  for (size_t i = 0; i < text.n;) {
    uint32_t code = 0;
    char character[4];
    size_t n = tag_length(text, i);
    if (n > 0) {
      if (n > 3 && (text.data[i + 1] | 32) == 'b' && (text.data[i + 2] | 32) == 'r') cq_builder_char(out, ' ');
    } else if ((n = entity_length(&code, text, i))) {
      cq_builder_bytes(out, character, cq_utf8_encode(character, code));
    } else {
      n = 1, cq_builder_char(out, text.data[i]);
    }
    i += n;
  }
}

static void remove_accelerators(cq_builder *out, cq_slice text) {
  size_t n_marks = 0;
  const size_t begin = out->n;
  for (size_t i = 0, n; i < text.n; i += n ? n : 1) {
    n = key_length(text, i);
    n_marks += n == 0 && is_accelerator(text, i);
  }
  for (size_t i = 0; i < text.n; i++) {
    const size_t n = key_length(text, i);
    if (n > 0) {
      while (out->n > begin && out->data[out->n - 1] == ' ') out->n--;
      i += n - 1;
    } else if (text.data[i] == '&' && at(text, i + 1) == '&') {
      cq_builder_char(out, text.data[i++]);
    } else if (n_marks != 1 || !is_accelerator(text, i) ||
               (i && key_length(text, i - 1))) { /* two are a name in code */
      cq_builder_char(out, text.data[i]);
    }
  }
}

static void remove_placeholders(cq_builder *out, cq_slice text) {
  for (size_t i = 0; i < text.n;) {
    const size_t n = place_length(text, i);
    const bool is_percent = n == 0 && text.data[i] == '%' && at(text, i + 1) == '%';
    if (n == 0) cq_builder_char(out, text.data[i]);
    i += n ? n : is_percent ? 2 : 1;
  }
}

static cq_slice without_ellipsis(cq_slice text) {
  static const char *const ends[] = {"...", "\xE2\x80\xA6"};
  for (size_t i = 0; i < 2; i++)
    if (text.n >= 3 && !memcmp(text.data + text.n - 3, ends[i], 3))
      return without_ellipsis(cq_slice_trimmed((cq_slice){text.data, text.n - 3}));
  return text;
}

/* Marks around nothing; their length. */
static size_t empty_pair(cq_slice text, size_t i) {
  static const char *const pairs[] = {"\"\"", "''", "()", "[]", "“”", "‘’", "«»", "„“", "„”", "「」", "『』"};
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
    const size_t n = strlen(pairs[k]);
    if (text.n - i >= n && !memcmp(text.data + i, pairs[k], n)) return n;
  }
  return 0;
}

static void tidy(cq_builder *out, cq_slice text) {
  const size_t begin = out->n;
  for (size_t i = 0; i < text.n;) {
    const size_t n = empty_pair(text, i);
    const bool is_repeated = text.data[i] == ' ' && (out->n == begin || out->data[out->n - 1] == ' ');
    if (n == 0 && !is_repeated) cq_builder_char(out, text.data[i]);
    i += n ? n : 1;
  }
  while (out->n > begin && out->data[out->n - 1] == ' ') out->n--;
}

void cq_clean(cq_builder *out, cq_slice text, unsigned what, cq_builder room[2]) {
  static void (*const steps[])(cq_builder *, cq_slice) = {remove_markup, remove_accelerators, remove_placeholders};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    if (!(what & 1U << i)) continue;
    cq_builder *next = &room[i % 2];
    cq_builder_clear(next);
    steps[i](next, text);
    if (next->failed) out->failed = true;
    text = (cq_slice){next->data ? next->data : "", next->n};
  }
  text = cq_slice_trimmed(text);
  tidy(out, what & CQ_CLEAN_ELLIPSES ? without_ellipsis(text) : text);
}
