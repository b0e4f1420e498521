/* Evidence about rows. See evidence.h.
 *
 *   rows ──▶ sides, the same with shuffled words, distinct words ──encoder──▶ vectors ──▶ cosines
 *   rows ──▶ tokens ──embeddings──▶ matches
 *   rows ──▶ lengths, numbers, languages, copies, repetitions */
#include "recipe/score/evidence.h"

#include "base/context.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/random.h"
#include "base/utf8.h"
#include "calque/embedding.h"
#include "calque/language.h"
#include "recipe/mine/token_match.h"
#include "text/letters.h"
#include "text/script.h"
#include "text/unicode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const cq_evidence_names[] = {
    "cosine", "length",   "shortness", "numbers_both", "numbers_one", "language",   "untranslated", "copied",
    "copy",   "repeated", "covered",   "covered_part", "words",       "words_part", "names_source", "names_target",
    "names",  "order",    "neighbors", "end",          "shuffled",    NULL,
};

/* A file of few rows says little about its own cosines and lengths: as many rows as these count for the usual ones. */
#define PRIOR_ROWS        20.0
#define PRIOR_NULL        0.35 /* mean cosine of unrelated sentences, and its deviation */
#define PRIOR_NULL_SPREAD 0.11
#define PRIOR_SPREAD      0.2 /* of the logarithm of the ratio of lengths */
enum { N_SHIFTS = 32, N_PARTS = 3, AT_ONCE = 64 };

typedef struct word {
  uint32_t id; /* among the distinct ones */
  bool is_name;
} word;

typedef struct words {
  word *items;
  size_t *starts; /* [n + 1] */
  size_t n, capacity;
} words;

typedef struct gathering {
  const cq_score_texts *texts;
  const cq_cached_encoder *store;
  cq_score_file *file;
  double *out;
  float *shifted;
  words sides[2];
  cq_map ids; /* word -> id */
  cq_slice *distinct;
  size_t n_distinct, distinct_capacity;
  cq_slice *shuffled[2]; /* [n] */
  uint32_t *records[5];  /* of the two sides, of these shuffled, of the distinct words */
  double *null_mean;     /* [n] of a row's two sides with others */
  double usual_ratio, ratio_spread, usual_order;
  double covered[2], by_words[2]; /* mean and deviation in shifted rows */
  cq_text_tokens tokens[2];
  cq_arena arena;
} gathering;

static double *row_of(const gathering *g, size_t i) {
  return g->out + i * CQ_N_EVIDENCE;
}

/* --- words --- */

/* The next run of letters, marks and digits; *first: its first character. */
static bool next_word(cq_slice *out, uint32_t *first, cq_slice *rest) {
  const char *at = rest->data;
  uint32_t c;
  *out = (cq_slice){NULL, 0};
  *first = 0;
  while (cq_utf8_next(&c, rest)) {
    const bool is_word = cq_char_is_word(c);
    if (is_word && !out->data) out->data = at, *first = c;
    if (!is_word && out->data) break;
    at = rest->data;
  }
  if (out->data) out->n = (size_t)(at - out->data);
  return out->data != NULL;
}

static bool add_word(gathering *g, words *w, cq_slice text, bool is_name) {
  uint64_t id = cq_map_get(&g->ids, text);
  if (id == CQ_MAP_NONE) {
    id = g->n_distinct;
    if (!cq_map_put_borrowed(&g->ids, text, id) ||
        !cq_reserve((void **)&g->distinct, &g->distinct_capacity, id + 1, sizeof *g->distinct))
      return false;
    g->distinct[g->n_distinct++] = text;
  }
  if (!cq_reserve((void **)&w->items, &w->capacity, w->n + 1, sizeof *w->items)) return false;
  w->items[w->n++] = (word){(uint32_t)id, is_name};
  return true;
}

/* A name is a word with a capital letter that does not begin the text. */
static bool split_words(gathering *g, int side) {
  enum { MAX_WORD = 64 };
  words *w = &g->sides[side];
  w->starts = cq_alloc_array_zeroed(g->texts->n + 1, sizeof *w->starts);
  bool ok = w->starts != NULL;
  for (size_t i = 0; ok && i < g->texts->n; i++) {
    cq_slice rest = g->texts->sides[side][i], text;
    const bool spaced = !cq_script_has_no_spaces(cq_script_of(rest));
    uint32_t first;
    bool begins = true;
    while (ok && spaced && next_word(&text, &first, &rest)) {
      if (text.n <= MAX_WORD) ok = add_word(g, w, text, !begins && cq_char_is_capital(first));
      begins = false;
    }
    w->starts[i + 1] = w->n;
  }
  return ok;
}

