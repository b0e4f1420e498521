/* Rows by key; the rows of a key are in order of insertion. Rows are numbered from 0; the owner keeps their
 * contents. */
#ifndef BASE_MULTIMAP_H
#define BASE_MULTIMAP_H

#include "base/map.h"

typedef struct cq_multimap {
  cq_map first_of;
  uint32_t *next, *last; /* [n] the next row of the same key; the last row, for the key's first row */
  size_t n, capacities[2];
} cq_multimap;

#define CQ_MULTIMAP_NONE UINT32_MAX

/* Adds row n to a key; false when out of memory, or beyond 2^32 - 1 rows. */
bool cq_multimap_add(cq_multimap *m, cq_slice key);
/* A key's first row, and the next row with the same key; CQ_MULTIMAP_NONE when there is none. */
uint32_t cq_multimap_first(const cq_multimap *m, cq_slice key);
static inline uint32_t cq_multimap_next(const cq_multimap *m, uint32_t row) {
  return m->next[row];
}
void cq_multimap_free(cq_multimap *m);

#endif
