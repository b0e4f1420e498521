#include "base/ids.h"

#include "base/memory.h"

#include <string.h>

bool cq_ids_append(cq_ids *ids, const uint32_t *items, size_t n) {
  if (n == 0) return true;
  if (!cq_reserve((void **)&ids->items, &ids->capacity, ids->n + n, sizeof *ids->items)) return false;
  memcpy(ids->items + ids->n, items, n * sizeof *items);
  ids->n += n;
  return true;
}

void cq_ids_free(cq_ids *ids) {
  cq_free(ids->items);
  *ids = (cq_ids){0};
}
