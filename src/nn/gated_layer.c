#include "nn/gated_layer.h"

#include "base/error.h"

#include <math.h>
#include <string.h>

/* --- norms --- */

static void norm_row(const cq_kernels *k, const cq_rms_norm *l, float *y, const float *x, int64_t n) {
  const double mean = k->sum_squares(x, n) / (double)n;
  const float factor = (float)(1 / sqrt(mean + (double)l->eps)), *gamma = l->gamma->value;
  if (l->from_one) {
    for (int64_t i = 0; i < n; i++) y[i] = x[i] * factor * (1 + gamma[i]);
  } else {
    for (int64_t i = 0; i < n; i++) y[i] = x[i] * factor * gamma[i];
  }
}

void cq_rms_norm_forward(const cq_kernels *kernels, const cq_rms_norm *l, cq_tensor y, cq_tensor x) {
  for (int64_t t = 0; t < x.rows; t++) norm_row(kernels, l, cq_f32(y) + t * y.stride, cq_f32(x) + t * x.stride, x.cols);
}

/* Norms and turns the heads of one sequence's queries or keys. */
static void place_heads(const cq_kernels *k, const cq_rms_norm *norm, cq_tensor x, int64_t head_dim,
                        const float *positions) {
  const int64_t n_heads = x.cols / head_dim;
  for (int64_t t = 0; t < x.rows; t++) {
    float *row = cq_f32(x) + t * x.stride;
    for (int64_t h = 0; h < n_heads && norm->gamma; h++)
      norm_row(k, norm, row + h * head_dim, row + h * head_dim, head_dim);
    k->rotate(row, x.stride, positions + t * head_dim, false, 1, n_heads, head_dim, head_dim);
  }
}

/* --- attention: a block of queries against the keys that any of them sees --- */

enum { BLOCK = 64 };

typedef struct span {
  int64_t first, end;
} span;

/* The keys that query t of n sees. */
static span keys_of(const cq_gated_layer *l, int64_t t, int64_t n) {
  span s = {0, l->causal ? t + 1 : n};
  if (l->window && t - l->window + 1 > s.first) s.first = t - l->window + 1;
  if (l->window && t + l->window < s.end) s.end = t + l->window;
  return s;
}

/* Row [n] of scores becomes probabilities; what is not in `seen` is 0. */
static void softmax_seen(float *row, int64_t n, span seen, float scale) {
  float max = -INFINITY, sum = 0;
  for (int64_t i = seen.first; i < seen.end; i++) max = row[i] > max ? row[i] : max;
  for (int64_t i = seen.first; i < seen.end; i++) sum += row[i] = expf(scale * (row[i] - max));
  for (int64_t i = seen.first; i < seen.end; i++) row[i] /= sum;
  memset(row, 0, (size_t)seen.first * sizeof *row);
  memset(row + seen.end, 0, (size_t)(n - seen.end) * sizeof *row);
}

/* out [n, n_heads head_dim] of one sequence. */
static cq_status attend(cq_worker *worker, const cq_gated_layer *l, cq_tensor out, cq_tensor q, cq_tensor k,
                        cq_tensor v, cq_error *error) {
  const cq_kernels *kernels = worker->kernels;
  const int64_t n = q.rows, dim = l->head_dim, n_group = l->n_heads / l->n_kv_heads;
  const cq_mark mark = cq_workspace_mark(&worker->workspace);
  float *scores = cq_workspace_take(&worker->workspace, (size_t)(BLOCK * n) * sizeof *scores);
  float *keys = cq_workspace_take(&worker->workspace, (size_t)kernels->packed_floats(dim, n) * sizeof *keys);
  float *values = cq_workspace_take(&worker->workspace, (size_t)kernels->packed_floats(n, dim) * sizeof *values);
  if (!scores || !keys || !values) return cq_fail_memory(error, "attention");
  for (int64_t pair = 0; pair < l->n_kv_heads; pair++) {
    for (int64_t first = 0; first < n; first += BLOCK) {
      const int64_t n_rows = n - first < BLOCK ? n - first : BLOCK;
      const span all = {keys_of(l, first, n).first, keys_of(l, first + n_rows - 1, n).end};
      const int64_t width = all.end - all.first;
      kernels->pack(keys, cq_f32(k) + all.first * k.stride + pair * dim, 1, k.stride, dim, width);
      kernels->pack(values, cq_f32(v) + all.first * v.stride + pair * dim, v.stride, 1, width, dim);
      for (int64_t head = pair * n_group; head < (pair + 1) * n_group; head++) {
        kernels->product(scores, width, cq_f32(q) + first * q.stride + head * dim, q.stride, keys, n_rows, width, dim,
                         NULL);
        for (int64_t t = 0; t < n_rows; t++) {
          const span seen = keys_of(l, first + t, n);
          softmax_seen(scores + t * width, width, (span){seen.first - all.first, seen.end - all.first}, l->scale);
        }
        kernels->product(cq_f32(out) + first * out.stride + head * dim, out.stride, scores, width, values, n_rows, dim,
                         width, NULL);
      }
    }
  }
  cq_workspace_release(&worker->workspace, mark);
  return CQ_OK;
}

