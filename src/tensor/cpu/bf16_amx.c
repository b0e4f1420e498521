/* bf16 on AMX. */
#ifdef CQ_AMX
#define PRODUCTS_TABLE     cq_products_bf16_amx
#define PRODUCTS_NAME      "amxbf16"
#define AMX_DOT(sum, a, b) _tile_dpbf16ps(sum, a, b)
#include "tensor/cpu/bf16_avx512.inc.h"
#else
typedef int cq_level_not_built; /* C wants a declaration in every file */
#endif
