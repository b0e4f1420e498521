/* Cosine and quantized embeddings against sentence-transformers' quantize_embeddings. */
#include "golden.h"

#include "calque/embedding.h"
#include "calque/eval.h"

#include <math.h>

enum { N = 41, DIM = 19, CALIBRATION = 20, BYTES = (DIM + 7) / 8 };

static void int8_equals_sentence_transformers(void **state) {
  (void)state;
  float *vectors = golden_array("vectors", N * DIM * sizeof(float)), ranges[2 * DIM];
  int8_t *expected = golden_array("int8", N * DIM), got[N * DIM];
  cq_int8_ranges(ranges, vectors, CALIBRATION, DIM);
  cq_quantize_int8(got, vectors, N, DIM, ranges);
  assert_memory_equal(got, expected, N * DIM);
  int saturated = 0; /* rows beyond the calibration leave its range, both ways */
  for (int i = CALIBRATION * DIM; i < N * DIM; i++) saturated |= got[i] == 127 ? 1 : got[i] == -128 ? 2 : 0;
  assert_int_equal(saturated, 3);
  free(vectors);
  free(expected);
}

static void binary_equals_sentence_transformers(void **state) {
  (void)state;
  float *vectors = golden_array("vectors", N * DIM * sizeof(float));
  uint8_t *expected = golden_array("ubinary", N * BYTES), got[N * BYTES];
  int8_t *expected_signed = golden_array("binary", N * BYTES), got_signed[N * BYTES];
  cq_quantize_ubinary(got, vectors, N, DIM);
  assert_memory_equal(got, expected, N * BYTES);
  cq_quantize_binary(got_signed, vectors, N, DIM);
  assert_memory_equal(got_signed, expected_signed, N * BYTES);
  free(vectors);
  free(expected);
  free(expected_signed);
}

static void strange_values_have_a_place(void **state) {
  (void)state;
  float ranges[2] = {-1, 1}, x[] = {NAN, INFINITY, -INFINITY, 1e30f, -1, 1.01f};
  int8_t got[6], expected[6] = {-128, 127, -128, 127, -128, 127};
  cq_quantize_int8(got, x, 6, 1, ranges);
  assert_memory_equal(got, expected, sizeof got);
  cq_int8_ranges(ranges, x, 0, 1);
  assert_true(ranges[0] == 0 && ranges[1] == 0);
}

static void cosine_knows_its_edges(void **state) {
  (void)state;
  float a[] = {3, 4, 0}, b[] = {-6, -8, 0}, c[] = {0, 0, 2}, zero[3] = {0}, small[] = {1e-30f, 0, 0};
  assert_near(cq_cosine(a, b, 3), -1, 1e-15);
  assert_true(cq_cosine(a, c, 3) == 0);
  assert_true(cq_cosine(a, zero, 3) == 0);
  assert_true(cq_cosine(zero, zero, 3) == 0);
  assert_near(cq_cosine(a, small, 3), 0.6, 1e-15); /* 1e-60 would underflow in f32 */
  assert_true(cq_cosine(a, b, 0) == 0);
}

static void mse_is_the_mean_over_all_elements(void **state) {
  (void)state;
  float *a = golden_array("a", 50 * 24 * sizeof(float)), *b = golden_array("b", 50 * 24 * sizeof(float));
  double expected = golden_number("mse_100");
  assert_near(cq_mse_100(a, b, 50, 24), expected, expected * 1e-13);
  assert_true(cq_mse_100(a, a, 50, 24) == 0);
  assert_true(isnan(cq_mse_100(a, b, 0, 24)));
  assert_true(isnan(cq_mse_100(a, b, 50, 0)));
  free(a);
  free(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(int8_equals_sentence_transformers), cmocka_unit_test(binary_equals_sentence_transformers),
      cmocka_unit_test(strange_values_have_a_place),       cmocka_unit_test(cosine_knows_its_edges),
      cmocka_unit_test(mse_is_the_mean_over_all_elements),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
