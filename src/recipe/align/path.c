/* Coarse to fine: bands, the dynamic program, and the beads that are worth encoding. See path.h. */
#include "recipe/align/path.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/random.h"
#include "tensor/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COARSEST = 256, RADIUS = 10, MAX_TYPES = CQ_ALIGN_MAX_GROUP * CQ_ALIGN_MAX_GROUP };
#define CHANCE         0.45F
#define NEXT           0.5F
#define NAMES          0.05F
#define LENGTH         0.6
#define SIZE           0.35
#define UNEVEN         0.02 /* less for a bead of different numbers of sentences */
#define BLOCK          0.2  /* less for each end of a block within a group */
#define ALONE          (-0.015)
#define MIN_DEVIATIONS 1   /* standard deviations above random pairs */
#define NEARLY         0.2 /* a path is nearly as good as the best when it scores that much less */

/* --- the band --- */

typedef cq_align_band band;

static void band_free(band *b) {
  cq_free(b->lo), cq_free(b->hi), cq_free(b->at);
  *b = (band){0};
}

static cq_status band_new(band *out, size_t n, size_t m, cq_error *error) {
  *out = (band){.n = n, .m = m};
  out->lo = cq_alloc_array(n + 1, sizeof *out->lo), out->hi = cq_alloc_array(n + 1, sizeof *out->hi);
  out->at = cq_alloc_array_zeroed(n + 2, sizeof *out->at);
  if (!out->lo || !out->hi || !out->at) return cq_fail_memory(error, "the band of an alignment");
  for (size_t i = 0; i <= n; i++) out->lo[i] = 0, out->hi[i] = m;
  return CQ_OK;
}

static void band_count(band *b) {
  for (size_t i = 0; i <= b->n; i++) b->at[i + 1] = b->at[i] + b->hi[i] - b->lo[i] + 1;
}

static bool band_has(const band *b, size_t i, size_t j) {
  return i <= b->n && j >= b->lo[i] && j <= b->hi[i];
}
static size_t cell_of(const band *b, size_t i, size_t j) {
  return b->at[i] + j - b->lo[i];
}

/* Nodes of a path, from (0, 0) to (n, m). */
typedef struct node {
  size_t i, j;
} node;

/* A band around a path of the level above, whose nodes are the means of two. */
static cq_status band_around(band *out, const node *path, size_t n_path, size_t n, size_t m, cq_error *error) {
  cq_status status = band_new(out, n, m, error);
  if (status) return status;
  for (size_t i = 0; i <= n; i++) out->lo[i] = m, out->hi[i] = 0;
  for (size_t p = 0; p < n_path; p++) {
    const size_t j = cq_min(2 * path[p].j, m), first = j > RADIUS ? j - RADIUS : 0, last = cq_min(j + RADIUS, m);
    for (size_t i = path[p].i ? 2 * path[p].i - 1 : 0; i <= cq_min(2 * path[p].i + 1, n); i++) {
      if (first < out->lo[i]) out->lo[i] = first;
      if (last > out->hi[i]) out->hi[i] = last;
    }
  }
  out->lo[0] = 0, out->hi[n] = m;
  for (size_t i = n; i-- > 0;)
    if (out->lo[i] > out->lo[i + 1]) out->lo[i] = out->lo[i + 1];
  for (size_t i = 1; i <= n; i++)
    if (out->hi[i] < out->hi[i - 1]) out->hi[i] = out->hi[i - 1];
  band_count(out);
  return CQ_OK;
}

/* --- the dynamic program --- */

typedef struct bead_type {
  uint8_t a, b;
} bead_type;

/* scores [cells, n_types]: of the bead of each type that ends at a node. */
typedef struct problem {
  band band;
  bead_type types[MAX_TYPES];
  size_t n_types;
  float *scores;
  double alone; /* the score of a sentence without a translation */
} problem;

static bool bead_begins(const problem *p, size_t i, size_t j, size_t t) {
  const bead_type k = p->types[t];
  return i >= k.a && j >= k.b && band_has(&p->band, i - k.a, j - k.b);
}

static cq_status allocate_scores(problem *p, cq_error *error) {
  p->scores = cq_alloc_array_zeroed(p->band.at[p->band.n + 1], p->n_types * sizeof *p->scores);
  return p->scores ? CQ_OK : cq_fail_memory(error, "the scores of an alignment");
}

