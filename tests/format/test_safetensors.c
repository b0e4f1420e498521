/* Safetensors: round trip, a file the Python library wrote, and headers that lie, each with code and byte. */
#include "support/files.h"

#include "base/memory.h"
#include "format/half.h"
#include "format/safetensors.h"

#include <math.h>

/* A file of the given header and n_data bytes 0, 1, 2, ... */
static void write_file(const char *path, const char *header, size_t n_data) {
  size_t n = strlen(header);
  unsigned char *bytes = malloc(8 + n + n_data);
  for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)((uint64_t)n >> (8 * i));
  memcpy(bytes + 8, header, n);
  for (size_t i = 0; i < n_data; i++) bytes[8 + n + i] = (unsigned char)i;
  write_bytes(path, bytes, 8 + n + n_data);
  free(bytes);
}

static cq_status open_header(const char *header, size_t n_data, cq_error *error) {
  cq_safetensors *file;
  write_file(test_path("t.safetensors"), header, n_data);
  cq_status status = cq_safetensors_open(&file, test_path("t.safetensors"), error);
  assert_int_equal(status == CQ_OK, file != NULL);
  cq_safetensors_close(file);
  return status;
}

static void tensors_come_back(void **state) {
  (void)state;
  static const float f32[6] = {1, -2, 3.5f, 1e-30f, INFINITY, 0};
  static const uint16_t f16[3] = {0x3C00, 0xC000, 0x0001}, bf16[1] = {0x3F80};
  static const int8_t i8[5] = {-1, 2, -3, 4, 127};
  static const int64_t i64[1] = {INT64_MIN};
  const cq_stored_tensor tensors[] = {
      {.name = "bytes", .dtype = CQ_I8, .n_dims = 1, .shape = {5}, .data = i8},
      {.name = "half", .dtype = CQ_F16, .n_dims = 1, .shape = {3}, .data = f16},
      {.name = "a \"quoted\" n\xC3\xA4me\n", .dtype = CQ_F32, .n_dims = 2, .shape = {2, 3}, .data = f32},
      {.name = "empty", .dtype = CQ_F32, .n_dims = 3, .shape = {4, 0, 7}},
      {.name = "scalar", .dtype = CQ_I64, .n_dims = 0, .data = i64},
      {.name = "brain", .dtype = CQ_BF16, .n_dims = 8, .shape = {1, 1, 1, 1, 1, 1, 1, 1}, .data = bf16},
  };
  const char *const metadata[] = {"format", "pt", "note", "\xE2\x82\xAC", NULL};
  cq_safetensors *file;
  cq_error error = {0};
  size_t n;
  const char *path = test_path("round.safetensors");
  assert_int_equal(cq_safetensors_write(path, tensors, 6, metadata, &error), CQ_OK);
  unsigned char *bytes = read_bytes(&n, path);
  size_t header_n = bytes[0] | (size_t)bytes[1] << 8;
  assert_int_equal((8 + header_n) % 64, 0);
  assert_int_equal(n, 8 + header_n + 8 + 24 + 6 + 2 + 5);
  assert_non_null(strstr((char *)bytes + 8, "\"__metadata__\": {\"format\": \"pt\", \"note\": \"\xE2\x82\xAC\"}"));
  free(bytes);
  assert_int_equal(cq_safetensors_open(&file, path, &error), CQ_OK);
  assert_string_equal(cq_safetensors_path(file), path);
  assert_int_equal(cq_safetensors_count(file), 6);
  for (size_t i = 0; i < 6; i++) {
    const cq_stored_tensor *t = cq_safetensors_find(file, tensors[i].name);
    assert_non_null(t);
    assert_string_equal(t->name, tensors[i].name);
    assert_int_equal(t->dtype, tensors[i].dtype);
    assert_int_equal(t->n_dims, tensors[i].n_dims);
    assert_memory_equal(t->shape, tensors[i].shape, sizeof t->shape);
    size_t size = cq_dtype_size(t->dtype);
    if (t->n_elements) assert_memory_equal(t->data, tensors[i].data, (size_t)t->n_elements * size);
    assert_int_equal((uintptr_t)t->data % size, 0);
  }
  assert_int_equal(cq_safetensors_find(file, "empty")->n_elements, 0);
  assert_int_equal(cq_safetensors_find(file, "scalar")->n_elements, 1);
  assert_string_equal(cq_safetensors_at(file, 0)->name, "scalar"); /* the widest type comes first */
  assert_null(cq_safetensors_find(file, "nothing"));
  float out[6];
  assert_int_equal(cq_stored_tensor_to_f32(out, cq_safetensors_find(file, "half"), path, &error), CQ_OK);
  assert_true(out[0] == 1 && out[1] == -2 && out[2] == 0x1p-24f);
  assert_int_equal(cq_stored_tensor_to_f32(out, cq_safetensors_find(file, "brain"), path, &error), CQ_OK);
  assert_true(out[0] == 1);
  assert_int_equal(cq_stored_tensor_to_f32(out, cq_safetensors_find(file, "bytes"), path, &error), CQ_ERR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "tensor 'bytes' has dtype I8"));
  cq_safetensors_close(file);
}

