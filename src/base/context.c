/* A call of cq_context_run is a job: a sequence of items. The caller takes them one by one. Jobs are in a list. Idle
 * threads take items from the first job in it that has any left; that job then moves to the end of the list, so that
 * several callers share the helpers.
 *
 *   caller    puts its job into the list, wakes as many threads as there are items for, takes items until none is left,
 *             takes the job out of the list, waits for the helpers that still run its last items
 *   helper    sleeps until there is a job with items left, takes items until none is left, then signals the caller
 *
 * A caller waits only for items that run, never for a thread to become free, so callers cannot wait for each other. */
#include "base/context.h"

#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = 4096, MAX_SPARES = 512 };
#define MAX_SPARE_BYTES ((size_t)512 << 20)

struct job {
  void (*work)(void *, size_t, int);
  void *context;
  size_t n_items;
  _Atomic size_t next;
  int n_helpers;       /* at work on it; with the mutex */
  pthread_cond_t left; /* the last helper has left */
  struct job *before, *behind;
};

struct spare {
  const cq_spare_kind *kind;
  void *object;
  size_t n_bytes;
  const void *thread; /* that put it back */
};

struct helper {
  cq_context *ctx;
  pthread_t thread;
  int worker;
};

struct cq_context {
  pthread_mutex_t mutex; /* guards all below */
  pthread_cond_t wake;
  struct job *first, *last;
  int n_asleep;
  bool closing;
  struct spare spares[MAX_SPARES + 1]; /* in the order they were put back */
  int n_spares;
  size_t n_spare_bytes;
  /* constant */
  struct helper *helpers; /* [n_threads]; the first entry is unused: worker 0 is the caller */
  int n_threads;
  unsigned n_forks; /* when it was opened */
};

/* --- fork and threads --- */

/* Threads do not survive a fork, and a lock may be held by one of them: in a child process the parent's contexts are
 * not used, and calls run on the calling thread. */
static _Atomic unsigned n_forks;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void count_fork(void) {
  atomic_fetch_add(&n_forks, 1);
}

static void watch_forks(void) {
  pthread_atfork(NULL, NULL, count_fork);
}

static bool is_usable(const cq_context *ctx) {
  return ctx && ctx->n_forks == atomic_load_explicit(&n_forks, memory_order_relaxed);
}

/* The contexts whose work this thread is doing, innermost first. */
struct within {
  const cq_context *ctx;
  const struct within *outer;
};
static _Thread_local const struct within *innermost;

static bool is_within(const cq_context *ctx) {
  for (const struct within *w = innermost; w; w = w->outer)
    if (w->ctx == ctx) return true;
  return false;
}

/* --- jobs --- */

static void enlist_job(cq_context *ctx, struct job *job) {
  job->before = ctx->last, job->behind = NULL;
  *(ctx->last ? &ctx->last->behind : &ctx->first) = job;
  ctx->last = job;
}

static void delist_job(cq_context *ctx, struct job *job) {
  *(job->before ? &job->before->behind : &ctx->first) = job->behind;
  *(job->behind ? &job->behind->before : &ctx->last) = job->before;
}

/* A job with items left, for a helper. */
static struct job *next_job(cq_context *ctx) {
  for (struct job *job = ctx->first; job; job = job->behind) {
    if (atomic_load_explicit(&job->next, memory_order_relaxed) >= job->n_items) continue;
    delist_job(ctx, job);
    enlist_job(ctx, job);
    return job;
  }
  return NULL;
}

static void drain_job(const cq_context *ctx, struct job *job, int worker) {
  const struct within here = {ctx, innermost};
  innermost = &here;
  for (size_t item; (item = atomic_fetch_add(&job->next, 1)) < job->n_items;) job->work(job->context, item, worker);
  innermost = here.outer;
}

static void *help_jobs(void *argument) {
  const struct helper *self = argument;
  cq_context *ctx = self->ctx;
  pthread_mutex_lock(&ctx->mutex);
  while (!ctx->closing) {
    struct job *job = next_job(ctx);
    if (!job) {
      ctx->n_asleep++;
      pthread_cond_wait(&ctx->wake, &ctx->mutex);
      ctx->n_asleep--;
      continue;
    }
    job->n_helpers++;
    pthread_mutex_unlock(&ctx->mutex);
    drain_job(ctx, job, self->worker);
    pthread_mutex_lock(&ctx->mutex);
    if (--job->n_helpers == 0) pthread_cond_signal(&job->left);
  }
  pthread_mutex_unlock(&ctx->mutex);
  return NULL;
}

