/* Words and numbers that stand in both documents: names, above all. See alignment.h. */
#include "base/error.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/u32_array.h"
#include "recipe/align/alignment.h"
#include "text/splitter.h"
#include "text/unicode.h"

#include <math.h>
#include <stdlib.h>

enum { SHORTEST = 3 }; /* bytes, unless it is a number */
#define LEAST 0.3F     /* weights below this are left out: words that are everywhere */

/* A document's words, distinct within a sentence, by number in `words`. */
typedef struct listing {
  cq_u32_array words;
  size_t *starts; /* [n + 1] */
} listing;

static bool counts_as_word(cq_slice word) {
  return word.n >= SHORTEST || (word.n && word.data[0] >= '0' && word.data[0] <= '9');
}

static cq_status list_sentence(listing *l, cq_map *words, cq_splitter *splitter, cq_slice sentence, cq_builder *lower,
                               cq_error *error) {
  const size_t first = l->words.n;
  cq_builder_clear(lower);
  cq_text_lower(lower, sentence);
  if (lower->failed || !cq_splitter_run(splitter, cq_built(lower))) return cq_fail_memory(error, "words");
  for (size_t i = 0; i < splitter->n; i++) {
    if (!counts_as_word(splitter->items[i])) continue;
    cq_map_entry *entry = cq_map_at(words, splitter->items[i]);
    if (!entry) return cq_fail_memory(error, "words");
    if (entry->value == CQ_MAP_NONE) entry->value = words->n - 1;
    const uint32_t word = (uint32_t)entry->value;
    if (!cq_u32_array_append(&l->words, &word, 1)) return cq_fail_memory(error, "words");
  }
  size_t kept = first;
  if (l->words.n > first) qsort(l->words.items + first, l->words.n - first, sizeof *l->words.items, cq_order_u32);
  for (size_t i = first; i < l->words.n; i++)
    if (kept == first || l->words.items[kept - 1] != l->words.items[i]) l->words.items[kept++] = l->words.items[i];
  l->words.n = kept;
  return CQ_OK;
}

static cq_status list_document(listing *l, cq_map *words, cq_splitter *splitter, const cq_align_document *d,
                               cq_error *error) {
  cq_builder lower = {0};
  cq_status status = CQ_OK;
  l->starts = cq_alloc_array_zeroed(d->n + 1, sizeof *l->starts);
  if (!l->starts) return cq_fail_memory(error, "words");
  for (size_t i = 0; !status && i < d->n; i++) {
    status = list_sentence(l, words, splitter, cq_align_text(d, i, 1), &lower, error);
    l->starts[i + 1] = l->words.n;
  }
  cq_builder_free(&lower);
  return status;
}

/* Weighs the words by how often they are in sentences of both, and keeps those of some weight. */
static cq_status weigh(float *weights, size_t n_words, listing lists[2], const size_t n[2], cq_error *error) {
  uint32_t *counts = cq_alloc_array_zeroed(n_words + 1, 2 * sizeof *counts);
  if (!counts) return cq_fail_memory(error, "words");
  const double n_pairs = (double)n[0] * (double)n[1];
  for (int side = 0; side < 2; side++)
    for (size_t i = 0; i < lists[side].words.n; i++) counts[2 * lists[side].words.items[i] + (uint32_t)side]++;
  for (size_t w = 0; w < n_words; w++) {
    const double both = (double)counts[2 * w] * counts[2 * w + 1];
    const double weight = both == 0 ? 0 : n_pairs > 1 ? log(n_pairs / both) / log(n_pairs) : 1;
    weights[w] = weight > LEAST ? (float)weight : 0;
  }
  for (int side = 0; side < 2; side++) {
    listing *l = &lists[side];
    size_t kept = 0;
    if (!l->words.items) continue; /* no word at all */
    for (size_t i = 0, at = 0; i < n[side]; i++) {
      for (; at < l->starts[i + 1]; at++)
        if (weights[l->words.items[at]] > 0) l->words.items[kept++] = l->words.items[at];
      l->starts[i + 1] = kept;
    }
    l->words.n = kept;
  }
  cq_free(counts);
  return CQ_OK;
}

cq_status cq_align_shared_words(float **weights, cq_align_side sides[2], const cq_align_document *const documents[2],
                                cq_error *error) {
  cq_map words = {0};
  cq_splitter splitter;
  listing lists[2] = {{.starts = NULL}, {.starts = NULL}};
  const size_t n[2] = {sides[0].n, sides[1].n};
  *weights = NULL;
  cq_status status = cq_splitter_open(&splitter, CQ_SPLIT_WORDS, error);
  for (int side = 0; !status && side < 2; side++)
    status = list_document(&lists[side], &words, &splitter, documents[side], error);
  if (!status && !(*weights = cq_alloc_array_zeroed(words.n + 1, sizeof **weights)))
    status = cq_fail_memory(error, "words");
  if (!status) status = weigh(*weights, words.n, lists, n, error);
  for (int side = 0; side < 2; side++)
    sides[side].words = lists[side].words.items, sides[side].word_starts = lists[side].starts;
  cq_splitter_close(&splitter);
  cq_map_free(&words);
  return status;
}
