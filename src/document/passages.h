/* Splits long texts into passages that fit a model: as many consecutive sentences as fit; the last ones are repeated at
 * the beginning of the next passage. No passage ends with a heading: a block of one line without a final mark. */
#ifndef DOCUMENT_PASSAGES_H
#define DOCUMENT_PASSAGES_H

#include "calque/sentences.h"
#include "text/splitter.h"

typedef struct cq_passage {
  size_t begin, end; /* bytes of the text, blanks at both ends left out */
} cq_passage;

/* The number of tokens in a piece of text, without special ones. Errors: those of the tokenizer. */
typedef cq_status (*cq_count_tokens_fn)(size_t *n, void *context, cq_slice text, cq_error *error);

typedef struct cq_passage_options {
  size_t max_tokens;     /* of a passage, at least 1 */
  size_t overlap_tokens; /* at most this many tokens are repeated in the next passage; whole sentences */
  cq_count_tokens_fn count;
  void *context;
  const char *language; /* a code; NULL: identified */
} cq_passage_options;

/* Finds the passages of one text after another. Initialize with cq_passages_open. */
typedef struct cq_passages {
  cq_passage *items;
  size_t n;
  size_t capacity; /* from here on private */
  cq_sentence_splitter *sentences;
  cq_splitter words;
  struct cq_unit *units;
  size_t n_units, units_capacity;
} cq_passages;

CQ_MUST_USE cq_status cq_passages_open(cq_passages *out, cq_error *error);
void cq_passages_close(cq_passages *passages);

/* passages->items [n], which cover all of the text; none for a blank text. A sentence longer than max_tokens is split
 * between words; a word longer than that, which occurs only in noise, is a separate passage. Errors: those of counting;
 * CQ_ERR_FORMAT for invalid UTF-8; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_passages_find(cq_passages *passages, cq_slice text, const cq_passage_options *options,
                                       cq_error *error);

#endif
