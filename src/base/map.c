/* A hash map from byte strings to 64-bit numbers. The keys are kept in an arena. See map.h. */
#include "base/map.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/table.h"

static bool map_entry_is_free(const void *slot, const void *unused) {
  (void)unused;
  return !((const cq_map_entry *)slot)->key;
}

static bool map_entry_ends(const void *slot, const void *sought) {
  const cq_map_entry *e = slot, *s = sought;
  return !e->key || (e->hash == s->hash && e->n == s->n && (s->n == 0 || !memcmp(e->key, s->key, s->n)));
}

static uint64_t hash_of_map_entry(const void *slot) {
  return ((const cq_map_entry *)slot)->hash;
}

static const cq_table_kind kind = {sizeof(cq_map_entry), 64, 2, map_entry_is_free, hash_of_map_entry};

static cq_map_entry *find_map_entry(const cq_map *map, const cq_map_entry *sought) {
  return cq_table_find(map->entries, map->capacity, sizeof *sought, sought->hash, map_entry_ends, sought);
}

static cq_map_entry sought_entry(cq_slice key) {
  return (cq_map_entry){key.data ? key.data : "", key.n, cq_hash64(key.data, key.n, 0), CQ_MAP_NONE};
}

uint64_t cq_map_get(const cq_map *map, cq_slice key) {
  if (!map->capacity) return CQ_MAP_NONE;
  const cq_map_entry s = sought_entry(key), *e = find_map_entry(map, &s);
  return e->key ? e->value : CQ_MAP_NONE;
}

static cq_map_entry *map_at(cq_map *map, cq_slice key, bool copy) {
  if (!cq_table_reserve((void **)&map->entries, &map->capacity, map->n, &kind)) return NULL;
  cq_map_entry s = sought_entry(key), *e = find_map_entry(map, &s);
  if (e->key) return e;
  if (copy && !(s.key = cq_arena_strndup(&map->keys, key.data, key.n))) return NULL;
  map->n++;
  *e = s;
  return e;
}

cq_map_entry *cq_map_at(cq_map *map, cq_slice key) {
  return map_at(map, key, true);
}

static bool set_map_value(cq_map_entry *e, uint64_t value) {
  if (e) e->value = value;
  return e != NULL;
}

bool cq_map_put(cq_map *map, cq_slice key, uint64_t value) {
  return set_map_value(map_at(map, key, true), value);
}

bool cq_map_put_borrowed(cq_map *map, cq_slice key, uint64_t value) {
  return set_map_value(map_at(map, key, false), value);
}

void cq_map_free(cq_map *map) {
  cq_free(map->entries);
  cq_arena_free(&map->keys);
  *map = (cq_map){0};
}
