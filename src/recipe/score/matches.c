/* Evidence from words and tokens that match. */
#include "recipe/score/gathering.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "calque/embedding.h"
#include "recipe/mine/token_match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_PARTS = 3, RAW = 8 };

typedef struct matching {
  cq_gathering *g;
  float *weights;             /* [n_distinct] */
  float *links[2], *bests[2]; /* of each side's words: the highest link, and the best match */
  double *raw; /* [n, 7]: covered, part, words, part, Fisher's z, n, tail; of shifted rows: covered, words */
  cq_text_tokens tokens[2];
  size_t shift;
  double covered[2], by_words[2], usual_order; /* mean and deviation in shifted rows */
} matching;

/* The weighted mean of a side's matches, and that of its third with the lowest. */
typedef struct coverage {
  double all, part;
} coverage;

static coverage cover(const float *best, const float *weights, size_t n) {
  double sums[N_PARTS] = {0}, all[N_PARTS] = {0}, sum = 0, total = 0;
  coverage c = {0, 2};
  for (size_t i = 0; i < n; i++) {
    const size_t part = i * N_PARTS / n;
    sums[part] += (double)(weights[i] * best[i]), all[part] += (double)weights[i];
  }
  for (int p = 0; p < N_PARTS; p++) {
    sum += sums[p], total += all[p];
    if (all[p] > 0) c.part = fmin(c.part, sums[p] / all[p]);
  }
  c.all = total > 0 ? sum / total : 0;
  if (c.part > 1) c.part = c.all;
  return c;
}

/* How much better the first two thirds of a side match than its last one. */
static double tail_of(const float *best, const float *weights, size_t n) {
  double sums[2] = {0}, all[2] = {0};
  for (size_t i = 0; i < n; i++) {
    const bool last = i * N_PARTS >= n * (N_PARTS - 1);
    sums[last] += (double)(weights[i] * best[i]), all[last] += (double)weights[i];
  }
  return all[0] > 0 && all[1] > 0 ? sums[0] / all[0] - sums[1] / all[1] : 0;
}

/* Matches of words, as cq_token_match of tokens; links: with words that the file has in the same rows. */
typedef struct word_match {
  float best[2][CQ_MATCH_MAX_TOKENS], weights[2][CQ_MATCH_MAX_TOKENS], links[2][CQ_MATCH_MAX_TOKENS];
  uint32_t nearest[2][CQ_MATCH_MAX_TOKENS];
  const cq_row_word *items[2];
  size_t n[2];
} word_match;

/* Two words match by the higher one of their vectors' cosine, raised by their link, and their spelling. */
static float match_of(float *link, const matching *w, uint32_t x, uint32_t y, size_t row) {
  const cq_gathering *g = w->g;
  const size_t dim = (size_t)g->store->dim;
  const float *vectors = g->store->vectors;
  *link = (float)cq_linked(g, g->stem_of[x], g->stem_of[y], row);
  if (x == y) return 1;
  const float cosine = (float)cq_cosine(vectors + g->records[4][x] * dim, vectors + g->records[4][y] * dim, dim);
  const float alike = (float)cq_spelled_alike(g, x, y);
  return fmaxf(cosine + (1 - cosine) * *link, alike > 0.5F ? alike : 0);
}

static void match_words(word_match *m, const matching *w, size_t i, size_t j) {
  const cq_gathering *g = w->g;
  const size_t rows[2] = {i, j};
  for (int side = 0; side < 2; side++) {
    m->items[side] = g->sides[side].items + g->sides[side].starts[rows[side]];
    m->n[side] = cq_min(cq_n_row_words(g, side, rows[side]), CQ_MATCH_MAX_TOKENS);
    for (size_t a = 0; a < m->n[side]; a++)
      m->best[side][a] = m->n[!side] ? -2 : 0, m->nearest[side][a] = 0, m->links[side][a] = 0,
      m->weights[side][a] = w->weights[m->items[side][a].id];
  }
  for (size_t a = 0; a < m->n[0]; a++)
    for (size_t b = 0; b < m->n[1]; b++) {
      float link;
      const float match = match_of(&link, w, m->items[0][a].id, m->items[1][b].id, i);
      if (match > m->best[0][a]) m->best[0][a] = match, m->nearest[0][a] = (uint32_t)b;
      if (match > m->best[1][b]) m->best[1][b] = match, m->nearest[1][b] = (uint32_t)a;
      m->links[0][a] = fmaxf(m->links[0][a], link), m->links[1][b] = fmaxf(m->links[1][b], link);
    }
}

