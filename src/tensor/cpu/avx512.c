/* The AVX-512 level. */
#ifdef CQ_X86
#define LEVEL_NAME  "avx512"
#define LEVEL_TABLE cq_kernels_avx512
#include "tensor/cpu/simd_avx512.h"

#include "tensor/cpu/level.inc.h"
#else
typedef int cq_level_not_built; /* C wants a declaration in every file */
#endif
