/* Approximate mining at size: time by stage, memory, how much is found, and what 10 million x 10 million would take.
 *
 *   bench_mine_approximate X.npy Y.npy [PAIRS [THREADS [LISTS [EFFORT]]]]      vectors of sentences
 *   bench_mine_approximate N [DIM [THREADS [LISTS [EFFORT]]]]                  N x N generated ones, 384
 *
 * The first PAIRS rows of both files are translations (all); of generated rows, half are. A generated row lies between a
 * leaf of a tree of topics and a place of its own, in dimensions whose sizes fall as a power; some translations are
 * nearer than others. Its neighbors are those of real sentences (in brackets, translations by calque-small): mean
 * cosines of random rows 0.06 (0.07), of the 4 nearest of 50,000 0.62 (0.61) and of 400,000 0.69 (0.68), of translations
 * 0.68 (0.67); of 2,000 translations of 50,000, 1,122 (993) are each other's nearest. More lists are needed than for real
 * ones: 72 of 447 (45) at 50,000, 165 of 1,264 (80) at 400,000; 111 of 2,000 at a million.
 *
 * Found of the search's own sample: pairs that are each other's nearest. Found of the exact pairs: of 2,000 translations
 * those that are each other's nearest by the exact search, and how many of them are among the pairs mined.
 * Seconds are those of all processors: two idle ones take half. */
#include "base/clock.h"
#include "base/context.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "calque/mine.h"
#include "format/matrix.h"
#include "must.h"
#include "search/nearest_approximate.h"
#include "tensor/kernels.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>

enum { SAMPLE = 2000, K = 4 };
#define FALL   (-0.55) /* of the spectrum */
#define COMMON 0.06    /* of the meanings' variance: what all rows share */
#define NOISE  1.05    /* of a translation: the median, and the deviation of its logarithm */
#define SPREAD 0.45
enum { LEVELS = 8, BRANCHES = 8 };
static const double levels[LEVELS] = {2, 2, 2, 1, 1, 1, 1, 1}; /* variance of a node of the tree of topics */
#define LEAST_TOPIC 0.68                                       /* share of the topics in a row's variance, to 1 */

typedef struct bench {
  const float *x, *y;
  size_t n_x, n_y, dim, n_pairs;
  cq_context *ctx;
} bench;

/* --- generated vectors --- */

/* Mixes the numbers of each stride of three by Hadamard's matrix, so that all have the same size. */
static void mix(float *x, size_t dim) {
  const size_t part = dim / 3;
  for (size_t stride = 3; stride < 3 * part; stride *= 2)
    for (size_t i = 0; i < 3 * part; i++)
      if (i / stride % 2 == 0 && i + stride < 3 * part) {
        const float a = x[i], b = x[i + stride];
        x[i] = a + b, x[i + stride] = a - b;
      }
}

typedef struct generator {
  float *x, *y;
  size_t n, dim;
  double *sizes, common; /* [dim] of the numbers; of what all rows share */
} generator;

/* A row between its topic, a path from the root to a leaf, and what is its own. */
static void draw_meaning(float *out, const generator *g, cq_random *r) {
  const double place = cq_random_uniform(r), of_topic = LEAST_TOPIC + (1 - LEAST_TOPIC) * cq_random_uniform(r);
  cq_random nodes[LEVELS];
  uint64_t n_nodes = 1;
  double total = 0, shares[LEVELS];
  for (int l = 0; l < LEVELS; l++) total += levels[l];
  for (int l = 0; l < LEVELS; l++) {
    n_nodes *= BRANCHES, shares[l] = sqrt(levels[l] / total);
    nodes[l] = cq_random_seeded(2 + (uint64_t)l, (uint64_t)(place * (double)n_nodes));
  }
  for (size_t j = 0; j < g->dim; j++) {
    double topic = 0;
    for (int l = 0; l < LEVELS; l++) topic += shares[l] * cq_random_normal(&nodes[l]);
    out[j] = (float)(g->sizes[j] * (sqrt(of_topic) * topic + sqrt(1 - of_topic) * cq_random_normal(r)));
  }
}

