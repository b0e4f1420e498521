/** @file Options of word vectors with negative sampling: skip-gram or CBOW, with or without subwords. A student's new
 * pieces without translations start from such vectors (calque/student.h); calque/lab/words.h trains them from a file.
 *
 * Defaults are those of Niyogi, Ghosh & Bhattacharya 2018, who trained with gensim, otherwise gensim's. */
#ifndef CALQUE_WORDS_H
#define CALQUE_WORDS_H

#include "calque/context.h"
#include "calque/options.h"
#include "calque/slice.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_words_options {
  size_t size;
  int dim, window, negative, epochs;
  double learning_rate, min_learning_rate; /**< the rate falls linearly with the words read, from the first to the
                                            * second */
  double sample;                           /**< subsample words with a higher share of the text; 0: none */
  uint64_t min_count;                      /**< rarer words are dropped */
  uint64_t seed;
  bool cbow;                /**< CBOW instead of skip-gram */
  bool share_negatives;     /**< draw negatives once per window: a different algorithm, several times as fast */
  int min_ngram, max_ngram; /**< subwords of this many characters; max 0: none */
  uint64_t buckets;         /**< hash buckets of subwords */
  void (*progress)(void *context, uint64_t done, uint64_t all); /**< words, over all epochs */
  void *progress_context;
} cq_words_options;
/** Group "words": 100 dimensions, window 5, 5 negatives, 5 epochs, rate 0.01 to 0.0001, sample 0.001, seed 1. */
CQ_DEFAULT_OPTIONS(cq_words_options, cq_words_default_options, words)

#ifdef __cplusplus
}
#endif
#endif
