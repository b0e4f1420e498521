/* Losses between two sides' vectors, and their gradients. See space_loss.h. */
#include "train/space_loss.h"

#include "train/contrast.h"

#include <math.h>

/* Adds factor (a - b) to da, and subtracts it from db unless that is NULL. Returns |a - b|^2. */
static double pull_together(float *da, float *db, const float *a, const float *b, double factor, int64_t n) {
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
  return pull_together(s->gradients[0], s->gradients[1], s->vectors[0], s->vectors[1], 2 * weight / n, s->n * s->dim) /
         n;
}

double cq_space_distillation(const cq_space *s, int side, const float *targets, double weight) {
  const double n = (double)s->n;
  return pull_together(s->gradients[side], NULL, s->vectors[side], targets, 2 * weight / n, s->n * s->dim) / n;
}

double cq_space_pairs(const cq_space *s, double margin, double weight) {
  const double scale = weight / (double)s->n;
  double sum = 0;
  for (int64_t i = 0; i < s->n; i++) {
    const int64_t mine = i * s->dim, other = (i + 1) % s->n * s->dim;
    const float *x = s->vectors[0] + mine, *y = s->vectors[1] + other;
    sum += pull_together(s->gradients[0] + mine, s->gradients[1] + mine, x, s->vectors[1] + mine, 2 * scale, s->dim);
    if (s->n == 1) break; /* no other */
    double squares = 0;
    for (int64_t j = 0; j < s->dim; j++) squares += ((double)x[j] - (double)y[j]) * ((double)x[j] - (double)y[j]);
    const double d = sqrt(squares), lack = margin - d;
    if (lack <= 0) continue;
    sum += lack * lack;
    if (d > 1e-12) pull_together(s->gradients[0] + mine, s->gradients[1] + other, x, y, -2 * lack / d * scale, s->dim);
  }
  return sum / (double)s->n;
}

double cq_space_cosines(const cq_space *s, const float *wanted, double weight) {
  const double scale = weight / (double)s->n;
  double sum = 0;
  for (int64_t i = 0; i < s->n; i++) {
    const float *a = s->vectors[0] + i * s->dim, *b = s->vectors[1] + i * s->dim;
    float *da = s->gradients[0] + i * s->dim, *db = s->gradients[1] + i * s->dim;
    double ab = 0, aa = 0, bb = 0;
    for (int64_t j = 0; j < s->dim; j++) {
      ab += (double)a[j] * (double)b[j];
      aa += (double)a[j] * (double)a[j];
      bb += (double)b[j] * (double)b[j];
    }
    const bool directed = !(aa <= 1e-24 || bb <= 1e-24); /* lets NaN through */
    const double lengths = sqrt(aa) * sqrt(bb), cosine = directed ? ab / lengths : 0;
    const double off = cosine - (double)wanted[i];
    sum += off * off;
    for (int64_t j = 0; directed && j < s->dim; j++) {
      da[j] += (float)(2 * off * scale * ((double)b[j] / lengths - cosine * (double)a[j] / aa));
      db[j] += (float)(2 * off * scale * ((double)a[j] / lengths - cosine * (double)b[j] / bb));
    }
  }
  return sum / (double)s->n;
}

double cq_logits_loss(float *gradients, const float *logits, const float *wanted, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    const double x = (double)logits[i], y = (double)wanted[i];
    sum += fmax(x, 0) - x * y + log1p(exp(-fabs(x)));
    gradients[i] += (float)((1 / (1 + exp(-x)) - y) / (double)n);
  }
  return sum / (double)n;
}

cq_status cq_space_in_batch(double *loss, const cq_space *s, double temperature, double weight, cq_worker *worker,
                            cq_context *ctx, cq_error *error) {
  const cq_contrast c = {.vectors = {s->vectors[0], s->vectors[1]},
                         .gradients = {s->gradients[0], s->gradients[1]},
                         .n = {s->n, s->n},
                         .dim = s->dim,
                         .temperature = temperature,
                         .symmetric = true};
  return cq_contrast_loss(loss, &c, weight, worker, ctx, error);
}
