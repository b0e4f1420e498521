/* 8-bit bounds: every level against the plain loop, the plain loop against the true product. */
#include "harness.h"

#include "tensor/int8.h"

static const int64_t dims[] = {1, 3, 4, 5, 31, 64, 100, 384, 1023, 1024};

static void unit(float *rows, int64_t n, int64_t dim, bool coarse) {
  for (int64_t i = 0; i < n; i++) {
    double squares = 0;
    for (int64_t d = 0; d < dim; d++) {
      float *x = &rows[i * dim + d];
      *x = coarse ? (float)cq_random_below(&rng, 3) - 1 : (float)cq_random_normal(&rng);
      squares += (double)*x * (double)*x;
    }
    if (i % 11 == 5) squares = 0; /* a zero row */
    for (int64_t d = 0; d < dim; d++)
      rows[i * dim + d] = squares > 0 ? (float)((double)rows[i * dim + d] / sqrt(squares)) : 0;
  }
}

static void check_level(const cq_int8_kernels *k, int64_t m, int64_t n, int64_t dim, bool coarse) {
  const int64_t stride = (n + CQ_INT8_PANEL - 1) / CQ_INT8_PANEL * CQ_INT8_PANEL;
  float *x = buffer(m * dim, 1), *y = buffer(n * dim, 3), *c = buffer(m * stride, 1), *want = buffer(m * stride, 1);
  uint8_t *a = cq_arena_array(&arena, (size_t)m + 1, (size_t)cq_int8_row_bytes(dim));
  void *b = cq_arena_array(&arena, 1, cq_int8_packed_bytes(n, dim) + 1);
  cq_int8_terms *terms = cq_arena_array(&arena, (size_t)m + 1, sizeof *terms);
  unit(x, m, dim, coarse);
  unit(y, n, dim, coarse);
  k->quantize_left(a, terms, x, m, dim);
  k->quantize_right(b, y, n, dim);
  k->bounds(c, stride, a, terms, b, m, n, dim);
  cq_int8_reference.bounds(want, stride, a, terms, b, m, n, dim);
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      double dot = 0;
      for (int64_t d = 0; d < dim; d++) dot += (double)x[i * dim + d] * (double)y[j * dim + d];
      const double got = (double)c[i * stride + j];
      if (!(fabs(got - (double)want[i * stride + j]) <= 4e-7))
        fail_msg("%s, dim %lld: %.9g, expected %.9g", k->name, (long long)dim, got, (double)want[i * stride + j]);
      if (!(got >= dot - 16 * 0x1p-24) || !(got <= dot + 0.05))
        fail_msg("%s, dim %lld: %.9g is no close bound of %.9g", k->name, (long long)dim, got, dot);
    }
  }
  assert_true(intact("bounds", c, m * stride));
  cq_arena_free(&arena);
}

static void every_level_bounds_the_product(void **state) {
  (void)state;
  const cq_int8_kernels *levels[] = {&cq_int8_reference, cq_int8_best()};
  if (!levels[1]) print_message("no 8-bit level on this processor: the plain loop only\n");
  for (size_t l = 0; l < 2 && levels[l]; l++)
    for (size_t d = 0; d < COUNT(dims); d++)
      for (int64_t m = 0; m < 15; m += 1 + m / 3) {
        check_level(levels[l], m, 1 + 13 * m, dims[d], false);
        check_level(levels[l], m, 64 * (m % 3), dims[d], true);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_level_bounds_the_product)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
