/* A hash map from byte strings to 64-bit numbers. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/arena.h"
#include "base/slice.h"

#include <stdint.h>

typedef struct cq_map_entry {
  const char *key; /* NULL: free */
  size_t n;
  uint64_t hash, value;
} cq_map_entry;

typedef struct cq_map {
  cq_map_entry *entries;
  size_t n, capacity;
  cq_arena keys;
} cq_map;

#define CQ_MAP_NONE UINT64_MAX

/* The value of a key, CQ_MAP_NONE when absent. */
uint64_t cq_map_get(const cq_map *map, cq_slice key);
/* Sets a key's value, replacing an earlier one; false when out of memory. The map copies the key. */
bool cq_map_put(cq_map *map, cq_slice key, uint64_t value);
/* Like put, but the key's bytes are borrowed: they must outlive the map and must not change. */
bool cq_map_put_borrowed(cq_map *map, cq_slice key, uint64_t value);
/* A key's entry; the caller may set its value. A new entry's value is CQ_MAP_NONE, its key a NUL-terminated copy. Valid
 * until the next change. NULL when out of memory. */
cq_map_entry *cq_map_at(cq_map *map, cq_slice key);
void cq_map_free(cq_map *map);

#endif
