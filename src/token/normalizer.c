/* The normalizers of tokenizer.json: one function and one table row each. A Sequence is flattened. */
#include "token/normalizer.h"

#include "base/base64.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/regex.h"
#include "text/unicode.h"
#include "token/charsmap.h"

/* --- running --- */

static bool run_form(cq_builder *out, const cq_normalizer *step, cq_slice text) {
  cq_text_normal_form(out, text, (cq_normal_form)step->form);
  return !out->failed;
}

static bool run_lowercase(cq_builder *out, const cq_normalizer *step, cq_slice text) {
  (void)step;
  cq_text_lower(out, text);
  return !out->failed;
}

static bool run_strip_accents(cq_builder *out, const cq_normalizer *step, cq_slice text) {
  (void)step;
  cq_text_strip_marks(out, text);
  return !out->failed;
}

static cq_bert_rules bert_rules(const cq_normalizer *step) {
  return (cq_bert_rules){step->flags[0], step->flags[1], step->flags[2], step->flags[3]};
}

static bool run_bert_normalizer(cq_builder *out, const cq_normalizer *step, cq_slice text) {
  const cq_bert_rules rules = bert_rules(step);
  cq_text_bert_clean(out, text, &rules);
  return !out->failed;
}

static bool run_bert_strip(cq_builder *out, const cq_normalizer *step, cq_slice text) {
  const cq_bert_rules rules = bert_rules(step);
  cq_text_bert_strip(out, text, &rules);
  return !out->failed;
}

/* flags: left, right */
static bool run_strip(cq_builder *out, const cq_normalizer *step, cq_slice text) {
  size_t start = 0, end = 0; /* end: after the last character that is not white space */
  bool seen = false;
  for (size_t i = 0; i < text.n;) {
    uint32_t c;
    size_t n = cq_utf8_decode(&c, text.data + i, text.n - i);
    if (!cq_char_is_whitespace(c)) {
      if (!seen) start = i;
      seen = true;
      end = i + n;
    }
    i += n;
  }
  if (!seen) start = step->flags[0] ? text.n : 0, end = step->flags[1] ? start : text.n;
  if (!step->flags[0]) start = 0;
  if (!step->flags[1]) end = text.n;
  cq_builder_bytes(out, text.data + start, end - start);
  return !out->failed;
}

static bool run_replace(cq_builder *out, const cq_normalizer *step, cq_slice text) {
  size_t kept = 0;
  for (size_t i = 0; i + step->from.n <= text.n;) {
    if (memcmp(text.data + i, step->from.data, step->from.n) != 0) {
      i++;
      continue;
    }
    cq_builder_bytes(out, text.data + kept, i - kept);
    cq_builder_bytes(out, step->to.data, step->to.n);
    i += step->from.n;
    kept = i;
  }
  cq_builder_bytes(out, text.data + kept, text.n - kept);
  return !out->failed;
}

/* Each character of a class. */
static bool run_replace_class(cq_builder *out, const cq_normalizer *step, cq_slice text) {
  size_t kept = 0;
  for (size_t i = 0, n; i < text.n; i += n) {
    uint32_t c;
    bool in = false;
    n = cq_utf8_decode(&c, text.data + i, text.n - i);
    for (size_t k = 0; !in && k < step->n_ranges; k++) in = c >= step->ranges[k][0] && c <= step->ranges[k][1];
    if (!in) continue;
    cq_builder_bytes(out, text.data + kept, i - kept);
    cq_builder_bytes(out, step->to.data, step->to.n);
    kept = i + n;
  }
  cq_builder_bytes(out, text.data + kept, text.n - kept);
  return !out->failed;
}

/* A run of one character, or of white space (from is empty), of at least min_chars. */
static bool run_replace_runs(cq_builder *out, const cq_normalizer *step, cq_slice text) {
  for (size_t i = 0; i < text.n;) {
    size_t end = i;
    int n_chars = 0;
    while (end < text.n) {
      uint32_t c;
      size_t n = cq_utf8_decode(&c, text.data + end, text.n - end);
      bool same = step->from.n == 0 ? cq_char_is_whitespace(c)
                                    : n == step->from.n && memcmp(text.data + end, step->from.data, n) == 0;
      if (!same) break;
      end += n;
      if (n_chars < step->min_chars) n_chars++;
    }
    if (end > i && n_chars >= step->min_chars) {
      cq_builder_bytes(out, step->to.data, step->to.n);
    } else {
      if (end == i) {
        uint32_t c;
        end += cq_utf8_decode(&c, text.data + i, text.n - i);
      }
      cq_builder_bytes(out, text.data + i, end - i);
    }
    i = end;
  }
  return !out->failed;
}

