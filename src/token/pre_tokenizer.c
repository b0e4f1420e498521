/* The pre-tokenizers of tokenizer.json: one function and one table row each. A Sequence is flattened.
 *
 * Most of them only split words into smaller ones; two (ByteLevel, Metaspace) also rewrite the text. Split is in
 * split.c. */
#include "token/pre_tokenizer.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/regex.h"
#include "text/unicode.h"

enum scheme { ALWAYS, FIRST, NEVER };
static const char *const scheme_names[] = {"always", "first", "never"};

/* --- splitting --- */

static bool run_bert_pre_tokenizer(cq_words *out, const cq_words *in, const cq_pre_tokenizer *step) {
  (void)step;
  for (size_t w = 0; w < in->n; w++) {
    const cq_word *word = &in->words[w];
    cq_slice text = cq_words_text(in, word);
    size_t start = 0;
    for (size_t i = 0; i < text.n;) {
      uint32_t c;
      size_t n = cq_utf8_decode(&c, text.data + i, text.n - i);
      bool space = cq_char_is_whitespace(c);
      if (space || cq_char_is_bert_punctuation(c)) {
        if (!cq_split_put(out, word, start, i)) return false;
        if (!space && !cq_split_put(out, word, i, i + n)) return false;
        start = i + n;
      }
      i += n;
    }
    if (!cq_split_put(out, word, start, text.n)) return false;
  }
  return true;
}

static bool run_whitespace_split(cq_words *out, const cq_words *in, const cq_pre_tokenizer *step) {
  (void)step;
  return cq_split_by_class(out, in, cq_char_is_whitespace, CQ_SPLIT_REMOVED);
}

static bool run_punctuation(cq_words *out, const cq_words *in, const cq_pre_tokenizer *step) {
  return cq_split_by_class(out, in, cq_char_is_bert_punctuation, step->behavior);
}

static bool run_digits(cq_words *out, const cq_words *in, const cq_pre_tokenizer *step) {
  return cq_split_by_class(out, in, cq_char_is_number, step->flags[0] ? CQ_SPLIT_ISOLATED : CQ_SPLIT_CONTIGUOUS);
}

/* \w+|[^\w\s]+ */
static bool run_whitespace(cq_words *out, const cq_words *in, const cq_pre_tokenizer *step) {
  (void)step;
  for (size_t w = 0; w < in->n; w++) {
    const cq_word *word = &in->words[w];
    cq_slice text = cq_words_text(in, word);
    size_t start = 0;
    int last = 0; /* 0 white space, 1 word, 2 neither */
    for (size_t i = 0; i < text.n;) {
      uint32_t c;
      size_t n = cq_utf8_decode(&c, text.data + i, text.n - i);
      int class = cq_char_is_whitespace(c) ? 0 : cq_char_is_word(c) ? 1 : 2;
      if (class != last) {
        if (last != 0 && !cq_split_put(out, word, start, i)) return false;
        start = i;
        last = class;
      }
      i += n;
    }
    if (last != 0 && !cq_split_put(out, word, start, text.n)) return false;
  }
  return true;
}

/* --- rewriting --- */

/* flags: split */
static bool run_metaspace(cq_words *out, const cq_words *in, const cq_pre_tokenizer *step) {
  cq_slice mark = step->text;
  for (size_t w = 0; w < in->n; w++) {
    const cq_word *word = &in->words[w];
    cq_slice text = cq_words_text(in, word);
    bool marked = text.n && (text.data[0] == ' ' || (text.n >= mark.n && !memcmp(text.data, mark.data, mark.n)));
    bool prepend = text.n && !marked && (step->scheme == ALWAYS || (step->scheme == FIRST && word->at_start));
    size_t start = out->text.n, base = start;
    if (prepend) cq_builder_bytes(&out->text, mark.data, mark.n);
    for (size_t i = 0; i < text.n;) {
      bool space = text.data[i] == ' ',
           is = space || (text.n - i >= mark.n && !memcmp(text.data + i, mark.data, mark.n));
      if (is) {
        if (step->flags[0] && out->text.n > start) {
          if (!cq_words_put(out, start, out->text.n - start, word->at_start && start == base)) return false;
          start = out->text.n;
        }
        cq_builder_bytes(&out->text, mark.data, mark.n);
        i += space ? 1 : mark.n;
      } else {
        size_t end = i + 1;
        while (end < text.n && text.data[end] != ' ' && text.data[end] != mark.data[0]) end++;
        cq_builder_bytes(&out->text, text.data + i, end - i);
        i = end;
      }
    }
    if (out->text.failed) return false;
    if (out->text.n > start && !cq_words_put(out, start, out->text.n - start, word->at_start && start == base))
      return false;
  }
  return true;
}

