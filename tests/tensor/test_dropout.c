/* Dropout: the mask is the hash's, forward and backward draw the same, and as many are kept as should be. */
#include "harness.h"

enum { N = 100003 };

static void the_mask_follows_the_definition(void **state) {
  (void)state;
  const cq_kernels *levels[8];
  size_t n_levels = cq_kernels_all(levels, COUNT(levels));
  for (size_t l = 0; l < n_levels; l++) {
    float *x = buffer(N, 1);
    cq_dropout d = {0.3f, 0xfedcba9876543210u};
    for (int i = 0; i < N; i++) x[i] = 1;
    levels[l]->dropout(x, N, d);
    for (int i = 0; i < N; i++) {
      bool kept = (double)cq_dropout_bits(d.key, (uint32_t)i) >= (double)0.3f * 4294967296.0;
      assert_true(kept ? fabsf(x[i] - 1 / 0.7f) < 1e-6f : x[i] == 0);
    }
    cq_arena_free(&arena);
  }
}

static void forward_and_backward_drop_the_same(void **state) {
  (void)state;
  const cq_kernels *k = cq_kernels_best();
  float *x = random_buffer(N, 0, 1, 2), *dx = random_buffer(N, 0, 1, 2);
  cq_dropout d = {0.5f, 77};
  k->dropout(x, N, d);
  k->dropout(dx, N, d);
  for (int i = 0; i < N; i++) assert_int_equal(x[i] == 0, dx[i] == 0);
  cq_arena_free(&arena);
}

static double kept_share(cq_dropout d) {
  float *x = buffer(N, 0);
  for (int i = 0; i < N; i++) x[i] = 1;
  cq_kernels_best()->dropout(x, N, d);
  double kept = 0;
  for (int i = 0; i < N; i++) kept += x[i] != 0;
  cq_arena_free(&arena);
  return kept / N;
}

static void the_rate_is_kept(void **state) {
  (void)state;
  for (uint64_t key = 0; key < 8; key++) { /* neighboring keys, as layers and steps would count them */
    for (int r = 0; r < 10; r++) {
      double rate = 0.1 * r, deviation = sqrt(rate * (1 - rate) / N);
      assert_true(fabs(kept_share((cq_dropout){(float)rate, key << (key % 2 ? 32 : 0)}) - (1 - rate)) <=
                  5 * deviation + 1e-7);
    }
  }
  assert_true(kept_share((cq_dropout){1.0f, 3}) == 0);
}

static void different_keys_drop_independently(void **state) {
  (void)state;
  const cq_kernels *k = cq_kernels_best();
  for (uint64_t other = 2; other < 40; other++) {
    float *x = buffer(N, 0), *y = buffer(N, 0);
    for (int i = 0; i < N; i++) x[i] = y[i] = 1;
    k->dropout(x, N, (cq_dropout){0.5f, 1});
    k->dropout(y, N, (cq_dropout){0.5f, other << 20 | other << 40});
    double both = 0;
    for (int i = 0; i < N; i++) both += x[i] != 0 && y[i] != 0;
    assert_true(fabs(both / N - 0.25) <= 5 * sqrt(0.25 * 0.75 / N));
    cq_arena_free(&arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_mask_follows_the_definition),
      cmocka_unit_test(forward_and_backward_drop_the_same),
      cmocka_unit_test(the_rate_is_kept),
      cmocka_unit_test(different_keys_drop_independently),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
