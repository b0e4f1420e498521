/* The most probable token: by bounds and without, against plain loops in double precision. */
#include "support/files.h"

#include "base/memory.h"
#include "base/random.h"
#include "lab/autoencode/token_best.h"

#include <math.h>

enum { MOST = 1024 * 320, ROWS = 19 };

typedef struct output {
  cq_param weight, bias;
  cq_linear linear;
  cq_token_bounds bounds;
  cq_worker worker;
} output;

static float weights[MOST], biases[MOST], x[MOST];

static void make(output *o, int64_t dim, int64_t vocabulary, double spread, uint64_t seed) {
  cq_random random = cq_random_seeded(seed, 0);
  *o = (output){.weight = {.rows = vocabulary, .cols = dim, .n_dims = 2, .value = weights},
                .bias = {.rows = 1, .cols = vocabulary, .n_dims = 1, .value = biases},
                .worker = {.kernels = cq_kernels_best()}};
  assert_true(dim * vocabulary <= MOST && ROWS * dim <= MOST);
  o->linear = (cq_linear){.weight = &o->weight, .bias = spread >= 0 ? &o->bias : NULL};
  for (int64_t i = 0; i < dim * vocabulary; i++) weights[i] = (float)cq_random_normal(&random);
  for (int64_t i = 0; i < vocabulary; i++) biases[i] = (float)(spread * cq_random_normal(&random));
  for (int64_t i = 0; i < ROWS * dim; i++) x[i] = (float)cq_random_normal(&random);
}

static void pack(output *o) {
  assert_int_equal(cq_linear_pack(&o->linear, &(cq_packing){o->worker.kernels, CQ_PRECISION_F32, false}, NULL), CQ_OK);
  assert_int_equal(cq_token_bounds_make(&o->bounds, &o->linear, o->worker.kernels, NULL), CQ_OK);
}

static void unmake(output *o) {
  cq_linear_free(&o->linear);
  cq_token_bounds_free(&o->bounds);
  cq_workspace_free(&o->worker.workspace);
}

static void find(int32_t *best, output *o, const cq_token_bounds *bounds, int64_t rows) {
  const cq_tensor in = cq_tensor_f32(x, rows, o->weight.cols);
  cq_error error = {0};
  if (cq_token_best(best, &o->worker, &o->linear, bounds, in, &error)) fail_msg("%s", error.message);
  assert_true(o->worker.workspace.current == 0 && o->worker.workspace.used == 0);
}

static double logit(const output *o, int64_t row, int64_t id) {
  const int64_t dim = o->weight.cols;
  double sum = o->linear.bias ? (double)biases[id] : 0;
  for (int64_t d = 0; d < dim; d++) sum += (double)x[row * dim + d] * (double)weights[id * dim + d];
  return sum;
}

/* Neither way may choose a token whose logit is less than the highest by more than f32 sums are apart. */
static void expect_highest(output *o, const char *what) {
  static const cq_token_bounds none;
  int32_t found[2][ROWS];
  find(found[0], o, &none, ROWS);
  find(found[1], o, &o->bounds, ROWS);
  for (int64_t r = 0; r < ROWS; r++) {
    double highest = -INFINITY;
    for (int64_t j = 0; j < o->weight.rows; j++) highest = fmax(highest, logit(o, r, j));
    for (int way = 0; way < 2; way++) {
      const double lack = highest - logit(o, r, found[way][r]);
      if (!(lack <= 1e-5 * (fabs(highest) + 1)))
        fail_msg("%s, row %d, %s bounds: token %d lacks %g of %g", what, (int)r, way ? "with" : "without",
                 found[way][r], lack, highest);
    }
  }
}

static void the_highest_is_found(void **state) {
  static const int64_t sizes[][2] = {{1, 1},    {1, 130},   {3, 63},    {5, 64},     {7, 65},
                                     {16, 700}, {256, 999}, {257, 320}, {1024, 200}, {1025, 100}};
  static const double spreads[] = {-1, 0.1, 30}; /* of biases; -1: there are none */
  (void)state;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (size_t k = 0; k < sizeof spreads / sizeof *spreads; k++) {
      output o;
      char what[80];
      snprintf(what, sizeof what, "dim %d, vocabulary %d, biases %g", (int)sizes[i][0], (int)sizes[i][1], spreads[k]);
      make(&o, sizes[i][0], sizes[i][1], spreads[k], 7 * i + k);
      pack(&o);
      expect_highest(&o, what);
      for (int64_t j = 0; j < MOST && j < ROWS * sizes[i][0]; j++) x[j] *= 1e-4f; /* biases decide */
      expect_highest(&o, what);
      unmake(&o);
    }
}

