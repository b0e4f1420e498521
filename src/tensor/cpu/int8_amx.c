/* 8 bits on AMX. */
#ifdef CQ_AMX
#define PRODUCTS_TABLE     cq_products_int8_amx
#define PRODUCTS_NAME      "amx"
#define AMX_DOT(sum, a, b) _tile_dpbusd(sum, a, b)
#include "tensor/cpu/int8_avx512.inc.h"
#else
typedef int cq_level_not_built; /* C wants a declaration in every file */
#endif
