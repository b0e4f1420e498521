/* METEOR: words as numbers of words, stems and groups; alignments; counts; and a formula over them. */
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/options.h"
#include "base/u32_array.h"
#include "base/utf8.h"
#include "calque/analysis.h"
#include "calque/lab/mt.h"
#include "calque/lines.h"
#include "calque/version.h"
#include "lab/measures/meteor_align.h"
#include "lab/measures/mt_tokens.h"
#include "text/unicode.h"

#include <math.h>

#define NONE UINT32_MAX

/* A stem's membership in a set; a stem may have several. */
typedef struct membership {
  uint32_t set, next;
} membership;

typedef struct measurer {
  cq_meteor_options o;
  cq_mt_tokenizer tokenizer;
  cq_terms *terms; /* NULL: words are their own stems */
  cq_intern stems;
  cq_u32_array stem_of; /* by number of word */
  cq_u32_array sets_of,
      parent; /* by stem number: its first membership; its parent in the union-find forest of groups */
  membership *memberships;
  size_t n_memberships, memberships_capacity;
  cq_u32_array tokens;
  cq_builder text;
  cq_meteor_word *words[2]; /* of the hypothesis, of a reference */
  size_t words_capacity[2];
} measurer;

#define O cq_meteor_options
static const cq_option option_rows[] = {
    {CQ_CHOICE(O, "tokens", tokens, CHANGES, CQ_MT_13A, cq_mt_tokens_names, "RULES",
               "tokenization into words, by sacreBLEU's names")},
    {CQ_TEXT(O, "language", language, CHANGES, "CODE",
             "METEOR: match words with the same stem in this language, too: en, de, hi, ar ..."),
     .letter = 'l', .otherwise = "none"},
    {CQ_TEXT(O, "synonyms", synonyms, CHANGES, "FILE",
             "METEOR: match synonyms, too: one set of words per line, separated by tabs"),
     .otherwise = "none"},
    {CQ_NUMBER(O, "alpha", alpha, CHANGES, 0.9, 0, 1, "X", "METEOR: weight of recall against precision")},
    {CQ_NUMBER(O, "beta", beta, CHANGES, 3, 0, 1e6, "X", "METEOR: exponent of the fragmentation penalty")},
    {CQ_NUMBER(O, "gamma", gamma, CHANGES, 0.5, 0, 1, "X", "METEOR: maximum fragmentation penalty")},
};
#undef O

const cq_option_group cq_group_meteor = {.name = "meteor", CQ_ROWS(cq_meteor_options, option_rows)};

/* --- stems and sets --- */

/* A word's stem number: for the stems of the words that the analysis finds in it, or for the word itself if it finds
 * none (a comma). */
static cq_status stem_number(uint32_t *out, measurer *m, cq_slice word, cq_error *error) {
  const cq_slice *terms = NULL;
  size_t n = 0;
  cq_status status = m->terms ? cq_terms_of(&terms, &n, m->terms, word, error) : CQ_OK;
  if (status) return status;
  cq_builder_clear(&m->text);
  for (size_t i = 0; i < n; i++) {
    if (i) cq_builder_char(&m->text, ' ');
    cq_builder_bytes(&m->text, terms[i].data, terms[i].n);
  }
  const uint32_t none = NONE;
  *out = m->text.failed ? CQ_INTERN_NONE : cq_intern_put(&m->stems, n ? (cq_slice){m->text.data, m->text.n} : word);
  if (*out == CQ_INTERN_NONE || (*out == m->parent.n && (!cq_u32_array_append(&m->parent, out, 1) ||
                                                         !cq_u32_array_append(&m->sets_of, &none, 1))))
    return cq_fail_memory(error, "METEOR");
  return CQ_OK;
}

static uint32_t synonym_group_of(const measurer *m, uint32_t stem) {
  while (m->parent.items[stem] != stem) stem = m->parent.items[stem];
  return stem;
}

static bool are_synonyms(const void *context, uint32_t a, uint32_t b) {
  const measurer *m = context;
  for (uint32_t i = m->sets_of.items[a]; i != NONE; i = m->memberships[i].next)
    for (uint32_t j = m->sets_of.items[b]; j != NONE; j = m->memberships[j].next)
      if (m->memberships[i].set == m->memberships[j].set) return true;
  return false;
}

