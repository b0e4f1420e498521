/* SHA-1, SHA-256 and Base64 against the standards' own examples, whole and in pieces of every size. */
#include "support/files.h"

#include "base/base64.h"
#include "base/memory.h"
#include "base/sha.h"

static void assert_hash(cq_sha_kind kind, const char *text, size_t n, const char *expected) {
  char hex[CQ_SHA_HEX];
  for (size_t step = 1; step <= n + 1; step = step < 130 ? step + 1 : step * 2) {
    cq_sha s;
    cq_sha_begin(&s, kind);
    for (size_t i = 0; i < n; i += step) cq_sha_add(&s, text + i, cq_min(step, n - i));
    cq_sha_hex(hex, &s);
    assert_string_equal(hex, expected);
  }
}

/* FIPS 180-4, examples of one and of two blocks, nothing, and a million times "a". */
static void test_sha(void **state) {
  (void)state;
  static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  assert_hash(CQ_SHA1, "", 0, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  assert_hash(CQ_SHA1, "abc", 3, "a9993e364706816aba3e25717850c26c9cd0d89d");
  assert_hash(CQ_SHA1, two, 56, "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  assert_hash(CQ_SHA256, "", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  assert_hash(CQ_SHA256, "abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assert_hash(CQ_SHA256, two, 56, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  char *many = malloc(1000000), hex[CQ_SHA_HEX];
  memset(many, 'a', 1000000);
  cq_sha s;
  cq_sha_begin(&s, CQ_SHA1);
  cq_sha_add(&s, many, 1000000);
  cq_sha_hex(hex, &s);
  assert_string_equal(hex, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
  cq_sha_begin(&s, CQ_SHA256);
  cq_sha_add(&s, many, 1000000);
  cq_sha_hex(hex, &s);
  assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  free(many);
}

/* RFC 4648, section 10. */
static void test_base64(void **state) {
  (void)state;
  static const char *const pairs[][2] = {{"", ""},
                                         {"f", "Zg=="},
                                         {"fo", "Zm8="},
                                         {"foo", "Zm9v"},
                                         {"foob", "Zm9vYg=="},
                                         {"fooba", "Zm9vYmE="},
                                         {"foobar", "Zm9vYmFy"}};
  static const char *const wrong[] = {"Zg=", "Zg", "Z===", "Zm9v*g==", "Zg==Zg=="};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    cq_builder text = {0}, back = {0};
    cq_base64_encode(&text, cq_slice_of(pairs[i][0]));
    assert_string_equal(text.data ? text.data : "", pairs[i][1]);
    assert_true(cq_base64_decode(&back, cq_slice_of(pairs[i][1])));
    assert_string_equal(back.data ? back.data : "", pairs[i][0]);
    cq_builder_free(&text), cq_builder_free(&back);
  }
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    cq_builder back = {0};
    assert_false(cq_base64_decode(&back, cq_slice_of(wrong[i])));
    cq_builder_free(&back);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sha), cmocka_unit_test(test_base64)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