/* Rows of very different lengths make for loose bounds. */
static void rows_may_be_of_any_length(void **state) {
  output o;
  (void)state;
  make(&o, 40, 900, 0.1, 3);
  for (int64_t j = 0; j < 900; j++)
    for (int64_t d = 0; d < 40; d++) weights[j * 40 + d] *= j == 17 ? 1e6f : (float)pow(10, (double)(j % 7) - 5);
  pack(&o);
  expect_highest(&o, "of any length");
  unmake(&o);
}

static void of_equal_ones_the_first(void **state) {
  static const cq_token_bounds none;
  enum { DIM = 24, N = 300 };
  output o;
  (void)state;
  make(&o, DIM, N, 0, 5);
  for (int64_t j = 100; j < N; j++) memcpy(weights + j * DIM, weights + (j % 100) * DIM, DIM * sizeof *weights);
  memset(x, 0, DIM * sizeof *x); /* all logits alike */
  pack(&o);
  for (int way = 0; way < 2; way++) {
    int32_t found[ROWS];
    find(found, &o, way ? &o.bounds : &none, ROWS);
    assert_int_equal(found[0], 0);
    for (int r = 1; r < ROWS; r++) assert_true(found[r] < 100);
  }
  unmake(&o);
}

static void what_is_no_number(void **state) {
  output o;
  int32_t found[ROWS], again[ROWS];
  (void)state;
  make(&o, 30, 200, 1, 9);
  pack(&o);
  find(again, &o, &o.bounds, ROWS);
  x[2 * 30 + 4] = NAN, x[3 * 30] = INFINITY;
  find(found, &o, &o.bounds, ROWS);
  for (int r = 0; r < ROWS; r++) assert_int_equal(found[r], r == 2 || r == 3 ? 0 : again[r]);
  biases[7] = NAN; /* no bounds then */
  pack(&o);
  assert_null(o.bounds.kernels);
  find(found, &o, &o.bounds, ROWS);
  for (int r = 0; r < ROWS; r++) assert_int_equal(found[r], 0);
  biases[7] = -INFINITY; /* a token that is never to be written */
  weights[0] = 0;
  pack(&o);
  assert_null(o.bounds.kernels);
  find(found, &o, &o.bounds, ROWS);
  for (int r = 0; r < ROWS; r++) assert_true(found[r] != 7);
  unmake(&o);
}

static void rows_do_not_know_of_each_other(void **state) {
  output o;
  int32_t all[ROWS], one;
  (void)state;
  make(&o, 50, 500, 0.5, 11);
  pack(&o);
  find(all, &o, &o.bounds, ROWS);
  find(all, &o, &o.bounds, 0);
  for (int r = 0; r < ROWS; r++) {
    memmove(x, x + (r > 0) * 50, (size_t)(ROWS - r) * 50 * sizeof *x);
    find(&one, &o, &o.bounds, 1);
    assert_int_equal(one, all[r]);
  }
  unmake(&o);
}

static void every_allocation_may_fail(void **state) {
  static const cq_token_bounds none;
  (void)state;
  for (int way = 0; way < 2; way++)
    for (long n = 1;; n++) {
      output o;
      int32_t found[ROWS];
      make(&o, 20, 100, 1, 1);
      assert_int_equal(cq_linear_pack(&o.linear, &(cq_packing){o.worker.kernels, CQ_PRECISION_F32, false}, NULL),
                       CQ_OK);
      cq_alloc_fail_at(n);
      cq_status status = way ? cq_token_bounds_make(&o.bounds, &o.linear, o.worker.kernels, NULL) : CQ_OK;
      if (!status)
        status = cq_token_best(found, &o.worker, &o.linear, way ? &o.bounds : &none,
                               cq_tensor_f32(x, ROWS, o.weight.cols), NULL);
      const bool failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
      unmake(&o);
      if (!failed) break;
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_highest_is_found),           cmocka_unit_test(rows_may_be_of_any_length),
      cmocka_unit_test(of_equal_ones_the_first),        cmocka_unit_test(what_is_no_number),
      cmocka_unit_test(rows_do_not_know_of_each_other), cmocka_unit_test(every_allocation_may_fail),
  };
  if (!cq_int8_best()) print_message("no fast 8-bit products here: what is by bounds is as what is without\n");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