/* tests/golden/format/python.safetensors, see reference/golden_formats.py: values are i * 0.25 - 1. */
static void a_file_written_by_python_is_read(void **state) {
  (void)state;
  static const char *const names[] = {"f64", "f32", "f16", "bf16"};
  cq_safetensors *file;
  cq_error error = {0};
  const char *path = tests_file("golden/format/python.safetensors");
  if (cq_safetensors_open(&file, path, &error)) fail_msg("%s", error.message);
  for (int i = 0; i < 4; i++) {
    float out[15];
    const cq_stored_tensor *t = cq_safetensors_find(file, names[i]);
    assert_non_null(t);
    assert_true(t->n_dims == 2 && t->shape[0] == 3 && t->shape[1] == 5);
    assert_int_equal(cq_stored_tensor_to_f32(out, t, path, &error), CQ_OK);
    for (int k = 0; k < 15; k++) assert_true(out[k] == (float)k * 0.25f - 1);
  }
  assert_int_equal(cq_safetensors_find(file, "i64")->dtype, CQ_I64);
  assert_int_equal(cq_safetensors_find(file, "bool")->dtype, CQ_BOOL);
  assert_int_equal(cq_safetensors_find(file, "i16")->dtype, CQ_OTHER_DTYPE);
  float out[1];
  assert_int_equal(cq_stored_tensor_to_f32(out, cq_safetensors_find(file, "i16"), path, &error), CQ_ERR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "has dtype I16"));
  cq_safetensors_close(file);
}

#define A(shape, begin, end) "\"a\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"
#define B(shape, begin, end) "\"b\":{\"dtype\":\"U8\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"

