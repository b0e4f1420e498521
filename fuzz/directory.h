/* Directories of a model as one input. Each part, a line of '=' between them, begins with a line that names the file:
 *
 *   modules.json
 *   [{"path": "", "type": "..."}]
 *   =
 *   tensors
 *   . embedding.weight 8 4           a tensor of the weights in the root, [8, 4], of small numbers
 *   2_Dense linear.bias 4
 *
 * So an input says what weights there are, and needs not hold them. */
#ifndef FUZZ_DIRECTORY_H
#define FUZZ_DIRECTORY_H

#include "fuzz.h"

/* Writes the files that the input names, if they are among names, and removes the others. Names that end in
 * model.safetensors are written from the tensors. */
void fuzz_directory(const uint8_t *data, size_t n, const char *const *names, size_t n_names);

#endif