static void problem_free(problem *p) {
  band_free(&p->band);
  cq_free(p->scores);
}

/* best [cells]: the score of the best path from (0, 0) to each node. */
static void run_forward(double *best, const problem *p) {
  const band *b = &p->band;
  for (size_t i = 0; i <= b->n; i++) {
    for (size_t j = b->lo[i]; j <= b->hi[i]; j++) {
      const size_t cell = cell_of(b, i, j);
      double top = i || j ? -INFINITY : 0;
      if (i && band_has(b, i - 1, j)) top = fmax(top, best[cell_of(b, i - 1, j)] + p->alone);
      if (j > b->lo[i]) top = fmax(top, best[cell - 1] + p->alone);
      for (size_t t = 0; t < p->n_types; t++)
        if (bead_begins(p, i, j, t))
          top = fmax(top, best[cell_of(b, i - p->types[t].a, j - p->types[t].b)] + p->scores[cell * p->n_types + t]);
      best[cell] = top;
    }
  }
}

/* The same from each node to (n, m). */
static void run_backward(double *best, const problem *p) {
  const band *b = &p->band;
  for (size_t cell = 0; cell < b->at[b->n + 1]; cell++) best[cell] = -INFINITY;
  best[cell_of(b, b->n, b->m)] = 0;
  for (size_t i = b->n + 1; i-- > 0;) {
    for (size_t j = b->hi[i] + 1; j-- > b->lo[i];) {
      const size_t cell = cell_of(b, i, j);
      const double here = best[cell];
      if (i && band_has(b, i - 1, j)) best[cell_of(b, i - 1, j)] = fmax(best[cell_of(b, i - 1, j)], here + p->alone);
      if (j > b->lo[i]) best[cell - 1] = fmax(best[cell - 1], here + p->alone);
      for (size_t t = 0; t < p->n_types; t++) {
        if (!bead_begins(p, i, j, t)) continue;
        double *before = &best[cell_of(b, i - p->types[t].a, j - p->types[t].b)];
        *before = fmax(*before, here + p->scores[cell * p->n_types + t]);
      }
    }
  }
}

/* The step of the best path that ends at a node: a type, or n_types for a source sentence alone, n_types + 1 for a
 * target sentence. Beads are preferred. */
static size_t step_to(const double *best, const problem *p, size_t i, size_t j) {
  const band *b = &p->band;
  const size_t cell = cell_of(b, i, j);
  for (size_t t = 0; t < p->n_types; t++)
    if (bead_begins(p, i, j, t) &&
        best[cell_of(b, i - p->types[t].a, j - p->types[t].b)] + p->scores[cell * p->n_types + t] >= best[cell])
      return t;
  return i && band_has(b, i - 1, j) && best[cell_of(b, i - 1, j)] + p->alone >= best[cell] ? p->n_types
                                                                                           : p->n_types + 1;
}

/* --- the levels --- */

/* Sentences' vectors, or means of the level below. */
typedef struct level {
  size_t n;
  float *vectors; /* [n, dim] */
} level;

static cq_status level_halved(level *out, const level *of, size_t dim, cq_error *error) {
  out->n = (of->n + 1) / 2;
  out->vectors = cq_alloc_array_zeroed(out->n, dim * sizeof *out->vectors);
  if (!out->vectors) return cq_fail_memory(error, "the levels of an alignment");
  for (size_t i = 0; i < of->n; i++)
    for (size_t j = 0; j < dim; j++) out->vectors[i / 2 * dim + j] += of->vectors[i * dim + j];
  for (size_t i = 0; i < out->n; i++) cq_align_unit(out->vectors + i * dim, dim);
  return CQ_OK;
}

static cq_status level_of_sentences(level *out, const cq_align_side *s, cq_error *error) {
  *out = (level){s->n, cq_alloc_array(s->n, s->dim * sizeof(float))};
  if (!out->vectors) return cq_fail_memory(error, "the levels of an alignment");
  for (size_t i = 0; i < s->n; i++)
    memcpy(out->vectors + i * s->dim, cq_align_group(s, i + 1, 1), s->dim * sizeof(float));
  return CQ_OK;
}

