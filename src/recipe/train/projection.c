/* x the student's vectors, y the teacher's, both less their means:
 *
 *   A = Σ x xᵀ + r · mean of the diagonal,  B = Σ x yᵀ ──Cholesky──▶ A W = B ──▶ y ≈ Wᵀ x */
#include "recipe/train/projection.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"

#include <math.h>

static const double RIDGE = 0.05; /* r: without it, a few texts would be learned by heart */

typedef struct regression {
  const float *x, *const *y;
  size_t n, from, to;    /* texts, dimensions of x and y */
  double *a, *b;         /* [from, from], its lower half; [from, to] */
  double *mean, *y_mean; /* [from], [to] */
} regression;

static void find_means(regression *r) {
  for (size_t i = 0; i < r->n; i++) {
    for (size_t k = 0; k < r->from; k++) r->mean[k] += (double)r->x[i * r->from + k] / (double)r->n;
    for (size_t k = 0; k < r->to; k++) r->y_mean[k] += (double)r->y[i][k] / (double)r->n;
  }
}

/* One row of A and of B. */
static void sum_row(void *context, size_t row, int worker) {
  const regression *r = context;
  double *a = r->a + row * r->from, *b = r->b + row * r->to;
  (void)worker;
  for (size_t i = 0; i < r->n; i++) {
    const float *x = r->x + i * r->from;
    const double v = (double)x[row] - r->mean[row];
    for (size_t k = 0; k <= row; k++) a[k] += v * ((double)x[k] - r->mean[k]);
    for (size_t k = 0; k < r->to; k++) b[k] += v * ((double)r->y[i][k] - r->y_mean[k]);
  }
}

/* B becomes W. */
static void solve(regression *r) {
  const size_t n = r->from;
  double trace = 0;
  for (size_t i = 0; i < n; i++) trace += r->a[i * n + i];
  const double ridge = trace > 0 ? RIDGE * trace / (double)n : 1;
  for (size_t i = 0; i < n; i++) { /* A = L Lᵀ, and L Z = B */
    double *row = r->a + i * n;
    row[i] += ridge;
    for (size_t k = 0; k <= i; k++) {
      const double *other = r->a + k * n;
      double sum = row[k];
      for (size_t j = 0; j < k; j++) sum -= row[j] * other[j];
      row[k] = k < i ? sum / other[k] : sqrt(sum);
    }
    for (size_t k = 0; k < i; k++)
      for (size_t d = 0; d < r->to; d++) r->b[i * r->to + d] -= row[k] * r->b[k * r->to + d];
    for (size_t d = 0; d < r->to; d++) r->b[i * r->to + d] /= row[i];
  }
  for (size_t i = n; i-- > 0;) { /* Lᵀ W = Z */
    for (size_t d = 0; d < r->to; d++) r->b[i * r->to + d] /= r->a[i * n + i];
    for (size_t k = 0; k < i; k++)
      for (size_t d = 0; d < r->to; d++) r->b[k * r->to + d] -= r->a[i * n + k] * r->b[i * r->to + d];
  }
}

static cq_status append_dense(cq_encoder *e, const regression *r, cq_context *ctx, cq_error *error) {
  cq_random random = cq_random_seeded(0, 0);
  const bool normalized = cq_encoder_is_normalized(e);
  const size_t at = e->n_modules;
  const cq_status status = cq_encoder_append_ending(e, (int64_t)r->to, normalized, &random, error);
  if (status) return status;
  float *weight = e->modules[at]->params[0].value, *bias = e->modules[at]->params[1].value;
  for (size_t d = 0; d < r->to; d++) {
    double sum = r->y_mean[d];
    for (size_t k = 0; k < r->from; k++) {
      weight[d * r->from + k] = (float)r->b[k * r->to + d];
      sum -= r->b[k * r->to + d] * r->mean[k];
    }
    bias[d] = (float)sum;
  }
  return cq_encoder_pack(e, ctx, false, error);
}

cq_status cq_projection_append(cq_encoder *e, const cq_slice *texts, const float *const *targets, size_t n, size_t dim,
                               cq_context *ctx, cq_error *error) {
  regression r = {.y = targets, .n = n, .from = (size_t)cq_encoder_full_dim(e), .to = dim};
  cq_encode_options o = cq_encode_default_options();
  o.truncate_dim = (int)r.from; /* not the model's own prefix */
  float *vectors = cq_alloc_array(n, r.from * sizeof *vectors);
  r.a = cq_alloc_array_zeroed(r.from + 1, (r.from + r.to) * sizeof *r.a);
  cq_status status = vectors && r.a ? CQ_OK : cq_fail_memory(error, "a projection");
  if (!status) status = cq_encoder_encode(vectors, NULL, e, texts, n, &o, ctx, error);
  if (!status) {
    r.x = vectors;
    r.b = r.a + r.from * r.from, r.mean = r.b + r.from * r.to, r.y_mean = r.mean + r.from;
    find_means(&r);
    cq_context_run(ctx, r.from, sum_row, &r);
    solve(&r);
  }
  if (!status) status = append_dense(e, &r, ctx, error);
  cq_free(vectors);
  cq_free(r.a);
  return status;
}
