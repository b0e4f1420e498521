/* The table of plain loops, against which every other level is tested. See reference.h. */
#include "tensor/ref/reference.h"

#include "tensor/f32_products.inc.h"
#include "tensor/levels.h"

F32_PRODUCTS("reference", ref_packed_floats, ref_pack, ref_product, ref_product_transposed)

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
    .multiply = ref_multiply,
    .scale = ref_scale,
    .dropout = ref_dropout,
    .gather = ref_gather,
    .gather_narrow = ref_gather_narrow,
    .scatter_add = ref_scatter_add,
    .layer_norm = ref_layer_norm,
    .layer_norm_backward = ref_layer_norm_backward,
    .rms_norm = ref_rms_norm,
    .rms_norm_backward = ref_rms_norm_backward,
    .rotate = ref_rotate,
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
