/* Word vectors by negative sampling: skip-gram or CBOW, optionally with subwords.
 *
 *   cq_words_options o = cq_words_default_options();
 *   cq_words_train(&words, "corpus.txt", &o, ctx, &err);      // a document a line, words separated by blanks
 *   cq_words_save(words, "vectors.txt", &err);                 // word2vec's format, which gensim reads
 *   cq_words_free(words);
 *
 * Defaults are those of Niyogi et al. 2018, who trained with gensim, and gensim's own for what they do not name. With
 * one thread the result depends on the seed alone; several threads write to one another's vectors as they go
 * (Hogwild, Recht et al. 2011), so that no two runs agree bit for bit. Sources: Mikolov et al. 2013 (both
 * papers); Bojanowski et al. 2017 (subwords).
 *
 * Threads: a trained or opened cq_words may be used by any number of threads at once. progress is called on the calling
 * thread. */
#ifndef CALQUE_LAB_WORDS_H
#define CALQUE_LAB_WORDS_H

#include "calque/context.h"
#include "calque/slice.h"
#include "calque/words.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_words cq_words;

/* Errors: CQ_ERR_ARGUMENT for options out of range or a corpus without words; those of reading; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_words_train(cq_words **out, const char *corpus, const cq_words_options *options,
                                            cq_context *ctx, cq_error *error);
/* Reads word2vec's text format: a line of words and dimensions, then a word and its numbers a line. Errors:
 * CQ_ERR_FORMAT with the line. */
CQ_API CQ_MUST_USE cq_status cq_words_open(cq_words **out, const char *path, cq_error *error);
CQ_API void cq_words_free(cq_words *words);
CQ_API CQ_MUST_USE cq_status cq_words_save(const cq_words *words, const char *path, cq_error *error);
/* Writes what the loss is computed from: PREFIX.in.npy, PREFIX.out.npy, f32 [words, dim], and PREFIX.vocab, lines of
 * word, tab, count. Errors: CQ_ERR_ARGUMENT for vectors that were not trained here. */
CQ_API CQ_MUST_USE cq_status cq_words_save_state(const cq_words *words, const char *prefix, cq_error *error);

CQ_API size_t cq_words_n(const cq_words *words);
CQ_API int cq_words_dim(const cq_words *words);
CQ_API cq_slice cq_words_word(const cq_words *words, size_t i);
/* The number of a word, SIZE_MAX when there is none. */
CQ_API size_t cq_words_find(const cq_words *words, cq_slice word);
CQ_API const float *cq_words_vector(const cq_words *words, size_t i); /* [dim] */
/* How many tokens training read in all, including those that subsampling dropped. */
CQ_API uint64_t cq_words_n_read(const cq_words *words);

/* The mean loss per pair, -log s(x o) - sum of log s(-x o_i), of a state on a corpus: windows and negatives are drawn
 * anew from the seed, the same for every state over the same words. Errors: those of reading; CQ_ERR_FORMAT for files
 * that do not fit one another. */
CQ_API CQ_MUST_USE cq_status cq_words_loss(double *loss, const char *corpus, const char *prefix,
                                           const cq_words_options *options, cq_context *ctx, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
