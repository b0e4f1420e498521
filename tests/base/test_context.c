/* A context runs every item once, whatever the number of threads and of callers, and keeps what is put into it. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { N = 1000, CALLERS = 8, MAX_WORKERS = 8 };

static void count(void *context, size_t item, int worker) {
  _Atomic int *seen = context;
  (void)worker;
  atomic_fetch_add(&seen[item], 1);
}

static void every_item_runs_once(void **state) {
  (void)state;
  for (int threads = 1; threads <= 5; threads++) {
    static _Atomic int seen[N];
    cq_context *ctx;
    memset(seen, 0, sizeof seen);
    assert_int_equal(cq_context_open(&ctx, threads, NULL), CQ_OK);
    assert_int_equal(cq_context_n_threads(ctx), threads);
    for (int round = 0; round < 50; round++) cq_context_run(ctx, N, count, seen);
    for (int i = 0; i < N; i++) assert_int_equal(seen[i], 50);
    cq_context_free(ctx);
  }
}

static void wait_for_all(void *context, size_t item, int worker) {
  (void)item, (void)worker;
  pthread_barrier_wait(context);
}

/* As many items as threads, each of which ends when all have begun: all threads are woken, again and again. */
static void all_threads_help(void **state) {
  (void)state;
  for (unsigned threads = 2; threads <= 5; threads++) {
    cq_context *ctx;
    pthread_barrier_t all;
    assert_int_equal(cq_context_open(&ctx, (int)threads, NULL), CQ_OK);
    for (unsigned n_items = 2; n_items <= threads; n_items++) {
      pthread_barrier_init(&all, NULL, n_items);
      for (int round = 0; round < 20; round++) cq_context_run(ctx, n_items, wait_for_all, &all);
      pthread_barrier_destroy(&all);
    }
    cq_context_free(ctx);
  }
}

/* --- work that fails --- */

typedef struct attempt {
  size_t slow, first, every; /* items that fail: `slow`, and from `first` on `every`-th; slow waits for others */
  _Atomic int seen[N];
} attempt;

static cq_status attempt_item(void *context, size_t item, int worker, cq_error *error) {
  attempt *a = context;
  (void)worker;
  atomic_fetch_add(&a->seen[item], 1);
  if (item == a->slow) usleep(2000);
  if (item != a->slow && (item < a->first || item % a->every != 0)) return CQ_OK;
  return cq_fail(error, item == a->slow ? CQ_ERR_FORMAT : CQ_ERR_LIMIT, "item %zu failed", item);
}

/* The first item's failure is reported, even if another thread failed before it. */
static void the_first_failure_is_reported(void **state) {
  (void)state;
  for (int threads = 1; threads <= 4; threads += 3) {
    cq_context *ctx;
    cq_error error = {0};
    assert_int_equal(cq_context_open(&ctx, threads, NULL), CQ_OK);
    static attempt none, slow, later;
    none = (attempt){.slow = N, .first = N, .every = 1}, slow = (attempt){.slow = 10, .first = 11, .every = 1};
    later = (attempt){.slow = N, .first = 500, .every = 3};
    assert_int_equal(cq_context_try(ctx, N, attempt_item, &none, &error), CQ_OK);
    assert_string_equal(error.message, "");
    for (int i = 0; i < N; i++) assert_int_equal(none.seen[i], 1);
    assert_int_equal(cq_context_try(ctx, N, attempt_item, &slow, &error), CQ_ERR_FORMAT);
    assert_string_equal(error.message, "item 10 failed");
    for (int i = 0; i <= 10; i++) assert_int_equal(slow.seen[i], 1);
    assert_int_equal(slow.seen[N - 1], 0);
    assert_int_equal(cq_context_try(ctx, N, attempt_item, &later, &error), CQ_ERR_LIMIT);
    assert_string_equal(error.message, "item 501 failed");
    assert_int_equal(cq_context_try(ctx, N, attempt_item, &later, NULL), CQ_ERR_LIMIT);
    assert_int_equal(cq_context_try(ctx, 0, attempt_item, &slow, &error), CQ_OK);
    cq_context_free(ctx);
  }
}

/* --- many callers --- */

typedef struct job {
  cq_context *ctx;
  _Atomic int seen[N];
  _Atomic int busy[MAX_WORKERS], n_clashes; /* two threads with one number at a time */
} job;

static void count_workers(void *context, size_t item, int worker) {
  job *j = context;
  if (atomic_exchange(&j->busy[worker], 1)) atomic_fetch_add(&j->n_clashes, 1);
  atomic_fetch_add(&j->seen[item], 1);
  atomic_store(&j->busy[worker], 0);
}

static void *call(void *argument) {
  job *j = argument;
  for (int round = 0; round < 20; round++) cq_context_run(j->ctx, N, count_workers, j);
  return NULL;
}

