/* Times the alignment of two documents, without encoding, and says how many beads it found again.
 *
 *   bench_align [SENTENCES [DIM [THREADS]]]       20000 384 2
 *
 * Translations have a cosine of about 0.7, unrelated sentences one of about 0.3. 80 % of the beads are one to one, 12 % one
 * to two or two to one, 2 % two to two, and 6 % a sentence without a translation; in the middle, a twentieth of the source
 * is missing. The sides of a bead of several sentences are means. Prints seconds, memory, precision and recall. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "must.h"
#include "recipe/align/path.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>

typedef struct documents {
  cq_align_side sides[2];
  cq_bead *gold;
  size_t n_gold;
} documents;

static void put_sentence(cq_align_side *s, size_t i, const float *meaning, double length, const float *common,
                         cq_random *r) {
  float *x = cq_align_group(s, i + 1, 1);
  for (size_t j = 0; j < s->dim; j++)
    x[j] = 0.55F * common[j] + 0.75F * meaning[j] + 0.55F * (float)(cq_random_normal(r) / sqrt((double)s->dim));
  cq_align_unit(x, s->dim);
  s->begins[i + 1] = s->begins[i] + length * (0.8 + 0.4 * cq_random_uniform(r));
}

static void draw(float *x, size_t dim, cq_random *r) {
  for (size_t j = 0; j < dim; j++) x[j] = (float)(cq_random_normal(r) / sqrt((double)dim));
}

/* Meanings of a bead: the shorter side has the mean of the longer one's. */
static void put_bead(documents *d, size_t at[2], size_t a, size_t b, const float *common, float *room, cq_random *r) {
  const size_t dim = d->sides[0].dim, most = a > b ? a : b, n[2] = {a, b};
  float *mean = room + 4 * dim;
  memset(mean, 0, dim * sizeof *mean);
  for (size_t k = 0; k < most; k++) {
    draw(room + k * dim, dim, r);
    for (size_t j = 0; j < dim; j++) mean[j] += room[k * dim + j] / (float)sqrt((double)most);
  }
  for (int side = 0; side < 2; side++)
    for (size_t k = 0; k < n[side]; k++)
      put_sentence(&d->sides[side], at[side] + k, n[side] == most ? room + k * dim : mean,
                   80 * (double)most / (double)n[side], common, r);
  if (a && b) d->gold[d->n_gold++] = (cq_bead){(uint32_t)at[0], (uint32_t)a, (uint32_t)at[1], (uint32_t)b, 0};
  at[0] += a, at[1] += b;
}

static void generate(documents *d, size_t n, size_t dim, size_t max) {
  cq_error error = {0};
  cq_random r = cq_random_seeded(1, 0);
  float *common = must(cq_alloc_array(dim, sizeof *common)), *room = must(cq_alloc_array(5 * dim, sizeof *room));
  d->gold = must(cq_alloc_array(n, sizeof *d->gold));
  for (int side = 0; side < 2; side++)
    if (cq_align_side_new(&d->sides[side], n + 4, dim, max, &error)) die(error.message);
  draw(common, dim, &r);
  size_t at[2] = {0, 0};
  while (at[0] < n && at[1] < n) {
    const double u = cq_random_uniform(&r);
    if (at[0] > n / 2 && at[0] < n / 2 + n / 20)
      put_bead(d, at, 1, 0, common, room, &r);
    else if (u < 0.80)
      put_bead(d, at, 1, 1, common, room, &r);
    else if (u < 0.92)
      put_bead(d, at, u < 0.86 ? 1 : 2, u < 0.86 ? 2 : 1, common, room, &r);
    else if (u < 0.94)
      put_bead(d, at, 2, 2, common, room, &r);
    else
      put_bead(d, at, u < 0.97, u >= 0.97, common, room, &r);
  }
  for (int side = 0; side < 2; side++) d->sides[side].n = at[side];
  cq_free(common), cq_free(room);
}

static bool same(const cq_bead *a, const cq_bead *b) {
  return a->source == b->source && a->n_source == b->n_source && a->target == b->target && a->n_target == b->n_target;
}

int main(int argc, char **argv) {
  const size_t n = argc > 1 ? (size_t)atol(argv[1]) : 20000, dim = argc > 2 ? (size_t)atol(argv[2]) : 384;
  cq_error error = {0};
  cq_context *ctx;
  documents d = {.n_gold = 0};
  cq_align_plan plan;
  cq_bead *beads;
  size_t n_beads, n_found = 0, n_pairs = 0;
  struct rusage use;
  if (cq_context_open(&ctx, argc > 3 ? atoi(argv[3]) : 2, &error)) die(error.message);
  generate(&d, n, dim, 5);
  const double start = cq_seconds(CLOCK_MONOTONIC);
  for (int side = 0; side < 2; side++) cq_align_side_join(&d.sides[side]);
  if (cq_align_plan_make(&plan, d.sides, NULL, ctx, &error) ||
      cq_align_path(&beads, &n_beads, &plan, d.sides, NULL, ctx, &error))
    die(error.message);
  const double seconds = cq_seconds(CLOCK_MONOTONIC) - start;
  for (size_t i = 0, g = 0; i < n_beads; i++) {
    if (!beads[i].n_source || !beads[i].n_target) continue;
    n_pairs++;
    while (g < d.n_gold && d.gold[g].source < beads[i].source) g++;
    n_found += g < d.n_gold && same(&beads[i], &d.gold[g]);
  }
  getrusage(RUSAGE_SELF, &use);
  printf("%zu x %zu sentences: %.1f s, %ld MB at most, precision %.3f, recall %.3f\n", d.sides[0].n, d.sides[1].n,
         seconds, use.ru_maxrss >> 10, (double)n_found / (double)n_pairs, (double)n_found / (double)d.n_gold);
  cq_free(beads), cq_free(d.gold);
  cq_align_plan_free(&plan);
  cq_align_side_free(&d.sides[0]), cq_align_side_free(&d.sides[1]);
  cq_context_free(ctx);
  return 0;
}
