/* The address of a database, and the connections to it that threads share. */
#include "postgresql/connection.h"

#include "base/error.h"
#include "base/memory.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FIRST_PAUSE_MS = 100, MAX_PAUSE_MS = 5000, FULL_MS = 5000, WAIT_FOR_CONNECTION_S = 10 };

struct cq_pg_pool {
  char *address, *name, *begin; /* begin NULL: nothing */
  char schema[CQ_PG_SCHEMA], quoted[2 * CQ_PG_SCHEMA + 3];
  int max;
  pthread_mutex_t mutex; /* of what follows */
  pthread_cond_t given;
  cq_pg *idle;
  int n_open;
  int n_waiting;
  uint64_t pause_ms, again_ms; /* again_ms: the earliest time of the next connection attempt; 0: none has failed */
  uint64_t full_until_ms;      /* the server refused another connection: until then, use the existing ones */
  char reason[CQ_PG_PROBLEM];
};

static uint64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* --- addresses --- */

static int hex_digit(char c) {
  const char *digits = "0123456789abcdef", *found = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
  return found ? (int)(found - digits) : -1;
}

/* The value of schema=..., %XX resolved. */
static cq_status read_schema(cq_pg_pool *pool, cq_slice value, cq_error *error) {
  size_t n = 0;
  for (size_t i = 0; i < value.n && n < sizeof pool->schema; i++) {
    char c = value.data[i];
    if (c == '%' && i + 2 < value.n && hex_digit(value.data[i + 1]) >= 0 && hex_digit(value.data[i + 2]) >= 0) {
      c = (char)(16 * hex_digit(value.data[i + 1]) + hex_digit(value.data[i + 2]));
      i += 2;
    }
    pool->schema[n++] = c;
  }
  if (n == 0 || n >= sizeof pool->schema || memchr(pool->schema, 0, n))
    return cq_fail(error, CQ_ERR_ARGUMENT, "the address of a database: schema= has 1 to %d bytes", CQ_PG_SCHEMA - 1);
  pool->schema[n] = 0;
  return CQ_OK;
}

/* HOST:PORT,HOST:PORT,...; [::1] is a host. */
static bool has_bad_port(cq_slice hosts) {
  for (size_t i = 0; i < hosts.n; i++) {
    if (hosts.data[i] == '[')
      while (i + 1 < hosts.n && hosts.data[i] != ']') i++;
    if (hosts.data[i] != ':') continue;
    while (i + 1 < hosts.n && hosts.data[i + 1] != ',')
      if (hosts.data[++i] < '0' || hosts.data[i] > '9') return true;
  }
  return false;
}

/* The start of the host: after the first @ that comes before a slash, as in libpq. The error for a malformed host does
 * not show it, because it may be part of a password. */
static cq_status find_host(const char **host, const char *address, cq_error *error) {
  const char *begin = strstr(address, "://") + 3, *end = begin + strcspn(begin, "@/");
  *host = *end == '@' ? end + 1 : begin;
  if (strchr(*host, '@'))
    return cq_fail(error, CQ_ERR_ARGUMENT,
                   "the address of a database: an @ after USER:PASSWORD@; in a user, a password or an option %%40 "
                   "stands for @, and %%2F for a slash");
  if (has_bad_port((cq_slice){*host, strcspn(*host, "/?")}))
    return cq_fail(error, CQ_ERR_ARGUMENT,
                   "the address of a database: its port is not a number; expected "
                   "postgresql://USER@HOST:PORT/DATABASE?NAME=VALUE");
  return CQ_OK;
}