static void many_threads_share_a_context(void **state) {
  (void)state;
  static job jobs[CALLERS];
  cq_context *ctx;
  pthread_t threads[CALLERS];
  memset(jobs, 0, sizeof jobs);
  assert_int_equal(cq_context_open(&ctx, 3, NULL), CQ_OK);
  for (int i = 0; i < CALLERS; i++) {
    jobs[i].ctx = ctx;
    assert_int_equal(pthread_create(&threads[i], NULL, call, &jobs[i]), 0);
  }
  for (int i = 0; i < CALLERS; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(jobs[i].n_clashes, 0);
    for (int k = 0; k < N; k++) assert_int_equal(jobs[i].seen[k], 20);
  }
  cq_context_free(ctx);
}

/* --- calls from inside of work --- */

typedef struct nest {
  cq_context *ctx[2]; /* one's work calls the other's */
  int depth;
  pthread_t thread;
  _Atomic int *n_leaves, *n_wrong;
} nest;

static void go_deeper(void *context, size_t item, int worker) {
  const nest *outer = context;
  (void)item;
  const bool is_inline = worker == 0 && pthread_equal(outer->thread, pthread_self());
  if (outer->depth > 1 && outer->ctx[0] == outer->ctx[1] && !is_inline) atomic_fetch_add(outer->n_wrong, 1);
  if (outer->depth == 5) {
    atomic_fetch_add(outer->n_leaves, 1);
    return;
  }
  const nest inner = {
      {outer->ctx[1], outer->ctx[0]}, outer->depth + 1, pthread_self(), outer->n_leaves, outer->n_wrong};
  cq_context_run(inner.ctx[0], 4, go_deeper, (void *)&inner);
}

static void work_may_call_the_context(void **state) {
  (void)state;
  cq_context *one, *other;
  assert_int_equal(cq_context_open(&one, 3, NULL), CQ_OK);
  assert_int_equal(cq_context_open(&other, 2, NULL), CQ_OK);
  for (int both = 0; both < 2; both++) {
    _Atomic int n_leaves = 0, n_wrong = 0;
    const nest outermost = {{one, both ? other : one}, 1, pthread_self(), &n_leaves, &n_wrong};
    cq_context_run(one, 4, go_deeper, (void *)&outermost);
    assert_int_equal(n_leaves, 4 * 4 * 4 * 4 * 4);
    assert_int_equal(n_wrong, 0);
  }
  cq_context_free(one);
  cq_context_free(other);
}

/* --- spares --- */

static int n_freed;
static void free_counted(void *object) {
  n_freed++;
  cq_free(object);
}
static const cq_spare_kind one_kind = {free_counted}, other_kind = {free_counted};

static void spares_are_kept(void **state) {
  (void)state;
  cq_context *ctx;
  assert_int_equal(cq_context_open(&ctx, 2, NULL), CQ_OK);
  n_freed = 0;
  assert_null(cq_context_take(ctx, &one_kind));
  void *a = cq_alloc(1), *b = cq_alloc(1), *c = cq_alloc(1);
  cq_context_put(ctx, &one_kind, a, 1);
  cq_context_put(ctx, &other_kind, b, 1);
  cq_context_put(ctx, &one_kind, c, 1);
  assert_ptr_equal(cq_context_take(ctx, &one_kind), c); /* the last one is in the cache */
  assert_ptr_equal(cq_context_take(ctx, &one_kind), a);
  assert_null(cq_context_take(ctx, &one_kind));
  assert_ptr_equal(cq_context_take(ctx, &other_kind), b);
  cq_context_put(ctx, &one_kind, a, 1);
  cq_context_put(ctx, &one_kind, b, 1);
  assert_int_equal(n_freed, 0);
  cq_context_trim(ctx);
  assert_int_equal(n_freed, 2);
  assert_null(cq_context_take(ctx, &one_kind));
  cq_context_put(ctx, &one_kind, c, 1);
  cq_context_put(ctx, &one_kind, NULL, 0);
  cq_context_free(ctx);
  assert_int_equal(n_freed, 3);
  /* Without a context nothing is kept. */
  cq_context_put(NULL, &one_kind, cq_alloc(1), 1);
  assert_int_equal(n_freed, 4);
  assert_null(cq_context_take(NULL, &one_kind));
}

static void spares_are_limited(void **state) {
  (void)state;
  cq_context *ctx;
  assert_int_equal(cq_context_open(&ctx, 1, NULL), CQ_OK);
  n_freed = 0;
  cq_context_put(ctx, &one_kind, cq_alloc(1), (size_t)1 << 32); /* too large to be kept at all */
  assert_int_equal(n_freed, 1);
  void *first = cq_alloc(1);
  cq_context_put(ctx, &one_kind, first, (size_t)100 << 20);
  for (int i = 0; i < 4; i++) cq_context_put(ctx, &other_kind, cq_alloc(1), (size_t)100 << 20);
  assert_int_equal(n_freed, 1);
  cq_context_put(ctx, &other_kind, cq_alloc(1), (size_t)100 << 20); /* 600 MiB: the oldest goes */
  assert_int_equal(n_freed, 2);
  assert_null(cq_context_take(ctx, &one_kind));
  cq_context_trim(ctx);
  n_freed = 0;
  for (int i = 0; i < 600; i++) cq_context_put(ctx, &one_kind, cq_alloc(1), 1);
  assert_int_equal(n_freed, 600 - 512);
  cq_context_free(ctx);
  assert_int_equal(n_freed, 600);
}

