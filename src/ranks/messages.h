/* Messages between the processes (ranks) of a run, over any transport: Open MPI, sockets.
 *
 *   up     1 ──▶ 0   3 ──▶ 2   5 ──▶ 4         rank i receives from i + 1, for even i,
 *          2 ──▶ 0   4 ...                      then from i + 2, for multiples of 4, and so on
 *   down   0 ──▶ 4   0 ──▶ 2   ...             the same way back
 *
 * So the order of the sums on the way up depends only on the ranks' numbers. A rank sends and receives at most
 * log2(n_ranks) times in each direction. */
#ifndef RANKS_MESSAGES_H
#define RANKS_MESSAGES_H

#include "calque/status.h"

#include <stddef.h>
#include <stdint.h>

/* Blocking, in the order of the calls. Only one call runs at a time, from any thread. Each returns 0, or 1 with a
 * reason in message [size]. */
typedef struct cq_transport {
  int rank, n_ranks;
  int (*send)(void *context, int to, const void *bytes, size_t n, char *message, size_t size);
  int (*receive)(void *context, int from, void *bytes, size_t n, char *message, size_t size);
  /* May be called by any thread while another sends or receives: makes that call and all later ones fail. */
  void (*interrupt)(void *context);
  void *context; /* borrowed */
} cq_transport;

typedef struct cq_messages {
  cq_transport transport;
  uint64_t n_sent, n_received; /* bytes until now */
} cq_messages;

/* Errors of all functions: CQ_ERR_IO, naming both ranks and the reason. */
CQ_MUST_USE cq_status cq_messages_send(cq_messages *m, int to, const void *bytes, size_t n, cq_error *error);
CQ_MUST_USE cq_status cq_messages_receive(cq_messages *m, int from, void *bytes, size_t n, cq_error *error);

/* Data sent to or received from another rank. */
typedef cq_status (*cq_message_fn)(void *context, int rank, cq_error *error);
/* Receives from the ranks below this one, in the order of the tree, then sends to the one above it. */
CQ_MUST_USE cq_status cq_messages_up(const cq_messages *m, cq_message_fn take, cq_message_fn give, void *context,
                                     cq_error *error);
/* The other way round: receives from the rank above, then sends to those below. */
CQ_MUST_USE cq_status cq_messages_down(const cq_messages *m, cq_message_fn take, cq_message_fn give, void *context,
                                       cq_error *error);

/* Bytes of rank 0, on all ranks. */
CQ_MUST_USE cq_status cq_messages_broadcast(cq_messages *m, void *bytes, size_t n, cq_error *error);
/* Sums over all ranks, on all ranks, with the same bits. */
CQ_MUST_USE cq_status cq_messages_sum(cq_messages *m, double *values, size_t n, cq_error *error);
/* bytes [ends[n_ranks - 1]] has one part for each rank; part r ends at ends[r]. Each rank fills in its own part and
 * receives the others' parts, which travel in a ring. */
CQ_MUST_USE cq_status cq_messages_share(cq_messages *m, void *bytes, const size_t *ends, cq_error *error);
/* The same, but only rank 0 receives: on the others, the parts of other ranks stay unchanged. */
CQ_MUST_USE cq_status cq_messages_collect(cq_messages *m, void *bytes, const size_t *ends, cq_error *error);

#endif