/* The character for a byte in byte-level vocabularies: itself if printable, otherwise one from U+0100 on. */
static uint32_t byte_level_char(unsigned char byte) {
  if ((byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE) return byte;
  /* The 68 others, in order: 0-32, 127-160, 173. */
  uint32_t rank = byte <= 32 ? byte : byte <= 0xA0 ? byte - 127u + 33u : 67u;
  return 256 + rank;
}

int cq_byte_level_byte(uint32_t c) {
  if (c < 256) return byte_level_char((unsigned char)c) == c ? (int)c : -1;
  if (c < 256 + 33) return (int)(c - 256);
  if (c < 256 + 67) return (int)(c - 256 - 33 + 127);
  return c == 256 + 67 ? 173 : -1;
}

enum { LETTER, NUMBER, SPACE, OTHER };
static int class_of(uint32_t c) {
  return cq_char_is_letter(c) ? LETTER : cq_char_is_number(c) ? NUMBER : cq_char_is_whitespace(c) ? SPACE : OTHER;
}

/* The length of GPT-2's next word:
 *   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
static size_t gpt2_word(const char *text, size_t n) {
  static const char *const endings[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
  if (text[0] == '\'') {
    for (size_t k = 0; k < sizeof endings / sizeof *endings; k++) {
      size_t m = strlen(endings[k]);
      if (n >= m && !memcmp(text, endings[k], m)) return m;
    }
  }
  uint32_t c;
  size_t i = 0, step = cq_utf8_decode(&c, text, n);
  int class = class_of(c);
  if (c == ' ' && n > 1) { /* one space belongs to the text after it, unless that begins with white space */
    size_t next = cq_utf8_decode(&c, text + 1, n - 1);
    if (class_of(c) != SPACE) {
      i = 1;
      step = next;
      class = class_of(c);
    }
  }
  i += step;
  size_t last = 0; /* where the last character of the run begins */
  while (i < n) {
    step = cq_utf8_decode(&c, text + i, n - i);
    if (class_of(c) != class) break;
    last = i;
    i += step;
  }
  /* White space before a word leaves its last character to the word (which includes it if it is a space). */
  if (class == SPACE && i < n && last > 0) return last;
  return i;
}

/* flags: add_prefix_space, use_regex */
static bool run_byte_level(cq_words *out, const cq_words *in, const cq_pre_tokenizer *step) {
  cq_builder spaced = {0};
  bool ok = true;
  for (size_t w = 0; w < in->n && ok; w++) {
    const cq_word *word = &in->words[w];
    cq_slice text = cq_words_text(in, word);
    if (step->flags[0] && text.n && text.data[0] != ' ') {
      cq_builder_clear(&spaced);
      cq_builder_char(&spaced, ' ');
      cq_builder_bytes(&spaced, text.data, text.n);
      if (spaced.failed) ok = false;
      text = (cq_slice){spaced.data ? spaced.data : "", spaced.n};
    }
    for (size_t i = 0; i < text.n && ok;) {
      size_t n = step->flags[1] ? gpt2_word(text.data + i, text.n - i) : text.n;
      size_t start = out->text.n;
      for (size_t k = i; k < i + n; k++) cq_builder_code(&out->text, byte_level_char((unsigned char)text.data[k]));
      ok = !out->text.failed && cq_words_put(out, start, out->text.n - start, word->at_start && i == 0);
      i += n;
    }
  }
  cq_builder_free(&spaced);
  return ok;
}

/* --- parsing --- */

static cq_status parse_punctuation(cq_pre_tokenizer *step, const cq_step_parser *p) {
  step->behavior = CQ_SPLIT_ISOLATED;
  return cq_split_parse_behavior(&step->behavior, p);
}

static cq_status parse_digits(cq_pre_tokenizer *step, const cq_step_parser *p) {
  return cq_step_bool(&step->flags[0], p, "individual_digits");
}

static cq_status parse_metaspace(cq_pre_tokenizer *step, const cq_step_parser *p) {
  const json_t *mark = json_object_get(p->json, "replacement");
  if (!json_is_string(mark) || cq_utf8_length(json_string_value(mark), json_string_length(mark)) != 1)
    return cq_fail_file(p->error, CQ_ERR_FORMAT, p->place->path, "%s: Metaspace needs a replacement of one character",
                        p->place->where);
  cq_status status = cq_step_text(&step->text, p, json_string_value(mark), json_string_length(mark));
  bool add_prefix_space = true;
  step->flags[0] = true;
  if (!status) status = cq_step_bool(&add_prefix_space, p, "add_prefix_space");
  step->scheme = add_prefix_space ? ALWAYS : NEVER;
  if (!status) status = cq_step_choice(&step->scheme, p, "prepend_scheme", scheme_names, 3);
  if (!status) status = cq_step_bool(&step->flags[0], p, "split");
  return status;
}