static cq_status add_synonym(measurer *m, cq_builder *lower, cq_slice word, uint32_t set, uint32_t *first,
                             cq_error *error) {
  uint32_t stem;
  cq_builder_clear(lower);
  cq_text_lower_in_context(lower, word);
  if (lower->failed) return cq_fail_memory(error, "synonyms");
  cq_status status = stem_number(&stem, m, (cq_slice){lower->data, lower->n}, error);
  if (status) return status;
  if (!cq_reserve((void **)&m->memberships, &m->memberships_capacity, m->n_memberships + 1, sizeof *m->memberships))
    return cq_fail_memory(error, "synonyms");
  m->memberships[m->n_memberships] = (membership){set, m->sets_of.items[stem]};
  m->sets_of.items[stem] = (uint32_t)m->n_memberships++;
  if (*first == NONE) *first = synonym_group_of(m, stem);
  m->parent.items[synonym_group_of(m, stem)] = *first;
  return CQ_OK;
}

static cq_status add_set(measurer *m, cq_builder *lower, cq_slice line, const cq_lines *lines, cq_error *error) {
  const char *path = cq_lines_path(lines);
  const uint64_t number = cq_lines_number(lines);
  uint32_t first = NONE;
  size_t n = 0;
  for (size_t at = 0; at <= line.n; n++) {
    const char *tab = line.n > at ? memchr(line.data + at, '\t', line.n - at) : NULL;
    const cq_slice word = {line.data + at, (tab ? (size_t)(tab - line.data) : line.n) - at};
    if (word.n == 0)
      return cq_fail_line(error, CQ_ERR_FORMAT, path, number, "column %zu is empty, expected a word", n + 1);
    for (size_t i = 0, length; i < word.n; i += length) {
      uint32_t c;
      length = cq_utf8_decode(&c, word.data + i, word.n - i);
      if (cq_mt_is_space(c))
        return cq_fail_line(error, CQ_ERR_FORMAT, path, number, "column %zu has a blank, expected a word", n + 1);
    }
    const cq_status status = add_synonym(m, lower, word, (uint32_t)number, &first, error);
    if (status) return status;
    at += word.n + 1;
  }
  if (n < 2) return cq_fail_line(error, CQ_ERR_FORMAT, path, number, "1 column, expected the words of a set");
  return CQ_OK;
}

static cq_status read_synonyms(measurer *m, cq_error *error) {
  cq_lines *lines;
  cq_slice line;
  cq_builder lower = {0};
  cq_status status = cq_lines_open(&lines, m->o.synonyms, error);
  if (status) return status;
  while ((status = cq_lines_next(&line, lines, error)) == CQ_OK && line.data) {
    if (line.n == 0 || *line.data == '#') continue;
    if ((status = add_set(m, &lower, line, lines, error)) != CQ_OK) break;
  }
  cq_builder_free(&lower);
  cq_lines_close(lines);
  return status;
}

/* --- sentences --- */

static cq_status words_of(measurer *m, int side, size_t *n, cq_slice text, size_t sentence, cq_error *error) {
  m->tokens.n = 0;
  *n = 0;
  if (!cq_mt_tokenize(&m->tokens, &m->tokenizer, text) ||
      !cq_reserve((void **)&m->words[side], &m->words_capacity[side], m->tokens.n, sizeof **m->words))
    return cq_fail_memory(error, "METEOR");
  if (m->tokens.n > CQ_METEOR_MAX_WORDS)
    return cq_fail(error, CQ_ERR_ARGUMENT, "METEOR: sentence %zu has %zu words, expected at most %d", sentence + 1,
                   m->tokens.n, CQ_METEOR_MAX_WORDS);
  while (m->stem_of.n < m->tokenizer.words.n) {
    uint32_t stem;
    cq_status status = stem_number(&stem, m, m->tokenizer.words.items[m->stem_of.n], error);
    if (status) return status;
    if (!cq_u32_array_append(&m->stem_of, &stem, 1)) return cq_fail_memory(error, "METEOR");
  }
  for (size_t i = 0; i < m->tokens.n; i++) {
    const uint32_t word = m->tokens.items[i], stem = m->stem_of.items[word];
    m->words[side][i] = (cq_meteor_word){word, stem, synonym_group_of(m, stem)};
  }
  *n = m->tokens.n;
  return CQ_OK;
}

