/* Checks whether a server is ready, for container health checks without another program. */
#include "serve/health.h"

#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { TIMEOUT_S = 5, ANSWER_BYTES = 64 };

static cq_status fail_health(cq_error *error, const char *host, int port, const char *why) {
  return cq_fail(error, CQ_ERR_IO, "%.200s, port %d: %s", host, port, why);
}

/* A server can listen on the wildcard address, but a client cannot connect to it. */
static const char *reachable(const char *host) {
  if (!strcmp(host, "0.0.0.0")) return "127.0.0.1";
  return strcmp(host, "::") ? host : "::1";
}

/* The beginning of the reply's first line, up to size - 1 bytes; false: see errno. The time limit covers everything: a
 * server may send one byte at a time. */
static bool ask(char *answer, size_t size, int fd, const char *host) {
  const int64_t end = (int64_t)cq_now_ms() + TIMEOUT_S * 1000;
  char request[512];
  const int n =
      snprintf(request, sizeof request, "GET /health HTTP/1.1\r\nHost: %.200s\r\nConnection: close\r\n\r\n", host);
  size_t got = 0;
  if (send(fd, request, (size_t)n, MSG_NOSIGNAL) != n) return false;
  while (got + 1 < size && !memchr(answer, '\n', got)) {
    const int64_t left = end - (int64_t)cq_now_ms();
    const struct timeval limit = {.tv_sec = (time_t)(left / 1000), .tv_usec = (suseconds_t)(left % 1000 * 1000)};
    if (left <= 0) return errno = EAGAIN, false;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    const ssize_t more = recv(fd, answer + got, size - 1 - got, 0);
    if (more < 0) return false;
    if (more == 0) break;
    got += (size_t)more;
  }
  answer[got] = '\0';
  for (size_t i = 0; i < got; i++) /* the rest is for a terminal */
    if ((unsigned char)answer[i] < ' ' && !strchr("\r\n", answer[i])) answer[i] = '?';
  return true;
}

static const char *reason(int code) {
  return code == EAGAIN || code == EINPROGRESS ? "no answer within 5 s" : strerror(code); /* the second: connect's */
}

cq_status serve_health(const char *host, int port, cq_error *error) {
  struct addrinfo *list = NULL;
  const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
  const struct timeval limit = {.tv_sec = TIMEOUT_S};
  char service[16], answer[ANSWER_BYTES], why[128];
  int fd = -1, failed = 0;
  host = reachable(host);
  snprintf(service, sizeof service, "%d", port);
  const int code = getaddrinfo(host, service, &hints, &list);
  if (code) return fail_health(error, host, port, gai_strerror(code));
  for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
    fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) &&
        !connect(fd, a->ai_addr, a->ai_addrlen))
      break;
    failed = errno;
    if (fd >= 0) close(fd);
    fd = -1;
  }
  freeaddrinfo(list);
  if (fd < 0) return fail_health(error, host, port, reason(failed));
  const bool answered = ask(answer, sizeof answer, fd, host);
  failed = errno;
  close(fd);
  if (!answered) return fail_health(error, host, port, reason(failed));
  if (!strncmp(answer, "HTTP/1.1 200 ", 13)) return CQ_OK;
  snprintf(why, sizeof why, "not ready; it answers \"%.*s\"", (int)strcspn(answer, "\r\n"), answer);
  return fail_health(error, host, port, why);
}
