/* The server: opens, runs until a signal, reloads, closes. */
#include "serve/acceptor.h"

#include "base/error.h"
#include "base/file.h"
#include "serve/http_exchange.h"
#include "serve/listen.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
  TICK_MS = 250,   /* between checks of deadlines */
  GRACE_MS = 2000, /* for requests that are incomplete at shutdown */
  N_CONNECTION_THREADS = 2,
  LOOK_EVERY = 4, /* ticks between checks for clients that have closed their side */
};

static void note(const serve_server *s, const char *format, ...) CQ_PRINTF(2, 3);
static void note(const serve_server *s, const char *format, ...) {
  char text[1400];
  va_list list;
  if (!s->options.note) return;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  s->options.note(text);
}

/* ---- running ---- */

static void reload(serve_server *s) {
  cq_error error = {0};
  serve_model *model, *old;
  char state[80];
  snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)cq_now_us());
  serve_notify(state);
  serve_log_reopen(s->log);
  const cq_status status =
      serve_model_reopen(&model, s->model, &s->options.model, &error); /* no other thread changes it */
  serve_metrics_reload(s->shared.metrics, status != CQ_OK);
  if (status) {
    note(s, "not reopened, the old one stays: %s", error.message);
    return;
  }
  pthread_mutex_lock(&s->mutex);
  old = s->model;
  s->model = model;
  pthread_mutex_unlock(&s->mutex);
  serve_model_leave(old);
  note(s, model == old ? "still open for writing: %s" : "reopened: %s", model->name);
}

void serve_ask(serve_server *s, serve_wish wish) {
  pthread_mutex_lock(&s->mutex);
  s->wishes |= wish;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mutex);
}

/* Waits for a wish, at most a tick. */
static unsigned next_wishes(serve_server *s) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += TICK_MS * 1000000L;
  if (until.tv_nsec >= 1000000000L) until.tv_nsec -= 1000000000L, until.tv_sec++;
  pthread_mutex_lock(&s->mutex);
  if (!s->wishes) pthread_cond_timedwait(&s->changed, &s->mutex, &until);
  const unsigned wishes = s->wishes;
  s->wishes = 0;
  pthread_mutex_unlock(&s->mutex);
  return wishes;
}

/* On shutdown, finishes complete requests; after the grace period drops partial ones. */
static bool is_busy(serve_server *s, uint64_t drained_ms) {
  pthread_mutex_lock(&s->mutex);
  const bool busy = s->n_whole || (s->n_requests && drained_ms < GRACE_MS);
  s->is_closing = !busy;
  pthread_mutex_unlock(&s->mutex);
  return busy;
}

static void tick(serve_server *s) {
  const uint64_t now = cq_now_ms();
  serve_queue_expire(s->shared.queue, now);
  serve_shut_connections(s, now, s->n_ticks++ % LOOK_EVERY == 0);
}

void serve_run(serve_server *s) {
  unsigned wishes = 0;
  serve_notify("READY=1");
  while (!((wishes = next_wishes(s)) & SERVE_STOP)) {
    if (wishes & SERVE_RELOAD) {
      reload(s);
      serve_notify("READY=1");
    }
    tick(s);
  }
  serve_notify("STOPPING=1");
  atomic_store(&s->is_draining, true);
  serve_acceptor_close(s->acceptor);
  s->acceptor = NULL;
  /* A socket from systemd stays open: new connections wait in its queue for the next server. */
  if (!s->is_inherited) shutdown(s->fd, SHUT_RD);
  const uint64_t begun = cq_now_ms();
  while (is_busy(s, cq_now_ms() - begun)) next_wishes(s), tick(s);
}

/* ---- opening and closing ---- */

/* The maximum number of connections: the limit of open files, minus a reserve. */
static unsigned connection_limit(unsigned wanted) {
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return wanted;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return wanted;
  const unsigned long long room = files.rlim_cur > 128 ? files.rlim_cur - 64 : files.rlim_cur / 2;
  return wanted < room ? wanted : (unsigned)room;
}

/* Connections handed over to the library also count before its threads have begun them. Those dropped for lack of
 * memory never begin, so they are no longer counted once there is no room. */
static bool has_room(void *context) {
  serve_server *s = context;
  pthread_mutex_lock(&s->mutex);
  const bool has = s->n_connections + s->n_handed_over < s->max_connections;
  if (!has) s->n_handed_over /= 2;
  pthread_mutex_unlock(&s->mutex);
  return has;
}

static void take_connection(void *context, int fd, const struct sockaddr *address, socklen_t n_address) {
  serve_server *s = context;
  pthread_mutex_lock(&s->mutex);
  s->n_handed_over++;
  pthread_mutex_unlock(&s->mutex);
  (void)MHD_add_connection(s->daemon, fd, address, n_address); /* which closes it on failure */
}

static cq_status start_daemon(serve_server *s, cq_error *error) {
  const unsigned flags =
      MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
  s->max_connections = connection_limit(s->options.max_connections);
  /* The library's own limit must not be reached: its thread would then wait for a lock that it holds itself. */
  s->daemon = MHD_start_daemon(flags, 0, NULL, NULL, serve_handle, s, MHD_OPTION_EXTERNAL_LOGGER, serve_take_message, s,
                               MHD_OPTION_NOTIFY_COMPLETED, serve_end_exchange, s, MHD_OPTION_NOTIFY_CONNECTION,
                               serve_watch_connection, s, MHD_OPTION_URI_LOG_CALLBACK, serve_begin_exchange, s,
                               MHD_OPTION_THREAD_POOL_SIZE, (unsigned)N_CONNECTION_THREADS, MHD_OPTION_CONNECTION_LIMIT,
                               (unsigned)INT_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SERVE_IDLE_S,
                               MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)SERVE_CONNECTION_MEMORY, MHD_OPTION_END);
  if (!s->daemon) return cq_fail(error, CQ_ERR_IO, "the HTTP service cannot be started");
  return serve_acceptor_open(&s->acceptor, s->fd, &(serve_acceptor_hooks){has_room, take_connection, s}, error);
}

