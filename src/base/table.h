/* Open addressing, for all hash tables: the number of slots is a power of two, and a search begins at the hash's slot
 * and continues with the next ones. The owner defines what a slot holds and when it is free; in a table that grows, a
 * slot of zeros is free. Both functions are inlined, together with the owner's predicates. */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include "base/memory.h"

#include <string.h>

#define CQ_INLINED static inline __attribute__((always_inline))

/* The slot that holds the key, or the free slot where it belongs; a free slot must exist.
 *   ends  whether a slot is free or holds the key */
CQ_INLINED void *cq_table_find(const void *slots, size_t capacity, size_t slot_bytes, uint64_t hash,
                               bool (*ends)(const void *slot, const void *sought), const void *sought) {
  size_t i = (size_t)hash & (capacity - 1);
  while (!ends((const char *)slots + i * slot_bytes, sought)) i = (i + 1) & (capacity - 1);
  return (char *)slots + i * slot_bytes;
}

typedef struct cq_table_kind {
  size_t slot_bytes, n_first; /* capacity at first, a power of two */
  unsigned quarters;          /* maximum load in quarters: more takes less memory and longer searches */
  bool (*is_free)(const void *slot, const void *unused);
  uint64_t (*hash)(const void *slot);
} cq_table_kind;

/* Makes room for n + 1 entries; false on failure (the table is unchanged). */
CQ_INLINED bool cq_table_reserve(void **slots, size_t *capacity, size_t n, const cq_table_kind *kind) {
  if (4 * (n + 1) <= kind->quarters * *capacity) return true;
  const size_t room = *capacity ? 2 * *capacity : kind->n_first;
  char *from = *slots, *to = cq_alloc_array_zeroed(room, kind->slot_bytes);
  if (!to) return false;
  for (size_t i = 0; i < *capacity; i++, from += kind->slot_bytes) {
    if (kind->is_free(from, NULL)) continue;
    memcpy(cq_table_find(to, room, kind->slot_bytes, kind->hash(from), kind->is_free, NULL), from, kind->slot_bytes);
  }
  cq_free(*slots);
  *slots = to;
  *capacity = room;
  return true;
}

#endif
