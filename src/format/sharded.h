/* Tensors in several files, with an index that names each tensor's file:
 *
 *   model.safetensors.index.json   {"metadata": {"total_size": bytes}, "weight_map": {"NAME": "model-00001-of-00002..."}}
 *
 * The files are in the index's directory. */
#ifndef FORMAT_SHARDED_H
#define FORMAT_SHARDED_H

#include "format/safetensors.h"

/* Opens an index and all its files as the same view that cq_safetensors_open gives; its path is the index's.
 * Errors: CQ_ERR_IO for a missing file; CQ_ERR_FORMAT for a file name outside the directory, a tensor that is not in
 * the file named by the index or not in the index, and a wrong total_size; errors of a file's own reader;
 * CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_sharded_safetensors_open(cq_safetensors **out, const char *path, cq_error *error);
/* The same for files written by torch.save: pytorch_model.bin.index.json. */
CQ_MUST_USE cq_status cq_sharded_torch_open(cq_safetensors **out, const char *path, cq_error *error);

#endif
