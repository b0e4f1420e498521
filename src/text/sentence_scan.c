/* The places where a sentence may end, and their features. See sentence_model.h. */
#include "text/sentence_model.h"

#include "base/utf8.h"
#include "text/unicode.h"

#include <unicode/uchar.h>

enum { MAX_LETTERS = 24, MAX_MARKS = 8, NEAR = 6 };

/* What a character is to sentences. MARK: may end one. */
typedef enum kind { OTHER, BLANK, MARK, PAUSE, CLOSER, OPENER, QUOTE, DASH, DIGIT, LOWER, UPPER, LETTER } kind;

/* The marks before a place: the last of them, or several as one. */
enum { NO_MARK, DOT, EXCLAMATION, QUESTION, ELLIPSIS, COLON, SEMICOLON, COMMA, WIDE, SEVERAL, DASH_BEFORE };

/* How a word is written. */
enum { EMPTY, CAPITAL, SMALL, NUMBER, LOWERCASE, CAPITALIZED, CAPITALS, UNCASED, WITH_DIGITS, WITH_DOTS, MIXED };

static kind ascii_kind(unsigned char c) {
  if (c >= 'a' && c <= 'z') return LOWER;
  if (c >= 'A' && c <= 'Z') return UPPER;
  if (c >= '0' && c <= '9') return DIGIT;
  if (cq_is_blank((char)c)) return BLANK;
  switch (c) {
  case '.':
  case '!':
  case '?': return MARK;
  case ',':
  case ':':
  case ';': return PAUSE;
  case ')':
  case ']':
  case '}': return CLOSER;
  case '(':
  case '[':
  case '{': return OPENER;
  case '"':
  case '\'':
  case '`':
  case '*':
  case '_': return QUOTE;
  case '-': return DASH;
  default: return OTHER;
  }
}

static kind kind_of(uint32_t c) {
  if (c < 0x80) return ascii_kind((unsigned char)c);
  if (c == 0x2026 || u_hasBinaryProperty((UChar32)c, UCHAR_S_TERM)) return MARK;
  switch (u_charType((UChar32)c)) {
  case U_UPPERCASE_LETTER:
  case U_TITLECASE_LETTER: return UPPER;
  case U_LOWERCASE_LETTER: return LOWER;
  case U_OTHER_LETTER:
  case U_MODIFIER_LETTER:
  case U_NON_SPACING_MARK:
  case U_COMBINING_SPACING_MARK: return LETTER;
  case U_DECIMAL_DIGIT_NUMBER: return DIGIT;
  case U_START_PUNCTUATION: return c == 0x201E || c == 0x201A ? QUOTE : OPENER;
  case U_INITIAL_PUNCTUATION:
  case U_FINAL_PUNCTUATION: return QUOTE;
  case U_END_PUNCTUATION: return CLOSER;
  case U_DASH_PUNCTUATION: return DASH;
  default: return c == 0x2022 ? DASH : c == 0x60C || c == 0x61B || c == 0x3001 || c == 0xFF0C ? PAUSE : OTHER;
  }
}

/* The character that ends at a byte. */
static uint32_t before(cq_slice text, size_t *at) {
  const size_t begin = cq_utf8_begin(text.data, *at);
  uint32_t c = (unsigned char)text.data[begin];
  if (c >= 0x80) cq_utf8_decode(&c, text.data + begin, *at - begin);
  *at = begin;
  return c;
}

/* --- features --- */

static uint32_t mix(uint32_t hash, uint32_t x) {
  hash = (hash ^ x) * 0x9E3779B1u;
  return hash ^ hash >> 15;
}

static uint32_t finish(uint32_t hash) {
  hash *= 0x85EBCA6Bu;
  return hash ^ hash >> 13;
}

typedef struct word {
  uint32_t letters[MAX_LETTERS]; /* in lower case, those nearest to the place */
  kind kinds[MAX_LETTERS];
  int n, shape;
  uint32_t hash, edge[3]; /* edge[i]: the i + 1 letters nearest to the place */
} word;

