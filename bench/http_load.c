/* Load on an HTTP server of this machine, and what its clients see of it.
 *
 *   bench_http_load PORT REQUESTS [--clients N] [--rate R] [--seconds S] [--warm-up S] [--same]       TSV on stdout
 *
 *   REQUESTS   a line a request: METHOD <tab> PATH <tab> BODY; taken in turn, again and again
 *   --clients  connections, kept alive (1)
 *   --rate     open loop: R requests a second, whatever the server does; a request waits while no connection is free,
 *              and its latency counts from when it was due. Without it each client asks as soon as it is answered.
 *   --seconds  of measuring (10), after --warm-up seconds (1) that do not count
 *   --same     all answers 200 to one line of REQUESTS must have the same bytes
 *
 * Percentiles are exact: every latency of an answer 200 is kept. `lost` are requests without an answer: the connection
 * ended, or 60 seconds passed after the last was sent. `unsent` are those for which no connection became free.
 * `bad` are answers 200 that are not a whole JSON object or list, or differ (--same). `cpu_s` is this program's own
 * processor time: one thread, so where it is near `seconds` the load was limited by this program. Exit code 1:
 * something was lost or bad. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CLIENTS = 8192, N_EVENTS = 256, DRAIN_S = 60, TIMER = MAX_CLIENTS };

typedef struct request {
  char *bytes;
  size_t n;
  uint64_t hash; /* of its first answer 200; 0: none yet */
} request;

/* A connection. Idle ones are a stack. */
typedef struct client {
  int fd; /* -1: to be opened by the next request */
  bool is_busy, wants_write;
  request *r;
  double due; /* when its request was, in seconds */
  size_t sent;
  char *in;
  size_t n_in, capacity, head, length; /* head: bytes up to the body; 0: not known yet */
  int status;
  bool closes;
} client;

typedef struct latencies {
  float *ms;
  size_t n, capacity;
} latencies;

static struct {
  int port, n_clients, epoll, timer;
  double rate, seconds, warm_up;
  bool same;
  request *requests;
  size_t n_requests, next;
  client *clients;
  int *idle, n_idle;
  double begun, counted_from, until;
  uint64_t n_started, n_lost, n_bad, n_status[600];
  latencies ok, refused;
} load = {.n_clients = 1, .seconds = 10, .warm_up = 1};

static void die(const char *what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(1);
}

static void *more(void *old, size_t n) {
  void *p = realloc(old, n);
  if (!p) die("memory");
  return p;
}

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- requests ---- */

static void read_requests(const char *path) {
  FILE *f = fopen(path, "r");
  char *line = NULL;
  size_t capacity = 0;
  ssize_t n;
  if (!f) die(path);
  while ((n = getline(&line, &capacity, f)) > 0) {
    if (line[n - 1] == '\n') line[--n] = '\0';
    char *target = strchr(line, '\t'), *body = target ? strchr(target + 1, '\t') : NULL;
    if (!body) {
      fprintf(stderr, "%s: line %zu is not METHOD, PATH, BODY\n", path, load.n_requests + 1);
      exit(1);
    }
    *target++ = *body++ = '\0';
    load.requests = more(load.requests, (load.n_requests + 1) * sizeof *load.requests);
    request *r = &load.requests[load.n_requests++];
    const size_t room = (size_t)n + 256;
    *r = (request){.bytes = more(NULL, room)};
    r->n = (size_t)snprintf(r->bytes, room,
                            "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
                            "Content-Length: %zu\r\n\r\n%s",
                            line, target, load.port, strlen(body), body);
  }
  free(line);
  fclose(f);
  if (!load.n_requests) {
    fprintf(stderr, "%s: no requests\n", path);
    exit(1);
  }
}

/* ---- what is counted ---- */

static void keep(latencies *l, double ms) {
  if (l->n == l->capacity) {
    l->capacity = 2 * l->capacity + 4096;
    l->ms = more(l->ms, l->capacity * sizeof *l->ms);
  }
  l->ms[l->n++] = (float)ms;
}

static int by_value(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* Of sorted values: the smallest that a share q of them does not exceed. */
static double quantile(const latencies *l, double q) {
  const size_t at = (size_t)(q * (double)l->n);
  return l->n ? (double)l->ms[at < l->n ? at : l->n - 1] : 0;
}

static uint64_t hash_of(const char *bytes, size_t n) {
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)bytes[i]) * 0x100000001b3u;
  return h | 1;
}

/* Whether the answer is what the others to the same request are. The bytes of a vector do not depend on its batch. */
static bool is_good(client *c) {
  const char *body = c->in + c->head;
  if (c->status != 200) return true;
  if (c->length < 2) return false;
  const char first = body[0], last = body[c->length - 1];
  if (!load.same) return first == '#' || (first == '{' && last == '}') || (first == '[' && last == ']');
  const uint64_t hash = hash_of(body, c->length);
  if (!c->r->hash) c->r->hash = hash;
  return c->r->hash == hash;
}

