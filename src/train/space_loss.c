#include "train/space_loss.h"

#include "base/error.h"

#include <math.h>
#include <string.h>

/* Adds factor (a - b) to da and takes it from db, unless that is NULL. Returns |a - b|^2. */
static double pull(float *da, float *db, const float *a, const float *b, double factor, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    const double difference = (double)a[i] - (double)b[i];
    sum += difference * difference;
    da[i] += (float)(factor * difference);
    if (db) db[i] -= (float)(factor * difference);
  }
  return sum;
}

/* --- distances --- */

double cq_space_distance(const cq_space *s, double weight) {
  const double n = (double)s->n;
  return pull(s->gradients[0], s->gradients[1], s->vectors[0], s->vectors[1], 2 * weight / n, s->n * s->dim) / n;
}

double cq_space_distillation(const cq_space *s, int side, const float *targets, double weight) {
  const double n = (double)s->n;
  return pull(s->gradients[side], NULL, s->vectors[side], targets, 2 * weight / n, s->n * s->dim) / n;
}

double cq_space_pairs(const cq_space *s, double margin, double weight) {
  const double scale = weight / (double)s->n;
  double sum = 0;
  for (int64_t i = 0; i < s->n; i++) {
    const int64_t mine = i * s->dim, other = (i + 1) % s->n * s->dim;
    const float *x = s->vectors[0] + mine, *y = s->vectors[1] + other;
    sum += pull(s->gradients[0] + mine, s->gradients[1] + mine, x, s->vectors[1] + mine, 2 * scale, s->dim);
    if (s->n == 1) break; /* no other */
    double squares = 0;
    for (int64_t j = 0; j < s->dim; j++) squares += ((double)x[j] - (double)y[j]) * ((double)x[j] - (double)y[j]);
    const double d = sqrt(squares), lack = margin - d;
    if (lack <= 0) continue;
    sum += lack * lack;
    if (d > 1e-12) pull(s->gradients[0] + mine, s->gradients[1] + other, x, y, -2 * lack / d * scale, s->dim);
  }
  return sum / (double)s->n;
}

/* --- the softmax over a batch --- */

enum { BLOCK_ROWS = 64 };

typedef struct in_batch {
  const cq_space *space;
  const cq_kernels *kernels;
  int64_t n_blocks;
  double temperature, scale; /* scale: of the gradient of a similarity over the temperature */
  float *units[2];           /* [n, dim] the vectors, at length 1 */
  float *lengths[2];         /* [n] that they had */
  float *columns[2];         /* the same, packed as the right side of units units^T */
  float *rows[2];            /* and of weights units */
  double *log_sums[2];       /* [n] log of the softmax's denominator, of a row */
  double *own;               /* [n] a pair's similarity over the temperature */
  float *blocks;             /* [workers][BLOCK_ROWS, n + dim] */
} in_batch;

static void make_units(void *context, size_t side, int worker) {
  const in_batch *b = context;
  const cq_space *s = b->space;
  (void)worker;
  b->kernels->normalize(b->units[side], b->lengths[side], s->vectors[side], s->n, s->dim);
  b->kernels->pack(b->columns[side], b->units[side], 1, s->dim, s->dim, s->n);
  b->kernels->pack(b->rows[side], b->units[side], s->dim, 1, s->n, s->dim);
}

/* Some rows of the cosines of one language, in the worker's block. */
typedef struct block {
  int side;
  int64_t first, m; /* rows */
  float *cosines;   /* [m, n] */
  float *gradient;  /* [m, dim], room only */
} block;

static block similarities(const in_batch *b, size_t item, int worker) {
  const cq_space *s = b->space;
  const int64_t first = (int64_t)item % b->n_blocks * BLOCK_ROWS, left = s->n - first;
  block out = {.side = (int)((int64_t)item / b->n_blocks),
               .first = first,
               .m = left < BLOCK_ROWS ? left : BLOCK_ROWS,
               .cosines = b->blocks + worker * BLOCK_ROWS * (s->n + s->dim)};
  out.gradient = out.cosines + BLOCK_ROWS * s->n;
  b->kernels->product(out.cosines, s->n, b->units[out.side] + first * s->dim, s->dim, b->columns[1 - out.side], out.m,
                      s->n, s->dim, NULL);
  return out;
}

