#include "base/intern.h"

#include "base/memory.h"

uint32_t cq_intern_find(const cq_intern *intern, cq_slice text) {
  const uint64_t id = cq_map_get(&intern->ids, text);
  return id == CQ_MAP_NONE ? CQ_INTERN_NONE : (uint32_t)id;
}

uint32_t cq_intern_put(cq_intern *intern, cq_slice text) {
  const uint32_t known = cq_intern_find(intern, text);
  if (known != CQ_INTERN_NONE) return known;
  if (intern->n == CQ_INTERN_NONE - 1 ||
      !cq_reserve((void **)&intern->items, &intern->capacity, (size_t)intern->n + 1, sizeof *intern->items))
    return CQ_INTERN_NONE;
  const char *copy = cq_arena_strndup(&intern->bytes, text.data, text.n);
  if (!copy || !cq_map_put_borrowed(&intern->ids, (cq_slice){copy, text.n}, intern->n)) return CQ_INTERN_NONE;
  intern->items[intern->n] = (cq_slice){copy, text.n};
  return intern->n++;
}

void cq_intern_free(cq_intern *intern) {
  cq_free(intern->items);
  cq_map_free(&intern->ids);
  cq_arena_free(&intern->bytes);
  *intern = (cq_intern){0};
}
