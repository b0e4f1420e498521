#include "nn/attention.h"

#include "base/error.h"

#include <math.h>

static cq_attention_shape attention_shape(const cq_attention *l, const cq_batch *batch, int64_t s, int64_t dim,
                                          int64_t stride, const float *const *bias, uint32_t site) {
  const int64_t head_dim = dim / l->n_heads;
  const cq_attention_shape shape = {
      .n_tokens = cq_batch_length(batch, s),
      .n_heads = l->n_heads,
      .head_dim = head_dim,
      .stride = stride,
      .out_stride = dim,
      .scale = 1.0f / sqrtf((float)(head_dim * (l->disentangled ? l->disentangled->n_terms : 1))),
      .bias = bias ? bias[s] : NULL,
      .dropout = {batch->keys ? l->dropout : 0, batch->keys ? cq_dropout_key(batch->keys[s], site) : 0},
  };
  return shape;
}

static int64_t longest_of(const cq_batch *batch) {
  int64_t longest = 0;
  for (int64_t s = 0; s < batch->n_seqs; s++) {
    if (cq_batch_length(batch, s) > longest) longest = cq_batch_length(batch, s);
  }
  return longest;
}

/* Scratch for the longest sequence of the batch. */
static float *take_attention_scratch(cq_worker *worker, int64_t (*scratch)(int64_t, int64_t), const cq_batch *batch,
                                     int64_t head_dim) {
  return cq_workspace_take(&worker->workspace, (size_t)scratch(longest_of(batch), head_dim) * sizeof(float));
}

/* What multiplies queries, keys and values, in a layer of less than f32: bf16, also where its weights are of 8 bits. NULL:
 * f32. */
static const cq_products *narrow_attention(const cq_worker *worker, const cq_attention *l, const void *saved) {
  if (saved || l->query.packed.products->precision == CQ_PRECISION_F32) return NULL;
  const cq_products *narrow = cq_products_of(worker->kernels, CQ_PRECISION_BF16);
  return narrow->attention ? narrow : NULL;
}

cq_status cq_attention_forward(cq_worker *worker, const cq_attention *l, const cq_batch *batch, cq_tensor y,
                               cq_tensor x, const float *const *bias, uint32_t site, cq_attention_saved *saved,
                               cq_error *error) {
  const int64_t n = x.rows, dim = x.cols;
  cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_tensor qkv = cq_workspace_f32(&worker->workspace, n, 3 * dim);
  cq_tensor context = cq_workspace_f32(&worker->workspace, n, dim);
  float *log_sum = saved ? cq_workspace_take(&worker->workspace, (size_t)(n * l->n_heads) * sizeof(float)) : NULL;
  cq_mark kept = cq_workspace_mark(&worker->workspace);
  const cq_products *narrow = narrow_attention(worker, l, saved);
  float *scratch = take_attention_scratch(
      worker, narrow ? narrow->attention_scratch : worker->kernels->attention_scratch, batch, dim / l->n_heads);
  if (!qkv.data || !context.data || !scratch || (saved && !log_sum)) return cq_fail_memory(error, "attention");

  cq_tensor q = cq_tensor_columns(qkv, 0, dim), k = cq_tensor_columns(qkv, dim, dim),
            v = cq_tensor_columns(qkv, 2 * dim, dim);
  const cq_linear *const layers[] = {&l->query, &l->key, &l->value};
  cq_status status = cq_linears_forward(worker, layers, (const cq_tensor[]){q, k, v}, 3, x, error);
  cq_distance_rows distances = {0};
  float *of_distances = NULL; /* one sequence's */
  const bool by_distance = l->disentangled && l->disentangled->distances->table;
  if (!status && by_distance) {
    const int64_t longest = longest_of(batch);
    assert(!saved && !bias);
    of_distances = cq_workspace_take(&worker->workspace, (size_t)(l->n_heads * longest * longest) * sizeof(float));
    if (!of_distances) return cq_fail_memory(error, "attention");
    status = cq_distance_rows_make(&distances, worker, l->disentangled, longest, error);
  }
  if (status) return status;
  for (int64_t s = 0; s < batch->n_seqs; s++) {
    const int64_t first = batch->starts[s], length = cq_batch_length(batch, s);
    cq_attention_shape shape = attention_shape(l, batch, s, dim, qkv.stride, bias, site);
    if (by_distance) {
      status = cq_disentangled_bias(of_distances, worker, &distances, cq_tensor_rows(q, first, length),
                                    cq_tensor_rows(k, first, length), l->n_heads, shape.scale, error);
      if (status) return status;
      shape.bias = of_distances;
    }
    float *out = cq_f32(cq_tensor_rows(context, first, length));
    const float *of_q = cq_f32(cq_tensor_rows(q, first, length)), *of_k = cq_f32(cq_tensor_rows(k, first, length)),
                *of_v = cq_f32(cq_tensor_rows(v, first, length));
    if (narrow)
      narrow->attention(out, of_q, of_k, of_v, &shape, scratch);
    else
      worker->kernels->attention(out, saved ? log_sum + first * l->n_heads : NULL, of_q, of_k, of_v, &shape, scratch);
  }
  status = cq_linear_forward(worker, &l->output, y, context, CQ_IDENTITY, (cq_tensor){0}, error);
  if (status) return status;
  if (saved) *saved = (cq_attention_saved){qkv, context, log_sum};
  cq_workspace_release(&worker->workspace, saved ? kept : mark);
  return CQ_OK;
}

