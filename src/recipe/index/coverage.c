/* How well a model's vocabulary covers text.
 *
 *   text ──▶ its script, its language ──▶ a group's counts: letters of the script │ pieces that have some
 *
 * Marks, digits and punctuation do not count, so that vowel signs and code leave the figure as it is. Letters are
 * counted in composed text, since Hangul that is decomposed has two or three for a syllable. */
#include "recipe/index/coverage.h"

#include "base/error.h"
#include "base/memory.h"
#include "calque/language.h"
#include "model/encoder.h"
#include "text/script.h"
#include "text/unicode.h"

#include <stdlib.h>

enum { ENOUGH_LETTERS = 60, SHOWN_LANGUAGES = 6 };
/* A vocabulary that knows nothing but a script's characters has a piece for each letter. On the news of NTREX in 78
 * languages, the vocabularies of XLM-R and calque-base have 0.21 to 0.67, and 0.60 to 0.80 where a letter is a syllable
 * or a word; bert-base-uncased, which is English, has 0.73 to 1 in the other alphabets that it has letters of, and 1.8
 * in Korean. */
static const double MAX_UNKNOWN = 0.1, MAX_PER_LETTER = 0.75, MAX_PER_SYLLABLE = 1.2;

static cq_coverage_group *group_of(cq_coverage *c, int script, const char *language) {
  for (size_t i = 0; i < c->n; i++)
    if (c->groups[i].script == script && !strcmp(c->groups[i].language, language)) return &c->groups[i];
  if (!cq_reserve((void **)&c->groups, &c->capacity, c->n + 1, sizeof *c->groups)) return NULL;
  cq_coverage_group *g = &c->groups[c->n++];
  *g = (cq_coverage_group){.script = script};
  cq_slice_copy(g->language, sizeof g->language, cq_slice_of(language));
  return g;
}

/* The document's language if the text can be in it. */
static cq_coverage_group *group_of_text(cq_coverage *c, cq_slice language, cq_slice text, int script) {
  char code[16] = "";
  cq_scripts scripts;
  cq_slice_copy(code, sizeof code, language);
  const bool is_known = *code && cq_scripts_of_language(&scripts, code);
  const bool is_other = is_known ? !cq_scripts_have(&scripts, script) : !*code;
  return group_of(c, script, is_other ? cq_language_identify(text).code : code);
}

static uint64_t count_letters(cq_slice text, int script) {
  uint64_t n = 0;
  for (uint32_t c; cq_utf8_next(&c, &text);) n += cq_char_is_letter(c) && cq_char_script(c) == script;
  return n;
}

static bool has_letter(cq_slice text, int script) {
  for (uint32_t c; cq_utf8_next(&c, &text);)
    if (cq_char_is_letter(c) && cq_char_script(c) == script) return true;
  return false;
}

static void count_pieces(cq_coverage_group *g, const cq_tokenizer *t, const int32_t *ids, size_t n) {
  const int32_t unknown = cq_tokenizer_describe(t)->unk_id;
  for (size_t i = 0; i < n; i++) {
    cq_slice text;
    cq_piece_kind kind;
    if (!cq_tokenizer_piece(&text, &kind, t, ids[i])) continue;
    const bool is_unknown = ids[i] == unknown, is_byte = kind == CQ_PIECE_OTHER;
    g->n_unknown += is_unknown, g->n_bytes += is_byte;
    g->n_pieces += is_unknown || is_byte || (kind != CQ_PIECE_SPECIAL && has_letter(text, g->script));
  }
}