static void lying_headers_are_found_out(void **state) {
  (void)state;
  int failures = 0;
  static const struct {
    const char *header;
    size_t n_data;
    cq_status status;
    int64_t byte; /* counted from the header's end when negative: -1 is its first byte of data */
    const char *message;
  } cases[] = {
      {"{}", 0, CQ_OK, 0, NULL},
      {"{}    \n", 0, CQ_OK, 0, NULL},
      {"{\"__metadata__\":{}}", 0, CQ_OK, 0, NULL},
      {"{" A("[2]", 0, 8) "}", 8, CQ_OK, 0, NULL},
      {"{" B("[3]", 8, 11) "," A("[2]", 0, 8) "}", 11, CQ_OK, 0, NULL},
      {"{" A("[0]", 0, 0) "," B("[4]", 0, 4) "}", 4, CQ_OK, 0, NULL},
      {"{" A("[]", 0, 4) "}", 4, CQ_OK, 0, NULL},
      /* offsets */
      {"{" A("[16]", 0, 64) "}", 60, CQ_ERR_FORMAT, 9, "tensor 'a' ends at byte 128, the file has 124"},
      {"{" A("[2]", 0, 9) "}", 9, CQ_ERR_FORMAT, 9, "its shape has 8 bytes, its data_offsets 9"},
      {"{" A("[2]", 8, 0) "}", 8, CQ_ERR_FORMAT, 9, "data_offsets are not two growing whole numbers"},
      {"{" A("[2]", -8, 0) "}", 8, CQ_ERR_FORMAT, 9, "data_offsets are not two growing whole numbers"},
      {"{" A("[2]", 0.0, 8) "}", 8, CQ_ERR_FORMAT, 9, "data_offsets are not two growing whole numbers"},
      {"{" A("[2]", 9223372036854775800, 9223372036854775807) "}", 8, CQ_ERR_FORMAT, 9, "ends at byte"},
      {"{" A("[2]", 0, 8) "," B("[3]", 7, 10) "}", 10, CQ_ERR_FORMAT, -8, "tensor 'b' overlaps the one before it"},
      {"{" A("[2]", 0, 8) "," B("[3]", 0, 3) "}", 8, CQ_ERR_FORMAT, -1, "overlaps"},
      {"{" A("[2]", 0, 8) "," B("[3]", 9, 12) "}", 12, CQ_ERR_FORMAT, -10, "a gap before tensor 'b'"},
      {"{" A("[2]", 1, 9) "}", 9, CQ_ERR_FORMAT, -2, "a gap before tensor 'a'"},
      {"{" A("[2]", 0, 8) "}", 9, CQ_ERR_FORMAT, -9, "1 bytes after the last tensor"},
      {"{}", 5, CQ_ERR_FORMAT, -1, "5 bytes after the last tensor"},
      /* shapes */
      {"{" A("[4611686018427387904,4]", 0, 8) "}", 8, CQ_ERR_FORMAT, 9, "more than 2^63 elements"},
      {"{" A("[4611686018427387904]", 0, 8) "}", 8, CQ_ERR_FORMAT, 9, "more than 2^63 bytes"},
      {"{" A("[9223372036854775808]", 0, 8) "}", 8, CQ_ERR_FORMAT, 56, "the header is not JSON: too big integer"},
      {"{" A("[0,4611686018427387904,4]", 0, 0) "}", 0, CQ_ERR_FORMAT, 9, "more than 2^63 elements"},
      {"{" A("[-2]", 0, 8) "}", 8, CQ_ERR_FORMAT, 9, "a dimension is not a whole number"},
      {"{" A("[2.0]", 0, 8) "}", 8, CQ_ERR_FORMAT, 9, "a dimension is not a whole number"},
      {"{" A("[\"2\"]", 0, 8) "}", 8, CQ_ERR_FORMAT, 9, "a dimension is not a whole number"},
      {"{" A("[1,1,1,1,1,1,1,1,2]", 0, 8) "}", 8, CQ_ERR_UNSUPPORTED, 9, "9 dimensions"},
      {"{" A("2", 0, 8) "}", 8, CQ_ERR_FORMAT, 9, "no shape"},
      /* members */
      {"{\"a\":{\"dtype\":\"F31\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, CQ_ERR_UNSUPPORTED, 9,
       "unknown dtype 'F31'"},
      {"{\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}}", 8, CQ_ERR_FORMAT, 9, "no dtype"},
      {"{\"a\":{\"dtype\":1,\"shape\":[2],\"data_offsets\":[0,8]}}", 8, CQ_ERR_FORMAT, 9, "no dtype"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, CQ_ERR_FORMAT, 9, "no data_offsets of two"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,9]}}", 8, CQ_ERR_FORMAT, 9,
       "no data_offsets of two"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2],\"x\":1}}", 2, CQ_ERR_FORMAT, 9,
       "a member other than"},
      {"{\"a\":[]}", 0, CQ_ERR_FORMAT, 9, "tensor 'a': expected an object"},
      {"{ \"__metadata__\":{\"a\":1}}", 0, CQ_ERR_FORMAT, 10, "expected an object of strings"},
      {"{\"__metadata__\":[]}", 0, CQ_ERR_FORMAT, 9, "expected an object of strings"},
      /* JSON */
      {"{" A("[2]", 0, 8) "," A("[2]", 0, 8) "}", 8, CQ_ERR_FORMAT, 65, "duplicate object key"},
      {"{\"\xFF\":1}", 0, CQ_ERR_FORMAT, 10, "the header is not JSON"},
      {"{\"a\\u0000\":1}", 0, CQ_ERR_FORMAT, 18, "the header is not JSON"},
      {"{\"a\":", 0, CQ_ERR_FORMAT, 13, "the header is not JSON"},
      {"{} x", 0, CQ_ERR_FORMAT, 12, "the header is not JSON"},
      {"[]", 0, CQ_ERR_FORMAT, 8, "does not begin with '{'"},
      {" {}", 0, CQ_ERR_FORMAT, 8, "does not begin with '{'"},
      {"", 0, CQ_ERR_FORMAT, 8, "does not begin with '{'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_error error = {0};
    cq_status status = open_header(cases[i].header, cases[i].n_data, &error);
    uint64_t byte =
        cases[i].byte >= 0 ? (uint64_t)cases[i].byte : 7 + strlen(cases[i].header) + (uint64_t)-cases[i].byte;
    if (status != cases[i].status || error.byte != byte || error.line ||
        (cases[i].message && !strstr(error.message, cases[i].message)))
      failures++, print_error("%s: status %d, byte %llu (expected %llu): %s\n", cases[i].header, status,
                              (unsigned long long)error.byte, (unsigned long long)byte, error.message);
  }
  assert_int_equal(failures, 0);
}

