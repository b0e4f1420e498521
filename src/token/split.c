/* Split: a word is split into segments (matches and the text between them), which are rejoined according to the
 * behavior:
 *
 *   "a--b" by "-"          segments  a|-|-|b
 *   Removed                a b
 *   Isolated               a - - b
 *   MergedWithPrevious     a- - b       a match joins the segment before it, unless that is a match
 *   MergedWithNext         a - -b
 *   Contiguous             a -- b       adjacent segments of the same kind are joined
 *
 * invert: the text between counts as the matches. Source: the library tokenizers, NormalizedString::split. */
#include "token/pre_tokenizer.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/regex.h"
#include "text/unicode.h"

static const char *const behavior_names[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext",
                                             "Contiguous"};

bool cq_words_put(cq_words *words, size_t start, size_t n, bool at_start) {
  if (words->n >= words->capacity &&
      !cq_reserve((void **)&words->words, &words->capacity, words->n + 1, sizeof *words->words))
    return false;
  words->words[words->n++] = (cq_word){start, n, at_start};
  return true;
}

bool cq_split_put(cq_words *out, const cq_word *word, size_t start, size_t end) {
  return end <= start || cq_words_put(out, word->start + start, end - start, word->at_start && start == 0);
}

/* --- segments --- */

typedef struct segments {
  cq_words *out;
  const cq_word *word;
  int behavior;
  bool invert;
  bool last; /* the last segment was a match */
  bool held; /* [start, end) waits for what comes next */
  size_t start, end;
  size_t done; /* where the last match ended */
  bool failed; /* out of memory */
} segments;

static bool put_segment(segments *s, size_t start, size_t end, bool is_match) {
  is_match ^= s->invert;
  bool joins = false;
  switch (s->behavior) {
  case CQ_SPLIT_MERGED_WITH_PREVIOUS: joins = is_match && !s->last; break;
  case CQ_SPLIT_MERGED_WITH_NEXT: joins = !is_match && s->last; break;
  case CQ_SPLIT_CONTIGUOUS: joins = is_match == s->last; break;
  default: break;
  }
  s->last = is_match;
  if (s->held && joins) {
    s->end = end;
    return true;
  }
  const bool fine = !s->held || cq_split_put(s->out, s->word, s->start, s->end);
  s->held = s->behavior != CQ_SPLIT_REMOVED || !is_match;
  s->start = start;
  s->end = end;
  return fine;
}

static bool put_match(void *context, size_t start, size_t end) {
  segments *s = context;
  const bool fine = (start == s->done || put_segment(s, s->done, start, false)) && put_segment(s, start, end, true);
  s->done = end;
  s->failed |= !fine;
  return fine;
}

static segments begin_segments(cq_words *out, const cq_word *word, int behavior, bool invert) {
  return (segments){.out = out, .word = word, .behavior = behavior, .invert = invert};
}

static bool end_segments(segments *s) {
  const bool fine = s->done == s->word->n || put_segment(s, s->done, s->word->n, false);
  return fine && (!s->held || cq_split_put(s->out, s->word, s->start, s->end));
}

/* --- what is split by --- */

bool cq_split_by_class(cq_words *out, const cq_words *in, bool (*is_delimiter)(uint32_t c), int behavior) {
  for (size_t w = 0; w < in->n; w++) {
    segments s = begin_segments(out, &in->words[w], behavior, false);
    const cq_slice text = cq_words_text(in, &in->words[w]);
    for (size_t i = 0, n; i < text.n; i += n) {
      uint32_t c;
      n = cq_utf8_decode(&c, text.data + i, text.n - i);
      if (is_delimiter(c) && !put_match(&s, i, i + n)) return false;
    }
    if (!end_segments(&s)) return false;
  }
  return true;
}

/* flags: invert */
static bool run_split_string(cq_words *out, const cq_words *in, const cq_pre_tokenizer *step) {
  const cq_slice sought = step->text;
  for (size_t w = 0; w < in->n; w++) {
    segments s = begin_segments(out, &in->words[w], step->behavior, step->flags[0]);
    const cq_slice text = cq_words_text(in, &in->words[w]);
    for (size_t i = 0; i + sought.n <= text.n;) {
      const bool is_match = text.data[i] == *sought.data && !memcmp(text.data + i, sought.data, sought.n);
      if (is_match && !put_match(&s, i, i + sought.n)) return false;
      i += is_match ? sought.n : 1;
    }
    if (!end_segments(&s)) return false;
  }
  return true;
}

