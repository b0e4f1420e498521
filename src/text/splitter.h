/* Splits a text into words or sentences at Unicode's boundaries (UAX 29). ICU finds them, with dictionaries for scripts
 * without spaces. Words exclude punctuation. Sentences include the blanks after them, so together they are the whole
 * text.
 *
 *   cq_splitter words;
 *   cq_splitter_open(&words, CQ_SPLIT_WORDS, error);
 *   cq_splitter_run(&words, text);   // words.items[0] ... words.items[words.n - 1] point into text
 *   cq_splitter_close(&words); */
#ifndef TEXT_SPLITTER_H
#define TEXT_SPLITTER_H

#include "base/slice.h"
#include "calque/status.h"

typedef enum cq_split { CQ_SPLIT_WORDS, CQ_SPLIT_SENTENCES } cq_split;

typedef struct cq_splitter {
  cq_slice *items;
  size_t n, capacity; /* capacity, iterator and what are private */
  void *iterator;
  cq_split what;
} cq_splitter;

/* *out is {0} after an error. */
CQ_MUST_USE cq_status cq_splitter_open(cq_splitter *out, cq_split what, cq_error *error);
/* Returns false when out of memory, and for text that is not UTF-8. */
bool cq_splitter_run(cq_splitter *splitter, cq_slice text);
void cq_splitter_close(cq_splitter *splitter);

#endif
