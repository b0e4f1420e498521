/* Multinomial logistic regression by L-BFGS (Liu & Nocedal 1989): the two-loop recursion over the last steps and
 * gradient changes, and a backtracking line search with sufficient decrease (Armijo) that keeps the curvature
 * positive. */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"
#include "calque/classify.h"

#include <math.h>
#include <string.h>

enum { MEMORY = 10, N_SHARDS = 16 };

#define O cq_logistic_options
static const cq_option option_rows[] = {
    {CQ_NUMBER(O, "c", c, CHANGES, 1, 1e-9, 1e9, "X",
               "inverse of the regularization strength, as scikit-learn's C; lower values give smaller weights")},
    {CQ_NUMBER(O, "tolerance", tolerance, CHANGES, 1e-6, 0, 0, "X",
               "converged when no element of the gradient exceeds this times rows times c")},
    {CQ_INT(O, "max-iterations", max_iterations, CHANGES, 1000, 1, 1 << 30, "N", "L-BFGS iterations at most")},
};
#undef O

const cq_option_group cq_group_logistic = {.name = "logistic", CQ_ROWS(cq_logistic_options, option_rows)};

typedef struct problem {
  const float *vectors;
  const uint32_t *classes;
  size_t n, dim, n_classes, n_weights;
  double c;
  cq_context *ctx;
  const double *at;  /* weights */
  double *gradients; /* [N_SHARDS, n_weights] */
  double *scores;    /* [N_SHARDS, n_classes] */
  double losses[N_SHARDS];
} problem;

