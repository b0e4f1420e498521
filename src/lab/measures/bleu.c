/* BLEU: n-gram counts per sentence, their sums, and one formula for both. */
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/options.h"
#include "calque/lab/mt.h"
#include "calque/version.h"
#include "lab/measures/mt_tokens.h"
#include "lab/measures/ngram_counts.h"

#include <math.h>
#include <stdio.h>

static const char *const smoothings[] = {"exp", "floor", "add-k", "none", NULL}; /* cq_bleu_smoothing */

#define O cq_bleu_options
static const cq_option option_rows[] = {
    {CQ_CHOICE(O, "tokens", tokens, CHANGES, CQ_MT_13A, cq_mt_tokens_names, "RULES",
               "tokenization into words, by sacreBLEU's names")},
    {CQ_FLAG(O, "lowercase", lowercase, CHANGES, "compare in lower case, as METEOR always does")},
    {CQ_CHOICE(O, "smooth", smoothing, CHANGES, CQ_BLEU_EXP, smoothings, "METHOD",
               "BLEU: smoothing of n-gram orders without a match")},
    {CQ_NUMBER(O, "smooth-value", smooth_value, CHANGES, -1, -1, 1e6, "X", "BLEU: value that floor or add-k uses"),
     .otherwise = "0.1 for floor, 1 for add-k"},
    {CQ_FLAG(O, "effective-order", effective_order, CHANGES,
             "BLEU: only the orders of which the hypotheses have n-grams, as for single sentences")},
};
#undef O

const cq_option_group cq_group_bleu = {.name = "bleu", CQ_ROWS(cq_bleu_options, option_rows)};

static double smooth_value(const cq_bleu_options *o) {
  if (o->smooth_value >= 0) return o->smooth_value;
  return o->smoothing == CQ_BLEU_FLOOR ? 0.1 : 1;
}

/* Fills the figures of r from its counts. */
static void score_bleu(cq_bleu_result *r, const cq_bleu_options *o, bool effective_order) {
  const double hypothesis = (double)r->n_hypothesis_words, reference = (double)r->n_reference_words;
  size_t n_correct = 0, n_orders = CQ_BLEU_ORDER;
  double unmatched = 1, sum = 0;
  r->score = 0;
  r->brevity_penalty = hypothesis >= reference ? 1 : hypothesis > 0 ? exp(1 - reference / hypothesis) : 0;
  for (size_t n = 0; n < CQ_BLEU_ORDER; n++) n_correct += r->n_correct[n], r->precisions[n] = 0;
  if (n_correct == 0) return;
  for (size_t n = 0; n < CQ_BLEU_ORDER; n++) {
    const double added = o->smoothing == CQ_BLEU_ADD_K && n > 0 ? smooth_value(o) : 0;
    double correct = (double)r->n_correct[n] + added;
    const double total = (double)r->n_total[n] + added;
    if (total == 0) break;
    if (effective_order) n_orders = n + 1;
    if (correct == 0 && o->smoothing == CQ_BLEU_EXP) correct = 1 / (unmatched *= 2);
    if (correct == 0 && o->smoothing == CQ_BLEU_FLOOR) correct = smooth_value(o);
    r->precisions[n] = 100 * correct / total;
  }
  for (size_t n = 0; n < n_orders; n++) sum += log(r->precisions[n]);
  r->score = r->brevity_penalty * exp(sum / (double)n_orders);
}

/* The length nearest to n; of two, the shorter. */
static size_t nearest_length(const cq_ngrams *g, size_t n) {
  size_t best = cq_ngrams_length(g, 1);
  for (size_t t = 2; t < g->n_texts; t++) {
    const size_t length = cq_ngrams_length(g, t), far = length > n ? length - n : n - length;
    const size_t best_far = best > n ? best - n : n - best;
    if (far < best_far || (far == best_far && length < best)) best = length;
  }
  return best;
}

/* out = the counts of one sentence. */
static cq_status count_bleu(cq_bleu_result *out, cq_ngrams *g, cq_mt_tokenizer *tokenizer, const cq_mt_texts *texts,
                            size_t i, cq_error *error) {
  cq_ngrams_clear(g);
  bool ok = cq_mt_tokenize(&g->units, tokenizer, texts->hypotheses[i]) && cq_ngrams_end_text(g);
  for (size_t r = 0; ok && r < texts->n_references; r++)
    ok = cq_mt_tokenize(&g->units, tokenizer, texts->references[r][i]) && cq_ngrams_end_text(g);
  *out = (cq_bleu_result){0};
  for (size_t n = 0; ok && n < CQ_BLEU_ORDER && (ok = cq_ngrams_next(g)); n++) {
    out->n_total[n] = cq_ngrams_total(g, 0);
    out->n_correct[n] = cq_ngrams_clipped(g);
  }
  if (!ok) return cq_fail_memory(error, "BLEU");
  out->n_hypothesis_words = cq_ngrams_length(g, 0);
  out->n_reference_words = nearest_length(g, out->n_hypothesis_words);
  return CQ_OK;
}

cq_status cq_bleu(cq_bleu_result *out, double *sentences, const cq_mt_texts *texts, const cq_bleu_options *options,
                  cq_error *error) {
  cq_bleu_options o;
  cq_bleu_result all = {0}, one;
  cq_ngrams g = {0};
  cq_status status = cq_options_take(&o, &cq_group_bleu, options, error);
  if (!status) status = cq_mt_check(texts, "BLEU", error);
  cq_mt_tokenizer tokenizer = {.tokens = o.tokens, .lowercase = o.lowercase};
  for (size_t i = 0; !status && i < texts->n; i++) {
    if ((status = count_bleu(&one, &g, &tokenizer, texts, i, error)) != CQ_OK) break;
    all.n_hypothesis_words += one.n_hypothesis_words, all.n_reference_words += one.n_reference_words;
    for (size_t n = 0; n < CQ_BLEU_ORDER; n++) all.n_correct[n] += one.n_correct[n], all.n_total[n] += one.n_total[n];
    if (!sentences) continue;
    score_bleu(&one, &o, true);
    sentences[i] = one.score;
  }
  if (!status) {
    score_bleu(&all, &o, o.effective_order);
    *out = all;
  }
  cq_ngrams_free(&g);
  cq_mt_tokenizer_free(&tokenizer);
  return status;
}

cq_status cq_bleu_signature(char out[CQ_MT_SIGNATURE], const cq_bleu_options *options, size_t n_references,
                            cq_error *error) {
  cq_bleu_options o;
  char value[32] = "";
  const cq_status status = cq_options_take(&o, &cq_group_bleu, options, error);
  if (status) return status;
  if (o.smoothing == CQ_BLEU_FLOOR || o.smoothing == CQ_BLEU_ADD_K)
    cq_snprintf(value, sizeof value, "[%.2f]", smooth_value(&o));
  snprintf(out, CQ_MT_SIGNATURE, "nrefs:%zu|case:%s|eff:%s|tok:%s|smooth:%s%s|version:calque-" CQ_VERSION, n_references,
           o.lowercase ? "lc" : "mixed", o.effective_order ? "yes" : "no", cq_mt_tokens_names[o.tokens],
           smoothings[o.smoothing], value);
  return CQ_OK;
}
