/* One pass over the markup. What is dropped is written first, and cut off where it ends: a stack knows where each open
 * template, link, table and reference begins in the output. What does not end is text, so that a mistake costs little.
 * Source: mediawiki.org/wiki/Help:Formatting and its neighbors. See wiki_text.h. */
#include "document/wiki_text.h"

#include "base/memory.h"
#include "format/markup.h"

#include <string.h>
#include <strings.h>

enum { MOST_TAG = 1000, MOST_NAME = 24, MOST_LINK = 1 << 16, MOST_NESTED = 8 };

typedef enum wiki_kind { TEMPLATE, LINK, TABLE, REFERENCE, KINDS } wiki_kind;

/* Elements whose contents are not markup. */
static const struct {
  const char *name;
  bool is_kept;
} raw[] = {{"nowiki", true},    {"pre", true},       {"math", false},   {"chem", false},  {"ce", false},
           {"gallery", false},  {"timeline", false}, {"source", false}, {"score", false}, {"syntaxhighlight", false},
           {"imagemap", false}, {"mapframe", false}, {"graph", false},  {"hiero", false}, {"templatedata", false}};
enum { RAW = sizeof raw / sizeof *raw };

typedef struct wiki {
  cq_builder *out;
  cq_slice in, dropped;
  size_t at, first; /* first: of the output */
  struct {
    wiki_kind kind;
    size_t begin; /* in the output */
  } * open;
  size_t n_open, capacity, n_of[KINDS];
  size_t n_external;                 /* open links to other sites */
  size_t heading_end, line_end;      /* of the heading that is read: what lies between is not text */
  size_t cut_at;                     /* where something was last dropped, in the output */
  bool is_own_line, is_endless[RAW]; /* is_endless: the rest has no end of this element */
} wiki;

static char at(const wiki *w, size_t i) {
  return i < w->in.n ? w->in.data[i] : '\0';
}

static bool follows(const wiki *w, const char *text) {
  return cq_slice_begins((cq_slice){w->in.data + w->at, w->in.n - w->at}, cq_slice_of(text));
}

/* --- output --- */

static char last(const wiki *w) {
  return w->out->n > w->first ? w->out->data[w->out->n - 1] : '\n';
}

static void put_blank(wiki *w) {
  if (!cq_is_blank(last(w))) cq_builder_char(w->out, ' ');
}

static void end_line(wiki *w, int n_newlines) {
  while (w->out->n > w->first && last(w) == ' ') w->out->n--;
  if (w->out->n == w->first) return;
  const cq_builder *out = w->out;
  int n = 0;
  while (n < n_newlines && out->n > w->first + (size_t)n && out->data[out->n - 1 - (size_t)n] == '\n') n++;
  for (; n < n_newlines; n++) cq_builder_char(w->out, '\n');
}

static void cut(wiki *w, size_t begin) {
  if (w->out->n > begin) w->out->n = begin;
  w->cut_at = w->out->n;
}

/* A character that is no markup. What a dropped template leaves, "( )" and " ,", is dropped, too. */
static void put_character(wiki *w, char c) {
  cq_builder *out = w->out;
  if (c == ' ' || c == '\t') {
    put_blank(w);
    return;
  }
  size_t n = out->n;
  if (c == ')') {
    while (n > w->first && strchr(" ,;:", out->data[n - 1])) n--;
    if (n > w->first && w->cut_at >= n) {
      const bool is_empty = out->data[n - 1] == '(';
      out->n = w->cut_at = is_empty ? n - 1 : n;
      if (is_empty) return;
    }
  } else if (strchr(".,;:", c) && w->cut_at == n && n > w->first && last(w) == ' ') {
    out->n--;
  }
  cq_builder_char(out, c);
}

/* --- what is open --- */

static bool push(wiki *w, wiki_kind kind) {
  if (!cq_reserve((void **)&w->open, &w->capacity, w->n_open + 1, sizeof *w->open)) return !(w->out->failed = true);
  w->open[w->n_open].kind = kind, w->open[w->n_open++].begin = w->out->n;
  w->n_of[kind]++;
  return true;
}