static size_t n_words(const gathering *g, int side, size_t i) {
  return g->sides[side].starts[i + 1] - g->sides[side].starts[i];
}

/* The text with its words, as blanks separate them, in random order. */
static cq_slice shuffle_text(cq_arena *arena, cq_slice text) {
  enum { MAX_WORDS = 512 };
  uint32_t order[MAX_WORDS];
  cq_slice items[MAX_WORDS];
  size_t n = 0, at = 0;
  for (cq_slice rest = cq_slice_trimmed(text); rest.n && n < MAX_WORDS; rest = cq_slice_trimmed(rest)) {
    size_t end = 0;
    while (end < rest.n && !cq_is_blank(rest.data[end])) end++;
    order[n] = (uint32_t)n, items[n++] = (cq_slice){rest.data, end};
    rest.data += end, rest.n -= end;
  }
  char *out = cq_arena_alloc(arena, text.n + 1);
  if (!out) return (cq_slice){NULL, 0};
  cq_random random = cq_random_seeded(cq_hash64(text.data, text.n, 0), 0);
  cq_random_shuffle(&random, order, n);
  for (size_t i = 0; i < n; i++) {
    if (i) out[at++] = ' ';
    memcpy(out + at, items[order[i]].data, items[order[i]].n);
    at += items[order[i]].n;
  }
  return (cq_slice){out, at};
}

/* --- vectors --- */

static cq_status encode_all(gathering *g, cq_cached_encoder *store, cq_cached_progress progress, void *context,
                            cq_context *ctx, cq_error *error) {
  const size_t n = g->texts->n;
  const struct {
    const cq_slice *texts;
    size_t n;
  } lists[5] = {{g->texts->sides[0], n},
                {g->texts->sides[1], n},
                {g->shuffled[0], n},
                {g->shuffled[1], n},
                {g->distinct, g->n_distinct}};
  cq_status status = CQ_OK;
  for (int l = 0; !status && l < 5; l++)
    status = cq_cached_encoder_prepare(store, lists[l].texts, lists[l].n, ctx, progress, context, error);
  if (!status) status = cq_cached_encoder_map(store, error);
  for (int l = 0; !status && l < 5; l++) {
    g->records[l] = cq_alloc_array(lists[l].n, sizeof *g->records[l]);
    if (!g->records[l]) return cq_fail_memory(error, "vectors");
    for (size_t i = 0; i < lists[l].n; i++) {
      const int64_t record = cq_cached_encoder_record(store, lists[l].texts[i]);
      if (record > UINT32_MAX) return cq_fail(error, CQ_ERR_LIMIT, "the cache holds more than 2^32 vectors");
      g->records[l][i] = (uint32_t)record;
    }
  }
  return status;
}

static double cosine_of(const gathering *g, int list, size_t i, int other, size_t j) {
  const size_t dim = (size_t)g->store->dim;
  return cq_cosine(g->store->vectors + g->records[list][i] * dim, g->store->vectors + g->records[other][j] * dim, dim);
}

/* The cosines of a row's sides with those of other rows: their mean, and all their deviations from it. */
static void measure_null(gathering *g) {
  const size_t n = g->texts->n, n_shifts = n < N_SHIFTS + 2 ? (n ? n - 1 : 0) : N_SHIFTS;
  double sum = 0, squares = 0;
  for (size_t i = 0; i < n; i++) g->null_mean[i] = 0;
  for (size_t k = 0; k < n_shifts; k++) {
    const size_t shift = 1 + k * (n - 1) / n_shifts;
    for (size_t i = 0; i < n; i++) {
      const size_t j = (i + shift) % n;
      const double c = cosine_of(g, 0, i, 1, j);
      g->null_mean[i] += c, g->null_mean[j] += c;
      sum += c, squares += c * c;
    }
  }
  const double count = (double)(n * n_shifts), prior = PRIOR_ROWS * N_SHIFTS;
  const double mean = (sum + prior * PRIOR_NULL) / (count + prior);
  const double own = count > 0 ? squares / count - (sum / count) * (sum / count) : 0;
  g->file->null_mean = mean;
  g->file->null_deviation = sqrt((count * own + prior * PRIOR_NULL_SPREAD * PRIOR_NULL_SPREAD) / (count + prior));
  for (size_t i = 0; i < n; i++) g->null_mean[i] = (g->null_mean[i] + 8 * mean) / ((double)(2 * n_shifts) + 8);
}

static double standing(const gathering *g, size_t i, double cosine) {
  return (cosine - g->null_mean[i]) / g->file->null_deviation;
}