/* The mean cosine of each vector to the other side's: that to their mean. */
static void chances_of(float *out, const level *x, const level *y, float *mean, size_t dim) {
  for (size_t j = 0; j < dim; j++) mean[j] = 0;
  for (size_t i = 0; i < y->n * dim; i++) mean[i % dim] += y->vectors[i] / (float)y->n;
  for (size_t i = 0; i < x->n; i++) out[i] = cq_kernels_best()->dot(x->vectors + i * dim, mean, (int64_t)dim);
}

/* Scores of one to one: how much the cosine is above chance. */
static cq_status score_level(problem *p, const level l[2], size_t dim, cq_error *error) {
  const cq_kernels *kernels = cq_kernels_best();
  float *chance[2] = {cq_alloc_array(l[0].n, sizeof(float)), cq_alloc_array(l[1].n, sizeof(float))};
  float *mean = cq_alloc_array(dim, sizeof *mean);
  cq_status status = chance[0] && chance[1] && mean ? CQ_OK : cq_fail_memory(error, "the levels of an alignment");
  p->types[0] = (bead_type){1, 1}, p->n_types = 1;
  if (!status) status = allocate_scores(p, error);
  if (!status) {
    for (int side = 0; side < 2; side++) chances_of(chance[side], &l[side], &l[1 - side], mean, dim);
    for (size_t i = 1; i <= p->band.n; i++)
      for (size_t j = p->band.lo[i] ? p->band.lo[i] : 1; j <= p->band.hi[i]; j++)
        p->scores[cell_of(&p->band, i, j)] =
            kernels->dot(l[0].vectors + (i - 1) * dim, l[1].vectors + (j - 1) * dim, (int64_t)dim) -
            (chance[0][i - 1] + chance[1][j - 1]) / 2;
  }
  cq_free(chance[0]), cq_free(chance[1]), cq_free(mean);
  return status;
}

/* The path's nodes, first to last. */
static cq_status trace(node **out, size_t *n, const problem *p, cq_error *error) {
  const band *b = &p->band;
  double *best = cq_alloc_array(b->at[b->n + 1], sizeof *best);
  node *nodes = cq_alloc_array(b->n + b->m + 1, sizeof *nodes), at = {b->n, b->m};
  *out = NULL, *n = 0;
  cq_status status = best && nodes ? CQ_OK : cq_fail_memory(error, "the path of an alignment");
  if (!status) {
    run_forward(best, p);
    for (size_t k = 0;; k++) {
      nodes[k] = at, *n = k + 1;
      if (!at.i && !at.j) break;
      const size_t t = step_to(best, p, at.i, at.j);
      at.i -= t < p->n_types ? p->types[t].a : t == p->n_types;
      at.j -= t < p->n_types ? p->types[t].b : t > p->n_types;
    }
    for (size_t k = 0; k < *n / 2; k++) {
      const node swapped = nodes[k];
      nodes[k] = nodes[*n - 1 - k], nodes[*n - 1 - k] = swapped;
    }
    *out = nodes, nodes = NULL;
  }
  cq_free(best), cq_free(nodes);
  return status;
}

/* The band of a level, from the paths of those above it. */
static cq_status find_band(band *out, const level l[2], size_t dim, cq_error *error) {
  level above[2] = {{0}};
  problem p = {0};
  node *path = NULL;
  size_t n_path;
  if (l[0].n <= COARSEST && l[1].n <= COARSEST) {
    cq_status status = band_new(out, l[0].n, l[1].n, error);
    if (!status) band_count(out);
    return status;
  }
  cq_status status = level_halved(&above[0], &l[0], dim, error);
  if (!status) status = level_halved(&above[1], &l[1], dim, error);
  if (!status) status = find_band(&p.band, above, dim, error);
  if (!status) status = score_level(&p, above, dim, error);
  if (!status) status = trace(&path, &n_path, &p, error);
  if (!status) status = band_around(out, path, n_path, l[0].n, l[1].n, error);
  cq_free(above[0].vectors), cq_free(above[1].vectors), cq_free(path);
  problem_free(&p);
  return status;
}

/* --- the beads --- */

/* singles [cells, 2 * max_group]: the cosine of the group of a source sentences that ends at a node with the target
 * sentence that ends there, at a - 1; that of b target sentences with the source sentence, at max_group + b - 1. */
