/* .npy files: round trip, files numpy wrote, headers that lie. */
#include "support/files.h"

#include "base/memory.h"
#include "calque/npy.h"

static const size_t sizes[] = {[CQ_NPY_F32] = 4, [CQ_NPY_F64] = 8, [CQ_NPY_F16] = 2, [CQ_NPY_I8] = 1, [CQ_NPY_U8] = 1};

static void rows_come_back(void **state) {
  (void)state;
  unsigned char rows[7 * 3 * 8];
  for (size_t i = 0; i < sizeof rows; i++) rows[i] = (unsigned char)(i * 37);
  for (int type = CQ_NPY_F32; type <= CQ_NPY_U8; type++) {
    for (size_t n = 0; n <= 7; n += 7) {
      cq_npy_writer *w;
      cq_npy *npy;
      cq_error error = {0};
      const char *path = test_path("round.npy");
      size_t row = 3 * sizes[type];
      assert_int_equal(cq_npy_writer_open(&w, path, (cq_npy_type)type, 3, &error), CQ_OK);
      assert_int_equal(cq_npy_writer_rows(w, rows, n / 2, &error), CQ_OK);
      assert_int_equal(cq_npy_writer_rows(w, rows + n / 2 * row, n - n / 2, &error), CQ_OK);
      assert_int_equal(cq_npy_writer_rows(w, NULL, 0, &error), CQ_OK);
      assert_int_equal(cq_npy_writer_commit(w, &error), CQ_OK);
      assert_int_equal(cq_npy_open(&npy, path, &error), CQ_OK);
      assert_int_equal(cq_npy_dtype(npy), type);
      assert_int_equal(cq_npy_rows(npy), n);
      assert_int_equal(cq_npy_columns(npy), 3);
      if (n) assert_memory_equal(cq_npy_data(npy), rows, n * row);
      assert_int_equal((uintptr_t)cq_npy_data(npy) % 64, 0);
      cq_npy_close(npy);
    }
  }
}

/* Byte for byte what numpy.save writes for the same array. */
static void the_file_is_numpys(void **state) {
  (void)state;
  float values[15];
  cq_npy_writer *w;
  size_t n, want_n;
  for (int i = 0; i < 15; i++) values[i] = (float)i * 0.25f - 1;
  assert_int_equal(cq_npy_writer_open(&w, test_path("same.npy"), CQ_NPY_F32, 5, NULL), CQ_OK);
  assert_int_equal(cq_npy_writer_rows(w, values, 3, NULL), CQ_OK);
  assert_int_equal(cq_npy_writer_commit(w, NULL), CQ_OK);
  unsigned char *bytes = read_bytes(&n, test_path("same.npy")),
                *want = read_bytes(&want_n, tests_file("golden/format/f32.npy"));
  assert_int_equal(n, want_n);
  assert_memory_equal(bytes, want, n);
  free(bytes);
  free(want);
}

static cq_npy *golden(const char *name) {
  char path[100];
  cq_npy *npy;
  cq_error error = {0};
  snprintf(path, sizeof path, "golden/format/%s", name);
  if (cq_npy_open(&npy, tests_file(path), &error)) fail_msg("%s", error.message);
  return npy;
}

static void files_written_by_numpy_are_read(void **state) {
  (void)state;
  static const char *const f32[] = {"f32.npy", "version2.npy"};
  for (int file = 0; file < 2; file++) {
    cq_npy *npy = golden(f32[file]);
    assert_true(cq_npy_dtype(npy) == CQ_NPY_F32 && cq_npy_rows(npy) == 3 && cq_npy_columns(npy) == 5);
    for (int i = 0; i < 15; i++) assert_true(((const float *)cq_npy_data(npy))[i] == (float)i * 0.25f - 1);
    cq_npy_close(npy);
  }
  cq_npy *npy = golden("f64.npy");
  assert_true(cq_npy_dtype(npy) == CQ_NPY_F64 && ((const double *)cq_npy_data(npy))[14] == 2.5);
  cq_npy_close(npy);
  npy = golden("f16.npy");
  assert_true(cq_npy_dtype(npy) == CQ_NPY_F16 && ((const uint16_t *)cq_npy_data(npy))[0] == 0xBC00);
  cq_npy_close(npy);
  npy = golden("i8.npy"); /* one dimension is one column */
  assert_true(cq_npy_dtype(npy) == CQ_NPY_I8 && cq_npy_rows(npy) == 6 && cq_npy_columns(npy) == 1);
  assert_int_equal(((const int8_t *)cq_npy_data(npy))[0], -3);
  cq_npy_close(npy);
  npy = golden("u8.npy");
  assert_true(cq_npy_dtype(npy) == CQ_NPY_U8 && cq_npy_rows(npy) == 2 && cq_npy_columns(npy) == 3);
  cq_npy_close(npy);
  npy = golden("empty.npy");
  assert_true(cq_npy_rows(npy) == 0 && cq_npy_columns(npy) == 7);
  cq_npy_close(npy);
}

