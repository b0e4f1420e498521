/* A matrix of f32 in a mapped file: NumPy's .npy (f64 and f16 are converted), or raw numbers, row by row, as LASER
 * writes its embeddings. */
#ifndef FORMAT_MATRIX_H
#define FORMAT_MATRIX_H

#include "base/file.h"
#include "calque/npy.h"

typedef struct cq_matrix {
  const float *data; /* [n, dim], borrowed from the file */
  size_t n, dim;
  cq_npy *npy;        /* one of the two */
  cq_mapping mapping; /* holds it */
  float *converted;   /* NULL: the file's numbers are of type f32 */
} cq_matrix;

/* A file whose name ends in .npy is opened as such, any other as raw numbers, dim per row. Errors: those of
 * cq_npy_open; CQ_ERR_UNSUPPORTED for integers; CQ_ERR_FORMAT when the size is not a multiple of the row
 * size; CQ_ERR_ARGUMENT for dim 0 where a dimension is needed, or for a dim that differs from the file's. */
CQ_MUST_USE cq_status cq_matrix_open(cq_matrix *out, const char *path, size_t dim, cq_error *error);
void cq_matrix_close(cq_matrix *matrix);

#endif
