/* The documents of a term, compressed: ascending documents and how often the term is in each.
 *
 *   full blocks of 128   gaps, then frequencies - 1, each packed in as many bits as its largest needs
 *   the rest             gap and frequency as bytes of seven bits
 *
 * In front of the blocks stands an entry for each: where it is, its last document, and what bounds any score in it:
 * up to four pairs of frequency and length such that every posting has one with a frequency at least and a length at
 * most its own. All models score higher for more and in shorter documents, so the best of the pairs bounds the block.
 * Source of the packing: Lemire & Boytsov 2015 (SIMD-BP128: value i in lane i mod 4); of the bounds: Ding & Suel 2011
 * (block-max indexes), Mackenzie et al. 2021 (pairs instead of a score, so that one index serves all models). */
#ifndef LEXICAL_POSTINGS_H
#define LEXICAL_POSTINGS_H

#include "base/slice.h"

#include <stdint.h>

enum { CQ_BLOCK = 128, CQ_MAX_PAIRS = 4 };

typedef struct cq_posting {
  uint32_t document, frequency; /* frequency >= 1 */
} cq_posting;

typedef struct cq_bound_pair {
  uint32_t frequency, length;
} cq_bound_pair;

typedef struct cq_block_entry {
  uint32_t last;                     /* its last document */
  uint32_t at;                       /* where it begins, after the entries */
  cq_bound_pair pairs[CQ_MAX_PAIRS]; /* frequency 0: no more */
} cq_block_entry;

/* Appends n postings; lengths is by document. A failed allocation sets out->failed, as does a term of 4 GiB. */
void cq_postings_write(cq_builder *out, const cq_posting *postings, size_t n, const uint32_t *lengths);

/* A term's postings where they lie. */
typedef struct cq_postings {
  const unsigned char *entries; /* [n_full] cq_block_entry, unaligned */
  const unsigned char *bytes, *end;
  uint32_t n, n_full;
} cq_postings;

/* False: the bytes are not n postings' (a shallow check; reading is safe whatever they hold). */
bool cq_postings_open(cq_postings *out, const unsigned char *bytes, size_t n_bytes, uint32_t n);
cq_block_entry cq_postings_entry(const cq_postings *p, uint32_t block);
/* The postings of a block (of the rest: block n_full), at most CQ_BLOCK; returns how many. Damaged bytes give some
 * documents, in any order and of any number. */
uint32_t cq_postings_block(uint32_t documents[CQ_BLOCK], uint32_t frequencies[CQ_BLOCK], const cq_postings *p,
                           uint32_t block);

/* Adds a posting to the pairs that bound a block. */
void cq_bound_pairs_add(cq_bound_pair pairs[CQ_MAX_PAIRS], uint32_t frequency, uint32_t length);

#endif