static void add_letter(word *w, uint32_t c, kind k) {
  if (k == UPPER) {
    uint32_t lower[2];
    cq_char_lower(lower, c);
    c = lower[0];
  }
  w->letters[w->n] = c, w->kinds[w->n++] = k;
}

/* Thai, Lao, Burmese, Khmer: blanks are between sentences and clauses. What stands for a word is its next 5 letters. */
static bool has_no_blanks_around(uint32_t c) {
  return (c >= 0xE00 && c < 0xF00) || (c >= 0x1000 && c < 0x10A0) || (c >= 0x1780 && c < 0x1800);
}

/* backward: its letters are in reverse order. */
static void finish_word(word *w, bool backward) {
  int n_upper = 0, n_lower = 0, n_digits = 0, n_letters = 0, n_dots = 0;
  const bool has_no_blanks = w->n && has_no_blanks_around(w->letters[0]);
  w->hash = 7;
  for (int i = 0; i < w->n; i++) {
    const kind k = w->kinds[i];
    if (i < 5 || !has_no_blanks) w->hash = mix(w->hash, w->letters[i]);
    if (i < 3) w->edge[i] = w->hash;
    n_upper += k == UPPER, n_lower += k == LOWER, n_letters += k == LETTER, n_digits += k == DIGIT;
    n_dots += w->letters[i] == '.';
  }
  for (int i = w->n; i < 3; i++) w->edge[i] = w->hash;
  const int n_all = n_upper + n_lower + n_letters;
  const bool begins_upper = w->n && w->kinds[backward ? w->n - 1 : 0] == UPPER;
  w->shape = !w->n                          ? EMPTY
             : n_digits && !n_all           ? NUMBER
             : n_digits                     ? WITH_DIGITS
             : n_all && n_dots              ? WITH_DOTS
             : n_all == 1 && n_upper        ? CAPITAL
             : n_all == 1 && n_lower        ? SMALL
             : n_letters                    ? UNCASED
             : n_lower && !n_upper          ? LOWERCASE
             : n_upper && !n_lower          ? CAPITALS
             : begins_upper && n_upper == 1 ? CAPITALIZED
                                            : MIXED;
}

/* The word that ends at a byte; returns where it begins, as far as it was read. */
static size_t word_before(word *w, cq_slice text, size_t at, size_t begin) {
  w->n = 0;
  while (at > begin && w->n < MAX_LETTERS) {
    size_t from = at;
    const uint32_t c = before(text, &from);
    const kind k = kind_of(c);
    if (k == BLANK || k == OPENER || (k == QUOTE && c != '\'')) break;
    add_letter(w, c, k), at = from;
  }
  finish_word(w, true);
  return at;
}

static size_t word_after(word *w, cq_slice text, size_t at) {
  w->n = 0;
  while (at < text.n && w->n < MAX_LETTERS) {
    uint32_t c;
    const size_t n = cq_utf8_decode(&c, text.data + at, text.n - at);
    const kind k = kind_of(c);
    if (k < DIGIT && k != DASH && k != OTHER && c != '\'') break;
    add_letter(w, c, k), at += n;
  }
  finish_word(w, false);
  return at;
}

static uint32_t mark_of(uint32_t c, uint32_t later) {
  uint32_t mark = c == '.' || c == 0xFF0E                 ? DOT
                  : c == '!' || c == 0xFF01               ? EXCLAMATION
                  : c == '?' || c == 0xFF1F || c == 0x61F ? QUESTION
                  : c == 0x2026                           ? ELLIPSIS
                  : c == ':'                              ? COLON
                  : c == ';' || c == 0x61B                ? SEMICOLON
                  : c == ',' || c == 0x60C                ? COMMA
                                                          : WIDE;
  if (later == NO_MARK) return mark;
  return mark == DOT && (later == DOT || later == ELLIPSIS) ? ELLIPSIS : SEVERAL;
}

