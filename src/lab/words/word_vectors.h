/* Word vectors in word2vec's text format: a line with the numbers of words and dimensions, then one line per word: the
 * word and its numbers, separated by blanks. */
#ifndef LAB_WORDS_WORD_VECTORS_H
#define LAB_WORDS_WORD_VECTORS_H

#include "base/intern.h"
#include "calque/status.h"

typedef struct cq_word_vectors {
  cq_intern words;
  float *data; /* [words.n, dim] */
  int dim;
} cq_word_vectors;

/* Errors: CQ_ERR_FORMAT with the line for a malformed first line, a wrong number of columns or lines, a malformed or
 * infinite number, a repeated word; CQ_ERR_IO, CQ_ERR_MEMORY. Release it after an error, too. */
CQ_MUST_USE cq_status cq_word_vectors_read(cq_word_vectors *out, const char *path, cq_error *error);
CQ_MUST_USE cq_status cq_word_vectors_write(const cq_word_vectors *vectors, const char *path, cq_error *error);
void cq_word_vectors_free(cq_word_vectors *vectors);

#endif
