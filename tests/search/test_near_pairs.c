/* Near pairs and communities against plain loops. */
#include "support/files.h"

#include "base/memory.h"
#include "base/random.h"
#include "calque/cluster.h"
#include "calque/embedding.h"

#include <math.h>

enum { N = 300, DIM = 12 };

static float *rows_with_copies(uint64_t seed) {
  float *rows = malloc(N * DIM * sizeof *rows);
  cq_random r = cq_random_seeded(seed, 0);
  for (size_t i = 0; i < N * DIM; i++) rows[i] = (float)cq_random_normal(&r);
  for (size_t i = 50; i < 90; i++) memcpy(rows + i * DIM, rows + (i - 40) * DIM, DIM * sizeof *rows);
  memset(rows + 120 * DIM, 0, DIM * sizeof *rows);
  return rows;
}

static void pairs_equal_the_plain_loop(void **state) {
  (void)state;
  const double thresholds[] = {-1, 1e-4, 0.3, 0.8, 1.01};
  float *x = rows_with_copies(1);
  for (size_t t = 0; t < 5; t++) {
    for (int threads = 0; threads <= 3; threads++) {
      cq_context *ctx = NULL;
      cq_near_pair *pairs;
      size_t n, at = 0;
      cq_nearest_options o = cq_nearest_default_options();
      o.first_pass = threads % 2 ? CQ_FIRST_INT8 : CQ_FIRST_F32;
      if (threads) assert_int_equal(cq_context_open(&ctx, threads, NULL), CQ_OK);
      assert_int_equal(cq_near_pairs(&pairs, &n, x, N, DIM, thresholds[t], N * N, &o, ctx, NULL), CQ_OK);
      for (uint32_t i = 0; i < N; i++) {
        for (uint32_t j = 0; j < i; j++) {
          const double cosine = cq_cosine(x + i * DIM, x + j * DIM, DIM);
          if (fabs(cosine - thresholds[t]) < 1e-14) continue; /* copies at 1 are no such case */
          if (cosine < thresholds[t]) continue;
          assert_true(at < n);
          assert_int_equal(pairs[at].row, i);
          assert_int_equal(pairs[at].other, j);
          assert_true(fabs(pairs[at].cosine - cosine) <= 1e-14);
          at++;
        }
      }
      assert_int_equal(at, n);
      cq_free(pairs);
      cq_context_free(ctx);
    }
  }
  free(x);
}

static void too_many_pairs_are_refused(void **state) {
  (void)state;
  float *x = rows_with_copies(2);
  cq_near_pair *pairs;
  cq_error error = {0};
  size_t n;
  assert_int_equal(cq_near_pairs(&pairs, &n, x, N, DIM, -1, 1000, NULL, NULL, &error), CQ_ERR_LIMIT);
  assert_string_equal(error.message, "more than 1000 pairs have a cosine of -1 or more");
  assert_null(pairs);
  assert_int_equal(n, 0);
  assert_int_equal(cq_near_pairs(&pairs, &n, x, 0, DIM, 0, 1000, NULL, NULL, NULL), CQ_OK);
  assert_int_equal(n, 0);
  assert_int_equal(cq_near_pairs(&pairs, &n, x, 1, DIM, 0, 1000, NULL, NULL, NULL), CQ_OK);
  x[3] = NAN;
  assert_int_equal(cq_near_pairs(&pairs, &n, x, N, DIM, 0, 1000, NULL, NULL, &error), CQ_ERR_ARGUMENT);
  free(x);
}

/* Two stars that share a leaf, a pair, and a row alone. */
static void the_largest_takes_first(void **state) {
  (void)state;
  const cq_near_pair pairs[] = {{1, 0, 0.9}, {2, 0, 0.8}, {3, 0, 0.95}, {5, 3, 0.99}, {5, 4, 0.85}, {7, 6, 0.8}};
  cq_communities c;
  assert_int_equal(cq_communities_find(&c, pairs, 6, 9, 2, NULL), CQ_OK);
  const uint32_t rows[] = {0, 3, 1, 2, 5, 4, 6, 7};
  assert_int_equal(c.n, 3);
  assert_int_equal(c.starts[1], 4);
  assert_int_equal(c.starts[2], 6);
  assert_int_equal(c.starts[3], 8);
  for (size_t i = 0; i < 8; i++) assert_int_equal(c.members[i].row, rows[i]);
  assert_true(c.members[0].cosine == 1 && c.members[1].cosine == 0.95);
  cq_communities_free(&c);
  assert_int_equal(cq_communities_find(&c, pairs, 6, 9, 3, NULL), CQ_OK);
  assert_int_equal(c.n, 1);
  cq_communities_free(&c);
  assert_int_equal(cq_communities_find(&c, pairs, 6, 9, 1, NULL), CQ_OK);
  assert_int_equal(c.n, 4); /* row 8 is one of its own */
  cq_communities_free(&c);
  assert_int_equal(cq_communities_find(&c, NULL, 0, 0, 1, NULL), CQ_OK);
  assert_int_equal(c.n, 0);
  cq_communities_free(&c);
  assert_int_equal(cq_communities_find(&c, pairs, 6, 7, 2, NULL), CQ_ERR_ARGUMENT);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  float *x = rows_with_copies(3);
  for (long n = 1;; n++) {
    cq_near_pair *pairs = NULL;
    cq_communities c = {0};
    size_t n_pairs;
    cq_alloc_fail_at(n);
    cq_status status = cq_near_pairs(&pairs, &n_pairs, x, N, DIM, 0.4, N * N, NULL, NULL, NULL);
    if (!status) status = cq_communities_find(&c, pairs, n_pairs, N, 2, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    cq_free(pairs);
    cq_communities_free(&c);
    if (!failed) break;
  }
  free(x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pairs_equal_the_plain_loop), cmocka_unit_test(too_many_pairs_are_refused),
      cmocka_unit_test(the_largest_takes_first), cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
