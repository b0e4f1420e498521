#include "nn/linear.h"

#include "base/error.h"
#include "base/memory.h"

cq_status cq_linear_pack(cq_linear *l, const cq_kernels *kernels, bool training, cq_error *error) {
  int64_t out = l->weight->rows, in = l->weight->cols;
  if (!l->packed) l->packed = cq_alloc_array((size_t)kernels->packed_floats(in, out), sizeof(float));
  if (training && !l->packed_backward)
    l->packed_backward = cq_alloc_array((size_t)kernels->packed_floats(out, in), sizeof(float));
  if (!l->packed || (training && !l->packed_backward)) return cq_fail_memory(error, "packed weights");
  kernels->pack(l->packed, l->weight->value, 1, in, in, out);
  if (training) kernels->pack(l->packed_backward, l->weight->value, in, 1, out, in);
  return CQ_OK;
}

void cq_linear_free(cq_linear *l) {
  cq_free(l->packed);
  cq_free(l->packed_backward);
  l->packed = l->packed_backward = NULL;
}

void cq_linear_forward(cq_worker *worker, const cq_linear *l, cq_tensor y, cq_tensor x, cq_activation activation,
                       cq_tensor before) {
  assert(x.cols == l->weight->cols && y.cols == l->weight->rows && x.rows == y.rows);
  assert(!before.data || (before.rows == y.rows && before.stride == y.stride));
  const cq_epilogue epilogue = {
      .bias = l->bias ? l->bias->value : NULL, .activation = activation, .before = before.data ? cq_f32(before) : NULL};
  worker->kernels->product(cq_f32(y), y.stride, cq_f32(x), x.stride, l->packed, x.rows, y.cols, x.cols, &epilogue);
}

cq_status cq_linear_backward(cq_worker *worker, const cq_linear *l, cq_gradients *gradients, cq_tensor dx,
                             bool accumulate, cq_tensor dy, cq_tensor x, cq_error *error) {
  const cq_kernels *k = worker->kernels;
  int64_t n = x.rows, out = l->weight->rows, in = l->weight->cols;
  assert(x.cols == in && dy.cols == out && dy.rows == n);
  if (dx.data) {
    assert(dx.rows == n && dx.cols == in);
    const cq_epilogue epilogue = {.accumulate = accumulate};
    k->product(cq_f32(dx), dx.stride, cq_f32(dy), dy.stride, l->packed_backward, n, in, out, &epilogue);
  }
  cq_mark mark = cq_workspace_mark(&worker->workspace);
  float *scratch = cq_workspace_take(&worker->workspace, (size_t)k->packed_floats(n, in) * sizeof(float));
  if (!scratch) return cq_fail_memory(error, "scratch of a product");
  k->product_transposed(cq_gradient_of(gradients, l->weight), in, cq_f32(dy), dy.stride, cq_f32(x), x.stride, out, in,
                        n, scratch);
  if (l->bias) k->add_columns(cq_gradient_of(gradients, l->bias), cq_f32(dy), dy.stride, n, out);
  cq_workspace_release(&worker->workspace, mark);
  return CQ_OK;
}
