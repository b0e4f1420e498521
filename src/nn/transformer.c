/* One post-norm transformer layer (BERT's), forward and backward. See transformer.h. */
#include "nn/transformer.h"

#include "base/error.h"

cq_status cq_transformer_forward(cq_worker *worker, const cq_transformer_layer *l, const cq_batch *batch, cq_tensor y,
                                 cq_tensor x, const float *const *bias, uint32_t first_site,
                                 cq_transformer_saved *saved, cq_error *error) {
  const int64_t n = x.rows, dim = x.cols, ffn = l->up.weight->rows;
  cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_tensor h = cq_workspace_f32(&worker->workspace, n, dim);
  cq_tensor inner = cq_workspace_f32(&worker->workspace, n, ffn);
  cq_tensor before = saved ? cq_workspace_f32(&worker->workspace, n, ffn) : (cq_tensor){0};
  if (!h.data || !inner.data || (saved && !before.data)) return cq_fail_memory(error, "transformer layer");

  cq_status status = cq_attention_forward(worker, &l->attention, batch, h, x, bias, NULL, first_site,
                                          saved ? &saved->attention : NULL, error);
  if (status) return status;
  cq_dropout_apply(worker, batch, h, l->attention_output_dropout, first_site + 1);
  status = cq_norm_forward(worker, &l->attention_norm, h, h, x, saved ? &saved->attention_norm : NULL, error);
  if (status) return status;

  status = cq_linear_forward(worker, &l->up, inner, h, l->activation, before, error);
  if (!status) status = cq_linear_forward(worker, &l->down, y, inner, CQ_IDENTITY, (cq_tensor){0}, error);
  if (status) return status;
  cq_dropout_apply(worker, batch, y, l->output_dropout, first_site + 2);
  status = cq_norm_forward(worker, &l->output_norm, y, y, h, saved ? &saved->output_norm : NULL, error);
  if (status) return status;

  if (saved) {
    saved->x = x;
    saved->h = h;
    saved->before = before;
    saved->inner = inner;
  } else {
    cq_workspace_release(&worker->workspace, mark);
  }
  return CQ_OK;
}

/* The gradient that flows into a branch, with dropout undone on a copy; the residual keeps d unchanged. */
static cq_tensor branch_gradient(cq_worker *worker, const cq_batch *batch, cq_tensor d, float rate, uint32_t site) {
  if (!batch->keys || rate <= 0) return d;
  cq_tensor copy = cq_workspace_f32(&worker->workspace, d.rows, d.cols);
  if (!copy.data) return copy;
  worker->kernels->scale(cq_f32(copy), cq_f32(d), 1.0f, d.rows * d.cols);
  cq_dropout_apply(worker, batch, copy, rate, site);
  return copy;
}

cq_status cq_transformer_backward(cq_worker *worker, const cq_transformer_layer *l, const cq_batch *batch,
                                  cq_gradients *gradients, cq_tensor dy, const float *const *bias, float *const *dbias,
                                  uint32_t first_site, const cq_transformer_saved *saved, cq_error *error) {
  const int64_t n = dy.rows, ffn = l->up.weight->rows;
  cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_tensor dinner = cq_workspace_f32(&worker->workspace, n, ffn);
  if (!dinner.data) return cq_fail_memory(error, "transformer layer");

  /* dy is replaced, in place, by the gradient of the sum, then of h, and so on down to x. */
  cq_norm_backward(worker, &l->output_norm, gradients, dy, dy, &saved->output_norm);
  cq_tensor branch = branch_gradient(worker, batch, dy, l->output_dropout, first_site + 2);
  if (!branch.data) return cq_fail_memory(error, "transformer layer");
  cq_status status = cq_linear_backward(worker, &l->down, gradients, dinner, false, branch, saved->inner, error);
  if (status) return status;
  worker->kernels->activate_backward(cq_f32(dinner), cq_f32(dinner), cq_f32(saved->before), n * ffn, l->activation);
  status = cq_linear_backward(worker, &l->up, gradients, dy, true, dinner, saved->h, error);
  if (status) return status;

  cq_norm_backward(worker, &l->attention_norm, gradients, dy, dy, &saved->attention_norm);
  /* attention adds to dy while it reads its own gradient, which therefore needs a copy even without dropout. */
  cq_tensor dattention = cq_workspace_f32(&worker->workspace, dy.rows, dy.cols);
  if (!dattention.data) return cq_fail_memory(error, "transformer layer");
  worker->kernels->scale(cq_f32(dattention), cq_f32(dy), 1.0f, dy.rows * dy.cols);
  cq_dropout_apply(worker, batch, dattention, l->attention_output_dropout, first_site + 1);
  status = cq_attention_backward(worker, &l->attention, batch, gradients, dy, dattention, saved->x, bias, dbias, NULL,
                                 first_site, &saved->attention, error);
  cq_workspace_release(&worker->workspace, mark);
  return status;
}

void cq_transformer_pass(const cq_transformer_layer *l, const cq_gradients *gradients) {
  const cq_attention *a = &l->attention;
  const cq_param *params[] = {
      a->query.weight, a->query.bias, a->key.weight,    a->key.bias,    a->value.weight,         a->value.bias,
      a->fused.weight, a->fused.bias, a->output.weight, a->output.bias, l->attention_norm.gamma, l->attention_norm.beta,
      l->up.weight,    l->up.bias,    l->down.weight,   l->down.bias,   l->output_norm.gamma,    l->output_norm.beta};
  cq_gradients_pass(gradients, params, sizeof params / sizeof *params);
}

void cq_transformer_free(cq_transformer_layer *l) {
  cq_attention_free(&l->attention);
  cq_linear_free(&l->up);
  cq_linear_free(&l->down);
}
