/* Nearest neighbors against the plain loop in double precision: random rows, ties, copies, zero rows, odd sizes. */
#include "support/files.h"

#include "base/memory.h"
#include "base/random.h"
#include "calque/embedding.h"
#include "calque/nearest.h"

#include <math.h>

/* --- the specification --- */

typedef struct near {
  double cosine;
  uint32_t index;
} near;

static int by_cosine(const void *a, const void *b) {
  const near *x = a, *y = b;
  if (x->cosine != y->cosine) return x->cosine > y->cosine ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

/* Row by row; skip_same leaves a row out of its own list. */
static void check_lists(const cq_neighbors *got, const float *x, size_t n_x, const float *y, size_t n_y, size_t dim,
                        size_t k, bool skip_same) {
  const size_t n_others = n_y - (skip_same && n_y > 0), expected_k = k < n_others ? k : n_others;
  near *all = malloc((n_y + 1) * sizeof *all);
  assert_int_equal(got->n, n_x);
  assert_int_equal(got->k, expected_k);
  for (size_t i = 0; i < n_x; i++) {
    size_t n = 0;
    for (size_t j = 0; j < n_y; j++)
      if (!skip_same || j != i) all[n++] = (near){cq_cosine(x + i * dim, y + j * dim, dim), (uint32_t)j};
    qsort(all, n, sizeof *all, by_cosine);
    for (size_t r = 0; r < expected_k; r++) {
      const double cosine = got->cosine[i * expected_k + r];
      const uint32_t index = got->index[i * expected_k + r];
      if (!(fabs(cosine - all[r].cosine) <= 1e-14))
        fail_msg("row %zu, place %zu: cosine %.17g, expected %.17g", i, r, cosine, all[r].cosine);
      /* Another order of adding may turn round what differs by less than its rounding, and nothing else. */
      if (index != all[r].index && !(fabs(cq_cosine(x + i * dim, y + index * dim, dim) - all[r].cosine) <= 1e-15))
        fail_msg("row %zu, place %zu: %u, expected %u", i, r, index, all[r].index);
    }
  }
  free(all);
}

/* To the bit. */
static void check_same(const cq_neighbors *a, const cq_neighbors *b) {
  assert_int_equal(a->n, b->n);
  assert_int_equal(a->k, b->k);
  if (a->n * a->k == 0) return;
  assert_memory_equal(a->index, b->index, a->n * a->k * sizeof *a->index);
  assert_memory_equal(a->cosine, b->cosine, a->n * a->k * sizeof *a->cosine);
}

static void check_both(const float *x, size_t n_x, const float *y, size_t n_y, size_t dim, size_t k, cq_context *ctx) {
  cq_neighbors of_x, of_y, alone;
  cq_nearest_options o = cq_nearest_default_options();
  o.k = k;
  assert_int_equal(cq_nearest(&of_x, &of_y, x, n_x, y, n_y, dim, &o, ctx, NULL), CQ_OK);
  check_lists(&of_x, x, n_x, y, n_y, dim, k, false);
  check_lists(&of_y, y, n_y, x, n_x, dim, k, false);
  assert_int_equal(cq_nearest(&alone, NULL, x, n_x, y, n_y, dim, &o, ctx, NULL), CQ_OK);
  check_same(&alone, &of_x);
  cq_neighbors_free(&alone);
  o.first_pass = CQ_FIRST_INT8;
  cq_neighbors int8_x, int8_y;
  assert_int_equal(cq_nearest(&int8_x, &int8_y, x, n_x, y, n_y, dim, &o, ctx, NULL), CQ_OK);
  check_same(&int8_x, &of_x);
  check_same(&int8_y, &of_y);
  cq_neighbors_free(&int8_x);
  cq_neighbors_free(&int8_y);
  cq_neighbors_free(&of_x);
  cq_neighbors_free(&of_y);
}

static void check_within(const float *x, size_t n, size_t dim, size_t k, cq_context *ctx) {
  cq_neighbors got;
  cq_nearest_options o = cq_nearest_default_options();
  o.k = k;
  assert_int_equal(cq_nearest_within(&got, x, n, dim, &o, ctx, NULL), CQ_OK);
  check_lists(&got, x, n, x, n, dim, k, true);
  cq_neighbors_free(&got);
}

/* --- inputs --- */

static float *normal_rows(size_t n, size_t dim, uint64_t seed) {
  float *rows = malloc((n * dim + 1) * sizeof *rows);
  cq_random r = cq_random_seeded(seed, n);
  for (size_t i = 0; i < n * dim; i++) rows[i] = (float)cq_random_normal(&r);
  return rows;
}

/* Rows of few whole numbers: their cosines are often exactly equal, and zero rows are among them. */
static float *coarse_rows(size_t n, size_t dim, uint64_t seed) {
  float *rows = malloc((n * dim + 1) * sizeof *rows);
  cq_random r = cq_random_seeded(seed, n);
  for (size_t i = 0; i < n * dim; i++) rows[i] = (float)cq_random_below(&r, 3) - 1;
  for (size_t i = 0; i < n; i += 7) memset(rows + i * dim, 0, dim * sizeof *rows);
  return rows;
}

static void both_ways_equal_the_plain_loop(void **state) {
  (void)state;
  const size_t sizes[][3] = {{1, 1, 1},   {3, 7, 2},     {96, 256, 16}, {97, 257, 33}, {1, 600, 5}, {300, 1, 8},
                             {130, 9, 3}, {700, 40, 24}, {0, 4, 4},     {4, 0, 4},     {0, 0, 4},   {200, 1100, 7}};
  const size_t ks[] = {1, 4, 13};
  for (int threads = 0; threads <= 3; threads++) {
    cq_context *ctx = NULL;
    if (threads) assert_int_equal(cq_context_open(&ctx, threads, NULL), CQ_OK);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      const size_t n_x = sizes[s][0], n_y = sizes[s][1], dim = sizes[s][2], k = ks[(s + (size_t)threads) % 3];
      float *x = normal_rows(n_x, dim, s), *y = normal_rows(n_y, dim, s + 100);
      check_both(x, n_x, y, n_y, dim, k, ctx);
      check_within(x, n_x, dim, k, ctx);
      free(x);
      free(y);
      x = coarse_rows(n_x, dim, s), y = coarse_rows(n_y, dim, s + 200);
      check_both(x, n_x, y, n_y, dim, k, ctx);
      check_within(x, n_x, dim, k, ctx);
      free(x);
      free(y);
    }
    cq_context_free(ctx);
  }
}