/* Everything that a place's features are made of. */
typedef struct context {
  word previous, next, earlier;           /* earlier: the one before previous */
  uint32_t mark, closers, openers, after; /* after: the kind of what follows the next word */
  uint32_t later;                         /* the kind of the first letter of the word after next */
} context;

/* The length of a quotation mark that is written as an entity and ends at a byte; 0: there is none. */
static size_t quote_entity(cq_slice text, size_t begin, size_t at) {
  static const char *const entities[] = {"&#39;", "&quot;", "&raquo;", "&rdquo;"};
  for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) {
    const size_t n = strlen(entities[i]);
    if (at - begin >= n && !memcmp(text.data + at - n, entities[i], n)) return n;
  }
  return 0;
}

static bool is_mark_before(cq_slice text, size_t at) {
  return kind_of(before(text, &at)) == MARK;
}

static void read_before(context *x, const cq_sentence_scan *s, size_t end) {
  size_t at = end, from;
  x->mark = NO_MARK, x->closers = 0;
  for (int i = 0; at > s->begin && i < MAX_MARKS; i++, at = from) {
    from = at;
    const uint32_t c = before(s->text, &from);
    const size_t entity = c == ';' ? quote_entity(s->text, s->begin, at) : 0;
    const kind k = entity ? QUOTE : kind_of(c);
    if (entity) from = at - entity;
    if (k == BLANK && !x->mark && x->closers && from > s->begin && is_mark_before(s->text, from)) continue;
    if (k == CLOSER)
      x->closers |= x->mark ? 4 : 1;
    else if (k == QUOTE)
      x->closers |= x->mark ? 8 : 2;
    else if (k == MARK || (k == PAUSE && !x->mark))
      x->mark = mark_of(c, x->mark);
    else if (k == DASH && !x->mark)
      x->mark = DASH_BEFORE;
    else
      break;
  }
  at = word_before(&x->previous, s->text, at, s->begin);
  while (at > s->begin && ascii_kind((unsigned char)s->text.data[at - 1]) != BLANK && end - at < 4 * MAX_LETTERS) at--;
  while (at > s->begin && ascii_kind((unsigned char)s->text.data[at - 1]) == BLANK) at--;
  word_before(&x->earlier, s->text, at, s->begin);
}

static void read_after(context *x, const cq_sentence_scan *s, size_t at) {
  uint32_t c = 0;
  size_t n = 0;
  x->openers = 0;
  for (int i = 0; at < s->text.n && i < MAX_MARKS; i++, at += n) {
    n = cq_utf8_decode(&c, s->text.data + at, s->text.n - at);
    const kind k = kind_of(c);
    if (k != OPENER && k != QUOTE && k != DASH && k != MARK && k != PAUSE && k != CLOSER && !(k == BLANK && i)) break;
    x->openers |= k == OPENER ? 1 : k == QUOTE ? 2 : k == DASH ? 4 : k == BLANK ? 0 : k == CLOSER ? 16 : 8;
  }
  at = word_after(&x->next, s->text, at);
  x->after = OTHER, x->later = OTHER;
  for (int i = 0; at < s->text.n && i < 3; i++, at += n) {
    n = cq_utf8_decode(&c, s->text.data + at, s->text.n - at);
    const kind k = kind_of(c);
    if (i == 0) x->after = (uint32_t)k;
    x->later = (uint32_t)k;
    if (k >= DIGIT) break;
  }
}

