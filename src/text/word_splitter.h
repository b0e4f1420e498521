/* The words of a text: what lies between Unicode's word boundaries (UAX 29) and is no punctuation, as ICU has them, with
 * dictionaries for scripts without spaces.
 *
 *   cq_word_splitter words;
 *   cq_word_splitter_open(&words, error);
 *   cq_word_splitter_run(&words, text);   // words.items[0] ... words.items[words.n - 1], which lie in text
 *   cq_word_splitter_close(&words); */
#ifndef TEXT_WORD_SPLITTER_H
#define TEXT_WORD_SPLITTER_H

#include "base/slice.h"
#include "calque/status.h"

typedef struct cq_word_splitter {
  cq_slice *items;
  size_t n, capacity; /* capacity and iterator are private */
  void *iterator;
} cq_word_splitter;

/* *out is {0} after an error. */
CQ_MUST_USE cq_status cq_word_splitter_open(cq_word_splitter *out, cq_error *error);
/* False when out of memory, and for text that is no UTF-8. */
bool cq_word_splitter_run(cq_word_splitter *splitter, cq_slice text);
void cq_word_splitter_close(cq_word_splitter *splitter);

#endif
