/* chrF: precision and recall of character and word n-grams, averaged over the orders, and their F score. */
#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/utf8.h"
#include "calque/lab/mt.h"
#include "calque/version.h"
#include "lab/measures/mt_tokens.h"
#include "lab/measures/ngram_counts.h"
#include "text/unicode.h"

#include <stdio.h>

enum { MAX_ORDER = 16 };

typedef struct counts {
  size_t hypothesis, reference, matches;
} counts;

typedef struct measurer {
  cq_chrf_options o;
  size_t n_orders;        /* of characters, then of words */
  cq_ngrams chars, words; /* the hypothesis, then the references */
  cq_intern known;        /* words */
  cq_builder text;        /* in lower case */
  counts *of_references;  /* [n_references, n_orders] of one sentence */
} measurer;

#define O cq_chrf_options
static const cq_option option_rows[] = {
    {CQ_INT(O, "char-order", char_order, CHANGES, 6, 1, MAX_ORDER, "N", "n-grams of up to this many characters")},
    {CQ_INT(O, "word-order", word_order, CHANGES, 0, 0, MAX_ORDER, "N", "and of up to this many words; 2: chrF++")},
    {CQ_NUMBER(O, "beta", beta, CHANGES, 2, 0, 1e6, "X", "recall weighs beta squared times as much as precision"),
     .flags = CQ_OPTION_ABOVE_MIN | CQ_OPTION_BELOW_MAX},
    {CQ_FLAG(O, "lowercase", lowercase, CHANGES, "compare in lower case")},
    {CQ_FLAG(O, "whitespace", whitespace, CHANGES, "blanks are characters, too")},
};
#undef O

const cq_option_group cq_group_chrf = {.name = "chrf", CQ_ROWS(cq_chrf_options, option_rows)};

static double score_chrf(const counts *c, size_t n_orders, double beta) {
  const double factor = beta * beta;
  double precision = 0, recall = 0;
  size_t n = 0;
  for (size_t i = 0; i < n_orders; i++) {
    if (!c[i].hypothesis || !c[i].reference) continue;
    precision += (double)c[i].matches / (double)c[i].hypothesis;
    recall += (double)c[i].matches / (double)c[i].reference;
    n++;
  }
  if (!(precision + recall > 0)) return 0;
  precision /= (double)n, recall /= (double)n;
  return 100 * (1 + factor) * precision * recall / (factor * precision + recall);
}

