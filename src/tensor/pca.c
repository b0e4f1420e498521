/* Principal components by subspace iteration on the covariance C:
 *
 *   basis V [m, dim], orthonormal ──C──▶ W ──▶ V Wᵀ [m, m] ──Jacobi──▶ variances, V and W rotated to them
 *        ▲                                                                │ C v = variance v for the first? done
 *        └──────────────────────── W made orthonormal ◀───────────────────┘
 *
 * m is greater than the number of components: the more a direction's variance exceeds the m-th, the faster it is found.
 * With m = dim, the first round is exact. */
#include "calque/extra/pca.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "tensor/pca.h"

#include <math.h>
#include <string.h>

enum { MORE_DIRECTIONS = 14, MAX_ROUNDS = 1000, MAX_SWEEPS = 60 };
static const double TOLERANCE = 1e-12; /* of the highest variance */

typedef struct analysis {
  size_t n, dim, m;
  double *centered;   /* [n, dim] */
  double *covariance; /* [dim, dim] */
  double *v, *w;      /* [m, dim] directions; the covariance times them */
  double *small;      /* [m, m] */
  double *turn;       /* [m, m] rows are its eigenvectors */
  double *row;        /* [dim + m] */
} analysis;

static double dot_rows(const double *a, const double *b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/* --- the covariance --- */

static void center_vectors(analysis *a, const float *vectors) {
  for (size_t d = 0; d < a->dim; d++) a->row[d] = 0;
  for (size_t i = 0; i < a->n; i++)
    for (size_t d = 0; d < a->dim; d++) a->row[d] += vectors[i * a->dim + d];
  for (size_t i = 0; i < a->n; i++)
    for (size_t d = 0; d < a->dim; d++)
      a->centered[i * a->dim + d] = vectors[i * a->dim + d] - a->row[d] / (double)a->n;
}

static void covariance_row(void *context, size_t r, int worker) {
  const analysis *a = context;
  double *row = a->covariance + r * a->dim;
  (void)worker;
  memset(row, 0, a->dim * sizeof *row);
  for (size_t i = 0; i < a->n; i++) {
    const double *x = a->centered + i * a->dim;
    for (size_t d = 0; d < a->dim; d++) row[d] += x[r] * x[d];
  }
  for (size_t d = 0; d < a->dim; d++) row[d] /= (double)a->n;
}

/* --- directions --- */

/* Orthogonalizes v against the k directions before it, twice because of rounding errors, and normalizes it. */
static bool make_orthogonal(double *v, const double *before, size_t k, size_t dim) {
  for (int pass = 0; pass < 2; pass++) {
    const double length = sqrt(dot_rows(v, v, dim));
    if (!(length > 0)) return false;
    for (size_t d = 0; d < dim; d++) v[d] /= length;
    for (size_t j = 0; j < k; j++) {
      const double along = dot_rows(v, before + j * dim, dim);
      for (size_t d = 0; d < dim; d++) v[d] -= along * before[j * dim + d];
    }
  }
  const double length = sqrt(dot_rows(v, v, dim));
  if (!(length > 0.5)) return false; /* what was left after the first pass was rounding */
  for (size_t d = 0; d < dim; d++) v[d] /= length;
  return true;
}

/* v becomes an orthonormal basis of its span; missing directions are random. */
static void make_basis(double *v, size_t m, size_t dim) {
  for (size_t k = 0; k < m; k++) {
    cq_random random = cq_random_seeded(1, k);
    while (!make_orthogonal(v + k * dim, v, k, dim))
      for (size_t d = 0; d < dim; d++) v[k * dim + d] = cq_random_normal(&random);
  }
}

static void apply_covariance(void *context, size_t k, int worker) {
  const analysis *a = context;
  (void)worker;
  for (size_t d = 0; d < a->dim; d++)
    a->w[k * a->dim + d] = dot_rows(a->covariance + d * a->dim, a->v + k * a->dim, a->dim);
}

/* Eigenvalues of a symmetric s [m, m] on its diagonal, and eigenvectors in the rows of u, by Jacobi rotations. */
static void jacobi_eigen(double *s, double *u, size_t m) {
  double max = 0;
  for (size_t i = 0; i < m * m; i++) u[i] = i % (m + 1) == 0, max = fmax(max, fabs(s[i]));
  for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
    bool turned = false;
    for (size_t p = 0; p < m; p++)
      for (size_t q = p + 1; q < m; q++) {
        const double off = s[p * m + q], difference = s[q * m + q] - s[p * m + p];
        if (fabs(off) <= 1e-16 * max) continue;
        const double theta = difference / (2 * off);
        const double t = (theta < 0 ? -1 : 1) / (fabs(theta) + hypot(theta, 1));
        const double c = 1 / hypot(t, 1), sine = t * c;
        for (size_t i = 0; i < m; i++) {
          const double x = s[i * m + p], y = s[i * m + q];
          s[i * m + p] = c * x - sine * y, s[i * m + q] = sine * x + c * y;
        }
        for (size_t i = 0; i < m; i++) {
          const double x = s[p * m + i], y = s[q * m + i];
          s[p * m + i] = c * x - sine * y, s[q * m + i] = sine * x + c * y;
          const double a = u[p * m + i], b = u[q * m + i];
          u[p * m + i] = c * a - sine * b, u[q * m + i] = sine * a + c * b;
        }
        turned = true;
      }
    if (!turned) break;
  }
}

