/* Requests in progress, and their connections.
 *
 * A connection is suspended from the moment its request is complete until there is a response: meanwhile, it needs no
 * thread. A body is read into memory up to the limit; the rest is read and dropped, so that the client receives the
 * response 413 instead of a reset. */
#include "serve/http_exchange.h"
#include "serve/request_body.h"
#include "serve/route.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum {
  SMALL_BODY = 4096,         /* bytes: texts of up to this size are tokenized on the connection's thread */
  SMALL_ANSWER = 4096,       /* numbers: up to this many are formatted on the dispatcher's thread */
  READ_RATE = 64 << 10,      /* bytes of an answer that a client reads each second at least */
  READ_S = 30,               /* that it may be late */
  BLOCK = 64 << 10,          /* bytes given to the library at once */
  COUNTED_ANSWER = 16 << 10, /* bytes: larger answers count among those in memory */
  MAX_DROPPED = 256 << 20    /* bytes dropped of a body that is too large: a client that sends more gets a reset */
};

/* A request, and this file's data about it. */
typedef struct exchange {
  serve_request request; /* first: argument_of() finds the rest by it */
  serve_job job;
  serve_head head;
  serve_server *server;
  struct MHD_Connection *connection;
  serve_connection *of;
  char method[16], *path, allow[SERVE_ALLOW];
  uint64_t read_ms;
  uint64_t begun_us;
  size_t n_body, n_reserved, n_held; /* bytes received, including dropped ones; counted in body_bytes, answer_bytes */
  bool is_begun, is_whole, is_done;  /* the headers are complete, the body is, and so is the answer */
} exchange;

/* ---- connections ---- */

static void set_until(serve_server *s, serve_connection *c, uint64_t until_ms, bool is_answered) {
  if (!c) return;
  pthread_mutex_lock(&s->mutex);
  c->until_ms = until_ms, c->is_answered = is_answered, c->n_closed_looks = 0;
  pthread_mutex_unlock(&s->mutex);
}

/* The request whose headers are incomplete; NULL: none. */
static void set_receiving(exchange *x, exchange *receiving) {
  if (!x->of) return;
  pthread_mutex_lock(&x->server->mutex);
  x->of->receiving = receiving;
  pthread_mutex_unlock(&x->server->mutex);
}

void serve_watch_connection(void *context, struct MHD_Connection *mhd, void **own,
                            enum MHD_ConnectionNotificationCode what) {
  serve_server *s = context;
  if (what == MHD_CONNECTION_NOTIFY_STARTED) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    serve_connection *c = calloc(1, sizeof *c);
    serve_metrics_connection(s->shared.metrics, 1);
    *own = c;
    pthread_mutex_lock(&s->mutex);
    s->n_connections++;
    if (s->n_handed_over) s->n_handed_over--;
    if (c) {
      c->fd = info ? info->connect_fd : -1;
      c->until_ms = cq_now_ms() + s->options.receive_s * 1000;
      c->next = s->connections, c->link = &s->connections;
      if (c->next) c->next->link = &c->next;
      s->connections = c;
    }
    pthread_mutex_unlock(&s->mutex);
  } else {
    serve_connection *c = *own;
    serve_metrics_connection(s->shared.metrics, -1);
    pthread_mutex_lock(&s->mutex);
    s->n_connections--;
    if (c) {
      *c->link = c->next;
      if (c->next) c->next->link = c->link;
    }
    pthread_mutex_unlock(&s->mutex);
    free(c);
    *own = NULL;
  }
}

/* Whether the client has closed its side, in three consecutive polls. A single poll may happen between the reading of a
 * request's last bytes and serve_handle(). */
static bool is_closed_by_client(serve_connection *c) {
  char byte;
  const bool is_closed = !c->is_answered && recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  c->n_closed_looks = is_closed ? c->n_closed_looks + 1 : 0;
  return c->n_closed_looks >= 3;
}

