/* t-SNE, exactly:
 *
 *   vectors ──distances──▶ p(j | i), a Gaussian around each with its own width ──▶ p(i, j) = mean of both / n
 *   principal components, made small ──▶ y ──▶ gradient of KL(p || q) ──momentum, gains──▶ y, repeatedly
 *
 * One thread computes a row from beginning to end, and the rows' results are added in order. */
#include "lab/plot/tsne.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/random.h"
#include "calque/extra/pca.h"
#include "calque/lab/tsne.h"
#include "tensor/pca.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 16, MAX_HALVINGS = 100, SHOW_EVERY = 10 };

#define O cq_tsne_options
static const cq_option option_rows[] = {
    {CQ_NUMBER(O, "perplexity", perplexity, CHANGES, 30, 1, CQ_TSNE_MAX_VECTORS, "X",
               "t-SNE: approximate number of neighbors that count"),
     .flags = CQ_OPTION_ABOVE_MIN},
    {CQ_INT(O, "iterations", n_iterations, CHANGES, 1000, 1, 1 << 20, "N", "t-SNE: steps of the descent")},
    {CQ_NUMBER(O, "exaggeration", exaggeration, CHANGES, 12, 1, 1e6, "X",
               "t-SNE: factor of neighbors' attraction in the first iterations")},
    {CQ_INT(O, "exaggerated", n_exaggerated, CHANGES, 250, 0, 1 << 20, "N", "t-SNE: how many iterations these are")},
    {CQ_NUMBER(O, "lr", learning_rate, CHANGES, 0, 0, 1e12, "RATE", "t-SNE: learning rate"),
     .otherwise = "by the number of vectors"},
    {CQ_COUNT(O, "seed", seed, CHANGES, 1, 0, 0, "N", "seed of the random numbers")},
};
#undef O

const cq_option_group cq_group_tsne = {.name = "tsne", CQ_ROWS(cq_tsne_options, option_rows)};

static cq_status check_size(const cq_tsne_options *o, size_t n, cq_error *error) {
  if (n > CQ_TSNE_MAX_VECTORS)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%zu vectors, expected at most %d for t-SNE", n, CQ_TSNE_MAX_VECTORS);
  if (o->perplexity < (double)n - 1) return CQ_OK;
  return cq_fail(error, CQ_ERR_ARGUMENT,
                 "perplexity is %g, expected less than %zu, the neighbors of each of %zu vectors", o->perplexity, n - 1,
                 n);
}

/* --- how near the vectors are --- */

void cq_tsne_neighbors(double *p, size_t n, size_t self, double perplexity) {
  const double wanted = log(perplexity);
  double min = INFINITY, mean = 0, beta = 1, low = 0, high = INFINITY, sum = 0;
  p[self] = INFINITY; /* exp(-beta * that) is 0 */
  for (size_t j = 0; j < n; j++) min = fmin(min, p[j]);
  for (size_t j = 0; j < n; j++) mean += j == self ? 0 : (p[j] - min) / (double)(n - 1);
  /* Relative to the nearest, in units of the mean, so that beta starts near its final value. */
  for (size_t j = 0; j < n; j++) p[j] = mean > 0 ? (p[j] - min) / mean : 0;
  for (int i = 0; i < MAX_HALVINGS; i++) {
    double weighted = 0;
    sum = 0;
    for (size_t j = 0; j < n; j++) {
      if (j == self) continue;
      const double e = exp(-beta * p[j]);
      sum += e, weighted += e * p[j];
    }
    const double entropy = log(sum) + beta * weighted / sum;
    if (fabs(entropy - wanted) < 1e-10 || i == MAX_HALVINGS - 1) break;
    if (entropy > wanted)
      low = beta, beta = isinf(high) ? beta * 2 : (low + high) / 2;
    else
      high = beta, beta = (low + high) / 2;
  }
  for (size_t j = 0; j < n; j++) p[j] = j == self ? 0 : exp(-beta * p[j]) / sum;
}

typedef struct nearness {
  double *p; /* [n, n] */
  const float *vectors;
  size_t n, dim;
  double perplexity;
} nearness;