static void compare_vectors(void *context, size_t run, int worker) {
  gathering *g = context;
  (void)worker;
  for (size_t i = run * AT_ONCE; i < cq_min((run + 1) * AT_ONCE, g->texts->n); i++) {
    double *e = row_of(g, i);
    const double own = cosine_of(g, 0, i, 1, i);
    e[CQ_E_COSINE] = standing(g, i, own);
    e[CQ_E_SHUFFLED] = (own - fmax(cosine_of(g, 2, i, 1, i), cosine_of(g, 0, i, 3, i))) / g->file->null_deviation;
    for (int shift = -CQ_MAX_SHIFT; shift <= CQ_MAX_SHIFT; shift++) {
      const int64_t j = (int64_t)i + shift;
      g->shifted[i * (2 * CQ_MAX_SHIFT + 1) + (size_t)(shift + CQ_MAX_SHIFT)] =
          j < 0 || j >= (int64_t)g->texts->n ? -100 : (float)standing(g, i, cosine_of(g, 0, i, 1, (size_t)j));
    }
  }
}

/* --- matching tokens and words --- */

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

/* Matches of words, as cq_token_match of tokens. */
typedef struct word_match {
  float best[2][CQ_MATCH_MAX_TOKENS], weights[2][CQ_MATCH_MAX_TOKENS];
  uint32_t nearest[2][CQ_MATCH_MAX_TOKENS];
  const word *items[2];
  size_t n[2];
} word_match;

static void match_words(word_match *m, const gathering *g, const float *weights, size_t i, size_t j) {
  const size_t rows[2] = {i, j}, dim = (size_t)g->store->dim;
  for (int side = 0; side < 2; side++) {
    m->items[side] = g->sides[side].items + g->sides[side].starts[rows[side]];
    m->n[side] = cq_min(n_words(g, side, rows[side]), CQ_MATCH_MAX_TOKENS);
    for (size_t a = 0; a < m->n[side]; a++)
      m->best[side][a] = m->n[!side] ? -2 : 0, m->nearest[side][a] = 0,
      m->weights[side][a] = weights[m->items[side][a].id];
  }
  for (size_t a = 0; a < m->n[0]; a++)
    for (size_t b = 0; b < m->n[1]; b++) {
      const uint32_t x = m->items[0][a].id, y = m->items[1][b].id;
      const float cosine = x == y ? 1
                                  : (float)cq_cosine(g->store->vectors + g->records[4][x] * dim,
                                                     g->store->vectors + g->records[4][y] * dim, dim);
      if (cosine > m->best[0][a]) m->best[0][a] = cosine, m->nearest[0][a] = (uint32_t)b;
      if (cosine > m->best[1][b]) m->best[1][b] = cosine, m->nearest[1][b] = (uint32_t)a;
    }
}

/* The correlation of the places of words that are each other's nearest, as Fisher's z; *n: how many. */
static double order_of(size_t *n, const word_match *m) {
  double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  *n = 0;
  for (size_t a = 0; a < m->n[0]; a++) {
    const size_t b = m->nearest[0][a];
    if (!m->n[1] || m->nearest[1][b] != a) continue;
    const double p = (double)a, q = (double)b;
    x += p, y += q, xx += p * p, yy += q * q, xy += p * q, ++*n;
  }
  if (*n < 4) return 0;
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

typedef struct matching {
  gathering *g;
  float *weights; /* [n_distinct] */
  double *raw;    /* [n, 6]: covered, part, words, part, Fisher's z, n; of shifted rows: covered, words */
  size_t shift;
} matching;
enum { RAW = 6 };

static void lacking_names(double *out, const word_match *m, int side) {
  *out = 0;
  for (size_t a = 0; a < m->n[side]; a++)
    if (m->items[side][a].is_name) *out = fmax(*out, 1 - (double)m->best[side][a]);
}

static cq_status match_run(void *context, size_t run, int worker, cq_error *error) {
  const matching *w = context;
  gathering *g = w->g;
  const size_t n = g->texts->n;
  cq_token_match match;
  word_match *by_word = cq_alloc_zeroed(sizeof *by_word);
  float *weights = cq_alloc_array(CQ_MATCH_MAX_TOKENS, sizeof *weights);
  (void)worker;
  const bool ok = cq_token_match_open(&match, g->store->encoder) && by_word && weights;
  for (size_t i = run * AT_ONCE; ok && i < cq_min((run + 1) * AT_ONCE, n); i++) {
    double *raw = w->raw + i * RAW;
    const size_t j = (i + w->shift) % n;
    size_t n_matched = 0;
    for (int f = 0; f < 4; f++) raw[f] = 2;
    cq_token_match_run(&match, g->tokens, i, j);
    match_words(by_word, g, w->weights, i, j);
    for (int side = 0; side < 2; side++) {
      for (size_t a = 0; a < match.n[side]; a++) weights[a] = g->tokens[side].weights[match.ids[side][a]];
      const coverage t = cover(match.best[side], weights, match.n[side]);
      const coverage v = cover(by_word->best[side], by_word->weights[side], by_word->n[side]);
      raw[0] = fmin(raw[0], t.all), raw[1] = fmin(raw[1], t.part);
      raw[2] = fmin(raw[2], v.all), raw[3] = fmin(raw[3], v.part);
      if (!w->shift) lacking_names(&row_of(g, i)[CQ_E_NAMES_SOURCE + side], by_word, side);
    }
    raw[4] = order_of(&n_matched, by_word), raw[5] = (double)n_matched;
  }
  cq_token_match_close(&match);
  cq_free(by_word), cq_free(weights);
  return ok ? CQ_OK : cq_fail_memory(error, "rows");
}

static double quantile(double *values, size_t n, double share) {
  if (n) qsort(values, n, sizeof *values, cq_order_doubles);
  return n ? values[(size_t)((double)(n - 1) * share)] : 0;
}

static void mean_of_raw(double out[2], const double *raw, size_t n, size_t column) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < n; i++) sum += raw[i * RAW + column], squares += raw[i * RAW + column] * raw[i * RAW + column];
  const double k = (double)n, prior = PRIOR_ROWS, mean = n ? sum / k : 0;
  out[0] = (sum + prior * 0.45) / (k + prior);
  out[1] = sqrt((n ? fmax(squares - k * mean * mean, 0) : 0) + prior * 0.01) / sqrt(k + prior);
}

