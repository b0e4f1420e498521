/* How several processes (ranks) that train one model come to the same update. Every rank holds the whole model, reads
 * the whole batch and computes some of its shards; then gradients are summed over all ranks, and each updates its copy.
 *
 *   shards   0 1 2 3   4 5 6 7   8 9 10          n_shards 11, 3 ranks
 *   ranks    0         1         2               a block of 4 each: the smallest power of two that suffices
 *   tree     ((0+1)+(2+3)) + ((4+5)+(6+7)) + ((8+9)+10): a rank sums its own block, an exchange the ranks' sums
 *
 * Blocks are powers of two so that the sum is that of one process over all shards: as long as n_shards stays, a model's
 * bits do not depend on the number of ranks. A rank may have no shard at all.
 *
 * What is computed from all of a batch's vectors at once (losses between languages or among pairs, the discriminator,
 * the head for labels) every rank computes in full, from vectors that all have shared before. */
#ifndef TRAIN_EXCHANGE_H
#define TRAIN_EXCHANGE_H

#include "nn/param.h"

enum { CQ_MAX_SHARDS = 256 };

/* Each function is called by all ranks in the same order and leaves the same sum on all of them, which is taken over the
 * tree: rank i += rank i + 1 for even i, then i += i + 2 for multiples of 4, and so on. */
typedef struct cq_exchange {
  int rank, n_ranks;
  cq_status (*sum_dense)(void *context, float *values, int64_t n, cq_error *error);
  /* The rows of all tables that any rank has touched, as cq_gradients_add_tables adds them. */
  cq_status (*sum_rows)(void *context, cq_gradients *gradients, cq_error *error);
  cq_status (*sum_scalars)(void *context, double *values, size_t n, cq_error *error);
  void *context;
  /* Sums of gradients that begin while others are computed (train/overlap.h); NULL: all are summed at the end, by
   * sum_dense. begin_dense returns at once, may be called by any thread, and takes values until finish_dense, which waits
   * for all of them. abandon waits for none: no function of the exchange succeeds after it. */
  int64_t chunk; /* floats of a sum that begins early */
  void (*begin_dense)(void *context, float *values, int64_t n);
  cq_status (*finish_dense)(void *context, cq_error *error);
  void (*abandon)(void *context);
  /* Parts of bytes (ranks/messages.h); NULL: tables are not shared out (train/table_parts.h). */
  cq_status (*share)(void *context, void *bytes, const size_t *ends, cq_error *error);
  cq_status (*collect)(void *context, void *bytes, const size_t *ends, cq_error *error);
} cq_exchange;

/* This process is the only one: it has all shards, and every sum already. */
extern const cq_exchange cq_exchange_local;

/* This rank's shards: returns how many, from *first on. */
int cq_exchange_shards(int *first, const cq_exchange *exchange, int n_shards);

#endif
