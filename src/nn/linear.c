/* y = activation(x W^T + b), and its gradients. See linear.h. */
#include "nn/linear.h"

#include "base/error.h"
#include "base/memory.h"

/* --- packing --- */

static cq_status pack_weight(cq_packed *to, const cq_products *products, const cq_param *weight, bool backward,
                             cq_error *error) {
  const int64_t in = weight->cols, k = backward ? weight->rows : in, n = backward ? in : weight->rows;
  if (to->products != products) { /* packed bytes of another precision */
    cq_free(to->bytes);
    *to = (cq_packed){products, NULL};
  }
  if (to->bytes && weight->frozen) return CQ_OK;
  if (!to->bytes) to->bytes = cq_alloc(products->packed_bytes(k, n));
  if (!to->bytes) return cq_fail_memory(error, "packed weights");
  float *made;
  const float *value = cq_param_f32(&made, weight);
  if (!value) return cq_fail_memory(error, "weights in f32");
  products->pack(to->bytes, value, backward ? in : 1, backward ? 1 : in, k, n);
  cq_free(made);
  return CQ_OK;
}

cq_status cq_linear_pack(cq_linear *l, const cq_packing *packing, cq_error *error) {
  const bool fits = packing->precision != CQ_PRECISION_INT8 || l->weight->cols <= CQ_INT8_MAX_K;
  const cq_products *products = cq_products_of(packing->kernels, fits ? packing->precision : CQ_PRECISION_BF16);
  const bool is_16 = !l->weight->value && l->weight->narrow.dtype != CQ_I8;
  if (l->stays_narrow && is_16 && products->precision == CQ_PRECISION_F32 && !packing->training) {
    cq_free(l->packed.bytes);
    l->packed = (cq_packed){products, NULL};
    return CQ_OK;
  }
  const cq_status status = pack_weight(&l->packed, products, l->weight, false, error);
  return status || !packing->training ? status : pack_weight(&l->packed_backward, products, l->weight, true, error);
}

void cq_linear_free(cq_linear *l) {
  cq_free(l->packed.bytes);
  cq_free(l->packed_backward.bytes);
  l->packed.bytes = l->packed_backward.bytes = NULL;
}

/* --- products --- */

/* x as the products' left side: x itself, or converted in the workspace; NULL when out of memory. */
static const void *left_side(cq_worker *worker, const cq_products *products, cq_tensor x) {
  if (!products->convert) return cq_f32(x);
  void *left = cq_workspace_take(&worker->workspace, products->left_bytes(x.rows, x.cols));
  if (left) products->convert(left, cq_f32(x), x.stride, x.rows, x.cols);
  return left;
}

static cq_status multiply(cq_worker *worker, const cq_packed *packed, cq_tensor y, cq_tensor x,
                          const cq_epilogue *epilogue, cq_error *error) {
  assert(x.rows == y.rows);
  const cq_mark mark = cq_workspace_mark(&worker->workspace);
  const void *left = left_side(worker, packed->products, x);
  if (!left) return cq_fail_memory(error, "the left side of a product");
  packed->products->product(cq_f32(y), y.stride, left, x.stride, packed->bytes, x.rows, y.cols, x.cols, epilogue);
  cq_workspace_release(&worker->workspace, mark);
  return CQ_OK;
}

/* The product with an unpacked weight: packs some of its rows at a time. */
static cq_status multiply_narrow(cq_worker *worker, const cq_linear *l, cq_tensor y, cq_tensor x,
                                 const cq_epilogue *epilogue, cq_error *error) {
  enum { PANEL = 256 };
  const cq_products *products = l->packed.products;
  const int64_t in = x.cols, out = y.cols, max = out < PANEL ? out : PANEL;
  const cq_mark mark = cq_workspace_mark(&worker->workspace);
  float *rows = cq_workspace_take(&worker->workspace, (size_t)(max * in) * sizeof *rows);
  void *packed = cq_workspace_take(&worker->workspace, products->packed_bytes(in, max));
  if (!rows || !packed) return cq_fail_memory(error, "packed weights");
  for (int64_t first = 0; first < out; first += PANEL) {
    const int64_t n = out - first < PANEL ? out - first : PANEL;
    cq_narrow_rows narrow = l->weight->narrow;
    cq_epilogue part = *epilogue;
    narrow.data = (const char *)narrow.data + (size_t)(first * in) * cq_dtype_size(narrow.dtype);
    if (part.bias) part.bias += first;
    if (part.before) part.before += first;
    worker->kernels->gather_narrow(rows, &narrow, NULL, n, in);
    products->pack(packed, rows, 1, in, in, n);
    products->product(cq_f32(y) + first, y.stride, cq_f32(x), x.stride, packed, x.rows, n, in, &part);
  }
  cq_workspace_release(&worker->workspace, mark);
  return CQ_OK;
}

