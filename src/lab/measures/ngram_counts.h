/* The n-grams that a few short texts have in common, order by order.
 *
 *   units   a b a b c | b a b        two texts, concatenated
 *   order 1 0 1 0 1 2 | 1 0 1        numbers by first occurrence
 *   order 2 0 1 0 2 . | 1 0 .        of the pairs (number at order n - 1, next unit)
 *
 * So equal n-grams have equal numbers, at every order, without a limit on the order. */
#ifndef LAB_MEASURES_NGRAM_COUNTS_H
#define LAB_MEASURES_NGRAM_COUNTS_H

#include "base/u32_array.h"

typedef struct cq_ngrams {
  cq_u32_array units;
  size_t *ends; /* [n_texts] of the texts within units */
  size_t n_texts, ends_capacity;
  size_t order;     /* of the counts below; 0: none yet */
  uint32_t n_kinds; /* different n-grams */
  uint32_t *counts; /* [n_texts, n_kinds] */
  size_t counts_capacity;
  uint32_t *numbers; /* of the n-gram that begins at each unit */
  size_t numbers_capacity;
  struct cq_ngram_slot *slots;
  size_t slots_capacity;
} cq_ngrams;

/* Start from {0}; clear removes the texts and keeps the memory. */
void cq_ngrams_clear(cq_ngrams *g);
void cq_ngrams_free(cq_ngrams *g);
/* Ends a text: the units appended to g->units since the last call. False: out of memory, here and below. */
bool cq_ngrams_end_text(cq_ngrams *g);
/* Counts the next order, starting with 1. Call it only after all texts have ended. */
bool cq_ngrams_next(cq_ngrams *g);

size_t cq_ngrams_length(const cq_ngrams *g, size_t text); /* units */
size_t cq_ngrams_total(const cq_ngrams *g, size_t text);  /* n-grams of this order */
/* How many of text a's n-grams text b has. */
size_t cq_ngrams_matches(const cq_ngrams *g, size_t a, size_t b);
/* Clipped matches: n-grams of the first text that the others have, each at most as often as in the other text that has
 * it most often. */
size_t cq_ngrams_clipped(const cq_ngrams *g);

#endif
