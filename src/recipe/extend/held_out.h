/* Splits parallel files into a training and a held-out part. */
#ifndef RECIPE_EXTEND_HELD_OUT_H
#define RECIPE_EXTEND_HELD_OUT_H

#include "train/parallel.h"

typedef struct cq_held_out {
  bool *sources;          /* [n_sources] held out of some set */
  uint64_t *last;         /* [n_sets] the largest hash among a set's held-out sources; 0: none */
  uint64_t *translations; /* hashes, sorted */
  size_t n_translations;
} cq_held_out;

/* Holds out a twentieth of each set's sources, at most 1,000: those with the smallest hashes. */
CQ_MUST_USE cq_status cq_hold_out(cq_held_out *out, const cq_parallel *data, cq_error *error);
void cq_held_out_free(cq_held_out *held);
/* Writes a set's training pairs and its held-out pairs as TSV. A source held out of any set is not in the training
 * pairs of any set; neither is a pair whose translation is held out. *n_train, *n_dev: number of pairs written. */
CQ_MUST_USE cq_status cq_held_out_write(const char *train, const char *dev, size_t *n_train, size_t *n_dev,
                                        const cq_parallel *data, size_t set, const cq_held_out *held, cq_error *error);

#endif
