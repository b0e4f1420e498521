/* The wire format of protocol buffers: what is written is read back, and what is damaged has a place. */
#include "support/files.h"

#include "format/protobuf.h"

static void fields_come_back(void **state) {
  static const int64_t numbers[] = {0, 1, 127, 128, 300, INT64_MAX, -1};
  (void)state;
  cq_builder b = {0}, inner = {0};
  cq_error error = {0};
  cq_proto_field f;
  for (size_t i = 0; i < 7; i++) cq_proto_put_int(&b, (uint32_t)(i + 1), numbers[i]);
  cq_proto_put_float(&b, 20, -1.5f);
  cq_proto_put_text(&inner, 1, "text");
  cq_proto_put_message(&b, 5000, &inner);
  assert_null(inner.data);
  cq_proto_reader r = cq_proto_open(cq_built(&b), "file", "a test", &error);
  for (size_t i = 0; i < 7; i++) {
    assert_true(cq_proto_next(&f, &r));
    assert_true(f.number == i + 1 && f.wire == 0 && f.varint == (uint64_t)numbers[i]);
  }
  assert_true(cq_proto_next(&f, &r) && f.number == 20 && f.wire == 5);
  assert_int_equal(f.fixed32, 0xBFC00000);
  assert_true(cq_proto_next(&f, &r) && f.number == 5000 && f.wire == 2 && f.n == 6);
  cq_proto_reader in = cq_proto_inside(&r, &f);
  assert_true(cq_proto_next(&f, &in) && f.number == 1);
  assert_true(cq_slice_equal(cq_proto_bytes(&in, &f), cq_slice_of("text")));
  assert_false(cq_proto_next(&f, &in) || cq_proto_next(&f, &r));
  assert_int_equal(in.status | r.status, CQ_OK);
  cq_builder_free(&b);
}

/* A varint's bytes by hand: 300 is 0xAC 0x02. */
static void bytes_are_as_specified(void **state) {
  (void)state;
  cq_builder b = {0};
  cq_proto_put_int(&b, 1, 300);
  cq_proto_put_text(&b, 2, "ab");
  assert_int_equal(b.n, 7);
  assert_memory_equal(b.data,
                      "\x08\xAC\x02\x12\x02"
                      "ab",
                      7);
  assert_int_equal(cq_proto_varint_length(127), 1);
  assert_int_equal(cq_proto_varint_length(128), 2);
  assert_int_equal(cq_proto_varint_length(UINT64_MAX), 10);
  cq_builder_free(&b);
}

static void expect_damaged(const char *bytes, size_t n, uint64_t byte) {
  cq_error error = {0};
  cq_proto_field f;
  cq_proto_reader r = cq_proto_open((cq_slice){bytes, n}, "file", "a test", &error);
  while (cq_proto_next(&f, &r)) continue;
  assert_int_equal(r.status, CQ_ERR_FORMAT);
  assert_int_equal(error.byte, byte);
  assert_non_null(strstr(error.message, "not a test"));
}

static void damage_has_a_place(void **state) {
  (void)state;
  expect_damaged("\x08\x01\x08", 3, 2); /* a key without a value */
  expect_damaged("\x12\x03"             /* three bytes, of which two are there */
                 "ab",
                 4, 0);
  expect_damaged("\x08\x01\x15\x00\x00\x00", 6, 2);                          /* three bytes of four */
  expect_damaged("\x09\x00", 2, 0);                                          /* one of eight */
  expect_damaged("\x0B", 1, 0);                                              /* a kind that is not used */
  expect_damaged("\x00\x01", 2, 0);                                          /* field 0 */
  expect_damaged("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 12, 0); /* more than 64 bits */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fields_come_back),
      cmocka_unit_test(bytes_are_as_specified),
      cmocka_unit_test(damage_has_a_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
