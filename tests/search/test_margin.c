/* Margins and the choice of pairs, on neighbors worked out by hand and against a plain loop over a full matrix. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "calque/mine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two sources, three targets, k 2. Cosines:   t0    t1    t2
 *                                       s0  0.9   0.6   0.1
 *                                       s1  0.8   0.7   0.2  */
static uint32_t source_index[] = {0, 1, 0, 1}, target_index[] = {0, 1, 1, 0, 1, 0};
static double source_cosine[] = {0.9, 0.6, 0.8, 0.7}, target_cosine[] = {0.9, 0.8, 0.7, 0.6, 0.2, 0.1};
static const cq_neighbors of_source = {2, 2, source_index, source_cosine};
static const cq_neighbors of_target = {3, 2, target_index, target_cosine};

static void expect(cq_margin margin, cq_retrieval retrieval, size_t n_candidates, double threshold,
                   const cq_mined_pair *expected, size_t n_expected) {
  cq_margin_options o = cq_margin_default_options();
  o.margin = margin, o.retrieval = retrieval, o.n_candidates = n_candidates, o.threshold = threshold;
  cq_mined_pair *got;
  size_t n;
  assert_int_equal(cq_margin_pairs(&got, &n, &of_source, &of_target, &o, NULL), CQ_OK);
  assert_int_equal(n, n_expected);
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(got[i].source, expected[i].source);
    assert_int_equal(got[i].target, expected[i].target);
    assert_float_equal(got[i].score, expected[i].score, 1e-15);
    assert_float_equal(got[i].cosine, expected[i].cosine, 1e-15);
  }
  cq_free(got);
}

static void pairs_by_hand(void **state) {
  (void)state;
  /* means: s0 s1 0.75; t0 0.85, t1 0.65, t2 0.15 */
  const double s00 = 0.9 / 0.8, s01 = 0.6 / 0.7, s10 = 0.8 / 0.8, s11 = 0.7 / 0.7, s12 = 0.2 / 0.45;
  expect(CQ_MARGIN_RATIO, CQ_RETRIEVE_FORWARD, 1, -INFINITY, (cq_mined_pair[]){{0, 0, s00, 0.9}, {1, 0, s10, 0.8}}, 2);
  expect(CQ_MARGIN_RATIO, CQ_RETRIEVE_FORWARD, 2, -INFINITY,
         (cq_mined_pair[]){{0, 0, s00, 0.9}, {1, 0, s10, 0.8}, {1, 1, s11, 0.7}, {0, 1, s01, 0.6}}, 4);
  expect(CQ_MARGIN_RATIO, CQ_RETRIEVE_BACKWARD, 1, -INFINITY,
         (cq_mined_pair[]){{0, 0, s00, 0.9}, {1, 1, s11, 0.7}, {1, 2, s12, 0.2}}, 3);
  expect(CQ_MARGIN_RATIO, CQ_RETRIEVE_INTERSECT, 1, -INFINITY, (cq_mined_pair[]){{0, 0, s00, 0.9}}, 1);
  expect(CQ_MARGIN_RATIO, CQ_RETRIEVE_MAX, 1, -INFINITY, (cq_mined_pair[]){{0, 0, s00, 0.9}, {1, 1, s11, 0.7}}, 2);
  expect(CQ_MARGIN_RATIO, CQ_RETRIEVE_MAX, 1, 1.01, (cq_mined_pair[]){{0, 0, s00, 0.9}}, 1);
  expect(CQ_MARGIN_RATIO, CQ_RETRIEVE_MAX, 1, 9, NULL, 0);
  expect(CQ_MARGIN_ABSOLUTE, CQ_RETRIEVE_FORWARD, 1, -INFINITY, (cq_mined_pair[]){{0, 0, 0.9, 0.9}, {1, 0, 0.8, 0.8}},
         2);
  expect(CQ_MARGIN_DISTANCE, CQ_RETRIEVE_INTERSECT, 1, -INFINITY, (cq_mined_pair[]){{0, 0, 0.9 - 0.8, 0.9}}, 1);
}

