/* Rows under keys: against a plain list searched from its start, and with memory that runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/memory.h"
#include "base/multimap.h"
#include "base/random.h"

enum { N = 3000, KEYS = 400 };

static cq_slice key_of(char text[16], uint32_t key) {
  snprintf(text, 16, "key %u", key);
  return cq_slice_of(text);
}

static void rows_of_a_key_keep_their_order(void **state) {
  (void)state;
  cq_multimap m = {0};
  cq_random random = cq_random_seeded(7, 0);
  uint32_t keys[N];
  char text[16];
  for (uint32_t i = 0; i < N; i++) {
    keys[i] = (uint32_t)cq_random_below(&random, KEYS);
    assert_true(cq_multimap_add(&m, key_of(text, keys[i])));
  }
  assert_int_equal(m.n, N);
  for (uint32_t key = 0; key < KEYS; key++) {
    uint32_t row = cq_multimap_first(&m, key_of(text, key));
    for (uint32_t i = 0; i < N; i++)
      if (keys[i] == key) {
        assert_int_equal(row, i);
        row = cq_multimap_next(&m, row);
      }
    assert_int_equal(row, CQ_MULTIMAP_NONE);
  }
  assert_int_equal(cq_multimap_first(&m, cq_slice_of("key")), CQ_MULTIMAP_NONE);
  cq_multimap_free(&m);
  assert_int_equal(cq_multimap_first(&m, cq_slice_of("key 1")), CQ_MULTIMAP_NONE);
}

/* A row that could not be added is not there, and those before it are. */
static void failed_allocations_are_reported(void **state) {
  (void)state;
  for (long at = 1;; at++) {
    cq_multimap m = {0};
    char text[16];
    uint32_t done = 0;
    cq_alloc_fail_at(at);
    while (done < 200 && cq_multimap_add(&m, key_of(text, done % 50))) done++;
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(done < 200, failed);
    assert_int_equal(m.n, done);
    if (failed) assert_true(cq_multimap_add(&m, key_of(text, done % 50)));
    for (uint32_t key = 0; key < 50; key++) {
      uint32_t expected = key < m.n ? key : CQ_MULTIMAP_NONE;
      uint32_t row = cq_multimap_first(&m, key_of(text, key));
      for (;;) {
        assert_int_equal(row, expected);
        if (row == CQ_MULTIMAP_NONE) break;
        row = cq_multimap_next(&m, row);
        expected = expected + 50 < m.n ? expected + 50 : CQ_MULTIMAP_NONE;
      }
    }
    cq_multimap_free(&m);
    if (!failed) {
      assert_true(at > 4);
      break;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_of_a_key_keep_their_order),
      cmocka_unit_test(failed_allocations_are_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
