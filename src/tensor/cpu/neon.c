/* The NEON level. */
#ifdef CQ_ARM64
#define LEVEL_NAME  "neon"
#define LEVEL_TABLE cq_kernels_neon
#include "tensor/cpu/simd_neon.h"

#include "tensor/cpu/level.inc.h"
#else
typedef int cq_level_not_built; /* C wants a declaration in every file */
#endif
