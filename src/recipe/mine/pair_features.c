/* Features of a pair of sentences: margin, lengths, digits, and how well each side's words cover the other's. See
 * pair_features.h. */
#include "recipe/mine/pair_features.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/utf8.h"
#include "recipe/mine/mining.h"
#include "recipe/mine/token_match.h"
#include "text/pair_filter.h"

#include <math.h>
#include <stdlib.h>

enum { MARGIN, COSINE, LENGTH_RATIO, SHORTER, LONGER, DIGITS_DIFFER, DIGITS_SHARED, COVERED, WEAKEST = 9, WEIGHT = 11 };
enum { AT_ONCE = 64 }; /* pairs */

const char *const cq_pair_feature_names[] = {
    "margin",
    "cosine",
    "length_ratio",   /* how far the log of the length ratio is from the usual one */
    "shorter",        /* logarithm of the length in characters */
    "longer",         /* the same */
    "digits_differ",  /* log(1 + digits that one side alone has) */
    "digits_shared",  /* log(1 + digits that both have) */
    "source_covered", /* IDF-weighted mean over the tokens of the cosine with the nearest token of the other side */
    "target_covered", /* the same */
    "source_weakest", /* the lowest of these cosines */
    "target_weakest", /* the same */
    "source_weight",  /* log(1 + sum of the tokens' IDF) */
    "target_weight",  /* the same */
    NULL,
};

typedef struct measuring {
  float *features;
  const cq_mining *m;
  const cq_encoder *encoder;
  cq_text_tokens sides[2];
  double usual_ratio; /* of lengths, its logarithm */
} measuring;

/* --- lengths and numbers --- */

static double log_length(const cq_mining *m, int side, uint32_t row) {
  const cq_slice text = cq_sentences_text(&m->sides[side].corpus, row);
  return log((double)cq_utf8_length(text.data, text.n) + 1);
}

/* The median over the better half of the pairs, since sentences of one language are usually longer. */
static cq_status measure_ratio(double *out, const cq_mining *m, cq_error *error) {
  const size_t n = (m->n_pairs + 1) / 2;
  double *ratios = cq_alloc_array(n, sizeof *ratios);
  *out = 0;
  if (!ratios) return cq_fail_memory(error, "lengths");
  for (size_t i = 0; i < n; i++)
    ratios[i] = log_length(m, 0, m->pairs[i].source) - log_length(m, 1, m->pairs[i].target);
  if (n) qsort(ratios, n, sizeof *ratios, cq_order_doubles);
  if (n) *out = ratios[n / 2];
  cq_free(ratios);
  return CQ_OK;
}

static void measure_surface(float *f, const measuring *w, const cq_mined_pair *p, bool *failed) {
  const double a = log_length(w->m, 0, p->source), b = log_length(w->m, 1, p->target);
  int x[10], y[10], differ = 0, shared = 0;
  cq_count_digits(x, cq_sentences_text(&w->m->sides[0].corpus, p->source), failed);
  cq_count_digits(y, cq_sentences_text(&w->m->sides[1].corpus, p->target), failed);
  for (int i = 0; i < 10; i++) differ += abs(x[i] - y[i]), shared += x[i] < y[i] ? x[i] : y[i];
  f[MARGIN] = (float)p->score, f[COSINE] = (float)p->cosine;
  f[LENGTH_RATIO] = (float)fabs(a - b - w->usual_ratio);
  f[SHORTER] = (float)fmin(a, b), f[LONGER] = (float)fmax(a, b);
  f[DIGITS_DIFFER] = log1pf((float)differ), f[DIGITS_SHARED] = log1pf((float)shared);
}

/* --- tokens --- */

static void measure_side(float *covered, float *weakest, float *weight, const float *best, const int32_t *ids, size_t n,
                         const float *weights) {
  double sum = 0, all = 0;
  float lowest = n ? 1 : 0;
  for (size_t i = 0; i < n; i++) {
    sum += (double)weights[ids[i]] * (double)best[i];
    all += (double)weights[ids[i]];
    lowest = fminf(lowest, best[i]);
  }
  *covered = all > 0 ? (float)(sum / all) : 0;
  *weakest = lowest;
  *weight = (float)log1p(all);
}

static void measure_tokens(float *f, const measuring *w, const cq_mined_pair *p, cq_token_match *m) {
  cq_token_match_run(m, w->sides, p->source, p->target);
  for (int side = 0; side < 2; side++)
    measure_side(&f[COVERED + side], &f[WEAKEST + side], &f[WEIGHT + side], m->best[side], m->ids[side], m->n[side],
                 w->sides[side].weights);
}

static cq_status measure_run(void *context, size_t run, int worker, cq_error *error) {
  (void)worker;
  const measuring *w = context;
  const size_t first = run * AT_ONCE, last = cq_min(first + AT_ONCE, w->m->n_pairs);
  cq_token_match match;
  bool failed = !cq_token_match_open(&match, w->encoder);
  for (size_t i = first; !failed && i < last; i++) {
    float *f = w->features + i * CQ_N_PAIR_FEATURES;
    measure_surface(f, w, &w->m->pairs[i], &failed);
    measure_tokens(f, w, &w->m->pairs[i], &match);
  }
  cq_token_match_close(&match);
  return failed ? cq_fail_memory(error, "pairs") : CQ_OK;
}

cq_status cq_pair_features(float **out, const cq_mining *m, const cq_encoder *encoder, cq_context *ctx,
                           cq_error *error) {
  const size_t n_runs = (m->n_pairs + AT_ONCE - 1) / AT_ONCE;
  measuring w = {.m = m, .encoder = encoder};
  w.features = cq_alloc_array(m->n_pairs, CQ_N_PAIR_FEATURES * sizeof *w.features);
  cq_status status = w.features ? CQ_OK : cq_fail_memory(error, "pairs");
  for (int side = 0; !status && side < 2; side++)
    status =
        cq_text_tokens_read(&w.sides[side], m->sides[side].corpus.sentences, m->sides[side].corpus.n, encoder, error);
  if (!status) status = measure_ratio(&w.usual_ratio, m, error);
  if (!status) status = cq_context_try(ctx, n_runs, measure_run, &w, error);
  for (int side = 0; side < 2; side++) cq_text_tokens_free(&w.sides[side]);
  if (status) cq_free(w.features), w.features = NULL;
  *out = w.features;
  return status;
}
