/* An exchange between processes, over whatever carries bytes from one rank to another: Open MPI, sockets.
 *
 *   sum      1 ──▶ 0   3 ──▶ 2   5 ──▶ 4         rank i adds what i + 1 sends, for even i,
 *            2 ──▶ 0   4 ...                      then what i + 2 sends, for multiples of 4, and so on
 *   the sum  0 ──▶ 4   0 ──▶ 2   ...             the same way back
 *
 * So the order of additions is that of train/exchange.h, and the bits are those of one process. A rank sends and
 * receives at most 2 log2(n_ranks) messages for a sum. */
#ifndef TRAIN_TREE_EXCHANGE_H
#define TRAIN_TREE_EXCHANGE_H

#include "train/exchange.h"

/* Blocking, in the order of the calls. Each returns 0, or 1 with a reason in message [size]. */
typedef struct cq_transport {
  int rank, n_ranks;
  int (*send)(void *context, int to, const void *bytes, size_t n, char *message, size_t size);
  int (*receive)(void *context, int from, void *bytes, size_t n, char *message, size_t size);
  void *context;
} cq_transport;

typedef struct cq_tree_exchange cq_tree_exchange;

/* transport is copied, its context borrowed. Errors: CQ_ERR_ARGUMENT for a rank outside 0 to n_ranks - 1, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_tree_exchange_new(cq_tree_exchange **out, const cq_transport *transport,
                                           const cq_kernels *kernels, cq_error *error);
void cq_tree_exchange_free(cq_tree_exchange *exchange);

/* As long as the exchange lives. Its functions fail with CQ_ERR_IO, naming the ranks, where the transport does. */
const cq_exchange *cq_tree_exchange_of(const cq_tree_exchange *exchange);

/* Bytes that this rank has sent and received until now. */
uint64_t cq_tree_exchange_bytes(const cq_tree_exchange *exchange);

/* Bytes of rank 0, on all ranks. */
CQ_MUST_USE cq_status cq_tree_exchange_broadcast(cq_tree_exchange *exchange, void *bytes, size_t n, cq_error *error);

#endif