/* How far the matches of names are below the usual ones of rows with names: German writes all nouns with capitals. */
static void compare_names(gathering *g, double *values) {
  const double usual_lack = 0.2, usual_spread = 0.15;
  for (int side = 0; side < 2; side++) {
    size_t n = 0;
    for (size_t i = 0; i < g->texts->n; i++)
      if (row_of(g, i)[CQ_E_NAMES_SOURCE + side] > 0) values[n++] = row_of(g, i)[CQ_E_NAMES_SOURCE + side];
    const double share = (double)n / ((double)n + PRIOR_ROWS);
    const double median = share * quantile(values, n, 0.5) + (1 - share) * usual_lack;
    for (size_t i = 0; i < n; i++) values[i] = fabs(values[i] - median);
    const double spread = share * 1.4826 * quantile(values, n, 0.5) + (1 - share) * usual_spread;
    for (size_t i = 0; i < g->texts->n; i++) {
      double *lack = &row_of(g, i)[CQ_E_NAMES_SOURCE + side];
      *lack = fmin(fmax((*lack - median) / fmax(spread, 0.05), 0), 6);
    }
  }
  for (size_t i = 0; i < g->texts->n; i++)
    row_of(g, i)[CQ_E_NAMES] = fmin(row_of(g, i)[CQ_E_NAMES_SOURCE], row_of(g, i)[CQ_E_NAMES_TARGET]);
}