typedef struct replacing {
  cq_builder *out;
  const cq_normalizer *step;
  cq_slice text;
  size_t done; /* where the last match ended */
} replacing;

static bool put_replacement(void *context, size_t start, size_t end) {
  replacing *r = context;
  cq_builder_bytes(r->out, r->text.data + r->done, start - r->done);
  cq_builder_bytes(r->out, r->step->to.data, r->step->to.n);
  r->done = end;
  return !r->out->failed;
}

static bool run_replace_regex(cq_builder *out, const cq_normalizer *step, cq_slice text) {
  replacing r = {out, step, text, 0};
  const cq_status status = cq_regex_each(step->regex, text, put_replacement, &r);
  if (status == CQ_ERR_MEMORY) out->failed = true;
  cq_builder_bytes(out, text.data + r.done, text.n - r.done);
  return !status && !out->failed;
}

static bool run_prepend(cq_builder *out, const cq_normalizer *step, cq_slice text) {
  if (text.n) cq_builder_bytes(out, step->to.data, step->to.n);
  cq_builder_bytes(out, text.data, text.n);
  return !out->failed;
}

static bool run_nmt(cq_builder *out, const cq_normalizer *step, cq_slice text) {
  (void)step;
  for (size_t i = 0; i < text.n;) {
    uint32_t c;
    i += cq_utf8_decode(&c, text.data + i, text.n - i);
    if ((c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F) continue;
    bool blank = c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
                 c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
    cq_builder_code(out, blank ? ' ' : c);
  }
  return !out->failed;
}

static bool run_precompiled(cq_builder *out, const cq_normalizer *step, cq_slice text) {
  cq_charsmap_run(out, step->charsmap, text);
  return !out->failed;
}

/* --- parsing --- */

static cq_status parse_bert(cq_normalizer *step, const cq_step_parser *p) {
  bool *f = step->flags;
  f[0] = f[1] = f[3] = true;
  cq_status status = cq_step_bool(&f[0], p, "clean_text");
  if (!status) status = cq_step_bool(&f[1], p, "handle_chinese_chars");
  if (!status) status = cq_step_bool(&f[3], p, "lowercase");
  f[2] = f[3]; /* strip_accents null follows lowercase */
  if (!status) status = cq_step_bool(&f[2], p, "strip_accents");
  return status;
}

static cq_status parse_strip(cq_normalizer *step, const cq_step_parser *p) {
  step->flags[0] = step->flags[1] = true;
  cq_status status = cq_step_bool(&step->flags[0], p, "strip_left");
  return status ? status : cq_step_bool(&step->flags[1], p, "strip_right");
}

/* [ac-f]: characters and ranges of them, none of which means something else there. False: it is no such class. */
static bool parse_class(cq_normalizer *step, const cq_step_parser *p, const char *regex) {
  const size_t n = strlen(regex);
  if (n < 3 || regex[0] != '[' || regex[n - 1] != ']' || strcspn(regex + 1, "[]\\^&") != n - 2) return false;
  step->ranges = cq_arena_array(p->arena, n, sizeof *step->ranges);
  for (const char *at = regex + 1, *end = regex + n - 1; step->ranges && at < end;) {
    uint32_t *range = step->ranges[step->n_ranges++];
    at += cq_utf8_decode(&range[0], at, (size_t)(end - at));
    range[1] = range[0];
    if (*at == '-' && at + 1 < end) at += 1 + cq_utf8_decode(&range[1], at + 1, (size_t)(end - at - 1));
  }
  step->run = run_replace_class;
  return step->ranges != NULL;
}

/* Those that most files have run faster than others: one character or \s, followed by + or {n,}; a class. */
static cq_status parse_runs(cq_normalizer *step, const cq_step_parser *p, const char *regex) {
  const char *rest = regex;
  cq_status status = CQ_OK;
  if (parse_class(step, p, regex)) return CQ_OK;
  step->from = (cq_slice){"", 0};
  if (!strncmp(rest, "\\s", 2)) {
    rest += 2;
  } else if (*rest && !strchr("\\^$.|?*+()[]{}", *rest)) {
    uint32_t c;
    size_t n = cq_utf8_decode(&c, rest, strlen(rest));
    status = cq_step_text(&step->from, p, rest, n);
    if (status) return status;
    rest += n;
  }
  int min_chars = 0, length = 0;
  if (rest > regex && !strcmp(rest, "+"))
    min_chars = 1;
  else if (rest > regex && sscanf(rest, "{%4d,}%n", &min_chars, &length) == 1 && (length == 0 || rest[length]))
    min_chars = 0;
  if (min_chars < 1) {
    cq_error why = {0};
    status = cq_regex_open(&step->regex, cq_slice_of(regex), &why);
    step->run = run_replace_regex;
    if (status == CQ_ERR_MEMORY) return cq_fail_memory(p->error, p->place->where);
    return !status ? CQ_OK
                   : cq_fail_file(p->error, CQ_ERR_UNSUPPORTED, p->place->path,
                                  "%s: Replace with the regular expression '%s' is not supported: %s", p->place->where,
                                  regex, why.message);
  }
  step->min_chars = min_chars;
  step->run = run_replace_runs;
  return CQ_OK;
}

static cq_status parse_replace(cq_normalizer *step, const cq_step_parser *p) {
  const json_t *pattern = json_object_get(p->json, "pattern");
  const json_t *content = json_object_get(p->json, "content");
  const json_t *plain = json_object_get(pattern, "String"), *regex = json_object_get(pattern, "Regex");
  if (!json_is_string(content) || (!json_is_string(plain) && !json_is_string(regex)))
    return cq_fail_file(p->error, CQ_ERR_FORMAT, p->place->path,
                        "%s: Replace needs a pattern (String or Regex) and a content", p->place->where);
  cq_status status = cq_step_text(&step->to, p, json_string_value(content), json_string_length(content));
  if (status) return status;
  if (!plain) return parse_runs(step, p, json_string_value(regex));
  if (json_string_length(plain) == 0)
    return cq_fail_file(p->error, CQ_ERR_FORMAT, p->place->path, "%s: Replace of an empty string", p->place->where);
  return cq_step_text(&step->from, p, json_string_value(plain), json_string_length(plain));
}

static cq_status parse_prepend(cq_normalizer *step, const cq_step_parser *p) {
  const json_t *text = json_object_get(p->json, "prepend");
  if (!json_is_string(text))
    return cq_fail_file(p->error, CQ_ERR_FORMAT, p->place->path, "%s: Prepend needs a string 'prepend'",
                        p->place->where);
  return cq_step_text(&step->to, p, json_string_value(text), json_string_length(text));
}

static cq_status parse_precompiled(cq_normalizer *step, const cq_step_parser *p) {
  const json_t *text = json_object_get(p->json, "precompiled_charsmap");
  cq_builder bytes = {0};
  cq_status status = CQ_OK;
  if (json_is_null(text) || (json_is_string(text) && json_string_length(text) == 0)) {
    step->run = NULL; /* no rules: nothing to do */
  } else if (!json_is_string(text) ||
             !cq_base64_decode(&bytes, (cq_slice){json_string_value(text), json_string_length(text)})) {
    status = cq_fail_file(p->error, CQ_ERR_FORMAT, p->place->path, "%s: precompiled_charsmap is not base64",
                          p->place->where);
  } else if (bytes.failed) {
    status = cq_fail_memory(p->error, "normalization rules");
  } else {
    status = cq_charsmap_open(&step->charsmap, (cq_slice){bytes.data, bytes.n}, p->place->path, p->error);
  }
  cq_builder_free(&bytes);
  return status;
}

static const struct {
  const char *name;
  bool (*run)(cq_builder *out, const cq_normalizer *step, cq_slice text);
  cq_status (*parse)(cq_normalizer *step, const cq_step_parser *p); /* NULL: nothing to parse */
  int form;
} kinds[] = {
    {"NFC", run_form, NULL, CQ_NFC},
    {"NFD", run_form, NULL, CQ_NFD},
    {"NFKC", run_form, NULL, CQ_NFKC},
    {"NFKD", run_form, NULL, CQ_NFKD},
    {"Lowercase", run_lowercase, NULL, 0},
    {"StripAccents", run_strip_accents, NULL, 0},
    {"Strip", run_strip, parse_strip, 0},
    {"Replace", run_replace, parse_replace, 0},
    {"Prepend", run_prepend, parse_prepend, 0},
    {"BertNormalizer", run_bert_normalizer, parse_bert, 0},
    {"Precompiled", run_precompiled, parse_precompiled, 0},
    {"Nmt", run_nmt, NULL, 0},
};

static cq_status parse_normalizer(void *context, const char *type, const cq_step_parser *p) {
  cq_normalizers *out = context;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    if (strcmp(type, kinds[k].name) != 0) continue;
    cq_normalizer step = {.run = kinds[k].run, .form = kinds[k].form};
    cq_status status = kinds[k].parse ? kinds[k].parse(&step, p) : CQ_OK;
    if (status || !step.run) return status;
    if (out->n >= CQ_MAX_STEPS)
      status = cq_fail_file(p->error, CQ_ERR_UNSUPPORTED, p->place->path, "%s: more than %d steps", p->place->where,
                            CQ_MAX_STEPS);
    else if (!cq_reserve((void **)&out->steps, &out->capacity, out->n + 3, sizeof *out->steps))
      status = cq_fail_memory(p->error, "normalizers");
    if (status) {
      cq_charsmap_free(step.charsmap);
      cq_regex_free(step.regex);
      return status;
    }
    out->steps[out->n++] = step;
    if (step.run == run_bert_normalizer && bert_rules(&step).strip_accents) {
      out->steps[out->n++] = (cq_normalizer){.run = run_form, .form = CQ_NFD};
      step.run = run_bert_strip;
      out->steps[out->n++] = step;
    }
    return CQ_OK;
  }
  return cq_fail_file(p->error, CQ_ERR_UNSUPPORTED, p->place->path, "%s: '%s' is not supported", p->place->where, type);
}

