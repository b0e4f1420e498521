/* Projections: principal components of known covariances, t-SNE's parts against their formulas and finite differences,
 * the whole against what it is for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"
#include "calque/extra/pca.h"
#include "calque/lab/tsne.h"
#include "lab/plot/tsne.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Orthonormal rows: the identity reflected at the plane orthogonal to v (Householder). */
static void reflect(double *rows, const double *v, size_t dim) {
  double square = 0;
  for (size_t d = 0; d < dim; d++) square += v[d] * v[d];
  for (size_t i = 0; i < dim; i++)
    for (size_t d = 0; d < dim; d++) rows[i * dim + d] = (i == d) - 2 * v[i] * v[d] / square;
}

/* Vectors at mean + and - sigma along each of dim directions: their covariance has these directions and variances
 * sigma^2 / dim. */
static void check_known_covariance(size_t dim, const double *sigma, size_t first, size_t second) {
  const size_t n = 2 * dim;
  double *v = malloc(dim * sizeof *v), *rows = malloc(dim * dim * sizeof *rows), out[2], shares[2];
  float *vectors = malloc(n * dim * sizeof *vectors);
  double *places = malloc(n * 2 * sizeof *places);
  double all = 0;
  cq_random random = cq_random_seeded(7, dim);
  for (size_t d = 0; d < dim; d++) v[d] = cq_random_normal(&random), all += sigma[d] * sigma[d];
  reflect(rows, v, dim);
  for (size_t i = 0; i < n; i++)
    for (size_t d = 0; d < dim; d++)
      vectors[i * dim + d] = (float)(3 + (i % 2 ? -1 : 1) * sigma[i / 2] * rows[i / 2 * dim + d]);
  assert_int_equal(cq_pca(places, shares, vectors, n, (int)dim, 2, NULL, NULL), CQ_OK);
  const size_t order[2] = {first, second};
  for (size_t c = 0; c < 2; c++) {
    const double *direction = rows + order[c] * dim;
    size_t largest = 0;
    for (size_t d = 1; d < dim; d++)
      if (fabs(direction[d]) > fabs(direction[largest])) largest = d;
    assert_float_equal(shares[c], sigma[order[c]] * sigma[order[c]] / all, 1e-6);
    for (size_t i = 0; i < n; i++) {
      out[c] = i / 2 == order[c] ? (i % 2 ? -1 : 1) * (direction[largest] < 0 ? -1 : 1) * sigma[order[c]] : 0;
      assert_float_equal(places[2 * i + c], out[c], 1e-5); /* vectors are f32 */
    }
    double axes[2 * 100];
    assert_int_equal(cq_pca_axes(axes, vectors, n, (int)dim, 2, NULL, NULL), CQ_OK);
    const double sign = direction[largest] < 0 ? -1 : 1;
    for (size_t d = 0; d < dim; d++) assert_float_equal(axes[c * dim + d], sign * direction[d], 1e-5);
  }
  free(v);
  free(rows);
  free(vectors);
  free(places);
}

static void components_of_known_covariances(void **state) {
  (void)state;
  check_known_covariance(2, (const double[]){1, 2}, 1, 0);
  check_known_covariance(3, (const double[]){0.5, 1, 4}, 2, 1);
  check_known_covariance(3, (const double[]){4, 0, 2}, 0, 2);
  double many[100];
  for (size_t d = 0; d < 100; d++) many[d] = 1; /* no gap below the second but a small one */
  many[70] = 1.1, many[3] = 1.2;
  check_known_covariance(100, many, 3, 70);
  for (size_t d = 0; d < 40; d++) many[d] = d < 2 ? 3.0 - (double)d : 0; /* rank 2 */
  check_known_covariance(40, many, 0, 1);
}

static void components_of_little(void **state) {
  (void)state;
  float one[4 * 5];
  double places[8], shares[2] = {7, 7};
  for (size_t i = 0; i < 20; i++) one[i] = 0.1f;
  assert_int_equal(cq_pca(places, shares, one, 4, 5, 2, NULL, NULL), CQ_OK);
  for (size_t i = 0; i < 8; i++) assert_true(places[i] == 0);
  assert_true(shares[0] == 0 && shares[1] == 0);
  const float line[3] = {1, 2, 6}; /* the mean is 3 */
  assert_int_equal(cq_pca(places, NULL, line, 3, 1, 1, NULL, NULL), CQ_OK);
  assert_float_equal(places[0], -2, 1e-12);
  assert_float_equal(places[1], -1, 1e-12);
  assert_float_equal(places[2], 3, 1e-12);
}

