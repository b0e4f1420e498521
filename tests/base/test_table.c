/* Tables of hashes and heaps, by what stands on them: sets of numbers, and the items of a heap in their order. */
#include "support/files.h"

#include "base/heap.h"
#include "base/key_set.h"
#include "base/random.h"

#include <stdlib.h>

static void sets_hold_what_was_put(void **state) {
  enum { MANY = 20000 };
  (void)state;
  cq_key_set set = {0};
  bool is_new;
  assert_false(cq_key_set_has(&set, 0) || cq_key_set_has(&set, 1));
  for (uint64_t i = 0; i < MANY; i++) { /* 0 among them; half collide in their low bits */
    const uint64_t key = i % 2 ? i << 40 : cq_mix(i);
    assert_true(cq_key_set_put(&is_new, &set, key) && is_new);
    assert_true(cq_key_set_put(&is_new, &set, key) && !is_new);
  }
  assert_true(4 * set.n <= 3 * set.capacity && set.capacity <= 4 * MANY);
  for (uint64_t i = 0; i < MANY; i++) {
    assert_true(cq_key_set_has(&set, i % 2 ? i << 40 : cq_mix(i)));
    assert_false(cq_key_set_has(&set, cq_mix(i + MANY)));
  }
  cq_key_set_free(&set);
}

typedef struct item {
  double weight;
  int number;
} item;

static bool before(const void *a, const void *b) {
  const item *x = a, *y = b;
  return x->weight < y->weight || (x->weight == y->weight && x->number < y->number);
}

static int by_weight(const void *a, const void *b) {
  return before(a, b) ? -1 : before(b, a);
}

static void heaps_give_back_in_order(void **state) {
  enum { MANY = 500, KEPT = 20 };
  (void)state;
  for (int n = 0; n <= MANY; n = 3 * n / 2 + 1) {
    item items[MANY], heap[MANY], best[KEPT];
    int n_best = 0;
    cq_random random = cq_random_seeded(5, (uint64_t)n);
    for (int i = 0; i < n; i++) { /* many as heavy as others */
      items[i] = (item){(double)cq_random_below(&random, 50), i};
      cq_heap_push(heap, (size_t)i, sizeof(item), &items[i], before);
      /* the last ones in order: a heap of few whose top gives way */
      if (n_best < KEPT)
        cq_heap_push(best, (size_t)n_best++, sizeof(item), &items[i], before);
      else if (before(&best[0], &items[i]))
        cq_heap_replace(best, KEPT, sizeof(item), &items[i], before);
    }
    qsort(items, (size_t)n, sizeof *items, by_weight);
    qsort(best, (size_t)n_best, sizeof *best, by_weight);
    for (int i = 0; i < n_best; i++) assert_int_equal(best[i].number, items[n - n_best + i].number);
    for (int i = 0, left = n; i < n; i++) {
      assert_int_equal(heap[0].number, items[i].number);
      left--;
      cq_heap_replace(heap, (size_t)left, sizeof(item), &heap[left], before);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sets_hold_what_was_put),
      cmocka_unit_test(heaps_give_back_in_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
