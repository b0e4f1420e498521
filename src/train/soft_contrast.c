/* The contrastive loss of distillation, with a teacher's similarities as soft labels, and its gradient. See
 * soft_contrast.h. */
#include "train/soft_contrast.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* The first dim numbers of the candidates, scaled to length 1, one column each: [dim, m], so that a vector's cosines to
 * all candidates are sums of rows. */
static void normalize_columns(float *out, const cq_soft_contrast *c, int64_t dim) {
  const size_t m = c->n_candidates;
  for (size_t j = 0; j < m; j++) {
    double sum = 0;
    for (int64_t k = 0; k < dim; k++) sum += (double)c->candidates[j][k] * (double)c->candidates[j][k];
    const float scale = sum > 0 ? (float)(1 / sqrt(sum)) : 0;
    for (int64_t k = 0; k < dim; k++) out[(size_t)k * m + j] = scale * c->candidates[j][k];
  }
}

/* cosines [m] of a vector; returns its length. */
static float cosines_of(float *cosines, const float *vector, const float *columns, size_t m, int64_t dim) {
  double sum = 0;
  memset(cosines, 0, m * sizeof *cosines);
  for (int64_t k = 0; k < dim; k++) {
    const float *row = columns + (size_t)k * m, x = vector[k];
    for (size_t j = 0; j < m; j++) cosines[j] += x * row[j];
    sum += (double)x * (double)x;
  }
  const float length = (float)sqrt(sum);
  for (size_t j = 0; j < m; j++) cosines[j] = length > 0 ? cosines[j] / length : 0;
  return length;
}

/* Softmax of p [m]; returns the logarithm of its denominator. */
static double softmax(double *p, const float *cosines, size_t m, double temperature) {
  double largest = -HUGE_VAL, sum = 0;
  for (size_t j = 0; j < m; j++) largest = fmax(largest, (double)cosines[j] / temperature);
  for (size_t j = 0; j < m; j++) sum += p[j] = exp((double)cosines[j] / temperature - largest);
  for (size_t j = 0; j < m; j++) p[j] /= sum;
  return log(sum) + largest;
}

/* Adds the gradient of one vector: sum_j g_j (t_j - cos_j y) / |y|, where y and t_j have length 1. */
static void add_gradient(float *gradient, const float *vector, float length, const float *g, const float *cosines,
                         const float *columns, size_t m, int64_t dim) {
  double along = 0;
  for (size_t j = 0; j < m; j++) along += (double)g[j] * (double)cosines[j];
  for (int64_t k = 0; k < dim; k++) {
    const float *row = columns + (size_t)k * m;
    double sum = 0;
    for (size_t j = 0; j < m; j++) sum += (double)(g[j] * row[j]);
    gradient[k] += (float)((sum - along * (double)(vector[k] / length)) / (double)length);
  }
}

typedef struct room {
  float *columns, *cosines; /* [dim, m]; [2, m] cosines and their gradients */
  double *p, *labels;       /* [m]; [n_own, m] */
} room;

/* r->columns are of all dimensions. */
static void make_labels(const room *r, const cq_soft_contrast *c) {
  const size_t m = c->n_candidates;
  for (size_t i = 0; i < c->n_own; i++) {
    cosines_of(r->cosines, c->candidates[i], r->columns, m, c->dim);
    softmax(r->labels + i * m, r->cosines, m, c->temperature);
  }
}

/* The loss of vectors and candidates truncated to `kept` dimensions, to which r->columns are normalized. */
static double prefix_loss(float *gradients, const float *vectors, size_t n, const cq_soft_contrast *c, int64_t kept,
                          double weight, const room *r) {
  const size_t m = c->n_candidates, dim = (size_t)c->dim;
  float *g = r->cosines + m;
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    const double *q = r->labels + i % c->n_own * m;
    const float *vector = vectors + i * dim;
    const float length = cosines_of(r->cosines, vector, r->columns, m, kept);
    const double log_sum = softmax(r->p, r->cosines, m, c->temperature);
    for (size_t j = 0; j < m; j++) {
      sum += q[j] * (log_sum - (double)r->cosines[j] / c->temperature);
      g[j] = (float)(weight * (r->p[j] - q[j]) / (c->temperature * (double)n));
    }
    if (length > 0) add_gradient(gradients + i * dim, vector, length, g, r->cosines, r->columns, m, kept);
  }
  return sum / (double)n;
}

cq_status cq_soft_contrast_loss(double *loss, float *gradients, const float *vectors, size_t n,
                                const cq_soft_contrast *c, double weight, cq_error *error) {
  const size_t m = c->n_candidates, dim = (size_t)c->dim;
  *loss = 0;
  if (m == 0 || n == 0 || c->n_own == 0) return CQ_OK;
  room r = {.columns = cq_alloc_array(m, dim * sizeof *r.columns),
            .cosines = cq_alloc_array(m, 2 * sizeof *r.cosines),
            .p = cq_alloc_array(m, sizeof *r.p),
            .labels = cq_alloc_array(c->n_own, m * sizeof *r.labels)};
  const bool ok = r.columns && r.cosines && r.p && r.labels;
  if (ok) {
    normalize_columns(r.columns, c, c->dim);
    make_labels(&r, c);
    *loss = prefix_loss(gradients, vectors, n, c, c->dim, weight, &r);
    for (size_t i = 0; i < c->n_prefixes; i++) {
      normalize_columns(r.columns, c, c->prefixes[i]);
      *loss += prefix_loss(gradients, vectors, n, c, c->prefixes[i], weight, &r);
    }
  }
  cq_free(r.columns), cq_free(r.cosines), cq_free(r.p), cq_free(r.labels);
  return ok ? CQ_OK : cq_fail_memory(error, "contrastive loss");
}