/* Wakes n threads, of which there are n_asleep. */
static void wake_threads(cq_context *ctx, size_t n, size_t n_asleep) {
  if (n >= n_asleep)
    pthread_cond_broadcast(&ctx->wake);
  else
    while (n-- > 0) pthread_cond_signal(&ctx->wake);
}

void cq_context_run(cq_context *ctx, size_t n_items, void (*work)(void *context, size_t item, int worker),
                    void *context) {
  if (!is_usable(ctx) || ctx->n_threads == 1 || n_items <= 1 || is_within(ctx)) {
    for (size_t i = 0; i < n_items; i++) work(context, i, 0);
    return;
  }
  struct job job = {.work = work, .context = context, .n_items = n_items};
  pthread_cond_init(&job.left, NULL);
  pthread_mutex_lock(&ctx->mutex);
  enlist_job(ctx, &job);
  const int n_asleep = ctx->n_asleep;
  pthread_mutex_unlock(&ctx->mutex);
  if (n_asleep > 0) wake_threads(ctx, n_items - 1, (size_t)n_asleep);
  drain_job(ctx, &job, 0);
  pthread_mutex_lock(&ctx->mutex);
  delist_job(ctx, &job);
  while (job.n_helpers) pthread_cond_wait(&job.left, &ctx->mutex);
  pthread_mutex_unlock(&ctx->mutex);
  pthread_cond_destroy(&job.left);
}

struct attempt {
  cq_status (*work)(void *, size_t, int, cq_error *);
  void *context;
  pthread_mutex_t mutex; /* guards what follows */
  _Atomic size_t failed; /* the first item that has */
  cq_status status;
  cq_error *error;
};

static void try_item(void *context, size_t item, int worker) {
  struct attempt *a = context;
  cq_error error = {0};
  if (item > atomic_load(&a->failed)) return;
  const cq_status status = a->work(a->context, item, worker, &error);
  if (!status) return;
  pthread_mutex_lock(&a->mutex);
  if (item < atomic_load(&a->failed)) {
    atomic_store(&a->failed, item), a->status = status;
    if (a->error) *a->error = error;
  }
  pthread_mutex_unlock(&a->mutex);
}

cq_status cq_context_try(cq_context *ctx, size_t n_items,
                         cq_status (*work)(void *context, size_t item, int worker, cq_error *error), void *context,
                         cq_error *error) {
  struct attempt a = {work, context, PTHREAD_MUTEX_INITIALIZER, SIZE_MAX, CQ_OK, error};
  cq_context_run(ctx, n_items, try_item, &a);
  return a.status;
}

/* --- spares --- */

static _Thread_local char this_thread; /* its address names the thread */

/* Removes a spare from the list. */
static void *remove_spare(cq_context *ctx, int at) {
  void *object = ctx->spares[at].object;
  ctx->n_spare_bytes -= ctx->spares[at].n_bytes;
  ctx->n_spares--;
  memmove(ctx->spares + at, ctx->spares + at + 1, (size_t)(ctx->n_spares - at) * sizeof *ctx->spares);
  return object;
}

void *cq_context_take(cq_context *ctx, const cq_spare_kind *kind) {
  if (!is_usable(ctx)) return NULL;
  int found = -1;
  pthread_mutex_lock(&ctx->mutex);
  for (int i = ctx->n_spares - 1; i >= 0; i--) {
    if (ctx->spares[i].kind != kind) continue;
    if (found < 0) found = i;
    if (ctx->spares[i].thread != &this_thread) continue;
    found = i; /* still in this processor's cache */
    break;
  }
  void *object = found < 0 ? NULL : remove_spare(ctx, found);
  pthread_mutex_unlock(&ctx->mutex);
  return object;
}

/* Moves the oldest spares into gone, until at most n of them with n_bytes are left. */
static int evict_spare(struct spare gone[MAX_SPARES + 1], cq_context *ctx, int n_left, size_t n_bytes_left) {
  int n = 0;
  for (; ctx->n_spares > n_left || ctx->n_spare_bytes > n_bytes_left; n++) {
    gone[n] = ctx->spares[0];
    remove_spare(ctx, 0);
  }
  return n;
}

static void free_spares(struct spare *spares, int n) {
  for (int i = 0; i < n; i++) spares[i].kind->free(spares[i].object);
}

