/* Near misses of English sentences: each is made by one rule and is similar to the sentence, but has another meaning.
 *
 *   number     In May 12 ships sank.              In May 17 ships sank.
 *   name       We met Anna in Oslo.               We met Anna in Lima.
 *   negation   The bridge is open.                The bridge is not open.
 *   order      He left because she was angry.     She was angry because he left.
 *
 * The rules use only words, capitals and punctuation, so their results are not always good English. Source: Chen et al.
 * 2023 (xsim++, arXiv 2306.12907), whose three kinds are causality, entities and numbers; rules and word lists are
 * ours. */
#ifndef CORPUS_NEAR_MISS_H
#define CORPUS_NEAR_MISS_H

#include "base/arena.h"
#include "base/slice.h"
#include "calque/status.h"

#include <stdint.h>

typedef enum cq_miss { CQ_MISS_NUMBER, CQ_MISS_NAME, CQ_MISS_NEGATION, CQ_MISS_ORDER, CQ_N_MISSES } cq_miss;
extern const char *const cq_miss_names[]; /* then NULL */

typedef struct cq_near_miss {
  cq_slice text;
  uint32_t of; /* the sentence that it is a near miss of */
  cq_miss kind;
} cq_near_miss;

typedef struct cq_near_misses {
  cq_near_miss *items; /* by `of`, then by kind */
  size_t n, capacity;
  cq_arena text;
} cq_near_misses;

/* Makes at most one of each kind for each of n sentences. Names are replaced by names from other sentences; apart from
 * that, a sentence's near misses depend only on the sentence and the seed. Release with cq_near_misses_free, even after
 * an error. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_near_misses_make(cq_near_misses *out, const cq_slice *sentences, size_t n, uint64_t seed,
                                          cq_error *error);
void cq_near_misses_free(cq_near_misses *misses);

#endif