static void set_features(cq_sentence_place *p, const cq_sentence_scan *s, const context *x) {
  const word *a = &x->previous, *b = &x->next, *e = &x->earlier;
  const uint32_t language = (uint32_t)s->language + 1, shapes = (uint32_t)(a->shape * 16 + b->shape),
                 mark = x->mark * 16 + x->closers, group = x->mark > DOT ? x->mark > SEVERAL ? 1u : 2u : x->mark,
                 openers = x->openers * 16 + x->after, far = (uint32_t)(s->n_words < NEAR ? s->n_words : NEAR);
  const uint32_t length = (uint32_t)(a->n < 6 ? a->n : a->n < 12 ? 6 : 7);
  uint32_t k = 0;
#define ADD(x1, x2, x3) p->features[p->n_features++] = finish(mix(mix(mix(mix(0x51ED27u, ++k), x1), x2), x3))
  p->n_features = 0;
  ADD(mark, shapes, x->openers);
  ADD(x->mark, a->hash, 0);
  ADD(mark, length, shapes);
  ADD(mark, far, shapes);
  ADD(x->mark, (uint32_t)e->shape, shapes);
  ADD(mark, openers, (uint32_t)b->shape);
  ADD(x->mark, x->later, shapes);
  ADD(mark, (uint32_t)(s->n_quotes & 1), openers);
  if (!language) return;
  ADD(language, mark, openers);
  ADD(language, mark, shapes);
  ADD(language, group, a->hash);
  ADD(language, mix(group, (uint32_t)b->shape), a->hash);
  ADD(language, mix(group, (uint32_t)a->shape), b->hash);
  ADD(language, group * 16 + (uint32_t)b->shape, b->hash);
  ADD(language, group, e->hash);
  ADD(language, group, a->edge[1]);
  ADD(language, group, a->edge[2]);
  ADD(language, group, b->edge[1]);
  ADD(language, group, b->edge[2]);
  ADD(language, mix(group, far), (uint32_t)b->shape);
  ADD(language, group, (uint32_t)(b->n / 3 * 16 + a->n / 3));
  const size_t n_bytes = p->end - s->begin;
  ADD(language, group, (uint32_t)(n_bytes < 640 ? n_bytes / 32 : 20));
  if (p->class == CQ_SENTENCE_NO_BLANKS) {
    ADD(language, a->edge[1], b->edge[1]);
    ADD(language, a->edge[2], b->edge[2]);
    ADD(language, a->hash, (uint32_t)(n_bytes < 640 ? n_bytes / 64 : 10));
    ADD(language, b->hash, (uint32_t)(n_bytes < 640 ? n_bytes / 64 : 10));
    ADD(language, b->hash, e->edge[2]);
  }
#undef ADD
}

/* --- places --- */

/* Whether a '"' opens or closes a quotation, by the side on which it has a blank; on both or on none: the other one. */
static bool opens_quotation(const cq_sentence_scan *s) {
  const bool after_blank = s->at == 0 || cq_is_blank(s->text.data[s->at - 1]),
             before_blank = s->at + 1 == s->text.n || cq_is_blank(s->text.data[s->at + 1]);
  return after_blank == before_blank ? !s->is_quoting : after_blank;
}

/* Whether the text from a byte belongs to the sentence before it, in spite of the blank: `. " `, ` » `, ` /`, ` ``. `. */
static bool goes_on(const cq_sentence_scan *s, size_t next) {
  uint32_t c = 0;
  size_t at = next, n;
  kind k;
  do {
    n = cq_utf8_decode(&c, s->text.data + at, s->text.n - at), k = kind_of(c), at += n;
    if (c == 0xBB || (c == '"' && s->is_quoting && (at == s->text.n || cq_is_blank(s->text.data[at])))) return true;
  } while (k == QUOTE && at < s->text.n);
  const bool is_quoted_mark = at - n > next && c == '.' && (at == s->text.n || s->text.data[at] != '.');
  return k == PAUSE || k == CLOSER || c == '/' || is_quoted_mark;
}

