/* A hash map from byte strings to 64-bit numbers; open addressing, keys copied into the map. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/arena.h"
#include "base/slice.h"

#include <stdint.h>

typedef struct cq_map {
  struct cq_map_entry *entries;
  size_t n, capacity;
  cq_arena keys;
} cq_map;

#define CQ_MAP_NONE UINT64_MAX

/* The value of a key, CQ_MAP_NONE when absent. */
uint64_t cq_map_get(const cq_map *map, cq_slice key);
/* Sets a key's value, replacing an earlier one; false when out of memory. */
bool cq_map_put(cq_map *map, cq_slice key, uint64_t value);
/* Like put, but the key's bytes are borrowed: they must outlive the map and stay as they are. */
bool cq_map_put_borrowed(cq_map *map, cq_slice key, uint64_t value);
void cq_map_free(cq_map *map);

/* The map's hash, for others that need one (FNV-1a folded through a 64-bit finaliser); stable across machines. */
uint64_t cq_hash(const void *bytes, size_t n);

#endif
