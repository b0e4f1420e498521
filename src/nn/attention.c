/* Multi-head self-attention, sequence by sequence: forward and backward. See attention.h. */
#include "nn/attention.h"

#include "base/error.h"

#include <math.h>

/* Columns of queries, keys and values side by side. */
typedef struct widths {
  int64_t head_dim, query, key, all;
} widths;

static widths widths_of(const cq_attention *l, int64_t dim) {
  const int64_t head_dim = l->head_dim > 0 ? l->head_dim : dim / l->n_heads, query = l->n_heads * head_dim;
  const int64_t key = l->n_kv_heads > 0 ? l->n_kv_heads * head_dim : query;
  return (widths){head_dim, query, key, query + 2 * key};
}

static cq_attention_shape attention_shape(const cq_attention *l, const cq_batch *batch, int64_t s, widths width,
                                          const float *const *bias, uint32_t site) {
  const cq_attention_shape shape = {
      .n_tokens = cq_batch_length(batch, s),
      .n_heads = l->n_heads,
      .head_dim = width.head_dim,
      .stride = width.all,
      .out_stride = width.query,
      .scale = l->scale != 0 ? l->scale
                             : 1.0f / sqrtf((float)(width.head_dim * (l->disentangled ? l->disentangled->n_terms : 1))),
      .bias = bias ? bias[s] : NULL,
      .dropout = {batch->keys ? l->dropout : 0, batch->keys ? cq_dropout_key(batch->keys[s], site) : 0},
      .n_kv_heads = l->n_kv_heads,
      .window = l->window,
      .causal = l->causal,
      .slopes = l->slopes,
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

/* The attention products (queries with keys, weights with values) of a layer below f32: bf16, even if its weights have
 * 8 bits. NULL: f32. */
static const cq_products *narrow_attention(const cq_worker *worker, const cq_attention *l, const void *saved) {
  const cq_linear *first = l->fused.weight ? &l->fused : &l->query;
  if (saved || first->packed.products->precision == CQ_PRECISION_F32) return NULL;
  const cq_products *narrow = cq_products_of(worker->kernels, CQ_PRECISION_BF16);
  return narrow->attention ? narrow : NULL;
}

/* ---- norms and rotation of queries and keys ---- */

/* Normalizes one token's heads at a time: the next token's heads are a stride away. */
static cq_status norm_heads(cq_worker *worker, const cq_norm *l, cq_tensor x, int64_t head_dim, cq_norm_saved *saved,
                            cq_error *error) {
  if (!l->gamma) return CQ_OK;
  const int64_t n_heads = x.cols / head_dim;
  assert(l->rms);
  if (saved) {
    saved->xhat = cq_workspace_f32(&worker->workspace, x.rows, x.cols);
    saved->rstd = cq_workspace_take(&worker->workspace, (size_t)(x.rows * n_heads) * sizeof(float));
    if (!saved->xhat.data || !saved->rstd) return cq_fail_memory(error, "norms of heads");
  }
  for (int64_t t = 0; t < x.rows; t++) {
    float *row = cq_f32(x) + t * x.stride;
    worker->kernels->rms_norm(row, saved ? cq_f32(saved->xhat) + t * x.cols : NULL,
                              saved ? saved->rstd + t * n_heads : NULL, row, l->gamma->value, l->offset, l->eps,
                              n_heads, head_dim);
  }
  return CQ_OK;
}

static void norm_heads_backward(cq_worker *worker, const cq_norm *l, cq_gradients *gradients, cq_tensor d,
                                int64_t head_dim, const cq_norm_saved *saved) {
  if (!l->gamma) return;
  const int64_t n_heads = d.cols / head_dim;
  float *dgamma = l->gamma->frozen ? NULL : cq_gradient_of(gradients, l->gamma);
  for (int64_t t = 0; t < d.rows; t++) {
    float *row = cq_f32(d) + t * d.stride;
    worker->kernels->rms_norm_backward(row, dgamma, row, cq_f32(saved->xhat) + t * d.cols, saved->rstd + t * n_heads,
                                       l->gamma->value, l->offset, n_heads, head_dim);
  }
}

static void turn(cq_worker *worker, const cq_attention *l, const cq_batch *batch, cq_tensor x, int64_t head_dim,
                 const float *turns, bool back) {
  if (l->n_turned == 0) return;
  for (int64_t s = 0; s < batch->n_seqs; s++)
    worker->kernels->rotate(cq_f32(x) + batch->starts[s] * x.stride, x.stride, turns, back, cq_batch_length(batch, s),
                            x.cols / head_dim, head_dim, l->n_turned);
}

/* ---- forward and backward ---- */

cq_status cq_attention_forward(cq_worker *worker, const cq_attention *l, const cq_batch *batch, cq_tensor y,
                               cq_tensor x, const float *const *bias, const float *turns, uint32_t site,
                               cq_attention_saved *saved, cq_error *error) {
  const int64_t n = x.rows;
  const widths width = widths_of(l, x.cols);
  cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_tensor qkv = cq_workspace_f32(&worker->workspace, n, width.all);
  cq_tensor context = cq_workspace_f32(&worker->workspace, n, width.query);
  float *log_sum = saved ? cq_workspace_take(&worker->workspace, (size_t)(n * l->n_heads) * sizeof(float)) : NULL;
  if (!qkv.data || !context.data || (saved && !log_sum)) return cq_fail_memory(error, "attention");

  cq_tensor q = cq_tensor_columns(qkv, 0, width.query), k = cq_tensor_columns(qkv, width.query, width.key),
            v = cq_tensor_columns(qkv, width.query + width.key, width.key);
  const cq_linear *const layers[] = {&l->query, &l->key, &l->value};
  cq_status status = l->fused.weight ? cq_linear_forward(worker, &l->fused, qkv, x, CQ_IDENTITY, (cq_tensor){0}, error)
                                     : cq_linears_forward(worker, layers, (const cq_tensor[]){q, k, v}, 3, x, error);
  if (!status) status = norm_heads(worker, &l->q_norm, q, width.head_dim, saved ? &saved->q_norm : NULL, error);
  if (!status) status = norm_heads(worker, &l->k_norm, k, width.head_dim, saved ? &saved->k_norm : NULL, error);
  if (status) return status;
  turn(worker, l, batch, q, width.head_dim, turns, false);
  turn(worker, l, batch, k, width.head_dim, turns, false);
  cq_mark kept = cq_workspace_mark(&worker->workspace);
  const cq_products *narrow = narrow_attention(worker, l, saved);
  float *scratch = take_attention_scratch(
      worker, narrow ? narrow->attention_scratch : worker->kernels->attention_scratch, batch, width.head_dim);
  if (!scratch) return cq_fail_memory(error, "attention");
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
    cq_attention_shape shape = attention_shape(l, batch, s, width, bias, site);
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
  if (saved) {
    saved->qkv = qkv;
    saved->context = context;
    saved->log_sum = log_sum;
  }
  cq_workspace_release(&worker->workspace, saved ? kept : mark);
  return CQ_OK;
}

cq_status cq_attention_backward(cq_worker *worker, const cq_attention *l, const cq_batch *batch,
                                cq_gradients *gradients, cq_tensor dx, cq_tensor dy, cq_tensor x,
                                const float *const *bias, float *const *dbias, const float *turns, uint32_t site,
                                const cq_attention_saved *saved, cq_error *error) {
  const int64_t n = x.rows;
  const widths width = widths_of(l, x.cols);
  cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_tensor dqkv = cq_workspace_f32(&worker->workspace, n, width.all);
  cq_tensor dcontext = cq_workspace_f32(&worker->workspace, n, width.query);
  float *scratch = take_attention_scratch(worker, worker->kernels->attention_scratch, batch, width.head_dim);
  if (!dqkv.data || !dcontext.data || !scratch) return cq_fail_memory(error, "attention");

  cq_status status = cq_linear_backward(worker, &l->output, gradients, dcontext, false, dy, saved->context, error);
  if (status) return status;
  const int64_t key = width.query, value = width.query + width.key;
  cq_tensor q = cq_tensor_columns(saved->qkv, 0, width.query), k = cq_tensor_columns(saved->qkv, key, width.key),
            v = cq_tensor_columns(saved->qkv, value, width.key);
  cq_tensor dq = cq_tensor_columns(dqkv, 0, width.query), dk = cq_tensor_columns(dqkv, key, width.key),
            dv = cq_tensor_columns(dqkv, value, width.key);
  for (int64_t s = 0; s < batch->n_seqs; s++) {
    const int64_t first = batch->starts[s], length = cq_batch_length(batch, s);
    const cq_attention_shape shape = attention_shape(l, batch, s, width, bias, site);
    worker->kernels->attention_backward(
        cq_f32(cq_tensor_rows(dq, first, length)), cq_f32(cq_tensor_rows(dk, first, length)),
        cq_f32(cq_tensor_rows(dv, first, length)), dbias ? dbias[s] : NULL,
        cq_f32(cq_tensor_rows(dcontext, first, length)), cq_f32(cq_tensor_rows(saved->context, first, length)),
        saved->log_sum + first * l->n_heads, cq_f32(cq_tensor_rows(q, first, length)),
        cq_f32(cq_tensor_rows(k, first, length)), cq_f32(cq_tensor_rows(v, first, length)), &shape, scratch);
  }
  turn(worker, l, batch, dq, width.head_dim, turns, true);
  turn(worker, l, batch, dk, width.head_dim, turns, true);
  norm_heads_backward(worker, &l->q_norm, gradients, dq, width.head_dim, &saved->q_norm);
  norm_heads_backward(worker, &l->k_norm, gradients, dk, width.head_dim, &saved->k_norm);
  if (l->fused.weight) {
    status = cq_linear_backward(worker, &l->fused, gradients, dx, true, dqkv, x, error);
    cq_workspace_release(&worker->workspace, mark);
    return status;
  }
  if (!status) status = cq_linear_backward(worker, &l->query, gradients, dx, true, dq, x, error);
  if (!status) status = cq_linear_backward(worker, &l->key, gradients, dx, true, dk, x, error);
  if (!status) status = cq_linear_backward(worker, &l->value, gradients, dx, true, dv, x, error);
  cq_workspace_release(&worker->workspace, mark);
  return status;
}

void cq_attention_free(cq_attention *l) {
  cq_linear_free(&l->fused);
  cq_linear_free(&l->query);
  cq_linear_free(&l->key);
  cq_linear_free(&l->value);
  cq_linear_free(&l->output);
}
