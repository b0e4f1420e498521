/* A level's f32 kernels as one of several precisions: f32_products, built from the named functions. For files with a
 * table of kernels. */
#define F32_PRODUCTS(level, floats_of, packs, multiplies, multiplies_transposed)                                       \
  static size_t f32_packed_bytes(int64_t k, int64_t n) {                                                               \
    return (size_t)floats_of(k, n) * sizeof(float);                                                                    \
  }                                                                                                                    \
  static void f32_pack(void *packed, const float *b, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n) {       \
    packs(packed, b, k_stride, n_stride, k, n);                                                                        \
  }                                                                                                                    \
  static void f32_product(float *c, int64_t c_stride, const void *a, int64_t a_stride, const void *packed, int64_t m,  \
                          int64_t n, int64_t k, const cq_epilogue *epilogue) {                                         \
    multiplies(c, c_stride, a, a_stride, packed, m, n, k, epilogue);                                                   \
  }                                                                                                                    \
  static size_t f32_transposed_bytes(int64_t m, int64_t n, int64_t k) {                                                \
    (void)m;                                                                                                           \
    return (size_t)floats_of(k, n) * sizeof(float);                                                                    \
  }                                                                                                                    \
  static void f32_product_transposed(float *c, int64_t c_stride, const float *a, int64_t a_stride, const float *b,     \
                                     int64_t b_stride, int64_t m, int64_t n, int64_t k, void *scratch) {               \
    multiplies_transposed(c, c_stride, a, a_stride, b, b_stride, m, n, k, scratch);                                    \
  }                                                                                                                    \
  static const cq_products f32_products = {.name = level,                                                              \
                                           .precision = CQ_PRECISION_F32,                                              \
                                           .packed_bytes = f32_packed_bytes,                                           \
                                           .pack = f32_pack,                                                           \
                                           .product = f32_product,                                                     \
                                           .transposed_bytes = f32_transposed_bytes,                                   \
                                           .product_transposed = f32_product_transposed};