/* What is left out for its cosine was chosen: s0 keeps no other target, nor is one with NaN kept. */
static void a_cosine_may_be_asked_for_beside_the_margin(void **state) {
  (void)state;
  const double s00 = 0.9 / 0.8, s11 = 0.7 / 0.7, s12 = 0.2 / 0.45;
  cq_margin_options o = cq_margin_default_options();
  cq_mined_pair *got;
  size_t n;
  o.retrieval = CQ_RETRIEVE_BACKWARD; /* {0, 0} of 0.9, {1, 1} of 0.7, {1, 2} of 0.2 */
  o.min_cosine = 0.7;
  assert_int_equal(cq_margin_pairs(&got, &n, &of_source, &of_target, &o, NULL), CQ_OK);
  assert_int_equal(n, 2);
  assert_float_equal(got[0].score, s00, 1e-15);
  assert_float_equal(got[1].score, s11, 1e-15);
  cq_free(got);
  o.threshold = 1.01; /* both together */
  assert_int_equal(cq_margin_pairs(&got, &n, &of_source, &of_target, &o, NULL), CQ_OK);
  assert_int_equal(n, 1);
  assert_int_equal(got[0].target, 0);
  cq_free(got);
  o.threshold = s12, o.min_cosine = 0.91;
  assert_int_equal(cq_margin_pairs(&got, &n, &of_source, &of_target, &o, NULL), CQ_OK);
  assert_int_equal(n, 0);
  assert_null(got);
  o.min_cosine = 1.5;
  cq_error error = {0};
  assert_int_equal(cq_margin_pairs(&got, &n, &of_source, &of_target, &o, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "min-cosine"));
  /* {2, 1} scores 0.2375, {0, 0} 0.075 with a low cosine, {1, 0} 0.0625 with a high one: greedily, target 0 goes to {0, 0}
   * and to none when that is left out. */
  static uint32_t x_index[] = {0, 2, 1, 0, 1, 0}, y_index[] = {1, 0, 2, 1, 0, 1};
  static double x_cosine[] = {0.3, -0.3, 0.65, 0.6, 0.9, 0.2}, y_cosine[] = {0.6, 0.3, 0.9, 0.65, -0.3, -0.4};
  const cq_neighbors x = {3, 2, x_index, x_cosine}, y = {3, 2, y_index, y_cosine};
  o = cq_margin_default_options(), o.margin = CQ_MARGIN_DISTANCE;
  assert_int_equal(cq_margin_pairs(&got, &n, &x, &y, &o, NULL), CQ_OK);
  assert_int_equal(n, 2);
  assert_true(got[1].source == 0 && got[1].target == 0);
  cq_free(got);
  o.min_cosine = 0.5;
  assert_int_equal(cq_margin_pairs(&got, &n, &x, &y, &o, NULL), CQ_OK);
  assert_int_equal(n, 1);
  assert_true(got[0].source == 2 && got[0].target == 1);
  cq_free(got);
}

/* On random vectors: every candidate's score from the full matrix of cosines. */
static void scores_equal_the_plain_loop(void **state) {
  (void)state;
  enum { N = 60, M = 45, DIM = 6, K = 4 };
  float x[N * DIM], y[M * DIM];
  static double cosines[N][M], mean_x[N], mean_y[M];
  cq_random r = cq_random_seeded(7, 0);
  for (size_t i = 0; i < N * DIM; i++) x[i] = (float)cq_random_normal(&r);
  for (size_t i = 0; i < M * DIM; i++) y[i] = (float)cq_random_normal(&r);
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < M; j++) {
      double xy = 0, xx = 0, yy = 0;
      for (size_t d = 0; d < DIM; d++) {
        xy += (double)x[i * DIM + d] * (double)y[j * DIM + d];
        xx += (double)x[i * DIM + d] * (double)x[i * DIM + d];
        yy += (double)y[j * DIM + d] * (double)y[j * DIM + d];
      }
      cosines[i][j] = xy / sqrt(xx * yy);
    }
  for (size_t i = 0; i < N; i++) { /* mean of the K highest: each is counted whose rank is below K */
    for (size_t j = 0; j < M; j++) {
      size_t rank = 0;
      for (size_t o = 0; o < M; o++) rank += cosines[i][o] > cosines[i][j];
      if (rank < K) mean_x[i] += cosines[i][j] / K;
    }
  }
  for (size_t j = 0; j < M; j++) {
    for (size_t i = 0; i < N; i++) {
      size_t rank = 0;
      for (size_t o = 0; o < N; o++) rank += cosines[o][j] > cosines[i][j];
      if (rank < K) mean_y[j] += cosines[i][j] / K;
    }
  }
  cq_neighbors of_x, of_y;
  cq_mined_pair *pairs;
  size_t n;
  assert_int_equal(cq_nearest(&of_x, &of_y, x, N, y, M, DIM, NULL, NULL, NULL), CQ_OK);
  cq_margin_options all = cq_margin_default_options();
  all.retrieval = CQ_RETRIEVE_FORWARD, all.n_candidates = K;
  assert_int_equal(cq_margin_pairs(&pairs, &n, &of_x, &of_y, &all, NULL), CQ_OK);
  assert_int_equal(n, N * K);
  for (size_t i = 0; i < n; i++) {
    const cq_mined_pair p = pairs[i];
    assert_float_equal(p.score, cosines[p.source][p.target] / ((mean_x[p.source] + mean_y[p.target]) / 2), 1e-12);
    assert_true(i == 0 || pairs[i - 1].score >= p.score);
  }
  cq_free(pairs);
  /* The default: no row twice, and no pair left out for a lower one. */
  assert_int_equal(cq_margin_pairs(&pairs, &n, &of_x, &of_y, NULL, NULL), CQ_OK);
  bool source_seen[N] = {false}, target_seen[M] = {false};
  for (size_t i = 0; i < n; i++) {
    assert_false(source_seen[pairs[i].source] || target_seen[pairs[i].target]);
    source_seen[pairs[i].source] = target_seen[pairs[i].target] = true;
  }
  cq_free(pairs);
  cq_neighbors_free(&of_x);
  cq_neighbors_free(&of_y);
}

