/* Counts the n-grams that short texts share, order by order. See ngram_counts.h. */
#include "lab/measures/ngram_counts.h"

#include "base/memory.h"
#include "base/table.h"

#include <string.h>

/* Number NONE is a free slot. */
typedef struct cq_ngram_slot {
  uint32_t before, unit, number;
} cq_ngram_slot;

#define NONE UINT32_MAX

void cq_ngrams_clear(cq_ngrams *g) {
  g->units.n = 0;
  g->n_texts = 0;
  g->order = 0;
}

void cq_ngrams_free(cq_ngrams *g) {
  cq_u32_array_free(&g->units);
  cq_free(g->ends);
  cq_free(g->numbers);
  cq_free(g->counts);
  cq_free(g->slots);
  *g = (cq_ngrams){0};
}

bool cq_ngrams_end_text(cq_ngrams *g) {
  if (!cq_reserve((void **)&g->ends, &g->ends_capacity, g->n_texts + 1, sizeof *g->ends)) return false;
  g->ends[g->n_texts++] = g->units.n;
  return true;
}

static size_t start_of(const cq_ngrams *g, size_t text) {
  return text ? g->ends[text - 1] : 0;
}

size_t cq_ngrams_length(const cq_ngrams *g, size_t text) {
  return g->ends[text] - start_of(g, text);
}

size_t cq_ngrams_total(const cq_ngrams *g, size_t text) {
  const size_t n = cq_ngrams_length(g, text);
  return n < g->order ? 0 : n - g->order + 1;
}

static bool ngram_ends(const void *slot, const void *sought) {
  const cq_ngram_slot *a = slot, *b = sought;
  return a->number == NONE || (a->before == b->before && a->unit == b->unit);
}

static uint32_t number_of_ngram(cq_ngrams *g, size_t n_slots, uint32_t before, uint32_t unit) {
  const cq_ngram_slot sought = {before, unit, g->n_kinds};
  const uint64_t hash = ((uint64_t)before << 32 | unit) * 0x9E3779B97F4A7C15u >> 32;
  cq_ngram_slot *slot = cq_table_find(g->slots, n_slots, sizeof *slot, hash, ngram_ends, &sought);
  if (slot->number == NONE) *slot = sought, g->n_kinds++;
  return slot->number;
}

bool cq_ngrams_next(cq_ngrams *g) {
  size_t n_slots = 16, n_counts;
  while (n_slots < 2 * g->units.n) n_slots *= 2;
  if (!cq_reserve((void **)&g->slots, &g->slots_capacity, n_slots, sizeof *g->slots) ||
      !cq_reserve((void **)&g->numbers, &g->numbers_capacity, g->units.n, sizeof *g->numbers) ||
      !cq_checked_mul(&n_counts, g->n_texts, g->units.n + 1) ||
      !cq_reserve((void **)&g->counts, &g->counts_capacity, n_counts, sizeof *g->counts))
    return false;
  for (size_t i = 0; i < n_slots; i++) g->slots[i].number = NONE;
  const bool first = g->order++ == 0;
  g->n_kinds = 0;
  for (size_t t = 0; t < g->n_texts; t++)
    for (size_t i = start_of(g, t), k = cq_ngrams_total(g, t); k > 0; i++, k--)
      g->numbers[i] = number_of_ngram(g, n_slots, first ? 0 : g->numbers[i], g->units.items[i + g->order - 1]);
  memset(g->counts, 0, g->n_texts * g->n_kinds * sizeof *g->counts);
  for (size_t t = 0; t < g->n_texts; t++)
    for (size_t i = start_of(g, t), k = cq_ngrams_total(g, t); k > 0; i++, k--)
      g->counts[t * g->n_kinds + g->numbers[i]]++;
  return true;
}

size_t cq_ngrams_matches(const cq_ngrams *g, size_t a, size_t b) {
  const uint32_t *x = g->counts + a * g->n_kinds, *y = g->counts + b * g->n_kinds;
  size_t n = 0;
  for (uint32_t k = 0; k < g->n_kinds; k++) n += x[k] < y[k] ? x[k] : y[k];
  return n;
}

size_t cq_ngrams_clipped(const cq_ngrams *g) {
  size_t n = 0;
  for (uint32_t k = 0; k < g->n_kinds; k++) {
    uint32_t max = 0;
    for (size_t t = 1; t < g->n_texts; t++)
      if (g->counts[t * g->n_kinds + k] > max) max = g->counts[t * g->n_kinds + k];
    n += g->counts[k] < max ? g->counts[k] : max;
  }
  return n;
}