static double dot_weights(const double *a, const double *b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/* out [n_classes] = W x + b */
static void class_scores(double *out, const double *weights, const float *x, size_t n_classes, size_t dim) {
  for (size_t k = 0; k < n_classes; k++) {
    const double *w = weights + k * (dim + 1);
    double sum = w[dim];
    for (size_t d = 0; d < dim; d++) sum += w[d] * (double)x[d];
    out[k] = sum;
  }
}

static void add_shard(void *context, size_t shard, int worker) {
  (void)worker;
  problem *p = context;
  double *g = p->gradients + shard * p->n_weights, *s = p->scores + shard * p->n_classes, loss = 0;
  memset(g, 0, p->n_weights * sizeof *g);
  for (size_t i = p->n * shard / N_SHARDS; i < p->n * (shard + 1) / N_SHARDS; i++) {
    const float *x = p->vectors + i * p->dim;
    double max = -INFINITY, sum = 0;
    class_scores(s, p->at, x, p->n_classes, p->dim);
    for (size_t k = 0; k < p->n_classes; k++) max = fmax(max, s[k]);
    const double own = s[p->classes[i]];
    for (size_t k = 0; k < p->n_classes; k++) sum += s[k] = exp(s[k] - max);
    loss += log(sum) + max - own;
    for (size_t k = 0; k < p->n_classes; k++) {
      const double error = s[k] / sum - (k == p->classes[i]);
      double *row = g + k * (p->dim + 1);
      for (size_t d = 0; d < p->dim; d++) row[d] += error * (double)x[d];
      row[p->dim] += error;
    }
  }
  p->losses[shard] = loss;
}

/* The loss at `weights`, and its gradient; independent of the number of threads. */
static double measure_loss(double *gradient, problem *p, const double *weights) {
  double likelihood = 0, squares = 0;
  p->at = weights;
  cq_context_run(p->ctx, N_SHARDS, add_shard, p);
  memset(gradient, 0, p->n_weights * sizeof *gradient);
  for (size_t s = 0; s < N_SHARDS; s++) {
    likelihood += p->losses[s];
    for (size_t i = 0; i < p->n_weights; i++) gradient[i] += p->c * p->gradients[s * p->n_weights + i];
  }
  for (size_t i = 0; i < p->n_weights; i++) {
    if (i % (p->dim + 1) == p->dim) continue; /* an intercept */
    squares += weights[i] * weights[i];
    gradient[i] += weights[i];
  }
  return p->c * likelihood + squares / 2;
}

/* The last steps, in a ring buffer. */
typedef struct history {
  double *steps, *changes; /* [MEMORY, n] each: of weights, of the gradient */
  double curvature[MEMORY];
  size_t n, n_kept, newest;
} history;

static void remember_step(history *h, const double *step, const double *change) {
  const double curvature = dot_weights(step, change, h->n);
  if (!(curvature > 1e-12 * dot_weights(change, change, h->n))) return;
  h->newest = (h->newest + 1) % MEMORY;
  h->n_kept += h->n_kept < MEMORY;
  memcpy(h->steps + h->newest * h->n, step, h->n * sizeof *step);
  memcpy(h->changes + h->newest * h->n, change, h->n * sizeof *change);
  h->curvature[h->newest] = curvature;
}

/* direction = -H gradient, where H is the inverse Hessian estimated from the history. */
static void turn_direction(double *direction, const history *h, const double *gradient) {
  double alpha[MEMORY];
  for (size_t i = 0; i < h->n; i++) direction[i] = -gradient[i];
  for (size_t k = 0; k < h->n_kept; k++) {
    const size_t at = (h->newest + MEMORY - k) % MEMORY;
    alpha[k] = dot_weights(h->steps + at * h->n, direction, h->n) / h->curvature[at];
    for (size_t i = 0; i < h->n; i++) direction[i] -= alpha[k] * h->changes[at * h->n + i];
  }
  if (h->n_kept > 0) {
    const double *change = h->changes + h->newest * h->n;
    const double scale = h->curvature[h->newest] / dot_weights(change, change, h->n);
    for (size_t i = 0; i < h->n; i++) direction[i] *= scale;
  }
  for (size_t k = h->n_kept; k-- > 0;) {
    const size_t at = (h->newest + MEMORY - k) % MEMORY;
    const double beta = dot_weights(h->changes + at * h->n, direction, h->n) / h->curvature[at];
    for (size_t i = 0; i < h->n; i++) direction[i] += (alpha[k] - beta) * h->steps[at * h->n + i];
  }
}

static bool is_flat(const double *gradient, size_t n, double max) {
  for (size_t i = 0; i < n; i++)
    if (!(fabs(gradient[i]) <= max)) return false;
  return true;
}

/* rooms: work memory for next weights, gradient, next gradient, direction, step, change; [n_weights] each. */
static void descend_loss(cq_logistic *out, problem *p, history *h, double *rooms, const cq_logistic_options *o) {
  const size_t n = p->n_weights;
  double *next = rooms, *gradient = rooms + n, *next_gradient = rooms + 2 * n, *direction = rooms + 3 * n,
         *step = rooms + 4 * n, *change = rooms + 5 * n, *weights = out->weights;
  const double flat = o->tolerance * p->c * (double)p->n;
  out->loss = measure_loss(gradient, p, weights);
  while (!(out->converged = is_flat(gradient, n, flat)) && out->n_iterations < o->max_iterations) {
    turn_direction(direction, h, gradient);
    const double slope = dot_weights(direction, gradient, n);
    double length = h->n_kept ? 1 : 1 / fmax(1, sqrt(dot_weights(gradient, gradient, n))), loss = INFINITY;
    for (int tries = 0; tries < 60; tries++, length /= 2) {
      for (size_t i = 0; i < n; i++) next[i] = weights[i] + length * direction[i];
      loss = measure_loss(next_gradient, p, next);
      if (loss <= out->loss + 1e-4 * length * slope) break;
    }
    if (!(loss < out->loss)) break; /* rounding is all that is left */
    for (size_t i = 0; i < n; i++) step[i] = next[i] - weights[i], change[i] = next_gradient[i] - gradient[i];
    remember_step(h, step, change);
    memcpy(weights, next, n * sizeof *next);
    memcpy(gradient, next_gradient, n * sizeof *next_gradient);
    out->loss = loss;
    out->n_iterations++;
  }
}

static cq_status check_labeled(const float *vectors, const uint32_t *classes, size_t n, size_t dim, size_t n_classes,
                               cq_error *error) {
  if (n == 0 || n_classes < 2)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%zu rows of %zu classes, expected rows of two or more", n, n_classes);
  for (size_t i = 0; i < n; i++)
    if (classes[i] >= n_classes)
      return cq_fail(error, CQ_ERR_ARGUMENT, "row %zu is of class %u of %zu", i, (unsigned)classes[i], n_classes);
  for (size_t i = 0; i < n * dim; i++)
    if (!isfinite(vectors[i])) return cq_fail(error, CQ_ERR_ARGUMENT, "row %zu is not finite", i / dim);
  return CQ_OK;
}

cq_status cq_logistic_train(cq_logistic *out, const float *vectors, const uint32_t *classes, size_t n, size_t dim,
                            size_t n_classes, const cq_logistic_options *options, cq_context *ctx, cq_error *error) {
  cq_logistic_options o;
  *out = (cq_logistic){.n_classes = n_classes, .dim = dim};
  cq_status status = cq_options_take(&o, &cq_group_logistic, options, error);
  if (!status) status = check_labeled(vectors, classes, n, dim, n_classes, error);
  problem p = {vectors, classes, n, dim, n_classes, n_classes * (dim + 1), o.c, ctx, NULL, NULL, NULL, {0}};
  history h = {.n = p.n_weights};
  double *rooms = NULL;
  if (!status) {
    out->weights = cq_alloc_array_zeroed(p.n_weights, sizeof *out->weights);
    p.gradients = cq_alloc_array(p.n_weights, N_SHARDS * sizeof *p.gradients);
    p.scores = cq_alloc_array(n_classes, N_SHARDS * sizeof *p.scores);
    h.steps = cq_alloc_array(p.n_weights, MEMORY * sizeof *h.steps);
    h.changes = cq_alloc_array(p.n_weights, MEMORY * sizeof *h.changes);
    rooms = cq_alloc_array(p.n_weights, 6 * sizeof *rooms);
    if (out->weights && p.gradients && p.scores && h.steps && h.changes && rooms)
      descend_loss(out, &p, &h, rooms, &o);
    else
      status = cq_fail_memory(error, "a logistic regression");
  }
  cq_free(p.gradients);
  cq_free(p.scores);
  cq_free(h.steps);
  cq_free(h.changes);
  cq_free(rooms);
  if (status) cq_logistic_free(out);
  return status;
}

void cq_logistic_free(cq_logistic *model) {
  cq_free(model->weights);
  *model = (cq_logistic){0};
}

uint32_t cq_logistic_class(const cq_logistic *model, const float *vector) {
  uint32_t best = 0;
  double best_score = -INFINITY;
  for (size_t k = 0; k < model->n_classes; k++) {
    double one;
    class_scores(&one, model->weights + k * (model->dim + 1), vector, 1, model->dim);
    if (one > best_score) best = (uint32_t)k, best_score = one;
  }
  return best;
}

cq_status cq_classify_score(cq_classify_result *out, const uint32_t *predicted, const uint32_t *gold, size_t n,
                            size_t n_classes, cq_error *error) {
  *out = (cq_classify_result){.n = n};
  if (n == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "no rows to measure");
  for (size_t i = 0; i < n; i++)
    if (predicted[i] >= n_classes || gold[i] >= n_classes)
      return cq_fail(error, CQ_ERR_ARGUMENT, "row %zu is of classes %u and %u of %zu", i, (unsigned)predicted[i],
                     (unsigned)gold[i], n_classes);
  struct {
    size_t gold, predicted, right;
  } *counts = cq_alloc_array_zeroed(n_classes, sizeof *counts);
  if (!counts) return cq_fail_memory(error, "classes");
  size_t n_right = 0, n_occurring = 0, max_gold = 0;
  for (size_t i = 0; i < n; i++) {
    counts[gold[i]].gold++, counts[predicted[i]].predicted++;
    counts[gold[i]].right += gold[i] == predicted[i], n_right += gold[i] == predicted[i];
  }
  for (size_t k = 0; k < n_classes; k++) {
    const size_t both = counts[k].gold + counts[k].predicted;
    if (counts[k].gold > max_gold) max_gold = counts[k].gold;
    if (both == 0) continue;
    n_occurring++;
    out->macro_f1 += 2 * (double)counts[k].right / (double)both;
  }
  out->macro_f1 /= (double)n_occurring;
  out->accuracy = (double)n_right / (double)n, out->chance = (double)max_gold / (double)n;
  cq_free(counts);
  return CQ_OK;
}