static cq_status match_all(gathering *g, cq_context *ctx, cq_error *error) {
  const size_t n = g->texts->n, n_runs = (n + AT_ONCE - 1) / AT_ONCE;
  matching w = {.g = g, .shift = n / 2};
  uint32_t *last = cq_alloc_array_zeroed(g->n_distinct, sizeof *last);
  double *orders = cq_alloc_array(n, sizeof *orders);
  w.weights = cq_alloc_array_zeroed(g->n_distinct, sizeof *w.weights);
  w.raw = cq_alloc_array(n, RAW * sizeof *w.raw);
  cq_status status = last && w.weights && w.raw && orders ? CQ_OK : cq_fail_memory(error, "rows");
  for (int side = 0; !status && side < 2; side++)
    status = cq_text_tokens_read(&g->tokens[side], g->texts->sides[side], n, g->store->encoder, error);
  for (size_t i = 0; !status && i < 2 * n; i++)
    for (size_t a = g->sides[i % 2].starts[i / 2]; a < g->sides[i % 2].starts[i / 2 + 1]; a++) {
      const uint32_t id = g->sides[i % 2].items[a].id;
      if (last[id] != i + 1) w.weights[id]++, last[id] = (uint32_t)i + 1;
    }
  for (size_t v = 0; !status && v < g->n_distinct; v++) w.weights[v] = (float)log(2 * (double)n / (double)w.weights[v]);
  if (!status && n > 1) status = cq_context_try(ctx, n_runs, match_run, &w, error);
  if (!status) mean_of_raw(g->covered, w.raw, n > 1 ? n : 0, 0), mean_of_raw(g->by_words, w.raw, n > 1 ? n : 0, 2);
  w.shift = 0;
  if (!status) status = cq_context_try(ctx, n_runs, match_run, &w, error);
  if (!status) compare_names(g, orders);
  size_t n_orders = 0;
  for (size_t i = 0; !status && i < n; i++)
    if (w.raw[i * RAW + 5] >= 6) orders[n_orders++] = w.raw[i * RAW + 4];
  if (!status) {
    const double median = quantile(orders, n_orders, 0.6);
    g->usual_order = ((double)n_orders * median + PRIOR_ROWS) / ((double)n_orders + PRIOR_ROWS);
  }
  for (size_t i = 0; !status && i < n; i++) {
    double *e = row_of(g, i);
    const double *raw = w.raw + i * RAW;
    e[CQ_E_COVERED] = (raw[0] - g->covered[0]) / g->covered[1];
    e[CQ_E_COVERED_PART] = (raw[1] - g->covered[0]) / g->covered[1];
    e[CQ_E_WORDS] = (raw[2] - g->by_words[0]) / g->by_words[1];
    e[CQ_E_WORDS_PART] = (raw[3] - g->by_words[0]) / g->by_words[1];
    e[CQ_E_ORDER] = order_ratio(raw[4], (size_t)raw[5], g->usual_order);
  }
  cq_free(last), cq_free(orders), cq_free(w.weights), cq_free(w.raw);
  return status;
}

/* --- lengths --- */

static double log_length(cq_slice text) {
  return log((double)cq_utf8_length(text.data, text.n) + 1);
}

static cq_status measure_lengths(gathering *g, cq_error *error) {
  const size_t n = g->texts->n;
  double *ratios = cq_alloc_array(n, sizeof *ratios);
  if (!ratios) return cq_fail_memory(error, "lengths");
  for (size_t i = 0; i < n; i++) ratios[i] = log_length(g->texts->sides[0][i]) - log_length(g->texts->sides[1][i]);
  const double share = (double)n / ((double)n + PRIOR_ROWS);
  g->usual_ratio = share * quantile(ratios, n, 0.5);
  for (size_t i = 0; i < n; i++) ratios[i] = fabs(ratios[i] - g->usual_ratio);
  g->ratio_spread = share * 1.4826 * quantile(ratios, n, 0.5) + (1 - share) * PRIOR_SPREAD;
  cq_free(ratios);
  for (size_t i = 0; i < n; i++) {
    const double a = log_length(g->texts->sides[0][i]), b = log_length(g->texts->sides[1][i]);
    const double noise = 3 / exp(fmin(a, b)); /* Gale & Church 1993: the variance of a length grows with it */
    row_of(g, i)[CQ_E_LENGTH] =
        fmin(fabs(a - b - g->usual_ratio) / sqrt(g->ratio_spread * g->ratio_spread + noise * noise), 8);
  }
  return CQ_OK;
}

/* --- numbers --- */

enum { MAX_NUMBERS = 64, MAX_DIGITS = 16 };
typedef struct numbers {
  char items[MAX_NUMBERS][MAX_DIGITS + 1];
  char all[MAX_NUMBERS * MAX_DIGITS + 1]; /* the digits, whatever separates them */
  size_t n, n_all;
} numbers;

/* Digits with single marks between them: 1,500 and 1.500 are 1500. */
static void read_numbers(numbers *out, cq_slice text) {
  uint32_t c, before = 0;
  size_t n = 0, gap = 2;
  out->n = out->n_all = 0;
  while (cq_utf8_next(&c, &text)) {
    const int digit = cq_char_digit(c);
    if (digit < 0) {
      gap++, before = c;
      continue;
    }
    if (gap && (gap > 1 || !(cq_char_is_punctuation(before) || before == 0xa0 || before == 0x202f) || !n)) {
      if (out->n == MAX_NUMBERS) break;
      out->n++, n = 0;
    }
    if (n < MAX_DIGITS) out->items[out->n - 1][n++] = (char)('0' + digit), out->items[out->n - 1][n] = '\0';
    if (out->n_all < MAX_NUMBERS * MAX_DIGITS) out->all[out->n_all++] = (char)('0' + digit);
    gap = 0;
  }
}

static int by_text(const void *a, const void *b) {
  return strcmp(a, b);
}

