/* A growing array of 32-bit numbers; starts from {0}. */
#ifndef BASE_U32_ARRAY_H
#define BASE_U32_ARRAY_H

#include "base/memory.h"

#include <stdint.h>
#include <string.h>

typedef struct cq_u32_array {
  uint32_t *items;
  size_t n, capacity;
} cq_u32_array;

/* False: out of memory. */
static inline bool cq_u32_array_append(cq_u32_array *ids, const uint32_t *items, size_t n) {
  if (n == 0) return true;
  if (!cq_reserve((void **)&ids->items, &ids->capacity, ids->n + n, sizeof *ids->items)) return false;
  memcpy(ids->items + ids->n, items, n * sizeof *items);
  ids->n += n;
  return true;
}
static inline void cq_u32_array_free(cq_u32_array *ids) {
  cq_free(ids->items);
  *ids = (cq_u32_array){0};
}

#endif
