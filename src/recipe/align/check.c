/* What the most similar sentences say about two documents as a whole: whether they are translations of each other, and
 * which passages stand in another order.
 *
 * Anchors are pairs of sentences that are each other's nearest. Between unrelated documents they are in random order,
 * and the longest increasing subsequence of m numbers in random order has a length of about 2 sqrt(m), with a standard
 * deviation of about 0.9 m^(1/6) (Baik, Deift & Johansson 1999). In translations nearly all anchors are in order. */
#include "base/error.h"
#include "base/memory.h"
#include "recipe/align/alignment.h"

#include <math.h>
#include <stdlib.h>

enum { SAMPLE = 4096, FAR = 20, RUN = 6, FEWEST = 12 };

typedef struct anchor {
  uint32_t i, j;
  double score;
} anchor;

static int compare_anchors(const void *a, const void *b) {
  const anchor *x = a, *y = b;
  return (x->i > y->i) - (x->i < y->i);
}

/* Rows of at most SAMPLE sentences, evenly spread, among the groups [n * max_group]. */
static uint32_t *sample_rows(size_t *n, const cq_align_side *s, bool all) {
  const size_t step = all ? 1 : (s->n + SAMPLE - 1) / SAMPLE;
  uint32_t *rows = cq_alloc_array(s->n, sizeof *rows);
  *n = 0;
  for (size_t i = 0; rows && i < s->n; i += step) rows[(*n)++] = (uint32_t)(i * s->max_group);
  return rows;
}

/* Source sentences, at most SAMPLE, whose nearest target sentence has them as its nearest. */
static cq_status find_anchors(anchor **out, size_t *n, const cq_align_side sides[2], cq_context *ctx, cq_error *error) {
  cq_nearest_options o = cq_nearest_default_options();
  cq_neighbors of_x = {0}, of_y = {0};
  cq_mined_pair *pairs = NULL;
  size_t n_pairs = 0, n_x = 0, n_y = 0;
  uint32_t *x_rows = sample_rows(&n_x, &sides[0], false), *y_rows = sample_rows(&n_y, &sides[1], true);
  cq_margin_options margin = cq_margin_default_options();
  margin.retrieval = CQ_RETRIEVE_INTERSECT, margin.min_cosine = -1;
  o.x_rows = x_rows, o.y_rows = y_rows, o.first_pass = CQ_FIRST_INT8;
  *out = NULL, *n = 0;
  cq_status status = x_rows && y_rows ? CQ_OK : cq_fail_memory(error, "anchors");
  if (!status)
    status = cq_nearest(&of_x, &of_y, sides[0].groups, n_x, sides[1].groups, n_y, sides[0].dim, &o, ctx, error);
  if (!status) status = cq_margin_pairs(&pairs, &n_pairs, &of_x, &of_y, &margin, error);
  if (!status && !(*out = cq_alloc_array(n_pairs, sizeof **out))) status = cq_fail_memory(error, "anchors");
  for (size_t k = 0; !status && k < n_pairs; k++)
    (*out)[(*n)++] = (anchor){x_rows[pairs[k].source] / (uint32_t)sides[0].max_group, pairs[k].target, pairs[k].score};
  if (!status && *n) qsort(*out, *n, sizeof **out, compare_anchors);
  cq_neighbors_free(&of_x), cq_neighbors_free(&of_y);
  cq_free(pairs), cq_free(x_rows), cq_free(y_rows);
  return status;
}

/* The length of the longest increasing subsequence of j: tails[k] is the smallest end of one of k + 1. */
static size_t longest_series(uint32_t *tails, const anchor *anchors, size_t n) {
  size_t length = 0;
  for (size_t k = 0; k < n; k++) {
    size_t lo = 0, hi = length;
    while (lo < hi) {
      const size_t middle = (lo + hi) / 2;
      if (tails[middle] < anchors[k].j)
        lo = middle + 1;
      else
        hi = middle;
    }
    tails[lo] = anchors[k].j;
    if (lo == length) length++;
  }
  return length;
}

/* Where the path is at a source sentence: its bead's first target sentence. */
static uint32_t *path_targets(const cq_align_side sides[2], const cq_bead *beads, size_t n) {
  uint32_t *at = cq_alloc_array_zeroed(sides[0].n, sizeof *at);
  for (size_t b = 0; at && b < n; b++)
    for (uint32_t i = 0; i < beads[b].n_source; i++) at[beads[b].source + i] = beads[b].target;
  return at;
}

/* Runs of anchors, in order among themselves, that are far from the path: passages whose translation stands elsewhere. */
static cq_status find_moved(cq_align_verdict *v, const anchor *anchors, size_t n, const cq_align_side sides[2],
                            const cq_bead *beads, size_t n_beads, cq_error *error) {
  uint32_t *at = path_targets(sides, beads, n_beads);
  v->moved = cq_alloc_array(n / RUN + 1, sizeof *v->moved);
  cq_status status = at && v->moved ? CQ_OK : cq_fail_memory(error, "anchors");
  for (size_t first = 0, k; !status && first < n; first = k) {
    const anchor *last = NULL;
    size_t n_run = 0;
    for (k = first; k < n && (!last || anchors[k].i - last->i <= 2 * FAR); k++) {
      const anchor *next = &anchors[k];
      const bool is_far = fabs((double)next->j - at[next->i]) > FAR;
      const bool goes_on = !last || (next->j > last->j && next->j - last->j <= 2 * FAR);
      if (is_far && goes_on) last = next, n_run++;
      if (!n_run) first = k + 1;
    }
    if (n_run >= RUN)
      v->moved[v->n_moved++] = (cq_bead){.source = anchors[first].i,
                                         .n_source = last->i - anchors[first].i + 1,
                                         .target = anchors[first].j,
                                         .n_target = last->j - anchors[first].j + 1};
  }
  cq_free(at);
  return status;
}

cq_status cq_align_check(cq_align_verdict *out, const cq_align_side sides[2], const cq_bead *beads, size_t n_beads,
                         cq_context *ctx, cq_error *error) {
  anchor *anchors = NULL;
  size_t n = 0;
  *out = (cq_align_verdict){0};
  cq_status status = find_anchors(&anchors, &n, sides, ctx, error);
  uint32_t *tails = status ? NULL : cq_alloc_array(n, sizeof *tails);
  if (!status && !tails) status = cq_fail_memory(error, "anchors");
  if (!status) {
    const double m = (double)n, by_chance = 2 * sqrt(m) + 4 * 0.9 * pow(m, 1.0 / 6);
    out->n_anchors = n, out->n_in_order = longest_series(tails, anchors, n);
    out->is_too_short = n < FEWEST || by_chance >= m;
    out->is_unrelated = !out->is_too_short && (double)out->n_in_order < by_chance;
    status = find_moved(out, anchors, n, sides, beads, n_beads, error);
  }
  cq_free(tails), cq_free(anchors);
  return status;
}