/* Closes the innermost one of a kind, with those in it, which have no end; returns where it begins. */
static size_t pop(wiki *w, wiki_kind kind) {
  while (w->open[--w->n_open].kind != kind) w->n_of[w->open[w->n_open].kind]--;
  w->n_of[kind]--;
  return w->open[w->n_open].begin;
}

/* --- links --- */

static bool is_dropped_name(const wiki *w, cq_slice name) {
  for (const char *line = w->dropped.data, *end = line + w->dropped.n; line < end;) {
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    const size_t n = (size_t)((newline ? newline : end) - line);
    if (n && n == name.n && !strncasecmp(line, name.data, n)) return true;
    line += n + 1;
  }
  return false;
}

static bool is_language(cq_slice name) {
  size_t n = 0;
  while (n < name.n && name.data[n] >= 'a' && name.data[n] <= 'z') n++;
  return cq_slice_equal(name, cq_slice_of("simple")) || ((n == 2 || n == 3) && (n == name.n || name.data[n] == '-'));
}

static bool is_picture(cq_slice target) {
  static const char *const endings[] = {".jpg", ".jpeg", ".png", ".gif", ".svg", ".webm", ".ogg", ".ogv", ".tif"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    const size_t n = strlen(endings[i]);
    if (target.n > n && !strncasecmp(target.data + target.n - n, endings[i], n)) return true;
  }
  return false;
}

static void close_link(wiki *w) {
  const size_t begin = pop(w, LINK);
  cq_builder *out = w->out;
  if (out->failed || out->n <= begin || out->n - begin > MOST_LINK) return;
  char *text = out->data + begin;
  const size_t n = out->n - begin;
  const char *bar = memchr(text, '|', n);
  cq_slice target = cq_slice_trimmed((cq_slice){text, bar ? (size_t)(bar - text) : n}), label = target;
  if (bar && bar + 1 < text + n) label = (cq_slice){bar + 1, (size_t)(text + n - bar - 1)};
  if (target.n && *target.data == ':') {
    if (!bar) label.data++, label.n--;
  } else {
    const char *colon = target.n ? memchr(target.data, ':', target.n) : NULL;
    const cq_slice space = cq_slice_trimmed((cq_slice){target.data, colon ? (size_t)(colon - target.data) : 0});
    if ((space.n && (is_dropped_name(w, space) || is_language(space))) || is_picture(target)) label.n = 0;
  }
  memmove(text, label.data, label.n);
  out->n = begin + label.n;
  if (label.n == 0) w->cut_at = out->n;
}

/* [https://example.org label] is its label. */
static bool open_external(wiki *w) {
  static const char *const schemes[] = {"[http://", "[https://", "[//", "[ftp://", "[mailto:"};
  bool is_link = false;
  for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) is_link |= follows(w, schemes[i]);
  size_t i = w->at;
  while (is_link && i < w->in.n && !strchr(" ]\n", at(w, i))) i++;
  if (!is_link || i == w->in.n || at(w, i) == '\n') return false;
  w->n_external += at(w, i) == ' ';
  w->at = i + 1;
  if (at(w, i) == ']') w->cut_at = w->out->n;
  return true;
}

/* --- tags --- */

/* Where </name begins, from i on; the length of the input: nowhere. */
static size_t find_close(const wiki *w, size_t i, const char *name) {
  const size_t n = strlen(name);
  for (; i + n + 2 < w->in.n; i++) {
    const char *found = memchr(w->in.data + i, '<', w->in.n - n - 2 - i);
    if (!found) break;
    i = (size_t)(found - w->in.data);
    if (at(w, i + 1) == '/' && !strncasecmp(found + 2, name, n)) return i;
  }
  return w->in.n;
}

static void pass_tag(wiki *w) {
  while (w->at < w->in.n && at(w, w->at++) != '>') {
  }
}

static void put_raw(wiki *w, cq_slice text) {
  for (size_t i = 0; i < text.n; i++) cq_builder_char(w->out, text.data[i]);
}

