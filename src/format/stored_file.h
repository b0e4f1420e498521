/* The representation of tensor files, shared by safetensors.c, torch_zip.c and sharded.c. Others use cq_safetensors. */
#ifndef FORMAT_STORED_FILE_H
#define FORMAT_STORED_FILE_H

#include "base/arena.h"
#include "base/file.h"
#include "base/map.h"
#include "format/safetensors.h"

enum { CQ_MAX_TENSORS = 1 << 16 }; /* in a file; the largest models have a tenth of that */

struct cq_safetensors {
  cq_mapping mapping;
  cq_arena arena; /* path, names, tensors */
  cq_map by_name;
  const char *path;
  cq_stored_tensor *tensors; /* [n], names and data borrowed from arena and mapping */
  size_t n;
  struct cq_safetensors **parts; /* [n_parts], in the arena: the files with the tensors (sharded.c); or none */
  size_t n_parts;
};

/* Makes the handle, maps the file and calls `read` to fill tensors, n and by_name. */
CQ_MUST_USE cq_status cq_stored_file_open(cq_safetensors **out, const char *path,
                                          cq_status (*read)(cq_safetensors *file, cq_error *error), cq_error *error);

#endif