cq_status cq_coverage_add(cq_coverage *c, const cq_encoder *encoder, cq_slice language, cq_slice text, cq_context *ctx,
                          cq_error *error) {
  static const cq_encode_options no_prompt = {.size = sizeof no_prompt, .prompt = ""};
  const int script = cq_script_of(text);
  cq_builder composed = {0};
  c->ids.n = 0;
  cq_status status = cq_encoder_token_ids(&c->ids, NULL, encoder, text, CQ_LONG_WINDOWS, &no_prompt, ctx, error);
  if (status || script == CQ_SCRIPT_NONE) return status;
  cq_text_normal_form(&composed, text, CQ_NFC);
  cq_coverage_group *g = composed.failed ? NULL : group_of_text(c, language, text, script);
  if (!g) {
    status = cq_fail_memory(error, "vocabulary's coverage");
  } else {
    g->n_texts++, g->n_letters += count_letters(cq_built(&composed), script);
    count_pieces(g, cq_encoder_text_module(encoder)->tokenizer, c->ids.ids, c->ids.starts[c->ids.n]);
  }
  cq_builder_free(&composed);
  return status;
}

static double share(uint64_t n, uint64_t of) {
  return of ? (double)n / (double)of : 0;
}

double cq_coverage_unknown(const cq_coverage_group *g) {
  return share(g->n_unknown, g->n_pieces);
}

double cq_coverage_bytes(const cq_coverage_group *g) {
  return share(g->n_bytes, g->n_pieces);
}

double cq_coverage_per_letter(const cq_coverage_group *g) {
  return share(g->n_pieces, g->n_letters);
}

/* Whether a letter is a syllable or a word. */
static bool is_syllabic(int script) {
  static const char *const names[] = {"Han", "Hangul", "Ethiopic", "Cherokee", "Yi", "Vai"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(cq_script_name(script), names[i])) return true;
  return false;
}

bool cq_coverage_is_enough(const cq_coverage_group *g) {
  if (g->n_letters < ENOUGH_LETTERS) return true;
  return cq_coverage_unknown(g) + cq_coverage_bytes(g) <= MAX_UNKNOWN &&
         cq_coverage_per_letter(g) <= (is_syllabic(g->script) ? MAX_PER_SYLLABLE : MAX_PER_LETTER);
}

static int by_script(const void *a, const void *b) {
  const cq_coverage_group *x = a, *y = b;
  if (x->script != y->script) return x->script < y->script ? -1 : 1;
  if (x->n_texts != y->n_texts) return x->n_texts > y->n_texts ? -1 : 1;
  return strcmp(x->language, y->language);
}

void cq_coverage_sort(cq_coverage *c) {
  if (c->n) qsort(c->groups, c->n, sizeof *c->groups, by_script);
}

bool cq_coverage_next(cq_builder *out, size_t *at, const cq_coverage *c) {
  cq_coverage_group all = {0};
  size_t n_languages = 0;
  while (*at < c->n && cq_coverage_is_enough(&c->groups[*at])) ++*at;
  if (*at == c->n) return false;
  all.script = c->groups[*at].script;
  cq_builder_printf(out, "%s (", cq_script_name(all.script));
  for (; *at < c->n && c->groups[*at].script == all.script; ++*at) {
    const cq_coverage_group *g = &c->groups[*at];
    if (cq_coverage_is_enough(g)) continue;
    all.n_letters += g->n_letters, all.n_pieces += g->n_pieces, all.n_unknown += g->n_unknown,
        all.n_bytes += g->n_bytes;
    if (n_languages++ < SHOWN_LANGUAGES) cq_builder_printf(out, "%s%s", n_languages > 1 ? ", " : "", g->language);
  }
  if (n_languages > SHOWN_LANGUAGES) cq_builder_printf(out, ", %zu more", n_languages - SHOWN_LANGUAGES);
  const double missing = cq_coverage_unknown(&all) + cq_coverage_bytes(&all);
  if (missing > MAX_UNKNOWN)
    cq_builder_printf(out, "): %.0f %% of the pieces are %s", 100 * missing,
                      all.n_unknown > all.n_bytes ? "unknown" : "bytes");
  else
    cq_builder_printf(out, "): %.1f pieces per letter", cq_coverage_per_letter(&all));
  return true;
}

void cq_coverage_free(cq_coverage *c) {
  cq_free(c->groups);
  cq_token_ids_free(&c->ids);
  *c = (cq_coverage){0};
}