cq_status cq_normalizers_parse(cq_normalizers *out, cq_arena *arena, const json_t *json, const cq_place *place,
                               cq_error *error) {
  const cq_step_parser p = {arena, json, place, error, 0};
  return cq_steps_parse(out, &p, "normalizers", parse_normalizer);
}

void cq_normalizers_free(cq_normalizers *normalizers) {
  for (size_t i = 0; i < normalizers->n; i++) {
    cq_charsmap_free(normalizers->steps[i].charsmap);
    cq_regex_free(normalizers->steps[i].regex);
  }
  cq_free(normalizers->steps);
  *normalizers = (cq_normalizers){0};
}

bool cq_normalizer_lowers(const cq_normalizer *step) {
  if (step->charsmap) return cq_charsmap_lowers(step->charsmap);
  return step->run == run_lowercase || (step->run == run_bert_normalizer && step->flags[3]);
}

bool cq_normalizer_has_form(const cq_normalizer *step) {
  return step->run == run_form;
}

cq_status cq_normalizers_run(cq_builder *out, cq_builder other[2], const cq_normalizers *normalizers, cq_slice text) {
  const size_t limit = cq_normal_limit(text.n);
  if (normalizers->n == 0) {
    cq_builder_bytes(out, text.data, text.n);
    return out->failed ? CQ_ERR_MEMORY : CQ_OK;
  }
  for (size_t i = 0; i < normalizers->n; i++) {
    cq_builder *target = i + 1 == normalizers->n ? out : &other[i % 2];
    if (target != out) cq_builder_clear(target);
    target->limit = limit;
    const bool fine = normalizers->steps[i].run(target, &normalizers->steps[i], text);
    if (target->is_full || target->n > limit)
      return CQ_ERR_LIMIT; /* may exceed it: some steps append without checking */
    if (!fine) return target->failed ? CQ_ERR_MEMORY : CQ_ERR_STOPPED;
    text = (cq_slice){target->data ? target->data : "", target->n};
  }
  return CQ_OK;
}