static void what_is_not_supported_is_named(void **state) {
  (void)state;
  static const struct {
    const char *file, *message;
    uint64_t byte;
  } cases[] = {
      {"fortran.npy", "Fortran order", 44},
      {"big-endian.npy", "elements of type '>f4'", 20},
      {"three.npy", "more than two dimensions", 60},
      {"scalar.npy", "without dimensions", 60},
      {"fields.npy", "elements of several fields", 20},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char path[100];
    cq_npy *npy;
    cq_error error = {0};
    snprintf(path, sizeof path, "golden/format/%s", cases[i].file);
    assert_int_equal(cq_npy_open(&npy, tests_file(path), &error), CQ_ERR_UNSUPPORTED);
    assert_null(npy);
    if (error.byte != cases[i].byte || !strstr(error.message, cases[i].message)) fail_msg("%s", error.message);
  }
}

/* A version 1 file of the given literal and n bytes of data. */
static cq_status open_literal(const char *literal, size_t n_data, cq_error *error) {
  unsigned char bytes[1000] = "\x93NUMPY\1";
  size_t n = strlen(literal);
  cq_npy *npy;
  bytes[8] = (unsigned char)n;
  bytes[9] = (unsigned char)(n >> 8);
  memcpy(bytes + 10, literal, n);
  write_bytes(test_path("t.npy"), bytes, 10 + n + n_data);
  cq_status status = cq_npy_open(&npy, test_path("t.npy"), error);
  if (!status) {
    size_t size = sizes[cq_npy_dtype(npy)];
    assert_int_equal((uintptr_t)cq_npy_data(npy) % size, 0); /* also behind a header of odd length */
    assert_int_equal((size_t)cq_npy_rows(npy) * (size_t)cq_npy_columns(npy) * size, n_data);
  }
  cq_npy_close(npy);
  return status;
}

