/* Evidence from the rows' characters: lengths, numbers, languages, copies, repetitions, final marks. */
#include "recipe/score/gathering.h"

#include "base/context.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "calque/language.h"
#include "text/letters.h"
#include "text/script.h"
#include "text/unicode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- lengths --- */

static double log_length(cq_slice text) {
  return log((double)cq_utf8_length(text.data, text.n) + 1);
}

static cq_status measure_lengths(cq_gathering *g, cq_error *error) {
  const double usual_spread = 0.2;
  const size_t n = g->texts->n;
  double *ratios = cq_alloc_array(n, sizeof *ratios);
  if (!ratios) return cq_fail_memory(error, "lengths");
  for (size_t i = 0; i < n; i++) ratios[i] = log_length(g->texts->sides[0][i]) - log_length(g->texts->sides[1][i]);
  memcpy(g->surplus, ratios, n * sizeof *ratios);
  const double share = (double)n / ((double)n + CQ_PRIOR_ROWS), usual = share * cq_quantile(ratios, n, 0.5);
  for (size_t i = 0; i < n; i++) g->surplus[i] -= usual, ratios[i] = fabs(g->surplus[i]);
  const double spread = share * 1.4826 * cq_quantile(ratios, n, 0.5) + (1 - share) * usual_spread;
  cq_free(ratios);
  for (size_t i = 0; i < n; i++) {
    const double a = log_length(g->texts->sides[0][i]), b = log_length(g->texts->sides[1][i]);
    const double noise = 3 / exp(fmin(a, b)); /* Gale & Church 1993: the variance of a length grows with it */
    cq_evidence_row(g, i)[CQ_E_LENGTH] = fmin(fabs(g->surplus[i]) / sqrt(spread * spread + noise * noise), 8);
  }
  return CQ_OK;
}

/* --- final marks --- */

static bool ends_with_mark(cq_slice text) {
  uint32_t last = 0;
  while (cq_utf8_next(&last, &text)) {
  }
  return cq_char_is_punctuation(last) && last != ',';
}

/* The longer side alone ends with a mark: 1; the shorter one alone: -1. */
static void compare_ends(double *e, const cq_gathering *g, size_t i) {
  const int longer = cq_longer_side(g, i);
  e[CQ_E_MARK] =
      (double)ends_with_mark(g->texts->sides[longer][i]) - (double)ends_with_mark(g->texts->sides[!longer][i]);
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

static void compare_languages(double *e, const cq_gathering *g, size_t i) {
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

static void find_copied(double *e, const cq_gathering *g, size_t i, bool *failed) {
  enum { MAX_WORDS = 256 };
  size_t run[MAX_WORDS + 1] = {0}, longest = 0, letters[2] = {0, 0};
  const cq_row_word *x = g->sides[0].items + g->sides[0].starts[i], *y = g->sides[1].items + g->sides[1].starts[i];
  const size_t n = cq_min(cq_n_row_words(g, 0, i), MAX_WORDS), m = cq_min(cq_n_row_words(g, 1, i), MAX_WORDS);
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
static cq_status count_others(cq_gathering *g, cq_error *error) {
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
    double *e = cq_evidence_row(g, i);
    e[CQ_E_REPEATED] = 0;
    for (int side = 0; side < 2; side++)
      e[CQ_E_REPEATED] = fmax(e[CQ_E_REPEATED], log((double)cq_map_get(&counts[side], g->texts->sides[side][i])));
  }
  cq_map_free(&counts[0]), cq_map_free(&counts[1]), cq_map_free(&pairs);
  return ok ? CQ_OK : cq_fail_memory(error, "repetitions");
}

static cq_status compare_texts(void *context, size_t run, int worker, cq_error *error) {
  cq_gathering *g = context;
  bool failed = false;
  (void)worker;
  for (size_t i = run * CQ_ROWS_AT_ONCE; i < cq_min((run + 1) * CQ_ROWS_AT_ONCE, g->texts->n); i++) {
    double *e = cq_evidence_row(g, i);
    compare_ends(e, g, i);
    compare_numbers(e, g->texts->sides[0][i], g->texts->sides[1][i]);
    compare_languages(e, g, i);
    find_copied(e, g, i, &failed);
  }
  return failed ? cq_fail_memory(error, "rows") : CQ_OK;
}

cq_status cq_gather_surface(cq_gathering *g, cq_context *ctx, cq_error *error) {
  const size_t n = g->texts->n;
  cq_status status = measure_lengths(g, error);
  for (int side = 0; !status && side < 2; side++)
    if (!g->file->languages[side]) status = find_language(&g->file->languages[side], g->texts->sides[side], n, error);
  if (!status) status = cq_context_try(ctx, (n + CQ_ROWS_AT_ONCE - 1) / CQ_ROWS_AT_ONCE, compare_texts, g, error);
  return status ? status : count_others(g, error);
}
