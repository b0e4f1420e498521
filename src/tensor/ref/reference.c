#include "tensor/ref/reference.h"

#include "tensor/levels.h"

static size_t f32_packed_bytes(int64_t k, int64_t n) {
  return (size_t)ref_packed_floats(k, n) * sizeof(float);
}
static void f32_pack(void *packed, const float *b, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n) {
  ref_pack(packed, b, k_stride, n_stride, k, n);
}
static void f32_product(float *c, int64_t c_stride, const void *a, int64_t a_stride, const void *packed, int64_t m,
                        int64_t n, int64_t k, const cq_epilogue *epilogue) {
  ref_product(c, c_stride, a, a_stride, packed, m, n, k, epilogue);
}
static const cq_products f32_products = {.name = "reference",
                                         .precision = CQ_PRECISION_F32,
                                         .packed_bytes = f32_packed_bytes,
                                         .pack = f32_pack,
                                         .product = f32_product};

const cq_kernels cq_kernels_reference = {
    .name = "reference",
    .products = &f32_products,
    .packed_floats = ref_packed_floats,
    .pack = ref_pack,
    .product = ref_product,
    .product_transposed = ref_product_transposed,
    .add_columns = ref_add_columns,
    .at_least = ref_at_least,
    .dot = ref_dot,
    .exact_dot = ref_exact_dot,
    .activate = ref_activate,
    .activate_backward = ref_activate_backward,
    .add = ref_add,
    .scale = ref_scale,
    .dropout = ref_dropout,
    .gather = ref_gather,
    .scatter_add = ref_scatter_add,
    .layer_norm = ref_layer_norm,
    .layer_norm_backward = ref_layer_norm_backward,
    .normalize = ref_normalize,
    .normalize_backward = ref_normalize_backward,
    .pool = ref_pool,
    .pool_backward = ref_pool_backward,
    .attention_scratch = ref_attention_scratch,
    .attention = ref_attention,
    .attention_backward = ref_attention_backward,
    .lstm_cell = ref_lstm_cell,
    .lstm_cell_backward = ref_lstm_cell_backward,
    .log_softmax = ref_log_softmax,
    .cross_entropy = ref_cross_entropy,
    .squared_error = ref_squared_error,
    .sum_squares = ref_sum_squares,
    .adamw = ref_adamw,
    .negative_sampling = ref_negative_sampling,
};