static void vectors_of_noise(float *out, size_t n, size_t dim, uint64_t seed) {
  cq_random random = cq_random_seeded(seed, 0);
  for (size_t i = 0; i < n * dim; i++) out[i] = (float)cq_random_normal(&random);
}

/* --- t-SNE's parts --- */

static void neighbors_hold_the_perplexity(void **state) {
  (void)state;
  enum { N = 40, SELF = 7 };
  static const double scales[] = {1, 1e-30, 1e30}, perplexities[] = {1.5, 10, 30, 38.5};
  for (size_t s = 0; s < 3; s++)
    for (size_t k = 0; k < 4; k++) {
      double p[N], distances[N], entropy = 0, sum = 0;
      cq_random random = cq_random_seeded(3, 0);
      for (size_t j = 0; j < N; j++) distances[j] = p[j] = scales[s] * (1 + cq_random_uniform(&random));
      cq_tsne_neighbors(p, N, SELF, perplexities[k]);
      for (size_t j = 0; j < N; j++) {
        sum += p[j];
        if (p[j] > 0) entropy -= p[j] * log(p[j]);
        for (size_t i = 0; i < N; i++) /* the nearer, the more */
          if (i != SELF && j != SELF && distances[i] < distances[j]) assert_true(p[i] >= p[j]);
      }
      assert_true(p[SELF] == 0);
      assert_float_equal(sum, 1, 1e-12);
      assert_float_equal(exp(entropy), perplexities[k], 1e-6);
    }
}

/* Five at one place: a Gaussian of no width has these five. And all at one distance. */
static void neighbors_that_are_equally_near(void **state) {
  (void)state;
  double p[10] = {0, 0, 0, 0, 0, 0, 4, 5, 6, 7};
  cq_tsne_neighbors(p, 10, 0, 3);
  for (size_t j = 0; j < 10; j++) assert_float_equal(p[j], j >= 1 && j <= 5 ? 0.2 : 0, 1e-9);
  for (size_t j = 0; j < 10; j++) p[j] = j == 4 ? 0 : 2.5;
  cq_tsne_neighbors(p, 10, 4, 3);
  for (size_t j = 0; j < 10; j++) assert_float_equal(p[j], j == 4 ? 0 : 1 / 9.0, 1e-12);
}

/* The formula as it stands: sum p log(p / q), q the share of 1 / (1 + distance^2). Exaggeration multiplies p where it
 * meets a distance. */
static double plain_divergence(const double *p, const double *y, size_t n, double exaggeration) {
  double all = 0, divergence = 0;
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n; j++) {
        const double dx = y[2 * i] - y[2 * j], dy = y[2 * i + 1] - y[2 * j + 1], w = 1 / (1 + dx * dx + dy * dy);
        if (i == j) continue;
        if (pass == 0)
          all += w;
        else
          divergence += p[i * n + j] * (log(p[i * n + j]) - exaggeration * log(w) + log(all));
      }
  return divergence;
}

static void gradient_is_the_slope(void **state) {
  (void)state;
  enum { N = 37 }; /* more than two blocks of rows, the last not full */
  static double p[N * N], y[2 * N], gradient[2 * N], work[N * CQ_TSNE_WORK];
  cq_random random = cq_random_seeded(5, 0);
  double sum = 0;
  for (size_t i = 0; i < N; i++)
    for (size_t j = i + 1; j < N; j++) p[i * N + j] = p[j * N + i] = 0.1 + cq_random_uniform(&random);
  for (size_t i = 0; i < N * N; i++) sum += p[i];
  for (size_t i = 0; i < N * N; i++) p[i] /= sum;
  for (size_t i = 0; i < 2 * N; i++) y[i] = 2 * cq_random_normal(&random);
  static const double exaggerations[] = {1, 12};
  for (size_t e = 0; e < 2; e++) {
    const double kl = cq_tsne_gradient(gradient, p, y, N, exaggerations[e], true, work, NULL);
    assert_float_equal(kl, plain_divergence(p, y, N, 1), 1e-12);
    assert_true(isnan(cq_tsne_gradient(gradient, p, y, N, exaggerations[e], false, work, NULL)));
    for (size_t i = 0; i < 2 * N; i++) {
      const double h = 1e-5, here = y[i];
      y[i] = here + h;
      const double above = plain_divergence(p, y, N, exaggerations[e]);
      y[i] = here - h;
      const double below = plain_divergence(p, y, N, exaggerations[e]);
      y[i] = here;
      assert_float_equal(gradient[i], (above - below) / (2 * h), 1e-9 * exaggerations[e]);
    }
  }
}