/* Whether a place between blanks deserves features: after a mark, or before what may begin a sentence. */
static bool may_end(const cq_sentence_scan *s, size_t end, size_t next) {
  uint32_t c;
  cq_utf8_decode(&c, s->text.data + next, s->text.n - next);
  const kind k = kind_of(c);
  size_t at = end;
  const kind last = kind_of(c = before(s->text, &at));
  if (last == QUOTE && k == LOWER) return false;
  const bool is_marked = last == MARK || last == CLOSER || last == QUOTE || (c == ';' && k != LOWER);
  return (is_marked || (k != LOWER && k != OTHER && k != DASH && c != ',')) && !goes_on(s, next);
}

static bool set_place(cq_sentence_place *p, cq_sentence_scan *s, size_t end, size_t next) {
  context x;
  read_before(&x, s, end);
  read_after(&x, s, next);
  const bool is_ordinal = x.previous.shape == NUMBER && x.previous.n <= 2;
  const bool is_pair = x.previous.n == 1 && x.earlier.n == 2 && x.earlier.letters[0] == '.'; /* "z. B." */
  p->end = end, p->next = next;
  p->is_doubtful = s->depth > 0 || (x.mark == DOT && (is_ordinal || is_pair));
  const bool is_marked =
      (x.mark >= DOT && x.mark <= ELLIPSIS) || x.mark == WIDE || x.mark == SEVERAL || x.mark == SEMICOLON;
  p->class = x.previous.n && has_no_blanks_around(x.previous.letters[0]) ? CQ_SENTENCE_NO_BLANKS
             : is_marked                                                 ? CQ_SENTENCE_MARKED
                                                                         : CQ_SENTENCE_UNMARKED;
  set_features(p, s, &x);
  return true;
}

/* After a mark that needs no blank: skips the marks and closers that follow. True: a letter follows. */
static bool ends_wide(cq_sentence_scan *s, uint32_t first) {
  size_t at = s->at - 1;
  bool wide = first >= 0x80 ? first != 0x2026 : at > 0 && before(s->text, &at) >= 0x2E80;
  uint32_t c = 0;
  for (size_t n; s->at < s->text.n; s->at += n) {
    n = cq_utf8_decode(&c, s->text.data + s->at, s->text.n - s->at);
    const kind k = kind_of(c);
    wide |= k == MARK && c >= 0x80 && c != 0x2026;
    if (k == BLANK) return false;
    if (k != MARK && k != CLOSER && !(k == QUOTE && (c == 0x201D || c == 0x2019 || c == '"'))) break;
  }
  return s->at < s->text.n && (wide || c >= 0x2E80);
}

bool cq_sentence_scan_next(cq_sentence_place *out, cq_sentence_scan *s) {
  const cq_slice text = s->text;
  if (s->counted < s->begin) s->counted = s->begin, s->n_words = 0, s->n_quotes = 0, s->depth = 0;
  while (s->at < text.n) {
    const unsigned char byte = (unsigned char)text.data[s->at];
    if (byte > ' ' && byte < 0x80 && byte != 0x21 && byte != 0x3F) {
      if (byte == '"') s->n_quotes++, s->is_quoting = opens_quotation(s);
      if (byte == '(' && (s->at == 0 || text.data[s->at - 1] != ':')) s->depth++;
      if (byte == ')' && s->depth) s->depth--;
      s->at++;
      continue;
    }
    if (cq_is_blank((char)byte)) {
      const size_t end = s->at;
      while (s->at < text.n && cq_is_blank(text.data[s->at])) s->at++;
      s->n_words++;
      if (end == 0 || s->at == text.n) continue;
      if (memchr(text.data + end, '\n', s->at - end) || may_end(s, end, s->at)) return set_place(out, s, end, s->at);
      continue;
    }
    uint32_t c = byte;
    s->at += byte < 0x80 ? 1 : cq_utf8_decode(&c, text.data + s->at, text.n - s->at);
    if (byte >= 0x80 && (byte < 0xD6 || kind_of(c) != MARK)) continue; /* none below U+0580 */
    if (byte > 0x1F && ends_wide(s, c)) return set_place(out, s, s->at, s->at);
  }
  return false;
}
