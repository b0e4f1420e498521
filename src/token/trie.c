/* A trie of byte strings: one hash table of edges, walked byte by byte. See trie.h. */
#include "token/trie.h"

#include "base/memory.h"

static bool edge_is_free(const void *slot, const void *unused) {
  (void)unused;
  return *(const uint64_t *)slot == 0;
}

static uint64_t hash_of_edge(const void *slot) {
  return cq_trie_hash((uint32_t)(*(const uint64_t *)slot >> 32));
}

/* At most three quarters full, so that the search for a missing edge soon reaches a free slot. */
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

/* The edge from a node by a byte, made if missing; NULL: out of memory. */
static uint64_t *take_edge(cq_trie *trie, uint32_t node, unsigned char byte) {
  const uint32_t key = node << 8 | byte; /* what stands above the number falls out */
  if (!cq_table_reserve((void **)&trie->edges, &trie->edge_capacity, trie->n_nodes, &kind)) return NULL;
  uint64_t *edge = find_edge(trie, key);
  if (*edge) return edge;
  *edge = (uint64_t)key << 32 | trie->n_nodes;
  if (add_node(trie)) return edge;
  *edge = 0;
  return NULL;
}

static void end_at(cq_trie *trie, uint64_t *edge, int32_t value) {
  *edge |= CQ_TRIE_END;
  trie->values[(uint32_t)*edge & (CQ_TRIE_MAX_NODES - 1)] = value;
}

bool cq_trie_put(cq_trie *trie, cq_slice key, int32_t value) {
  if (key.n == 0) return true; /* nothing is found under it */
  if (trie->n_nodes == 0 && !add_node(trie)) return false;
  uint64_t *edge = NULL;
  for (size_t i = 0; i < key.n; i++) {
    edge = take_edge(trie, edge ? (uint32_t)*edge : CQ_TRIE_ROOT, (unsigned char)key.data[i]);
    if (!edge) return false;
  }
  end_at(trie, edge, value);
  return true;
}

/* --- many strings --- */

/* Each step waits for memory, and depends on the string's previous step, so this many strings are walked at once. */
enum { N_AT_ONCE = 16 };

typedef struct putting {
  cq_slice rest;
  uint32_t node;
  int32_t value;
} putting;

static bool reserve_for(cq_trie *trie, size_t n) {
  const size_t n_nodes = cq_min(3 * n, CQ_TRIE_MAX_NODES);
  while (4 * (n_nodes + 1) > kind.quarters * trie->edge_capacity) {
    const size_t full = trie->edge_capacity;
    if (!cq_table_reserve((void **)&trie->edges, &trie->edge_capacity, full, &kind)) return false;
  }
  return cq_reserve((void **)&trie->values, &trie->node_capacity, n_nodes, sizeof *trie->values);
}

/* The next non-empty string; false at the end. */
static bool next_string(putting *p, size_t *next, size_t n, cq_slice (*key)(const void *, size_t),
                        const void *context) {
  for (; *next < n; ++*next) {
    const cq_slice of = key(context, *next);
    if (!of.n) continue;
    *p = (putting){of, CQ_TRIE_ROOT, (int32_t)(*next)++};
    return true;
  }
  return false;
}

bool cq_trie_put_all(cq_trie *trie, size_t n, cq_slice (*key)(const void *context, size_t i), const void *context) {
  putting at[N_AT_ONCE];
  size_t next = 0, n_at = 0;
  if (n > INT32_MAX || !reserve_for(trie, n) || (trie->n_nodes == 0 && !add_node(trie))) return false;
  while (n_at < N_AT_ONCE && next_string(&at[n_at], &next, n, key, context)) n_at++;
  while (n_at > 0) {
    size_t kept = 0;
    for (size_t i = 0; i < n_at; i++) {
      putting p = at[i];
      uint64_t *edge = take_edge(trie, p.node, (unsigned char)p.rest.data[0]);
      if (!edge) return false;
      p.node = (uint32_t)*edge;
      p.rest = (cq_slice){p.rest.data + 1, p.rest.n - 1};
      if (p.rest.n == 0) {
        end_at(trie, edge, p.value);
        if (!next_string(&p, &next, n, key, context)) continue;
      }
      cq_trie_prefetch_step(trie, p.node, (unsigned char)p.rest.data[0]);
      at[kept++] = p;
    }
    n_at = kept;
  }
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