/* Whether target b is the next one after a of those that are matched. */
static bool follows_matched(const word_match *m, size_t a, size_t b) {
  if (b <= a) return false;
  for (size_t c = a + 1; c < b; c++)
    if (m->nearest[0][m->nearest[1][c]] == c) return false;
  return true;
}

/* The correlation of the places of words that are each other's nearest, as Fisher's z; *n: how many; *adjacent: how
 * many follow each other on both sides, less the one of chance, in its deviations. */
static double order_of(size_t *n, double *adjacent, const word_match *m) {
  double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  size_t before = SIZE_MAX, n_adjacent = 0;
  *n = 0, *adjacent = 0;
  for (size_t a = 0; a < m->n[0]; a++) {
    const size_t b = m->nearest[0][a];
    if (!m->n[1] || m->nearest[1][b] != a) continue;
    const double p = (double)a, q = (double)b;
    x += p, y += q, xx += p * p, yy += q * q, xy += p * q, ++*n;
    if (before != SIZE_MAX) n_adjacent += follows_matched(m, before, b);
    before = b;
  }
  if (*n < 4) return 0;
  *adjacent = ((double)n_adjacent - 1) / sqrt((double)*n);
  const double k = (double)*n, r = (xy - x * y / k) / sqrt(fmax((xx - x * x / k) * (yy - y * y / k), 1e-9));
  return atanh(fmin(fmax(r, -0.99), 0.99));
}

/* Of log-likelihoods: that the order is as usual, or none. Fisher's z of n places has a variance of 1 / (n - 3). */
static double order_ratio(double z, size_t n, double usual) {
  if (n < 4) return 0;
  const double of_none = 1 / ((double)n - 3), of_usual = of_none + 0.16;
  const double d = z - usual;
  return fmin(fmax(-d * d / of_usual / 2 - log(of_usual) / 2 + z * z / of_none / 2 + log(of_none) / 2, -8), 8);
}

static void lacking_names(double *out, const word_match *m, int side) {
  *out = 0;
  for (size_t a = 0; a < m->n[side]; a++)
    if (m->items[side][a].is_name) *out = fmax(*out, 1 - (double)m->best[side][a]);
}

static cq_status match_run(void *context, size_t run, int worker, cq_error *error) {
  const matching *w = context;
  cq_gathering *g = w->g;
  const size_t n = g->texts->n;
  cq_token_match match;
  word_match *by_word = cq_alloc_zeroed(sizeof *by_word);
  float *weights = cq_alloc_array(CQ_MATCH_MAX_TOKENS, sizeof *weights);
  (void)worker;
  const bool ok = cq_token_match_open(&match, g->store->encoder) && by_word && weights;
  for (size_t i = run * CQ_ROWS_AT_ONCE; ok && i < cq_min((run + 1) * CQ_ROWS_AT_ONCE, n); i++) {
    double *raw = w->raw + i * RAW;
    const size_t j = (i + w->shift) % n;
    size_t n_matched = 0;
    for (int f = 0; f < 4; f++) raw[f] = 2;
    cq_token_match_run(&match, w->tokens, i, j);
    match_words(by_word, w, i, j);
    for (int side = 0; side < 2; side++) {
      for (size_t a = 0; a < match.n[side]; a++) weights[a] = w->tokens[side].weights[match.ids[side][a]];
      const coverage t = cover(match.best[side], weights, match.n[side]);
      const coverage v = cover(by_word->best[side], by_word->weights[side], by_word->n[side]);
      raw[0] = fmin(raw[0], t.all), raw[1] = fmin(raw[1], t.part);
      raw[2] = fmin(raw[2], v.all), raw[3] = fmin(raw[3], v.part);
      if (w->shift) continue;
      lacking_names(&cq_evidence_row(g, i)[CQ_E_NAMES_SOURCE + side], by_word, side);
      memcpy(w->links[side] + g->sides[side].starts[i], by_word->links[side], by_word->n[side] * sizeof(float));
      memcpy(w->bests[side] + g->sides[side].starts[i], by_word->best[side], by_word->n[side] * sizeof(float));
      if (side == cq_longer_side(g, i)) raw[6] = tail_of(by_word->best[side], by_word->weights[side], by_word->n[side]);
    }
    raw[4] = order_of(&n_matched, &raw[7], by_word), raw[5] = (double)n_matched;
  }
  cq_token_match_close(&match);
  cq_free(by_word), cq_free(weights);
  return ok ? CQ_OK : cq_fail_memory(error, "rows");
}

