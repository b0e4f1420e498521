/* PyTorch's pytorch_model.bin: a pickled dictionary of tensors, read without Python and without running anything.
 *
 * A pickle is a program; loading one means running it. This reader knows the few instructions and the few names that a
 * state dict is made of, and refuses everything else by name. */
#ifndef FORMAT_TORCH_ZIP_H
#define FORMAT_TORCH_ZIP_H

#include "format/safetensors.h"

/* Opens such a file as the same view that cq_safetensors_open gives; tensors that share memory there share it here.
 * Errors: CQ_ERR_IO; CQ_ERR_FORMAT with the byte; CQ_ERR_UNSUPPORTED naming what is not part of a state dict (another
 * global, an entry that is not a tensor, a tensor that is not contiguous) or is older than PyTorch 1.6; CQ_ERR_MEMORY.
 */
CQ_MUST_USE cq_status cq_torch_zip_open(cq_safetensors **out, const char *path, cq_error *error);

#endif
