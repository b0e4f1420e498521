/* Rows that say nearly the same as an earlier one: MinHash (Broder 1997) with locality-sensitive hashing.
 *
 * The similarity of two rows is that of their sets of 4 characters in a row (Jaccard: common / all), of letters and digits.
 * A row has B keys, each of R minima of hashes of its set; two rows of similarity s have a key in common with a probability
 * of 1 - (1 - s^R)^B. R is chosen so that this rises steeply at the wanted similarity, where it is 2/3. */
#ifndef CORPUS_NEAR_DUPLICATES_H
#define CORPUS_NEAR_DUPLICATES_H

#include "base/key_set.h"
#include "base/slice.h"

enum { CQ_NEAR_KEYS = 8, CQ_NEAR_MOST_MINIMA = 32 };

typedef struct cq_near_duplicates {
  size_t n_minima; /* R */
  cq_key_set keys; /* 8 of each row that was kept */
} cq_near_duplicates;

/* similarity: above 0, below 1. */
cq_near_duplicates cq_near_duplicates_of(double similarity);
/* *is: a key of the row's text (cq_key_text() of its sides) was seen before; otherwise its keys are kept. False: out of
 * memory. */
bool cq_near_duplicates_see(bool *is, cq_near_duplicates *near, cq_slice text);

#endif
