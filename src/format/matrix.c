/* A matrix of f32 in a mapped file: .npy, or raw numbers with a dimension given by the caller. See matrix.h. */
#include "format/matrix.h"

#include "base/error.h"

#include <string.h>

static cq_status open_npy(cq_matrix *out, const char *path, size_t dim, cq_error *error) {
  cq_status status = cq_npy_open(&out->npy, path, error);
  if (status) return status;
  if (cq_npy_dtype(out->npy) != CQ_NPY_F32)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "the numbers are not of type float32");
  out->data = cq_npy_data(out->npy);
  out->n = (size_t)cq_npy_rows(out->npy), out->dim = (size_t)cq_npy_columns(out->npy);
  if (dim > 0 && dim != out->dim)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, path, "rows of %zu numbers, expected %zu", out->dim, dim);
  return CQ_OK;
}

static cq_status open_raw(cq_matrix *out, const char *path, size_t dim, cq_error *error) {
  if (dim == 0 || dim > 1 << 20)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, path,
                        "not a .npy file: sentences need a model, raw f32 numbers their dimension");
  cq_status status = cq_mapping_open(&out->mapping, path, error);
  if (status) return status;
  if (out->mapping.n >= 6 && memcmp(out->mapping.data, "\x93NUMPY", 6) == 0)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "a .npy file, whose name does not end in .npy");
  if (out->mapping.n % (dim * sizeof(float)) != 0)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "%zu bytes, expected a multiple of %zu (%zu numbers of f32)",
                        out->mapping.n, dim * sizeof(float), dim);
  out->data = (const float *)(const void *)out->mapping.data;
  out->n = out->mapping.n / (dim * sizeof(float)), out->dim = dim;
  return CQ_OK;
}

cq_status cq_matrix_open(cq_matrix *out, const char *path, size_t dim, cq_error *error) {
  const size_t n = strlen(path);
  *out = (cq_matrix){0};
  cq_status status =
      n > 4 && !strcmp(path + n - 4, ".npy") ? open_npy(out, path, dim, error) : open_raw(out, path, dim, error);
  if (status) cq_matrix_close(out);
  return status;
}

void cq_matrix_close(cq_matrix *matrix) {
  cq_npy_close(matrix->npy);
  cq_mapping_close(&matrix->mapping);
  *matrix = (cq_matrix){0};
}