/* y [n_tokens, dim] from x, normed already. */
static cq_status attention(cq_worker *worker, const cq_gated_layer *l, const cq_batch *batch, cq_tensor y, cq_tensor x,
                           const float *positions, cq_error *error) {
  const int64_t of_q = l->n_heads * l->head_dim, of_k = l->n_kv_heads * l->head_dim;
  cq_tensor all = cq_workspace_f32(&worker->workspace, x.rows, of_q + 2 * of_k);
  cq_tensor context = cq_workspace_f32(&worker->workspace, x.rows, of_q);
  if (!all.data || !context.data) return cq_fail_memory(error, "attention");
  cq_tensor q = cq_tensor_columns(all, 0, of_q), k = cq_tensor_columns(all, of_q, of_k),
            v = cq_tensor_columns(all, of_q + of_k, of_k);
  const cq_linear *const layers[] = {&l->query, &l->key, &l->value};
  cq_status status = cq_linears_forward(worker, layers, (const cq_tensor[]){q, k, v}, 3, x, error);
  for (int64_t s = 0; !status && s < batch->n_seqs; s++) {
    const int64_t first = batch->starts[s], n = cq_batch_length(batch, s);
    const cq_tensor own_q = cq_tensor_rows(q, first, n), own_k = cq_tensor_rows(k, first, n);
    place_heads(worker->kernels, &l->query_norm, own_q, l->head_dim, positions);
    place_heads(worker->kernels, &l->key_norm, own_k, l->head_dim, positions);
    if (n)
      status = attend(worker, l, cq_tensor_rows(context, first, n), own_q, own_k, cq_tensor_rows(v, first, n), error);
  }
  return status ? status : cq_linear_forward(worker, &l->output, y, context, CQ_IDENTITY, (cq_tensor){0}, error);
}

/* --- the layer --- */

/* y = down(activation(gate x) * up x) */
static cq_status feed_forward(cq_worker *worker, const cq_gated_layer *l, cq_tensor y, cq_tensor x, cq_error *error) {
  const int64_t width = l->gate.weight->rows;
  cq_tensor gate = cq_workspace_f32(&worker->workspace, x.rows, width),
            up = cq_workspace_f32(&worker->workspace, x.rows, width);
  if (!gate.data || !up.data) return cq_fail_memory(error, "feed-forward");
  cq_status status = cq_linear_forward(worker, &l->gate, gate, x, l->activation, (cq_tensor){0}, error);
  if (!status) status = cq_linear_forward(worker, &l->up, up, x, CQ_IDENTITY, (cq_tensor){0}, error);
  if (status) return status;
  float *a = cq_f32(gate), *b = cq_f32(up);
  for (int64_t i = 0; i < x.rows * width; i++) a[i] *= b[i];
  return cq_linear_forward(worker, &l->down, y, gate, CQ_IDENTITY, (cq_tensor){0}, error);
}

cq_status cq_gated_forward(cq_worker *worker, const cq_gated_layer *l, const cq_batch *batch, cq_tensor x,
                           const float *positions, cq_error *error) {
  const cq_kernels *k = worker->kernels;
  const cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_tensor normed = cq_workspace_f32(&worker->workspace, x.rows, x.cols),
            y = cq_workspace_f32(&worker->workspace, x.rows, x.cols);
  const cq_mark inner = cq_workspace_mark(&worker->workspace);
  if (!normed.data || !y.data) return cq_fail_memory(error, "a layer");
  assert(cq_is_dense(x));
  for (int half = 0; half < 2; half++) {
    const cq_rms_norm *after = half ? &l->after_feed : &l->after_attention;
    cq_rms_norm_forward(k, half ? &l->feed_norm : &l->attention_norm, normed, x);
    const cq_status status =
        half ? feed_forward(worker, l, y, normed, error) : attention(worker, l, batch, y, normed, positions, error);
    if (status) return status;
    if (after->gamma) cq_rms_norm_forward(k, after, y, y);
    k->add(cq_f32(x), cq_f32(y), x.rows * x.cols);
    cq_workspace_release(&worker->workspace, inner);
  }
  cq_workspace_release(&worker->workspace, mark);
  return CQ_OK;
}

void cq_gated_free(cq_gated_layer *l) {
  cq_linear *const all[] = {&l->query, &l->key, &l->value, &l->output, &l->gate, &l->up, &l->down};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) cq_linear_free(all[i]);
}