static cq_status parse_byte_level(cq_pre_tokenizer *step, const cq_step_parser *p) {
  step->flags[0] = step->flags[1] = true;
  cq_status status = cq_step_bool(&step->flags[0], p, "add_prefix_space");
  return status ? status : cq_step_bool(&step->flags[1], p, "use_regex");
}

static const struct {
  const char *name;
  bool (*run)(cq_words *out, const cq_words *in, const cq_pre_tokenizer *step);
  cq_status (*parse)(cq_pre_tokenizer *step, const cq_step_parser *p); /* NULL: nothing to parse */
  bool rewrites;
} kinds[] = {
    {"BertPreTokenizer", run_bert_pre_tokenizer, NULL, false},
    {"Whitespace", run_whitespace, NULL, false},
    {"WhitespaceSplit", run_whitespace_split, NULL, false},
    {"Punctuation", run_punctuation, parse_punctuation, false},
    {"Digits", run_digits, parse_digits, false},
    {"Split", NULL, cq_split_parse, false},
    {"Metaspace", run_metaspace, parse_metaspace, true},
    {"ByteLevel", run_byte_level, parse_byte_level, true},
    {"MeCab", cq_japanese_run, cq_japanese_parse, true},
};

static cq_status parse_pre_tokenizer(void *context, const char *type, const cq_step_parser *p) {
  cq_pre_tokenizers *out = context;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    if (strcmp(type, kinds[k].name) != 0) continue;
    cq_pre_tokenizer step = {.run = kinds[k].run, .rewrites = kinds[k].rewrites};
    cq_status status = kinds[k].parse ? kinds[k].parse(&step, p) : CQ_OK;
    if (!status && out->n == CQ_MAX_STEPS)
      status = cq_fail_file(p->error, CQ_ERR_UNSUPPORTED, p->place->path, "%s: more than %d steps", p->place->where,
                            CQ_MAX_STEPS);
    if (!status && !cq_reserve((void **)&out->steps, &out->capacity, out->n + 1, sizeof *out->steps))
      status = cq_fail_memory(p->error, "pre-tokenizers");
    if (status) {
      cq_regex_free(step.regex);
      cq_japanese_free(step.japanese);
      return status;
    }
    out->steps[out->n++] = step;
    if (step.run == run_byte_level) out->byte_level = true;
    if (step.run == run_metaspace) out->metaspace = true;
    if (step.run == cq_japanese_run) out->japanese = true;
    return CQ_OK;
  }
  return cq_fail_file(p->error, CQ_ERR_UNSUPPORTED, p->place->path, "%s: '%s' is not supported", p->place->where, type);
}

cq_status cq_pre_tokenizers_parse(cq_pre_tokenizers *out, cq_arena *arena, const json_t *json, const cq_place *place,
                                  cq_error *error) {
  const cq_step_parser p = {arena, json, place, error, 0};
  return cq_steps_parse(out, &p, "pretokenizers", parse_pre_tokenizer);
}

void cq_pre_tokenizers_free(cq_pre_tokenizers *pre_tokenizers) {
  for (size_t i = 0; i < pre_tokenizers->n; i++) {
    cq_regex_free(pre_tokenizers->steps[i].regex);
    cq_japanese_free(pre_tokenizers->steps[i].japanese);
  }
  cq_free(pre_tokenizers->steps);
  *pre_tokenizers = (cq_pre_tokenizers){0};
}

cq_status cq_pre_tokenizers_run(cq_words **out, cq_words words[2], const cq_pre_tokenizers *pre_tokenizers) {
  cq_words *from = &words[0], *to = &words[1];
  const size_t limit = cq_normal_limit(from->text.n);
  for (size_t i = 0; i < pre_tokenizers->n; i++) {
    const cq_pre_tokenizer *step = &pre_tokenizers->steps[i];
    to->n = 0;
    cq_builder_clear(&to->text);
    to->text.limit = limit;
    to->is_stopped = false;
    const bool fine = step->run(to, from, step);
    if (to->text.is_full || to->text.n > limit) return CQ_ERR_LIMIT;
    if (!fine) return to->is_stopped ? CQ_ERR_STOPPED : CQ_ERR_MEMORY;
    if (!step->rewrites) { /* the words still refer to from's text, so pass it on */
      cq_builder text = from->text;
      from->text = to->text;
      to->text = text;
    }
    cq_words *swap = from;
    from = to;
    to = swap;
  }
  *out = from;
  return CQ_OK;
}