/* Ends connections whose clients take too long or, with `looks`, have closed their side before the request was
 * complete: the library misses this if the end arrives with the last bytes. Their threads notice that the socket is
 * shut down. */
void serve_shut_connections(serve_server *s, uint64_t now_ms, bool looks) {
  pthread_mutex_lock(&s->mutex);
  for (serve_connection *c = s->connections; c; c = c->next)
    if (c->until_ms && c->fd >= 0 && (c->until_ms < now_ms || (looks && is_closed_by_client(c))))
      shutdown(c->fd, SHUT_RDWR), c->until_ms = 0;
  pthread_mutex_unlock(&s->mutex);
}

/* ---- receiving a request ---- */

/* Counts the answer among those in memory, or replaces it by an error. One that exceeds the limit alone is sent if it
 * is the only one. What it was made from is no longer needed. */
static void hold_answer(exchange *x) {
  serve_server *s = x->server;
  serve_request *r = &x->request;
  const size_t n = r->answer.n;
  serve_request_keep_answer(r);
  if (n <= COUNTED_ANSWER) return;
  const size_t before = atomic_fetch_add(&s->answer_bytes, n);
  if (!before || before + n <= s->options.max_answer_bytes) {
    x->n_held = n;
    return;
  }
  atomic_fetch_sub(&s->answer_bytes, n);
  serve_fail(r, SERVE_BUSY, NULL, "answers that clients have not read yet hold %zu MiB already", before >> 20);
  r->retry_after_s = 1;
}

static void resume(exchange *x) {
  hold_answer(x);
  x->is_done = true;
  MHD_resume_connection(x->connection); /* x may be gone from here on */
}

static void answer_work(exchange *x) {
  serve_request *r = &x->request;
  serve_work *w = r->work;
  if (w->outcome == SERVE_EXPIRED) {
    serve_fail(r, r->route->flags & SERVE_INLINE ? SERVE_UNHEALTHY : SERVE_EXPIRED_WORK, NULL,
               "not encoded within %u ms (--deadline-ms)", (unsigned)(w->deadline_ms - r->begun_ms));
    r->retry_after_s = 1;
  } else if (w->outcome == SERVE_FAILED) {
    serve_fail_error(r, &w->error);
  } else {
    r->n_tokens = serve_work_n_tokens(w);
    r->n_truncated = w->n_truncated;
    r->is_embedding = true;
    r->route->answer(r);
  }
}

static void answer_later(void *context) {
  exchange *x = context;
  answer_work(x);
  resume(x);
}

/* Called by the dispatcher, or by the thread that notices the expired deadline. */
static void work_is_done(void *context) {
  exchange *x = context;
  const serve_work *w = x->request.work;
  const bool is_long = w->n_texts * w->model->dim > SMALL_ANSWER || x->request.route->flags & SERVE_LONG_ANSWER;
  if (w->outcome != SERVE_ENCODED || !is_long) {
    answer_later(x);
  } else {
    x->job = (serve_job){.run = answer_later, .context = x};
    serve_jobs_push(x->server->jobs, &x->job);
  }
}

static void submit(exchange *x) {
  serve_request *r = &x->request;
  serve_work *w = r->work;
  const size_t n = w->ids.n, dim = r->model->dim;
  double retry_s = 1;
  if (!w->deadline_ms) w->deadline_ms = r->begun_ms + r->shared->limits.deadline_ms;
  w->done = work_is_done, w->context = x;
  w->vectors = n <= SIZE_MAX / dim / sizeof *w->vectors ? malloc(n * dim * sizeof *w->vectors) : NULL;
  if (!w->vectors) {
    serve_fail_memory(r);
    resume(x);
  } else if (!serve_queue_submit(r->shared->queue, w, &retry_s)) {
    r->retry_after_s = retry_s < 1 ? 1 : retry_s > 60 ? 60 : (unsigned)(retry_s + 0.5);
    serve_fail(r, SERVE_OVERLOADED, NULL, "%zu tokens wait already (--queue-tokens)", r->shared->limits.queue_tokens);
    resume(x);
  }
}

