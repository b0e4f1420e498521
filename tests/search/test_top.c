/* Few queries against many documents, beside the plain loop: filters, ties, zero rows, fewer documents than k. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "calque/embedding.h"
#include "search/top.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_odd(const void *context, size_t row) {
  (void)context;
  return row % 2 == 1;
}

static bool is_not_7(const void *context, size_t row) {
  (void)context;
  return row != 7;
}

/* Rank by rank: no allowed row outside of the list is better than the list's last. */
static void check(const float *queries, size_t n_queries, const float *documents, size_t n, size_t dim, size_t k,
                  bool (*allowed)(const void *, size_t), cq_context *ctx) {
  cq_neighbors got;
  bool *seen = malloc(n + 1);
  assert_int_equal(cq_top(&got, queries, n_queries, documents, n, dim, k, allowed, NULL, ctx, NULL), CQ_OK);
  assert_int_equal(got.n, n_queries);
  assert_int_equal(got.k, k);
  for (size_t q = 0; q < n_queries; q++) {
    size_t n_allowed = 0;
    for (size_t j = 0; j < n; j++) seen[j] = false, n_allowed += !allowed || allowed(NULL, j);
    for (size_t r = 0; r < k; r++) {
      const uint32_t index = got.index[q * k + r];
      if (r >= n_allowed) {
        assert_int_equal(index, UINT32_MAX);
        continue;
      }
      assert_true(index < n && !seen[index] && (!allowed || allowed(NULL, index)));
      seen[index] = true;
      const double cosine = got.cosine[q * k + r];
      assert_true(fabs(cosine - cq_cosine(queries + q * dim, documents + index * dim, dim)) <= 1e-14);
      if (r > 0) {
        const double before = got.cosine[q * k + r - 1];
        assert_true(before > cosine || (before == cosine && got.index[q * k + r - 1] < index));
      }
    }
    for (size_t j = 0; j < n && n_allowed > k; j++)
      if (!seen[j] && (!allowed || allowed(NULL, j)))
        assert_true(cq_cosine(queries + q * dim, documents + j * dim, dim) <= got.cosine[q * k + k - 1] + 1e-14);
  }
  cq_neighbors_free(&got);
  free(seen);
}

static void the_nearest_are_found(void **state) {
  (void)state;
  const size_t sizes[][4] = {{1, 1, 1, 1},  {3, 700, 16, 5}, {70, 300, 33, 4},
                             {2, 3, 8, 10}, {0, 5, 4, 2},    {4, 0, 4, 2}};
  for (int threads = 0; threads <= 2; threads++) {
    cq_context *ctx = NULL;
    if (threads) assert_int_equal(cq_context_open(&ctx, threads, NULL), CQ_OK);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      const size_t n_queries = sizes[s][0], n = sizes[s][1], dim = sizes[s][2], k = sizes[s][3];
      for (int coarse = 0; coarse < 2; coarse++) {
        float *queries = malloc((n_queries * dim + 1) * sizeof *queries), *rows = malloc((n * dim + 1) * sizeof *rows);
        cq_random r = cq_random_seeded(s, (uint64_t)coarse);
        for (size_t i = 0; i < n_queries * dim; i++) queries[i] = (float)cq_random_normal(&r);
        for (size_t i = 0; i < n * dim; i++)
          rows[i] = coarse ? (float)cq_random_below(&r, 3) - 1 : (float)cq_random_normal(&r) * 3;
        check(queries, n_queries, rows, n, dim, k, NULL, ctx);
        check(queries, n_queries, rows, n, dim, k, is_odd, ctx);
        free(queries);
        free(rows);
      }
    }
    cq_context_free(ctx);
  }
}

/* By CSLS: each rank is the best of what is left, by the plain formula; one number of each document is another's. */
static void hubs_come_later(void **state) {
  (void)state;
  enum { QUERIES = 20, ROWS = 600, DIM = 9, K = 7, STRIDE = 2 };
  static float queries[QUERIES * DIM], rows[ROWS * DIM], means[ROWS * STRIDE];
  _Atomic double lengths[ROWS] = {0};
  const cq_top_facts facts = {.means = means, .stride = STRIDE, .lengths = lengths};
  cq_random r = cq_random_seeded(3, 1);
  for (size_t i = 0; i < QUERIES * DIM; i++) queries[i] = (float)cq_random_normal(&r);
  for (size_t i = 0; i < ROWS * DIM; i++) rows[i] = (float)cq_random_normal(&r);
  for (size_t i = 0; i < ROWS * STRIDE; i++) means[i] = i % STRIDE ? 1e6F : (float)cq_random_normal(&r);
  memset(rows + 5 * DIM, 0, DIM * sizeof *rows); /* a cosine of 0, and the lowest number: the first of all */
  means[5 * STRIDE] = -100;
  for (size_t n_queries = 3; n_queries <= QUERIES; n_queries += QUERIES - 3) { /* by dot products, and by a product */
    cq_neighbors got;
    assert_int_equal(cq_top_csls(&got, queries, n_queries, rows, ROWS, DIM, K, &facts, is_not_7, NULL, NULL, NULL),
                     CQ_OK);
    for (size_t q = 0; q < n_queries; q++) {
      bool taken[ROWS] = {false};
      assert_int_equal(got.index[q * K], 5);
      for (size_t rank = 0; rank < K; rank++) {
        double best = -INFINITY;
        size_t at = ROWS;
        for (size_t i = 0; i < ROWS; i++) {
          const double score = 2 * cq_cosine(queries + q * DIM, rows + i * DIM, DIM) - (double)means[i * STRIDE];
          if (i != 7 && !taken[i] && score > best) best = score, at = i;
        }
        assert_int_equal(got.index[q * K + rank], at);
        assert_true(fabs(got.cosine[q * K + rank] - best) < 1e-12);
        taken[at] = true;
      }
    }
    cq_neighbors_free(&got);
  }
  for (size_t i = 0; i < ROWS; i++) { /* they were kept, and those of documents that are not allowed not looked at */
    double sum = 0;
    for (size_t d = 0; d < DIM; d++) sum += (double)rows[i * DIM + d] * (double)rows[i * DIM + d];
    assert_true(i == 7 ? lengths[i] == 0 : fabs(lengths[i] - sqrt(sum)) < 1e-5);
  }
}

static void errors_are_told(void **state) {
  (void)state;
  const float row[2] = {1, 2}, bad[2] = {NAN, 0};
  cq_neighbors got;
  assert_int_equal(cq_top(&got, row, 1, row, 1, 2, 0, NULL, NULL, NULL, NULL), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_top(&got, row, 1, row, 1, 0, 1, NULL, NULL, NULL, NULL), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_top(&got, bad, 1, row, 1, 2, 1, NULL, NULL, NULL, NULL), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_top(&got, row, 1, bad, 1, 2, 1, NULL, NULL, NULL, NULL), CQ_OK); /* never a hit */
  assert_int_equal(got.index[0], UINT32_MAX);
  cq_neighbors_free(&got);
  for (long n = 1;; n++) {
    cq_alloc_fail_at(n);
    const cq_status status = cq_top(&got, row, 1, row, 1, 2, 1, NULL, NULL, NULL, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    cq_neighbors_free(&got);
    if (!failed) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_nearest_are_found), cmocka_unit_test(hubs_come_later),
                                     cmocka_unit_test(errors_are_told)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
