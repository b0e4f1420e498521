/* src/tensor/cpu/bf16_amx.c with instructions in C. */
#define PRODUCTS_TABLE     cq_products_bf16_amx_emulated
#define PRODUCTS_NAME      "amx, emulated"
#define AMX_DOT(sum, a, b) _tile_dpbf16ps(sum, a, b)
#define AMX_HEADER         "tensor/amx_emulated.h"
#include "tensor/products.h"
extern const cq_products PRODUCTS_TABLE;
#include "tensor/cpu/bf16_avx512.inc.h"