static void generate_row(void *context, size_t row, int worker) {
  const generator *g = context;
  cq_random r = cq_random_seeded(1, row);
  float *x = g->x + row * g->dim, *y = g->y + row * g->dim;
  (void)worker;
  draw_meaning(x, g, &r);
  const double noise = NOISE * exp(SPREAD * cq_random_normal(&r));
  if (row < g->n / 2)
    for (size_t j = 0; j < g->dim; j++) y[j] = x[j] + (float)(noise * g->sizes[j] * cq_random_normal(&r));
  else
    draw_meaning(y, g, &r);
  x[0] += (float)g->common, y[0] += (float)g->common;
  mix(x, g->dim), mix(y, g->dim);
}

static void generate(bench *b, size_t n, size_t dim) {
  generator g = {must(cq_alloc_array(n, dim * sizeof(float))),
                 must(cq_alloc_array(n, dim * sizeof(float))),
                 n,
                 dim,
                 must(cq_alloc_array(dim, sizeof(double))),
                 0};
  for (size_t j = 0; j < dim; j++) g.sizes[j] = pow((double)j + 4, FALL), g.common += COMMON * g.sizes[j] * g.sizes[j];
  g.common = sqrt(g.common);
  cq_context_run(b->ctx, n, generate_row, &g);
  cq_free(g.sizes);
  *b = (bench){g.x, g.y, n, n, dim, n / 2, b->ctx};
}

/* --- how much is found --- */

static double cosine_of(const bench *b, size_t i, size_t j) {
  const cq_kernels *kernels = cq_kernels_best();
  const float *x = b->x + i * b->dim, *y = b->y + j * b->dim;
  const int64_t dim = (int64_t)b->dim;
  return kernels->exact_dot(x, y, dim) / sqrt(kernels->exact_dot(x, x, dim) * kernels->exact_dot(y, y, dim));
}

static void exact_of(cq_neighbors *out, const bench *b, const uint32_t *rows, size_t n, bool backward) {
  cq_nearest_options o = cq_nearest_default_options();
  cq_error error = {0};
  o.k = K, o.x_rows = rows, o.first_pass = CQ_FIRST_INT8;
  if (cq_nearest(out, NULL, backward ? b->y : b->x, n, backward ? b->x : b->y, backward ? b->n_x : b->n_y, b->dim, &o,
                 b->ctx, &error))
    die(error.message);
}

/* Of translations that are each other's nearest, the share among the pairs. */
static void tell_found(const bench *b, const cq_mined_pair *pairs, size_t n) {
  const size_t n_sample = b->n_pairs < SAMPLE ? b->n_pairs : SAMPLE;
  uint32_t *rows = must(cq_alloc_array(n_sample, sizeof *rows));
  uint8_t *is_mined = must(cq_alloc_zeroed(b->n_pairs));
  cq_neighbors of_x, of_y;
  size_t n_mutual = 0, n_found = 0, n_gold = 0;
  double nearest = 0, translation = 0, random = 0;
  for (size_t i = 0; i < n; i++)
    if (pairs[i].source == pairs[i].target && pairs[i].source < b->n_pairs) is_mined[pairs[i].source] = 1, n_gold++;
  for (size_t i = 0; i < n_sample; i++) rows[i] = (uint32_t)(i * b->n_pairs / n_sample);
  exact_of(&of_x, b, rows, n_sample, false), exact_of(&of_y, b, rows, n_sample, true);
  for (size_t i = 0; i < n_sample; i++) {
    const bool mutual = of_x.index[i * K] == rows[i] && of_y.index[i * K] == rows[i];
    n_mutual += mutual, n_found += mutual && is_mined[rows[i]];
    nearest += of_x.cosine[i * K + K - 1], translation += cosine_of(b, rows[i], rows[i]);
    random += cosine_of(b, rows[i], rows[(i + n_sample / 2) % n_sample]);
  }
  const double m = (double)n_sample;
  printf("cosines: random %.3f, %d nearest %.3f, translations %.3f\n", random / m, K, nearest / m, translation / m);
  printf("found: %.2f %% of %zu exact pairs; %.2f %% of all translations\n", 100 * (double)n_found / (double)n_mutual,
         n_mutual, 100 * (double)n_gold / (double)b->n_pairs);
  cq_neighbors_free(&of_x), cq_neighbors_free(&of_y);
  cq_free(rows), cq_free(is_mined);
}

