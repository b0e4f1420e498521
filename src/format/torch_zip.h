/* PyTorch's pytorch_model.bin: a pickled dictionary of tensors, read without Python and without running anything.
 *
 * A pickle is a program; loading it means running it. This reader knows only the few instructions and names that a
 * state dict uses. Anything else is an error that names it. */
#ifndef FORMAT_TORCH_ZIP_H
#define FORMAT_TORCH_ZIP_H

#include "format/safetensors.h"

/* Opens such a file as the same view that cq_safetensors_open gives; tensors that share memory in the file share it
 * here. Errors: CQ_ERR_IO; CQ_ERR_FORMAT with the byte; CQ_ERR_UNSUPPORTED for anything outside a state dict (another
 * global, an entry that is no tensor, a tensor that is not contiguous; named) and for files older than PyTorch 1.6;
 * CQ_ERR_MEMORY.
 */
CQ_MUST_USE cq_status cq_torch_zip_open(cq_safetensors **out, const char *path, cq_error *error);

#endif