/* Counts a body's bytes among those of all requests; false: there are too many, and the request has failed. */
static bool reserve(exchange *x, size_t n) {
  x->n_reserved += n;
  if (atomic_fetch_add(&x->server->body_bytes, n) + n <= x->server->options.max_body_bytes) return true;
  serve_fail(&x->request, SERVE_OVERLOADED, NULL, "requests being read hold %zu MiB already",
             x->server->options.max_body_bytes >> 20);
  x->request.retry_after_s = 1;
  cq_builder_free(&x->request.body);
  return false;
}

static void prepare(void *context) {
  exchange *x = context;
  const size_t n = x->request.body.n;
  if (serve_expand_body(&x->request) && reserve(x, x->request.body.n > n ? x->request.body.n - n : 0))
    x->request.route->prepare(&x->request);
  if (x->request.code || !x->request.work) {
    if (!x->request.code) serve_fail(&x->request, SERVE_INTERNAL, NULL, "the route gave no answer");
    resume(x);
  } else {
    submit(x);
  }
}

static const char *argument_of(const serve_request *r, const char *name) {
  const exchange *x = (const exchange *)r;
  return MHD_lookup_connection_value(x->connection, MHD_GET_ARGUMENT_KIND, name);
}

static const char *header_of(const exchange *x, const char *name) {
  return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

/* The path of http://host:port/path, a request's target in absolute form, whose host counts instead of the header's. */
static const char *take_host(const char **host, char copy[256], const char *target) {
  const size_t n = !strncasecmp(target, "http://", 7) ? 7 : !strncasecmp(target, "https://", 8) ? 8 : 0;
  if (!n) return target;
  const size_t n_host = strcspn(target + n, "/");
  snprintf(copy, 256, "%.*s", (int)(n_host < 256 ? n_host : 0), target + n);
  *host = copy;
  return target[n + n_host] ? target + n + n_host : "/";
}

/* Path and method, from the headers. */
static void begin_request(exchange *x, const char *target, const char *method) {
  char of_target[256];
  const char *host = header_of(x, "Host"), *path = take_host(&host, of_target, target);
  serve_server *s = x->server;
  serve_request *r = &x->request;
  const char *rest = "";
  r->shared = &s->shared;
  r->argument = argument_of;
  r->begun_ms = cq_now_ms();
  r->if_none_match = header_of(x, "If-None-Match");
  r->accept_encoding = header_of(x, "Accept-Encoding");
  r->body_type = header_of(x, "Content-Type");
  r->body_encoding = header_of(x, "Content-Encoding");
  snprintf(x->method, sizeof x->method, "%s", method);
  pthread_mutex_lock(&s->mutex);
  r->model = serve_model_use(s->model);
  s->n_requests++;
  pthread_mutex_unlock(&s->mutex);
  set_receiving(x, NULL);
  x->is_begun = true;
  if (!(x->path = strdup(path))) {
    serve_fail_memory(r);
    return;
  }
  r->route = serve_route_find(s->shared.routes, method, x->path, &rest, x->allow);
  r->rest = rest;
  const serve_credentials given = {.method = x->method,
                                   .authorization = header_of(x, "Authorization"),
                                   .host = host,
                                   .origin = header_of(x, "Origin"),
                                   .site = header_of(x, "Sec-Fetch-Site")};
  if (!serve_check_access(r, &s->access, &given)) return;
  if (*x->allow && !strcmp(method, "OPTIONS"))
    r->code = 204;
  else if (*x->allow)
    serve_fail(r, SERVE_NO_METHOD, NULL, "%s is not a method of %.300s", x->method, path);
  else if (!r->route)
    serve_fail(r, SERVE_NOT_FOUND, NULL, "there is nothing at %.300s (GET /openapi.json lists all routes)", path);
}

/* Whether so many bytes of a body are read only to be dropped. */
static bool is_droppable(const serve_server *s, size_t n) {
  return n <= MAX_DROPPED || n / 8 <= s->options.max_body;
}

static void fail_large_body(exchange *x) {
  cq_builder_free(&x->request.body);
  serve_fail(&x->request, SERVE_TOO_LARGE, NULL, "the body has more than %zu bytes (--max-body)",
             x->server->options.max_body);
}

/* Receives a part of the body. False: too long even for dropping. */
static bool take_body(exchange *x, const char *data, size_t n) {
  serve_server *s = x->server;
  serve_request *r = &x->request;
  x->n_body += n;
  if (r->code) return is_droppable(s, x->n_body);
  if (x->n_body > s->options.max_body) {
    fail_large_body(x);
    return true;
  }
  if (!reserve(x, n)) return true;
  cq_builder_bytes(&r->body, data, n);
  if (r->body.failed) serve_fail_memory(r);
  return true;
}

/* ---- the answer ---- */

/* Answers without the library, which has no memory left for it or would do it badly, and ends the connection. */
static void answer_directly(exchange *x) {
  const cq_builder *b = &x->request.answer;
  char head[300];
  const int n = snprintf(head, sizeof head,
                         "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nX-Content-Type-Options: nosniff\r\n"
                         "Cache-Control: no-store\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
                         x->request.code, MHD_get_reason_phrase_for((unsigned)x->request.code), b->n);
  if (!x->of) return;
  (void)!send(x->of->fd, head, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT | MSG_MORE);
  (void)!send(x->of->fd, b->data, b->n, MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown(x->of->fd, SHUT_WR);
}

static exchange *next_refused(serve_server *s) {
  exchange *x = NULL;
  pthread_mutex_lock(&s->mutex);
  for (serve_connection *c = s->connections; c && !x; c = c->next)
    if (c->receiving && serve_head_is_refused(&c->receiving->head, NULL)) x = c->receiving;
  pthread_mutex_unlock(&s->mutex);
  return x;
}

/* After the last header, libmicrohttpd 0.9.75 sends the headers of its own errors twice: for a Content-Length that it
 * cannot read, and for lack of memory. It calls this before, but not with the connection, which is one of this thread's. */
void serve_take_message(void *context, const char *format, va_list list) {
  (void)list;
  if (!strstr(format, "Content-Length") && !strstr(format, "Not enough memory")) return;
  for (exchange *x; (x = next_refused(context));) {
    begin_request(x, "", "");
    (void)serve_head_is_refused(&x->head, &x->request);
    answer_directly(x);
  }
}

static void add_header(struct MHD_Response *response, const char *name, const char *value) {
  (void)!MHD_add_response_header(response, name,
                                 value); /* fails only when out of memory: the response then has fewer headers */
}

/* Gives the library the next bytes, since the client has read those before, or the socket has room for them. */
static ssize_t give_block(void *context, uint64_t at, char *out, size_t max) {
  exchange *x = context;
  const size_t left = x->request.answer.n - (size_t)at, n = left < max ? left : max;
  memcpy(out, x->request.answer.data + at, n);
  if (x->of) {
    const uint64_t latest = cq_now_ms() + x->read_ms;
    pthread_mutex_lock(&x->server->mutex);
    if (x->of->until_ms) x->of->until_ms += n * 1000 / READ_RATE;
    if (x->of->until_ms > latest) x->of->until_ms = latest;
    pthread_mutex_unlock(&x->server->mutex);
  }
  return (ssize_t)n;
}

/* What a browser needs to let a page of another origin read the answer, or make the request (OPTIONS). */
static void add_cors(const exchange *x, struct MHD_Response *response) {
  const char *cors = x->server->access.cors, *origin = header_of(x, "Origin");
  if (!cors) return;
  add_header(response, "Vary", "Origin");
  if (!serve_cors_has(cors, origin)) return;
  add_header(response, "Access-Control-Allow-Origin", origin);
  add_header(response, "Access-Control-Expose-Headers", "X-Calque-Truncated, X-Calque-Scores, Retry-After");
  if (strcmp(x->method, "OPTIONS") != 0) return;
  const char *headers = header_of(x, "Access-Control-Request-Headers");
  if (*x->allow) add_header(response, "Access-Control-Allow-Methods", x->allow);
  if (headers) add_header(response, "Access-Control-Allow-Headers", headers);
  if (header_of(x, "Access-Control-Request-Private-Network"))
    add_header(response, "Access-Control-Allow-Private-Network", "true");
  add_header(response, "Access-Control-Max-Age", "86400");
}

static enum MHD_Result send_answer(exchange *x) {
  serve_server *s = x->server;
  serve_request *r = &x->request;
  static const char csp[] = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
                            "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  char number[32];
  const size_t n = r->constant ? r->n_constant : r->answer.n;
  const void *bytes = r->constant ? r->constant : r->answer.data;
  const char *type = r->content_type ? r->content_type : "application/json";
  const bool in_blocks = !r->constant && n > BLOCK;
  struct MHD_Response *response =
      in_blocks ? MHD_create_response_from_callback(n, BLOCK, give_block, x, NULL)
                : MHD_create_response_from_buffer(n, (void *)(size_t)bytes, MHD_RESPMEM_PERSISTENT);
  if (!response) return MHD_NO;
  if (n) add_header(response, "Content-Type", type);
  if (*x->allow) add_header(response, "Allow", x->allow);
  if (r->disposition) add_header(response, "Content-Disposition", r->disposition);
  if (r->disposition && strcmp(type, "application/pdf") != 0) /* viewers of PDF need what this forbids */
    add_header(response, "Content-Security-Policy", "default-src 'none'; sandbox");
  if (r->content_encoding) add_header(response, "Content-Encoding", r->content_encoding);
  add_header(response, "X-Content-Type-Options", "nosniff");
  add_header(response, "Referrer-Policy", "no-referrer");
  if (r->etag) {
    add_header(response, "ETag", r->etag);
    add_header(response, "Vary", "Accept-Encoding");
    add_header(response, "Cache-Control", "no-cache");
    add_header(response, "Content-Security-Policy", csp);
    add_header(response, "X-Frame-Options", "DENY");
    add_header(response, "Cross-Origin-Opener-Policy", "same-origin");
  } else {
    add_header(response, "Cache-Control", "no-store");
  }
  if (r->retry_after_s) {
    snprintf(number, sizeof number, "%u", r->retry_after_s);
    add_header(response, "Retry-After", number);
  }
  if (r->is_embedding) {
    snprintf(number, sizeof number, "%llu", (unsigned long long)r->n_truncated);
    add_header(response, "X-Calque-Truncated", number);
  }
  if (r->scores && r->code == 200) add_header(response, "X-Calque-Scores", r->scores);
  if (r->code == 401) add_header(response, "WWW-Authenticate", "Bearer");
  if (atomic_load(&s->is_draining) || x->head.is_unframed) add_header(response, "Connection", "close");
  add_cors(x, response);
  x->read_ms = (s->options.receive_s < READ_S ? s->options.receive_s : READ_S) * 1000;
  set_until(s, x->of, cq_now_ms() + x->read_ms + (in_blocks ? 0 : n * 1000 / READ_RATE), true);
  const enum MHD_Result result = MHD_queue_response(x->connection, (unsigned)r->code, response);
  MHD_destroy_response(response);
  return result;
}

/* Called for the headers, for each part of the body, at its end, and again when the connection is resumed. */
enum MHD_Result serve_handle(void *context, struct MHD_Connection *mhd, const char *path, const char *method,
                             const char *version, const char *data, size_t *n_data, void **own) {
  serve_server *s = context;
  exchange *x = *own;
  if (!x->is_begun) {
    const char *expect = MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, "Expect"),
               *length = MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, "Content-Length");
    begin_request(x, path, method);
    serve_head_check(&x->head, &x->request, method, version);
    if (x->head.is_large) {
      answer_directly(x);
      return MHD_NO;
    }
    const unsigned long long n = length ? strtoull(length, NULL, 10) : 0;
    if (!x->request.code && n > s->options.max_body) fail_large_body(x);
    /* A client that waits before sending the body (Expect) gets errors in the headers first. If it is not clear where
     * the body ends, or too far away, the connection ends. */
    return x->request.code && (expect || x->head.is_unframed || !is_droppable(s, n)) ? send_answer(x) : MHD_YES;
  }
  if (*n_data) {
    if (!take_body(x, data, *n_data)) return MHD_NO;
    *n_data = 0;
    return MHD_YES;
  }
  if (x->request.code && (x->is_done || !x->is_whole)) return send_answer(x);
  pthread_mutex_lock(&s->mutex);
  x->is_whole = !s->is_closing;
  s->n_whole += x->is_whole;
  if (x->of && x->is_whole) x->of->until_ms = 0;
  pthread_mutex_unlock(&s->mutex);
  if (!x->is_whole) return MHD_NO;
  MHD_suspend_connection(mhd);
  /* A search, or adding documents, would block the thread's other connections. */
  const serve_route *route = x->request.route;
  const bool is_short = route->answer && !(route->flags & SERVE_LONG_ANSWER) && x->request.body.n <= SMALL_BODY &&
                        !x->request.body_encoding;
  if (route->flags & SERVE_INLINE || is_short) {
    prepare(x);
  } else {
    x->job = (serve_job){.run = prepare, .context = x};
    serve_jobs_push(s->jobs, &x->job);
  }
  return MHD_YES;
}

