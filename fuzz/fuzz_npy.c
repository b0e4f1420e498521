/* Any bytes either are an error with a place, or rows and columns that fill the file exactly. */
#include "fuzz.h"

#include "calque/npy.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static const size_t sizes[] = {
      [CQ_NPY_F32] = 4, [CQ_NPY_F64] = 8, [CQ_NPY_F16] = 2, [CQ_NPY_I8] = 1, [CQ_NPY_U8] = 1};
  cq_npy *npy;
  cq_error error = {0};
  cq_status status = cq_npy_open(&npy, input_file(data, n), &error);
  if (status) {
    CHECK(!npy && (status == CQ_ERR_FORMAT || status == CQ_ERR_UNSUPPORTED));
    CHECK(error.byte <= n && strstr(error.message, "byte "));
    return 0;
  }
  int64_t rows = cq_npy_rows(npy), columns = cq_npy_columns(npy);
  size_t size = sizes[cq_npy_dtype(npy)], header_n = data[6] == 1 ? 10 : 12;
  header_n += (size_t)data[8] | (size_t)data[9] << 8;
  if (data[6] > 1) header_n += (size_t)data[10] << 16 | (size_t)data[11] << 24;
  CHECK(rows >= 0 && columns >= 0 && (uintptr_t)cq_npy_data(npy) % size == 0);
  CHECK((size_t)rows * (size_t)columns * size == n - header_n);
  CHECK(n == header_n || !memcmp(cq_npy_data(npy), data + header_n, n - header_n));
  cq_npy_close(npy);
  return 0;
}
