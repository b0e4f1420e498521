/* How words of one language are spelled in another's letters, learned from words and their spellings: a joint n-gram
 * model (Bisani & Ney 2008, "Joint-Sequence Models for Grapheme-to-Phoneme Conversion").
 *
 *   a unit is a step through both words: one letter of each, one of either alone, or two and one
 *                                                         "th" and "θ"; "e" and nothing
 *   learn    probabilities of units, by expectation maximization over all divisions of the pairs
 *   score    of a pair, by them
 *   count    n-grams of units, of each pair's best division
 *   spell    a word's best spelling by the n-grams: beam search
 *
 * Pairs with an empty word, or one of more than CQ_JOINT_LETTERS letters, are passed over. */
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
  cq_joint_unit *units; /* [n_units] the first is a word's beginning and its end */
  size_t n_units, capacity;
  cq_map numbers;         /* of units, by all their letters */
  cq_multimap by_source;  /* units, numbered alike, by their letters of the source */
  cq_map grams, contexts; /* counts of each; for what follows a context: count << 32 | number of different units */
  struct cq_joint_scratch *memory;
} cq_joint_ngrams;

/* false is out of memory. *out is to be closed in any case. */
bool cq_joint_open(cq_joint_ngrams *out);
void cq_joint_close(cq_joint_ngrams *model);

/* Continues from what was learned before. */
bool cq_joint_learn(cq_joint_ngrams *model, const cq_joint_pair *pairs, size_t n, int n_iterations);
/* Log probability; -HUGE_VAL for skipped pairs. */
double cq_joint_score(cq_joint_ngrams *model, cq_joint_pair pair);
bool cq_joint_count(cq_joint_ngrams *model, const cq_joint_pair *pairs, size_t n);
/* Appends; nothing for a word with letters that no unit has, or with too many. */
bool cq_joint_spell(cq_builder *out, cq_joint_ngrams *model, cq_slice word);

#endif