static bool run_split_regex(cq_words *out, const cq_words *in, const cq_pre_tokenizer *step) {
  for (size_t w = 0; w < in->n; w++) {
    segments s = begin_segments(out, &in->words[w], step->behavior, step->flags[0]);
    const cq_status status = cq_regex_each(step->regex, cq_words_text(in, &in->words[w]), put_match, &s);
    if (status == CQ_ERR_STOPPED && !s.failed) out->is_stopped = true;
    if (status || !end_segments(&s)) return false;
  }
  return true;
}

/* CQ_SPLIT_PUNCTUATION, isolated: each match is a word. The same result as the regular expression, but faster. */
static bool run_split_marks(cq_words *out, const cq_words *in, const cq_pre_tokenizer *step) {
  enum { BLANK = 0x2581 };
  (void)step;
  for (size_t w = 0; w < in->n; w++) {
    const cq_word *word = &in->words[w];
    cq_slice text = cq_words_text(in, word);
    size_t start = 0;
    for (size_t i = 0; i < text.n;) {
      uint32_t c; /* the match's last character, if there is one */
      const size_t second = i + cq_utf8_decode(&c, text.data + i, text.n - i);
      size_t end = second;
      if (c == BLANK && second < text.n) end += cq_utf8_decode(&c, text.data + second, text.n - second);
      if (c == BLANK || !(cq_char_is_punctuation(c) || cq_char_is_symbol(c))) {
        i = second;
        continue;
      }
      if (!cq_split_put(out, word, start, i) || !cq_split_put(out, word, i, end)) return false;
      start = i = end;
    }
    if (!cq_split_put(out, word, start, text.n)) return false;
  }
  return true;
}

/* --- parsing --- */

cq_status cq_split_parse_behavior(int *out, const cq_step_parser *p) {
  return cq_step_choice(out, p, "behavior", behavior_names, sizeof behavior_names / sizeof *behavior_names);
}

static cq_status open_regex(cq_pre_tokenizer *step, const cq_step_parser *p, const json_t *regex) {
  cq_error why = {0};
  const cq_slice pattern = {json_string_value(regex), json_string_length(regex)};
  const cq_status status = cq_regex_open(&step->regex, pattern, &why);
  if (status == CQ_ERR_MEMORY) return cq_fail_memory(p->error, p->place->where);
  step->run = run_split_regex;
  return status ? cq_fail_file(p->error, status, p->place->path,
                               "%s: Split with the regular expression '%.200s' is not supported: %s", p->place->where,
                               pattern.data, why.message)
                : CQ_OK;
}

cq_status cq_split_parse(cq_pre_tokenizer *step, const cq_step_parser *p) {
  const json_t *pattern = json_object_get(p->json, "pattern"), *plain = json_object_get(pattern, "String");
  const json_t *regex = json_object_get(pattern, "Regex");
  step->behavior = CQ_SPLIT_ISOLATED;
  cq_status status = cq_step_bool(&step->flags[0], p, "invert");
  if (!status) status = cq_split_parse_behavior(&step->behavior, p);
  if (status) return status;
  if (json_is_string(regex) && !step->flags[0] && step->behavior == CQ_SPLIT_ISOLATED &&
      !strcmp(json_string_value(regex), CQ_SPLIT_PUNCTUATION)) {
    step->run = run_split_marks;
    return CQ_OK;
  }
  if (json_is_string(regex)) return open_regex(step, p, regex);
  if (!json_is_string(plain) || json_string_length(plain) == 0)
    return cq_fail_file(p->error, CQ_ERR_FORMAT, p->place->path, "%s: Split needs a pattern (String or Regex)",
                        p->place->where);
  step->run = run_split_string;
  return cq_step_text(&step->text, p, json_string_value(plain), json_string_length(plain));
}