typedef struct scoring {
  const cq_align_side *x, *y;
  problem *p;
  float *singles;
  const float *word_weights;
  double scale; /* of the source's lengths */
} scoring;

static float group_cosine(const scoring *s, size_t i, size_t a, size_t j, size_t b) {
  return cq_kernels_best()->dot(cq_align_group(s->x, i, a), cq_align_group(s->y, j, b), (int64_t)s->x->dim);
}

/* Whether one of the sentences from `first` to before `end` has a word. */
static bool has_word(const cq_align_side *s, size_t first, size_t end, uint32_t word) {
  for (size_t i = s->word_starts[first]; i < s->word_starts[end]; i++)
    if (s->words[i] == word) return true;
  return false;
}

/* The weight of the distinct words that two groups have in common. */
static float shared_weight(const scoring *s, size_t i, size_t a, size_t j, size_t b) {
  const cq_align_side *x = s->x, *y = s->y;
  float sum = 0;
  if (!x->word_starts || !y->word_starts || y->word_starts[j - b] == y->word_starts[j]) return 0;
  for (size_t k = i - a; k < i; k++)
    for (size_t u = x->word_starts[k]; u < x->word_starts[k + 1]; u++)
      if (has_word(y, j - b, j, x->words[u]) && !has_word(x, i - a, k, x->words[u]))
        sum += s->word_weights[x->words[u]];
  return sum;
}

static void score_singles(void *context, size_t item, int worker) {
  const scoring *s = context;
  const band *b = &s->p->band;
  const size_t i = item + 1, max = s->x->max_group;
  (void)worker;
  for (size_t j = b->lo[i] ? b->lo[i] : 1; j <= b->hi[i]; j++) {
    const size_t cell = cell_of(b, i, j);
    float *of = s->singles + cell * 2 * max;
    for (size_t k = 1; k <= max; k++) {
      of[k - 1] = k <= i ? group_cosine(s, i, k, j, 1) : 0;
      of[max + k - 1] = k == 1 ? of[0] : k <= j ? group_cosine(s, i, 1, j, k) : 0;
    }
  }
}

/* Cosines with single sentences; 0 where there is no such sentence. */
static float with_target(const scoring *s, size_t i, size_t a, size_t j) {
  if (j == 0 || j > s->y->n) return NAN;
  return band_has(&s->p->band, i, j) ? s->singles[cell_of(&s->p->band, i, j) * 2 * s->x->max_group + a - 1]
                                     : group_cosine(s, i, a, j, 1);
}
static float with_source(const scoring *s, size_t i, size_t j, size_t b) {
  if (i == 0 || i > s->x->n) return NAN;
  return band_has(&s->p->band, i, j)
             ? s->singles[cell_of(&s->p->band, i, j) * 2 * s->x->max_group + s->x->max_group + b - 1]
             : group_cosine(s, i, 1, j, b);
}

/* The mean of those that are numbers. */
static float mean_of(float a, float b) {
  if (isnan(a) || isnan(b)) return isnan(a) ? (isnan(b) ? 0 : b) : a;
  return (a + b) / 2;
}

static float cosine_at(const scoring *s, size_t i, size_t a, size_t j, size_t b) {
  if (b == 1) return with_target(s, i, a, j);
  return a == 1 ? with_source(s, i, j, b) : group_cosine(s, i, a, j, b);
}

/* Ends of blocks between n sentences before `end`. */
static uint32_t blocks_within(const cq_align_side *s, size_t end, size_t n) {
  return s->blocks ? s->blocks[end - 1] - s->blocks[end - n] : 0;
}

static float score_bead(const scoring *s, size_t i, size_t j, bead_type type) {
  const size_t a = type.a, b = type.b, max = s->x->max_group;
  const float next = (mean_of(with_target(s, i, a, j - b), with_target(s, i, a, j + 1)) +
                      mean_of(with_source(s, i - a, j, b), with_source(s, i + 1, j, b))) /
                     2;
  const float chance = (s->x->chance[(i - 1) * max + a - 1] + s->y->chance[(j - 1) * max + b - 1]) / 2;
  const double source = 1 + s->scale * (s->x->begins[i] - s->x->begins[i - a]);
  const double target = 1 + s->y->begins[j] - s->y->begins[j - b];
  const float above = cosine_at(s, i, a, j, b) - CHANCE * chance - NEXT * next + NAMES * shared_weight(s, i, a, j, b);
  return (float)(above * pow(log2(1 + fmin(source, target) / fmax(source, target)), LENGTH) *
                     pow((double)(a + b) / 2, SIZE) -
                 (a == b ? 0 : UNEVEN) - BLOCK * (blocks_within(s->x, i, a) + blocks_within(s->y, j, b)));
}

