/* Translates Oniguruma's syntax (Ruby's, with additions) to ICU's. Most of it is the same. The differences:
 *
 *                          Oniguruma                    ICU
 *   \h \H                  hexadecimal digit            horizontal white space
 *   \v                     U+000B                       vertical white space
 *   \w \W \b \B            no joiners                   U+200C and U+200D are in words; marks do not end one
 *   (?m)                   . matches any character      ^ and $ match at lines, which they always do in Oniguruma
 *   . ^ $ \Z               line feeds end lines         so do five others (with UREGEX_UNIX_LINES only for \Z)
 *   {n,m}+  {n}?           repeat the quantified part   possessive, lazy
 *   {,n}                   0 to n                       an error
 *   {  }  ]  - in classes  literal where they can be    operators
 *
 * Groups do not capture, because nothing refers to them. Constructs that could mean something else in ICU are refused:
 * back-references, calls, conditionals, callouts, extended syntax (?x). */
#include "text/regex.h"

#include "base/error.h"
#include "base/utf8.h"

#include <string.h>

enum { MAX_DEPTH = 64, MAX_PATTERN = 1 << 15, MAX_REPEAT = 100000 };

typedef struct translation {
  cq_slice in;
  size_t at; /* the next byte of in */
  cq_builder *out;
  size_t atom;       /* where the last atom begins in out; a quantifier would repeat this atom */
  bool can_repeat;   /* there is one */
  bool may_set;      /* at the start of a group or the pattern: (?i) applies to all of it */
  bool dot_all;      /* (?m): . matches line feeds */
  size_t groups[64]; /* where in out the open groups begin */
  bool is_look[64];  /* which of them are lookaheads or lookbehinds */
  bool was_all[64];  /* dot_all before them */
  size_t n_groups;
  const char *problem;
  size_t problem_at;
} translation;

static bool refuse(translation *t, size_t at, const char *what) {
  t->problem = what;
  t->problem_at = at;
  return false;
}

static bool has(const translation *t, const char *text) {
  const size_t n = strlen(text);
  return t->in.n - t->at >= n && !memcmp(t->in.data + t->at, text, n);
}

static bool skip(translation *t, const char *text) {
  if (!has(t, text)) return false;
  t->at += strlen(text);
  return true;
}