/* --- t-SNE --- */

static double distance(const double *y, size_t i, size_t j) {
  return hypot(y[2 * i] - y[2 * j], y[2 * i + 1] - y[2 * j + 1]);
}

static void clusters_stay_apart(void **state) {
  (void)state;
  enum { N = 60, DIM = 10 };
  float vectors[N * DIM];
  double y[2 * N], again[2 * N], divergence = NAN, longer;
  vectors_of_noise(vectors, N, DIM, 11);
  for (size_t i = 0; i < N; i++) vectors[i * DIM + 2] += i % 2 ? 20 : -20;
  cq_tsne_options o = cq_tsne_default_options();
  o.perplexity = 10;
  cq_error error = {0};
  assert_int_equal(cq_pca(y, NULL, vectors, N, 0, 1, NULL, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "vectors of 0 dimensions, expected at least 1");
  assert_int_equal(cq_tsne(y, &divergence, vectors, N, DIM, &o, NULL, NULL), CQ_OK);
  double within = 0, between = INFINITY, mean[2] = {0, 0};
  for (size_t i = 0; i < N; i++) {
    double nearest = INFINITY;
    for (size_t j = 0; j < N; j++) {
      if (i % 2 != j % 2) between = fmin(between, distance(y, i, j));
      if (i != j && i % 2 == j % 2) nearest = fmin(nearest, distance(y, i, j));
    }
    within = fmax(within, nearest);
    mean[0] += y[2 * i] / N, mean[1] += y[2 * i + 1] / N;
  }
  assert_true(between > 2 * within);
  assert_float_equal(mean[0], 0, 1e-9);
  assert_float_equal(mean[1], 0, 1e-9);
  assert_true(divergence > 0 && divergence < 1);

  /* The descent descends; other seeds, perplexities and lengths lead elsewhere. */
  o.n_iterations = 20;
  assert_int_equal(cq_tsne(again, &longer, vectors, N, DIM, &o, NULL, NULL), CQ_OK);
  assert_true(longer > divergence);
  assert_memory_not_equal(y, again, sizeof y);
  o.n_iterations = 1000, o.seed = 2;
  assert_int_equal(cq_tsne(again, NULL, vectors, N, DIM, &o, NULL, NULL), CQ_OK);
  assert_memory_not_equal(y, again, sizeof y);
  o.seed = 1, o.perplexity = 11;
  assert_int_equal(cq_tsne(again, NULL, vectors, N, DIM, &o, NULL, NULL), CQ_OK);
  assert_memory_not_equal(y, again, sizeof y);
}

/* The descent begins at the principal components: after a tiny step, points of a plane still lie as they did. */
static void components_are_the_start(void **state) {
  (void)state;
  enum { N = 40, DIM = 2 };
  float vectors[N * DIM];
  double y[2 * N];
  vectors_of_noise(vectors, N, DIM, 13);
  for (size_t i = 0; i < N; i++) vectors[DIM * i] *= 3;
  cq_tsne_options o = cq_tsne_default_options();
  o.perplexity = 10, o.n_iterations = 1, o.learning_rate = 1e-6;
  assert_int_equal(cq_tsne(y, NULL, vectors, N, DIM, &o, NULL, NULL), CQ_OK);
  for (size_t axis = 0; axis < 2; axis++) {
    double xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < N; i++) {
      const double a = vectors[DIM * i + axis], b = y[2 * i + axis];
      xx += a * a, yy += b * b, xy += a * b;
    }
    assert_true(fabs(xy) > 0.9 * sqrt(xx * yy));
  }

  /* Numbers have one component: beside it there is only noise, a hundredth of it. */
  assert_int_equal(cq_tsne(y, NULL, vectors, N, 1, &o, NULL, NULL), CQ_OK);
  double first = 0, second = 0;
  for (size_t i = 0; i < N; i++) first += y[2 * i] * y[2 * i], second += y[2 * i + 1] * y[2 * i + 1];
  assert_true(sqrt(second) < 0.05 * sqrt(first));
}