/* Rows of x [m, dim] become u x. */
static void turn_rows(double *x, const analysis *a) {
  for (size_t d = 0; d < a->dim; d++) {
    for (size_t k = 0; k < a->m; k++) a->row[k] = x[k * a->dim + d];
    for (size_t k = 0; k < a->m; k++) x[k * a->dim + d] = dot_rows(a->turn + k * a->m, a->row, a->m);
  }
}

static void swap_rows(double *x, size_t i, size_t j, size_t width) {
  for (size_t d = 0; d < width; d++) {
    const double old = x[i * width + d];
    x[i * width + d] = x[j * width + d], x[j * width + d] = old;
  }
}

/* Rotates the basis to the directions of descending variance, and writes the variances to the diagonal of `small`. */
static void rotate_basis(analysis *a) {
  const size_t m = a->m;
  for (size_t i = 0; i < m; i++)
    for (size_t j = i; j < m; j++)
      a->small[i * m + j] = a->small[j * m + i] = dot_rows(a->v + i * a->dim, a->w + j * a->dim, a->dim);
  jacobi_eigen(a->small, a->turn, m);
  for (size_t i = 0; i < m; i++) {
    size_t best = i;
    for (size_t j = i + 1; j < m; j++)
      if (a->small[j * m + j] > a->small[best * m + best]) best = j;
    const double variance = a->small[i * m + i];
    a->small[i * m + i] = a->small[best * m + best], a->small[best * m + best] = variance;
    if (best != i) swap_rows(a->turn, i, best, m);
  }
  turn_rows(a->v, a);
  turn_rows(a->w, a);
}

/* Whether the first k directions have converged. */
static bool is_found(const analysis *a, size_t k) {
  for (size_t i = 0; i < k; i++) {
    const double variance = a->small[i * a->m + i];
    double off = 0;
    for (size_t d = 0; d < a->dim; d++) off = fmax(off, fabs(a->w[i * a->dim + d] - variance * a->v[i * a->dim + d]));
    if (off > TOLERANCE * a->small[0]) return false;
  }
  return true;
}

static void find_directions(analysis *a, size_t k, cq_context *ctx) {
  memset(a->v, 0, a->m * a->dim * sizeof *a->v);
  make_basis(a->v, a->m, a->dim);
  for (int round = 0; round < MAX_ROUNDS; round++) {
    cq_context_run(ctx, a->m, apply_covariance, a);
    rotate_basis(a);
    if (is_found(a, k)) break;
    memcpy(a->v, a->w, a->m * a->dim * sizeof *a->v);
    make_basis(a->v, a->m, a->dim);
  }
}

static void fix_sign(double *v, size_t dim) {
  size_t largest = 0;
  for (size_t d = 1; d < dim; d++)
    if (fabs(v[d]) > fabs(v[largest]) * (1 + 1e-9)) largest = d; /* the first of equal ones, despite rounding */
  const double sign = v[largest] < 0 ? -1 : 1;
  for (size_t d = 0; d < dim; d++) v[d] *= sign;
}

/* --- the whole --- */

