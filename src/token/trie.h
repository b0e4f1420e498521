/* A map from byte strings to numbers, walked byte by byte: the vocabulary's index.
 *
 *   node, byte -> node     one table of edges, eight bytes an edge
 *   node -> value          -1 where no string ends
 *
 * Building takes one insertion per byte and no sorting, walking one probe per byte. */
#ifndef TOKEN_TRIE_H
#define TOKEN_TRIE_H

#include "base/slice.h"
#include "base/table.h"

#include <stdbool.h>
#include <stdint.h>

/* A node as returned by a step: its number, with CQ_TRIE_END if a string ends there, which saves reading the value. */
#define CQ_TRIE_ROOT      0u
#define CQ_TRIE_NONE      UINT32_MAX
#define CQ_TRIE_END       (1u << 30)
#define CQ_TRIE_MAX_NODES (1u << 24)

typedef struct cq_trie {
  uint64_t *edges; /* (node number << 8 | byte) << 32 | child; 0 is an empty slot, since the root is never a child */
  int32_t *values;
  size_t edge_capacity, n_nodes, node_capacity;
} cq_trie;

/* Sets a string's value (>= 0), replacing an earlier one; false when out of memory or beyond CQ_TRIE_MAX_NODES. */
bool cq_trie_put(cq_trie *trie, cq_slice key, int32_t value);
/* The same for n strings key(context, i) with the values i from 0 to n - 1; several times as fast. */
bool cq_trie_put_all(cq_trie *trie, size_t n, cq_slice (*key)(const void *context, size_t i), const void *context);
/* The value of exactly this string, -1 when absent. */
int32_t cq_trie_get(const cq_trie *trie, cq_slice key);
/* The node that a string leads to from another node; CQ_TRIE_NONE if there is none. */
uint32_t cq_trie_walk(const cq_trie *trie, uint32_t node, cq_slice key);
void cq_trie_free(cq_trie *trie);

/* The product's upper bits are well mixed, but tables use the lower ones. */
static inline uint64_t cq_trie_hash(uint32_t key) {
  return __builtin_bswap64(key * UINT64_C(0x9E3779B97F4A7C15));
}

static inline bool cq_trie_ends(const void *slot, const void *key) {
  const uint64_t edge = *(const uint64_t *)slot;
  return edge == 0 || (uint32_t)(edge >> 32) == *(const uint32_t *)key;
}

static inline uint32_t cq_trie_step(const cq_trie *trie, uint32_t node, unsigned char byte) {
  if (!trie->edge_capacity) return CQ_TRIE_NONE;
  const uint32_t key = node << 8 | byte; /* what stands above the number falls out */
  const uint64_t edge =
      *(uint64_t *)cq_table_find(trie->edges, trie->edge_capacity, sizeof edge, cq_trie_hash(key), cq_trie_ends, &key);
  return edge ? (uint32_t)edge : CQ_TRIE_NONE;
}

/* Prefetches the first edge that a step will read. */
static inline void cq_trie_prefetch_step(const cq_trie *trie, uint32_t node, unsigned char byte) {
  __builtin_prefetch(&trie->edges[cq_trie_hash(node << 8 | byte) & (trie->edge_capacity - 1)], 1);
}

/* The value of the string that ends at a node (which must not be CQ_TRIE_NONE); -1 if none ends there. */
static inline int32_t cq_trie_value(const cq_trie *trie, uint32_t node) {
  return node & CQ_TRIE_END ? trie->values[node & (CQ_TRIE_MAX_NODES - 1)] : -1;
}

#endif