static void compare_numbers(double *e, cq_slice source, cq_slice target) {
  numbers x, y;
  size_t i = 0, j = 0, alone[2] = {0, 0};
  read_numbers(&x, source), read_numbers(&y, target);
  e[CQ_E_NUMBERS_BOTH] = e[CQ_E_NUMBERS_ONE] = 0;
  if (x.n_all == y.n_all && memcmp(x.all, y.all, x.n_all) == 0) return; /* 10 000 and 10,000 */
  qsort(x.items, x.n, sizeof *x.items, by_text), qsort(y.items, y.n, sizeof *y.items, by_text);
  while (i < x.n || j < y.n) {
    const int order = i == x.n ? 1 : j == y.n ? -1 : strcmp(x.items[i], y.items[j]);
    alone[0] += order<0, alone[1] += order> 0;
    i += order <= 0, j += order >= 0;
  }
  e[CQ_E_NUMBERS_BOTH] = log1p((double)cq_min(alone[0], alone[1]));
  e[CQ_E_NUMBERS_ONE] = log1p((double)(alone[0] + alone[1] - 2 * cq_min(alone[0], alone[1])));
}

/* --- languages --- */

/* The language of most rows of a side, by their probabilities. */
static cq_status find_language(const char **out, const cq_slice *texts, size_t n, cq_error *error) {
  cq_map sums = {0};
  double max = 0;
  cq_status status = CQ_OK;
  *out = NULL;
  for (size_t i = 0; !status && i < n; i++) {
    const cq_language_guess guess = cq_language_identify(texts[i]);
    if (guess.probability == 0) continue;
    cq_map_entry *entry = cq_map_at(&sums, cq_slice_of(guess.code));
    if (!entry) status = cq_fail_memory(error, "languages");
    if (status) break;
    entry->value = (entry->value == CQ_MAP_NONE ? 0 : entry->value) + (uint64_t)(1000 * guess.probability);
    if ((double)entry->value > max) max = (double)entry->value, *out = guess.code;
  }
  cq_map_free(&sums);
  return status;
}

static double is_other(cq_slice text, const char *language) {
  const cq_language_guess guess = cq_language_identify(text);
  return language && guess.probability > 0 && strcmp(guess.code, language) != 0 ? guess.probability : 0;
}

static double is_language(cq_slice text, const char *language) {
  const cq_language_guess guess = cq_language_identify(text);
  return language && strcmp(guess.code, language) == 0 ? guess.probability : 0;
}

static void compare_languages(double *e, const gathering *g, size_t i) {
  const char *const *languages = g->file->languages;
  e[CQ_E_LANGUAGE] = e[CQ_E_UNTRANSLATED] = 0;
  for (int side = 0; side < 2; side++) {
    const cq_slice text = g->texts->sides[side][i];
    size_t middle = text.n / 2;
    while (middle < text.n && !cq_is_blank(text.data[middle])) middle++;
    const cq_slice halves[2] = {{text.data, middle}, {text.data + middle, text.n - middle}};
    e[CQ_E_LANGUAGE] = fmax(e[CQ_E_LANGUAGE], is_other(text, languages[side]));
    for (int h = 0; h < 2 && languages[0] && languages[1] && strcmp(languages[0], languages[1]) != 0; h++)
      e[CQ_E_UNTRANSLATED] = fmax(e[CQ_E_UNTRANSLATED], is_language(halves[h], languages[!side]));
  }
}

/* --- copies and repetitions --- */

static void find_copied(double *e, const gathering *g, size_t i, bool *failed) {
  enum { MAX_WORDS = 256 };
  size_t run[MAX_WORDS + 1] = {0}, longest = 0, letters[2] = {0, 0};
  const word *x = g->sides[0].items + g->sides[0].starts[i], *y = g->sides[1].items + g->sides[1].starts[i];
  const size_t n = cq_min(n_words(g, 0, i), MAX_WORDS), m = cq_min(n_words(g, 1, i), MAX_WORDS);
  for (size_t a = 0; a < n; a++) letters[0] += g->distinct[x[a].id].n;
  for (size_t b = 0; b < m; b++) letters[1] += g->distinct[y[b].id].n;
  for (size_t a = 0; a < n; a++)
    for (size_t b = m; b > 0; b--) {
      run[b] = x[a].id == y[b - 1].id ? run[b - 1] + g->distinct[x[a].id].n : 0;
      if (run[b] > longest) longest = run[b];
    }
  const size_t shorter = cq_min(letters[0], letters[1]);
  e[CQ_E_COPIED] = shorter ? (double)longest / (double)shorter : 0;
  e[CQ_E_SHORTNESS] = 1 / (1 + (double)cq_min(n, m));
  cq_builder keys[2] = {{0}, {0}};
  for (int side = 0; side < 2; side++) cq_text_letters(&keys[side], g->texts->sides[side][i], false);
  e[CQ_E_COPY] = keys[0].n && cq_slice_equal(cq_built(&keys[0]), cq_built(&keys[1]));
  for (int side = 0; side < 2; side++) *failed |= keys[side].failed, cq_builder_free(&keys[side]);
}

