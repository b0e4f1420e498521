/* Sums over all ranks that begin while backward is still running: gradients of the last layers are complete first.
 *
 *   own shards' gradients  ...|passed by shard 0, by shard 1 ...|  chunk after chunk from the end, as soon as all own
 *                          begun ◀──────────────────────────────   shards have passed it: added over the fixed tree of
 *                                                                   shards, then given to the exchange
 *
 * Chunks are the same on all ranks and are passed in the same order, so the bits are those of one sum at the end. */
#ifndef TRAIN_OVERLAP_H
#define TRAIN_OVERLAP_H

#include "nn/optimizer.h"
#include "train/exchange.h"

#include <pthread.h>

typedef struct cq_overlap_shard {
  struct cq_overlap *of;
  int64_t passed; /* complete from here on */
} cq_overlap_shard;

/* {0} means none; freeing it is legal. While it is off, _watch, _pass, _pass_all and _abandon do nothing. */
typedef struct cq_overlap {
  const cq_exchange *exchange;
  const cq_kernels *kernels;
  cq_gradients *gradients; /* [n_shards], borrowed */
  int n_shards;
  cq_overlap_shard *shards; /* [n_shards] */
  pthread_mutex_t lock;
  int64_t begun; /* the sums of everything from here on have begun */
  bool is_on;    /* from _start to _finish */
} cq_overlap;

/* exchange: one that can begin sums early (train/exchange.h). Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_overlap_new(cq_overlap *out, cq_gradients *gradients, int n_shards, const cq_kernels *kernels,
                                     const cq_exchange *exchange, cq_error *error);
void cq_overlap_free(cq_overlap *o);

/* Starts overlapped summation: the next backward pass is the last before an update. */
void cq_overlap_start(cq_overlap *o);
/* Starts this shard's last backward pass, which reports its progress. */
void cq_overlap_watch(cq_overlap *o, int shard);
/* The shard's gradients are complete. By any thread. */
void cq_overlap_pass(cq_overlap *o, int shard);
/* All shards' are. */
void cq_overlap_pass_all(cq_overlap *o);
/* Waits until gradients[0].dense is the sum over all shards of all ranks. Errors: the exchange's. */
CQ_MUST_USE cq_status cq_overlap_finish(cq_overlap *o, cq_error *error);
/* The step has failed: gradients are no longer read, and the exchange can no longer be used. */
void cq_overlap_abandon(cq_overlap *o);

#endif