/* "schema" is ours, so it is removed for libpq; the address shown in messages has no user, password or options. */
static cq_status read_address(cq_pg_pool *pool, const char *address, cq_error *error) {
  cq_builder rest = {0}, name = {0};
  const char *place;
  cq_status status = find_host(&place, address, error);
  if (status) return status;
  const char *options = strchr(place, '?');
  const size_t n_base = options ? (size_t)(options - address) : strlen(address);
  cq_builder_bytes(&rest, address, n_base);
  snprintf(pool->schema, sizeof pool->schema, "calque");
  char mark = '?';
  for (const char *at = options; at && *at && !status;) {
    const size_t n = strcspn(++at, "&");
    if (n >= 7 && strncmp(at, "schema=", 7) == 0) {
      status = read_schema(pool, (cq_slice){at + 7, n - 7}, error);
    } else if (n) {
      cq_builder_char(&rest, mark);
      cq_builder_bytes(&rest, at, n);
      mark = '&';
    }
    at += n;
  }
  char *q = pool->quoted;
  *q++ = '"';
  for (const char *c = pool->schema; *c; c++) {
    if (*c == '"') *q++ = '"';
    *q++ = *c;
  }
  *q++ = '"', *q = 0;
  cq_builder_text(&name, "postgresql://");
  cq_builder_bytes(&name, place, n_base - (size_t)(place - address));
  if (strcmp(pool->schema, "calque") != 0) cq_builder_printf(&name, "?schema=%s", pool->schema);
  pool->address = rest.data, pool->name = name.data;
  return status || (!rest.failed && !name.failed) ? status : cq_fail_memory(error, "the address of a database");
}

/* --- the pool --- */

cq_status cq_pg_pool_open(cq_pg_pool **out, const char *address, int max_connections, cq_error *error) {
  cq_pg_pool *pool = cq_alloc_zeroed(sizeof *pool);
  *out = NULL;
  if (!pool) return cq_fail_memory(error, "connections");
  pool->max = max_connections, pool->pause_ms = FIRST_PAUSE_MS;
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->given, &monotonic);
  pthread_condattr_destroy(&monotonic);
  cq_status status = read_address(pool, address, error);
  if (status)
    cq_pg_pool_close(pool);
  else
    *out = pool;
  return status;
}

static void close_idle(cq_pg_pool *pool) {
  for (cq_pg *pg; (pg = pool->idle);) {
    pool->idle = pg->next;
    pool->n_open--;
    cq_pg_close(pg);
  }
}

void cq_pg_pool_close(cq_pg_pool *pool) {
  if (!pool) return;
  close_idle(pool);
  assert(pool->n_open == 0);
  pthread_mutex_destroy(&pool->mutex);
  pthread_cond_destroy(&pool->given);
  cq_free(pool->address);
  cq_free(pool->name);
  cq_free(pool->begin);
  cq_free(pool);
}

const char *cq_pg_pool_name(const cq_pg_pool *pool) {
  return pool->name;
}

const char *cq_pg_pool_schema(const cq_pg_pool *pool) {
  return pool->schema;
}

const char *cq_pg_pool_quoted(const cq_pg_pool *pool) {
  return pool->quoted;
}

cq_status cq_pg_pool_begin_with(cq_pg_pool *pool, const char *sql, cq_error *error) {
  char *copy = cq_strdup(sql);
  if (!copy) return cq_fail_memory(error, "connections");
  pthread_mutex_lock(&pool->mutex);
  cq_free(pool->begin);
  pool->begin = copy;
  close_idle(pool);
  pthread_mutex_unlock(&pool->mutex);
  return CQ_OK;
}

static cq_status open_one(cq_pg **out, cq_pg_pool *pool, cq_error *error) {
  cq_pg_problem problem = {0};
  const uint64_t again_before = pool->again_ms;
  pool->n_open++;
  pthread_mutex_unlock(&pool->mutex);
  const cq_status status = cq_pg_connect(out, pool->name, pool->address, pool->begin, &problem, error);
  pthread_mutex_lock(&pool->mutex);
  if (!status) {
    (*out)->pool = pool;
    pool->pause_ms = FIRST_PAUSE_MS, pool->again_ms = 0;
    return CQ_OK;
  }
  pool->n_open--;
  if (strcmp(problem.sqlstate, "53300") == 0 && pool->n_open > 0) { /* too many connections */
    pool->full_until_ms = now_ms() + FULL_MS;
    return status;
  }
  /* threads that tried at the same time had the same failure: double the pause only once */
  if (pool->again_ms == again_before) {
    pool->again_ms = now_ms() + pool->pause_ms;
    pool->pause_ms = 2 * pool->pause_ms < MAX_PAUSE_MS ? 2 * pool->pause_ms : MAX_PAUSE_MS;
  }
  snprintf(pool->reason, sizeof pool->reason, "%s", problem.message);
  pthread_cond_broadcast(&pool->given); /* all that wait get the reason now */
  return status;
}