static void score_row(void *context, size_t item, int worker) {
  const scoring *s = context;
  const problem *p = s->p;
  const size_t i = item + 1;
  (void)worker;
  for (size_t j = p->band.lo[i]; j <= p->band.hi[i]; j++)
    for (size_t t = 0; t < p->n_types; t++)
      if (bead_begins(p, i, j, t))
        p->scores[cell_of(&p->band, i, j) * p->n_types + t] = score_bead(s, i, j, p->types[t]);
}

static void score_beads(scoring *s, cq_context *ctx) {
  cq_context_run(ctx, s->x->n, score_singles, s);
  cq_context_run(ctx, s->x->n, score_row, s);
}

/* Marks the groups of the beads on paths that are nearly as good as the best. */
static cq_status mark_wanted(uint8_t *const wanted[2], const problem *p, size_t max, cq_error *error) {
  const band *b = &p->band;
  const size_t n_cells = b->at[b->n + 1];
  double *to = cq_alloc_array(n_cells, sizeof *to), *from = cq_alloc_array(n_cells, sizeof *from);
  cq_status status = to && from ? CQ_OK : cq_fail_memory(error, "the paths of an alignment");
  if (!status) run_forward(to, p), run_backward(from, p);
  for (size_t i = 1; !status && i <= b->n; i++) {
    for (size_t j = b->lo[i]; j <= b->hi[i]; j++) {
      const size_t cell = cell_of(b, i, j);
      for (size_t t = 0; t < p->n_types; t++) {
        const bead_type k = p->types[t];
        if (!bead_begins(p, i, j, t) ||
            to[cell_of(b, i - k.a, j - k.b)] + p->scores[cell * p->n_types + t] + from[cell] < to[n_cells - 1] - NEARLY)
          continue;
        wanted[0][(i - 1) * max + k.a - 1] |= k.a > 1;
        wanted[1][(j - 1) * max + k.b - 1] |= k.b > 1;
      }
    }
  }
  cq_free(to), cq_free(from);
  return status;
}

/* 1-1, 1-2, ... at most max sentences on a side and max + 2 in all. */
static void set_types(problem *p, size_t max) {
  p->n_types = 0, p->alone = ALONE;
  for (size_t a = 1; a <= max; a++)
    for (size_t b = 1; b <= max && a + b <= max + 2; b++) p->types[p->n_types++] = (bead_type){(uint8_t)a, (uint8_t)b};
}

/* What users see: 0 for the cosine of chance, 1 for equal vectors. */
static double visible_score(const scoring *s, size_t i, size_t a, size_t j, size_t b) {
  const size_t max = s->x->max_group;
  const double chance = (s->x->chance[(i - 1) * max + a - 1] + s->y->chance[(j - 1) * max + b - 1]) / 2;
  return chance < 1 ? ((double)group_cosine(s, i, a, j, b) - chance) / (1 - chance) : 0;
}

/* The score that a bead needs: most pairs that are no translations stay below it. Some random pairs are translations,
 * more in short documents, but not in the lower half, which gives mean and deviation. */
static double least_score(const scoring *s) {
  enum { PAIRS = 2000 };
  double scores[PAIRS];
  cq_random r = cq_random_seeded(1, 0);
  if (s->x->n < 2 || s->y->n < 2) return -INFINITY; /* there is nothing to compare with */
  for (size_t k = 0; k < PAIRS; k++) {
    const size_t i = (size_t)cq_random_below(&r, s->x->n) + 1;
    scores[k] = visible_score(s, i, 1, (size_t)cq_random_below(&r, s->y->n) + 1, 1);
  }
  qsort(scores, PAIRS, sizeof *scores, cq_order_doubles);
  const double middle = scores[PAIRS / 2], deviation = middle - scores[(size_t)(0.16 * PAIRS)];
  return middle + MIN_DEVIATIONS * deviation;
}

