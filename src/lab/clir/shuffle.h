/* Merges documents of several languages, so that words on one topic are near each other in any language. */
#ifndef LAB_CLIR_SHUFFLE_H
#define LAB_CLIR_SHUFFLE_H

#include "base/random.h"
#include "words/words_corpus.h"

/* A document's words, borrowed. */
typedef struct cq_word_run {
  const uint32_t *words;
  size_t n;
} cq_word_run;

/* Appends the documents' words in turn: from each, the ratio of its length to the shortest one's, rounded up, in rounds
 * until none are left. Lengths 3 and 7 give one word, three words, one, three, one, one. The order within a language
 * stays. Empty documents are left out. False: out of memory. Source: Niyogi et al. 2018, section 2.1: n_k = ceil(t_k /
 * t_min). */
CQ_MUST_USE bool cq_shuffle_by_length(cq_u32_array *out, const cq_word_run *documents, size_t n);

/* Appends the documents' words in random order. Source: Vulic & Moens 2015, section 3 (merge and shuffle). */
CQ_MUST_USE bool cq_shuffle_at_random(cq_u32_array *out, const cq_word_run *documents, size_t n, cq_random *random);

/* One language's documents on a topic. */
typedef struct cq_document_set {
  const uint32_t *documents;
  size_t n;
} cq_document_set;

/* Combines documents of several languages: for each document of the language with the fewest, draws one of every other
 * language without replacement. Languages without documents are left out; a single language gives nothing.
 *   tuples   [min_n, n] appended; CQ_NO_DOCUMENT if a language is left out
 * False: out of memory. Source: Niyogi et al. 2018, section 2.1. */
#define CQ_NO_DOCUMENT UINT32_MAX
CQ_MUST_USE bool cq_align_documents(cq_u32_array *tuples, const cq_document_set *sets, size_t n, cq_random *random);

#endif