static void pairs_within_by_hand(void **state) {
  (void)state;
  /* Four rows, k 1: 0 and 1 are each other's nearest, 2 is nearest to 1, 3 to 2. */
  uint32_t index[] = {1, 0, 1, 2};
  double cosine[] = {0.9, 0.9, 0.8, 0.7};
  const cq_neighbors near = {4, 1, index, cosine};
  const double means[] = {0.9, 0.9, 0.8, 0.7};
  const struct {
    cq_retrieval retrieval;
    size_t n;
    uint32_t rows[3][2];
  } cases[] = {{CQ_RETRIEVE_FORWARD, 3, {{0, 1}, {1, 2}, {2, 3}}},
               {CQ_RETRIEVE_INTERSECT, 1, {{0, 1}}},
               {CQ_RETRIEVE_MAX, 2, {{0, 1}, {2, 3}}}};
  for (size_t c = 0; c < 3; c++) {
    cq_margin_options o = cq_margin_default_options();
    cq_mined_pair *pairs;
    size_t n;
    o.retrieval = cases[c].retrieval;
    assert_int_equal(cq_margin_pairs_within(&pairs, &n, &near, &o, NULL), CQ_OK);
    assert_int_equal(n, cases[c].n);
    for (size_t i = 0; i < n; i++) {
      const uint32_t a = cases[c].rows[i][0], b = cases[c].rows[i][1];
      assert_int_equal(pairs[i].source, a);
      assert_int_equal(pairs[i].target, b);
      assert_float_equal(pairs[i].score, pairs[i].cosine / ((means[a] + means[b]) / 2), 1e-15);
    }
    cq_free(pairs);
  }
}

static void empty_sides_zero_vectors_and_errors(void **state) {
  (void)state;
  const cq_neighbors none = {0};
  cq_mined_pair *pairs;
  size_t n = 1;
  cq_error error = {0};
  assert_int_equal(cq_margin_pairs(&pairs, &n, &none, &none, NULL, NULL), CQ_OK);
  assert_null(pairs);
  assert_int_equal(n, 0);
  assert_int_equal(cq_margin_pairs(&pairs, &n, &of_source, &none, NULL, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "neighbors of 2 and of 0 rows are not of one search");
  /* Zero vectors: cosines and means are 0, and so is the ratio. */
  const float zeros[4] = {0};
  cq_neighbors of_x, of_y;
  assert_int_equal(cq_nearest(&of_x, &of_y, zeros, 2, zeros, 2, 2, NULL, NULL, NULL), CQ_OK);
  assert_int_equal(cq_margin_pairs(&pairs, &n, &of_x, &of_y, NULL, NULL), CQ_OK);
  assert_int_equal(n, 1); /* both rows' best are each other's first */
  assert_float_equal(pairs[0].score, 0, 0);
  cq_free(pairs);
  cq_neighbors_free(&of_x);
  cq_neighbors_free(&of_y);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  for (long i = 1;; i++) {
    cq_mined_pair *pairs;
    size_t n;
    cq_alloc_fail_at(i);
    const cq_status status = cq_margin_pairs(&pairs, &n, &of_source, &of_target, NULL, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    cq_free(pairs);
    if (!failed) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pairs_by_hand),
      cmocka_unit_test(a_cosine_may_be_asked_for_beside_the_margin),
      cmocka_unit_test(scores_equal_the_plain_loop),
      cmocka_unit_test(pairs_within_by_hand),
      cmocka_unit_test(empty_sides_zero_vectors_and_errors),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