static cq_status allocate_pca(analysis *a, cq_error *error) {
  size_t n_centered;
  if (!cq_checked_mul(&n_centered, a->n, a->dim)) return cq_fail_memory(error, "vectors to project");
  a->centered = cq_alloc_array(n_centered, sizeof(double));
  a->covariance = cq_alloc_array(a->dim * a->dim, sizeof(double));
  a->v = cq_alloc_array(a->m * a->dim, sizeof(double));
  a->w = cq_alloc_array(a->m * a->dim, sizeof(double));
  a->small = cq_alloc_array(a->m * a->m, sizeof(double));
  a->turn = cq_alloc_array(a->m * a->m, sizeof(double));
  a->row = cq_alloc_array(a->dim + a->m, sizeof(double));
  return a->centered && a->covariance && a->v && a->w && a->small && a->turn && a->row
             ? CQ_OK
             : cq_fail_memory(error, "vectors to project");
}

static void free_pca(analysis *a) {
  cq_free(a->centered);
  cq_free(a->covariance);
  cq_free(a->v);
  cq_free(a->w);
  cq_free(a->small);
  cq_free(a->turn);
  cq_free(a->row);
}

/* Finds the first k directions, the rows of a->v; call free_pca even after an error. */
static cq_status analyze(analysis *a, double *shares, const float *vectors, size_t n, int dim, int n_components,
                         cq_context *ctx, cq_error *error) {
  cq_status status = cq_points_check(vectors, n, dim, error);
  if (status) return status;
  if (n_components < 1 || n_components > dim)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%d components of %d dimensions, expected 1 to %d", n_components, dim, dim);
  const size_t k = (size_t)n_components;
  *a = (analysis){.n = n, .dim = (size_t)dim, .m = cq_min((size_t)dim, k + MORE_DIRECTIONS)};
  if ((status = allocate_pca(a, error))) return status;
  center_vectors(a, vectors);
  cq_context_run(ctx, a->dim, covariance_row, a);
  find_directions(a, k, ctx);
  double all = 0;
  for (size_t d = 0; d < a->dim; d++) all += a->covariance[d * a->dim + d];
  for (size_t c = 0; c < k; c++) {
    fix_sign(a->v + c * a->dim, a->dim);
    if (shares) shares[c] = all > 0 ? fmax(0, a->small[c * a->m + c]) / all : 0;
  }
  return CQ_OK;
}

cq_status cq_pca(double *out, double *shares, const float *vectors, size_t n, int dim, int n_components,
                 cq_context *ctx, cq_error *error) {
  analysis a = {0};
  const size_t k = (size_t)n_components;
  const cq_status status = analyze(&a, shares, vectors, n, dim, n_components, ctx, error);
  for (size_t i = 0; !status && i < n; i++)
    for (size_t c = 0; c < k; c++) out[i * k + c] = dot_rows(a.centered + i * a.dim, a.v + c * a.dim, a.dim);
  free_pca(&a);
  return status;
}

cq_status cq_pca_axes(double *axes, const float *vectors, size_t n, int dim, int n_components, cq_context *ctx,
                      cq_error *error) {
  analysis a = {0};
  const cq_status status = analyze(&a, NULL, vectors, n, dim, n_components, ctx, error);
  if (!status) memcpy(axes, a.v, (size_t)n_components * a.dim * sizeof *axes);
  free_pca(&a);
  return status;
}

cq_status cq_symmetric_axes(double *axes, const double *matrix, size_t dim, size_t n, cq_context *ctx,
                            cq_error *error) {
  analysis a = {.n = 1, .dim = dim, .m = dim}; /* the whole basis: one round is exact, as n is a large share of it */
  const cq_status status = allocate_pca(&a, error);
  if (!status) {
    memcpy(a.covariance, matrix, dim * dim * sizeof *matrix);
    find_directions(&a, n, ctx);
    for (size_t i = 0; i < n; i++) fix_sign(a.v + i * dim, dim);
    memcpy(axes, a.v, n * dim * sizeof *axes);
  }
  free_pca(&a);
  return status;
}

cq_status cq_points_check(const float *vectors, size_t n, int dim, cq_error *error) {
  if (n < CQ_MIN_POINTS)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%zu vectors to project, expected at least %d", n, CQ_MIN_POINTS);
  if (dim < 1) return cq_fail(error, CQ_ERR_ARGUMENT, "vectors of %d dimensions, expected at least 1", dim);
  for (size_t i = 0; i < n; i++)
    for (int d = 0; d < dim; d++)
      if (!isfinite(vectors[i * (size_t)dim + (size_t)d]))
        return cq_fail(error, CQ_ERR_ARGUMENT, "vector %zu of %zu: number %d of %d is not finite", i + 1, n, d + 1,
                       dim);
  return CQ_OK;
}