/* The number of different sides that a text has on the other side, at the first row of each such pair. */
static cq_status count_others(gathering *g, cq_error *error) {
  cq_map counts[2] = {{0}, {0}}, pairs = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < g->texts->n; i++) {
    const cq_slice texts[2] = {g->texts->sides[0][i], g->texts->sides[1][i]};
    const uint64_t hashes[2] = {cq_hash64(texts[0].data, texts[0].n, 0), cq_hash64(texts[1].data, texts[1].n, 1)};
    cq_map_entry *pair = cq_map_at(&pairs, (cq_slice){(const char *)hashes, sizeof hashes});
    ok = pair != NULL;
    const bool is_new = ok && pair->value == CQ_MAP_NONE;
    if (is_new) pair->value = 1;
    for (int side = 0; is_new && ok && side < 2; side++) {
      cq_map_entry *entry = cq_map_at(&counts[side], texts[side]);
      ok = entry != NULL;
      if (ok) entry->value = entry->value == CQ_MAP_NONE ? 1 : entry->value + 1;
    }
  }
  for (size_t i = 0; ok && i < g->texts->n; i++) {
    double *e = row_of(g, i);
    e[CQ_E_REPEATED] = 0;
    for (int side = 0; side < 2; side++)
      e[CQ_E_REPEATED] = fmax(e[CQ_E_REPEATED], log((double)cq_map_get(&counts[side], g->texts->sides[side][i])));
  }
  cq_map_free(&counts[0]), cq_map_free(&counts[1]), cq_map_free(&pairs);
  return ok ? CQ_OK : cq_fail_memory(error, "repetitions");
}

/* --- neighboring words --- */

/* A word's class is the word if it is frequent, else its last letters: endings say what may follow. Class 0 is a text's
 * beginning and end. */
static bool class_words(uint32_t *classes, const gathering *g, const uint32_t *counts, size_t *n_classes) {
  enum { FREQUENT = 5, ENDING = 3 };
  cq_map known = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < g->n_distinct; i++) {
    cq_slice text = g->distinct[i];
    char key[20];
    size_t n = 0, begin = text.n;
    for (int c = 0; c < ENDING && begin > 0; c++) do
        begin--;
      while (begin > 0 && ((unsigned char)text.data[begin] & 0xC0) == 0x80);
    uint32_t first = 0;
    cq_slice rest = text;
    cq_utf8_next(&first, &rest);
    key[n++] = cq_char_is_capital(first) ? 'C' : cq_char_digit(first) >= 0 ? '0' : 'c';
    if (key[0] != '0') memcpy(key + n, text.data + begin, text.n - begin), n += text.n - begin;
    if (counts[i] >= FREQUENT && key[0] != '0') key[0] = ' ';
    cq_map_entry *entry = cq_map_at(&known, key[0] == ' ' ? text : (cq_slice){key, n});
    ok = entry != NULL;
    if (ok && entry->value == CQ_MAP_NONE) entry->value = known.n;
    if (ok) classes[i] = (uint32_t)entry->value;
  }
  *n_classes = known.n + 1;
  cq_map_free(&known);
  return ok;
}

typedef struct bigrams {
  cq_map pairs;
  const uint32_t *classes; /* of words */
  uint64_t *counts;        /* of classes */
  double all;
} bigrams;

/* The logarithm of how much more frequent b is after a, without this occurrence. */
static double follows(const bigrams *m, uint32_t a, uint32_t b) {
  const double prior = 4, pair = (double)cq_map_get(&m->pairs, (cq_slice){(char *)(uint32_t[]){a, b}, 8}) - 1;
  const double expected = ((double)m->counts[b] - 1 + 0.5) / m->all;
  return log((pair / expected + prior) / ((double)m->counts[a] - 1 + prior));
}