/* False: no tag. */
static bool take_tag(wiki *w) {
  static const char blocks[] =
      " br p div li ul ol dl dd dt blockquote center table tr td th h1 h2 h3 h4 h5 h6 hr poem ";
  char name[MOST_NAME], padded[MOST_NAME + 2];
  const bool is_close = at(w, w->at + 1) == '/';
  size_t n = 0, i = w->at + 1 + is_close;
  for (; n < sizeof name - 1 && ((at(w, i) | 32) >= 'a' || (n && at(w, i) >= '0' && at(w, i) <= '9')) &&
         (at(w, i) | 32) <= 'z';
       i++)
    name[n++] = (char)(at(w, i) | 32);
  name[n] = '\0';
  while (i < w->in.n && i - w->at < MOST_TAG && at(w, i) != '>' && at(w, i) != '<') i++;
  if (n == 0 || at(w, i) != '>') return false;
  const bool is_empty = at(w, i - 1) == '/';
  w->at = i + 1;
  if (!strcmp(name, "ref")) {
    if (!is_close && !is_empty)
      (void)push(w, REFERENCE);
    else if (is_close && w->n_of[REFERENCE])
      cut(w, pop(w, REFERENCE));
    else
      w->cut_at = w->out->n;
    return true;
  }
  for (size_t k = 0; k < RAW && !is_close && !is_empty; k++) {
    if (strcmp(raw[k].name, name) != 0 || w->is_endless[k]) continue;
    const size_t end = find_close(w, w->at, name);
    w->is_endless[k] = end == w->in.n;
    if (w->is_endless[k]) continue;
    if (raw[k].is_kept) put_raw(w, (cq_slice){w->in.data + w->at, end - w->at});
    if (!raw[k].is_kept) w->cut_at = w->out->n;
    w->at = end;
    pass_tag(w);
    return true;
  }
  memcpy(padded + 1, name, n), padded[0] = padded[n + 1] = ' ';
  if (n < sizeof name - 1) {
    padded[n + 2 < sizeof padded ? n + 2 : sizeof padded - 1] = '\0';
    if (strstr(blocks, padded)) end_line(w, 1);
  }
  return true;
}

static void take_comment(wiki *w) {
  const size_t begin = w->at;
  w->at += 4;
  while (w->at < w->in.n && !follows(w, "-->")) w->at++;
  w->at = w->at < w->in.n ? w->at + 3 : w->in.n;
  /* a line of comments only is no line */
  if ((begin == 0 || at(w, begin - 1) == '\n') && at(w, w->at) == '\n') w->at++;
}

/* --- lines --- */

static bool take_heading(wiki *w) {
  const char *newline = memchr(w->in.data + w->at, '\n', w->in.n - w->at);
  const size_t line_end = newline ? (size_t)(newline - w->in.data) : w->in.n;
  size_t end = line_end, level = 0;
  while (end > w->at && cq_is_blank(at(w, end - 1))) end--;
  while (w->at + level < end && at(w, w->at + level) == '=' && at(w, end - 1 - level) == '=') level++;
  if (level == 0 || w->at + 2 * level >= end) return false;
  end_line(w, 2);
  w->heading_end = end - level, w->line_end = line_end;
  w->at += level;
  return w->is_own_line = true;
}

/* Takes what is markup at the beginning of a line. */
static void begin_line(wiki *w) {
  w->is_own_line = false;
  if (follows(w, "{|")) {
    w->at += 2;
    (void)push(w, TABLE);
  } else if (follows(w, "|}") && w->n_of[TABLE] && w->open[w->n_open - 1].kind != TEMPLATE) {
    w->at += 2;
    cut(w, pop(w, TABLE));
  } else if (follows(w, "----")) {
    while (at(w, w->at) == '-') w->at++;
    end_line(w, 2);
  } else if (at(w, w->at) == '=') {
    (void)take_heading(w);
  } else if (at(w, w->at) && strchr("*#:; ", at(w, w->at))) {
    w->is_own_line = true;
    while (at(w, w->at) && strchr("*#:; ", at(w, w->at))) w->at++;
    end_line(w, 1);
  }
}

/* A line goes on in the next one, unless an empty line, a heading or an item of a list comes between. */
static void take_newline(wiki *w) {
  const bool was_own = w->is_own_line, was_heading = w->line_end == w->at && w->heading_end;
  w->at++;
  w->heading_end = 0;
  if (at(w, w->at) == '\n' || was_heading)
    end_line(w, 2);
  else if (was_own)
    end_line(w, 1);
  else
    put_blank(w);
  while (at(w, w->at) == '\n') w->at++;
  if (w->at < w->in.n) begin_line(w);
}

