/* Interning: equal byte strings get one number, counted from 0. See intern.h. */
#include "base/intern.h"

#include "base/memory.h"

uint32_t cq_intern_find(const cq_intern *intern, cq_slice text) {
  const uint64_t id = cq_map_get(&intern->ids, text);
  return id == CQ_MAP_NONE ? CQ_INTERN_NONE : (uint32_t)id;
}

uint32_t cq_intern_put(cq_intern *intern, cq_slice text) {
  cq_map_entry *e = cq_map_at(&intern->ids, text);
  if (!e) return CQ_INTERN_NONE;
  if (e->value != CQ_MAP_NONE) return (uint32_t)e->value;
  if (intern->n == CQ_INTERN_NONE - 1 ||
      !cq_reserve((void **)&intern->items, &intern->capacity, (size_t)intern->n + 1, sizeof *intern->items))
    return CQ_INTERN_NONE;
  intern->items[intern->n] = (cq_slice){e->key, e->n};
  return (uint32_t)(e->value = intern->n++);
}

void cq_intern_free(cq_intern *intern) {
  cq_free(intern->items);
  cq_map_free(&intern->ids);
  *intern = (cq_intern){0};
}