static void results_do_not_depend_on_threads(void **state) {
  (void)state;
  enum { N = 101, DIM = 33 };
  static float vectors[N * DIM];
  double y[2][2 * N], places[2][3 * N];
  cq_context *ctx;
  vectors_of_noise(vectors, N, DIM, 12);
  cq_tsne_options o = cq_tsne_default_options();
  o.n_iterations = 60;
  assert_int_equal(cq_context_open(&ctx, 3, NULL), CQ_OK);
  for (int t = 0; t < 2; t++) {
    assert_int_equal(cq_tsne(y[t], NULL, vectors, N, DIM, &o, t ? ctx : NULL, NULL), CQ_OK);
    assert_int_equal(cq_pca(places[t], NULL, vectors, N, DIM, 3, t ? ctx : NULL, NULL), CQ_OK);
  }
  assert_memory_equal(y[0], y[1], sizeof y[0]);
  assert_memory_equal(places[0], places[1], sizeof places[0]);
  cq_context_free(ctx);
}

/* What lies on a line, and what lies twice at one place, is laid out in two dimensions nevertheless. */
static void degenerate_vectors_are_laid_out(void **state) {
  (void)state;
  enum { N = 30 };
  float line[N], one[N * 2];
  double y[2 * N], spread[2] = {0, 0};
  for (size_t i = 0; i < N; i++) line[i] = (float)(i / 2), one[2 * i] = one[2 * i + 1] = 1;
  cq_tsne_options o = cq_tsne_default_options();
  o.perplexity = 5;
  assert_int_equal(cq_tsne(y, NULL, line, N, 1, &o, NULL, NULL), CQ_OK);
  for (size_t i = 0; i < 2 * N; i++) spread[i % 2] = fmax(spread[i % 2], fabs(y[i]));
  assert_true(spread[0] > 1 && spread[1] > 1);
  assert_int_equal(cq_tsne(y, NULL, one, N, 2, &o, NULL, NULL), CQ_OK);
  for (size_t i = 0; i < 2 * N; i++) assert_true(isfinite(y[i]));
  o.perplexity = 1.5;
  assert_int_equal(cq_tsne(y, NULL, one, 3, 2, &o, NULL, NULL), CQ_OK); /* the fewest */
}

/* --- errors --- */

struct told {
  uint64_t calls, last, n, stop_at;
};

static bool listen(void *context, uint64_t iteration, uint64_t n_iterations) {
  struct told *t = context;
  assert_true(iteration > t->last);
  t->calls++, t->last = iteration, t->n = n_iterations;
  return iteration < t->stop_at;
}

static void progress_is_told_and_may_stop(void **state) {
  (void)state;
  float vectors[20 * 3];
  double y[40];
  struct told told = {.stop_at = 1000};
  cq_error error;
  vectors_of_noise(vectors, 20, 3, 1);
  cq_tsne_options o = cq_tsne_default_options();
  o.perplexity = 5, o.n_iterations = 33, o.progress = listen, o.progress_context = &told;
  assert_int_equal(cq_tsne(y, NULL, vectors, 20, 3, &o, NULL, &error), CQ_OK);
  assert_true(told.calls >= 2 && told.last == 33 && told.n == 33);
  told = (struct told){.stop_at = 5};
  assert_int_equal(cq_tsne(y, NULL, vectors, 20, 3, &o, NULL, &error), CQ_ERR_STOPPED);
  assert_non_null(strstr(error.message, "of 33"));
  assert_int_equal(told.calls, 1);
}