int main(int argc, char **argv) {
  cq_error error = {0};
  const bool has_files = argc > 2 && !strspn(argv[1], "0123456789");
  const int at = has_files ? 3 : 2;
  if (argc < 2) return fprintf(stderr, "usage: bench_mine_approximate X.npy Y.npy [PAIRS] | N [DIM] ...\n"), 2;
  const size_t first = argc > at ? (size_t)atol(argv[at]) : 0;
  bench b = {0};
  cq_matrix files[2];
  if (cq_context_open(&b.ctx, argc > at + 1 ? atoi(argv[at + 1]) : 2, &error)) die(error.message);
  if (has_files) {
    for (int side = 0; side < 2; side++)
      if (cq_matrix_open(&files[side], argv[1 + side], 0, &error)) die(error.message);
    b = (bench){files[0].data, files[1].data, files[0].n, files[1].n, files[0].dim, first ? first : files[0].n, b.ctx};
  } else {
    generate(&b, (size_t)atol(argv[1]), first ? first : 384);
  }
  const double before = cq_seconds(CLOCK_PROCESS_CPUTIME_ID), start = cq_seconds(CLOCK_MONOTONIC);
  cq_nearest_approximate_options o = {.k = K, .file = "mine_approximate.tmp"};
  o.n_lists = argc > at + 2 ? (size_t)atol(argv[at + 2]) : 0, o.effort = argc > at + 3 ? (size_t)atol(argv[at + 3]) : 0;
  cq_nearest_approximate_report r;
  cq_neighbors of_x, of_y;
  cq_mined_pair *pairs;
  size_t n_pairs;
  struct rusage use;
  if (cq_nearest_approximate(&of_x, &of_y, &r, b.x, b.n_x, b.y, b.n_y, b.dim, &o, b.ctx, &error)) die(error.message);
  const double searched = cq_seconds(CLOCK_PROCESS_CPUTIME_ID);
  if (cq_margin_pairs(&pairs, &n_pairs, &of_x, &of_y, NULL, &error)) die(error.message);
  const double end = cq_seconds(CLOCK_PROCESS_CPUTIME_ID);
  getrusage(RUSAGE_SELF, &use);
  printf("%zu x %zu, %zu dimensions: %zu of %zu lists, %.2f %% of all pairs compared\n", b.n_x, b.n_y, b.dim, r.effort,
         r.n_lists, 100 * r.compared);
  printf(
      "seconds of all processors: %.0f training, %.0f assigning, %.0f exact sample, %.0f searching, %.0f margins; %.0f "
      "in all, %.0f by the clock\n",
      r.train_s, r.assign_s, r.sample_s, r.search_s, end - searched, end - before, cq_seconds(CLOCK_MONOTONIC) - start);
  printf("comparing: %.0f billion products a second and processor\n",
         r.compared * (double)b.n_x * (double)b.n_y * (double)b.dim / r.search_s / 1e9);
  printf("memory: %ld MB at most, vectors included\n", use.ru_maxrss >> 10);
  printf("found: %.2f %% of the search's own sample\n", 100 * r.recall);
  tell_found(&b, pairs, n_pairs);
  cq_free(pairs);
  cq_neighbors_free(&of_x), cq_neighbors_free(&of_y);
  cq_context_free(b.ctx);
  return 0;
}