/* Takes the last returned connection whose transaction has ended. Releases the caller's mutex meanwhile. */
static cq_pg *take_waiting(cq_pg_pool *pool) {
  for (cq_pg *pg; (pg = pool->idle);) {
    pool->idle = pg->next;
    pthread_mutex_unlock(&pool->mutex);
    const bool is_alive = cq_pg_receive_rollback(pg);
    if (!is_alive) cq_pg_close(pg);
    pthread_mutex_lock(&pool->mutex);
    if (is_alive) return pg;
    pool->n_open--;
    pthread_cond_signal(&pool->given);
  }
  return NULL;
}

static bool may_open(const cq_pg_pool *pool, uint64_t now) {
  return pool->n_open < pool->max && (pool->n_open == 0 || pool->full_until_ms <= now);
}

cq_pg *cq_pg_take_idle(cq_pg_pool *pool) {
  pthread_mutex_lock(&pool->mutex);
  cq_pg *pg = pool->n_waiting ? NULL : take_waiting(pool);
  const uint64_t now = now_ms();
  if (!pg && !pool->n_waiting && pool->again_ms == 0 && may_open(pool, now)) {
    const uint64_t pause_ms = pool->pause_ms;
    if (open_one(&pg, pool, NULL)) pool->again_ms = 0, pool->pause_ms = pause_ms, pool->full_until_ms = now + FULL_MS;
  }
  pthread_mutex_unlock(&pool->mutex);
  return pg;
}

cq_status cq_pg_take(cq_pg **out, cq_pg_pool *pool, cq_error *error) {
  struct timespec limit;
  cq_status status = CQ_OK;
  *out = NULL;
  clock_gettime(CLOCK_MONOTONIC, &limit);
  limit.tv_sec += WAIT_FOR_CONNECTION_S;
  pthread_mutex_lock(&pool->mutex);
  while (!status && !*out) {
    const uint64_t now = now_ms();
    if ((*out = take_waiting(pool))) break;
    if (may_open(pool, now) && pool->again_ms > now) {
      status = cq_fail_file(error, CQ_ERR_UNAVAILABLE, pool->name, "%s (tried again in %.1f s)", pool->reason,
                            (double)(pool->again_ms - now) * 1e-3);
    } else if (may_open(pool, now)) {
      status = open_one(out, pool, error);
      if (status && pool->full_until_ms > now && pool->n_open > 0)
        status = CQ_OK; /* waits for an existing connection */
    } else {
      pool->n_waiting++;
      const bool is_late = pthread_cond_timedwait(&pool->given, &pool->mutex, &limit) != 0;
      pool->n_waiting--;
      if (is_late)
        status = cq_fail_file(error, CQ_ERR_UNAVAILABLE, pool->name, "all %d connections have been busy for %d seconds",
                              pool->n_open, WAIT_FOR_CONNECTION_S);
    }
  }
  pthread_mutex_unlock(&pool->mutex);
  return status;
}

cq_status cq_pg_begin(cq_pg **out, cq_pg_pool *pool, cq_pg_begin_fn begin, void *context, cq_error *error) {
  cq_status status = CQ_OK;
  for (int tries = 2; tries > 0; tries--) {
    status = cq_pg_take(out, pool, error);
    if (status || !(status = begin(context, *out, error))) return status;
    const bool is_lost = cq_pg_is_lost(*out);
    cq_pg_give(*out);
    *out = NULL;
    if (!is_lost) break;
    pthread_mutex_lock(&pool->mutex);
    close_idle(pool); /* which are as old, and lost as well */
    pthread_cond_broadcast(&pool->given);
    pthread_mutex_unlock(&pool->mutex);
  }
  return status;
}

/* Does not wait for the end of the transaction; take_waiting() does so later. */
void cq_pg_give(cq_pg *pg) {
  if (!pg) return;
  cq_pg_pool *pool = pg->pool;
  /* outside a transaction, this only causes a notice, which is ignored */
  const bool is_fine = cq_pg_send_rollback(pg);
  pthread_mutex_lock(&pool->mutex);
  if (is_fine) {
    pg->next = pool->idle;
    pool->idle = pg;
  } else {
    pool->n_open--;
  }
  pthread_cond_signal(&pool->given);
  pthread_mutex_unlock(&pool->mutex);
  if (!is_fine) cq_pg_close(pg);
}