static void bad_input_is_refused(void **state) {
  (void)state;
  float vectors[20 * 3];
  double y[40];
  cq_error error;
  vectors_of_noise(vectors, 20, 3, 1);
  cq_tsne_options o = cq_tsne_default_options();
  o.perplexity = 1.5;
  assert_int_equal(cq_pca(y, NULL, vectors, 2, 3, 2, NULL, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "2 vectors to project, expected at least 3");
  assert_int_equal(cq_tsne(y, NULL, vectors, 2, 3, &o, NULL, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "2 vectors to project, expected at least 3");
  assert_int_equal(cq_pca(y, NULL, vectors, 20, 0, 1, NULL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "0 dimensions"));
  for (int k = 0; k <= 4; k += 4) {
    assert_int_equal(cq_pca(y, NULL, vectors, 20, 3, k, NULL, &error), CQ_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "of 3 dimensions, expected 1 to 3"));
  }
  assert_int_equal(cq_tsne(y, NULL, vectors, CQ_TSNE_MAX_VECTORS + 1, 0, &o, NULL, &error), CQ_ERR_ARGUMENT);
  float *many = calloc(CQ_TSNE_MAX_VECTORS + 1, sizeof *many);
  assert_int_equal(cq_tsne(y, NULL, many, CQ_TSNE_MAX_VECTORS + 1, 1, &o, NULL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "5001 vectors, expected at most 5000"));
  free(many);

  static const double perplexities[] = {19, 30, 1, 0, -1, NAN, INFINITY};
  for (size_t i = 0; i < sizeof perplexities / sizeof *perplexities; i++) {
    o.perplexity = perplexities[i];
    assert_int_equal(cq_tsne(y, NULL, vectors, 20, 3, &o, NULL, &error), CQ_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, i < 2 ? "less than 19" : "expected more than 1"));
  }
  assert_int_equal(cq_tsne(y, NULL, vectors, 20, 3, NULL, NULL, &error), CQ_ERR_ARGUMENT); /* 30 is too much for 20 */
  o.perplexity = 18.5, o.n_iterations = 1;
  assert_int_equal(cq_tsne(y, NULL, vectors, 20, 3, &o, NULL, &error), CQ_OK);
  const cq_tsne_options good = o;
  o.n_iterations = 0;
  assert_int_equal(cq_tsne(y, NULL, vectors, 20, 3, &o, NULL, &error), CQ_ERR_ARGUMENT);
  o = good, o.n_exaggerated = -1;
  assert_int_equal(cq_tsne(y, NULL, vectors, 20, 3, &o, NULL, &error), CQ_ERR_ARGUMENT);
  o = good, o.exaggeration = 0.5;
  assert_int_equal(cq_tsne(y, NULL, vectors, 20, 3, &o, NULL, &error), CQ_ERR_ARGUMENT);
  o = good, o.learning_rate = -1;
  assert_int_equal(cq_tsne(y, NULL, vectors, 20, 3, &o, NULL, &error), CQ_ERR_ARGUMENT);

  static const float no_numbers[] = {NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < 3; i++) {
    vectors[7 * 3 + 1] = no_numbers[i];
    assert_int_equal(cq_pca(y, NULL, vectors, 20, 3, 2, NULL, &error), CQ_ERR_ARGUMENT);
    assert_string_equal(error.message, "vector 8 of 20: number 2 of 3 is not finite");
    assert_int_equal(cq_tsne(y, NULL, vectors, 20, 3, &good, NULL, &error), CQ_ERR_ARGUMENT);
    assert_string_equal(error.message, "vector 8 of 20: number 2 of 3 is not finite");
  }
  for (size_t i = 0; i < 60; i++) vectors[i] = i % 2 ? FLT_MAX : -FLT_MAX / 3; /* as far as floats go */
  assert_int_equal(cq_tsne(y, NULL, vectors, 20, 3, &good, NULL, &error), CQ_OK);
  for (size_t i = 0; i < 40; i++) assert_true(isfinite(y[i]));
}

static void memory_runs_out(void **state) {
  (void)state;
  float vectors[20 * 3];
  double y[40];
  vectors_of_noise(vectors, 20, 3, 1);
  cq_tsne_options o = cq_tsne_default_options();
  o.perplexity = 5, o.n_iterations = 1;
  for (int pca = 0; pca < 2; pca++) {
    long at = 0;
    cq_status status = CQ_ERR_MEMORY;
    while (status) {
      cq_alloc_fail_at(++at);
      status = pca ? cq_pca(y, NULL, vectors, 20, 3, 2, NULL, NULL) : cq_tsne(y, NULL, vectors, 20, 3, &o, NULL, NULL);
      assert_true(status == CQ_ERR_MEMORY || (status == CQ_OK && !cq_alloc_failed()));
      cq_alloc_fail_at(0);
    }
    assert_true(at > 5);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(components_of_known_covariances),
                                     cmocka_unit_test(components_of_little),
                                     cmocka_unit_test(neighbors_hold_the_perplexity),
                                     cmocka_unit_test(neighbors_that_are_equally_near),
                                     cmocka_unit_test(gradient_is_the_slope),
                                     cmocka_unit_test(clusters_stay_apart),
                                     cmocka_unit_test(components_are_the_start),
                                     cmocka_unit_test(results_do_not_depend_on_threads),
                                     cmocka_unit_test(degenerate_vectors_are_laid_out),
                                     cmocka_unit_test(progress_is_told_and_may_stop),
                                     cmocka_unit_test(bad_input_is_refused),
                                     cmocka_unit_test(memory_runs_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
