/* Accepts connections with poll on the listening socket and on a pipe that ends the thread; acceptor.h explains why. */
#include "serve/acceptor.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
  PAUSE_MS = 20,            /* wait between checks for room, if there are too many connections or open files */
  MAX_NOT_SENT = 128 << 10, /* bytes */
};

struct serve_acceptor {
  serve_acceptor_hooks hooks;
  int fd;
  int wake[2]; /* a pipe: its writing end is closed to end the thread */
  pthread_t thread;
};

/* False: waiting connections cannot be accepted now, for lack of room, open files or memory. */
static bool accept_waiting(const serve_acceptor *a) {
  const serve_acceptor_hooks *h = &a->hooks;
  while (h->has_room(h->context)) {
    struct sockaddr_storage address;
    socklen_t n = sizeof address;
    const int fd = accept(a->fd, (struct sockaddr *)&address, &n);
    if (fd >= 0) {
      fcntl(fd, F_SETFD, FD_CLOEXEC);
      fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
      /* An answer's bytes stay with us until the client can take them: they are counted, and the system's are not. */
      setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &(int){MAX_NOT_SENT}, sizeof(int));
      h->take(h->context, fd, (const struct sockaddr *)&address, n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return true;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return false; /* EMFILE, ENFILE, ENOBUFS, ENOMEM */
    }
  }
  return false;
}

static void *run_acceptor(void *context) {
  const serve_acceptor *a = context;
  bool waits = true;
  for (;;) {
    struct pollfd of[2] = {{.fd = a->wake[0], .events = POLLIN}, {.fd = waits ? a->fd : -1, .events = POLLIN}};
    if (poll(of, 2, waits ? -1 : PAUSE_MS) < 0) { /* interrupted, or for want of memory */
      poll(NULL, 0, PAUSE_MS);
      continue;
    }
    if (of[0].revents) return NULL;
    waits = accept_waiting(a);
  }
}

cq_status serve_acceptor_open(serve_acceptor **out, int fd, const serve_acceptor_hooks *hooks, cq_error *error) {
  serve_acceptor *a = calloc(1, sizeof *a);
  if (a && pipe(a->wake) == 0) {
    a->hooks = *hooks, a->fd = fd;
    for (int i = 0; i < 2; i++) fcntl(a->wake[i], F_SETFD, FD_CLOEXEC);
    if (pthread_create(&a->thread, NULL, run_acceptor, a) == 0) {
      *out = a;
      return CQ_OK;
    }
    close(a->wake[0]), close(a->wake[1]);
  }
  free(a);
  return cq_fail(error, CQ_ERR_MEMORY, "no memory, thread or file descriptor is left to accept connections");
}

void serve_acceptor_close(serve_acceptor *a) {
  if (!a) return;
  close(a->wake[1]);
  pthread_join(a->thread, NULL);
  close(a->wake[0]);
  free(a);
}
