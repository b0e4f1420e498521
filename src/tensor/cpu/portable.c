/* The level for any processor. */
#define LEVEL_NAME  "portable"
#define LEVEL_TABLE cq_kernels_portable
#include "tensor/cpu/simd_portable.h"

#include "tensor/cpu/level.inc.h"
