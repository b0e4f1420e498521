/* A tokenizer is a few steps over the characters of a text. A step finds a character of a certain kind, or two in a
 * row, from left to right and without overlap, and adds blanks:
 *
 *   13a, zh    " [ ( ...          ──▶  _c_        then
 *              (no digit)(. or ,) ──▶  a_b_       then
 *              (. or ,)(no digit) ──▶  _a_b       then
 *              (digit)(-)         ──▶  a_b_
 *   intl       (no number)(punctuation) ──▶ a_b_ , (punctuation)(no number) ──▶ _a_b , (symbol) ──▶ _c_
 *
 * At the end, white space separates the words. Because matches do not overlap, ",," and ",,," give different results;
 * mteval's scripts do the same, and figures are comparable only if such details are the same.
 * Source: NIST's mteval-v13a and -v14; the steps for Chinese are those of the WMT 2017 script. */
#include "lab/measures/mt_tokens.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/unicode.h"

typedef struct cq_mt_codes codes;

static bool codes_put(codes *c, uint32_t code) {
  if (!cq_reserve((void **)&c->items, &c->capacity, c->n + 1, sizeof *c->items)) return false;
  c->items[c->n++] = code;
  return true;
}

/* --- kinds of characters --- */

bool cq_mt_is_space(uint32_t c) {
  return cq_char_is_whitespace(c) || (c >= 0x1c && c <= 0x1f);
}

static bool is_digit(uint32_t c) {
  return c >= '0' && c <= '9';
}

static bool is_no_digit(uint32_t c) {
  return !is_digit(c);
}

static bool is_hyphen(uint32_t c) {
  return c == '-';
}

static bool is_period_or_comma(uint32_t c) {
  return c == '.' || c == ',';
}

/* ASCII punctuation that is always split off: all except ' , - and the period. */
static bool is_13a_sign(uint32_t c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') ||
         (c >= ':' && c <= '@') || c == '/';
}

static bool is_no_number(uint32_t c) {
  return !cq_char_is_number(c);
}

/* The blocks of the original script. It writes higher planes as "\u20000" and "\u2f800", which its language reads as a
 * shorter character and a digit: so everything from U+2001 to U+2A6D counts, including “ and …, but the ideographs of
 * plane 2 do not. */
static bool is_chinese(uint32_t c) {
  static const uint32_t ranges[][2] = {
      {0x2001, 0x2a6d}, {0x2e80, 0x2fdf}, {0x2ff0, 0x2fff}, {0x3000, 0x303f}, {0x3100, 0x312f}, {0x31a0, 0x31bf},
      {0x31c0, 0x31ef}, {0x3200, 0x33ff}, {0x3400, 0x4db5}, {0x4e00, 0x9fbb}, {0xf900, 0xfa2d}, {0xfa30, 0xfa6a},
      {0xfa70, 0xfad9}, {0xfe10, 0xfe1f}, {0xfe30, 0xfe4f}, {0xff00, 0xffef},
  };
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    if (c >= ranges[i][0] && c <= ranges[i][1]) return true;
  return false;
}

/* --- steps --- */

typedef struct step {
  bool (*first)(uint32_t c);
  bool (*second)(uint32_t c); /* NULL: matches a single character */
  bool before;                /* two characters: a blank before them, otherwise after; one character: both */
} step;

static const step steps_13a[] = {
    {is_13a_sign, NULL, true},
    {is_no_digit, is_period_or_comma, false},
    {is_period_or_comma, is_no_digit, true},
    {is_digit, is_hyphen, false},
};
static const step steps_intl[] = {
    {is_no_number, cq_char_is_punctuation, false},
    {cq_char_is_punctuation, is_no_number, true},
    {cq_char_is_symbol, NULL, true},
};

static bool run_step(codes *to, const codes *from, const step *s) {
  bool ok = true;
  to->n = 0;
  for (size_t i = 0; i < from->n && ok; i++) {
    const uint32_t c = from->items[i];
    const bool found = s->first(c) && (!s->second || (i + 1 < from->n && s->second(from->items[i + 1])));
    if (!found) {
      ok = codes_put(to, c);
    } else if (!s->second) {
      ok = codes_put(to, ' ') && codes_put(to, c) && codes_put(to, ' ');
    } else {
      ok = (!s->before || codes_put(to, ' ')) && codes_put(to, c) && codes_put(to, ' ') &&
           codes_put(to, from->items[++i]) && (s->before || codes_put(to, ' '));
    }
  }
  return ok;
}

static bool run_steps(cq_mt_tokenizer *t, const step *steps, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!run_step(&t->to, &t->from, &steps[i])) return false;
    const codes swap = t->from;
    t->from = t->to, t->to = swap;
  }
  return true;
}

