/* Which pairs are in a batch: a pure function of the seed and the batch's number, so that a resumed run draws the same
 * pairs as an uninterrupted one.
 *
 *   in order   the pairs in file order, set after set, then again from the start
 *   shuffled   all pairs of all sets in one random order, a new one each epoch
 *   balanced   draws are distributed over the sets by weight; within a set, all entries in random order before any
 *              repeats, each with a random one of its translations */
#ifndef TRAIN_SAMPLER_H
#define TRAIN_SAMPLER_H

#include "train/parallel.h"

typedef enum cq_sampling { CQ_SAMPLE_IN_ORDER, CQ_SAMPLE_SHUFFLED, CQ_SAMPLE_BALANCED } cq_sampling;

typedef struct cq_pair {
  uint32_t source, target; /* indices into the data's sources and targets */
} cq_pair;

typedef struct cq_sampler {
  const cq_parallel *data;
  cq_sampling sampling;
  uint64_t seed;
  uint64_t n_pairs;
  cq_pair *pairs;  /* all pairs in file order: in order, shuffled */
  uint32_t *order; /* the present epoch's: shuffled */
  uint64_t order_epoch;
  uint64_t drawn;       /* draws so far: balanced */
  uint64_t *set_drawn;  /* of each set */
  uint32_t **set_order; /* of each set's entries */
  uint64_t *set_epoch;
} cq_sampler;

CQ_MUST_USE cq_status cq_sampler_new(cq_sampler *out, const cq_parallel *data, cq_sampling sampling, uint64_t seed,
                                     cq_error *error);
void cq_sampler_free(cq_sampler *s);

/* Fills pairs [n] with batch number `batch` (from 0) of n pairs. */
void cq_sampler_draw(cq_pair *pairs, cq_sampler *s, uint64_t batch, size_t n);

#endif
