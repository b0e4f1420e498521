/* Word vectors by negative sampling; see calque/words.h for the options. */
#ifndef WORDS_TRAIN_WORDS_H
#define WORDS_TRAIN_WORDS_H

#include "base/options.h"
#include "calque/words.h"
#include "words/words_corpus.h"

enum { CQ_MAX_NEGATIVES = 63 };

/* Rows are `stride` floats apart, a whole number of cache lines, and are zero after dim. */
typedef struct cq_word_model {
  uint32_t n;
  int dim;
  int64_t stride;
  float *in;  /* [n + buckets, stride] words, then subwords */
  float *out; /* [n, stride] */
  /* subwords: those of word w are grams[gram_starts[w] .. gram_starts[w + 1]), row numbers of in; NULL: none */
  uint32_t *grams, *gram_starts;
  uint64_t n_read; /* tokens, over all epochs */
} cq_word_model;

/* Errors: CQ_ERR_ARGUMENT for options out of range or a corpus without words; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_word_model_train(cq_word_model *out, const cq_word_corpus *corpus,
                                          const cq_words_options *options, cq_context *ctx, cq_error *error);
void cq_word_model_free(cq_word_model *model);

/* A word's vector: its row or, with subwords, the mean of its row and its subwords' rows. */
void cq_word_model_vector(float *out, const cq_word_model *model, uint32_t word);

/* The subwords of a word, as bucket numbers appended to out: the runs of min_ngram to max_ngram characters of "<word>".
 * Source: Bojanowski et al. 2017, section 3.2; the hash is fastText's, FNV-1a of signed bytes. */
CQ_MUST_USE bool cq_word_grams(cq_u32_array *out, cq_slice word, const cq_words_options *options);

/* The mean loss a pair; see calque/words.h. */
CQ_MUST_USE cq_status cq_word_model_loss(double *loss, const cq_word_model *model, const cq_word_corpus *corpus,
                                         const uint64_t *counts, const cq_words_options *options, cq_context *ctx,
                                         cq_error *error);

#endif
