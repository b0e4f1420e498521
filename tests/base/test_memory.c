/* Allocation, arena, map and builder: alignment, growth, overflow, failure. */
#include "support/files.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/slice.h"
#include <unistd.h>

static bool is_aligned(const void *p) {
  return (uintptr_t)p % CQ_ALIGNMENT == 0;
}

static void allocations_are_aligned(void **state) {
  (void)state;
  for (size_t n = 0; n < 200; n++) {
    unsigned char *p = cq_alloc_zeroed(n);
    assert_non_null(p);
    assert_true(is_aligned(p));
    for (size_t i = 0; i < n; i++) assert_int_equal(p[i], 0);
    cq_free(p);
  }
}

static void sizes_that_overflow_give_null(void **state) {
  (void)state;
  size_t out;
  assert_null(cq_alloc(SIZE_MAX));
  assert_null(cq_alloc(SIZE_MAX - 62));
  assert_null(cq_alloc_array(SIZE_MAX / 2 + 1, 2));
  assert_null(cq_alloc_array_zeroed((size_t)1 << 33, (size_t)1 << 31));
  assert_false(cq_checked_mul(&out, (size_t)1 << 32, (size_t)1 << 32));
  assert_true(cq_checked_mul(&out, (size_t)1 << 32, ((size_t)1 << 32) - 1));
  assert_false(cq_checked_add(&out, SIZE_MAX, 1));
  assert_true(cq_checked_add(&out, SIZE_MAX - 1, 1));
  assert_int_equal(out, SIZE_MAX);
}

static void growing_keeps_the_content(void **state) {
  (void)state;
  uint32_t *items = NULL;
  size_t capacity = 0;
  for (uint32_t i = 0; i < 10000; i++) {
    assert_true(cq_reserve((void **)&items, &capacity, i + 1, sizeof *items));
    items[i] = i;
  }
  assert_true(is_aligned(items));
  for (uint32_t i = 0; i < 10000; i++) assert_int_equal(items[i], i);
  assert_false(cq_reserve((void **)&items, &capacity, SIZE_MAX / 2, sizeof *items));
  assert_int_equal(items[9999], 9999);
  cq_alloc_fail_at(1);
  assert_false(cq_reserve((void **)&items, &capacity, capacity + 1, sizeof *items));
  assert_true(cq_alloc_failed());
  cq_alloc_fail_at(0);
  assert_int_equal(items[9999], 9999);
  cq_free(items);
}

static void the_nth_allocation_fails_once(void **state) {
  (void)state;
  cq_alloc_fail_at(3);
  void *a = cq_alloc(1), *b = cq_alloc(1), *c = cq_alloc(1), *d = cq_alloc(1);
  assert_true(a && b && !c && d);
  assert_true(cq_alloc_failed());
  cq_alloc_fail_at(0);
  assert_false(cq_alloc_failed());
  cq_free(a);
  cq_free(b);
  cq_free(d);
}

static void strings_are_copied(void **state) {
  (void)state;
  char *a = cq_strndup("abcdef", 3), *b = cq_strdup(""), *c = cq_strndup(NULL, 0);
  assert_string_equal(a, "abc");
  assert_string_equal(b, "");
  assert_string_equal(c, "");
  cq_free(a);
  cq_free(b);
  cq_free(c);
  cq_free(NULL);
}

static void the_arena_gives_separate_aligned_memory(void **state) {
  (void)state;
  cq_arena arena = {0};
  static const size_t sizes[] = {0, 1, 63, 64, 65, 1000, 65536, 200000, 3};
  unsigned char *p[200];
  for (unsigned i = 0; i < 200; i++) {
    size_t n = sizes[i % 9];
    p[i] = cq_arena_alloc(&arena, n);
    assert_non_null(p[i]);
    assert_true(is_aligned(p[i]));
    if (n) memset(p[i], (int)i, n);
  }
  for (unsigned i = 0; i < 200; i++) {
    for (size_t k = 0; k < sizes[i % 9]; k++) assert_int_equal(p[i][k], i);
  }
  assert_null(cq_arena_alloc(&arena, SIZE_MAX));
  assert_null(cq_arena_alloc(&arena, SIZE_MAX - 100));
  assert_null(cq_arena_array(&arena, SIZE_MAX / 2, 4));
  assert_null(cq_arena_strndup(&arena, "", SIZE_MAX));
  assert_string_equal(cq_arena_printf(&arena, "%d of %s", 3, "four"), "3 of four");
  assert_string_equal(cq_arena_strdup(&arena, "abc"), "abc");
  assert_string_equal(cq_arena_strndup(&arena, "abc", 2), "ab");
  cq_arena_free(&arena);
  cq_arena_free(&arena);
  assert_string_equal(cq_arena_strdup(&arena, "again"), "again");
  cq_arena_free(&arena);
}

static void the_map_holds_every_key(void **state) {
  (void)state;
  enum { N = 20000 };
  cq_map map = {0};
  char key[32];
  assert_true(cq_map_get(&map, cq_slice_of("x")) == CQ_MAP_NONE);
  for (int round = 0; round < 2; round++) {
    for (uint64_t i = 0; i < N; i++) {
      int n = snprintf(key, sizeof key, "key %llu", (unsigned long long)i);
      assert_true(cq_map_put(&map, (cq_slice){key, (size_t)n}, i + (uint64_t)round));
    }
    assert_int_equal(map.n, N);
  }
  for (uint64_t i = 0; i < N; i++) {
    int n = snprintf(key, sizeof key, "key %llu", (unsigned long long)i);
    assert_int_equal(cq_map_get(&map, (cq_slice){key, (size_t)n}), i + 1);
    assert_true(cq_map_get(&map, (cq_slice){key, (size_t)n - 1}) != i + 1);
  }
  cq_map_free(&map);
}

