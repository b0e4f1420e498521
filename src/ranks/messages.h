/* Messages between the processes (ranks) of a run, over whatever carries bytes from one to another: Open MPI, sockets.
 *
 *   up     1 ──▶ 0   3 ──▶ 2   5 ──▶ 4         rank i takes what i + 1 gives, for even i,
 *          2 ──▶ 0   4 ...                      then what i + 2 gives, for multiples of 4, and so on
 *   down   0 ──▶ 4   0 ──▶ 2   ...             the same way back
 *
 * So what is added on the way up is added in an order that depends on the ranks' numbers alone. A rank gives and takes
 * at most log2(n_ranks) times on each way. */
#ifndef RANKS_MESSAGES_H
#define RANKS_MESSAGES_H

#include "calque/status.h"

#include <stddef.h>
#include <stdint.h>

/* Blocking, in the order of the calls, of which there is one at a time, by whichever thread. Each returns 0, or 1 with
 * a reason in message [size]. */
typedef struct cq_transport {
  int rank, n_ranks;
  int (*send)(void *context, int to, const void *bytes, size_t n, char *message, size_t size);
  int (*receive)(void *context, int from, void *bytes, size_t n, char *message, size_t size);
  /* By any thread, while another sends or receives: makes that call and all later ones fail. */
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
/* Takes from those that give to this rank, in the order of the tree, then gives to the one above it. */
CQ_MUST_USE cq_status cq_messages_up(const cq_messages *m, cq_message_fn take, cq_message_fn give, void *context,
                                     cq_error *error);
/* The other way round: receives from the rank above, then sends to those below. */
CQ_MUST_USE cq_status cq_messages_down(const cq_messages *m, cq_message_fn take, cq_message_fn give, void *context,
                                       cq_error *error);

/* Bytes of rank 0, on all ranks. */
CQ_MUST_USE cq_status cq_messages_broadcast(cq_messages *m, void *bytes, size_t n, cq_error *error);
/* Sums over all ranks, on all ranks, with the same bits. */
CQ_MUST_USE cq_status cq_messages_sum(cq_messages *m, double *values, size_t n, cq_error *error);
/* Bytes [ends[n_ranks - 1]] in a part for each rank, which ends there: each rank has its own, and gets the others'.
 * They go round in a ring. */
CQ_MUST_USE cq_status cq_messages_share(cq_messages *m, void *bytes, const size_t *ends, cq_error *error);
/* The same for rank 0 alone: the others' bytes stay as they are. */
CQ_MUST_USE cq_status cq_messages_collect(cq_messages *m, void *bytes, const size_t *ends, cq_error *error);

#endif
