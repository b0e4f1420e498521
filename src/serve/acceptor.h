/* The thread that accepts connections.
 *
 * The HTTP library could listen by itself, but stopping it (MHD_quiesce_daemon) may abort the process if its threads
 * use epoll: two threads remove the socket from the same set, and the second one panics. */
#ifndef SERVE_ACCEPTOR_H
#define SERVE_ACCEPTOR_H

#include "calque/status.h"

#include <stdbool.h>
#include <sys/socket.h>

typedef struct serve_acceptor serve_acceptor;

typedef struct serve_acceptor_hooks {
  bool (*has_room)(void *context); /* false: connections wait in the socket's queue */
  /* Takes a new, non-blocking connection, or closes it if it cannot be served. */
  void (*take)(void *context, int fd, const struct sockaddr *address, socklen_t n_address);
  void *context;
} serve_acceptor_hooks;

/* Accepts on `fd`, a listening, non-blocking socket that the caller keeps. The new thread calls the hooks. Errors:
 * CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status serve_acceptor_open(serve_acceptor **out, int fd, const serve_acceptor_hooks *hooks,
                                          cq_error *error);
void serve_acceptor_close(serve_acceptor *acceptor); /* after this, no hook is called; NULL: none */

#endif
