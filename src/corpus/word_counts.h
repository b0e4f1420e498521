/* The distinct words of a text with their counts. Words that differ only in case or compatibility forms count as the
 * same.
 *
 *   cq_word_counts words;
 *   cq_word_counts_open(&words, error);
 *   cq_word_counts_read(&words, paths, n_paths, CQ_ALL_COLUMNS, flow, counts, error);
 *   cq_word_counts_of(&words, cq_word_counts_fold(&words, word));
 *   cq_word_counts_close(&words); */
#ifndef CORPUS_WORD_COUNTS_H
#define CORPUS_WORD_COUNTS_H

#include "base/map.h"
#include "corpus/rows.h"
#include "text/splitter.h"

typedef struct cq_word {
  cq_slice folded;
  cq_slice text; /* the word as it first occurs in the text; the folded word, if it occurs, too */
  uint64_t n;
} cq_word;

typedef struct cq_word_counts {
  cq_word *items; /* [n] in the order in which the text has them */
  size_t n, capacity;
  cq_map numbers; /* of folded words; from here on private */
  cq_arena texts;
  cq_splitter splitter;
  cq_builder folded;
} cq_word_counts;

/* *out can be closed after an error. */
CQ_MUST_USE cq_status cq_word_counts_open(cq_word_counts *out, cq_error *error);
void cq_word_counts_close(cq_word_counts *words);

/* Adds the words of files, from these columns of each row. Malformed lines are counted as dropped. */
typedef enum cq_word_columns { CQ_ALL_COLUMNS, CQ_FIRST_COLUMN, CQ_LAST_COLUMN } cq_word_columns;
CQ_MUST_USE cq_status cq_word_counts_read(cq_word_counts *words, const char *const *paths, size_t n_paths,
                                          cq_word_columns columns, const cq_corpus_flow *flow, cq_corpus_counts *counts,
                                          cq_error *error);

/* Whether a character belongs to an alphabet that spells words: not a digit, not an ideograph. */
bool cq_char_is_spelled(uint32_t code);

/* A word's normalized form for comparison, valid until the next call; NULL data: out of memory. */
cq_slice cq_word_counts_fold(cq_word_counts *words, cq_slice text);
/* How often the text has a folded word. */
uint64_t cq_word_counts_of(const cq_word_counts *words, cq_slice folded);

#endif