/* Enough columns for several chunks, which only wide rows make small. */
static void several_chunks_equal_the_plain_loop(void **state) {
  (void)state;
  enum { N = 100, M = 500, DIM = 12000, EIGHT_BITS = 1024, MANY = 17000 };
  cq_context *ctx;
  assert_int_equal(cq_context_open(&ctx, 2, NULL), CQ_OK);
  float *x = normal_rows(N, DIM, 1), *y = normal_rows(M, DIM, 2);
  for (size_t i = 0; i < 100; i++) memcpy(y + (M - 1 - i) * DIM, x + i * DIM, DIM * sizeof *x); /* far copies */
  check_both(x, N, y, M, DIM, 3, ctx);
  check_within(y, 400, DIM, 3, ctx);
  free(x);
  x = normal_rows(MANY, EIGHT_BITS, 5);
  check_both(y, 20, x, MANY, EIGHT_BITS, 3, ctx);
  free(x);
  free(y);
  cq_context_free(ctx);
}

/* Copies, scaled copies, and rows that differ in the last bit: where an f32 score cannot decide. */
static void close_calls_are_decided_in_double(void **state) {
  (void)state;
  enum { N = 600, DIM = 40 };
  float *x = normal_rows(N, DIM, 1), *y = normal_rows(N, DIM, 5);
  for (size_t i = 0; i < N; i++) {
    const float *from = i % 10 == 0 ? x + i * DIM : y + (i - i % 10) * DIM;
    memcpy(y + i * DIM, from, DIM * sizeof *y);
    if (i % 10 == 1) y[i * DIM + 7] = nextafterf(from[7], 9);
    for (size_t d = 0; i % 10 == 3 && d < DIM; d++) y[i * DIM + d] *= 2;
    for (size_t d = 0; i % 10 == 4 && d < DIM; d++) y[i * DIM + d] *= 1 + (d & 1 ? 1e-7f : -1e-7f);
    if (i % 10 == 6) memset(y + i * DIM, 0, DIM * sizeof *y);
  }
  check_both(x, N, y, N, DIM, 4, NULL);
  check_within(y, N, DIM, 4, NULL);
  cq_neighbors of_x, of_y;
  assert_int_equal(cq_nearest(&of_x, &of_y, x, 20, y, 20, DIM, NULL, NULL, NULL), CQ_OK);
  assert_int_equal(of_x.index[0], 0); /* of equal rows the first */
  assert_int_equal(of_y.k, 4);
  cq_neighbors_free(&of_x);
  cq_neighbors_free(&of_y);
  for (size_t i = 1; i < N; i++) memcpy(x + i * DIM, x, DIM * sizeof *x); /* a collapsed model */
  check_both(x, N, x, N, DIM, 4, NULL);
  check_within(x, N, DIM, 4, NULL);
  free(x);
  free(y);
}

