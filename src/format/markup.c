/* A scanner for the loose SGML of TREC's collections. See markup.h. */
#include "format/markup.h"

#include "format/entities.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <strings.h>

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name_char(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == ':' || c == '.';
}

static size_t find_text(cq_slice text, size_t from, const char *what) {
  const size_t n = strlen(what);
  while (from + n <= text.n) {
    const char *at = memchr(text.data + from, *what, text.n - n - from + 1);
    if (!at) break;
    from = (size_t)(at - text.data);
    if (!memcmp(at, what, n)) return from;
    from++;
  }
  return text.n;
}

/* The length of the text up to and including `end`; 0 if there is no `end`. `has_none` remembers a failed search, so
 * that a long text with an unclosed comment is scanned only once. */
static size_t passed_over(cq_slice text, size_t from, const char *end, bool *has_none) {
  const size_t at = *has_none ? text.n : find_text(text, from, end);
  *has_none = at == text.n;
  return *has_none ? 0 : at + strlen(end);
}

/* The length of the tag at the start of the rest, which begins with '<'; 0: not a tag. *name is empty for tags to
 * skip. */
static size_t read_tag(cq_slice *name, cq_markup_kind *kind, cq_markup *m) {
  const cq_slice text = m->rest;
  size_t i = 1;
  *name = (cq_slice){text.data, 0};
  if (text.n >= 4 && !memcmp(text.data, "<!--", 4)) return passed_over(text, 4, "-->", &m->has_no_dash);
  if (text.n > 2 && (text.data[1] == '!' || text.data[1] == '?') && is_letter(text.data[2]))
    return passed_over(text, 2, ">", &m->has_no_end);
  *kind = i < text.n && text.data[i] == '/' ? CQ_MARKUP_CLOSE : CQ_MARKUP_OPEN;
  if (*kind == CQ_MARKUP_CLOSE) i++;
  const size_t first = i;
  if (i == text.n || !is_letter(text.data[i])) return 0;
  while (i < text.n && is_name_char(text.data[i])) i++;
  *name = (cq_slice){text.data + first, i - first};
  bool has_blank = false, has_attribute = false, has_other = false;
  for (; i < text.n && text.data[i] != '>' && text.data[i] != '<'; i++) {
    if (cq_is_blank(text.data[i]))
      has_blank = true;
    else if (text.data[i] == '=')
      has_attribute = has_blank;
    else if (text.data[i] != '/')
      has_other = true;
  }
  if (i == text.n || text.data[i] != '>' || (has_other && !has_attribute)) return 0;
  if (text.data[i - 1] == '/') *kind = CQ_MARKUP_CLOSE;
  return i + 1;
}

cq_markup_kind cq_markup_next(cq_slice *out, cq_markup *m) {
  while (m->rest.n) {
    cq_slice name;
    cq_markup_kind kind = CQ_MARKUP_OPEN;
    size_t n = *m->rest.data == '<' ? read_tag(&name, &kind, m) : 0;
    if (n) {
      m->rest.data += n, m->rest.n -= n;
      if (name.n == 0) continue;
      *out = name;
      return kind;
    }
    n = find_text(m->rest, 1, "<");
    *out = (cq_slice){m->rest.data, n};
    m->rest.data += n, m->rest.n -= n;
    return CQ_MARKUP_TEXT;
  }
  return CQ_MARKUP_END;
}

bool cq_markup_is(cq_slice name, const char *other) {
  return strlen(other) == name.n && !strncasecmp(name.data, other, name.n);
}

/* --- entities --- */

enum { LONGEST_ENTITY = 12 };

static void put_code(cq_builder *out, uint32_t code) {
  char bytes[4];
  cq_builder_bytes(out, bytes, cq_utf8_encode(bytes, code));
}

/* A blank for an unknown name. "&AMP;" and similar are old spellings. */
static void put_name(cq_builder *out, cq_slice name) {
  static const char *const markup[] = {"amp", "lt", "gt", "quot"};
  uint32_t code = cq_markup_is(name, "apos") ? '\'' : cq_html_entity(name);
  for (size_t i = 0; code == 0 && i < sizeof markup / sizeof *markup; i++)
    if (cq_markup_is(name, markup[i])) code = cq_html_entity(cq_slice_of(markup[i]));
  put_code(out, code ? code : ' ');
}

static void put_number(cq_builder *out, cq_slice digits) {
  const bool is_hex = digits.n && (*digits.data == 'x' || *digits.data == 'X');
  char copy[LONGEST_ENTITY + 1] = "";
  memcpy(copy, digits.data + is_hex, digits.n - is_hex);
  const unsigned long code = strtoul(copy, NULL, is_hex ? 16 : 10);
  const bool is_character = code >= 0x20 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  put_code(out, is_character ? cq_html_character((uint32_t)code) : ' ');
}

void cq_markup_text(cq_builder *out, cq_slice text) {
  for (size_t i = 0; i < text.n;) {
    const size_t at = find_text(text, i, "&");
    cq_builder_bytes(out, text.data + i, at - i);
    if (at == text.n) return;
    size_t end = at + 1;
    while (end < text.n && end - at <= LONGEST_ENTITY && (is_name_char(text.data[end]) || text.data[end] == '#')) end++;
    i = at + 1;
    const cq_slice name = {text.data + i, end - i};
    if (end == text.n || text.data[end] != ';' || name.n == 0) {
      cq_builder_char(out, '&');
      continue;
    }
    i = end + 1;
    if (*name.data == '#') {
      put_number(out, (cq_slice){name.data + 1, name.n - 1});
      continue;
    }
    put_name(out, name);
  }
}
