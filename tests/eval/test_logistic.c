/* Logistic regression against scikit-learn's, against its own plain loss, for any number of threads; scores by hand. */
#include "golden.h"

#include "base/memory.h"
#include "calque/classify.h"

enum { N = 90, DIM = 7, K = 3, N_C = 3 };
static const double cs[N_C] = {0.1, 1, 30};

static float *vectors;
static uint32_t *classes;
static double *expected;

static int read_golden(void **state) {
  (void)state;
  vectors = golden_array("logistic-vectors", N * DIM * sizeof *vectors);
  classes = golden_array("logistic-classes", N * sizeof *classes);
  expected = golden_array("logistic-weights", N_C * K * (DIM + 1) * sizeof *expected);
  return 0;
}

static int free_golden(void **state) {
  (void)state;
  free(vectors), free(classes), free(expected);
  return 0;
}

static double plain_loss(const double *w, double c) {
  double loss = 0;
  for (size_t i = 0; i < N; i++) {
    double scores[K], sum = 0;
    for (size_t k = 0; k < K; k++) {
      scores[k] = w[k * (DIM + 1) + DIM];
      for (size_t d = 0; d < DIM; d++) scores[k] += w[k * (DIM + 1) + d] * (double)vectors[i * DIM + d];
      sum += exp(scores[k]);
    }
    loss -= c * (scores[classes[i]] - log(sum));
  }
  for (size_t k = 0; k < K; k++)
    for (size_t d = 0; d < DIM; d++) loss += w[k * (DIM + 1) + d] * w[k * (DIM + 1) + d] / 2;
  return loss;
}

/* Intercepts may all be moved by the same: their differences are what counts. */
static void the_minimum_is_that_of_scikit_learn(void **state) {
  (void)state;
  for (int i = 0; i < N_C; i++) {
    cq_logistic m;
    cq_logistic_options o = cq_logistic_default_options();
    o.c = cs[i], o.tolerance = 1e-8;
    assert_int_equal(cq_logistic_train(&m, vectors, classes, N, DIM, K, &o, NULL, NULL), CQ_OK);
    assert_true(m.converged && m.n_iterations > 3);
    const double *e = expected + i * K * (DIM + 1);
    for (size_t k = 0; k < K; k++)
      for (size_t d = 0; d <= DIM; d++) {
        const double shift = d == DIM ? m.weights[DIM] - e[DIM] : 0;
        assert_near(m.weights[k * (DIM + 1) + d] - shift, e[k * (DIM + 1) + d], 2e-5);
      }
    assert_near(m.loss, plain_loss(m.weights, cs[i]), 1e-9 * m.loss);
    assert_true(m.loss <= plain_loss(e, cs[i]) * (1 + 1e-12));
    for (size_t r = 0; r < N; r++) {
      double best = -INFINITY;
      uint32_t wanted = 0;
      for (uint32_t k = 0; k < K; k++) {
        double score = e[k * (DIM + 1) + DIM];
        for (size_t d = 0; d < DIM; d++) score += e[k * (DIM + 1) + d] * (double)vectors[r * DIM + d];
        if (score > best) best = score, wanted = k;
      }
      assert_int_equal(cq_logistic_class(&m, vectors + r * DIM), wanted);
    }
    cq_logistic_free(&m);
  }
}

static void threads_make_no_difference(void **state) {
  (void)state;
  cq_logistic m[2];
  cq_context *ctx;
  assert_int_equal(cq_context_open(&ctx, 3, NULL), CQ_OK);
  for (int i = 0; i < 2; i++)
    assert_int_equal(cq_logistic_train(&m[i], vectors, classes, N, DIM, K, NULL, i ? ctx : NULL, NULL), CQ_OK);
  assert_memory_equal(m[0].weights, m[1].weights, K * (DIM + 1) * sizeof(double));
  for (int i = 0; i < 2; i++) cq_logistic_free(&m[i]);
  cq_context_free(ctx);
}

/* Classes apart from one another: the weights stay finite, and every row is right. One that does not occur is never
 * said. */
static void easy_and_missing_classes(void **state) {
  (void)state;
  const float x[] = {-2, -1, 1, 2};
  const uint32_t y[] = {0, 0, 2, 2};
  cq_logistic m;
  cq_logistic_options o = cq_logistic_default_options();
  o.c = 1e6;
  assert_int_equal(cq_logistic_train(&m, x, y, 4, 1, 3, &o, NULL, NULL), CQ_OK);
  for (size_t i = 0; i < 4; i++) assert_int_equal(cq_logistic_class(&m, &x[i]), y[i]);
  for (size_t i = 0; i < 6; i++) assert_true(isfinite(m.weights[i]));
  cq_logistic_free(&m);
}

static void scores_by_hand(void **state) {
  (void)state;
  const uint32_t gold[] = {0, 0, 0, 1, 1, 3}, said[] = {0, 0, 1, 1, 2, 3};
  cq_classify_result r;
  assert_int_equal(cq_classify_score(&r, said, gold, 6, 5, NULL), CQ_OK); /* class 4 does not occur */
  assert_near(r.accuracy, 4.0 / 6, 1e-15);
  assert_near(r.chance, 0.5, 1e-15);
  assert_near(r.macro_f1, (2 * 2 / 5.0 + 2 * 1 / 4.0 + 0 + 1) / 4, 1e-15);
  assert_int_equal(cq_classify_score(&r, said, gold, 0, 5, NULL), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_classify_score(&r, said, gold, 6, 3, NULL), CQ_ERR_ARGUMENT);
}

static void what_is_refused(void **state) {
  (void)state;
  cq_logistic m;
  cq_error error;
  float bad[] = {0, 1, NAN, 3};
  const uint32_t y[] = {0, 1, 0, 1};
  cq_logistic_options o = cq_logistic_default_options();
  assert_int_equal(cq_logistic_train(&m, bad, y, 4, 1, 2, NULL, NULL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "row 2 is not finite"));
  assert_int_equal(cq_logistic_train(&m, bad, y, 2, 1, 1, NULL, NULL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "2 rows of 1 classes"));
  assert_int_equal(cq_logistic_train(&m, vectors, classes, N, DIM, 2, NULL, NULL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "is of class 2 of 2"));
  o.c = 0;
  assert_int_equal(cq_logistic_train(&m, vectors, classes, N, DIM, K, &o, NULL, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "c is 0, expected 1e-09 to 1000000000");
  assert_null(m.weights);
  for (long n = 1;; n++) {
    cq_alloc_fail_at(n);
    const cq_status status = cq_logistic_train(&m, vectors, classes, N, DIM, K, NULL, NULL, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    cq_logistic_free(&m);
    if (!failed) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_minimum_is_that_of_scikit_learn),
      cmocka_unit_test(threads_make_no_difference),
      cmocka_unit_test(easy_and_missing_classes),
      cmocka_unit_test(scores_by_hand),
      cmocka_unit_test(what_is_refused),
  };
  return cmocka_run_group_tests(tests, read_golden, free_golden);
}
