/* The sum of word, position and type embeddings, normalized; backward adds to the rows that occurred. See
 * embedding.h. */
#include "nn/embedding.h"

#include "base/error.h"

#include <string.h>

cq_status cq_embedding_forward(cq_worker *worker, const cq_embedding *l, const cq_batch *batch, cq_tensor y,
                               uint32_t site, cq_embedding_saved *saved, cq_error *error) {
  const cq_kernels *k = worker->kernels;
  const int64_t n = y.rows, dim = l->words->cols;
  assert(n == cq_batch_tokens(batch) && cq_is_dense(y));
  cq_mark mark = cq_workspace_mark(&worker->workspace);
  int32_t *position_ids = cq_workspace_take(&worker->workspace, (size_t)n * sizeof *position_ids);
  int32_t *type_ids = cq_workspace_take(&worker->workspace, (size_t)n * sizeof *type_ids);
  cq_tensor x = l->projection.weight ? cq_workspace_f32(&worker->workspace, n, dim) : y;
  if (!position_ids || !type_ids || !x.data) return cq_fail_memory(error, "embedding");
  memset(type_ids, 0, (size_t)n * sizeof *type_ids);
  for (int64_t s = 0; s < batch->n_seqs; s++) {
    assert(!l->positions || l->first_position + cq_batch_length(batch, s) <= l->positions->rows);
    /* RoBERTa models count only non-padding tokens: a pad token in the text gets the row before the first. */
    const int32_t pad_id = (int32_t)l->first_position - 1;
    int32_t next = (int32_t)l->first_position;
    for (int64_t t = batch->starts[s]; t < batch->starts[s + 1]; t++)
      position_ids[t] = batch->ids[t] == pad_id ? pad_id : next++;
    for (int64_t t = batch->second ? batch->second[s] : INT64_MAX; t < batch->starts[s + 1] - batch->starts[s]; t++)
      type_ids[batch->starts[s] + t] = l->types && l->types->rows > 1;
  }
  cq_param_gather(k, cq_f32(x), l->words, batch->ids, n);
  if (l->scale != 0) k->scale(cq_f32(x), cq_f32(x), l->scale, n * dim);
  if (l->types) k->gather(cq_f32(x), l->types->value, type_ids, n, dim, true);
  if (l->positions) k->gather(cq_f32(x), l->positions->value, position_ids, n, dim, true);
  assert(!l->tasks || !batch->second);
  if (l->tasks) k->gather(cq_f32(x), l->tasks->value, type_ids, n, dim, true);
  if (saved) {
    saved->position_ids = position_ids;
    saved->type_ids = type_ids;
    saved->x = x;
  }
  cq_status status = CQ_OK;
  if (l->norm.gamma)
    status = cq_norm_forward(worker, &l->norm, x, x, (cq_tensor){0}, saved ? &saved->norm : NULL, error);
  if (status) return status;
  cq_dropout_apply(worker, batch, x, l->dropout, site);
  if (l->projection.weight) {
    status = cq_linear_forward(worker, &l->projection, y, x, CQ_IDENTITY, (cq_tensor){0}, error);
    if (status) return status;
  }
  if (!saved) cq_workspace_release(&worker->workspace, mark);
  return CQ_OK;
}

cq_status cq_table_backward(cq_worker *worker, const cq_param *table, cq_gradients *gradients, cq_tensor dy,
                            const int32_t *ids, cq_error *error) {
  if (table->frozen) return CQ_OK;
  cq_mark mark = cq_workspace_mark(&worker->workspace);
  int32_t *slots = cq_workspace_take(&worker->workspace, (size_t)dy.rows * sizeof *slots);
  if (!slots) return cq_fail_memory(error, "gradient of a table");
  cq_status status = cq_gradient_slots(slots, gradients, table, ids, dy.rows, error);
  if (!status)
    worker->kernels->scatter_add(gradients->tables[table->offset].rows, cq_f32(dy), slots, dy.rows, table->cols);
  cq_workspace_release(&worker->workspace, mark);
  return status;
}

cq_status cq_embedding_backward(cq_worker *worker, const cq_embedding *l, const cq_batch *batch,
                                cq_gradients *gradients, cq_tensor dy, uint32_t site, const cq_embedding_saved *saved,
                                cq_error *error) {
  const cq_kernels *k = worker->kernels;
  cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_tensor dx = dy;
  if (l->projection.weight) {
    dx = cq_workspace_f32(&worker->workspace, dy.rows, l->words->cols);
    if (!dx.data) return cq_fail_memory(error, "embedding");
    cq_status status = cq_linear_backward(worker, &l->projection, gradients, dx, false, dy, saved->x, error);
    if (status) return status;
  }
  cq_dropout_apply(worker, batch, dx, l->dropout, site);
  if (l->norm.gamma) cq_norm_backward(worker, &l->norm, gradients, dx, dx, &saved->norm);
  if (l->types && !l->types->frozen)
    k->scatter_add(cq_gradient_of(gradients, l->types), cq_f32(dx), saved->type_ids, dx.rows, dx.cols);
  if (l->tasks && !l->tasks->frozen)
    k->scatter_add(cq_gradient_of(gradients, l->tasks), cq_f32(dx), saved->type_ids, dx.rows, dx.cols);
  if (l->positions && !l->positions->frozen)
    k->scatter_add(cq_gradient_of(gradients, l->positions), cq_f32(dx), saved->position_ids, dx.rows, dx.cols);
  if (l->scale != 0) k->scale(cq_f32(dx), cq_f32(dx), l->scale, dx.rows * dx.cols);
  cq_status status = cq_table_backward(worker, l->words, gradients, dx, batch->ids, error);
  cq_workspace_release(&worker->workspace, mark);
  return status;
}
