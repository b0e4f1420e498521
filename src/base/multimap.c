/* Rows by key: a linked list of row numbers for each key, in order of insertion. See multimap.h. */
#include "base/multimap.h"

#include "base/memory.h"

bool cq_multimap_add(cq_multimap *m, cq_slice key) {
  const size_t n = m->n + 1;
  const uint32_t here = (uint32_t)m->n, first = cq_multimap_first(m, key);
  if (n > CQ_MULTIMAP_NONE || !cq_reserve((void **)&m->next, &m->capacities[0], n, sizeof *m->next) ||
      !cq_reserve((void **)&m->last, &m->capacities[1], n, sizeof *m->last) ||
      (first == CQ_MULTIMAP_NONE && !cq_map_put(&m->first_of, key, here)))
    return false;
  m->n = n;
  m->next[here] = CQ_MULTIMAP_NONE, m->last[here] = here;
  if (first != CQ_MULTIMAP_NONE) {
    m->next[m->last[first]] = here;
    m->last[first] = here;
  }
  return true;
}

uint32_t cq_multimap_first(const cq_multimap *m, cq_slice key) {
  const uint64_t first = cq_map_get(&m->first_of, key);
  return first == CQ_MAP_NONE ? CQ_MULTIMAP_NONE : (uint32_t)first;
}

void cq_multimap_free(cq_multimap *m) {
  cq_map_free(&m->first_of);
  cq_free(m->next);
  cq_free(m->last);
  *m = (cq_multimap){0};
}
