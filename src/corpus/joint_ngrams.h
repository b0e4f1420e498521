/* Learns how to spell words of one language in another's letters, from pairs of words: a joint n-gram model (Bisani &
 * Ney 2008, "Joint-Sequence Models for Grapheme-to-Phoneme Conversion").
 *
 *   a unit is a step through both words: one letter of each, one letter of one word, or two letters and one
 *                                                         "th" and "θ"; "e" and nothing
 *   learn    probabilities of units, by expectation maximization over all segmentations of the pairs
 *   score    a pair by these probabilities
 *   count    n-grams of units in each pair's best segmentation
 *   spell    a word by its best path through the n-grams: beam search
 *
 * Pairs with an empty word, or a word of more than CQ_JOINT_LETTERS letters, are skipped. */
#ifndef CORPUS_JOINT_NGRAMS_H
#define CORPUS_JOINT_NGRAMS_H

#include "base/multimap.h"

#include <stdbool.h>

enum {
  CQ_JOINT_LETTERS = 20,
  CQ_JOINT_ORDER = 4, /* units of an n-gram */
};

typedef struct cq_joint_pair {
  cq_slice source, target; /* a word and its spelling */
} cq_joint_pair;

typedef struct cq_joint_unit {
  uint32_t letters[4]; /* two of the source, two of the target; 0: none */
  double p, expected;
} cq_joint_unit;

typedef struct cq_joint_ngrams {
  cq_joint_unit *units; /* [n_units] the first marks the beginning and the end of a word */
  size_t n_units, capacity;
  cq_map numbers;         /* of units, by all their letters */
  cq_multimap by_source;  /* the same units, indexed by their source letters */
  cq_map grams, contexts; /* count of each n-gram; for a context, count << 32 | number of distinct units after it */
  struct cq_joint_scratch *memory;
} cq_joint_ngrams;

/* false when out of memory. Close *out even after an error. */
bool cq_joint_open(cq_joint_ngrams *out);
void cq_joint_close(cq_joint_ngrams *model);

/* Continues from what was learned before. */
bool cq_joint_learn(cq_joint_ngrams *model, const cq_joint_pair *pairs, size_t n, int n_iterations);
/* Log probability; -HUGE_VAL for skipped pairs. */
double cq_joint_score(cq_joint_ngrams *model, cq_joint_pair pair);
bool cq_joint_count(cq_joint_ngrams *model, const cq_joint_pair *pairs, size_t n);
/* Appends a word's spelling; nothing for a word with letters that no unit has, or with too many letters. */
bool cq_joint_spell(cq_builder *out, cq_joint_ngrams *model, cq_slice word);

#endif
