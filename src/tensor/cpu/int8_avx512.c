/* 8 bits on AVX-512 VNNI. */
#ifdef CQ_X86
#define PRODUCTS_TABLE cq_products_int8_avx512
#define PRODUCTS_NAME  "avx512"
#include "tensor/cpu/int8_avx512.inc.h"
#else
typedef int cq_level_not_built; /* C wants a declaration in every file */
#endif
