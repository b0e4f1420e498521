/* The kernel table of a file that includes narrow.inc.h, with the functions named there. */
const cq_products PRODUCTS_TABLE = {
    .name = PRODUCTS_NAME,
    .precision = PRODUCTS_PRECISION,
    .packed_bytes = narrow_packed_bytes,
    .pack = narrow_pack,
    .left_bytes = narrow_left_bytes,
    .convert = narrow_convert,
    .product = narrow_product,
#ifdef PRODUCTS_TRANSPOSED
    .transposed_bytes = PRODUCTS_TRANSPOSED_BYTES,
    .product_transposed = PRODUCTS_TRANSPOSED,
#endif
#ifdef PRODUCTS_ATTENTION
    .attention_scratch = PRODUCTS_ATTENTION_SCRATCH,
    .attention = PRODUCTS_ATTENTION,
#endif
};
