/* Neighbors by lists: with all lists searched, those of the exact search to the bit; with fewer, nearly all of them. */
#include "search/nearest_approximate.h"

#include "base/memory.h"
#include "base/random.h"
#include "support/files.h"

#include <math.h>

enum { N_X = 3000, N_Y = 2500, DIM = 48, TOPICS = 60 };

/* Rows around topics; the first ones of both sides are alike. */
static float *topic_rows(size_t n, uint64_t seed) {
  float *rows = malloc(n * DIM * sizeof *rows);
  for (size_t i = 0; i < n; i++) {
    cq_random topic = cq_random_seeded(1, i * 7 % TOPICS), own = cq_random_seeded(2, i), r = cq_random_seeded(seed, i);
    for (size_t j = 0; j < DIM; j++)
      rows[i * DIM + j] =
          (float)(cq_random_normal(&topic) + 0.7 * cq_random_normal(&own) + 0.2 * cq_random_normal(&r) + (j == 0));
  }
  return rows;
}

typedef struct found {
  cq_neighbors of_x, of_y;
  cq_nearest_approximate_report report;
} found;

static cq_status find(found *f, const float *x, size_t n_x, const float *y, size_t n_y,
                      const cq_nearest_approximate_options *options, cq_error *error) {
  cq_nearest_approximate_options o = *options;
  if (!o.file) o.file = test_path("lists");
  const cq_status status = cq_nearest_approximate(&f->of_x, &f->of_y, &f->report, x, n_x, y, n_y, DIM, &o, NULL, error);
  assert_int_equal(access(o.file, F_OK), -1);
  return status;
}

static void free_found(found *f) {
  cq_neighbors_free(&f->of_x), cq_neighbors_free(&f->of_y);
}

static void check_same(const cq_neighbors *a, const cq_neighbors *b) {
  assert_int_equal(a->n, b->n), assert_int_equal(a->k, b->k);
  assert_memory_equal(a->index, b->index, a->n * a->k * sizeof *a->index);
  assert_memory_equal(a->cosine, b->cosine, a->n * a->k * sizeof *a->cosine);
}

static void test_all_lists(void **state) {
  float *x = topic_rows(N_X, 3), *y = topic_rows(N_Y, 4);
  cq_neighbors of_x, of_y;
  found f;
  (void)state;
  assert_int_equal(cq_nearest(&of_x, &of_y, x, N_X, y, N_Y, DIM, NULL, NULL, NULL), CQ_OK);
  for (size_t block = 0; block <= 1400; block += 700) {
    const cq_nearest_approximate_options o = {.k = 4, .effort = 1000, .n_lists = 30, .block = block};
    assert_int_equal(find(&f, x, N_X, y, N_Y, &o, NULL), CQ_OK);
    check_same(&f.of_x, &of_x), check_same(&f.of_y, &of_y);
    assert_true(f.report.recall == 1 && f.report.compared == 1);
    assert_int_equal(f.report.n_lists, 30), assert_int_equal(f.report.effort, 30);
    free_found(&f);
  }
  cq_neighbors_free(&of_x), cq_neighbors_free(&of_y);
  uint32_t x_rows[300], y_rows[200]; /* rows may stand anywhere */
  for (uint32_t i = 0; i < 300; i++) x_rows[i] = (i * 17 + 5) % N_X;
  for (uint32_t i = 0; i < 200; i++) y_rows[i] = (i * 31 + 8) % N_Y;
  const cq_nearest_options exactly = {.size = sizeof exactly, .k = 3, .x_rows = x_rows, .y_rows = y_rows};
  const cq_nearest_approximate_options o = {
      .k = 3, .effort = 10, .n_lists = 10, .block = 130, .x_rows = x_rows, .y_rows = y_rows};
  assert_int_equal(cq_nearest(&of_x, &of_y, x, 300, y, 200, DIM, &exactly, NULL, NULL), CQ_OK);
  assert_int_equal(find(&f, x, 300, y, 200, &o, NULL), CQ_OK);
  check_same(&f.of_x, &of_x), check_same(&f.of_y, &of_y);
  assert_true(f.report.recall == 1);
  free_found(&f);
  cq_neighbors_free(&of_x), cq_neighbors_free(&of_y);
  free(x), free(y);
}