static bool is_alphanumeric(uint32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static void put_literal(translation *t, uint32_t c) {
  if (is_alphanumeric(c))
    cq_builder_char(t->out, (char)c);
  else
    cq_builder_printf(t->out, "\\x{%X}", c);
}

/* --- escapes and properties --- */

#define WORD "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"
/* Outside classes, Latin-1's superscripts and fractions are word characters, too. */
#define WORD_ALONE WORD "\\xB2\\xB3\\xB9\\xBC-\\xBE"

/* POSIX classes, in brackets or as properties, as Oniguruma defines them for Unicode; [:punct:] includes symbols. */
static const struct {
  const char *name, *set;
} posix_classes[] = {
    {"alpha", "\\p{Alphabetic}"},
    {"alnum", "\\p{Alphabetic}\\p{Nd}"},
    {"digit", "\\p{Nd}"},
    {"lower", "\\p{Lowercase}"},
    {"upper", "\\p{Uppercase}"},
    {"space", "\\p{White_Space}"},
    {"blank", "\\p{Zs}\\t"},
    {"punct", "\\p{P}"},
    {"word", WORD},
    {"xdigit", "0-9A-Fa-f"},
};
static const char *const unlike[] = {"cntrl", "graph", "print", "ascii", "assigned", "any", "newline"};

static bool same_name(cq_slice name, const char *other) {
  size_t i = 0;
  for (; i < name.n && other[i]; i++)
    if ((name.data[i] | 32) != other[i]) return false;
  return i == name.n && !other[i];
}

static void put_set(translation *t, bool negated, const char *set) {
  cq_builder_printf(t->out, "[%s%s]", negated ? "^" : "", set);
}

static bool put_posix(translation *t, cq_slice name, bool negated, bool in_brackets) {
  if (in_brackets && same_name(name, "punct")) {
    put_set(t, negated, "\\p{P}\\p{S}");
    return true;
  }
  for (size_t k = 0; k < sizeof posix_classes / sizeof *posix_classes; k++) {
    if (!same_name(name, posix_classes[k].name)) continue;
    put_set(t, negated, posix_classes[k].set);
    return true;
  }
  return false;
}

/* Behind \p or \P. */
static bool put_property(translation *t, bool negated, bool in_class) {
  const size_t start = t->at - 2;
  if (!skip(t, "{")) return refuse(t, start, "a property without braces");
  if (skip(t, "^")) negated = !negated;
  cq_slice name = {t->in.data + t->at, 0};
  while (t->at + name.n < t->in.n && (is_alphanumeric((unsigned char)name.data[name.n]) ||
                                      (name.n && name.data[name.n] && strchr("_- ", name.data[name.n]))))
    name.n++;
  t->at += name.n;
  if (name.n == 0 || name.n > 64 || !skip(t, "}")) return refuse(t, start, "a malformed property");
  if (!in_class && same_name(name, "word")) {
    put_set(t, negated, WORD_ALONE);
    return true;
  }
  if (put_posix(t, name, negated, false)) return true;
  for (size_t k = 0; k < sizeof unlike / sizeof *unlike; k++)
    if (same_name(name, unlike[k])) return refuse(t, start, "a property that ICU does not have");
  cq_builder_printf(t->out, "\\%c{%.*s}", negated ? 'P' : 'p', (int)name.n, name.data);
  return true;
}

/* Digits of a base, at least one, up to max_digits. */
static bool read_code(uint32_t *c, translation *t, int base, int max_digits) {
  int n = 0;
  *c = 0;
  for (; n < max_digits && t->at < t->in.n; n++, t->at++) {
    const char d = t->in.data[t->at];
    const int value = d >= '0' && d <= '9' ? d - '0' : (d | 32) >= 'a' && (d | 32) <= 'f' ? (d | 32) - 'a' + 10 : 99;
    if (value >= base) break;
    *c = *c * (uint32_t)base + (uint32_t)value;
  }
  return n > 0 && *c <= 0x10FFFF && !(*c >= 0xD800 && *c < 0xE000);
}

/* The number of a character: \0 and octal digits, \x41, \x{41} or \u0041. Bytes that are no character are none. */
static bool read_number(uint32_t *c, translation *t, uint32_t kind) {
  const size_t start = t->at;
  if (kind == 'u') return read_code(c, t, 16, 4) && t->at == start + 4;
  t->at -= kind == '0';
  const bool braces = kind == 'x' && skip(t, "{");
  return read_code(c, t, kind == 'x' ? 16 : 8, braces ? 8 : kind == 'x' ? 2 : 3) && (braces ? skip(t, "}") : *c < 0x80);
}

typedef enum escape { ESCAPE_BAD, ESCAPE_LITERAL, ESCAPE_SET, ESCAPE_ANCHOR } escape;

/* An escape: leaves a literal to the caller, and writes everything else. */
static escape put_escape(uint32_t *literal, translation *t, bool in_class) {
  static const char letters[] = "tnrfvae", values[] = "\t\n\r\f\v\a\x1B";
  const size_t start = t->at++;
  uint32_t c;
  if (t->at == t->in.n) return refuse(t, start, "a backslash at the end"), ESCAPE_BAD;
  t->at += cq_utf8_decode(&c, t->in.data + t->at, t->in.n - t->at);
  *literal = c;
  if (c >= 0x80 || (!is_alphanumeric(c) && c > ' ')) return ESCAPE_LITERAL;
  const char *letter = strchr(letters, (int)c);
  if (letter) {
    *literal = (unsigned char)values[letter - letters];
    return ESCAPE_LITERAL;
  }
  switch (c) {
  case ' ': return ESCAPE_LITERAL;
  case 'd':
  case 'D': put_set(t, c == 'D', "\\p{Nd}"); return ESCAPE_SET;
  case 's':
  case 'S': put_set(t, c == 'S', "\\p{White_Space}"); return ESCAPE_SET;
  case 'w':
  case 'W': put_set(t, c == 'W', in_class ? WORD : WORD_ALONE); return ESCAPE_SET;
  case 'h':
  case 'H': put_set(t, c == 'H', "0-9A-Fa-f"); return ESCAPE_SET;
  case 'p':
  case 'P': return put_property(t, c == 'P', in_class) ? ESCAPE_SET : ESCAPE_BAD;
  case '0':
  case 'x':
  case 'u':
    if (read_number(literal, t, c)) return ESCAPE_LITERAL;
    return refuse(t, start, "a malformed number of a character"), ESCAPE_BAD;
  default: break;
  }
  if (!in_class) {
    switch (c) {
    case 'b':
      cq_builder_text(t->out,
                      "(?:(?<=[" WORD_ALONE "])(?![" WORD_ALONE "])|(?<![" WORD_ALONE "])(?=[" WORD_ALONE "]))");
      return ESCAPE_ANCHOR;
    case 'B':
      cq_builder_text(t->out,
                      "(?:(?<=[" WORD_ALONE "])(?=[" WORD_ALONE "])|(?<![" WORD_ALONE "])(?![" WORD_ALONE "]))");
      return ESCAPE_ANCHOR;
    case 'Z': cq_builder_text(t->out, "(?=\\n?\\z)"); return ESCAPE_ANCHOR;
    case 'A':
    case 'z': cq_builder_printf(t->out, "\\%c", (char)c); return ESCAPE_ANCHOR;
    case 'R': cq_builder_text(t->out, "(?>\\r\\n|[\\n-\\r\\x{85}\\x{2028}\\x{2029}])"); return ESCAPE_SET;
    default: break;
    }
    if (c >= '1' && c <= '9') return refuse(t, start, "a back-reference"), ESCAPE_BAD;
    if (c == 'k' || c == 'g') return refuse(t, start, "a back-reference or call"), ESCAPE_BAD;
  }
  return refuse(t, start, "an escape that is not known"), ESCAPE_BAD;
}

/* --- classes --- */

/* One end of a range. */
static bool read_range_end(uint32_t *c, translation *t) {
  const size_t start = t->at;
  if (has(t, "[")) return refuse(t, start, "a range that ends with a class");
  if (!has(t, "\\")) {
    t->at += cq_utf8_decode(c, t->in.data + t->at, t->in.n - t->at);
    return true;
  }
  switch (put_escape(c, t, true)) {
  case ESCAPE_LITERAL: return true;
  case ESCAPE_BAD: return false;
  default: return refuse(t, start, "a range that ends with a class");
  }
}

static bool put_class_item(translation *t) {
  const size_t start = t->at;
  uint32_t c, last;
  if (has(t, "\\")) {
    const escape kind = put_escape(&c, t, true);
    if (kind != ESCAPE_LITERAL) return kind != ESCAPE_BAD;
  } else {
    t->at += cq_utf8_decode(&c, t->in.data + t->at, t->in.n - t->at);
  }
  put_literal(t, c);
  if (!has(t, "-") || t->in.n - t->at < 2 || t->in.data[t->at + 1] == ']') return true;
  t->at++;
  if (has(t, "&&") || !read_range_end(&last, t)) return t->problem ? false : refuse(t, start, "a range without an end");
  if (last < c) return refuse(t, start, "a range that ends before it begins");
  cq_builder_char(t->out, '-');
  put_literal(t, last);
  return true;
}

/* A POSIX class within a class: [:alpha:] or [:^alpha:]; *found false: something else. */
static bool put_bracket(bool *found, translation *t) {
  const size_t start = t->at;
  *found = skip(t, "[:");
  if (!*found) return true;
  const bool negated = skip(t, "^");
  cq_slice name = {t->in.data + t->at, 0};
  while (t->at + name.n < t->in.n && is_alphanumeric((unsigned char)name.data[name.n])) name.n++;
  t->at += name.n;
  if (skip(t, ":]"))
    return put_posix(t, name, negated, true) || refuse(t, start, "a bracketed class that ICU does not have");
  t->at = start;
  *found = false;
  return true;
}

static bool put_class(translation *t, int depth) {
  const size_t start = t->at++;
  if (depth > MAX_DEPTH) return refuse(t, start, "classes nested too deeply");
  cq_builder_char(t->out, '[');
  if (skip(t, "^")) cq_builder_char(t->out, '^');
  if (has(t, "]")) return refuse(t, start, "a class that begins with ]");
  bool some = false; /* after [ or && */
  while (t->at < t->in.n) {
    bool found;
    if (has(t, "]") || has(t, "&&")) {
      if (!some) return refuse(t, t->at, "an intersection with nothing");
      const bool ends = !skip(t, "&&");
      cq_builder_text(t->out, ends ? "]" : "&&");
      if (ends) return t->at++, true;
      some = false;
      continue;
    }
    if (!put_bracket(&found, t)) return false;
    if (!found && !(has(t, "[") ? put_class(t, depth + 1) : put_class_item(t))) return false;
    some = true;
  }
  return refuse(t, start, "a class without its ]");
}

/* --- groups --- */

/* (?im-im) or (?im-im: */
static bool put_options(translation *t, size_t start) {
  bool on = true, ignore = false, heed = false;
  for (; t->at < t->in.n; t->at++) {
    const char c = t->in.data[t->at];
    if (c == ')' || c == ':') {
      if (c == ')' && !t->may_set) return refuse(t, start, "an option in the middle of a group");
      cq_builder_printf(t->out, "(?%s%s%c", ignore ? "i" : "", heed ? "-i" : "", ignore || heed || c == ':' ? c : ':');
      if (c == ')' && !ignore && !heed) cq_builder_char(t->out, ')');
      return true;
    }
    switch (c) {
    case 'i': ignore = on, heed = !on; break;
    case 'm': t->dot_all = on; break;
    case '-': on = false; break;
    default: return refuse(t, start, "a group of another kind, or an option besides i and m");
    }
  }
  return refuse(t, start, "a group without its end");
}

static bool open_group(translation *t) {
  static const char *const looks[] = {"(?=", "(?!", "(?<=", "(?<!"};
  const size_t start = t->at, begin = t->out->n;
  const bool was_all = t->dot_all;
  bool look = false, sets = false;
  if (skip(t, "(?#")) {
    while (t->at < t->in.n && !has(t, ")")) t->at += has(t, "\\") ? 2 : 1;
    return t->at < t->in.n ? t->at++, true : refuse(t, start, "a comment without its )");
  }
  for (size_t k = 0; k < sizeof looks / sizeof *looks && !look; k++)
    if ((look = skip(t, looks[k]))) cq_builder_text(t->out, looks[k]);
  if (look) {
  } else if (skip(t, "(?>")) {
    cq_builder_text(t->out, "(?>");
  } else if (skip(t, "(?:")) {
    cq_builder_text(t->out, "(?:");
  } else if (skip(t, "(?<")) {
    while (t->at < t->in.n && (is_alphanumeric((unsigned char)t->in.data[t->at]) || has(t, "_"))) t->at++;
    if (!skip(t, ">")) return refuse(t, start, "a malformed name of a group");
    cq_builder_text(t->out, "(?:");
  } else if (has(t, "(*")) {
    return refuse(t, start, "a callout");
  } else if (skip(t, "(?")) {
    if (!put_options(t, start)) return false;
    sets = t->in.data[t->at++] == ')';
  } else {
    t->at++;
    cq_builder_text(t->out, "(?:");
  }
  t->can_repeat = false;
  if (sets) return true;
  if (t->n_groups == MAX_DEPTH) return refuse(t, start, "groups nested too deeply");
  t->groups[t->n_groups] = begin;
  t->was_all[t->n_groups] = was_all;
  t->is_look[t->n_groups++] = look;
  t->may_set = true;
  return true;
}

/* --- quantifiers --- */

/* {n}, {n,}, {n,m} or {,m}; false with no problem: the brace is a literal. */
static bool read_interval(size_t *low, size_t *high, bool *fixed, translation *t) {
  const size_t start = t->at++;
  size_t ends[2] = {0, SIZE_MAX};
  bool given[2] = {false, false}, comma = false;
  for (int k = 0; k < 2; k++) {
    size_t value = 0;
    for (; t->at < t->in.n && t->in.data[t->at] >= '0' && t->in.data[t->at] <= '9'; t->at++) {
      value = value * 10 + (size_t)(t->in.data[t->at] - '0');
      if (value > MAX_REPEAT) return refuse(t, start, "a quantifier above 100000");
      given[k] = true;
    }
    if (given[k]) ends[k] = value;
    if (k == 0 && !(comma = skip(t, ","))) break;
  }
  if (!skip(t, "}") || (!given[0] && !given[1])) {
    t->at = start;
    return false;
  }
  *low = ends[0];
  *fixed = !comma;
  *high = comma ? ends[1] : ends[0];
  return *low <= *high || refuse(t, start, "a quantifier that ends before it begins");
}

static void wrap_atom(translation *t, size_t n_before) {
  static const char open[] = "(?:";
  const size_t m = sizeof open - 1, n = t->out->n;
  cq_builder_text(t->out, open); /* room */
  if (t->out->failed) return;
  memmove(t->out->data + n_before + m, t->out->data + n_before, n - n_before);
  memcpy(t->out->data + n_before, open, m);
}

static bool put_interval(translation *t, size_t low, size_t high, bool fixed) {
  if (high == SIZE_MAX)
    cq_builder_printf(t->out, "{%zu,}", low);
  else
    cq_builder_printf(t->out, "{%zu,%zu}", low, high);
  const bool plus = skip(t, "+"), optional = !plus && skip(t, "?");
  if (!plus && !optional) return true;
  if (optional && !fixed) {
    cq_builder_char(t->out, '?');
    return true;
  }
  wrap_atom(t, t->atom);
  cq_builder_text(t->out, plus ? ")+" : ")?");
  return true;
}

static bool is_quantifier(const translation *t) {
  return has(t, "*") || has(t, "+") || has(t, "?");
}

/* *found: something was read. */
static bool put_quantifier(bool *found, translation *t) {
  const size_t start = t->at;
  size_t low = 0, high = 0;
  bool fixed = false, interval = false;
  *found = is_quantifier(t);
  if (!*found && has(t, "{")) {
    *found = interval = read_interval(&low, &high, &fixed, t);
    if (t->problem) return false;
  }
  if (!*found) return true;
  if (!t->can_repeat) return refuse(t, start, "a quantifier with nothing to repeat");
  t->can_repeat = false;
  if (interval) {
    put_interval(t, low, high, fixed);
  } else {
    cq_builder_char(t->out, t->in.data[t->at++]);
    if (has(t, "?") || has(t, "+")) cq_builder_char(t->out, t->in.data[t->at++]);
  }
  if (is_quantifier(t)) return refuse(t, t->at, "a quantifier of a quantifier");
  return true;
}

/* --- the whole --- */

static bool put_atom(translation *t) {
  uint32_t c;
  t->atom = t->out->n;
  if (has(t, "\\")) {
    const escape kind = put_escape(&c, t, false);
    if (kind == ESCAPE_LITERAL) put_literal(t, c);
    t->can_repeat = kind != ESCAPE_ANCHOR;
    return kind != ESCAPE_BAD;
  }
  if (has(t, "[")) {
    t->can_repeat = true;
    return put_class(t, 0);
  }
  t->at += cq_utf8_decode(&c, t->in.data + t->at, t->in.n - t->at);
  t->can_repeat = c != '^' && c != '$';
  if (c == '.' && t->dot_all)
    cq_builder_text(t->out, "[\\x{0}-\\x{10FFFF}]"); /* ICU's own takes both of \r\n */
  else if (c == '^' || c == '$' || c == '.')
    cq_builder_char(t->out, (char)c);
  else
    put_literal(t, c);
  return true;
}

static bool put_next(translation *t) {
  bool found;
  if (!put_quantifier(&found, t) || found) return !t->problem;
  if (has(t, "(")) return open_group(t);
  t->may_set = false;
  if (skip(t, "|")) {
    t->can_repeat = false;
    cq_builder_char(t->out, '|');
    return true;
  }
  if (has(t, ")")) {
    if (t->n_groups == 0) return refuse(t, t->at, "a ) without its (");
    t->at++;
    cq_builder_char(t->out, ')');
    t->atom = t->groups[--t->n_groups];
    t->can_repeat = !t->is_look[t->n_groups];
    t->dot_all = t->was_all[t->n_groups];
    return true;
  }
  return put_atom(t);
}

cq_status cq_regex_translate(cq_builder *out, cq_slice pattern, cq_error *error) {
  translation t = {.in = pattern, .out = out, .may_set = true};
  if (pattern.n > MAX_PATTERN)
    return cq_fail(error, CQ_ERR_UNSUPPORTED, "%zu bytes, the limit is %d", pattern.n, (int)MAX_PATTERN);
  while (t.at < pattern.n && put_next(&t)) {
  }
  if (!t.problem && t.n_groups) refuse(&t, pattern.n, "a group without its )");
  if (t.problem) {
    cq_fail(error, CQ_ERR_UNSUPPORTED, "byte %zu, %s", t.problem_at, t.problem);
    if (error) error->byte = t.problem_at;
    return CQ_ERR_UNSUPPORTED;
  }
  return out->failed ? cq_fail_memory(error, "a regular expression") : CQ_OK;
}
