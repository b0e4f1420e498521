/* Computes margins and chooses pairs by them.
 *
 *   score(x, y) = margin(cos(x, y), (mean cosine of x's k nearest + mean cosine of y's k nearest) / 2)
 *
 * A candidate's own cosine is part of the means that it is compared with. A row's candidates are its k nearest
 * neighbors. Rows farther away have a lower cosine, but not always a lower margin: this is the method's approximation.
 *
 * Source: Artetxe & Schwenk 2019, equations 1 to 4; retrieval as in section 3.2. */
#include "calque/mine.h"

#include "base/error.h"
#include "base/memory.h"
#include "search/search_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const cq_margin_names[] = {"ratio", "distance", "absolute", NULL};             /* cq_margin */
static const char *const retrievals[] = {"forward", "backward", "intersect", "max", NULL}; /* cq_retrieval */

#define O cq_margin_options
static const cq_option option_rows[] = {
    {CQ_CHOICE(O, "margin", margin, CHANGES, CQ_MARGIN_RATIO, cq_margin_names, "KIND",
               "score: cosine divided by the mean of the neighbors' cosines (ratio), cosine minus that mean "
               "(distance), or the cosine alone (absolute)")},
    {CQ_CHOICE(O, "retrieval", retrieval, CHANGES, CQ_RETRIEVE_MAX, retrievals, "KIND",
               "each source's best target (forward), each target's best source (backward), pairs that are both "
               "(intersect), or the best pairs of both directions, each sentence at most once (max)")},
    {CQ_SIZE(O, "candidates", n_candidates, CHANGES, 1, 1, 4096, "N",
             "with forward and backward: the top N of each sentence, at most k")},
    {CQ_NUMBER(O, "threshold", threshold, CHANGES, -INFINITY, -INFINITY, 0, "X", "leave out pairs with a lower score"),
     .otherwise = "none"},
    {CQ_NUMBER(O, "min-cosine", min_cosine, CHANGES, -INFINITY, -INFINITY, 1, "X",
               "also leave out pairs with a lower cosine, for any margin"),
     .otherwise = "none"},
};
#undef O

const cq_option_group cq_group_margin = {.name = "margin", CQ_ROWS(cq_margin_options, option_rows)};

/* The candidates, and room for more. */
typedef struct pairs {
  cq_mined_pair *items; /* malloc: the caller frees it */
  size_t n;
} pairs;

/* The smallest mean that a ratio is taken of: over all rows of a tiny set, cosines may add up to 0 or less. */
#define MIN_MEAN 0.05

static double score_of(cq_margin margin, double cosine, double mean) {
  switch (margin) {
  case CQ_MARGIN_RATIO: return mean == 0 ? 0 : cosine / fmax(mean, MIN_MEAN);
  case CQ_MARGIN_DISTANCE: return cosine - mean;
  case CQ_MARGIN_ABSOLUTE: return cosine;
  }
  return cosine;
}

static double *means_of_neighbors(const cq_neighbors *neighbors) {
  double *means = cq_alloc_array(neighbors->n, sizeof *means);
  for (size_t i = 0; means && i < neighbors->n; i++) {
    means[i] = 0;
    for (size_t r = 0; r < neighbors->k; r++) means[i] += neighbors->cosine[i * neighbors->k + r];
    if (neighbors->k) means[i] /= (double)neighbors->k;
  }
  return means;
}

static int mined_by_rows(const void *a, const void *b) {
  const cq_mined_pair *x = a, *y = b;
  if (x->source != y->source) return x->source < y->source ? -1 : 1;
  return x->target < y->target ? -1 : x->target > y->target;
}

int cq_mined_by_score(const void *a, const void *b) {
  const cq_mined_pair *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return mined_by_rows(a, b);
}

/* The per_row best candidates of each row of one side. backward: rows are targets. */
static cq_status add_candidates(pairs *out, const cq_neighbors *neighbors, const double *means,
                                const double *other_means, bool backward, const cq_margin_options *o, size_t per_row,
                                cq_error *error) {
  const size_t k = neighbors->k, kept = per_row < k ? per_row : k;
  cq_mined_pair *row = cq_alloc_array(k, sizeof *row);
  if (!row) return cq_fail_memory(error, "candidates");
  for (size_t i = 0; i < neighbors->n; i++) {
    for (size_t r = 0; r < k; r++) {
      const uint32_t other = neighbors->index[i * k + r];
      const double cosine = neighbors->cosine[i * k + r];
      row[r] = (cq_mined_pair){backward ? other : (uint32_t)i, backward ? (uint32_t)i : other,
                               score_of(o->margin, cosine, (means[i] + other_means[other]) / 2), cosine};
    }
    qsort(row, k, sizeof *row, cq_mined_by_score);
    memcpy(out->items + out->n, row, kept * sizeof *row);
    out->n += kept;
  }
  cq_free(row);
  return CQ_OK;
}

/* Keeps forward candidates that are also the best of their target. Both lists have at most one pair per row. */
static void intersect_pairs(pairs *p, size_t n_forward, uint32_t *best_source, size_t n_target) {
  size_t n = 0;
  for (size_t j = 0; j < n_target; j++) best_source[j] = UINT32_MAX;
  for (size_t i = n_forward; i < p->n; i++) best_source[p->items[i].target] = p->items[i].source;
  for (size_t i = 0; i < n_forward; i++)
    if (best_source[p->items[i].target] == p->items[i].source) p->items[n++] = p->items[i];
  p->n = n;
}