static void mean_of_raw(double out[2], const double *raw, size_t n, size_t column) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < n; i++) sum += raw[i * RAW + column], squares += raw[i * RAW + column] * raw[i * RAW + column];
  const double k = (double)n, prior = CQ_PRIOR_ROWS, mean = n ? sum / k : 0;
  out[0] = (sum + prior * 0.45) / (k + prior);
  out[1] = sqrt((n ? fmax(squares - k * mean * mean, 0) : 0) + prior * 0.01) / sqrt(k + prior);
}

/* How far the matches of names are below the usual ones of rows with names: German writes all nouns with capitals. */
static void compare_names(cq_gathering *g, double *values) {
  const double usual_lack = 0.2, usual_spread = 0.15;
  for (int side = 0; side < 2; side++) {
    size_t n = 0;
    for (size_t i = 0; i < g->texts->n; i++)
      if (cq_evidence_row(g, i)[CQ_E_NAMES_SOURCE + side] > 0)
        values[n++] = cq_evidence_row(g, i)[CQ_E_NAMES_SOURCE + side];
    const double share = (double)n / ((double)n + CQ_PRIOR_ROWS);
    const double median = share * cq_quantile(values, n, 0.5) + (1 - share) * usual_lack;
    for (size_t i = 0; i < n; i++) values[i] = fabs(values[i] - median);
    const double spread = share * 1.4826 * cq_quantile(values, n, 0.5) + (1 - share) * usual_spread;
    for (size_t i = 0; i < g->texts->n; i++) {
      double *lack = &cq_evidence_row(g, i)[CQ_E_NAMES_SOURCE + side];
      *lack = fmin(fmax((*lack - median) / fmax(spread, 0.05), 0), 6);
    }
  }
  for (size_t i = 0; i < g->texts->n; i++)
    cq_evidence_row(g, i)[CQ_E_NAMES] =
        fmin(cq_evidence_row(g, i)[CQ_E_NAMES_SOURCE], cq_evidence_row(g, i)[CQ_E_NAMES_TARGET]);
}

/* How much less than usual a side's words are linked and match: the worst one, and the mean of all and of the tail. */
static cq_status compare_usual(const matching *w, int side, cq_error *error) {
  const double prior = 2;
  cq_gathering *g = w->g;
  const cq_row_words *words = &g->sides[side];
  double *sums = cq_alloc_array_zeroed(g->stems.n, 2 * sizeof *sums),
         *counts = cq_alloc_array_zeroed(g->stems.n, sizeof *counts);
  const bool ok = sums && counts;
  double usual = 0;
  for (size_t a = 0; ok && a < words->n; a++) {
    const uint32_t stem = g->stem_of[words->items[a].id];
    sums[2 * stem] += (double)w->links[side][a], sums[2 * stem + 1] += (double)w->bests[side][a], counts[stem]++;
    usual += (double)w->bests[side][a] / (double)words->n;
  }
  for (size_t i = 0; ok && i < g->texts->n; i++) {
    const size_t begin = words->starts[i], n = words->starts[i + 1] - begin;
    double *e = cq_evidence_row(g, i), worst = 0, worst_match = 0, all = 0, tail = 0;
    for (size_t a = begin; a < begin + n; a++) {
      const uint32_t stem = g->stem_of[words->items[a].id];
      const double link = (double)w->links[side][a], match = (double)w->bests[side][a];
      const double lack = (sums[2 * stem] - link) / counts[stem] - link;
      const double lack_match = (sums[2 * stem + 1] - match + prior * usual) / (counts[stem] - 1 + prior) - match;
      worst = fmax(worst, lack), worst_match = fmax(worst_match, lack_match), all += lack;
      if ((a - begin) * N_PARTS >= n * (N_PARTS - 1)) tail += lack;
    }
    e[CQ_E_UNLINKED_SOURCE + side] = worst, e[CQ_E_UNMATCHED_SOURCE + side] = worst_match;
    e[CQ_E_UNLINKED] = fmax(side ? e[CQ_E_UNLINKED] : -1, n ? all / (double)n : 0);
    if (side == cq_longer_side(g, i)) e[CQ_E_UNLINKED_TAIL] = n ? tail / ((double)n / N_PARTS + 1) : 0;
  }
  cq_free(sums), cq_free(counts);
  return ok ? CQ_OK : cq_fail_memory(error, "words");
}

