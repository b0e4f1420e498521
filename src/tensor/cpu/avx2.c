/* The AVX2 level. */
#ifdef CQ_X86
#define LEVEL_NAME  "avx2"
#define LEVEL_TABLE cq_kernels_avx2
#include "tensor/cpu/simd_avx2.h"

#include "tensor/cpu/level.inc.h"
#else
typedef int cq_level_not_built; /* C wants a declaration in every file */
#endif
