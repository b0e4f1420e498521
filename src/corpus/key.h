/* When two sentences count as the same. */
#ifndef CORPUS_KEY_H
#define CORPUS_KEY_H

#include "base/slice.h"
#include "calque/corpus.h"

/* Appends a sentence's key: the sentence itself, or only its letters, digits and their marks, case-folded (NFKC); if it
 * has none, again the sentence. */
void cq_key_text(cq_builder *out, cq_slice sentence, cq_corpus_match match);

/* 64 bits of the key; room is work memory. False: out of memory. */
bool cq_key_of(uint64_t *out, cq_slice sentence, cq_corpus_match match, cq_builder *room);

/* Whether any two of n sentences (at most CQ_ROW_MAX) are equal under CQ_CORPUS_NORMALIZED and not empty. False: out of
 * memory. */
bool cq_key_some_equal(bool *out, const cq_slice *sentences, size_t n, cq_builder *room);

#endif