/* Called before the headers are read; *own is passed to all later calls. The address is in the library's buffer and not
 * parsed yet. */
void *serve_begin_exchange(void *context, const char *uri, struct MHD_Connection *mhd) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  exchange *x = calloc(1, sizeof *x);
  serve_server *s = context;
  if (!x) return NULL;
  x->server = s, x->begun_us = cq_now_us(), x->connection = mhd, x->of = info ? info->socket_context : NULL;
  serve_head_begin(&x->head, mhd, (char *)(size_t)uri);
  set_receiving(x, x);
  return x;
}

static void put_client(char out[INET6_ADDRSTRLEN], struct MHD_Connection *mhd) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  const struct sockaddr *a = info ? info->client_addr : NULL;
  snprintf(out, INET6_ADDRSTRLEN, "-");
  if (a && a->sa_family == AF_INET)
    inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)a)->sin_addr, out, INET6_ADDRSTRLEN);
  else if (a && a->sa_family == AF_INET6)
    inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, out, INET6_ADDRSTRLEN);
}

/* The answer is sent, or the connection is lost. */
void serve_end_exchange(void *context, struct MHD_Connection *mhd, void **own, enum MHD_RequestTerminationCode why) {
  serve_server *s = context;
  exchange *x = *own;
  (void)why;
  if (!x) return;
  *own = NULL;
  if (x->is_begun) {
    serve_request *r = &x->request;
    char client[INET6_ADDRSTRLEN];
    const int code = r->code ? r->code : 408; /* gone before its request was whole */
    const uint64_t took_us = cq_now_us() - x->begun_us;
    serve_metrics_count(s->shared.metrics, &(serve_counted){r->route, code, took_us, r->n_tokens, r->n_truncated});
    put_client(client, mhd);
    serve_log_write(s->log, &(serve_log_line){client, x->method, x->path ? x->path : "", code, took_us, r->n_tokens,
                                              r->n_truncated, x->n_body, r->constant ? r->n_constant : r->answer.n});
    atomic_fetch_sub(&s->body_bytes, x->n_reserved);
    atomic_fetch_sub(&s->answer_bytes, x->n_held);
    set_until(s, x->of, cq_now_ms() + s->options.receive_s * 1000, false);
    serve_request_clear(r);
    pthread_mutex_lock(&s->mutex);
    s->n_whole -= x->is_whole;
    if (--s->n_requests == 0) pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
  } else {
    set_receiving(x, NULL);
  }
  free(x->path);
  free(x);
}
