/* A set of 64-bit numbers, for instance hashes: eight bytes per number. */
#ifndef BASE_KEY_SET_H
#define BASE_KEY_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cq_key_set {
  uint64_t *slots; /* 0: free */
  size_t n, capacity;
  bool has_zero;
} cq_key_set;

/* *is_new: it was added. False: out of memory. */
bool cq_key_set_put(bool *is_new, cq_key_set *set, uint64_t key);
bool cq_key_set_has(const cq_key_set *set, uint64_t key);
void cq_key_set_free(cq_key_set *set);

#endif
