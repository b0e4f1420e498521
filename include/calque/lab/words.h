/** @file Word vectors with negative sampling: skip-gram or CBOW, optionally with subwords.
 *
 *      cq_words_options o = cq_words_default_options();
 *      cq_words_train(&words, "corpus.txt", &o, ctx, &err);      // a document per line, words separated by blanks
 *      cq_words_save(words, "vectors.txt", &err);                 // word2vec's format, which gensim reads
 *      cq_words_free(words);
 *
 * Defaults are those of calque/words.h. With one thread the result depends only on the seed; several threads update the
 * same vectors without locks (Hogwild, Recht et al. 2011), so runs differ. @source Mikolov et al. 2013 (both papers);
 * Bojanowski et al. 2017 (subwords).
 *
 * @threads A trained or opened cq_words may be used by any number of threads at once. progress is called on the calling
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

/** Trains vectors on a file. @errors CQ_ERR_ARGUMENT for options out of range or a corpus without words; those of
 * reading; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_words_train(cq_words **out, const char *corpus, const cq_words_options *options,
                                            cq_context *ctx, cq_error *error);
/** Reads word2vec's text format: a line with the numbers of words and dimensions, then a line for each word. @errors
 * CQ_ERR_FORMAT with the line. */
CQ_API CQ_MUST_USE cq_status cq_words_open(cq_words **out, const char *path, cq_error *error);
CQ_API void cq_words_free(cq_words *words);
CQ_API CQ_MUST_USE cq_status cq_words_save(const cq_words *words, const char *path, cq_error *error);
/** Writes the input of cq_words_loss(): PREFIX.in.npy, PREFIX.out.npy, f32 [words, dim], and PREFIX.vocab, lines of
 * word, tab, count. @errors CQ_ERR_ARGUMENT for vectors that were read from a file. */
CQ_API CQ_MUST_USE cq_status cq_words_save_state(const cq_words *words, const char *prefix, cq_error *error);

CQ_API size_t cq_words_n(const cq_words *words);
CQ_API int cq_words_dim(const cq_words *words);
CQ_API cq_slice cq_words_word(const cq_words *words, size_t i);
/** The index of a word; SIZE_MAX for an unknown one. */
CQ_API size_t cq_words_find(const cq_words *words, cq_slice word);
CQ_API const float *cq_words_vector(const cq_words *words, size_t i); /**< [dim] */
/** The number of tokens read in training, including those that subsampling dropped. */
CQ_API uint64_t cq_words_n_read(const cq_words *words);

/** The mean loss per pair, `-log s(x o) - sum of log s(-x o_i)`, of a state on a corpus: windows and negatives are
 * drawn from the seed, and are the same for every state with the same words. @errors Those of reading; CQ_ERR_FORMAT
 * for files that do not match. */
CQ_API CQ_MUST_USE cq_status cq_words_loss(double *loss, const char *corpus, const char *prefix,
                                           const cq_words_options *options, cq_context *ctx, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
