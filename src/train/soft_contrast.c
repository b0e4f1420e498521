#include "train/soft_contrast.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

/* Candidates of length 1, a column each: [dim, m], so that a vector's cosines to all are sums of rows. */
static void normalise_columns(float *out, const cq_soft_contrast *c) {
  const size_t m = c->n_candidates;
  for (size_t j = 0; j < m; j++) {
    double sum = 0;
    for (int64_t k = 0; k < c->dim; k++) sum += (double)c->candidates[j][k] * (double)c->candidates[j][k];
    const float scale = sum > 0 ? (float)(1 / sqrt(sum)) : 0;
    for (int64_t k = 0; k < c->dim; k++) out[(size_t)k * m + j] = scale * c->candidates[j][k];
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

/* p [m]; returns the logarithm of what it is divided by, without the shift by the largest. */
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

cq_status cq_soft_contrast_loss(double *loss, float *gradients, const float *vectors, size_t n,
                                const cq_soft_contrast *c, double weight, cq_error *error) {
  const size_t m = c->n_candidates, dim = (size_t)c->dim;
  *loss = 0;
  if (m == 0 || n == 0 || c->n_own == 0) return CQ_OK;
  float *columns = cq_alloc_array(m, dim * sizeof *columns), *cosines = cq_alloc_array(m, 2 * sizeof *cosines);
  double *p = cq_alloc_array(m, sizeof *p), *labels = cq_alloc_array(c->n_own, m * sizeof *labels);
  cq_status status = columns && cosines && p && labels ? CQ_OK : cq_fail_memory(error, "contrastive loss");
  double sum = 0;
  if (!status) normalise_columns(columns, c);
  for (size_t i = 0; !status && i < c->n_own; i++) {
    cosines_of(cosines, c->candidates[i], columns, m, c->dim);
    softmax(labels + i * m, cosines, m, c->temperature);
  }
  for (size_t i = 0; !status && i < n; i++) {
    const double *q = labels + i % c->n_own * m;
    float *g = cosines + m;
    const float length = cosines_of(cosines, vectors + i * dim, columns, m, c->dim);
    const double log_sum = softmax(p, cosines, m, c->temperature);
    for (size_t j = 0; j < m; j++) {
      sum += q[j] * (log_sum - (double)cosines[j] / c->temperature);
      g[j] = (float)(weight * (p[j] - q[j]) / (c->temperature * (double)n));
    }
    if (length > 0) add_gradient(gradients + i * dim, vectors + i * dim, length, g, cosines, columns, m, c->dim);
  }
  *loss = sum / (double)n;
  cq_free(columns), cq_free(cosines), cq_free(p), cq_free(labels);
  return status;
}