static void *put_one(void *argument) {
  void *object = cq_alloc(1);
  cq_context_put(argument, &one_kind, object, 1);
  return object;
}

static void a_thread_gets_its_own_spare(void **state) {
  (void)state;
  cq_context *ctx;
  pthread_t thread;
  void *others;
  assert_int_equal(cq_context_open(&ctx, 1, NULL), CQ_OK);
  void *own = put_one(ctx);
  assert_int_equal(pthread_create(&thread, NULL, put_one, ctx), 0);
  pthread_join(thread, &others);
  assert_ptr_equal(cq_context_take(ctx, &one_kind), own);
  assert_ptr_equal(cq_context_take(ctx, &one_kind), others);
  cq_free(own);
  cq_free(others);
  cq_context_free(ctx);
}

/* --- fork, and what goes wrong --- */

#ifdef __SANITIZE_THREAD__
enum { OWN_THREADS = 1 }; /* its runtime starts no threads in a child */
#else
enum { OWN_THREADS = 3 };
#endif

static void a_context_outlives_a_fork(void **state) {
  (void)state;
  static _Atomic int seen[N];
  cq_context *ctx;
  int status;
  assert_int_equal(cq_context_open(&ctx, 3, NULL), CQ_OK);
  cq_context_run(ctx, N, count, seen);
  const pid_t child = fork();
  if (child == 0) { /* the threads are not there: the caller does it all */
    cq_context *own = NULL;
    cq_context_run(ctx, N, count, seen);
    cq_context_put(ctx, &one_kind, cq_alloc(1), 1);
    bool ok = seen[0] == 2 && seen[N - 1] == 2 && !cq_context_take(ctx, &one_kind);
    cq_context_free(ctx);
    ok = ok && cq_context_open(&own, OWN_THREADS, NULL) == CQ_OK;
    if (ok) cq_context_run(own, N, count, seen);
    ok = ok && seen[0] == 3 && seen[N - 1] == 3;
    cq_context_free(own);
    _exit(ok ? 0 : 1);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  cq_context_run(ctx, N, count, seen);
  assert_int_equal(seen[N - 1], 2);
  cq_context_free(ctx);
}

static void threads_are_as_many_as_processors_allowed(void **state) {
  (void)state;
  cpu_set_t before, one;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) first++;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  cq_context *ctx;
  assert_int_equal(cq_context_open(&ctx, 0, NULL), CQ_OK);
  assert_int_equal(cq_context_n_threads(ctx), CPU_COUNT(&before));
  cq_context_free(ctx);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  assert_int_equal(cq_context_open(&ctx, 0, NULL), CQ_OK);
  assert_int_equal(cq_context_n_threads(ctx), 1);
  cq_context_free(ctx);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

static void bad_arguments_are_told(void **state) {
  (void)state;
  cq_context *ctx;
  cq_error error = {0};
  assert_int_equal(cq_context_open(&ctx, -1, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "-1 threads requested, expected 0 (one per processor) to 4096");
  assert_int_equal(cq_context_open(&ctx, 4097, NULL), CQ_ERR_ARGUMENT);
  assert_null(ctx);
  assert_int_equal(cq_context_n_threads(NULL), 1);
  cq_context_free(NULL);
  cq_context_trim(NULL);
}

static void every_failed_allocation_is_reported(void **state) {
  (void)state;
  for (long n = 1;; n++) {
    cq_context *ctx;
    cq_error error = {0};
    cq_alloc_fail_at(n);
    cq_status status = cq_context_open(&ctx, 2, &error);
    bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    cq_context_free(ctx);
    if (!failed) break;
    assert_int_equal(status, CQ_ERR_MEMORY);
    assert_null(ctx);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_item_runs_once),
      cmocka_unit_test(all_threads_help),
      cmocka_unit_test(the_first_failure_is_reported),
      cmocka_unit_test(many_threads_share_a_context),
      cmocka_unit_test(work_may_call_the_context),
      cmocka_unit_test(spares_are_kept),
      cmocka_unit_test(spares_are_limited),
      cmocka_unit_test(a_thread_gets_its_own_spare),
      cmocka_unit_test(a_context_outlives_a_fork),
      cmocka_unit_test(threads_are_as_many_as_processors_allowed),
      cmocka_unit_test(bad_arguments_are_told),
      cmocka_unit_test(every_failed_allocation_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