/* Fills the figures of r from its counts. */
static void score_meteor(cq_meteor_result *r, const cq_meteor_options *o) {
  const double n = (double)(r->n_exact + r->n_stem + r->n_synonym);
  r->score = r->precision = r->recall = r->fragmentation_penalty = 0;
  if (n == 0) return;
  r->precision = n / (double)r->n_hypothesis_words;
  r->recall = n / (double)r->n_reference_words;
  r->fragmentation_penalty = o->gamma * pow((double)r->n_chunks / n, o->beta);
  r->score = 100 * (1 - r->fragmentation_penalty) * r->precision * r->recall /
             (o->alpha * r->precision + (1 - o->alpha) * r->recall);
}

/* out = the counts and the score of a sentence against its best reference. */
static cq_status measure_sentence(cq_meteor_result *out, measurer *m, const cq_mt_texts *texts, size_t i,
                                  cq_error *error) {
  size_t n_hypothesis, n_reference;
  cq_status status = words_of(m, 0, &n_hypothesis, texts->hypotheses[i], i, error);
  for (size_t r = 0; !status && r < texts->n_references; r++) {
    cq_meteor_alignment a;
    if ((status = words_of(m, 1, &n_reference, texts->references[r][i], i, error)) != CQ_OK) break;
    status = cq_meteor_align(&a, m->words[0], n_hypothesis, m->words[1], n_reference,
                             m->n_memberships ? are_synonyms : NULL, m, error);
    if (status) break;
    cq_meteor_result one = {.n_exact = a.n_exact,
                            .n_stem = a.n_stem,
                            .n_synonym = a.n_synonym,
                            .n_chunks = a.n_chunks,
                            .n_hypothesis_words = n_hypothesis,
                            .n_reference_words = n_reference,
                            .n_approximate = a.approximate};
    score_meteor(&one, &m->o);
    const size_t approximate = one.n_approximate | (r ? out->n_approximate : 0);
    if (r == 0 || one.score > out->score) *out = one;
    out->n_approximate = approximate;
  }
  return status;
}

/* --- the measure --- */

cq_status cq_meteor(cq_meteor_result *out, double *sentences, const cq_mt_texts *texts,
                    const cq_meteor_options *options, cq_error *error) {
  measurer m = {0};
  cq_meteor_result all = {0}, one = {0};
  double sum = 0;
  cq_status status = cq_options_take(&m.o, &cq_group_meteor, options, error);
  m.tokenizer.tokens = m.o.tokens, m.tokenizer.lowercase = true;
  if (!status) status = cq_mt_check(texts, "METEOR", error);
  if (!status && cq_has_stemmer(m.o.language))
    status = cq_terms_open(
        &m.terms, &(cq_analysis_options){.size = sizeof(cq_analysis_options), .language = m.o.language}, error);
  if (!status && m.o.synonyms) status = read_synonyms(&m, error);
  for (size_t i = 0; !status && i < texts->n; i++) {
    if ((status = measure_sentence(&one, &m, texts, i, error)) != CQ_OK) break;
    all.n_exact += one.n_exact, all.n_stem += one.n_stem, all.n_synonym += one.n_synonym;
    all.n_chunks += one.n_chunks, all.n_approximate += one.n_approximate;
    all.n_hypothesis_words += one.n_hypothesis_words, all.n_reference_words += one.n_reference_words;
    sum += one.score;
    if (sentences) sentences[i] = one.score;
  }
  if (!status) {
    score_meteor(&all, &m.o);
    all.mean = sum / (double)texts->n;
    *out = all;
  }
  cq_mt_tokenizer_free(&m.tokenizer);
  cq_terms_free(m.terms);
  cq_intern_free(&m.stems);
  cq_u32_array_free(&m.stem_of);
  cq_u32_array_free(&m.sets_of);
  cq_u32_array_free(&m.parent);
  cq_u32_array_free(&m.tokens);
  cq_free(m.memberships);
  cq_builder_free(&m.text);
  cq_free(m.words[0]);
  cq_free(m.words[1]);
  return status;
}

cq_status cq_meteor_signature(char out[CQ_MT_SIGNATURE], const cq_meteor_options *options, size_t n_references,
                              cq_error *error) {
  cq_meteor_options o;
  const cq_status status = cq_options_take(&o, &cq_group_meteor, options, error);
  if (status) return status;
  cq_snprintf(out, CQ_MT_SIGNATURE,
              "nrefs:%zu|case:lc|tok:%s|stem:%.15s|syn:%s|alpha:%g|beta:%g|gamma:%g|version:calque-" CQ_VERSION,
              n_references, cq_mt_tokens_names[o.tokens], cq_has_stemmer(o.language) ? o.language : "no",
              o.synonyms ? "yes" : "no", o.alpha, o.beta, o.gamma);
  return CQ_OK;
}
