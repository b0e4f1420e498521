/* MPNet's relative position bias: one number per head and bucket of distances, and its gradient. See
 * relative_bias.h. */
#include "nn/relative_bias.h"

#include "base/error.h"

#include <math.h>
#include <string.h>

int64_t cq_relative_bucket(int64_t distance, int64_t n_buckets) {
  const int64_t half = n_buckets / 2, exact = half / 2;
  int64_t n = -distance, bucket = 0;
  if (n < 0) {
    bucket = half;
    n = -n;
  }
  if (n < exact) return bucket + n;
  /* Larger distances: logarithmic up to 128, in single precision like the original. */
  int64_t far = exact + (int64_t)(logf((float)n / (float)exact) / logf(128.0f / (float)exact) * (float)(half - exact));
  return bucket + (far < half - 1 ? far : half - 1);
}

/* The table element for each (head, query, key): bucket * n_heads + head. */
static int32_t *bias_indices(cq_worker *worker, const cq_relative_bias *l, int64_t length) {
  const int64_t n_heads = l->table->cols;
  int32_t *ids = cq_workspace_take(&worker->workspace, (size_t)(n_heads * length * length) * sizeof *ids);
  if (!ids) return NULL;
  for (int64_t i = 0; i < length; i++) {
    for (int64_t j = 0; j < length; j++) {
      const int64_t bucket = cq_relative_bucket(j - i, l->table->rows);
      for (int64_t h = 0; h < n_heads; h++) ids[(h * length + i) * length + j] = (int32_t)(bucket * n_heads + h);
    }
  }
  return ids;
}

static cq_status bias_matrices(cq_worker *worker, const cq_relative_bias *l, const cq_batch *batch, float ***out,
                               cq_error *error) {
  *out = cq_workspace_take(&worker->workspace, (size_t)batch->n_seqs * sizeof **out);
  if (!*out) return cq_fail_memory(error, "relative position bias");
  for (int64_t s = 0; s < batch->n_seqs; s++) {
    const int64_t length = cq_batch_length(batch, s);
    (*out)[s] = cq_workspace_take(&worker->workspace, (size_t)(l->table->cols * length * length) * sizeof(float));
    if (!(*out)[s]) return cq_fail_memory(error, "relative position bias");
  }
  return CQ_OK;
}

cq_status cq_relative_bias_forward(cq_worker *worker, const cq_relative_bias *l, const cq_batch *batch,
                                   const float ***bias, cq_error *error) {
  float **own;
  cq_status status = bias_matrices(worker, l, batch, &own, error);
  if (status) return status;
  for (int64_t s = 0; s < batch->n_seqs; s++) {
    const int64_t length = cq_batch_length(batch, s);
    cq_mark mark = cq_workspace_mark(&worker->workspace);
    const int32_t *ids = bias_indices(worker, l, length);
    if (!ids) return cq_fail_memory(error, "relative position bias");
    worker->kernels->gather(own[s], l->table->value, ids, l->table->cols * length * length, 1, false);
    cq_workspace_release(&worker->workspace, mark);
  }
  *bias = (const float **)own;
  return CQ_OK;
}

cq_status cq_relative_bias_gradients(cq_worker *worker, const cq_relative_bias *l, const cq_batch *batch,
                                     float ***dbias, cq_error *error) {
  cq_status status = bias_matrices(worker, l, batch, dbias, error);
  for (int64_t s = 0; !status && s < batch->n_seqs; s++) {
    const int64_t length = cq_batch_length(batch, s);
    memset((*dbias)[s], 0, (size_t)(l->table->cols * length * length) * sizeof(float));
  }
  return status;
}

cq_status cq_relative_bias_backward(cq_worker *worker, const cq_relative_bias *l, const cq_batch *batch,
                                    cq_gradients *gradients, float *const *dbias, cq_error *error) {
  for (int64_t s = 0; s < batch->n_seqs; s++) {
    const int64_t length = cq_batch_length(batch, s);
    cq_mark mark = cq_workspace_mark(&worker->workspace);
    const int32_t *ids = bias_indices(worker, l, length);
    if (!ids) return cq_fail_memory(error, "relative position bias");
    worker->kernels->scatter_add(cq_gradient_of(gradients, l->table), dbias[s], ids, l->table->cols * length * length,
                                 1);
    cq_workspace_release(&worker->workspace, mark);
  }
  return CQ_OK;
}