cq_status cq_attention_backward(cq_worker *worker, const cq_attention *l, const cq_batch *batch,
                                cq_gradients *gradients, cq_tensor dx, cq_tensor dy, cq_tensor x,
                                const float *const *bias, float *const *dbias, uint32_t site,
                                const cq_attention_saved *saved, cq_error *error) {
  const int64_t n = x.rows, dim = x.cols;
  cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_tensor dqkv = cq_workspace_f32(&worker->workspace, n, 3 * dim);
  cq_tensor dcontext = cq_workspace_f32(&worker->workspace, n, dim);
  float *scratch = take_attention_scratch(worker, worker->kernels->attention_scratch, batch, dim / l->n_heads);
  if (!dqkv.data || !dcontext.data || !scratch) return cq_fail_memory(error, "attention");

  cq_status status = cq_linear_backward(worker, &l->output, gradients, dcontext, false, dy, saved->context, error);
  if (status) return status;
  cq_tensor q = cq_tensor_columns(saved->qkv, 0, dim), k = cq_tensor_columns(saved->qkv, dim, dim),
            v = cq_tensor_columns(saved->qkv, 2 * dim, dim);
  cq_tensor dq = cq_tensor_columns(dqkv, 0, dim), dk = cq_tensor_columns(dqkv, dim, dim),
            dv = cq_tensor_columns(dqkv, 2 * dim, dim);
  for (int64_t s = 0; s < batch->n_seqs; s++) {
    const int64_t first = batch->starts[s], length = cq_batch_length(batch, s);
    const cq_attention_shape shape = attention_shape(l, batch, s, dim, dqkv.stride, bias, site);
    worker->kernels->attention_backward(
        cq_f32(cq_tensor_rows(dq, first, length)), cq_f32(cq_tensor_rows(dk, first, length)),
        cq_f32(cq_tensor_rows(dv, first, length)), dbias ? dbias[s] : NULL,
        cq_f32(cq_tensor_rows(dcontext, first, length)), cq_f32(cq_tensor_rows(saved->context, first, length)),
        saved->log_sum + first * l->n_heads, cq_f32(cq_tensor_rows(q, first, length)),
        cq_f32(cq_tensor_rows(k, first, length)), cq_f32(cq_tensor_rows(v, first, length)), &shape, scratch);
  }
  if (!status) status = cq_linear_backward(worker, &l->query, gradients, dx, true, dq, x, error);
  if (!status) status = cq_linear_backward(worker, &l->key, gradients, dx, true, dk, x, error);
  if (!status) status = cq_linear_backward(worker, &l->value, gradients, dx, true, dv, x, error);
  cq_workspace_release(&worker->workspace, mark);
  return status;
}

void cq_attention_free(cq_attention *l) {
  cq_linear_free(&l->query);
  cq_linear_free(&l->key);
  cq_linear_free(&l->value);
  cq_linear_free(&l->output);
}
