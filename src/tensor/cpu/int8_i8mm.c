/* 8 bits on ARM with I8MM: a step adds four products of an unsigned and a signed number to each of 4 sums. */
#ifdef CQ_ARM64
#define PRODUCTS_TABLE  cq_products_int8_i8mm
#define PRODUCTS_NAME   "i8mm"
#define LEFT_ZERO(zero) (zero)
#define LEFT_OFFSET     0
#include "tensor/cpu/int8_neon.inc.h"
#else
typedef int cq_level_not_built; /* C wants a declaration in every file */
#endif
