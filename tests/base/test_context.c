/* The pool runs every item once, whatever the number of threads. */
#include "base/context.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { N = 1000 };

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
      cmocka_unit_test(every_failed_allocation_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
