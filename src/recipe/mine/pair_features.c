/* Features of a pair of sentences: margin, lengths, digits, and how well each side's words cover the other's. See
 * pair_features.h. */
#include "recipe/mine/pair_features.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "recipe/mine/mining.h"
#include "text/pair_filter.h"

#include <math.h>
#include <stdlib.h>

enum { MARGIN, COSINE, LENGTH_RATIO, SHORTER, LONGER, DIGITS_DIFFER, DIGITS_SHARED, COVERED, WEAKEST = 9, WEIGHT = 11 };
enum { AT_ONCE = 64, MAX_TOKENS = 512 }; /* pairs; later tokens of a sentence are not matched */

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

/* A side's sentences as tokens. A token's weight is its IDF among these sentences, log(n / sentences with it). */
typedef struct tokens {
  int32_t *ids;
  size_t *starts; /* [n + 1] */
  float *weights; /* [vocab] */
} tokens;

/* Counts the sentences that contain each token; `last`: the sentence, from 1, in which it was last seen. */
static void count_sentences(float *counts, uint32_t *last, const int32_t *ids, size_t n, uint32_t sentence) {
  for (size_t i = 0; i < n; i++) {
    if (last[ids[i]] == sentence) continue;
    last[ids[i]] = sentence;
    counts[ids[i]]++;
  }
}

static size_t leave_out_special(int32_t *ids, size_t from, size_t n, const cq_encoder *encoder) {
  size_t kept = from;
  for (size_t i = from; i < n; i++) {
    bool special = false;
    cq_slice text;
    if (!cq_encoder_token(&text, &special, encoder, ids[i]) || !special) ids[kept++] = ids[i];
  }
  return kept;
}

static cq_status read_tokens(tokens *out, const cq_sentences *text, const cq_encoder *encoder, cq_error *error) {
  const size_t vocab = (size_t)cq_encoder_vocab_size(encoder);
  cq_token_memory *memory = cq_token_memory_new();
  uint32_t *last = cq_alloc_array_zeroed(vocab, sizeof *last);
  cq_ids ids = {0};
  bool truncated;
  out->starts = cq_alloc_array_zeroed(text->n + 1, sizeof *out->starts);
  out->weights = cq_alloc_array_zeroed(vocab, sizeof *out->weights);
  cq_status status =
      memory && last && out->starts && out->weights ? CQ_OK : cq_fail_memory(error, "tokens of a corpus");
  for (size_t i = 0; !status && i < text->n; i++) {
    status = cq_encoder_tokenize(&ids, encoder, memory, text->sentences[i], &truncated, error);
    if (status) break;
    ids.n = cq_min(leave_out_special(ids.ids, out->starts[i], ids.n, encoder), out->starts[i] + MAX_TOKENS);
    count_sentences(out->weights, last, ids.ids + out->starts[i], ids.n - out->starts[i], (uint32_t)i + 1);
    out->starts[i + 1] = ids.n;
  }
  for (size_t v = 0; !status && v < vocab; v++)
    if (out->weights[v] > 0) out->weights[v] = (float)log((double)text->n / (double)out->weights[v]);
  out->ids = ids.ids;
  cq_token_memory_free(memory);
  cq_free(last);
  return status;
}

typedef struct measuring {
  float *features;
  const cq_mining *m;
  const cq_encoder *encoder;
  const cq_param *table;
  const int32_t *row_of; /* NULL: a token's row is its id */
  tokens sides[2];
  double usual_ratio; /* of lengths, its logarithm */
} measuring;

/* --- lengths and numbers --- */