cq_status cq_gather_matches(cq_gathering *g, cq_context *ctx, cq_error *error) {
  const size_t n = g->texts->n, n_runs = (n + CQ_ROWS_AT_ONCE - 1) / CQ_ROWS_AT_ONCE;
  matching w = {.g = g, .shift = n / 2};
  uint32_t *last = cq_alloc_array_zeroed(g->n_distinct, sizeof *last);
  double *orders = cq_alloc_array(n, sizeof *orders);
  w.weights = cq_alloc_array_zeroed(g->n_distinct, sizeof *w.weights);
  w.raw = cq_alloc_array(n, RAW * sizeof *w.raw);
  for (int side = 0; side < 2; side++) {
    w.links[side] = cq_alloc_array_zeroed(g->sides[side].n, sizeof(float));
    w.bests[side] = cq_alloc_array_zeroed(g->sides[side].n, sizeof(float));
  }
  cq_status status = last && w.weights && w.raw && orders && w.links[0] && w.links[1] && w.bests[0] && w.bests[1]
                         ? CQ_OK
                         : cq_fail_memory(error, "rows");
  for (int side = 0; !status && side < 2; side++)
    status = cq_text_tokens_read(&w.tokens[side], g->texts->sides[side], n, g->store->encoder, error);
  for (size_t i = 0; !status && i < 2 * n; i++)
    for (size_t a = g->sides[i % 2].starts[i / 2]; a < g->sides[i % 2].starts[i / 2 + 1]; a++) {
      const uint32_t id = g->sides[i % 2].items[a].id;
      if (last[id] != i + 1) w.weights[id]++, last[id] = (uint32_t)i + 1;
    }
  for (size_t v = 0; !status && v < g->n_distinct; v++) w.weights[v] = (float)log(2 * (double)n / (double)w.weights[v]);
  if (!status && n > 1) status = cq_context_try(ctx, n_runs, match_run, &w, error);
  if (!status) mean_of_raw(w.covered, w.raw, n > 1 ? n : 0, 0), mean_of_raw(w.by_words, w.raw, n > 1 ? n : 0, 2);
  w.shift = 0;
  if (!status) status = cq_context_try(ctx, n_runs, match_run, &w, error);
  if (!status) compare_names(g, orders);
  for (int side = 0; !status && side < 2; side++) status = compare_usual(&w, side, error);
  size_t n_orders = 0;
  for (size_t i = 0; !status && i < n; i++)
    if (w.raw[i * RAW + 5] >= 6) orders[n_orders++] = w.raw[i * RAW + 4];
  if (!status) {
    const double usual = cq_quantile(orders, n_orders, 0.6);
    w.usual_order = ((double)n_orders * usual + CQ_PRIOR_ROWS) / ((double)n_orders + CQ_PRIOR_ROWS);
  }
  for (size_t i = 0; !status && i < n; i++) {
    double *e = cq_evidence_row(g, i);
    const double *raw = w.raw + i * RAW;
    e[CQ_E_COVERED] = (raw[0] - w.covered[0]) / w.covered[1];
    e[CQ_E_COVERED_PART] = (raw[1] - w.covered[0]) / w.covered[1];
    e[CQ_E_WORDS] = (raw[2] - w.by_words[0]) / w.by_words[1];
    e[CQ_E_WORDS_PART] = (raw[3] - w.by_words[0]) / w.by_words[1];
    e[CQ_E_TAIL] = raw[6], e[CQ_E_ADJACENT] = raw[7];
    e[CQ_E_ORDER] = order_ratio(raw[4], (size_t)raw[5], w.usual_order);
  }
  for (int side = 0; side < 2; side++)
    cq_text_tokens_free(&w.tokens[side]), cq_free(w.links[side]), cq_free(w.bests[side]);
  cq_free(last), cq_free(orders), cq_free(w.weights), cq_free(w.raw);
  return status;
}
