/* The features of language identification: the n-grams of a text's words, as hashes. Identification and the program
 * that trains its model (bench/language_model.c) share this; a change here needs a new model.
 *
 *   cq_ngram_words words = {text, script};
 *   while (cq_ngram_next(&words))
 *     n = cq_ngram_hashes(hashes, &words);
 *
 * A word is a run of letters and marks of one script, in lower case, with a blank at both ends:
 *
 *   " haus "  ──▶  h a u s   _h ha au us s_   _ha hau aus us_   ...   and the word, if it is longer than these
 *
 * Runs longer than CQ_NGRAM_WORD, as in scripts without spaces, are cut into several words. */
#ifndef TEXT_NGRAMS_H
#define TEXT_NGRAMS_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

enum {
  CQ_NGRAM_MAX = 5,
  CQ_NGRAM_WORD = 64, /* characters, the blanks among them */
  CQ_NGRAM_HASHES = CQ_NGRAM_WORD * CQ_NGRAM_MAX + 1,
};

typedef struct cq_ngram_words {
  cq_slice text; /* what is left of it */
  int script;
  uint32_t letters[CQ_NGRAM_WORD];
  size_t n;
} cq_ngram_words;

/* False: there are no more. */
bool cq_ngram_next(cq_ngram_words *words);

/* The hashes of the word's n-grams; returns how many. None is 0. */
size_t cq_ngram_hashes(uint32_t out[CQ_NGRAM_HASHES], const cq_ngram_words *words);

/* The script with the most bytes among the text's letters. A Chinese character carries more information than an English
 * one, and has more bytes. CQ_SCRIPT_NONE: no letters. */
int cq_ngram_script(cq_slice text);

#endif