/* The effort is the least that finds what it should, and the report is right. */
static void test_chosen_effort(void **state) {
  float *x = topic_rows(N_X, 3), *y = topic_rows(N_Y, 4);
  const cq_nearest_approximate_options o = {.k = 4}, less = {.k = 4, .effort = 1};
  cq_neighbors of_x, of_y;
  found f, g;
  (void)state;
  assert_int_equal(cq_nearest(&of_x, &of_y, x, N_X, y, N_Y, DIM, NULL, NULL, NULL), CQ_OK);
  assert_int_equal(find(&f, x, N_X, y, N_Y, &o, NULL), CQ_OK);
  assert_int_equal(f.report.n_lists, 100); /* twice the root of 2,500 */
  assert_true(f.report.effort > 1 && f.report.effort < f.report.n_lists / 2);
  assert_true(f.report.compared > 0 && f.report.compared < 0.3);
  size_t n = 0, n_found = 0;
  for (uint32_t i = 0; i < N_X; i++) {
    const uint32_t j = of_x.index[i * 4UL];
    if (of_y.index[j * 4UL] != i) continue;
    n++, n_found += f.of_x.index[i * 4UL] == j && f.of_y.index[j * 4UL] == i;
  }
  assert_true((double)n_found > 0.975 * (double)n);
  assert_true(fabs(f.report.recall - (double)n_found / (double)n) < 0.015);
  assert_int_equal(find(&g, x, N_X, y, N_Y, &less, NULL), CQ_OK);
  assert_true(g.report.recall < f.report.recall && g.report.compared < f.report.compared);
  for (size_t i = 0; i < N_X * 4; i++) { /* places without a neighbor have an earlier one's number */
    assert_true(g.of_x.index[i] < N_Y);
    assert_true(i % 4 == 0 || g.of_x.cosine[i] <= g.of_x.cosine[i - 1]);
  }
  free_found(&f), free_found(&g);
  cq_neighbors_free(&of_x), cq_neighbors_free(&of_y);
  free(x), free(y);
}

/* A row whose list nobody searches has row 0 at 0; one with a neighbor too few has its first again. */
static void test_missing_neighbors(void **state) {
  static float x[80 * DIM], y[80 * DIM];
  const cq_nearest_approximate_options o = {.k = 2, .effort = 1, .n_lists = 2};
  found f;
  (void)state;
  for (size_t i = 0; i < 80; i++) x[i * DIM] = 1, y[i * DIM + (i == 79)] = 1;
  x[79 * DIM] = 0.9F, x[79 * DIM + 2] = 0.1F;
  assert_int_equal(find(&f, x, 80, y, 80, &o, NULL), CQ_OK);
  if (f.report.compared < 1) {
    assert_int_equal(f.of_y.index[158], 0);
    assert_true(f.of_y.cosine[158] == 0 && f.of_y.cosine[159] == 0);
  }
  assert_true(f.of_x.index[0] == 0 && f.of_x.index[1] == 1); /* on a tie the lowest */
  free_found(&f);
}

static bool stop_at_three(void *context, uint64_t done, uint64_t n_all) {
  assert_true(done <= n_all);
  *(uint64_t *)context = done;
  return done < 3;
}

static void test_bad_input(void **state) {
  float *x = topic_rows(100, 3), *y = topic_rows(90, 4);
  cq_error error = {0};
  uint64_t done = 0;
  const cq_nearest_approximate_options o = {.k = 4}, nowhere = {.k = 4, .file = "/nowhere/lists"},
                                       stopped = {.k = 4, .progress = stop_at_three, .progress_context = &done};
  found f;
  (void)state;
  assert_int_equal(find(&f, x, 0, y, 90, &o, &error), CQ_OK);
  assert_true(f.of_x.n == 0 && f.of_y.n == 0);
  assert_int_equal(find(&f, x, 100, y, 90, &nowhere, &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "/nowhere"));
  assert_int_equal(find(&f, x, 100, y, 90, &stopped, &error), CQ_ERR_STOPPED);
  assert_int_equal(done, 3);
  y[50 * DIM + 1] = NAN;
  assert_int_equal(find(&f, x, 100, y, 90, &o, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "row 51 of the second"));
  x[7 * DIM] = INFINITY;
  assert_int_equal(find(&f, x, 100, y, 90, &o, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "row 8 of the first"));
  assert_null(f.of_x.index);
  free(x), free(y);
}

static void test_memory(void **state) {
  float *x = topic_rows(100, 3), *y = topic_rows(90, 4);
  const cq_nearest_approximate_options o = {.k = 2};
  found f;
  (void)state;
  for (long n = 1;; n++) {
    cq_alloc_fail_at(n);
    const cq_status status = find(&f, x, 100, y, 90, &o, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    free_found(&f);
    if (!failed) break;
    assert_true(n < 2000);
  }
  free(x), free(y);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_lists), cmocka_unit_test(test_chosen_effort), cmocka_unit_test(test_missing_neighbors),
      cmocka_unit_test(test_bad_input), cmocka_unit_test(test_memory),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