static void keys_are_bytes(void **state) {
  (void)state;
  cq_map map = {0};
  char borrowed[] = "lent";
  assert_true(cq_map_put(&map, (cq_slice){NULL, 0}, 1));
  assert_true(cq_map_put(&map, (cq_slice){"\0", 1}, 2));
  assert_true(cq_map_put(&map, (cq_slice){"\0\0", 2}, 3));
  assert_true(cq_map_put_borrowed(&map, cq_slice_of(borrowed), 4));
  assert_int_equal(cq_map_get(&map, (cq_slice){"", 0}), 1);
  assert_int_equal(cq_map_get(&map, (cq_slice){"\0", 1}), 2);
  assert_int_equal(cq_map_get(&map, (cq_slice){"\0\0", 2}), 3);
  assert_int_equal(cq_map_get(&map, cq_slice_of("lent")), 4);
  assert_true(cq_map_at(&map, cq_slice_of("lent"))->key == borrowed);
  cq_map_entry *made = cq_map_at(&map, (cq_slice){"new", 2});
  assert_string_equal(made->key, "ne");
  assert_true(made->value == CQ_MAP_NONE && cq_map_get(&map, cq_slice_of("ne")) == CQ_MAP_NONE);
  made->value = 5;
  assert_int_equal(cq_map_get(&map, cq_slice_of("ne")), 5);
  cq_map_free(&map);
}

static void the_map_survives_failed_allocations(void **state) {
  (void)state;
  for (long n = 1; n < 400; n++) {
    cq_map map = {0};
    char key[16];
    bool ok[300];
    cq_alloc_fail_at(n);
    for (int i = 0; i < 300; i++) {
      snprintf(key, sizeof key, "%d", i);
      ok[i] = cq_map_put(&map, cq_slice_of(key), (uint64_t)i);
    }
    bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    size_t missing = 0;
    for (int i = 0; i < 300; i++) {
      snprintf(key, sizeof key, "%d", i);
      assert_true(cq_map_get(&map, cq_slice_of(key)) == (ok[i] ? (uint64_t)i : CQ_MAP_NONE));
      missing += !ok[i];
    }
    assert_int_equal(missing, failed ? 1 : 0);
    cq_map_free(&map);
    if (!failed) break;
  }
}

static void the_builder_grows_and_remembers_failure(void **state) {
  (void)state;
  cq_builder b = {0};
  for (int i = 0; i < 1000; i++) cq_builder_printf(&b, "%d,", i % 10);
  cq_builder_text(&b, "end");
  cq_builder_char(&b, '!');
  cq_builder_bytes(&b, "", 0);
  assert_false(b.failed);
  assert_int_equal(b.n, 2004);
  assert_string_equal(b.data + 1998, "9,end!");
  cq_builder_clear(&b);
  assert_string_equal(b.data, "");
  cq_alloc_fail_at(1);
  for (int i = 0; i < 3000; i++) cq_builder_char(&b, 'x');
  cq_alloc_fail_at(0);
  cq_builder_text(&b, "more");
  assert_true(b.failed);
  cq_builder_clear(&b);
  assert_false(b.failed);
  cq_builder_bytes(&b, "x", SIZE_MAX);
  assert_true(b.failed);
  cq_builder_free(&b);
  assert_null(b.data);
  assert_true(cq_slice_equal((cq_slice){NULL, 0}, cq_slice_of("")));
  assert_false(cq_slice_equal(cq_slice_of("a"), cq_slice_of("b")));
}

/* Large ones are zeros that take no memory before they are written to; pages are given back, and what lies around them
 * stays. */
static void pages_are_zeros(void **state) {
  enum { N = (3 << 20) + 12345, FIRST = 100000, END = 2000001 };
  (void)state;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  unsigned char *p = cq_alloc_zeroed(N);
  assert_non_null(p);
  for (size_t i = 0; i < N; i++) assert_int_equal(p[i], 0);
  memset(p, 0xA5, N);
  cq_release_pages(p + FIRST, END - FIRST);
  size_t n_released = 0;
  for (size_t i = 0; i < N; i++) {
    const uintptr_t first = (uintptr_t)(p + i) / page * page; /* of its page */
    const bool within = first >= (uintptr_t)(p + FIRST) && first + page <= (uintptr_t)(p + END);
    assert_int_equal(p[i], within ? 0 : 0xA5);
    n_released += within;
  }
  assert_true(n_released > END - FIRST - 2 * page);
  cq_release_pages(p, 0);
  cq_release_pages(p + 7, 5);
  assert_int_equal(p[7], 0xA5);
  cq_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pages_are_zeros),
      cmocka_unit_test(allocations_are_aligned),
      cmocka_unit_test(sizes_that_overflow_give_null),
      cmocka_unit_test(growing_keeps_the_content),
      cmocka_unit_test(the_nth_allocation_fails_once),
      cmocka_unit_test(strings_are_copied),
      cmocka_unit_test(the_arena_gives_separate_aligned_memory),
      cmocka_unit_test(the_map_holds_every_key),
      cmocka_unit_test(keys_are_bytes),
      cmocka_unit_test(the_map_survives_failed_allocations),
      cmocka_unit_test(the_builder_grows_and_remembers_failure),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
