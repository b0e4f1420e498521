/* Opens a listening socket, or uses one from systemd, and notifies systemd. */
#include "serve/listen.h"

#include "base/error.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int serve_listen_inherited(void) {
  const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");
  const int first = 3; /* SD_LISTEN_FDS_START */
  if (!pid || !n || strtol(pid, NULL, 10) != (long)getpid() || strtol(n, NULL, 10) < 1) return -1;
  if (fcntl(first, F_GETFD) < 0) return -1;
  fcntl(first, F_SETFD, FD_CLOEXEC);
  fcntl(first, F_SETFL, fcntl(first, F_GETFL) | O_NONBLOCK);
  return first;
}

void serve_notify(const char *state) {
  const char *path = getenv("NOTIFY_SOCKET");
  struct sockaddr_un a = {.sun_family = AF_UNIX};
  const size_t n = path ? strlen(path) : 0;
  if (n < 2 || n >= sizeof a.sun_path || (path[0] != '/' && path[0] != '@')) return;
  memcpy(a.sun_path, path, n);
  if (path[0] == '@') a.sun_path[0] = '\0'; /* an abstract name, not a file */
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  (void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&a,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
  close(fd);
}

static cq_status fail_listen(cq_error *error, const char *host, int port, const char *why) {
  return cq_fail(error, CQ_ERR_IO, "%.200s, port %d: %s", host, port, why);
}

cq_status serve_listen(int *out, const char *host, int port, cq_error *error) {
  struct addrinfo *list = NULL;
  const struct addrinfo hints = {
      .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
  char service[16];
  int failed = 0, fd = -1;
  snprintf(service, sizeof service, "%d", port);
  const int code = getaddrinfo(host, service, &hints, &list);
  if (code) return fail_listen(error, host, port, gai_strerror(code));
  for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
    const int yes = 1;
    fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
    if (fd < 0) {
      failed = errno;
      continue;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, 1024)) {
      failed = errno;
      close(fd);
      fd = -1;
    }
  }
  freeaddrinfo(list);
  if (fd < 0) return fail_listen(error, host, port, strerror(failed));
  *out = fd;
  return CQ_OK;
}

bool serve_is_loopback(const char *host) {
  return !strcmp(host, "localhost") || !strcmp(host, "::1") ||
         (!strncmp(host, "127.", 4) && strspn(host, "0123456789.") == strlen(host));
}

void serve_listen_address(char *out, size_t n, int fd) {
  union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un path;
    struct sockaddr_storage room;
  } a;
  char text[INET6_ADDRSTRLEN] = "?";
  socklen_t length = sizeof a;
  memset(&a, 0, sizeof a);
  if (getsockname(fd, &a.any, &length) == 0 && a.any.sa_family == AF_INET) {
    inet_ntop(AF_INET, &a.v4.sin_addr, text, sizeof text);
    snprintf(out, n, "http://%s:%d", text, ntohs(a.v4.sin_port));
  } else if (a.any.sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &a.v6.sin6_addr, text, sizeof text);
    snprintf(out, n, "http://[%s]:%d", text, ntohs(a.v6.sin6_port));
  } else {
    snprintf(out, n, "unix:%s", a.path.sun_path);
  }
}
