/* Drawing words in proportion to a power of their counts, one random number and one lookup per word.
 * Source: Walker 1977 (the alias method), its table built as in Vose 1991; Mikolov et al. 2013 for the power 3/4. */
#ifndef WORDS_NEGATIVES_H
#define WORDS_NEGATIVES_H

#include "base/random.h"
#include "calque/status.h"

typedef struct cq_negatives {
  struct cq_alias {
    uint32_t below, other; /* this word when the draw is below, else the other */
  } * table;
  uint32_t n;
} cq_negatives;

CQ_MUST_USE cq_status cq_negatives_open(cq_negatives *out, const uint64_t *counts, uint32_t n, double power,
                                        cq_error *error);
void cq_negatives_close(cq_negatives *negatives);

static inline uint32_t cq_negatives_draw(const cq_negatives *negatives, cq_random *random) {
  const uint64_t bits = cq_random_u64(random);
  const uint32_t i = (uint32_t)((bits >> 32) * negatives->n >> 32);
  return (uint32_t)bits < negatives->table[i].below ? i : negatives->table[i].other;
}

#endif
