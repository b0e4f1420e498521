#include "base/map.h"

#include "base/memory.h"
#include "base/random.h"

struct cq_map_entry {
  const char *key;
  size_t n;
  uint64_t hash, value; /* key NULL: empty */
};

uint64_t cq_hash(const void *bytes, size_t n) {
  const unsigned char *p = bytes;
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3u;
  return cq_mix(h);
}

/* The slot that holds the key, or the empty one where it belongs. */
static struct cq_map_entry *find(struct cq_map_entry *entries, size_t capacity, cq_slice key, uint64_t hash) {
  size_t mask = capacity - 1, i = (size_t)hash & mask;
  while (entries[i].key && !(entries[i].hash == hash && entries[i].n == key.n &&
                             (key.n == 0 || !memcmp(entries[i].key, key.data, key.n))))
    i = (i + 1) & mask;
  return &entries[i];
}

uint64_t cq_map_get(const cq_map *map, cq_slice key) {
  if (!map->capacity) return CQ_MAP_NONE;
  const struct cq_map_entry *e = find(map->entries, map->capacity, key, cq_hash(key.data, key.n));
  return e->key ? e->value : CQ_MAP_NONE;
}

static bool grow(cq_map *map) {
  size_t capacity = map->capacity ? map->capacity * 2 : 64;
  struct cq_map_entry *entries = cq_alloc_array_zeroed(capacity, sizeof *entries);
  if (!entries) return false;
  for (size_t i = 0; i < map->capacity; i++) {
    struct cq_map_entry *old = &map->entries[i];
    if (old->key) *find(entries, capacity, (cq_slice){old->key, old->n}, old->hash) = *old;
  }
  cq_free(map->entries);
  map->entries = entries;
  map->capacity = capacity;
  return true;
}

static bool put(cq_map *map, cq_slice key, uint64_t value, bool copy) {
  if (map->n * 2 >= map->capacity && !grow(map)) return false;
  uint64_t hash = cq_hash(key.data, key.n);
  struct cq_map_entry *e = find(map->entries, map->capacity, key, hash);
  if (!e->key) {
    const char *bytes = copy ? cq_arena_strndup(&map->keys, key.data, key.n) : (key.data ? key.data : "");
    if (!bytes) return false;
    *e = (struct cq_map_entry){bytes, key.n, hash, value};
    map->n++;
  }
  e->value = value;
  return true;
}

bool cq_map_put(cq_map *map, cq_slice key, uint64_t value) {
  return put(map, key, value, true);
}

bool cq_map_put_borrowed(cq_map *map, cq_slice key, uint64_t value) {
  return put(map, key, value, false);
}

void cq_map_free(cq_map *map) {
  cq_free(map->entries);
  cq_arena_free(&map->keys);
  *map = (cq_map){0};
}
