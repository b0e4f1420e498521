#include "base/pool.h"

#include "base/error.h"
#include "base/memory.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* Threads sleep on `wake` between rounds. A round's items are counted out of `next`; the round ends when every helper
 * has come back to sleep, so no helper can touch a finished round's context. */
struct cq_pool {
  pthread_mutex_t mutex;
  pthread_cond_t wake, done;
  pthread_t *threads;
  struct helper *helpers;
  int n_threads;
  unsigned long round;
  int n_busy;
  bool closing;
  void (*work)(void *, size_t, int);
  void *context;
  size_t n_items;
  _Atomic size_t next;
};

struct helper {
  cq_pool *pool;
  int worker;
};

static void drain(cq_pool *pool, int worker) {
  for (;;) {
    size_t item = atomic_fetch_add(&pool->next, 1);
    if (item >= pool->n_items) return;
    pool->work(pool->context, item, worker);
  }
}

static void *helper_main(void *argument) {
  const struct helper *self = argument;
  cq_pool *pool = self->pool;
  unsigned long seen = 0;
  pthread_mutex_lock(&pool->mutex);
  for (;;) {
    while (!pool->closing && pool->round == seen) pthread_cond_wait(&pool->wake, &pool->mutex);
    if (pool->closing) break;
    seen = pool->round;
    pthread_mutex_unlock(&pool->mutex);
    drain(pool, self->worker);
    pthread_mutex_lock(&pool->mutex);
    if (--pool->n_busy == 0) pthread_cond_signal(&pool->done);
  }
  pthread_mutex_unlock(&pool->mutex);
  return NULL;
}

cq_status cq_pool_open(cq_pool **out, int n_threads, cq_error *error) {
  *out = NULL;
  if (n_threads < 0 || n_threads > 4096)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%d threads asked for, expected 0 (one per processor) to 4096", n_threads);
  if (n_threads == 0) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    n_threads = online < 1 ? 1 : online > 4096 ? 4096 : (int)online;
  }
  cq_pool *pool = cq_alloc_zeroed(sizeof *pool);
  if (!pool) return cq_fail_memory(error, "thread pool");
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->wake, NULL);
  pthread_cond_init(&pool->done, NULL);
  pool->n_threads = 1;
  pool->threads = cq_alloc_array_zeroed((size_t)n_threads, sizeof *pool->threads);
  pool->helpers = cq_alloc_array_zeroed((size_t)n_threads, sizeof *pool->helpers);
  if (!pool->threads || !pool->helpers) {
    cq_pool_free(pool);
    return cq_fail_memory(error, "thread pool");
  }
  for (int i = 1; i < n_threads; i++) {
    pool->helpers[i] = (struct helper){pool, i};
    int code = pthread_create(&pool->threads[i], NULL, helper_main, &pool->helpers[i]);
    if (code) {
      cq_pool_free(pool);
      return cq_fail(error, CQ_ERR_IO, "cannot start thread %d of %d: %s", i + 1, n_threads, strerror(code));
    }
    pool->n_threads = i + 1;
  }
  *out = pool;
  return CQ_OK;
}

void cq_pool_free(cq_pool *pool) {
  if (!pool) return;
  pthread_mutex_lock(&pool->mutex);
  pool->closing = true;
  pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);
  for (int i = 1; i < pool->n_threads; i++) pthread_join(pool->threads[i], NULL);
  pthread_cond_destroy(&pool->done);
  pthread_cond_destroy(&pool->wake);
  pthread_mutex_destroy(&pool->mutex);
  cq_free(pool->helpers);
  cq_free(pool->threads);
  cq_free(pool);
}

int cq_pool_n_threads(const cq_pool *pool) {
  return pool ? pool->n_threads : 1;
}

void cq_pool_run(cq_pool *pool, size_t n_items, void (*work)(void *context, size_t item, int worker), void *context) {
  if (!pool || pool->n_threads == 1 || n_items <= 1) {
    for (size_t i = 0; i < n_items; i++) work(context, i, 0);
    return;
  }
  pthread_mutex_lock(&pool->mutex);
  assert(pool->n_busy == 0);
  pool->work = work;
  pool->context = context;
  pool->n_items = n_items;
  atomic_store(&pool->next, 0);
  pool->n_busy = pool->n_threads - 1;
  pool->round++;
  pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);
  drain(pool, 0);
  pthread_mutex_lock(&pool->mutex);
  while (pool->n_busy) pthread_cond_wait(&pool->done, &pool->mutex);
  pthread_mutex_unlock(&pool->mutex);
}
