/* Ranks for tests: a thread each, connected with each other by sockets.
 *
 *   static void body(cq_ranks *ranks, void *item) { ... item->status = cq_...(); }
 *   run_ranks(3, body, items, sizeof *items);               // items [3], one a rank
 *
 * A body that ends while others wait for it makes them fail, as a process does. */
#ifndef SUPPORT_WIRES_H
#define SUPPORT_WIRES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ranks/ranks.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_WIRED_RANKS = 5 };

typedef struct wired_rank {
  int ends[MAX_WIRED_RANKS]; /* of what connects it with the others */
  int rank, n_ranks;
  bool broken; /* its sending fails */
  void (*body)(cq_ranks *ranks, void *item);
  void *item;
} wired_rank;

static inline int send_by_wire(void *context, int to, const void *bytes, size_t n, char *message, size_t size) {
  const wired_rank *r = context;
  for (const char *at = bytes; n > 0;) {
    const ssize_t sent = r->broken ? -1 : send(r->ends[to], at, n, MSG_NOSIGNAL);
    if (sent < 0) return snprintf(message, size, "the wire is cut") > 0;
    at += sent, n -= (size_t)sent;
  }
  return 0;
}

static inline int receive_by_wire(void *context, int from, void *bytes, size_t n, char *message, size_t size) {
  const wired_rank *r = context;
  for (char *at = bytes; n > 0;) {
    const ssize_t got = read(r->ends[from], at, n);
    if (got <= 0) return snprintf(message, size, "nothing comes") > 0;
    at += got, n -= (size_t)got;
  }
  return 0;
}

/* What was sent still arrives; who waits for more fails. */
static inline void cut_wires(void *context) {
  const wired_rank *r = context;
  for (int i = 0; i < r->n_ranks; i++)
    if (i != r->rank) shutdown(r->ends[i], SHUT_RDWR);
}

static inline cq_transport transport_of(wired_rank *r) {
  return (cq_transport){.rank = r->rank,
                        .n_ranks = r->n_ranks,
                        .send = send_by_wire,
                        .receive = receive_by_wire,
                        .interrupt = cut_wires,
                        .context = r};
}

static inline void wire_up(wired_rank ranks[], int n_ranks) {
  for (int a = 0; a < n_ranks; a++) ranks[a] = (wired_rank){.rank = a, .n_ranks = n_ranks};
  for (int a = 0; a < n_ranks; a++)
    for (int b = 0; b < a; b++) {
      int pair[2];
      assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
      ranks[a].ends[b] = pair[0], ranks[b].ends[a] = pair[1];
    }
}

static inline void unwire(wired_rank ranks[], int n_ranks) {
  for (int a = 0; a < n_ranks; a++)
    for (int b = 0; b < n_ranks; b++)
      if (a != b) close(ranks[a].ends[b]);
}

static inline void *run_wired_rank(void *context) {
  wired_rank *r = context;
  const cq_transport transport = transport_of(r);
  cq_ranks *ranks;
  if (cq_ranks_over(&ranks, &transport, NULL)) return NULL;
  r->body(ranks, r->item);
  cq_ranks_close(ranks);
  cut_wires(r);
  return NULL;
}

static inline void run_ranks(int n_ranks, void (*body)(cq_ranks *ranks, void *item), void *items, size_t size) {
  wired_rank ranks[MAX_WIRED_RANKS];
  pthread_t threads[MAX_WIRED_RANKS];
  wire_up(ranks, n_ranks);
  for (int i = 0; i < n_ranks; i++) {
    ranks[i].body = body, ranks[i].item = (char *)items + (size_t)i * size;
    assert_int_equal(pthread_create(&threads[i], NULL, run_wired_rank, &ranks[i]), 0);
  }
  for (int i = 0; i < n_ranks; i++) pthread_join(threads[i], NULL);
  unwire(ranks, n_ranks);
}

#endif