static void lengths_far_from_one_do_not_matter(void **state) {
  (void)state;
  enum { N = 257, DIM = 384 };
  float *x = normal_rows(N, DIM, 3), *y = normal_rows(N, DIM, 4);
  for (size_t i = 0; i < N * DIM; i++) x[i] *= 1e-18f, y[i] *= 1e18f;
  check_both(x, N, y, N, DIM, 4, NULL);
  free(x);
  free(y);
}

/* Rows that stand in another order among others give what the same rows in a matrix of their own give. */
static void rows_may_stand_anywhere(void **state) {
  (void)state;
  enum { N = 150, M = 210, ALL = 500, DIM = 20 };
  float *all = normal_rows(ALL, DIM, 9), *x = malloc(N * DIM * sizeof *x), *y = malloc(M * DIM * sizeof *y);
  uint32_t x_rows[N], y_rows[M];
  for (uint32_t i = 0; i < N; i++) memcpy(x + i * DIM, all + (x_rows[i] = i * 317 % ALL) * DIM, DIM * sizeof *x);
  for (uint32_t i = 0; i < M; i++) memcpy(y + i * DIM, all + (y_rows[i] = i * 119 % ALL) * DIM, DIM * sizeof *y);
  cq_nearest_options plain = cq_nearest_default_options(), mapped = plain;
  mapped.x_rows = x_rows, mapped.y_rows = y_rows;
  cq_neighbors of_x, of_y, want_x, want_y;
  assert_int_equal(cq_nearest(&want_x, &want_y, x, N, y, M, DIM, &plain, NULL, NULL), CQ_OK);
  assert_int_equal(cq_nearest(&of_x, &of_y, all, N, all, M, DIM, &mapped, NULL, NULL), CQ_OK);
  check_same(&of_x, &want_x);
  check_same(&of_y, &want_y);
  cq_neighbors_free(&of_x);
  cq_neighbors_free(&want_x);
  assert_int_equal(cq_nearest_within(&want_x, x, N, DIM, &plain, NULL, NULL), CQ_OK);
  assert_int_equal(cq_nearest_within(&of_x, all, N, DIM, &mapped, NULL, NULL), CQ_OK);
  check_same(&of_x, &want_x);
  cq_neighbors_free(&of_x);
  cq_neighbors_free(&of_y);
  cq_neighbors_free(&want_x);
  cq_neighbors_free(&want_y);
  free(all);
  free(x);
  free(y);
}

/* --- errors --- */

static bool stop_at_once(void *context, uint64_t done, uint64_t n_all) {
  *(int *)context += done <= n_all;
  return false;
}

