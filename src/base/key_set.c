/* A set of 64-bit numbers in a hash table. See key_set.h. */
#include "base/key_set.h"

#include "base/table.h"

static bool key_is_free(const void *slot, const void *unused) {
  (void)unused;
  return *(const uint64_t *)slot == 0;
}

static bool key_ends(const void *slot, const void *sought) {
  return key_is_free(slot, NULL) || *(const uint64_t *)slot == *(const uint64_t *)sought;
}

static uint64_t hash_of_key(const void *slot) {
  return *(const uint64_t *)slot;
}

static const cq_table_kind kind = {sizeof(uint64_t), 1024, 3, key_is_free, hash_of_key};

static uint64_t *find_key(const cq_key_set *s, uint64_t key) {
  return cq_table_find(s->slots, s->capacity, sizeof key, key, key_ends, &key);
}

bool cq_key_set_put(bool *is_new, cq_key_set *s, uint64_t key) {
  *is_new = !cq_key_set_has(s, key);
  if (!*is_new) return true;
  if (key == 0)
    s->has_zero = true;
  else if (cq_table_reserve((void **)&s->slots, &s->capacity, s->n, &kind))
    *find_key(s, key) = key;
  else
    return false;
  s->n++;
  return true;
}

bool cq_key_set_has(const cq_key_set *s, uint64_t key) {
  if (key == 0) return s->has_zero;
  return s->capacity > 0 && *find_key(s, key) == key;
}

void cq_key_set_free(cq_key_set *s) {
  cq_free(s->slots);
  *s = (cq_key_set){0};
}