static void near_row(void *context, size_t i, int worker) {
  const nearness *s = context;
  double *p = s->p + i * s->n;
  (void)worker;
  for (size_t j = 0; j < s->n; j++) {
    const float *a = s->vectors + i * s->dim, *b = s->vectors + j * s->dim;
    p[j] = 0;
    for (size_t d = 0; d < s->dim; d++) p[j] += ((double)a[d] - b[d]) * ((double)a[d] - b[d]);
  }
  cq_tsne_neighbors(p, s->n, i, s->perplexity);
}

/* p [n, n]: the mean of both directions, of sum 1. */
static void find_nearness(double *p, const float *vectors, size_t n, size_t dim, double perplexity, cq_context *ctx) {
  nearness s = {p, vectors, n, dim, perplexity};
  cq_context_run(ctx, n, near_row, &s);
  for (size_t i = 0; i < n; i++)
    for (size_t j = i + 1; j < n; j++) p[i * n + j] = p[j * n + i] = (p[i * n + j] + p[j * n + i]) / (2 * (double)n);
}

/* --- the gradient --- */

typedef struct forces {
  const double *p, *y;
  size_t n;
  bool divergence;
  double *work; /* [n, CQ_TSNE_WORK]: attraction x, y; repulsion x, y; sum of w; sum of p log(p / w) */
} forces;

static void force_rows(void *context, size_t block, int worker) {
  const forces *f = context;
  const size_t n = f->n, end = cq_min(n, (block + 1) * BLOCK);
  (void)worker;
  for (size_t i = block * BLOCK; i < end; i++) {
    const double *p = f->p + i * n, x = f->y[2 * i], y = f->y[2 * i + 1];
    double pull_x = 0, pull_y = 0, push_x = 0, push_y = 0, sum = 0, log_sum = 0;
    for (size_t j = 0; j < n; j++) {
      const double dx = x - f->y[2 * j], dy = y - f->y[2 * j + 1];
      const double w = 1 / (1 + dx * dx + dy * dy), pull = p[j] * w, push = w * w;
      pull_x += pull * dx, pull_y += pull * dy;
      push_x += push * dx, push_y += push * dy;
      sum += j == i ? 0 : w;
    }
    for (size_t j = 0; f->divergence && j < n; j++) {
      const double dx = x - f->y[2 * j], dy = y - f->y[2 * j + 1];
      if (p[j] > 0) log_sum += p[j] * log(p[j] * (1 + dx * dx + dy * dy));
    }
    const double row[CQ_TSNE_WORK] = {pull_x, pull_y, push_x, push_y, sum, log_sum};
    memcpy(f->work + i * CQ_TSNE_WORK, row, sizeof row);
  }
}

double cq_tsne_gradient(double *gradient, const double *p, const double *y, size_t n, double exaggeration,
                        bool divergence, double *work, cq_context *ctx) {
  forces f = {p, y, n, divergence, work};
  double sum = 0, log_sum = 0;
  cq_context_run(ctx, (n + BLOCK - 1) / BLOCK, force_rows, &f);
  for (size_t i = 0; i < n; i++) sum += work[i * CQ_TSNE_WORK + 4], log_sum += work[i * CQ_TSNE_WORK + 5];
  for (size_t i = 0; i < n; i++)
    for (size_t c = 0; c < 2; c++)
      gradient[2 * i + c] = 4 * (exaggeration * work[i * CQ_TSNE_WORK + c] - work[i * CQ_TSNE_WORK + 2 + c] / sum);
  return divergence ? log_sum + log(sum) : NAN;
}

/* --- the descent --- */

/* Starts from principal components, scaled so small that all points interact, plus random noise of a hundredth of that:
 * without it, vectors on a line would stay on a line. */
