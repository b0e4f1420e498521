/* A growing array of 32-bit numbers. See u32_array.h. */
#include "base/u32_array.h"

#include "base/memory.h"

#include <string.h>

bool cq_u32_array_append(cq_u32_array *ids, const uint32_t *items, size_t n) {
  if (n == 0) return true;
  if (!cq_reserve((void **)&ids->items, &ids->capacity, ids->n + n, sizeof *ids->items)) return false;
  memcpy(ids->items + ids->n, items, n * sizeof *items);
  ids->n += n;
  return true;
}

void cq_u32_array_free(cq_u32_array *ids) {
  cq_free(ids->items);
  *ids = (cq_u32_array){0};
}
