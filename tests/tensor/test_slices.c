/* Rows and columns of tensors of every element type. */
#include "tensor/tensor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ROWS = 7, COLUMNS = 5, STRIDE = 9 };

static void slices_of_every_type(void **state) {
  static unsigned char memory[(ROWS + 1) * STRIDE * 8]; /* empty slices begin at the end */
  (void)state;
  for (cq_dtype type = CQ_F32; type < CQ_I4; type++) { /* those of whole bytes */
    const size_t size = cq_dtype_size(type);
    const cq_tensor t = {memory, type, ROWS, COLUMNS, STRIDE};
    assert_true(size >= 1 && size <= 8);
    for (int64_t first = 0; first <= ROWS; first++) {
      const cq_tensor rows = cq_tensor_rows(t, first, ROWS - first);
      assert_ptr_equal(rows.data, memory + (size_t)first * STRIDE * size);
      assert_true(rows.rows == ROWS - first && rows.cols == COLUMNS && rows.stride == STRIDE && rows.dtype == type);
      for (int64_t column = 0; column <= COLUMNS; column++) {
        const cq_tensor both = cq_tensor_columns(rows, column, COLUMNS - column);
        assert_ptr_equal(both.data, memory + ((size_t)first * STRIDE + (size_t)column) * size);
        assert_true(both.rows == rows.rows && both.cols == COLUMNS - column && both.stride == STRIDE);
      }
    }
  }
}

static void dense_or_not(void **state) {
  float x[12];
  (void)state;
  const cq_tensor t = cq_tensor_f32(x, 3, 4);
  assert_true(cq_is_dense(t) && cq_is_dense(cq_tensor_rows(t, 1, 2)));
  assert_false(cq_is_dense(cq_tensor_columns(t, 1, 2)));
  assert_true(cq_is_dense(cq_tensor_columns(cq_tensor_rows(t, 1, 1), 1, 2)));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(slices_of_every_type), cmocka_unit_test(dense_or_not)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
