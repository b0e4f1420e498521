/* 8 bits on ARM with the signed dot product: numbers that are unsigned elsewhere are stored minus 128. */
#ifdef CQ_ARM64
#define PRODUCTS_TABLE  cq_products_int8_dotprod
#define PRODUCTS_NAME   "dotprod"
#define LEFT_ZERO(zero) ((zero)-128)
#define LEFT_OFFSET     128
#include "tensor/cpu/int8_neon.inc.h"
#else
typedef int cq_level_not_built; /* C wants a declaration in every file */
#endif