static cq_status start_tsne(double *y, const float *vectors, size_t n, int dim, uint64_t seed, cq_context *ctx,
                            cq_error *error) {
  const size_t k = dim > 1 ? 2 : 1;
  double variance = 0;
  cq_status status = cq_pca(y, NULL, vectors, n, dim, (int)k, ctx, error);
  if (status) return status;
  for (size_t i = 0; i < n; i++) variance += y[k * i] * y[k * i] / (double)n;
  const double scale = variance > 0 ? 1e-4 / sqrt(variance) : 0;
  for (size_t i = n; i-- > 0;) { /* backwards: one component makes room for two */
    cq_random random = cq_random_seeded(seed, i);
    const double first = y[k * i], second = k > 1 ? y[k * i + 1] : 0;
    y[2 * i] = scale * first + 1e-6 * cq_random_normal(&random);
    y[2 * i + 1] = scale * second + 1e-6 * cq_random_normal(&random);
  }
  return CQ_OK;
}

static void center_places(double *y, size_t n) {
  double mean[2] = {0, 0};
  for (size_t i = 0; i < 2 * n; i++) mean[i % 2] += y[i] / (double)n;
  for (size_t i = 0; i < 2 * n; i++) y[i] -= mean[i % 2];
}

/* Gains grow if a coordinate keeps its direction, and shrink if it reverses (Jacobs 1988). */
static void step_tsne(double *y, double *velocity, double *gains, const double *gradient, size_t n, double rate,
                      double momentum) {
  for (size_t i = 0; i < 2 * n; i++) {
    const bool goes_on = gradient[i] * velocity[i] < 0;
    gains[i] = fmax(0.01, goes_on ? gains[i] + 0.2 : gains[i] * 0.8);
    velocity[i] = momentum * velocity[i] - rate * gains[i] * gradient[i];
    y[i] += velocity[i];
  }
  center_places(y, n);
}

static cq_status descend_divergence(double *y, double *divergence, const double *p, double *work, size_t n,
                                    const cq_tsne_options *o, cq_context *ctx, cq_error *error) {
  double *velocity = work, *gains = work + 2 * n, *gradient = work + 4 * n, *rows = work + 6 * n;
  const double rate = o->learning_rate > 0 ? o->learning_rate : fmax((double)n / o->exaggeration / 4, 50);
  for (size_t i = 0; i < 2 * n; i++) velocity[i] = 0, gains[i] = 1;
  for (int i = 0; i < o->n_iterations; i++) {
    const bool early = i < o->n_exaggerated;
    cq_tsne_gradient(gradient, p, y, n, early ? o->exaggeration : 1, false, rows, ctx);
    step_tsne(y, velocity, gains, gradient, n, rate, early ? 0.5 : 0.8);
    const bool shown = (i + 1) % SHOW_EVERY == 0 || i + 1 == o->n_iterations;
    if (shown && o->progress && !o->progress(o->progress_context, (uint64_t)i + 1, (uint64_t)o->n_iterations))
      return cq_fail(error, CQ_ERR_STOPPED, "stopped at iteration %d of %d", i + 1, o->n_iterations);
  }
  for (size_t i = 0; i < 2 * n; i++)
    if (!isfinite(y[i]))
      return cq_fail(error, CQ_ERR_ARGUMENT, "the learning rate %g drives the points apart without end", rate);
  if (divergence) *divergence = cq_tsne_gradient(gradient, p, y, n, 1, true, rows, ctx);
  return CQ_OK;
}

cq_status cq_tsne(double *out, double *divergence, const float *vectors, size_t n, int dim,
                  const cq_tsne_options *options, cq_context *ctx, cq_error *error) {
  cq_tsne_options o;
  cq_status status = cq_options_take(&o, &cq_group_tsne, options, error);
  if (!status) status = cq_points_check(vectors, n, dim, error);
  if (!status) status = check_size(&o, n, error);
  if (status) return status;
  double *p = cq_alloc_array(n * n, sizeof *p), *work = cq_alloc_array(n * (6 + CQ_TSNE_WORK), sizeof *work);
  if (!p || !work) status = cq_fail_memory(error, "t-SNE");
  if (!status) status = start_tsne(out, vectors, n, dim, o.seed, ctx, error);
  if (!status) find_nearness(p, vectors, n, (size_t)dim, o.perplexity, ctx);
  if (!status) status = descend_divergence(out, divergence, p, work, n, &o, ctx, error);
  cq_free(p);
  cq_free(work);
  return status;
}