static cq_status measure_neighbors(gathering *g, int side, cq_error *error) {
  const words *w = &g->sides[side];
  const size_t n = g->texts->n;
  uint32_t *counts = cq_alloc_array_zeroed(g->n_distinct, sizeof *counts);
  uint32_t *classes = cq_alloc_array(g->n_distinct, sizeof *classes);
  bigrams m = {.classes = classes};
  size_t n_classes = 0;
  for (size_t a = 0; counts && a < w->n; a++) counts[w->items[a].id]++;
  bool ok = counts && classes && class_words(classes, g, counts, &n_classes);
  if (ok) m.counts = cq_alloc_array_zeroed(n_classes, sizeof *m.counts);
  ok = ok && m.counts;
  m.all = (double)(w->n + n);
  for (size_t i = 0; ok && i < n; i++)
    for (size_t a = w->starts[i]; ok && a <= w->starts[i + 1]; a++) {
      const uint32_t pair[2] = {a == w->starts[i] ? 0 : classes[w->items[a - 1].id],
                                a == w->starts[i + 1] ? 0 : classes[w->items[a].id]};
      cq_map_entry *entry = cq_map_at(&m.pairs, (cq_slice){(const char *)pair, sizeof pair});
      ok = entry != NULL;
      if (ok) entry->value = entry->value == CQ_MAP_NONE ? 1 : entry->value + 1, m.counts[pair[1]]++;
    }
  for (size_t i = 0; ok && i < n; i++) {
    double sum = 0, end = 0, *e = row_of(g, i);
    uint32_t before = 0;
    for (size_t a = w->starts[i]; a < w->starts[i + 1]; a++) {
      const uint32_t class = classes[w->items[a].id];
      sum += follows(&m, before, class);
      before = class;
    }
    if (before) end = follows(&m, before, 0);
    e[CQ_E_NEIGHBORS] = fmin(side ? e[CQ_E_NEIGHBORS] : 12, fmax(sum, -12));
    e[CQ_E_END] = fmin(side ? e[CQ_E_END] : 4, fmax(end, -4));
  }
  cq_map_free(&m.pairs), cq_free(m.counts), cq_free(counts), cq_free(classes);
  return ok ? CQ_OK : cq_fail_memory(error, "neighboring words");
}

static cq_status compare_texts(void *context, size_t run, int worker, cq_error *error) {
  gathering *g = context;
  bool failed = false;
  (void)worker;
  for (size_t i = run * AT_ONCE; i < cq_min((run + 1) * AT_ONCE, g->texts->n); i++) {
    double *e = row_of(g, i);
    compare_numbers(e, g->texts->sides[0][i], g->texts->sides[1][i]);
    compare_languages(e, g, i);
    find_copied(e, g, i, &failed);
  }
  return failed ? cq_fail_memory(error, "rows") : CQ_OK;
}

cq_status cq_score_evidence(double *out, float *shifted, cq_score_file *file, const cq_score_texts *texts,
                            cq_cached_encoder *store, cq_cached_progress progress, void *context, cq_context *ctx,
                            cq_error *error) {
  const size_t n = texts->n, n_runs = (n + AT_ONCE - 1) / AT_ONCE;
  gathering g = {.texts = texts, .store = store, .file = file, .out = out, .shifted = shifted};
  g.null_mean = cq_alloc_array(n, sizeof *g.null_mean);
  bool ok = g.null_mean != NULL;
  for (int side = 0; ok && side < 2; side++) {
    g.shuffled[side] = cq_alloc_array(n, sizeof *g.shuffled[side]);
    ok = g.shuffled[side] && split_words(&g, side);
    for (size_t i = 0; ok && i < n; i++)
      g.shuffled[side][i] = shuffle_text(&g.arena, texts->sides[side][i]), ok = g.shuffled[side][i].data != NULL;
  }
  cq_status status = ok ? CQ_OK : cq_fail_memory(error, "rows");
  for (int side = 0; !status && side < 2; side++)
    if (!file->languages[side]) status = find_language(&file->languages[side], texts->sides[side], n, error);
  if (!status) status = cq_context_try(ctx, n_runs, compare_texts, &g, error);
  if (!status) status = measure_lengths(&g, error);
  if (!status) status = count_others(&g, error);
  for (int side = 0; !status && side < 2; side++) status = measure_neighbors(&g, side, error);
  if (!status) status = encode_all(&g, store, progress, context, ctx, error);
  if (!status) measure_null(&g), cq_context_run(ctx, n_runs, compare_vectors, &g);
  if (!status) status = match_all(&g, ctx, error);
  for (int side = 0; side < 2; side++) {
    cq_text_tokens_free(&g.tokens[side]);
    cq_free(g.sides[side].items), cq_free(g.sides[side].starts), cq_free(g.shuffled[side]);
  }
  for (int l = 0; l < 5; l++) cq_free(g.records[l]);
  cq_map_free(&g.ids), cq_free(g.distinct), cq_free(g.null_mean), cq_arena_free(&g.arena);
  return status;
}