/* The folder's index has changed. Requests see that by themselves, unless another index is in its place. */
static void take_folder(void *context) {
  serve_server *s = context;
  pthread_mutex_lock(&s->mutex);
  serve_model *model = serve_model_use(s->model);
  pthread_mutex_unlock(&s->mutex);
  if (cq_index_refresh(model->index, NULL, NULL)) serve_ask(s, SERVE_RELOAD);
  serve_model_leave(model);
}

static cq_status watch_folder(serve_server *s, size_t n_threads, cq_error *error) {
  const serve_options *o = &s->options;
  const serve_folder folder = {.path = o->folder, .encoding = o->encoding, .model = &s->options.model};
  if (!o->folder) return CQ_OK;
  return serve_folder_watch_open(&s->watch, &folder, o->folder_state, n_threads > 1 ? (int)n_threads / 2 : 1,
                                 take_folder, s, error);
}

static cq_status open_parts(serve_server *s, cq_context *ctx, cq_error *error) {
  const serve_options *o = &s->options;
  cq_status status = serve_access_open(&s->access, o->key_file, o->key, error);
  if (status) return status;
  s->fd = serve_listen_inherited();
  s->is_inherited = s->fd >= 0;
  const bool is_loopback = s->fd < 0 && serve_is_loopback(o->host);
  if (!is_loopback && !s->access.n_keys && !o->insecure)
    return cq_fail(error, CQ_ERR_ARGUMENT,
                   "a host that others can reach needs an API key (--api-key-file, CALQUE_API_KEY), or --insecure "
                   "where everybody may use it");
  if (o->cors && !serve_cors_is_list(o->cors))
    return cq_fail(error, CQ_ERR_ARGUMENT, "--cors is '%s', expected SCHEME://HOST or *", o->cors);
  s->access.cors = o->cors;
  s->access.checks_host = is_loopback && !o->insecure;
  s->shared.routes = o->routes;
  if (!(s->shared.metrics = serve_metrics_new(o->routes))) return cq_fail(error, CQ_ERR_MEMORY, "out of memory");
  const size_t n_threads = (size_t)cq_context_n_threads(ctx);
  if ((s->fd < 0 && (status = serve_listen(&s->fd, o->host, o->port, error))) ||
      (status = serve_log_open(&s->log, o->access_log, error)) ||
      (o->token_table &&
       (status = serve_token_table_open(&s->shared.tokens, s->shared.token_kind, o->token_table, error))) ||
      (status = serve_model_open(&s->model, &o->model, error)) ||
      (status =
           serve_queue_open(&s->shared.queue, &(serve_queue_options){o->queue_tokens, 512 * n_threads}, ctx, error)) ||
      (status = serve_jobs_open(&s->jobs,
                                n_threads < 2    ? 2
                                : n_threads > 16 ? 16
                                                 : (int)n_threads,
                                error)))
    return status;
  serve_listen_address(s->address, sizeof s->address, s->fd);
  cq_directory_writer uploads; /* what a killed server left is removed */
  if (!cq_directory_writer_temporary(&uploads, "calque-upload", NULL)) cq_directory_writer_abort(&uploads);
  status = start_daemon(s, error);
  return status ? status : watch_folder(s, n_threads, error);
}

cq_status serve_open(serve_server **out, const serve_options *options, cq_context *ctx, cq_error *error) {
  serve_server *s = calloc(1, sizeof *s);
  if (!s) return cq_fail(error, CQ_ERR_MEMORY, "out of memory");
  s->options = *options;
  s->options.model.is_of_folder = options->folder;
  if (!options->max_body_bytes) s->options.max_body_bytes = (size_t)512 << 20;
  if (!options->max_answer_bytes) s->options.max_answer_bytes = (size_t)256 << 20;
  if (s->options.max_body_bytes < options->max_body) s->options.max_body_bytes = options->max_body;
  s->fd = -1;
  s->shared.ctx = ctx;
  s->shared.limits = (serve_limits){.max_body = options->max_body,
                                    .max_tokens = options->max_tokens,
                                    .max_texts = SERVE_MAX_TEXTS,
                                    .queue_tokens = options->queue_tokens,
                                    .deadline_ms = options->deadline_ms};
  s->shared.writable = options->model.writable, s->shared.folder = options->folder;
  s->shared.token_kind = (serve_token_kind)options->token_kind;
  pthread_mutex_init(&s->mutex, NULL);
  pthread_cond_init(&s->changed, NULL);
  const cq_status status = open_parts(s, ctx, error);
  if (status)
    serve_close(s);
  else
    *out = s;
  return status;
}

const char *serve_address(const serve_server *s) {
  return s->address;
}

void serve_close(serve_server *s) {
  if (!s) return;
  serve_folder_watch_close(s->watch);
  serve_acceptor_close(s->acceptor);
  if (s->daemon) MHD_stop_daemon(s->daemon);
  if (s->fd >= 0) close(s->fd);
  serve_jobs_free(s->jobs);
  serve_queue_free(s->shared.queue);
  serve_model_leave(s->model);
  serve_metrics_free(s->shared.metrics);
  serve_log_close(s->log);
  serve_access_close(&s->access);
  serve_token_table_close(&s->shared.tokens);
  pthread_cond_destroy(&s->changed);
  pthread_mutex_destroy(&s->mutex);
  free(s);
}
