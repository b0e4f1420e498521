#include "token/trie.h"

#include "base/memory.h"

static void place(uint64_t *edges, size_t capacity, unsigned shift, uint64_t edge) {
  size_t mask = capacity - 1, i = cq_trie_slot((uint32_t)(edge >> 32), shift);
  while (edges[i]) i = (i + 1) & mask;
  edges[i] = edge;
}

static bool grow_edges(cq_trie *trie) {
  size_t capacity = trie->edge_capacity ? trie->edge_capacity * 2 : 1024;
  unsigned shift = trie->edge_capacity ? trie->shift - 1 : 64 - 10;
  uint64_t *edges = cq_alloc_array_zeroed(capacity, sizeof *edges);
  if (!edges) return false;
  for (size_t i = 0; i < trie->edge_capacity; i++) {
    if (trie->edges[i]) place(edges, capacity, shift, trie->edges[i]);
  }
  cq_free(trie->edges);
  trie->edges = edges;
  trie->edge_capacity = capacity;
  trie->shift = shift;
  return true;
}

static bool add_node(cq_trie *trie) {
  if (trie->n_nodes >= CQ_TRIE_MAX_NODES) return false;
  if (!cq_reserve((void **)&trie->values, &trie->node_capacity, trie->n_nodes + 1, sizeof *trie->values)) return false;
  trie->values[trie->n_nodes++] = -1;
  return true;
}

static void mark_end(cq_trie *trie, uint32_t key) {
  size_t i = cq_trie_slot(key, trie->shift);
  while ((uint32_t)(trie->edges[i] >> 32) != key) i = (i + 1) & (trie->edge_capacity - 1);
  trie->edges[i] |= CQ_TRIE_END;
}

bool cq_trie_put(cq_trie *trie, cq_slice key, int32_t value) {
  if (key.n == 0) return true; /* nothing is found under it */
  if (trie->n_nodes == 0 && !add_node(trie)) return false;
  uint32_t node = CQ_TRIE_ROOT, parent = CQ_TRIE_ROOT;
  for (size_t i = 0; i < key.n; i++) {
    unsigned char byte = (unsigned char)key.data[i];
    uint32_t next = cq_trie_step(trie, node, byte);
    if (next == CQ_TRIE_NONE) {
      /* Three quarters full at most: a missing edge must meet an empty slot soon. */
      if (trie->n_nodes * 4 >= trie->edge_capacity * 3 && !grow_edges(trie)) return false;
      next = (uint32_t)trie->n_nodes;
      if (!add_node(trie)) return false;
      place(trie->edges, trie->edge_capacity, trie->shift, (uint64_t)(node << 8 | byte) << 32 | next);
    }
    parent = node;
    node = next;
  }
  mark_end(trie, parent << 8 | (unsigned char)key.data[key.n - 1]);
  trie->values[node & (CQ_TRIE_MAX_NODES - 1)] = value;
  return true;
}

uint32_t cq_trie_walk(const cq_trie *trie, uint32_t node, cq_slice key) {
  for (size_t i = 0; i < key.n && node != CQ_TRIE_NONE; i++)
    node = cq_trie_step(trie, node, (unsigned char)key.data[i]);
  return node;
}

int32_t cq_trie_get(const cq_trie *trie, cq_slice key) {
  if (trie->n_nodes == 0) return -1;
  uint32_t node = cq_trie_walk(trie, CQ_TRIE_ROOT, key);
  return node == CQ_TRIE_NONE ? -1 : cq_trie_value(trie, node);
}

void cq_trie_free(cq_trie *trie) {
  cq_free(trie->edges);
  cq_free(trie->values);
  *trie = (cq_trie){0};
}
