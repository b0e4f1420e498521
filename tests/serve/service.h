/* A server in a thread of the test, and a client of blocking sockets. */
#ifndef SERVE_SERVICE_H
#define SERVE_SERVICE_H

#include "support/files.h"

#include "serve/route.h"
#include "serve/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/time.h>

#define MODEL CQ_TESTS_DIR "/golden/models/bert-uncased"

typedef struct service {
  serve_server *server;
  cq_context *ctx;
  pthread_t thread;
  int port;
} service;

static char service_notes[8192]; /* what servers have told */
static pthread_mutex_t service_notes_mutex = PTHREAD_MUTEX_INITIALIZER;

static inline void take_note(const char *text) {
  pthread_mutex_lock(&service_notes_mutex);
  const size_t n = strlen(service_notes);
  snprintf(service_notes + n, sizeof service_notes - n, "%s\n", text);
  pthread_mutex_unlock(&service_notes_mutex);
}

/* Waits until a server has told something with this in it; forgets all. */
static inline bool wait_for_note(const char *part) {
  for (int i = 0; i < 2000; i++) {
    pthread_mutex_lock(&service_notes_mutex);
    const bool found = strstr(service_notes, part);
    if (found) service_notes[0] = '\0';
    pthread_mutex_unlock(&service_notes_mutex);
    if (found) return true;
    usleep(10000);
  }
  fprintf(stderr, "no note '%s' among: %s\n", part, service_notes);
  return false;
}

static inline serve_options default_service(void) {
  return (serve_options){.routes = serve_all_routes,
                         .model = {.model = MODEL},
                         .host = "127.0.0.1",
                         .max_body = 8 << 20,
                         .max_tokens = 300000,
                         .queue_tokens = 600000,
                         .deadline_ms = 60000,
                         .receive_s = 75,
                         .max_connections = 4096,
                         .note = take_note};
}

static inline void *run_service(void *server) {
  serve_run(server);
  return NULL;
}

static inline void open_service(service *s, const serve_options *o) {
  cq_error error = {0};
  assert_int_equal(cq_context_open(&s->ctx, 2, &error), CQ_OK);
  if (serve_open(&s->server, o, s->ctx, &error)) fail_msg("%s", error.message);
  const char *colon = strrchr(serve_address(s->server), ':');
  s->port = colon ? atoi(colon + 1) : 0;
  assert_int_equal(pthread_create(&s->thread, NULL, run_service, s->server), 0);
}

static inline void close_service(service *s) {
  serve_ask(s->server, SERVE_STOP);
  pthread_join(s->thread, NULL);
  serve_close(s->server);
  cq_context_free(s->ctx);
}

/* A connection whose reads and writes end after 30 seconds. */
static inline int connect_to(int port) {
  const struct timeval limit = {.tv_sec = 30};
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_true(fd >= 0);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (connect(fd, (const struct sockaddr *)&a, sizeof a)) fail_msg("connect: %s", strerror(errno));
  return fd;
}

/* False: the other side reads no more. */
static inline bool send_bytes(int fd, const void *data, size_t n) {
  for (size_t done = 0; done < n;) {
    const ssize_t m = send(fd, (const char *)data + done, n - done, MSG_NOSIGNAL);
    if (m <= 0) return false;
    done += (size_t)m;
  }
  return true;
}

static inline bool send_text(int fd, const char *text) {
  return send_bytes(fd, text, strlen(text));
}

/* All that comes until the connection ends, terminated; returns the code of its first line: 0: there is none, -1: the
 * connection does not end. */
static inline int read_answer(char *answer, size_t size, int fd) {
  size_t n = 0;
  ssize_t m;
  while (n < size - 1 && (m = recv(fd, answer + n, size - 1 - n, 0)) > 0) n += (size_t)m;
  answer[n] = '\0';
  if (n < size - 1 && m < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return -1;
  return strncmp(answer, "HTTP/1.1 ", 9) != 0 ? 0 : atoi(answer + 9);
}

/* A whole request on a connection of its own. False: it did not get through. */
static inline bool send_request(int fd, const char *method, const char *path, const char *body, size_t n) {
  char head[1024];
  snprintf(head, sizeof head, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
           method, path, n);
  return send_text(fd, head) && send_bytes(fd, body, n);
}

static char last_answer[1 << 16];
static inline int ask(const service *s, const char *method, const char *path, const char *body) {
  const int fd = connect_to(s->port);
  const bool sent = send_request(fd, method, path, body, strlen(body));
  const int code = sent ? read_answer(last_answer, sizeof last_answer, fd) : 0;
  close(fd);
  return code;
}

static inline void assert_healthy(const service *s) {
  assert_int_equal(ask(s, "GET", "/health", ""), 200);
  assert_int_equal(ask(s, "POST", "/embed", "{\"inputs\": \"The river is long.\"}"), 200);
}

#endif
