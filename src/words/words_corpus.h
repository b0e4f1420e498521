/* Text as word numbers, the frequent words first. */
#ifndef WORDS_WORDS_CORPUS_H
#define WORDS_WORDS_CORPUS_H

#include "base/intern.h"
#include "base/u32_array.h"
#include "calque/status.h"

typedef struct cq_word_corpus {
  cq_intern words;  /* after cq_word_corpus_finish by falling count, ties in order of first occurrence */
  uint64_t *counts; /* [words.n] */
  cq_u32_array tokens;
  size_t *starts; /* [n_documents + 1] into tokens */
  size_t n_documents, starts_capacity;
} cq_word_corpus;

/* Adds a document; its numbers refer to `words`, to which the caller adds its words. */
CQ_MUST_USE cq_status cq_word_corpus_add(cq_word_corpus *corpus, const uint32_t *words, size_t n, cq_error *error);
/* Adds a file's lines as documents, split into words at blanks. Errors: those of cq_lines; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_word_corpus_read(cq_word_corpus *corpus, const char *path, cq_error *error);
/* Counts, drops words rarer than min_count, and renumbers the others. */
CQ_MUST_USE cq_status cq_word_corpus_finish(cq_word_corpus *corpus, uint64_t min_count, cq_error *error);
void cq_word_corpus_free(cq_word_corpus *corpus);

#endif