static void sum_rows(void *context, size_t item, int worker) {
  const in_batch *b = context;
  const int64_t n = b->space->n;
  const block k = similarities(b, item, worker);
  for (int64_t r = 0; r < k.m; r++) {
    const float *row = k.cosines + r * n;
    float most = -INFINITY;
    double sum = 0;
    for (int64_t j = 0; j < n; j++) most = row[j] > most ? row[j] : most;
    for (int64_t j = 0; j < n; j++) sum += exp(((double)row[j] - (double)most) / b->temperature);
    b->log_sums[k.side][k.first + r] = (double)most / b->temperature + log(sum);
    if (k.side == 0) b->own[k.first + r] = (double)row[k.first + r] / b->temperature;
  }
}

/* A similarity's gradient is its probability among its row, and among its column, less 1 each where it is a pair's. */
static void add_gradients(void *context, size_t item, int worker) {
  const in_batch *b = context;
  const cq_space *s = b->space;
  const block k = similarities(b, item, worker);
  const double *across = b->log_sums[1 - k.side];
  for (int64_t r = 0; r < k.m; r++) {
    float *row = k.cosines + r * s->n;
    const double along = b->log_sums[k.side][k.first + r];
    for (int64_t j = 0; j < s->n; j++) {
      const double x = (double)row[j] / b->temperature;
      row[j] = (float)(b->scale * (exp(x - along) + exp(x - across[j]) - (j == k.first + r ? 2 : 0)));
    }
  }
  b->kernels->product(k.gradient, s->dim, k.cosines, s->n, b->rows[1 - k.side], k.m, s->dim, s->n, NULL);
  b->kernels->normalize_backward(k.gradient, k.gradient, b->units[k.side] + k.first * s->dim,
                                 b->lengths[k.side] + k.first, k.m, s->dim);
  for (int64_t r = 0; r < k.m; r++)
    if (b->lengths[k.side][k.first + r] <= 1e-12f) memset(k.gradient + r * s->dim, 0, (size_t)s->dim * sizeof(float));
  b->kernels->add(s->gradients[k.side] + k.first * s->dim, k.gradient, k.m * s->dim);
}

static bool make_room(in_batch *b, cq_workspace *w, int n_workers) {
  const int64_t n = b->space->n, dim = b->space->dim;
  bool ok = true;
  for (int s = 0; s < 2; s++) {
    b->units[s] = cq_workspace_take(w, (size_t)(n * dim) * sizeof(float));
    b->lengths[s] = cq_workspace_take(w, (size_t)n * sizeof(float));
    b->columns[s] = cq_workspace_take(w, (size_t)b->kernels->packed_floats(dim, n) * sizeof(float));
    b->rows[s] = cq_workspace_take(w, (size_t)b->kernels->packed_floats(n, dim) * sizeof(float));
    b->log_sums[s] = cq_workspace_take(w, (size_t)n * sizeof(double));
    ok = ok && b->units[s] && b->lengths[s] && b->columns[s] && b->rows[s] && b->log_sums[s];
  }
  b->own = cq_workspace_take(w, (size_t)n * sizeof(double));
  b->blocks = cq_workspace_take(w, (size_t)(n_workers * BLOCK_ROWS * (n + dim)) * sizeof(float));
  return ok && b->own && b->blocks;
}

cq_status cq_space_in_batch(double *loss, const cq_space *s, double temperature, double weight, cq_lane *lane,
                            cq_pool *pool, cq_error *error) {
  const cq_mark mark = cq_workspace_mark(&lane->workspace);
  in_batch b = {.space = s,
                .kernels = lane->kernels,
                .n_blocks = (s->n + BLOCK_ROWS - 1) / BLOCK_ROWS,
                .temperature = temperature,
                .scale = weight / (2 * (double)s->n * temperature)};
  const bool ok = make_room(&b, &lane->workspace, cq_pool_n_threads(pool));
  double sum = 0;
  if (ok) {
    cq_pool_run(pool, 2, make_units, &b);
    cq_pool_run(pool, 2 * (size_t)b.n_blocks, sum_rows, &b);
    cq_pool_run(pool, 2 * (size_t)b.n_blocks, add_gradients, &b);
    for (int64_t i = 0; i < s->n; i++) sum += b.log_sums[0][i] + b.log_sums[1][i] - 2 * b.own[i];
  }
  cq_workspace_release(&lane->workspace, mark);
  *loss = sum / (2 * (double)s->n);
  return ok ? CQ_OK : cq_fail_memory(error, "similarities of a batch");
}