static bool is_ascii_sign(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

static bool add_chrf_word(measurer *m, cq_slice word) {
  const uint32_t id = cq_intern_put(&m->known, word);
  return id != CQ_INTERN_NONE && cq_u32_array_append(&m->words.units, &id, 1);
}

/* Splits a word into two if its last character, or otherwise its first, is a punctuation mark. */
static bool add_chrf_words(measurer *m, cq_slice word) {
  if (word.n == 0 || m->o.word_order == 0) return true;
  const bool single = cq_utf8_length(word.data, word.n) == 1;
  size_t first = word.n;
  if (!single && is_ascii_sign(word.data[word.n - 1]))
    first = word.n - 1;
  else if (!single && is_ascii_sign(word.data[0]))
    first = 1;
  return add_chrf_word(m, (cq_slice){word.data, first}) &&
         (first == word.n || add_chrf_word(m, (cq_slice){word.data + first, word.n - first}));
}

static bool add_chrf_text(measurer *m, cq_slice text) {
  bool ok = true;
  if (m->o.lowercase) {
    cq_builder_clear(&m->text);
    cq_text_lower_in_context(&m->text, text);
    if (m->text.failed) return false;
    text = (cq_slice){m->text.data, m->text.n};
  }
  size_t word = 0;
  for (size_t i = 0, n; ok && i < text.n; i += n) {
    uint32_t c;
    n = cq_utf8_decode(&c, text.data + i, text.n - i);
    const bool space = cq_mt_is_space(c);
    if (!space || m->o.whitespace) ok = cq_u32_array_append(&m->chars.units, &c, 1);
    if (space && ok) ok = add_chrf_words(m, (cq_slice){text.data + word, i - word});
    if (space) word = i + n;
  }
  return ok && add_chrf_words(m, (cq_slice){text.data + word, text.n - word}) && cq_ngrams_end_text(&m->chars) &&
         cq_ngrams_end_text(&m->words);
}

static bool count_orders(measurer *m, cq_ngrams *g, size_t first, size_t n) {
  for (size_t i = first; i < first + n; i++) {
    if (!cq_ngrams_next(g)) return false;
    for (size_t r = 0; r + 1 < g->n_texts; r++) {
      const size_t reference = cq_ngrams_total(g, r + 1);
      m->of_references[r * m->n_orders + i] =
          (counts){reference ? cq_ngrams_total(g, 0) : 0, reference, cq_ngrams_matches(g, 0, r + 1)};
    }
  }
  return true;
}

/* The counts of one sentence against the reference with the best score. */
static const counts *count_chrf(double *best_score, measurer *m, const cq_mt_texts *texts, size_t i) {
  const counts *best = NULL;
  cq_ngrams_clear(&m->chars);
  cq_ngrams_clear(&m->words);
  bool ok = add_chrf_text(m, texts->hypotheses[i]);
  for (size_t r = 0; ok && r < texts->n_references; r++) ok = add_chrf_text(m, texts->references[r][i]);
  if (!ok || !count_orders(m, &m->chars, 0, (size_t)m->o.char_order) ||
      !count_orders(m, &m->words, (size_t)m->o.char_order, (size_t)m->o.word_order))
    return NULL;
  for (size_t r = 0; r < texts->n_references; r++) {
    const counts *c = m->of_references + r * m->n_orders;
    const double s = score_chrf(c, m->n_orders, m->o.beta);
    if (!best || s > *best_score) best = c, *best_score = s;
  }
  return best;
}

cq_status cq_chrf(double *out, double *sentences, const cq_mt_texts *texts, const cq_chrf_options *options,
                  cq_error *error) {
  measurer m = {0};
  counts all[2 * MAX_ORDER] = {0};
  cq_status status = cq_options_take(&m.o, &cq_group_chrf, options, error);
  if (!status) status = cq_mt_check(texts, "chrF", error);
  if (status) return status;
  m.n_orders = (size_t)m.o.char_order + (size_t)m.o.word_order;
  m.of_references = cq_alloc_array(texts->n_references, m.n_orders * sizeof *m.of_references);
  if (!m.of_references) return cq_fail_memory(error, "chrF");
  for (size_t i = 0; i < texts->n; i++) {
    double sentence = 0;
    const counts *one = count_chrf(&sentence, &m, texts, i);
    if (!one) {
      status = cq_fail_memory(error, "chrF");
      break;
    }
    for (size_t n = 0; n < m.n_orders; n++) {
      all[n].hypothesis += one[n].hypothesis, all[n].reference += one[n].reference;
      all[n].matches += one[n].matches;
    }
    if (sentences) sentences[i] = sentence;
  }
  if (!status) *out = score_chrf(all, m.n_orders, m.o.beta);
  cq_ngrams_free(&m.chars);
  cq_ngrams_free(&m.words);
  cq_intern_free(&m.known);
  cq_builder_free(&m.text);
  cq_free(m.of_references);
  return status;
}

cq_status cq_chrf_signature(char out[CQ_MT_SIGNATURE], const cq_chrf_options *options, size_t n_references,
                            cq_error *error) {
  cq_chrf_options o;
  const cq_status status = cq_options_take(&o, &cq_group_chrf, options, error);
  if (status) return status;
  snprintf(out, CQ_MT_SIGNATURE, "nrefs:%zu|case:%s|eff:yes|nc:%d|nw:%d|space:%s|version:calque-" CQ_VERSION,
           n_references, o.lowercase ? "lc" : "mixed", o.char_order, o.word_order, o.whitespace ? "yes" : "no");
  return CQ_OK;
}
