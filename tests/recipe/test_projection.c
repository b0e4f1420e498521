/* The linear map to another vector space: its residuals are those of a ridge regression, and it finds a map that is there. */
#include "support/files.h"

#include "base/memory.h"
#include "base/random.h"
#include "calque/calque.h"
#include "model/encoder.h"
#include "recipe/train/projection.h"

#include <math.h>

enum { N = 600, TO = 7 };
static const double RIDGE = 0.05;

static char texts[N][80];
static cq_slice slices[N];
static float targets[N][TO];
static const float *target_rows[N];

static cq_encoder *open_model(const char *name) {
  char path[400];
  cq_error error = {0};
  cq_encoder *encoder;
  cq_encoder_options o = cq_encoder_default_options();
  o.precision = CQ_PRECISION_F32;
  snprintf(path, sizeof path, "%s/golden/models/%s", CQ_TESTS_DIR, name);
  if (cq_encoder_open(&encoder, path, &o, &error)) fail_msg("%s: %s", path, error.message);
  return encoder;
}

static float *encode(const cq_encoder *e) {
  cq_error error = {0};
  cq_encode_options o = cq_encode_default_options();
  o.truncate_dim = cq_encoder_full_dim(e);
  float *out = cq_alloc_array(N * (size_t)cq_encoder_full_dim(e), sizeof *out);
  assert_non_null(out);
  if (cq_encoder_encode(out, NULL, e, slices, N, &o, NULL, &error)) fail_msg("%s", error.message);
  return out;
}

/* Targets are a linear map of the model's vectors, plus a constant and noise. */
static void make_targets(const float *x, size_t dim, float noise) {
  cq_random random = cq_random_seeded(3, 0);
  for (int d = 0; d < TO; d++) {
    for (int i = 0; i < N; i++) targets[i][d] = (float)d / 10;
    for (size_t k = 0; k < dim; k++) {
      const float a = (float)cq_random_normal(&random);
      for (int i = 0; i < N; i++) targets[i][d] += a * x[(size_t)i * dim + k];
    }
    for (int i = 0; i < N; i++) targets[i][d] += noise * (float)cq_random_normal(&random);
  }
  for (int i = 0; i < N; i++) target_rows[i] = targets[i];
}

static double mean_of(const float *column, size_t stride) {
  double sum = 0;
  for (size_t i = 0; i < N; i++) sum += (double)column[i * stride];
  return sum / N;
}

/* Σ (y - Wx - b) (x - mean) = ridge · W, and Σ (y - Wx - b) = 0. */
static void it_is_a_ridge_regression(void **state) {
  (void)state;
  cq_error error = {0};
  cq_encoder *e = open_model("bert-lower");
  const size_t dim = (size_t)cq_encoder_full_dim(e), before = e->n_modules;
  float *x = encode(e);
  make_targets(x, dim, 0.1f);
  assert_int_equal(cq_projection_append(e, slices, target_rows, N, TO, NULL, &error), CQ_OK);
  assert_int_equal(cq_encoder_full_dim(e), TO);
  const float *w = e->modules[before]->params[0].value, *b = e->modules[before]->params[1].value;
  double trace = 0, *means = cq_alloc_array(dim, sizeof *means);
  assert_non_null(means);
  for (size_t k = 0; k < dim; k++) {
    means[k] = mean_of(x + k, dim);
    for (size_t i = 0; i < N; i++) trace += pow((double)x[i * dim + k] - means[k], 2);
  }
  for (size_t d = 0; d < TO; d++) {
    double residuals[N], sum = 0;
    for (size_t i = 0; i < N; i++) {
      residuals[i] = (double)targets[i][d] - (double)b[d];
      for (size_t k = 0; k < dim; k++) residuals[i] -= (double)w[d * dim + k] * (double)x[i * dim + k];
      sum += residuals[i];
    }
    assert_true(fabs(sum / N) < 1e-5);
    for (size_t k = 0; k < dim; k++) {
      double product = 0;
      for (size_t i = 0; i < N; i++) product += residuals[i] * ((double)x[i * dim + k] - means[k]);
      const double expected = RIDGE * trace / (double)dim * (double)w[d * dim + k];
      assert_true(fabs(product - expected) < 1e-4 * (1 + fabs(expected)));
    }
  }
  cq_free(means);
  cq_free(x);
  cq_encoder_free(e);
}

/* A model of unit vectors gives unit vectors, near those of the other space. */
static void it_finds_the_map(void **state) {
  (void)state;
  cq_error error = {0};
  cq_encoder *e = open_model("static-normalized");
  const size_t dim = (size_t)cq_encoder_full_dim(e);
  float *x = encode(e);
  make_targets(x, dim, 0);
  assert_int_equal(cq_projection_append(e, slices, target_rows, N, TO, NULL, &error), CQ_OK);
  float *y = encode(e);
  double cosines = 0;
  for (size_t i = 0; i < N; i++) {
    double dot = 0, length = 0, target = 0;
    for (size_t d = 0; d < TO; d++) {
      dot += (double)y[i * TO + d] * (double)targets[i][d];
      length += (double)y[i * TO + d] * (double)y[i * TO + d], target += pow((double)targets[i][d], 2);
    }
    assert_true(fabs(length - 1) < 1e-5);
    cosines += dot / sqrt(target);
  }
  assert_true(cosines / N > 0.98);
  cq_free(x);
  cq_free(y);
  cq_encoder_free(e);
}

int main(void) {
  static const char *const words[] = {"sun", "dog", "house", "river", "bread", "music", "open", "city", "tree"};
  for (int i = 0; i < N; i++) {
    snprintf(texts[i], sizeof texts[i], "the %s and the %s, a %s of %s", words[i % 9], words[i / 9 % 9],
             words[i / 81 % 9], words[i % 7]);
    slices[i] = cq_slice_of(texts[i]);
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_is_a_ridge_regression),
      cmocka_unit_test(it_finds_the_map),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