cq_status cq_linear_product(cq_worker *worker, const cq_linear *l, cq_tensor y, cq_tensor x,
                            const cq_epilogue *epilogue, cq_error *error) {
  assert(x.cols == l->weight->cols && y.cols == l->weight->rows);
  if (!l->packed.bytes) return multiply_narrow(worker, l, y, x, epilogue, error);
  return multiply(worker, &l->packed, y, x, epilogue, error);
}

cq_status cq_linear_forward(cq_worker *worker, const cq_linear *l, cq_tensor y, cq_tensor x, cq_activation activation,
                            cq_tensor before, cq_error *error) {
  assert(!before.data || (before.rows == y.rows && before.stride == y.stride));
  const cq_epilogue epilogue = {
      .bias = l->bias ? l->bias->value : NULL, .activation = activation, .before = before.data ? cq_f32(before) : NULL};
  return cq_linear_product(worker, l, y, x, &epilogue, error);
}

cq_status cq_linears_forward(cq_worker *worker, const cq_linear *const *layers, const cq_tensor *y, size_t n_layers,
                             cq_tensor x, cq_error *error) {
  const cq_products *products = layers[0]->packed.products;
  const cq_mark mark = cq_workspace_mark(&worker->workspace);
  const void *left = left_side(worker, products, x);
  if (!left) return cq_fail_memory(error, "the left side of a product");
  for (size_t i = 0; i < n_layers; i++) {
    const cq_linear *l = layers[i];
    const cq_epilogue epilogue = {.bias = l->bias ? l->bias->value : NULL};
    assert(l->packed.products == products && x.cols == l->weight->cols && y[i].cols == l->weight->rows);
    if (!l->packed.bytes) {
      const cq_status status = multiply_narrow(worker, l, y[i], x, &epilogue, error);
      if (status) return status;
      continue;
    }
    products->product(cq_f32(y[i]), y[i].stride, left, x.stride, l->packed.bytes, x.rows, y[i].cols, x.cols, &epilogue);
  }
  cq_workspace_release(&worker->workspace, mark);
  return CQ_OK;
}

/* --- backward --- */

cq_status cq_linear_backward_input(cq_worker *worker, const cq_linear *l, cq_tensor dx, bool accumulate, cq_tensor dy,
                                   cq_error *error) {
  assert(dx.cols == l->weight->cols && dy.cols == l->weight->rows);
  return multiply(worker, &l->packed_backward, dx, dy, &(cq_epilogue){.accumulate = accumulate}, error);
}

cq_status cq_linear_backward_weight(cq_worker *worker, const cq_linear *l, cq_gradients *gradients, cq_tensor dy,
                                    cq_tensor x, cq_error *error) {
  const cq_products *products = l->packed.products;
  const int64_t n = x.rows, out = l->weight->rows, in = l->weight->cols;
  assert(x.cols == in && dy.cols == out && dy.rows == n);
  if (l->weight->frozen) return CQ_OK;
  const cq_mark mark = cq_workspace_mark(&worker->workspace);
  void *scratch = cq_workspace_take(&worker->workspace, products->transposed_bytes(out, in, n));
  if (!scratch) return cq_fail_memory(error, "scratch of a product");
  products->product_transposed(cq_gradient_of(gradients, l->weight), in, cq_f32(dy), dy.stride, cq_f32(x), x.stride,
                               out, in, n, scratch);
  cq_workspace_release(&worker->workspace, mark);
  return CQ_OK;
}

cq_status cq_linear_backward(cq_worker *worker, const cq_linear *l, cq_gradients *gradients, cq_tensor dx,
                             bool accumulate, cq_tensor dy, cq_tensor x, cq_error *error) {
  cq_status status = dx.data ? cq_linear_backward_input(worker, l, dx, accumulate, dy, error) : CQ_OK;
  if (!status) status = cq_linear_backward_weight(worker, l, gradients, dy, x, error);
  if (!status && l->bias && !l->bias->frozen)
    worker->kernels->add_columns(cq_gradient_of(gradients, l->bias), cq_f32(dy), dy.stride, dy.rows, dy.cols);
  return status;
}
