/* bf16 on AVX-512. */
#ifdef CQ_X86
#define PRODUCTS_TABLE cq_products_bf16_avx512
#define PRODUCTS_NAME  "avx512bf16"
#include "tensor/cpu/bf16_avx512.inc.h"
#else
typedef int cq_level_not_built; /* C wants a declaration in every file */
#endif
