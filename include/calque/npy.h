/** @file NumPy's .npy files of two dimensions: the exchange format for embeddings.
 *
 *      cq_npy_writer *w;
 *      cq_npy_writer_open(&w, "vectors.npy", CQ_NPY_F32, 384, &err);
 *      cq_npy_writer_rows(w, rows, n_rows, &err);         // repeatedly; the row count is filled in at the end
 *      cq_npy_writer_commit(w, &err);                     // the file appears only now
 *
 * Format: NEP 1 (versions 1 to 3 read, version 1 written), little-endian, C order.
 *
 * @threads An open cq_npy may be read by any number of threads at once; a cq_npy_writer belongs to one thread at a
 * time. */
#ifndef CALQUE_NPY_H
#define CALQUE_NPY_H

#include "calque/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cq_npy_type { CQ_NPY_F32, CQ_NPY_F64, CQ_NPY_F16, CQ_NPY_I8, CQ_NPY_U8 } cq_npy_type;

/** @name Reading: the file is mapped; rows are borrowed from it, or from a copy if they are not aligned */

typedef struct cq_npy cq_npy;
/** Opens an array of one or two dimensions (one is read as one column).
 * @errors CQ_ERR_FORMAT with byte offset (bad magic, header, a size that contradicts the shape), CQ_ERR_UNSUPPORTED for
 * Fortran order, big-endian or another type (named); CQ_ERR_IO. */
CQ_API CQ_MUST_USE cq_status cq_npy_open(cq_npy **out, const char *path, cq_error *error);
CQ_API void cq_npy_close(cq_npy *npy);
CQ_API cq_npy_type cq_npy_dtype(const cq_npy *npy);
CQ_API int64_t cq_npy_rows(const cq_npy *npy);
CQ_API int64_t cq_npy_columns(const cq_npy *npy);
CQ_API const void *cq_npy_data(const cq_npy *npy); /**< [rows, columns] of dtype, aligned for it */

/** @name Writing: rows are streamed; the file appears on commit */

typedef struct cq_npy_writer cq_npy_writer;
CQ_API CQ_MUST_USE cq_status cq_npy_writer_open(cq_npy_writer **out, const char *path, cq_npy_type dtype,
                                                int64_t columns, cq_error *error);
CQ_API CQ_MUST_USE cq_status cq_npy_writer_rows(cq_npy_writer *w, const void *rows, size_t n_rows, cq_error *error);
CQ_API CQ_MUST_USE cq_status cq_npy_writer_commit(cq_npy_writer *w, cq_error *error); /**< frees w in either case */
CQ_API void cq_npy_writer_abort(cq_npy_writer *w);                                    /**< frees w, leaves no file */

/** The header of the writer's files, for rows written by other means, each at CQ_NPY_HEADER_BYTES + row * row size. */
enum { CQ_NPY_HEADER_BYTES = 128 };
CQ_API void cq_npy_header(char out[CQ_NPY_HEADER_BYTES], cq_npy_type dtype, int64_t rows, int64_t columns);

#ifdef __cplusplus
}
#endif
#endif