/* Takes the sorted candidates of both sides one by one, unless one of the two rows is already taken. */
static void take_greedily(pairs *p, bool *source_taken, bool *target_taken) {
  size_t n = 0;
  for (size_t i = 0; i < p->n; i++) {
    const cq_mined_pair pair = p->items[i];
    if (source_taken[pair.source] || target_taken[pair.target]) continue;
    source_taken[pair.source] = target_taken[pair.target] = true;
    p->items[n++] = pair;
  }
  p->n = n;
}

/* Drops chosen pairs with too low a cosine; they are not replaced by pairs with lower scores. */
static void drop_below(pairs *p, const cq_margin_options *o) {
  size_t n = 0;
  while (p->n > 0 && !(p->items[p->n - 1].score >= o->threshold)) p->n--; /* sorted */
  for (size_t i = 0; i < p->n; i++)
    if (p->items[i].cosine >= o->min_cosine) p->items[n++] = p->items[i];
  p->n = n;
}

/* Within one matrix: keeps each pair once, its lower row first; mutual: only pairs that are candidates of both rows. */
static void unite_pairs(pairs *p, bool mutual) {
  size_t n = 0;
  for (size_t i = 0; i < p->n; i++) {
    cq_mined_pair *pair = &p->items[i];
    if (pair->source > pair->target) *pair = (cq_mined_pair){pair->target, pair->source, pair->score, pair->cosine};
  }
  qsort(p->items, p->n, sizeof *p->items, mined_by_rows);
  for (size_t i = 0, end; i < p->n; i = end) {
    for (end = i + 1; end < p->n && mined_by_rows(&p->items[i], &p->items[end]) == 0;) end++;
    if (!mutual || end - i == 2) p->items[n++] = p->items[i];
  }
  p->n = n;
}

/* The candidates of the retrieval's kind, best first. Within one matrix, whose neighbors are both sides', each row's own
 * candidates are in both directions already. */
static cq_status choose_pairs(pairs *p, const cq_neighbors *of_source, const cq_neighbors *of_target, bool within,
                              const cq_margin_options *o, cq_error *error) {
  const bool forward = within || o->retrieval != CQ_RETRIEVE_BACKWARD;
  const bool backward = !within && o->retrieval != CQ_RETRIEVE_FORWARD;
  const bool one = o->retrieval == CQ_RETRIEVE_INTERSECT || o->retrieval == CQ_RETRIEVE_MAX;
  /* The product with the number of rows cannot overflow: the lists have that length. */
  const size_t per_row = one ? 1 : cq_min(o->n_candidates, forward ? of_source->k : of_target->k);
  const size_t max_pairs = (forward ? of_source->n * per_row : 0) + (backward ? of_target->n * per_row : 0);
  double *source_means = means_of_neighbors(of_source), *target_means = means_of_neighbors(of_target);
  uint32_t *best_source = cq_alloc_array(of_target->n, sizeof *best_source);
  bool *taken = cq_alloc_array_zeroed(of_source->n + of_target->n, sizeof *taken);
  cq_status status = CQ_OK;
  p->items = cq_alloc_array_zeroed(max_pairs + 1, sizeof *p->items);
  if (!source_means || !target_means || !best_source || !taken || !p->items)
    status = cq_fail_memory(error, "candidate pairs");
  if (!status && forward) status = add_candidates(p, of_source, source_means, target_means, false, o, per_row, error);
  const size_t n_forward = p->n;
  if (!status && backward) status = add_candidates(p, of_target, target_means, source_means, true, o, per_row, error);
  if (!status) {
    if (within)
      unite_pairs(p, o->retrieval == CQ_RETRIEVE_INTERSECT);
    else if (o->retrieval == CQ_RETRIEVE_INTERSECT)
      intersect_pairs(p, n_forward, best_source, of_target->n);
    qsort(p->items, p->n, sizeof *p->items, cq_mined_by_score);
    if (o->retrieval == CQ_RETRIEVE_MAX) take_greedily(p, taken, within ? taken : taken + of_source->n);
    drop_below(p, o);
  }
  cq_free(taken);
  cq_free(best_source);
  cq_free(target_means);
  cq_free(source_means);
  return status;
}

static bool of_one_search(const cq_neighbors *of_source, const cq_neighbors *of_target) {
  for (size_t i = 0; i < of_source->n * of_source->k; i++)
    if (of_source->index[i] >= of_target->n) return false;
  for (size_t i = 0; i < of_target->n * of_target->k; i++)
    if (of_target->index[i] >= of_source->n) return false;
  return true;
}

static cq_status margin_pairs(cq_mined_pair **out, size_t *n, const cq_neighbors *of_source,
                              const cq_neighbors *of_target, bool within, const cq_margin_options *options,
                              cq_error *error) {
  cq_margin_options o;
  pairs p = {0};
  *out = NULL, *n = 0;
  cq_status status = cq_options_take(&o, &cq_group_margin, options, error);
  if (!status && !of_one_search(of_source, of_target))
    status = cq_fail(error, CQ_ERR_ARGUMENT, "neighbors of %zu and of %zu rows are not of one search", of_source->n,
                     of_target->n);
  if (!status) status = choose_pairs(&p, of_source, of_target, within, &o, error);
  if (status || p.n == 0)
    cq_free(p.items);
  else
    *out = p.items, *n = p.n;
  return status;
}

cq_status cq_margin_pairs(cq_mined_pair **out, size_t *n, const cq_neighbors *of_source, const cq_neighbors *of_target,
                          const cq_margin_options *options, cq_error *error) {
  return margin_pairs(out, n, of_source, of_target, false, options, error);
}

cq_status cq_margin_pairs_within(cq_mined_pair **out, size_t *n, const cq_neighbors *neighbors,
                                 const cq_margin_options *options, cq_error *error) {
  return margin_pairs(out, n, neighbors, neighbors, true, options, error);
}
