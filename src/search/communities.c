/* Communities from near pairs.
 *
 *   pairs ──▶ each row's near rows, by cosine ──▶ rows by number of near rows ──▶ taken greedily, no row twice */
#include "base/error.h"
#include "base/memory.h"
#include "calque/cluster.h"

#include <stdlib.h>
#include <string.h>

/* Each row's near rows: near[starts[i] .. starts[i + 1]). */
typedef struct graph {
  size_t *starts; /* [n + 1] */
  cq_member *near;
  size_t n;
} graph;

static int nearest_first(const void *a, const void *b) {
  const cq_member *p = a, *q = b;
  if (p->cosine != q->cosine) return p->cosine > q->cosine ? -1 : 1;
  return (p->row > q->row) - (p->row < q->row);
}

static cq_status graph_new(graph *g, const cq_near_pair *pairs, size_t n_pairs, size_t n, cq_error *error) {
  g->n = n;
  g->starts = cq_alloc_array_zeroed(n + 2, sizeof *g->starts);
  g->near = cq_alloc_array(2 * n_pairs, sizeof *g->near);
  if (!g->starts || !g->near) return cq_fail_memory(error, "near rows");
  size_t *next = g->starts + 1; /* counts are stored one position too far, and filling in the rows corrects this */
  for (size_t i = 0; i < n_pairs; i++) {
    const cq_near_pair *p = &pairs[i];
    if (p->row >= n || p->other >= n)
      return cq_fail(error, CQ_ERR_ARGUMENT, "a pair of rows %u and %u, there are %zu", p->row, p->other, n);
    next[p->row + 1]++, next[p->other + 1]++;
  }
  for (size_t i = 0; i < n; i++) next[i + 1] += next[i];
  for (size_t i = 0; i < n_pairs; i++) {
    const cq_near_pair *p = &pairs[i];
    g->near[next[p->row]++] = (cq_member){p->other, p->cosine};
    g->near[next[p->other]++] = (cq_member){p->row, p->cosine};
  }
  for (size_t i = 0; i < n; i++) {
    const size_t count = g->starts[i + 1] - g->starts[i];
    if (count) qsort(g->near + g->starts[i], count, sizeof *g->near, nearest_first);
  }
  return CQ_OK;
}

/* A span of rows or members, and how long it is. */
typedef struct span {
  size_t size, first;
} span;

static int largest_first(const void *a, const void *b) {
  const span *p = a, *q = b;
  if (p->size != q->size) return p->size > q->size ? -1 : 1;
  return (p->first > q->first) - (p->first < q->first);
}

/* Appends a center and its free near rows; false if they are too few. */
static bool take_community(cq_member *members, size_t *n_members, bool *taken, const graph *g, size_t center,
                           size_t min_size) {
  size_t n = *n_members;
  members[n++] = (cq_member){(uint32_t)center, 1};
  for (size_t at = g->starts[center]; at < g->starts[center + 1]; at++)
    if (!taken[g->near[at].row]) members[n++] = g->near[at];
  if (n - *n_members < min_size) return false;
  for (; *n_members < n; ++*n_members) taken[members[*n_members].row] = true;
  return true;
}

/* Fills `members` [rows] and `found` with the communities in the order in which they are taken; returns how many. */
static size_t take_communities(cq_member *members, span *found, span *centers, bool *taken, const graph *g,
                               size_t min_size) {
  size_t n = 0, n_members = 0;
  for (size_t i = 0; i < g->n; i++) centers[i] = (span){g->starts[i + 1] - g->starts[i] + 1, i};
  if (g->n) qsort(centers, g->n, sizeof *centers, largest_first);
  for (size_t i = 0; i < g->n && centers[i].size >= min_size; i++) {
    const size_t first = n_members;
    if (!taken[centers[i].first] && take_community(members, &n_members, taken, g, centers[i].first, min_size))
      found[n++] = (span){n_members - first, first};
  }
  return n;
}

cq_status cq_communities_find(cq_communities *out, const cq_near_pair *pairs, size_t n_pairs, size_t n_rows,
                              size_t min_size, cq_error *error) {
  graph g = {0};
  *out = (cq_communities){0};
  if (min_size == 0) min_size = 1;
  cq_status status = graph_new(&g, pairs, n_pairs, n_rows, error);
  span *centers = cq_alloc_array(n_rows, sizeof *centers), *found = cq_alloc_array(n_rows, sizeof *found);
  bool *taken = cq_alloc_array_zeroed(n_rows, sizeof *taken);
  cq_member *members = cq_alloc_array(n_rows, sizeof *members);
  out->members = cq_alloc_array(n_rows, sizeof *out->members);
  out->starts = cq_alloc_array_zeroed(n_rows + 1, sizeof *out->starts);
  if (!status && !(centers && found && taken && members && out->members && out->starts))
    status = cq_fail_memory(error, "communities");
  if (!status) {
    out->n = take_communities(members, found, centers, taken, &g, min_size);
    if (out->n) qsort(found, out->n, sizeof *found, largest_first);
    for (size_t i = 0; i < out->n; i++) {
      memcpy(out->members + out->starts[i], members + found[i].first, found[i].size * sizeof *members);
      out->starts[i + 1] = out->starts[i] + found[i].size;
    }
  }
  cq_free(members);
  cq_free(taken);
  cq_free(found);
  cq_free(centers);
  cq_free(g.near);
  cq_free(g.starts);
  if (status) cq_communities_free(out);
  return status;
}

void cq_communities_free(cq_communities *communities) {
  cq_free(communities->starts);
  cq_free(communities->members);
  *communities = (cq_communities){0};
}
