/* Hashes: those that XXH3 is defined to give (files depend on them), and that every bit and every end counts. */
#include "support/files.h"

#include "base/hash.h"

static void they_are_those_of_xxh3(void **state) {
  (void)state;
  char hex[CQ_IDENTITY_HEX];
  assert_true(cq_hash64(NULL, 0, 0) == 0x2d06800538d394c2u);
  assert_true(cq_hash64("calque", 6, 0) == 0xdcb9822537da7062u);
  assert_true(cq_hash64("calque", 6, 1) == 0xd144b02d57902465u);
  cq_identity_hex(hex, cq_hash128(NULL, 0));
  assert_string_equal(hex, "99aa06d3014798d86001c324468d497f");
  cq_identity_hex(hex, cq_hash128("calque", 6));
  assert_string_equal(hex, "bb98553e628457d40e7afe3a2b905335");
}

static void every_bit_counts(void **state) {
  (void)state;
  unsigned char bytes[300] = {0};
  for (size_t n = 0; n <= sizeof bytes; n += 33) {
    const uint64_t sum = cq_hash64(bytes, n, 0);
    const cq_identity identity = cq_hash128(bytes, n);
    for (size_t bit = 0; bit < 8 * n; bit++) {
      bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
      assert_true(cq_hash64(bytes, n, 0) != sum);
      assert_false(cq_identity_equal(cq_hash128(bytes, n), identity));
      bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    for (size_t m = 0; m < n; m++) assert_true(cq_hash64(bytes, m, 0) != sum); /* zeros of another length */
    assert_true(cq_hash64(bytes, n, 1) != sum);
  }
}

static void ends_of_parts_count(void **state) {
  (void)state;
  const cq_identity none = {0}, ab = cq_hash128_add(none, "ab", 2);
  assert_false(cq_identity_equal(cq_hash128_add(ab, "c", 1), cq_hash128_add(cq_hash128_add(none, "a", 1), "bc", 2)));
  assert_false(cq_identity_equal(cq_hash128_add(ab, NULL, 0), ab));
  assert_false(cq_identity_equal(ab, cq_hash128("ab", 2)));
  assert_true(cq_identity_equal(ab, cq_hash128_add(none, "ab", 2)));
  assert_false(cq_identity_equal((cq_identity){1, 2}, (cq_identity){1, 3}));
  assert_false(cq_identity_equal((cq_identity){1, 2}, (cq_identity){3, 2}));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(they_are_those_of_xxh3),
      cmocka_unit_test(every_bit_counts),
      cmocka_unit_test(ends_of_parts_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
