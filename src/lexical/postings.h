/* A term's documents, compressed: ascending document numbers, each with the term's frequency.
 *
 *   full blocks of 128   gaps, then frequencies - 1, each packed in the number of bits that the largest needs
 *   the rest             gap and frequency as bytes of seven bits
 *
 * Before the blocks, there is an entry for each: its offset, its last document, and up to four pairs of frequency and
 * length that bound its scores: for each posting, some pair has at least its frequency and at most its length. All
 * models score higher for higher frequencies and shorter documents, so the best pair bounds the block's scores. Source
 * of the packing: Lemire & Boytsov 2015 (SIMD-BP128: value i in lane i mod 4); of the bounds: Ding & Suel 2011
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

/* Appends n postings; lengths is indexed by document. Sets out->failed when out of memory or for a term of 4 GiB. */
void cq_postings_write(cq_builder *out, const cq_posting *postings, size_t n, const uint32_t *lengths);

/* A term's postings where they lie. */
typedef struct cq_postings {
  const unsigned char *entries; /* [n_full] cq_block_entry, unaligned */
  const unsigned char *bytes, *end;
  uint32_t n, n_full;
} cq_postings;

/* False if the bytes are not n postings (a shallow check; reading any bytes is safe). */
bool cq_postings_open(cq_postings *out, const unsigned char *bytes, size_t n_bytes, uint32_t n);
cq_block_entry cq_postings_entry(const cq_postings *p, uint32_t block);
/* The postings of a block (block n_full is the rest), at most CQ_BLOCK; returns how many. Damaged bytes may give
 * arbitrary documents in any order. */
uint32_t cq_postings_block(uint32_t documents[CQ_BLOCK], uint32_t frequencies[CQ_BLOCK], const cq_postings *p,
                           uint32_t block);

/* Adds a posting to the pairs that bound a block. */
void cq_bound_pairs_add(cq_bound_pair pairs[CQ_MAX_PAIRS], uint32_t frequency, uint32_t length);

#endif