static double log_length(const cq_mining *m, int side, uint32_t row) {
  const cq_slice text = cq_sentences_text(&m->sides[side].corpus, row);
  return log((double)cq_utf8_length(text.data, text.n) + 1);
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The median over the better half of the pairs, since sentences of one language are usually longer. */
static cq_status measure_ratio(double *out, const cq_mining *m, cq_error *error) {
  const size_t n = (m->n_pairs + 1) / 2;
  double *ratios = cq_alloc_array(n, sizeof *ratios);
  *out = 0;
  if (!ratios) return cq_fail_memory(error, "lengths");
  for (size_t i = 0; i < n; i++)
    ratios[i] = log_length(m, 0, m->pairs[i].source) - log_length(m, 1, m->pairs[i].target);
  if (n) qsort(ratios, n, sizeof *ratios, by_size);
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

/* The embeddings of a sentence's tokens, scaled to length 1. rows: work memory for their row numbers. */
static void gather_tokens(float *out, int32_t *rows, const measuring *w, const int32_t *ids, size_t n) {
  const cq_kernels *k = w->encoder->kernels;
  for (size_t i = 0; i < n; i++) rows[i] = w->row_of ? w->row_of[ids[i]] : ids[i];
  cq_param_gather(k, out, w->table, rows, (int64_t)n);
  k->normalize(out, NULL, out, (int64_t)n, w->table->cols);
}

/* For each token of both sides, the cosine with its nearest token on the other side. */
static void match_tokens(float *best[2], const cq_kernels *k, const float *x, size_t n_x, const float *y, size_t n_y,
                         int64_t dim) {
  for (size_t i = 0; i < n_x; i++) best[0][i] = n_y ? -1 : 0;
  for (size_t j = 0; j < n_y; j++) best[1][j] = n_x ? -1 : 0;
  for (size_t i = 0; i < n_x; i++)
    for (size_t j = 0; j < n_y; j++) {
      const float cosine = k->dot(x + i * (size_t)dim, y + j * (size_t)dim, dim);
      best[0][i] = fmaxf(best[0][i], cosine);
      best[1][j] = fmaxf(best[1][j], cosine);
    }
}

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

/* Memory of one run of pairs: of MAX_TOKENS a side. */
typedef struct scratch {
  float *vectors[2], *best[2];
  int32_t *rows;
} scratch;

static bool scratch_make(scratch *s, size_t dim) {
  *s = (scratch){.rows = cq_alloc_array(MAX_TOKENS, sizeof *s->rows)};
  for (int side = 0; side < 2; side++) {
    s->vectors[side] = cq_alloc_array(MAX_TOKENS, dim * sizeof *s->vectors[side]);
    s->best[side] = cq_alloc_array(MAX_TOKENS, sizeof *s->best[side]);
  }
  return s->rows && s->vectors[0] && s->vectors[1] && s->best[0] && s->best[1];
}

static void measure_tokens(float *f, const measuring *w, const cq_mined_pair *p, scratch *s) {
  const uint32_t rows[2] = {p->source, p->target};
  const int32_t *ids[2];
  size_t n[2];
  for (int side = 0; side < 2; side++) {
    const tokens *of = &w->sides[side];
    ids[side] = of->ids + of->starts[rows[side]];
    n[side] = of->starts[rows[side] + 1] - of->starts[rows[side]];
    gather_tokens(s->vectors[side], s->rows, w, ids[side], n[side]);
  }
  match_tokens(s->best, w->encoder->kernels, s->vectors[0], n[0], s->vectors[1], n[1], w->table->cols);
  for (int side = 0; side < 2; side++)
    measure_side(&f[COVERED + side], &f[WEAKEST + side], &f[WEIGHT + side], s->best[side], ids[side], n[side],
                 w->sides[side].weights);
}

static cq_status measure_run(void *context, size_t run, int worker, cq_error *error) {
  (void)worker;
  const measuring *w = context;
  const size_t first = run * AT_ONCE, last = cq_min(first + AT_ONCE, w->m->n_pairs);
  scratch s;
  bool failed = !scratch_make(&s, (size_t)w->table->cols);
  for (size_t i = first; !failed && i < last; i++) {
    float *f = w->features + i * CQ_N_PAIR_FEATURES;
    measure_surface(f, w, &w->m->pairs[i], &failed);
    measure_tokens(f, w, &w->m->pairs[i], &s);
  }
  for (int side = 0; side < 2; side++) cq_free(s.vectors[side]), cq_free(s.best[side]);
  cq_free(s.rows);
  return failed ? cq_fail_memory(error, "pairs") : CQ_OK;
}

cq_status cq_pair_features(float **out, const cq_mining *m, const cq_encoder *encoder, cq_context *ctx,
                           cq_error *error) {
  const size_t n_runs = (m->n_pairs + AT_ONCE - 1) / AT_ONCE;
  measuring w = {.m = m, .encoder = encoder};
  w.table = cq_encoder_word_table(&w.row_of, encoder);
  w.features = cq_alloc_array(m->n_pairs, CQ_N_PAIR_FEATURES * sizeof *w.features);
  cq_status status = w.features ? CQ_OK : cq_fail_memory(error, "pairs");
  for (int side = 0; !status && side < 2; side++)
    status = read_tokens(&w.sides[side], &m->sides[side].corpus, encoder, error);
  if (!status) status = measure_ratio(&w.usual_ratio, m, error);
  if (!status) status = cq_context_try(ctx, n_runs, measure_run, &w, error);
  for (int side = 0; side < 2; side++)
    cq_free(w.sides[side].ids), cq_free(w.sides[side].starts), cq_free(w.sides[side].weights);
  if (status) cq_free(w.features), w.features = NULL;
  *out = w.features;
  return status;
}
