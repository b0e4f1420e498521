#include "base/context.h"

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
struct cq_context {
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
  cq_context *ctx;
  int worker;
};

static void drain(cq_context *ctx, int worker) {
  for (;;) {
    size_t item = atomic_fetch_add(&ctx->next, 1);
    if (item >= ctx->n_items) return;
    ctx->work(ctx->context, item, worker);
  }
}

static void *helper_main(void *argument) {
  const struct helper *self = argument;
  cq_context *ctx = self->ctx;
  unsigned long seen = 0;
  pthread_mutex_lock(&ctx->mutex);
  for (;;) {
    while (!ctx->closing && ctx->round == seen) pthread_cond_wait(&ctx->wake, &ctx->mutex);
    if (ctx->closing) break;
    seen = ctx->round;
    pthread_mutex_unlock(&ctx->mutex);
    drain(ctx, self->worker);
    pthread_mutex_lock(&ctx->mutex);
    if (--ctx->n_busy == 0) pthread_cond_signal(&ctx->done);
  }
  pthread_mutex_unlock(&ctx->mutex);
  return NULL;
}

cq_status cq_context_open(cq_context **out, int n_threads, cq_error *error) {
  *out = NULL;
  if (n_threads < 0 || n_threads > 4096)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%d threads asked for, expected 0 (one per processor) to 4096", n_threads);
  if (n_threads == 0) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    n_threads = online < 1 ? 1 : online > 4096 ? 4096 : (int)online;
  }
  cq_context *ctx = cq_alloc_zeroed(sizeof *ctx);
  if (!ctx) return cq_fail_memory(error, "thread pool");
  pthread_mutex_init(&ctx->mutex, NULL);
  pthread_cond_init(&ctx->wake, NULL);
  pthread_cond_init(&ctx->done, NULL);
  ctx->n_threads = 1;
  ctx->threads = cq_alloc_array_zeroed((size_t)n_threads, sizeof *ctx->threads);
  ctx->helpers = cq_alloc_array_zeroed((size_t)n_threads, sizeof *ctx->helpers);
  if (!ctx->threads || !ctx->helpers) {
    cq_context_free(ctx);
    return cq_fail_memory(error, "thread pool");
  }
  for (int i = 1; i < n_threads; i++) {
    ctx->helpers[i] = (struct helper){ctx, i};
    int code = pthread_create(&ctx->threads[i], NULL, helper_main, &ctx->helpers[i]);
    if (code) {
      cq_context_free(ctx);
      return cq_fail(error, CQ_ERR_IO, "cannot start thread %d of %d: %s", i + 1, n_threads, strerror(code));
    }
    ctx->n_threads = i + 1;
  }
  *out = ctx;
  return CQ_OK;
}

void cq_context_free(cq_context *ctx) {
  if (!ctx) return;
  pthread_mutex_lock(&ctx->mutex);
  ctx->closing = true;
  pthread_cond_broadcast(&ctx->wake);
  pthread_mutex_unlock(&ctx->mutex);
  for (int i = 1; i < ctx->n_threads; i++) pthread_join(ctx->threads[i], NULL);
  pthread_cond_destroy(&ctx->done);
  pthread_cond_destroy(&ctx->wake);
  pthread_mutex_destroy(&ctx->mutex);
  cq_free(ctx->helpers);
  cq_free(ctx->threads);
  cq_free(ctx);
}

int cq_context_n_threads(const cq_context *ctx) {
  return ctx ? ctx->n_threads : 1;
}

void cq_context_run(cq_context *ctx, size_t n_items, void (*work)(void *context, size_t item, int worker),
                    void *context) {
  if (!ctx || ctx->n_threads == 1 || n_items <= 1) {
    for (size_t i = 0; i < n_items; i++) work(context, i, 0);
    return;
  }
  pthread_mutex_lock(&ctx->mutex);
  assert(ctx->n_busy == 0);
  ctx->work = work;
  ctx->context = context;
  ctx->n_items = n_items;
  atomic_store(&ctx->next, 0);
  ctx->n_busy = ctx->n_threads - 1;
  ctx->round++;
  pthread_cond_broadcast(&ctx->wake);
  pthread_mutex_unlock(&ctx->mutex);
  drain(ctx, 0);
  pthread_mutex_lock(&ctx->mutex);
  while (ctx->n_busy) pthread_cond_wait(&ctx->done, &ctx->mutex);
  pthread_mutex_unlock(&ctx->mutex);
}