static void lying_lengths_are_found_out(void **state) {
  (void)state;
  static const struct {
    uint64_t n;
    size_t size; /* of the file */
    uint64_t byte;
    const char *message;
  } cases[] = {
      {0, 0, 0, "the file ends inside the header's length"},
      {2, 7, 7, "the file ends inside the header's length"},
      {3, 10, 0, "the header has 3 bytes, the file 2 after them"},
      {UINT64_MAX, 10, 0, "the header has 18446744073709551615 bytes"},
      {(uint64_t)1 << 63, 10, 0, "the header has 9223372036854775808 bytes"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_safetensors *file;
    cq_error error = {0};
    unsigned char bytes[10];
    for (int k = 0; k < 8; k++) bytes[k] = (unsigned char)(cases[i].n >> (8 * k));
    memcpy(bytes + 8, "{}", 2);
    write_bytes(test_path("n.safetensors"), bytes, cases[i].size);
    assert_int_equal(cq_safetensors_open(&file, test_path("n.safetensors"), &error), CQ_ERR_FORMAT);
    assert_int_equal(error.byte, cases[i].byte);
    assert_non_null(strstr(error.message, "n.safetensors: byte "));
    assert_non_null(strstr(error.message, cases[i].message));
  }
}

static void every_truncation_is_found(void **state) {
  (void)state;
  size_t n;
  unsigned char *bytes = read_bytes(&n, tests_file("golden/format/python.safetensors"));
  for (size_t i = 0; i < n; i++) {
    cq_safetensors *file;
    cq_error error = {0};
    write_bytes(test_path("cut.safetensors"), bytes, i);
    assert_int_equal(cq_safetensors_open(&file, test_path("cut.safetensors"), &error), CQ_ERR_FORMAT);
    assert_in_range(error.byte, 0, n);
  }
  free(bytes);
}

static void what_cannot_be_written_is_refused(void **state) {
  (void)state;
  cq_error error = {0};
  const char *path = test_path("refused.safetensors");
  cq_stored_tensor two[] = {{.name = "a", .dtype = CQ_F32, .n_dims = 1}, {.name = "a", .dtype = CQ_F32, .n_dims = 1}};
  assert_int_equal(cq_safetensors_write(path, two, 2, NULL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "two tensors are named 'a'"));
  two[0].dtype = CQ_OTHER_DTYPE;
  assert_int_equal(cq_safetensors_write(path, two, 1, NULL, &error), CQ_ERR_ARGUMENT);
  two[0] = (cq_stored_tensor){.name = "a", .dtype = CQ_F64, .n_dims = 1, .shape = {INT64_MAX / 4}};
  assert_int_equal(cq_safetensors_write(path, two, 1, NULL, &error), CQ_ERR_ARGUMENT);
  two[0] = (cq_stored_tensor){.name = "a", .dtype = CQ_U8, .n_dims = 3, .shape = {INT64_MAX, 0, 2}};
  assert_int_equal(cq_safetensors_write(path, two, 1, NULL, &error), CQ_ERR_ARGUMENT);
  two[0].shape[0] = -1;
  assert_int_equal(cq_safetensors_write(path, two, 1, NULL, &error), CQ_ERR_ARGUMENT);
  assert_int_equal(count_files("refused"), 0);
  assert_int_equal(cq_safetensors_write(test_path("no/where"), NULL, 0, NULL, &error), CQ_ERR_IO);
}

static void allocation_failures_are_reported(void **state) {
  (void)state;
  static const float f32[2] = {1, 2};
  const cq_stored_tensor tensors[] = {{.name = "a", .dtype = CQ_F32, .n_dims = 1, .shape = {2}, .data = f32},
                                      {.name = "b", .dtype = CQ_F32, .n_dims = 1, .shape = {1}, .data = f32}};
  const char *path = test_path("m.safetensors");
  for (int reading = 0; reading < 2; reading++) {
    for (long n = 1;; n++) {
      cq_safetensors *file = NULL;
      cq_error error = {0};
      cq_alloc_fail_at(n);
      cq_status status =
          reading ? cq_safetensors_open(&file, path, &error) : cq_safetensors_write(path, tensors, 2, NULL, &error);
      bool failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      cq_safetensors_close(file);
      if (!failed) {
        assert_int_equal(status, CQ_OK);
        assert_true(n > 4);
        break;
      }
      assert_int_equal(status, CQ_ERR_MEMORY);
      assert_int_equal(error.status, CQ_ERR_MEMORY);
      assert_int_equal(count_files("m.safetensors"), (size_t)reading);
    }
  }
}

/* ---- half precision ---- */

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* What an f16 is worth, by the definition. */
static double f16_value(unsigned half) {
  unsigned exponent = half >> 10 & 31, fraction = half & 1023;
  double value = exponent == 31 ? (fraction ? NAN : INFINITY)
                 : exponent     ? ldexp(1 + fraction / 1024.0, (int)exponent - 15)
                                : ldexp(fraction, -24);
  return half >> 15 ? -value : value;
}

static void every_f16_is_converted_exactly(void **state) {
  (void)state;
  for (unsigned half = 0; half < 0x10000; half++) {
    float value = cq_f16_to_f32((uint16_t)half);
    double want = f16_value(half);
    if (isnan(want)) {
      assert_true(isnan(value));
      assert_true(isnan(cq_f16_to_f32(cq_f32_to_f16(value))));
    } else {
      assert_true((double)value == want && !signbit(value) == !signbit(want));
      assert_int_equal(cq_f32_to_f16(value), half);
    }
  }
}

/* Between two neighbors: the nearer one, at the middle the even one. */
static void rounding_is_to_nearest_even(void **state) {
  (void)state;
  for (unsigned half = 0; half < 0x7C00; half++) {
    float low = cq_f16_to_f32((uint16_t)half);
    float high = half == 0x7BFF ? 65536.0f : cq_f16_to_f32((uint16_t)(half + 1)), middle = (low + high) / 2;
    assert_int_equal(cq_f32_to_f16(middle), half + (half & 1));
    assert_int_equal(cq_f32_to_f16(nextafterf(middle, 0)), half);
    assert_int_equal(cq_f32_to_f16(nextafterf(middle, INFINITY)), half + 1);
    assert_int_equal(cq_f32_to_f16(-middle), 0x8000u | (half + (half & 1)));
  }
  assert_int_equal(cq_f32_to_f16(1e10f), 0x7C00);
  assert_int_equal(cq_f32_to_f16(-INFINITY), 0xFC00);
  assert_int_equal(cq_f32_to_f16(1e-30f), 0);
  for (unsigned bits = 0; bits < 0x7F80; bits++) {
    float low = cq_bf16_to_f32((uint16_t)bits), middle = float_of(bits << 16 | 0x8000u);
    assert_true(low == float_of(bits << 16));
    assert_int_equal(cq_f32_to_bf16(low), bits);
    assert_int_equal(cq_f32_to_bf16(middle), bits + (bits & 1));
    assert_int_equal(cq_f32_to_bf16(float_of((bits << 16) + 0x7FFFu)), bits);
    assert_int_equal(cq_f32_to_bf16(float_of((bits << 16) + 0x8001u)), bits + 1);
    assert_int_equal(cq_f32_to_bf16(-low), 0x8000u | bits);
  }
  assert_int_equal(cq_f32_to_bf16(INFINITY), 0x7F80);
  assert_true(isnan(cq_bf16_to_f32(cq_f32_to_bf16(float_of(0x7F800001u)))));
  assert_true(isnan(cq_bf16_to_f32(cq_f32_to_bf16(float_of(0xFFFFFFFFu)))));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tensors_come_back),
      cmocka_unit_test(a_file_written_by_python_is_read),
      cmocka_unit_test(lying_headers_are_found_out),
      cmocka_unit_test(lying_lengths_are_found_out),
      cmocka_unit_test(every_truncation_is_found),
      cmocka_unit_test(what_cannot_be_written_is_refused),
      cmocka_unit_test(allocation_failures_are_reported),
      cmocka_unit_test(every_f16_is_converted_exactly),
      cmocka_unit_test(rounding_is_to_nearest_even),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
