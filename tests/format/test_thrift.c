/* Thrift's compact protocol: values of every type, and bytes that are none. */
#include "support/files.h"

#include "format/thrift.h"

static cq_thrift thrift_of(const char *bytes, size_t n) {
  return (cq_thrift){.p = (const unsigned char *)bytes, .end = (const unsigned char *)bytes + n};
}
#define THRIFT(bytes) thrift_of(bytes, sizeof(bytes) - 1)

static void values_are_read(void **state) {
  (void)state;
  static const char bytes[] = "\x15\x03"     /* 1: i32 -2 */
                              "\x16\x80\x01" /* 2: i64 64 */
                              "\x13\xFE"     /* 3: i8 -2 */
                              "\x11\x22"     /* 4: true; 6: false */
                              "\x18\x02"
                              "ab"               /* 7: bytes */
                              "\x08\x90\x03\x00" /* 200: no bytes */
                              "\x1C\x15\x02\x00" /* 201: a struct with 1: 1 */
                              "\x19\x2C\x00\x00" /* 202: two empty structs */
                              "\x00";
  cq_thrift t = THRIFT(bytes);
  cq_thrift_field f = {0}, inner = {0};
  assert_true(cq_thrift_next(&f, &t) && f.id == 1);
  assert_int_equal(cq_thrift_number32(&t, f), -2);
  assert_true(cq_thrift_next(&f, &t) && f.id == 2);
  assert_int_equal(cq_thrift_number(&t, f), 64);
  assert_true(cq_thrift_next(&f, &t) && f.id == 3);
  assert_int_equal(cq_thrift_number(&t, f), -2);
  assert_true(cq_thrift_next(&f, &t) && f.id == 4 && cq_thrift_boolean(&t, f));
  assert_true(cq_thrift_next(&f, &t) && f.id == 6 && !cq_thrift_boolean(&t, f));
  assert_true(cq_thrift_next(&f, &t) && f.id == 7);
  assert_true(cq_slice_equal(cq_thrift_bytes(&t, f), cq_slice_of("ab")));
  assert_true(cq_thrift_next(&f, &t) && f.id == 200);
  assert_int_equal(cq_thrift_bytes(&t, f).n, 0);
  assert_true(cq_thrift_next(&f, &t) && f.id == 201 && cq_thrift_struct(&t, f));
  assert_true(cq_thrift_next(&inner, &t) && cq_thrift_number(&t, inner) == 1 && !cq_thrift_next(&inner, &t));
  assert_true(cq_thrift_next(&f, &t) && f.id == 202);
  assert_int_equal(cq_thrift_structs(&t, f), 2);
  for (int i = 0; i < 2; i++) {
    inner = (cq_thrift_field){0};
    assert_false(cq_thrift_next(&inner, &t));
  }
  assert_false(cq_thrift_next(&f, &t));
  assert_null(t.why);
  assert_ptr_equal(t.p, t.end);
}

static void every_type_is_skipped(void **state) {
  (void)state;
  static const char bytes[] = "\x11\x12\x13\x05\x14\x80\x01\x15\x02\x16\x02" /* booleans, 8 to 64 bits */
                              "\x17"
                              "12345678"
                              "\x18\x03"
                              "abc"                  /* a real number, bytes */
                              "\x19\x32\x01\x02\x01" /* a list of booleans */
                              "\x1A\xF5\x10"
                              "0123456789abcdef" /* a set of 16 numbers */
                              "\x1B\x02\x58\x02\x01"
                              "a\x04\x01"
                              "b"                        /* a map of numbers to bytes */
                              "\x1B\x00"                 /* an empty map */
                              "\x1C\x1C\x15\x02\x00\x00" /* structs */
                              "\x15\x0E\x00";
  cq_thrift t = THRIFT(bytes);
  cq_thrift_field f = {0};
  int n = 0;
  for (; cq_thrift_next(&f, &t); n++) {
    if (n == 13)
      assert_int_equal(cq_thrift_number(&t, f), 7);
    else
      cq_thrift_skip(&t, f);
  }
  assert_null(t.why);
  assert_int_equal(n, 14);
  assert_ptr_equal(t.p, t.end);
}

/* All fields skipped; the first problem, and where it is. */
static void check_skip(const char *bytes, size_t n, const char *why, size_t at) {
  cq_thrift t = thrift_of(bytes, n);
  for (cq_thrift_field f = {0}; cq_thrift_next(&f, &t);) cq_thrift_skip(&t, f);
  assert_non_null(t.why);
  assert_string_equal(t.why, why);
  assert_int_equal(t.at - (const unsigned char *)bytes, at);
  assert_ptr_equal(t.p, t.end);
}

static void what_is_no_value_is_an_error(void **state) {
  (void)state;
  char deep[80];
  memset(deep, 0x1C, sizeof deep);
#define SKIP_FAILS(bytes, why, at) check_skip(bytes, sizeof(bytes) - 1, why, at)
  SKIP_FAILS("", "truncated", 0);
  SKIP_FAILS("\x15", "truncated", 1);
  SKIP_FAILS("\x17"
             "1234",
             "truncated", 1);
  SKIP_FAILS("\x18\x05"
             "ab",
             "truncated", 2);
  SKIP_FAILS("\x19\xF5\xFF\xFF\xFF\xFF\xFF\x01\x02", "truncated", 9);
  SKIP_FAILS("\x1D", "a value of unknown type", 1);
  SKIP_FAILS("\x16\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", "a number of more than 64 bits", 11);
  SKIP_FAILS("\x05\x80\x80\x04", "a field's number is out of range", 4);
  check_skip(deep, sizeof deep, "nested too deeply", 34);
}

static void other_types_than_expected_are_errors(void **state) {
  (void)state;
  static const char other[] = "a field has another type than expected";
#define READ(type, bytes, call, reason)                                                                                \
  do {                                                                                                                 \
    cq_thrift t = THRIFT(bytes);                                                                                       \
    cq_thrift_field f = {1, type};                                                                                     \
    (void)(call);                                                                                                      \
    assert_non_null(t.why);                                                                                            \
    assert_string_equal(t.why, reason);                                                                                \
  } while (0)
  READ(8, "\x02", cq_thrift_number(&t, f), other);
  READ(5, "\x02", cq_thrift_boolean(&t, f), other);
  READ(5, "\x02", cq_thrift_bytes(&t, f), other);
  READ(5, "\x02", cq_thrift_struct(&t, f), other);
  READ(5, "\x02", cq_thrift_structs(&t, f), other);
  READ(9, "\x15\x02", cq_thrift_structs(&t, f), other);
  READ(9, "\x5C\x00\x00", cq_thrift_structs(&t, f), "a list of more elements than bytes");
  READ(6, "\x80\x80\x80\x80\x20", cq_thrift_number32(&t, f), "a number of more than 32 bits");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_read),
      cmocka_unit_test(every_type_is_skipped),
      cmocka_unit_test(what_is_no_value_is_an_error),
      cmocka_unit_test(other_types_than_expected_are_errors),
  };
  return cmocka_run_group_tests_name("format/thrift", tests, NULL, NULL);
}
