/* Disentangled attention: content-to-content, content-to-position and position-to-content scores. See
 * disentangled.h. */
#include "nn/disentangled.h"

#include "base/error.h"

#include <math.h>

int64_t cq_distance_bucket(const cq_distances *d, int64_t distance) {
  const int64_t mid = d->span / 2, size = distance < 0 ? -distance : distance;
  int64_t bucket = size;
  /* In single precision, as the original computes it. */
  if (d->max > 0 && size > mid)
    bucket = (int64_t)ceilf(logf((float)size / (float)mid) / logf((float)((double)(d->max - 1) / (double)mid)) *
                            (float)(mid - 1)) +
             mid;
  if (bucket > d->span) bucket = d->span;
  return distance < 0 ? -bucket : bucket;
}

static int64_t table_row(const cq_distances *d, int64_t distance) {
  const int64_t row = d->span + cq_distance_bucket(d, distance);
  return row < 2 * d->span ? row : 2 * d->span - 1;
}

static cq_status project(cq_tensor *out, cq_worker *worker, const cq_linear *projection, cq_tensor x, cq_error *error) {
  *out = (cq_tensor){0};
  if (!projection) return CQ_OK;
  *out = cq_workspace_f32(&worker->workspace, x.rows, projection->weight->rows);
  if (!out->data) return cq_fail_memory(error, "distances");
  return cq_linear_forward(worker, projection, *out, x, CQ_IDENTITY, (cq_tensor){0}, error);
}

cq_status cq_distance_rows_make(cq_distance_rows *out, cq_worker *worker, const cq_disentangled *l, int64_t longest,
                                cq_error *error) {
  const cq_distances *d = l->distances;
  cq_workspace *w = &worker->workspace;
  const int64_t n_distances = longest > 0 ? 2 * longest - 1 : 0;
  const int64_t first = n_distances ? table_row(d, 1 - longest) : 0;
  const int64_t n_rows = n_distances ? table_row(d, longest - 1) - first + 1 : 0;
  int32_t *row_of = cq_workspace_take(w, (size_t)n_distances * sizeof *row_of);
  int32_t *ids = cq_workspace_take(w, (size_t)n_rows * sizeof *ids);
  cq_tensor x = cq_workspace_f32(w, n_rows, d->table->cols);
  if (!row_of || !ids || !x.data) return cq_fail_memory(error, "distances");
  for (int64_t i = 0; i < n_distances; i++) row_of[i] = (int32_t)(table_row(d, i + 1 - longest) - first);
  for (int64_t i = 0; i < n_rows; i++) ids[i] = (int32_t)(first + i);
  worker->kernels->gather(cq_f32(x), d->table->value, ids, n_rows, x.cols, false);
  cq_status status = CQ_OK;
  if (d->norm.gamma) status = cq_norm_forward(worker, &d->norm, x, x, (cq_tensor){0}, NULL, error);
  *out = (cq_distance_rows){.n_rows = n_rows, .longest = longest, .row_of = row_of};
  if (!status) status = project(&out->key, worker, l->key, x, error);
  if (!status) status = project(&out->query, worker, l->query, x, error);
  return status;
}

/* out [length, n_rows]: each token's content times each distance's vector, for one head. */
static void multiply(float *out, cq_worker *worker, cq_tensor content, cq_tensor rows, int64_t head, int64_t head_dim,
                     float *packed) {
  const cq_kernels *k = worker->kernels;
  k->pack(packed, cq_f32(rows) + head * head_dim, 1, rows.stride, head_dim, rows.rows);
  k->product(out, rows.rows, cq_f32(content) + head * head_dim, content.stride, packed, content.rows, rows.rows,
             head_dim, NULL);
}

cq_status cq_disentangled_bias(float *bias, cq_worker *worker, const cq_distance_rows *rows, cq_tensor q, cq_tensor k,
                               int64_t n_heads, float scale, cq_error *error) {
  const int64_t length = q.rows, head_dim = q.cols / n_heads, n_rows = rows->n_rows;
  cq_mark mark = cq_workspace_mark(&worker->workspace);
  const size_t n_products = (size_t)(length * n_rows) * sizeof(float);
  float *c2p = rows->key.data ? cq_workspace_take(&worker->workspace, n_products) : NULL;
  float *p2c = rows->query.data ? cq_workspace_take(&worker->workspace, n_products) : NULL;
  float *packed =
      cq_workspace_take(&worker->workspace, (size_t)worker->kernels->packed_floats(head_dim, n_rows) * sizeof *packed);
  if ((rows->key.data && !c2p) || (rows->query.data && !p2c) || !packed) return cq_fail_memory(error, "distances");
  for (int64_t h = 0; h < n_heads; h++) {
    if (c2p) multiply(c2p, worker, q, rows->key, h, head_dim, packed);
    if (p2c) multiply(p2c, worker, k, rows->query, h, head_dim, packed);
    for (int64_t i = 0; i < length; i++) {
      float *out = bias + (h * length + i) * length;
      for (int64_t j = 0; j < length; j++) {
        const int32_t r = rows->row_of[i - j + rows->longest - 1];
        out[j] = scale * ((c2p ? c2p[i * n_rows + r] : 0) + (p2c ? p2c[j * n_rows + r] : 0));
      }
    }
  }
  cq_workspace_release(&worker->workspace, mark);
  return CQ_OK;
}
