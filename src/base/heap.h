/* A binary heap in its owner's array: the item that comes before all others is at the top. Inlined into each owner,
 * with the owner's order. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Adds an item (not yet in the array) to a heap of n; the array must have room. */
static inline __attribute__((always_inline)) void
cq_heap_push(void *heap, size_t n, size_t item_bytes, const void *item, bool (*before)(const void *, const void *)) {
  char *items = heap;
  size_t at = n;
  for (size_t up; at > 0 && before(item, items + (up = (at - 1) / 2) * item_bytes); at = up)
    memcpy(items + at * item_bytes, items + up * item_bytes, item_bytes);
  memcpy(items + at * item_bytes, item, item_bytes);
}

/* Replaces the top of a heap of n by an item that is not in it. To remove the top, replace it by the last item in a
 * heap of n - 1. */
static inline __attribute__((always_inline)) void
cq_heap_replace(void *heap, size_t n, size_t item_bytes, const void *item, bool (*before)(const void *, const void *)) {
  char *items = heap;
  size_t at = 0;
  for (size_t child; (child = 2 * at + 1) < n; at = child) {
    if (child + 1 < n && before(items + (child + 1) * item_bytes, items + child * item_bytes)) child++;
    if (!before(items + child * item_bytes, item)) break;
    memcpy(items + at * item_bytes, items + child * item_bytes, item_bytes);
  }
  memmove(items + at * item_bytes, item, item_bytes);
}

#endif
