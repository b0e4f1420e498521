/* How several processes (ranks) that train one model compute the same update. Every rank holds the whole model, reads
 * the whole batch and computes some of its shards; then gradients are summed over all ranks, and each updates its copy.
 *
 *   shards   0 1 2 3   4 5 6 7   8 9 10          n_shards 11, 3 ranks
 *   ranks    0         1         2               a block of 4 each: the smallest power of two that suffices
 *   tree     ((0+1)+(2+3)) + ((4+5)+(6+7)) + ((8+9)+10): a rank sums its own block, an exchange the ranks' sums
 *
 * Blocks are powers of two so that the sum equals that of one process over all shards: for a given n_shards, a model's
 * bits do not depend on the number of ranks. A rank may have no shards.
 *
 * Functions of all of a batch's vectors (losses between languages or among pairs, the discriminator, the head for
 * labels) are computed in full by every rank, from vectors shared before. */
#ifndef TRAIN_EXCHANGE_H
#define TRAIN_EXCHANGE_H

#include "nn/param.h"

enum { CQ_MAX_SHARDS = 256 };

/* All ranks call these functions in the same order and get the same sum, which is computed along the tree: rank i +=
 * rank i + 1 for even i, then i += i + 2 for multiples of 4, and so on. */
typedef struct cq_exchange {
  int rank, n_ranks;
  cq_status (*sum_dense)(void *context, float *values, int64_t n, cq_error *error);
  /* Sums the table rows that any rank has touched, as cq_gradients_add_tables does. */
  cq_status (*sum_rows)(void *context, cq_gradients *gradients, cq_error *error);
  cq_status (*sum_scalars)(void *context, double *values, size_t n, cq_error *error);
  void *context;
  /* Sums of gradients that begin while others are computed (train/overlap.h); NULL: all are summed at the end, by
   * sum_dense. begin_dense may be called by any thread, returns at once, and uses the values until finish_dense, which
   * waits for all sums. abandon does not wait: no function of the exchange succeeds after it. */
  int64_t chunk; /* floats of a sum that begins early */
  void (*begin_dense)(void *context, float *values, int64_t n);
  cq_status (*finish_dense)(void *context, cq_error *error);
  void (*abandon)(void *context);
  /* Parts of bytes (ranks/messages.h); NULL: tables are not divided among ranks (train/table_parts.h). */
  cq_status (*share)(void *context, void *bytes, const size_t *ends, cq_error *error);
  cq_status (*collect)(void *context, void *bytes, const size_t *ends, cq_error *error);
} cq_exchange;

/* For a single process: it has all shards, and its sums are already complete. */
extern const cq_exchange cq_exchange_local;

/* This rank's shards: returns their number; they begin at *first. */
int cq_exchange_shards(int *first, const cq_exchange *exchange, int n_shards);

#endif
