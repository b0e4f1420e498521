/* Safetensors: named tensors in one file, memory-mapped, never copied.
 *
 *   u64 n | n bytes of JSON {"name": {"dtype", "shape", "data_offsets": [begin, end]}, ..., "__metadata__": {}} | data
 *
 * Offsets are relative to the end of the header; the tensors fill the data without gaps or overlap. */
#ifndef FORMAT_SAFETENSORS_H
#define FORMAT_SAFETENSORS_H

#include "base/dtype.h"
#include "calque/status.h"

#include <stddef.h>
#include <stdint.h>

const char *cq_dtype_name(cq_dtype dtype); /* "F32", ... as safetensors spells it */

typedef struct cq_stored_tensor {
  const char *name;
  cq_dtype dtype;
  int n_dims;
  int64_t shape[8];
  int64_t n_elements;
  const void *data;       /* borrowed from the mapping; may be unaligned for its type */
  const char *dtype_text; /* as spelled in the file; NULL for a tensor made in memory */
} cq_stored_tensor;

typedef struct cq_safetensors cq_safetensors;

/* Opens and checks everything: header length, JSON, shapes against offsets, offsets against the file, overlap, gaps.
 * Errors: CQ_ERR_IO; CQ_ERR_FORMAT with the tensor's name and the byte. */
CQ_MUST_USE cq_status cq_safetensors_open(cq_safetensors **out, const char *path, cq_error *error);
void cq_safetensors_close(cq_safetensors *file);
void cq_safetensors_release_pages(const cq_safetensors *file); /* see cq_mapping_release_pages */
const char *cq_safetensors_path(const cq_safetensors *file);
size_t cq_safetensors_count(const cq_safetensors *file);
const cq_stored_tensor *cq_safetensors_at(const cq_safetensors *file, size_t index); /* in file order */
/* NULL when there is none of that name. */
const cq_stored_tensor *cq_safetensors_find(const cq_safetensors *file, const char *name);

/* Copies n elements as f32, from any floating dtype. Errors: CQ_ERR_UNSUPPORTED for another dtype; the message names
 * file, tensor and dtype. */
CQ_MUST_USE cq_status cq_stored_tensor_to_f32(float *out, const cq_stored_tensor *tensor, const char *path,
                                              cq_error *error);

/* Writes name, dtype, shape and data of each tensor, atomically: wider types first, otherwise in the order given. The
 * data begin at a multiple of 64 (the header is padded with spaces), and each tensor at a multiple of its type's size.
 * A larger alignment is impossible because the format allows no gaps.
 *   metadata  pairs of strings, NULL-terminated ("format", "pt", NULL); may be NULL
 * Errors: CQ_ERR_ARGUMENT (CQ_OTHER_DTYPE, a shape of more than 2^63 bytes, two tensors with the same name), CQ_ERR_IO,
 * CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_safetensors_write(const char *path, const cq_stored_tensor *tensors, size_t n,
                                           const char *const *metadata, cq_error *error);

#endif