static void count_answer(client *c, double now) {
  if (!is_good(c)) load.n_bad++;
  if (c->due < load.counted_from) return;
  load.n_status[c->status > 0 && c->status < 600 ? c->status : 0]++;
  if (c->status == 200) keep(&load.ok, 1e3 * (now - c->due));
  if (c->status == 429) keep(&load.refused, 1e3 * (now - c->due));
}

/* ---- connections ---- */

static void watch(client *c, int operation) {
  struct epoll_event e = {.events = EPOLLIN | (c->wants_write ? (uint32_t)EPOLLOUT : 0u)};
  e.data.u64 = (uint64_t)(c - load.clients);
  if (epoll_ctl(load.epoll, operation, c->fd, &e)) die("epoll_ctl");
}

static void open_connection(client *c) {
  const struct sockaddr_in to = {
      .sin_family = AF_INET, .sin_port = htons((uint16_t)load.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  c->fd = socket(AF_INET, SOCK_STREAM, 0);
  if (c->fd < 0) die("socket");
  if (connect(c->fd, (const struct sockaddr *)(const void *)&to, sizeof to)) die("connect");
  fcntl(c->fd, F_SETFL, O_NONBLOCK);
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
  c->wants_write = false;
  watch(c, EPOLL_CTL_ADD);
}

static void close_connection(client *c) {
  if (c->fd >= 0) close(c->fd);
  c->fd = -1;
}

static void make_idle(client *c) {
  c->is_busy = false;
  load.idle[load.n_idle++] = (int)(c - load.clients);
}

static void lose(client *c) {
  load.n_lost++;
  close_connection(c);
  make_idle(c);
}

static void send_more(client *c) {
  while (c->sent < c->r->n) {
    const ssize_t n = send(c->fd, c->r->bytes + c->sent, c->r->n - c->sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break; /* full, or ended: then reading tells, and an answer may have come before the end */
    c->sent += (size_t)n;
  }
  const bool wants = c->sent < c->r->n && (errno == EAGAIN || errno == EWOULDBLOCK);
  if (wants != c->wants_write) {
    c->wants_write = wants;
    watch(c, EPOLL_CTL_MOD);
  }
}

static void start(client *c, double due) {
  if (c->fd < 0) open_connection(c);
  c->is_busy = true;
  c->r = &load.requests[load.next++ % load.n_requests];
  c->due = due;
  c->sent = c->n_in = c->head = c->length = 0;
  c->status = 0;
  load.n_started++;
  send_more(c);
}

/* Status, length and end of the connection, from a whole head. */
static void read_head(client *c) {
  const char *end = memmem(c->in, c->n_in, "\r\n\r\n", 4);
  if (!end) return;
  c->head = (size_t)(end - c->in) + 4;
  c->closes = false;
  c->status = c->n_in > 12 ? atoi(c->in + 9) : 0;
  for (const char *line = c->in; line < end; line = (const char *)memmem(line, c->n_in, "\r\n", 2) + 2) {
    if (!strncasecmp(line, "Content-Length:", 15)) c->length = strtoull(line + 15, NULL, 10);
    if (!strncasecmp(line, "Connection: close", 17)) c->closes = true;
    if (line >= end) break;
  }
}

/* True: the answer is whole. */
static bool receive(client *c) {
  for (;;) {
    if (c->capacity < c->n_in + 65536) c->in = more(c->in, c->capacity = 2 * c->capacity + 131072);
    const ssize_t n = recv(c->fd, c->in + c->n_in, c->capacity - c->n_in - 1, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    if (n <= 0) {
      if (c->is_busy)
        lose(c);
      else
        close_connection(c); /* the server's right */
      return false;
    }
    if (!c->is_busy) {
      load.n_bad++; /* bytes that nobody asked for */
      close_connection(c);
      return false;
    }
    c->n_in += (size_t)n;
    c->in[c->n_in] = '\0';
    if (!c->head) read_head(c);
    if (c->head && c->n_in >= c->head + c->length) return true;
  }
}

/* ---- the load ---- */

static bool is_over(double now) {
  return now >= load.until;
}

static void start_due(double now) {
  if (!load.rate) {
    while (load.n_idle && !is_over(now)) start(&load.clients[load.idle[--load.n_idle]], now);
    return;
  }
  double due;
  if (is_over(now)) return; /* what is due still was not sent in time */
  while (load.n_idle && (due = load.begun + (double)load.n_started / load.rate) <= now && !is_over(due))
    start(&load.clients[load.idle[--load.n_idle]], due);
  if (!load.n_idle || is_over(due = load.begun + (double)load.n_started / load.rate)) return;
  const struct itimerspec at = {.it_value = {(time_t)due, (long)(1e9 * (due - (double)(time_t)due)) + 1}};
  timerfd_settime(load.timer, TFD_TIMER_ABSTIME, &at, NULL);
}

static void run(void) {
  struct epoll_event events[N_EVENTS];
  load.begun = now_s();
  load.counted_from = load.begun + load.warm_up;
  load.until = load.counted_from + load.seconds;
  for (;;) {
    double now = now_s();
    start_due(now);
    if (is_over(now) && (load.n_idle == load.n_clients || now > load.until + DRAIN_S)) break;
    const int n = epoll_wait(load.epoll, events, N_EVENTS, 100);
    for (int i = 0; i < n; i++) {
      if (events[i].data.u64 == TIMER) {
        uint64_t ticks;
        (void)!read(load.timer, &ticks, sizeof ticks);
        continue;
      }
      client *c = &load.clients[events[i].data.u64];
      if (c->fd < 0) continue;
      if (c->is_busy && events[i].events & EPOLLOUT) send_more(c);
      if (!(events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) || !receive(c)) continue;
      now = now_s();
      count_answer(c, now);
      if (c->closes) close_connection(c);
      make_idle(c);
      if (!load.rate && !is_over(now)) load.n_idle--, start(c, now);
    }
  }
  for (int i = 0; i < load.n_clients; i++) load.n_lost += load.clients[i].is_busy;
}

static void report(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                     1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  uint64_t other = 0, all = 0;
  for (int s = 0; s < 600; s++) {
    all += load.n_status[s];
    if (s != 200 && s != 429) other += load.n_status[s];
  }
  qsort(load.ok.ms, load.ok.n, sizeof *load.ok.ms, by_value);
  qsort(load.refused.ms, load.refused.n, sizeof *load.refused.ms, by_value);
  const double due = load.rate * (load.warm_up + load.seconds);
  const double unsent = due > (double)load.n_started ? due - (double)load.n_started : 0;
  printf("clients\trate\tseconds\tanswers\tok\trefused\tother\tlost\tunsent\tbad\tok_per_s\tp50_ms\tp90_ms\tp99_"
         "ms\tmax_ms\t"
         "refused_p99_ms\tcpu_s\n");
  printf("%d\t%g\t%g\t%llu\t%zu\t%zu\t%llu\t%llu\t%.0f\t%llu\t%.1f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.2f\n",
         load.n_clients, load.rate, load.seconds, (unsigned long long)all, load.ok.n, load.refused.n,
         (unsigned long long)other, (unsigned long long)load.n_lost, unsent, (unsigned long long)load.n_bad,
         (double)load.ok.n / load.seconds, quantile(&load.ok, 0.5), quantile(&load.ok, 0.9), quantile(&load.ok, 0.99),
         quantile(&load.ok, 1), quantile(&load.refused, 0.99), cpu);
  for (int s = 0; s < 600; s++)
    if (load.n_status[s] && s != 200 && s != 429)
      fprintf(stderr, "status %d: %llu answers\n", s, (unsigned long long)load.n_status[s]);
}

static void read_options(int argc, char **argv, const char **requests) {
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--same"))
      load.same = true;
    else if (i + 1 < argc && !strcmp(argv[i], "--clients"))
      load.n_clients = atoi(argv[++i]);
    else if (i + 1 < argc && !strcmp(argv[i], "--rate"))
      load.rate = atof(argv[++i]);
    else if (i + 1 < argc && !strcmp(argv[i], "--seconds"))
      load.seconds = atof(argv[++i]);
    else if (i + 1 < argc && !strcmp(argv[i], "--warm-up"))
      load.warm_up = atof(argv[++i]);
    else if (!load.port)
      load.port = atoi(argv[i]);
    else
      *requests = argv[i];
  }
}

int main(int argc, char **argv) {
  const char *requests = NULL;
  read_options(argc, argv, &requests);
  if (!requests || load.port < 1 || load.port > 65535 || load.n_clients < 1 || load.n_clients > MAX_CLIENTS ||
      load.seconds <= 0 || load.rate < 0)
    return fprintf(stderr, "usage: %s PORT REQUESTS [--clients N] [--rate R] [--seconds S] [--warm-up S] [--same]\n",
                   argv[0]),
           2;
  read_requests(requests);
  load.clients = calloc((size_t)load.n_clients, sizeof *load.clients);
  load.idle = calloc((size_t)load.n_clients, sizeof *load.idle);
  load.epoll = epoll_create1(0);
  load.timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  struct epoll_event e = {.events = EPOLLIN, .data.u64 = TIMER};
  if (!load.clients || !load.idle || load.epoll < 0 || load.timer < 0 ||
      epoll_ctl(load.epoll, EPOLL_CTL_ADD, load.timer, &e))
    die("epoll");
  for (int i = load.n_clients - 1; i >= 0; i--) {
    load.clients[i].fd = -1;
    make_idle(&load.clients[i]);
  }
  run();
  report();
  for (int i = 0; i < load.n_clients; i++) {
    close_connection(&load.clients[i]);
    free(load.clients[i].in);
  }
  for (size_t i = 0; i < load.n_requests; i++) free(load.requests[i].bytes);
  free(load.requests);
  free(load.clients);
  free(load.idle);
  free(load.ok.ms);
  free(load.refused.ms);
  return load.n_lost || load.n_bad;
}