static void take_quotes(wiki *w) {
  size_t n = 0;
  while (at(w, w->at + n) == '\'') n++;
  for (size_t kept = n == 1 || n == 4 ? 1 : n > 5 ? n - 5 : 0; kept; kept--) put_character(w, '\'');
  w->at += n;
}

static void take_entity(wiki *w) {
  size_t n = 1;
  while (n < 14 && (at(w, w->at + n) == '#' || (at(w, w->at + n) >= '0' && at(w, w->at + n) <= '9') ||
                    ((at(w, w->at + n) | 32) >= 'a' && (at(w, w->at + n) | 32) <= 'z')))
    n++;
  n += at(w, w->at + n) == ';';
  const cq_slice entity = {w->in.data + w->at, n};
  w->at += n;
  if (cq_slice_equal(entity, cq_slice_of("&nbsp;")))
    put_blank(w);
  else
    cq_markup_text(w->out, entity);
}

/* __NOTOC__ */
static bool take_word(wiki *w) {
  size_t i = w->at + 2;
  while (at(w, i) >= 'A' && at(w, i) <= 'Z') i++;
  if (i == w->at + 2 || at(w, i) != '_' || at(w, i + 1) != '_') return false;
  w->at = i + 2;
  return true;
}

/* -{zh-hans:...; zh-hant:...}-, a text in several scripts: the first one. */
static bool take_variants(wiki *w) {
  size_t begin = w->at + 2, end = begin;
  while (end < w->in.n && end - begin < MOST_TAG && at(w, end) != '\n' && !(at(w, end) == '}' && at(w, end + 1) == '-'))
    end++;
  if (at(w, end) != '}') return false;
  w->at = end + 2;
  cq_slice text = {w->in.data + begin, end - begin};
  const char *bar = text.n ? memchr(text.data, '|', text.n) : NULL;
  if (bar) text = (cq_slice){bar + 1, (size_t)(text.data + text.n - bar - 1)};
  const char *colon = text.n ? memchr(text.data, ':', text.n) : NULL;
  if (colon && is_language((cq_slice){text.data, (size_t)(colon - text.data)})) {
    text = (cq_slice){colon + 1, (size_t)(text.data + text.n - colon - 1)};
    const char *semicolon = text.n ? memchr(text.data, ';', text.n) : NULL;
    if (semicolon) text.n = (size_t)(semicolon - text.data);
  }
  put_raw(w, text);
  return true;
}

/* Takes markup; false: none is here. */
static bool take_markup(wiki *w) {
  switch (at(w, w->at)) {
  case '<':
    if (follows(w, "<!--")) return take_comment(w), true;
    return take_tag(w);
  case '{':
    if (!follows(w, "{{")) return false;
    w->at += 2;
    return push(w, TEMPLATE);
  case '}':
    if (!follows(w, "}}") || !w->n_of[TEMPLATE]) return false;
    w->at += 2;
    cut(w, pop(w, TEMPLATE));
    return true;
  case '[':
    if (!follows(w, "[[") || w->n_of[LINK] == MOST_NESTED) return open_external(w);
    w->at += 2;
    return push(w, LINK);
  case ']':
    if (follows(w, "]]") && w->n_of[LINK]) return w->at += 2, close_link(w), true;
    if (!w->n_external) return false;
    w->n_external--, w->at++;
    return true;
  case '\'': return take_quotes(w), true;
  case '&': return take_entity(w), true;
  case '_': return follows(w, "__") && take_word(w);
  case '-': return follows(w, "-{") && take_variants(w);
  case '\n': return take_newline(w), true;
  default: return false;
  }
}

void cq_wiki_text(cq_builder *out, cq_slice markup, cq_slice dropped) {
  wiki w = {.out = out, .in = markup, .dropped = dropped, .first = out->n};
  begin_line(&w);
  while (w.at < w.in.n && !out->failed) {
    if (w.heading_end && w.at == w.heading_end) w.at = w.line_end;
    if (w.at == w.in.n || take_markup(&w)) continue;
    put_character(&w, w.in.data[w.at++]);
  }
  while (out->n > w.first && cq_is_blank(last(&w))) out->n--;
  cq_free(w.open);
}
