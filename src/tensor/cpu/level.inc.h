/* One level's table. A level is a file of three lines: its name, its vectors (simd_*.h), and this; CMakeLists.txt sets
 * the compiler flags for the file's processor. Everything here is static: the levels share only source text. */
#include "tensor/f32_products.inc.h"
#include "tensor/levels.h"

#include <math.h>
#include <string.h>

/* The order matters: each part uses those above it. */
/* clang-format off */
#include "tensor/cpu/math.inc.h"
#include "tensor/cpu/tiles.inc.h"
#include "tensor/cpu/product.inc.h"
#include "tensor/cpu/search.inc.h"
#include "tensor/cpu/elementwise.inc.h"
#include "tensor/cpu/rows.inc.h"
#include "tensor/cpu/softmax.inc.h"
#include "tensor/cpu/attention.inc.h"
#include "tensor/cpu/tokens.inc.h"
#include "tensor/cpu/training.inc.h"
/* clang-format on */

F32_PRODUCTS(LEVEL_NAME, packed_floats, pack, product, product_transposed)

const cq_kernels LEVEL_TABLE = {
    .name = LEVEL_NAME,
    .products = &f32_products,
    .packed_floats = packed_floats,
    .pack = pack,
    .product = product,
    .product_transposed = product_transposed,
    .add_columns = add_columns,
    .at_least = at_least,
    .dot = dot,
    .exact_dot = exact_dot,
    .activate = activate,
    .activate_backward = activate_backward,
    .add = add,
    .multiply = multiply_elements,
    .scale = scale,
    .dropout = dropout,
    .gather = gather,
    .gather_narrow = gather_narrow,
    .scatter_add = scatter_add,
    .layer_norm = layer_norm,
    .layer_norm_backward = layer_norm_backward,
    .rms_norm = rms_norm,
    .rms_norm_backward = rms_norm_backward,
    .rotate = rotate,
    .normalize = normalize,
    .normalize_backward = normalize_backward,
    .pool = pool,
    .pool_backward = pool_backward,
    .attention_scratch = attention_scratch,
    .attention = attention,
    .attention_backward = attention_backward,
    .lstm_cell = lstm_cell,
    .lstm_cell_backward = lstm_cell_backward,
    .log_softmax = log_softmax,
    .cross_entropy = cross_entropy,
    .squared_error = squared_error,
    .sum_squares = sum_squares,
    .adamw = adamw,
    .negative_sampling = negative_sampling,
};