/* --- tokenizers --- */

/* Appends text between two blanks, so that 13a's steps need not check for the ends. Removes mteval's markup and decodes
 * its four entities, "&amp;lt;" twice. */
static void read_entities(cq_builder *out, cq_slice text) {
  static const char *const entities[][2] = {
      {"<skipped>", ""}, {"&quot;", "\""}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"},
  };
  cq_builder_char(out, ' ');
  cq_builder_bytes(out, text.data, text.n);
  cq_builder_char(out, ' ');
  for (size_t e = 0; e < sizeof entities / sizeof *entities && !out->failed; e++) {
    const size_t n = strlen(entities[e][0]), n_new = strlen(entities[e][1]);
    char *to = out->data;
    const char *from = out->data, *end = out->data + out->n;
    while (from < end) {
      if ((size_t)(end - from) >= n && !memcmp(from, entities[e][0], n)) {
        memcpy(to, entities[e][1], n_new);
        to += n_new, from += n;
      } else {
        *to++ = *from++;
      }
    }
    out->n = (size_t)(to - out->data);
  }
}

static bool decode_codes(codes *out, cq_slice text) {
  out->n = 0;
  for (size_t i = 0; i < text.n;) {
    uint32_t c;
    i += cq_utf8_decode(&c, text.data + i, text.n - i);
    if (!codes_put(out, c)) return false;
  }
  return true;
}

static void trim_end(codes *c) {
  while (c->n && cq_mt_is_space(c->items[c->n - 1])) c->n--;
}

static void trim_start(codes *c) {
  size_t first = 0;
  while (first < c->n && cq_mt_is_space(c->items[first])) first++;
  for (size_t i = first; i < c->n; i++) c->items[i - first] = c->items[i];
  c->n -= first;
}

#define RUN_STEPS(t, steps) run_steps(t, steps, sizeof(steps) / sizeof *(steps))

/* Stores the words of a text in t->from, separated by white space. */
static bool split_text(cq_mt_tokenizer *t, cq_slice text) {
  static const step steps_zh[] = {{is_chinese, NULL, true}};
  if (!decode_codes(&t->from, text)) return false;
  switch (t->tokens) {
  case CQ_MT_13A: return RUN_STEPS(t, steps_13a);
  case CQ_MT_INTL: trim_end(&t->from); return RUN_STEPS(t, steps_intl);
  case CQ_MT_ZH:
    trim_end(&t->from);
    trim_start(&t->from);
    return RUN_STEPS(t, steps_zh) && RUN_STEPS(t, steps_13a);
  case CQ_MT_CHAR:
  case CQ_MT_NONE: break;
  }
  return true;
}

bool cq_mt_tokenize(cq_u32_array *out, cq_mt_tokenizer *t, cq_slice text) {
  cq_builder_clear(&t->text);
  if (t->lowercase) {
    cq_text_lower_in_context(&t->text, text);
    if (t->text.failed) return false;
    text = (cq_slice){t->text.data, t->text.n};
  }
  if (t->tokens == CQ_MT_13A) {
    cq_builder_clear(&t->word);
    read_entities(&t->word, text);
    if (t->word.failed) return false;
    text = (cq_slice){t->word.data, t->word.n};
  }
  if (!split_text(t, text)) return false;
  for (size_t i = 0; i < t->from.n;) {
    cq_builder_clear(&t->word);
    for (; i < t->from.n && !cq_mt_is_space(t->from.items[i]); i++) {
      if (t->tokens == CQ_MT_CHAR && t->word.n) break;
      cq_builder_code(&t->word, t->from.items[i]);
    }
    if (t->word.failed) return false;
    if (t->word.n) {
      const uint32_t id = cq_intern_put(&t->words, (cq_slice){t->word.data, t->word.n});
      if (id == CQ_INTERN_NONE || !cq_u32_array_append(out, &id, 1)) return false;
    }
    if (i < t->from.n && cq_mt_is_space(t->from.items[i])) i++;
  }
  return true;
}

void cq_mt_tokenizer_free(cq_mt_tokenizer *t) {
  cq_intern_free(&t->words);
  cq_free(t->from.items);
  cq_free(t->to.items);
  cq_builder_free(&t->text);
  cq_builder_free(&t->word);
  *t = (cq_mt_tokenizer){0};
}

const char *const cq_mt_tokens_names[] = {"13a", "intl", "zh", "char", "none", NULL};

cq_status cq_mt_check(const cq_mt_texts *texts, const char *measure, cq_error *error) {
  if (texts->n == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "%s: there are no sentences", measure);
  if (texts->n_references == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "%s: there are no references", measure);
  return CQ_OK;
}