/* --- the one of our own models --- */

/* Soft hyphen, grapheme joiner, marks and embeddings of direction, word joiner and invisible operators, variation
 * selectors, byte order mark, annotations. Joiners (U+200C, U+200D), which spell words, stay. */
static const char invisible[] =
    "[\u00AD\u034F\u061C\u180E\u200E\u200F\u202A-\u202E\u2060-\u2064\u2066-\u206F\uFE00-\uFE0F"
    "\uFEFF\uFFF9-\uFFFB]";

json_t *cq_replace_json(const char *kind, const char *pattern, const char *content) {
  return json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern", kind, pattern, "content", content);
}

json_t *cq_typed_text_normalizer(const json_t *old, bool fold_case) {
  json_t *steps = json_array();
  cq_json_push(&steps, cq_replace_json("Regex", invisible, ""));
  cq_json_push(&steps, json_pack("{s:s}", "type", "NFC"));
  if (json_is_object(old)) cq_json_push(&steps, cq_json_copy(old));
  if (fold_case) {
    cq_json_push(&steps, json_pack("{s:s}", "type", "Lowercase"));
    cq_json_push(&steps, cq_replace_json("String", "\u03C2", "\u03C3"));
  }
  return json_pack("{s:s, s:o}", "type", "Sequence", "normalizers", steps);
}

bool cq_is_typed_text_normalizer(const json_t *json) {
  const json_t *first = json_array_get(json_object_get(json, "normalizers"), 0);
  const char *regex = json_string_value(json_object_get(json_object_get(first, "pattern"), "Regex"));
  return regex && !strcmp(regex, invisible);
}

void cq_fold_typed(cq_builder *out, cq_slice text) {
  cq_builder lower = {0};
  const cq_normalizer final_sigma = {.from = {"\u03C2", 2}, .to = {"\u03C3", 2}};
  cq_text_lower(&lower, text);
  if (lower.failed || !run_replace(out, &final_sigma, (cq_slice){lower.data, lower.n})) out->failed = true;
  cq_builder_free(&lower);
}