static void lying_headers_are_found_out(void **state) {
  (void)state;
  int failures = 0;
#define D "'descr': '<f4'"
#define O "'fortran_order': False"
#define S "'shape': (2, 2)"
  static const struct {
    const char *literal;
    size_t n_data;
    cq_status status;
    uint64_t byte;
    const char *message;
  } cases[] = {
      {"{" D ", " O ", " S ", }", 16, CQ_OK, 0, NULL},
      {"{" S "," D "," O "}   \n", 16, CQ_OK, 0, NULL},
      {"{\"shape\": (4L,), \"fortran_order\": False, \"descr\": \"<f8\"}", 32, CQ_OK, 0, NULL},
      {"{" D "," O ",'shape':(0,5)}", 0, CQ_OK, 0, NULL},
      {"{" D ", " O ", " S ", }", 15, CQ_ERR_FORMAT, 84, "2 rows of 2 columns have 16 bytes, the file has 15 after"},
      {"{" D ", " O ", " S ", }", 17, CQ_ERR_FORMAT, 85, "2 rows of 2 columns have 16 bytes, the file has 17 after"},
      {"{" D "," O ",'shape':(4294967296, 4294967296)}", 0, CQ_ERR_FORMAT, 82, "more than 2^64 bytes"},
      {"{" D "," O ",'shape':(4611686018427387904, 1)}", 0, CQ_ERR_FORMAT, 82, "more than 2^64 bytes"},
      {"{" D "," O ",'shape':(9223372036854775808, 1)}", 0, CQ_ERR_FORMAT, 76, "a size past 2^63"},
      {"{" D "," O ",'shape':(-1, 1)}", 0, CQ_ERR_FORMAT, 58, "expected a size"},
      {"{" D "," O ",'shape':(1 1)}", 4, CQ_ERR_FORMAT, 60, "expected ',' or ')'"},
      {"{" D "," O ",'shape':[1]}", 4, CQ_ERR_FORMAT, 57, "expected '('"},
      {"{" D "," O "," S "," S "}", 16, CQ_ERR_FORMAT, 65, "a key stands twice"},
      {"{" D "," O "}", 16, CQ_ERR_FORMAT, 49, "expected descr, fortran_order and shape"},
      {"{" D "," O "," S ",'x':1}", 16, CQ_ERR_FORMAT, 65, "an unknown key"},
      {"{" D "," O "," S, 16, CQ_ERR_FORMAT, 64, "expected ',' or '}'"},
      {"{" D "," O "," S "} x", 16, CQ_ERR_FORMAT, 66, "expected only spaces"},
      {"{'descr", 16, CQ_ERR_FORMAT, 11, "expected the end of a string"},
      {"{'descr'", 16, CQ_ERR_FORMAT, 18, "expected ':'"},
      {"{'fortran_order': Maybe}", 16, CQ_ERR_FORMAT, 28, "expected True or False"},
      {"{'descr': '<c8'}", 16, CQ_ERR_UNSUPPORTED, 20, "elements of type '<c8'"},
      {"", 16, CQ_ERR_FORMAT, 10, "expected '{'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_error error = {0};
    cq_status status = open_literal(cases[i].literal, cases[i].n_data, &error);
    if (status != cases[i].status || error.byte != cases[i].byte ||
        (cases[i].message && !strstr(error.message, cases[i].message)))
      failures++, print_error("%s: status %d, byte %llu: %s\n", cases[i].literal, status,
                              (unsigned long long)error.byte, error.message);
  }
  assert_int_equal(failures, 0);
}

static void every_truncation_is_found(void **state) {
  (void)state;
  static const char *const files[] = {"golden/format/f32.npy", "golden/format/version2.npy"};
  for (int file = 0; file < 2; file++) {
    size_t n;
    unsigned char *bytes = read_bytes(&n, tests_file(files[file]));
    for (size_t i = 0; i < n; i++) {
      cq_npy *npy;
      cq_error error = {0};
      write_bytes(test_path("cut.npy"), bytes, i);
      assert_int_equal(cq_npy_open(&npy, test_path("cut.npy"), &error), CQ_ERR_FORMAT);
      assert_int_equal(error.byte, i < 6 ? 0 : i < (file ? 12 : 10) ? i : i < 128 ? 8 : i);
    }
    free(bytes);
  }
  cq_npy *npy;
  cq_error error = {0};
  write_bytes(test_path("v4.npy"), "\x93NUMPY\4\0\0\0\0\0", 12);
  assert_int_equal(cq_npy_open(&npy, test_path("v4.npy"), &error), CQ_ERR_UNSUPPORTED);
  assert_int_equal(error.byte, 6);
  assert_int_equal(cq_npy_open(&npy, test_path("none.npy"), &error), CQ_ERR_IO);
}

static void an_abandoned_file_does_not_appear(void **state) {
  (void)state;
  cq_npy_writer *w;
  cq_error error = {0};
  assert_int_equal(cq_npy_writer_open(&w, test_path("gone.npy"), CQ_NPY_I8, 4, &error), CQ_OK);
  assert_int_equal(cq_npy_writer_rows(w, "abcd", 1, &error), CQ_OK);
  assert_int_equal(cq_npy_writer_rows(w, NULL, SIZE_MAX / 2, &error), CQ_ERR_ARGUMENT);
  cq_npy_writer_abort(w);
  cq_npy_writer_abort(NULL);
  assert_int_equal(count_files("gone"), 0);
  assert_int_equal(cq_npy_writer_open(&w, test_path("gone.npy"), CQ_NPY_I8, -1, &error), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_npy_writer_open(&w, test_path("no/where.npy"), CQ_NPY_I8, 1, &error), CQ_ERR_IO);
}

static void allocation_failures_are_reported(void **state) {
  (void)state;
  assert_int_equal(open_literal("{" D "," O "," S "}", 16, NULL), CQ_OK); /* leaves t.npy, whose data are unaligned */
  for (int reading = 0; reading < 2; reading++) {
    for (long n = 1;; n++) {
      cq_npy *npy = NULL;
      cq_npy_writer *w = NULL;
      cq_error error = {0};
      cq_status status;
      cq_alloc_fail_at(n);
      if (reading) {
        status = cq_npy_open(&npy, test_path("t.npy"), &error);
      } else {
        status = cq_npy_writer_open(&w, test_path("m.npy"), CQ_NPY_F32, 2, &error);
        if (!status) status = cq_npy_writer_commit(w, &error);
      }
      bool failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      cq_npy_close(npy);
      if (!failed) {
        assert_int_equal(status, CQ_OK);
        assert_true(n > 3);
        break;
      }
      assert_int_equal(status, CQ_ERR_MEMORY);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_come_back),
      cmocka_unit_test(the_file_is_numpys),
      cmocka_unit_test(files_written_by_numpy_are_read),
      cmocka_unit_test(what_is_not_supported_is_named),
      cmocka_unit_test(lying_headers_are_found_out),
      cmocka_unit_test(every_truncation_is_found),
      cmocka_unit_test(an_abandoned_file_does_not_appear),
      cmocka_unit_test(allocation_failures_are_reported),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