void cq_context_put(cq_context *ctx, const cq_spare_kind *kind, void *object, size_t n_bytes) {
  struct spare gone[MAX_SPARES + 1];
  if (!object) return;
  if (!is_usable(ctx) || n_bytes > MAX_SPARE_BYTES / 4) {
    kind->free(object);
    return;
  }
  pthread_mutex_lock(&ctx->mutex);
  ctx->spares[ctx->n_spares++] = (struct spare){kind, object, n_bytes, &this_thread};
  ctx->n_spare_bytes += n_bytes;
  const int n_gone = evict_spare(gone, ctx, MAX_SPARES, MAX_SPARE_BYTES);
  pthread_mutex_unlock(&ctx->mutex);
  free_spares(gone, n_gone);
}

void cq_context_trim(cq_context *ctx) {
  struct spare gone[MAX_SPARES + 1];
  if (!is_usable(ctx)) return;
  pthread_mutex_lock(&ctx->mutex);
  const int n_gone = evict_spare(gone, ctx, 0, 0);
  pthread_mutex_unlock(&ctx->mutex);
  free_spares(gone, n_gone);
}

/* --- opening --- */

/* Signals sent to the process are handled by its own threads; helpers only receive signals for their own faults. */
static int start_helper(struct helper *helper) {
  sigset_t all, before;
  sigfillset(&all);
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGPROF};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&all, own[i]);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  const int code = pthread_create(&helper->thread, NULL, help_jobs, helper);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return code;
}

/* Processors that this thread may run on: fewer than are online under taskset, in a cpuset, under mpirun's binding. */
static int n_processors_allowed(void) {
  for (size_t n = CPU_SETSIZE; n <= 1U << 20; n *= 2) {
    cpu_set_t *set = CPU_ALLOC(n);
    if (!set) break;
    const int code = sched_getaffinity(0, CPU_ALLOC_SIZE(n), set) ? errno : 0;
    const int count = code ? 0 : CPU_COUNT_S(CPU_ALLOC_SIZE(n), set);
    CPU_FREE(set);
    if (count > 0) return count;
    if (code != EINVAL) break; /* otherwise the kernel has more processors than fit into the set */
  }
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online < 1 ? 1 : online > MAX_THREADS ? MAX_THREADS : (int)online;
}

cq_status cq_context_open(cq_context **out, int n_threads, cq_error *error) {
  *out = NULL;
  if (n_threads < 0 || n_threads > MAX_THREADS)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%d threads requested, expected 0 (one per processor) to %d", n_threads,
                   MAX_THREADS);
  if (n_threads == 0) {
    const int allowed = n_processors_allowed();
    n_threads = allowed > MAX_THREADS ? MAX_THREADS : allowed;
  }
  pthread_once(&fork_once, watch_forks);
  cq_context *ctx = cq_alloc_zeroed(sizeof *ctx);
  if (!ctx) return cq_fail_memory(error, "context");
  pthread_mutex_init(&ctx->mutex, NULL);
  pthread_cond_init(&ctx->wake, NULL);
  ctx->n_forks = atomic_load(&n_forks);
  ctx->n_threads = 1;
  ctx->helpers = cq_alloc_array_zeroed((size_t)n_threads, sizeof *ctx->helpers);
  cq_status status = ctx->helpers ? CQ_OK : cq_fail_memory(error, "context");
  for (int i = 1; !status && i < n_threads; i++) {
    ctx->helpers[i] = (struct helper){.ctx = ctx, .worker = i};
    const int code = start_helper(&ctx->helpers[i]);
    if (code)
      status = cq_fail(error, CQ_ERR_IO, "cannot start thread %d of %d: %s", i + 1, n_threads, strerror(code));
    else
      ctx->n_threads = i + 1;
  }
  if (status)
    cq_context_free(ctx);
  else
    *out = ctx;
  return status;
}

void cq_context_free(cq_context *ctx) {
  if (!ctx) return;
  if (is_usable(ctx)) {
    pthread_mutex_lock(&ctx->mutex);
    ctx->closing = true;
    pthread_cond_broadcast(&ctx->wake);
    pthread_mutex_unlock(&ctx->mutex);
    for (int i = 1; i < ctx->n_threads; i++) pthread_join(ctx->helpers[i].thread, NULL);
    pthread_cond_destroy(&ctx->wake);
    pthread_mutex_destroy(&ctx->mutex);
    free_spares(ctx->spares, ctx->n_spares);
  }
  cq_free(ctx->helpers);
  cq_free(ctx);
}

int cq_context_n_threads(const cq_context *ctx) {
  return ctx ? ctx->n_threads : 1;
}
