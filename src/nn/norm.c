/* Layer normalization fused with the residual sum, and its gradient. See norm.h. */
#include "nn/norm.h"

#include "base/error.h"

cq_status cq_norm_forward(cq_worker *worker, const cq_norm *l, cq_tensor y, cq_tensor x, cq_tensor residual,
                          cq_norm_saved *saved, cq_error *error) {
  assert(cq_is_dense(x) && cq_is_dense(y) && x.cols == l->gamma->cols);
  if (saved) {
    saved->xhat = cq_workspace_f32(&worker->workspace, x.rows, x.cols);
    saved->rstd = cq_workspace_take(&worker->workspace, (size_t)x.rows * sizeof(float));
    if (!saved->xhat.data || !saved->rstd) return cq_fail_memory(error, "layer norm");
  }
  float *xhat = saved ? cq_f32(saved->xhat) : NULL, *rstd = saved ? saved->rstd : NULL;
  assert(!l->rms || !residual.data);
  if (l->rms)
    worker->kernels->rms_norm(cq_f32(y), xhat, rstd, cq_f32(x), l->gamma->value, l->offset, l->eps, x.rows, x.cols);
  else
    worker->kernels->layer_norm(cq_f32(y), xhat, rstd, cq_f32(x), residual.data ? cq_f32(residual) : NULL,
                                l->gamma->value, l->beta ? l->beta->value : NULL, l->eps, x.rows, x.cols);
  return CQ_OK;
}

void cq_norm_backward(cq_worker *worker, const cq_norm *l, cq_gradients *gradients, cq_tensor dx, cq_tensor dy,
                      const cq_norm_saved *saved) {
  float *dgamma = l->gamma->frozen ? NULL : cq_gradient_of(gradients, l->gamma);
  float *dbeta = !l->beta || l->beta->frozen ? NULL : cq_gradient_of(gradients, l->beta);
  const float *xhat = cq_f32(saved->xhat);
  if (l->rms)
    worker->kernels->rms_norm_backward(cq_f32(dx), dgamma, cq_f32(dy), xhat, saved->rstd, l->gamma->value, l->offset,
                                       dy.rows, dy.cols);
  else
    worker->kernels->layer_norm_backward(cq_f32(dx), dgamma, dbeta, cq_f32(dy), xhat, saved->rstd, l->gamma->value,
                                         dy.rows, dy.cols);
}

void cq_dropout_apply(cq_worker *worker, const cq_batch *batch, cq_tensor x, float rate, uint32_t site) {
  if (!batch->keys || rate <= 0) return;
  assert(cq_is_dense(x));
  for (int64_t s = 0; s < batch->n_seqs; s++) {
    const cq_dropout dropout = {rate, cq_dropout_key(batch->keys[s], site)};
    worker->kernels->dropout(cq_f32(x) + batch->starts[s] * x.cols, cq_batch_length(batch, s) * x.cols, dropout);
  }
}
