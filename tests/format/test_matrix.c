/* Matrices on disk: NumPy's files and numbers alone, and what is wrong with others. */
#include "support/files.h"

#include "base/memory.h"
#include "format/matrix.h"

static const float numbers[] = {1, -2, 3.5f, 0, 1e-30f, 7};

static void write_npy(const char *path, cq_npy_type type, const void *rows, int64_t n, int64_t columns) {
  cq_npy_writer *w;
  assert_int_equal(cq_npy_writer_open(&w, path, type, columns, NULL), CQ_OK);
  assert_int_equal(cq_npy_writer_rows(w, rows, n, NULL), CQ_OK);
  assert_int_equal(cq_npy_writer_commit(w, NULL), CQ_OK);
}

static void expect_matrix(const char *path, size_t dim) {
  cq_matrix m;
  assert_int_equal(cq_matrix_open(&m, path, dim, NULL), CQ_OK);
  assert_int_equal(m.n, 2);
  assert_int_equal(m.dim, 3);
  assert_memory_equal(m.data, numbers, sizeof numbers);
  cq_matrix_close(&m);
  assert_null(m.npy);
}

static void both_formats_are_read(void **state) {
  (void)state;
  write_npy(test_path("x.npy"), CQ_NPY_F32, numbers, 2, 3);
  write_bytes(test_path("x.raw"), numbers, sizeof numbers);
  expect_matrix(test_path("x.npy"), 0);
  expect_matrix(test_path("x.npy"), 3);
  expect_matrix(test_path("x.raw"), 3);
}

static void other_floats_are_converted(void **state) {
  (void)state;
  const double doubles[] = {1, -2, 3.5, 0, 1e-30, 7};
  const uint16_t halves[] = {0x3C00, 0xC000, 0x4300, 0, 0x0001, 0x4700};
  cq_matrix m;
  write_npy(test_path("d.npy"), CQ_NPY_F64, doubles, 2, 3);
  write_npy(test_path("h.npy"), CQ_NPY_F16, halves, 2, 3);
  expect_matrix(test_path("d.npy"), 0);
  expect_matrix(test_path("d.npy"), 3);
  assert_int_equal(cq_matrix_open(&m, test_path("h.npy"), 3, NULL), CQ_OK);
  for (size_t i = 0; i < 6; i++) assert_true(m.data[i] == (i == 4 ? 0x1p-24f : numbers[i]));
  cq_matrix_close(&m);
}

static void refused(const char *path, size_t dim, cq_status expected, const char *why) {
  cq_matrix m;
  cq_error error = {0};
  assert_int_equal(cq_matrix_open(&m, path, dim, &error), expected);
  assert_non_null(strstr(error.message, why));
  assert_null(m.data);
}

static void others_are_refused(void **state) {
  (void)state;
  const int8_t integers[] = {1, 2};
  write_npy(test_path("y.npy"), CQ_NPY_F32, numbers, 2, 3);
  write_npy(test_path("i.npy"), CQ_NPY_I8, integers, 1, 2);
  write_npy(test_path("hidden"), CQ_NPY_F32, numbers, 2, 3);
  write_bytes(test_path("y.raw"), numbers, sizeof numbers);
  refused(test_path("y.npy"), 2, CQ_ERR_ARGUMENT, "rows of 3 numbers, expected 2");
  refused(test_path("i.npy"), 0, CQ_ERR_UNSUPPORTED, "integers, expected float32, float64 or float16");
  refused(test_path("hidden"), 3, CQ_ERR_FORMAT, "whose name does not end in .npy");
  refused(test_path("y.raw"), 0, CQ_ERR_ARGUMENT, "raw f32 numbers their dimension");
  refused(test_path("y.raw"), ((size_t)1 << 20) + 1, CQ_ERR_ARGUMENT, "raw f32 numbers their dimension");
  refused(test_path("y.raw"), 4, CQ_ERR_FORMAT, "24 bytes, expected a multiple of 16");
  refused(test_path("absent.npy"), 0, CQ_ERR_IO, "absent.npy");
  refused(test_path("absent.raw"), 3, CQ_ERR_IO, "absent.raw");
}

static void allocations_may_fail(void **state) {
  (void)state;
  write_npy(test_path("z.npy"), CQ_NPY_F32, numbers, 2, 3);
  for (long n = 1;; n++) {
    cq_matrix m;
    cq_alloc_fail_at(n);
    const cq_status status = cq_matrix_open(&m, test_path("z.npy"), 3, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (!status) cq_matrix_close(&m);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    if (!failed) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(both_formats_are_read),
      cmocka_unit_test(other_floats_are_converted),
      cmocka_unit_test(others_are_refused),
      cmocka_unit_test(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
