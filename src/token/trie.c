#include "token/trie.h"

#include "base/memory.h"

static bool edge_is_free(const void *slot, const void *unused) {
  (void)unused;
  return *(const uint64_t *)slot == 0;
}

static uint64_t hash_of_edge(const void *slot) {
  return cq_trie_hash((uint32_t)(*(const uint64_t *)slot >> 32));
}

/* Three quarters full at most: a missing edge must meet a free slot soon. */
static const cq_table_kind kind = {sizeof(uint64_t), 1024, 3, edge_is_free, hash_of_edge};

static uint64_t *find_edge(const cq_trie *trie, uint32_t key) {
  return cq_table_find(trie->edges, trie->edge_capacity, sizeof(uint64_t), cq_trie_hash(key), cq_trie_ends, &key);
}

static bool add_node(cq_trie *trie) {
  if (trie->n_nodes >= CQ_TRIE_MAX_NODES) return false;
  if (!cq_reserve((void **)&trie->values, &trie->node_capacity, trie->n_nodes + 1, sizeof *trie->values)) return false;
  trie->values[trie->n_nodes++] = -1;
  return true;
}

bool cq_trie_put(cq_trie *trie, cq_slice key, int32_t value) {
  if (key.n == 0) return true; /* nothing is found under it */
  if (trie->n_nodes == 0 && !add_node(trie)) return false;
  uint32_t node = CQ_TRIE_ROOT, parent = CQ_TRIE_ROOT;
  for (size_t i = 0; i < key.n; i++) {
    unsigned char byte = (unsigned char)key.data[i];
    uint32_t next = cq_trie_step(trie, node, byte);
    if (next == CQ_TRIE_NONE) {
      next = (uint32_t)trie->n_nodes;
      if (!cq_table_reserve((void **)&trie->edges, &trie->edge_capacity, trie->n_nodes, &kind) || !add_node(trie))
        return false;
      *find_edge(trie, node << 8 | byte) = (uint64_t)(node << 8 | byte) << 32 | next;
    }
    parent = node;
    node = next;
  }
  *find_edge(trie, parent << 8 | (unsigned char)key.data[key.n - 1]) |= CQ_TRIE_END;
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
