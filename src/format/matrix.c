/* A matrix of f32 in a mapped file: .npy, or raw numbers with a dimension given by the caller. See matrix.h. */
#include "format/matrix.h"

#include "base/error.h"
#include "base/memory.h"
#include "format/half.h"

#include <string.h>

static cq_status open_npy(cq_matrix *out, const char *path, size_t dim, cq_error *error) {
  cq_status status = cq_npy_open(&out->npy, path, error);
  if (status) return status;
  const cq_npy_type type = cq_npy_dtype(out->npy);
  const void *data = cq_npy_data(out->npy);
  if (type != CQ_NPY_F32 && type != CQ_NPY_F64 && type != CQ_NPY_F16)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path,
                        "the numbers are integers, expected float32, float64 or float16");
  out->n = (size_t)cq_npy_rows(out->npy), out->dim = (size_t)cq_npy_columns(out->npy);
  const size_t n = type == CQ_NPY_F32 ? 0 : out->n * out->dim;
  if (n && !(out->converted = cq_alloc_array(n, sizeof *out->converted))) return cq_fail_memory(error, path);
  for (size_t i = 0; i < n; i++)
    out->converted[i] =
        type == CQ_NPY_F64 ? (float)((const double *)data)[i] : cq_f16_to_f32(((const uint16_t *)data)[i]);
  out->data = n ? out->converted : data;
  if (dim > 0 && dim != out->dim)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, path, "rows of %zu numbers, expected %zu", out->dim, dim);
  return CQ_OK;
}

static cq_status open_raw(cq_matrix *out, const char *path, size_t dim, cq_error *error) {
  if (dim == 0 || dim > 1 << 20)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, path,
                        "not a .npy file: sentences need a model, raw f32 numbers their dimension (model, dim)");
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
  cq_free(matrix->converted);
  cq_mapping_close(&matrix->mapping);
  *matrix = (cq_matrix){0};
}