static void bad_input_is_named(void **state) {
  (void)state;
  enum { DIM = 3 };
  float x[2 * DIM] = {1, 2, 3, 4, 5, 6}, y[3 * DIM] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  cq_neighbors of_x, of_y;
  cq_error error = {0};
  int n_calls = 0;
  y[2 * DIM + 1] = NAN;
  assert_int_equal(cq_nearest(&of_x, &of_y, x, 2, y, 3, DIM, NULL, NULL, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "row 3 of the second vectors holds a number that is not finite");
  assert_null(of_x.index);
  y[2 * DIM + 1] = 0, x[0] = INFINITY;
  assert_int_equal(cq_nearest(&of_x, &of_y, x, 2, y, 3, DIM, NULL, NULL, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "row 1 of the first vectors holds a number that is not finite");
  assert_int_equal(cq_nearest_within(&of_x, x, 2, DIM, NULL, NULL, &error), CQ_ERR_ARGUMENT);
  x[0] = 1;
  assert_int_equal(cq_nearest(&of_x, &of_y, x, 2, y, 3, 0, NULL, NULL, &error), CQ_ERR_ARGUMENT);
  cq_nearest_options none = cq_nearest_default_options(), stopping = none;
  none.k = 0, stopping.progress = stop_at_once, stopping.progress_context = &n_calls;
  assert_int_equal(cq_nearest(&of_x, &of_y, x, 2, y, 3, DIM, &none, NULL, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "k is 0, expected at least 1");
  assert_int_equal(cq_nearest(&of_x, &of_y, x, 2, y, 3, DIM, &stopping, NULL, &error), CQ_ERR_STOPPED);
  assert_int_equal(n_calls, 1);
  assert_null(of_x.index);
}

static bool stop_after_two(void *context, uint64_t done, uint64_t n_all) {
  return ++*(int *)context < 2 || done == n_all;
}

/* Stopped again and again, with other numbers of threads and first passes, the result is that of one go. */
static void a_stopped_search_goes_on(void **state) {
  (void)state;
  enum { N = 200, M = 2600, DIM = 1024 * 4 };
  float *x = normal_rows(N, DIM, 1), *y = normal_rows(M, DIM, 2);
  cq_neighbors of_x, of_y, want_x, want_y;
  char path[400];
  snprintf(path, sizeof path, "%s", test_path("search"));
  assert_int_equal(cq_nearest(&want_x, &want_y, x, N, y, M, DIM, NULL, NULL, NULL), CQ_OK);
  int n_calls = 0, n_stops = 0;
  cq_nearest_options o = cq_nearest_default_options();
  o.checkpoint = path, o.checkpoint_every_s = 0, o.progress = stop_after_two, o.progress_context = &n_calls;
  cq_status status;
  while ((status = cq_nearest(&of_x, &of_y, x, N, y, M, DIM, &o, NULL, NULL)) == CQ_ERR_STOPPED) {
    n_calls = 0;
    assert_true(++n_stops < 10);
  }
  assert_int_equal(status, CQ_OK);
  assert_true(n_stops >= 1);
  check_same(&of_x, &want_x);
  check_same(&of_y, &want_y);
  cq_neighbors_free(&of_x);
  cq_neighbors_free(&of_y);
  assert_int_equal(count_files("search"), 0);
  /* A file of another search is no harm, nor is a broken one. */
  n_calls = 0;
  assert_int_equal(cq_nearest(&of_x, &of_y, x, N, y, M, DIM, &o, NULL, NULL), CQ_ERR_STOPPED);
  o.progress = NULL;
  assert_int_equal(cq_nearest(&of_x, &of_y, x, N, y, M - 1, DIM, &o, NULL, NULL), CQ_OK);
  cq_neighbors_free(&of_x);
  cq_neighbors_free(&of_y);
  write_text(path, "broken");
  assert_int_equal(cq_nearest(&of_x, &of_y, x, N, y, M, DIM, &o, NULL, NULL), CQ_OK);
  check_same(&of_x, &want_x);
  cq_neighbors_free(&of_x);
  cq_neighbors_free(&of_y);
  cq_neighbors_free(&want_x);
  cq_neighbors_free(&want_y);
  free(x);
  free(y);
}

/* Other vectors of the same number and dimension at the same path: a first row is replaced by what is then the nearest. */
static void the_state_of_other_vectors_is_not_taken(void **state) {
  (void)state;
  enum { N = 200, M = 2600, DIM = 1024 * 4 };
  for (int of_y = 0; of_y < 2; of_y++) {
    float *x = normal_rows(N, DIM, 1), *y = normal_rows(M, DIM, 2);
    cq_neighbors got[2], want[2];
    int n_calls = 0;
    cq_nearest_options o = cq_nearest_default_options();
    o.checkpoint = test_path("search"), o.progress = stop_after_two, o.progress_context = &n_calls;
    assert_int_equal(cq_nearest(&got[0], &got[1], x, N, y, M, DIM, &o, NULL, NULL), CQ_ERR_STOPPED);
    memcpy(of_y ? y : x, of_y ? x : y, DIM * sizeof *x);
    assert_int_equal(cq_nearest(&want[0], &want[1], x, N, y, M, DIM, NULL, NULL, NULL), CQ_OK);
    assert_int_equal(want[0].index[0], 0);
    o.progress = NULL;
    assert_int_equal(count_files("search"), 1);
    assert_int_equal(cq_nearest(&got[0], &got[1], x, N, y, M, DIM, &o, NULL, NULL), CQ_OK);
    for (int i = 0; i < 2; i++) {
      check_same(&got[i], &want[i]);
      cq_neighbors_free(&got[i]);
      cq_neighbors_free(&want[i]);
    }
    free(x);
    free(y);
  }
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  enum { DIM = 5 };
  float *x = normal_rows(30, DIM, 1), *y = normal_rows(40, DIM, 2);
  for (long n = 1;; n++) {
    cq_neighbors of_x, of_y;
    cq_alloc_fail_at(n);
    cq_nearest_options o = cq_nearest_default_options();
    o.first_pass = n % 2 ? CQ_FIRST_F32 : CQ_FIRST_INT8;
    const cq_status status = cq_nearest(&of_x, &of_y, x, 30, y, 40, DIM, &o, NULL, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    cq_neighbors_free(&of_x);
    cq_neighbors_free(&of_y);
    if (!failed) break;
    assert_true(n < 100);
  }
  free(x);
  free(y);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(both_ways_equal_the_plain_loop),    cmocka_unit_test(several_chunks_equal_the_plain_loop),
      cmocka_unit_test(close_calls_are_decided_in_double), cmocka_unit_test(lengths_far_from_one_do_not_matter),
      cmocka_unit_test(a_stopped_search_goes_on),          cmocka_unit_test(the_state_of_other_vectors_is_not_taken),
      cmocka_unit_test(rows_may_stand_anywhere),           cmocka_unit_test(bad_input_is_named),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