static void put_alone(cq_bead *beads, size_t *n, node from, node to) {
  for (size_t i = from.i; i < to.i; i++)
    beads[(*n)++] = (cq_bead){.source = (uint32_t)i, .n_source = 1, .target = (uint32_t)from.j};
  for (size_t j = from.j; j < to.j; j++)
    beads[(*n)++] = (cq_bead){.source = (uint32_t)to.i, .target = (uint32_t)j, .n_target = 1};
}

static cq_status read_beads(cq_bead **out, size_t *n, const scoring *s, cq_error *error) {
  const double least = least_score(s);
  node *path;
  size_t n_path;
  *out = NULL, *n = 0;
  cq_status status = trace(&path, &n_path, s->p, error);
  cq_bead *beads = status ? NULL : cq_alloc_array(s->x->n + s->y->n, sizeof *beads);
  if (!status && !beads) status = cq_fail_memory(error, "beads");
  for (size_t k = 1; !status && k < n_path; k++) {
    const node from = path[k - 1], to = path[k];
    const size_t a = to.i - from.i, b = to.j - from.j;
    const double score = a && b ? visible_score(s, to.i, a, to.j, b) : -INFINITY;
    if (score < least || !a || !b)
      put_alone(beads, n, from, to);
    else
      beads[(*n)++] = (cq_bead){(uint32_t)from.i, (uint32_t)a, (uint32_t)from.j, (uint32_t)b, score};
  }
  *out = beads;
  cq_free(path);
  return status;
}

static void scoring_close(scoring *s) {
  cq_free(s->singles), cq_free(s->p->scores);
}

/* Scores the beads within a band. */
static cq_status scoring_open(scoring *s, problem *p, const cq_align_band *b, cq_align_side sides[2],
                              const float *word_weights, cq_context *ctx, cq_error *error) {
  const size_t max = sides[0].max_group;
  const double length = sides[0].begins[sides[0].n];
  *p = (problem){.band = *b};
  *s = (scoring){.x = &sides[0], .y = &sides[1], .p = p, .word_weights = word_weights};
  s->scale = length > 0 ? sides[1].begins[sides[1].n] / length : 1;
  set_types(p, max);
  cq_status status = allocate_scores(p, error);
  s->singles = cq_alloc_array_zeroed(b->at[b->n + 1], 2 * max * sizeof *s->singles);
  if (!status && !s->singles) status = cq_fail_memory(error, "the cosines of an alignment");
  if (!status) status = cq_align_set_chance(sides, error);
  if (!status) score_beads(s, ctx);
  return status;
}

cq_status cq_align_plan_make(cq_align_plan *out, cq_align_side sides[2], const float *word_weights, cq_context *ctx,
                             cq_error *error) {
  level sentences[2] = {{0}};
  problem p;
  scoring s;
  *out = (cq_align_plan){.band = {.n = 0}};
  cq_status status = level_of_sentences(&sentences[0], &sides[0], error);
  if (!status) status = level_of_sentences(&sentences[1], &sides[1], error);
  if (!status) status = find_band(&out->band, sentences, sides[0].dim, error);
  cq_free(sentences[0].vectors), cq_free(sentences[1].vectors);
  for (int side = 0; !status && side < 2; side++)
    if (!(out->wanted[side] = cq_alloc_zeroed(sides[side].n * sides[side].max_group)))
      status = cq_fail_memory(error, "the groups of an alignment");
  if (status) return status;
  status = scoring_open(&s, &p, &out->band, sides, word_weights, ctx, error);
  if (!status) status = mark_wanted(out->wanted, &p, sides[0].max_group, error);
  scoring_close(&s);
  return status;
}

void cq_align_plan_free(cq_align_plan *plan) {
  band_free(&plan->band);
  cq_free(plan->wanted[0]), cq_free(plan->wanted[1]);
}

cq_status cq_align_path(cq_bead **out, size_t *n, const cq_align_plan *plan, cq_align_side sides[2],
                        const float *word_weights, cq_context *ctx, cq_error *error) {
  problem p;
  scoring s;
  *out = NULL, *n = 0;
  cq_status status = scoring_open(&s, &p, &plan->band, sides, word_weights, ctx, error);
  if (!status) status = read_beads(out, n, &s, error);
  scoring_close(&s);
  return status;
}
