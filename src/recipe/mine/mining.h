/* The internals of a mining. */
#ifndef RECIPE_MINE_MINING_H
#define RECIPE_MINE_MINING_H

#include "calque/mine.h"
#include "recipe/encode/embedded.h"

struct cq_mining {
  cq_cached_encoder store;
  cq_embedded sides[2]; /* the second is empty when pairs are within the first */
  size_t n_sides;
  cq_mined_pair *pairs;
  size_t n_pairs;
  cq_f1_point tuned;
};

#endif
