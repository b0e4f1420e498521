/* The feed-forward half of a transformer block, plain or gated. See feed_forward.h. */
#include "nn/feed_forward.h"

#include "base/error.h"
#include "nn/norm.h"

static bool is_gated(const cq_feed_forward *l) {
  return l->gate.weight || l->fused.weight;
}

/* The columns of the gate, and of the values that the gate multiplies. */
static cq_tensor gate_of(const cq_feed_forward *l, cq_tensor both) {
  return cq_tensor_columns(both, l->fused.weight && l->up_first ? l->dim : 0, l->dim);
}
static cq_tensor up_of(const cq_feed_forward *l, cq_tensor both) {
  return cq_tensor_columns(both, l->fused.weight && l->up_first ? 0 : l->dim, l->dim);
}

static float *row_of(cq_tensor x, int64_t row) {
  return cq_f32(x) + row * x.stride;
}

static cq_status forward_gated(cq_worker *worker, const cq_feed_forward *l, cq_tensor both, cq_tensor inner,
                               cq_tensor x, cq_error *error) {
  const cq_kernels *k = worker->kernels;
  const cq_tensor gate = gate_of(l, both), up = up_of(l, both);
  const cq_linear *const layers[] = {&l->gate, &l->up};
  const cq_status status = l->fused.weight
                               ? cq_linear_forward(worker, &l->fused, both, x, CQ_IDENTITY, (cq_tensor){0}, error)
                               : cq_linears_forward(worker, layers, (const cq_tensor[]){gate, up}, 2, x, error);
  for (int64_t i = 0; !status && i < x.rows; i++) {
    k->activate(row_of(inner, i), row_of(gate, i), l->dim, l->activation);
    k->multiply(row_of(inner, i), row_of(inner, i), row_of(up, i), l->dim);
  }
  return status;
}

cq_status cq_feed_forward_forward(cq_worker *worker, const cq_feed_forward *l, const cq_batch *batch, cq_tensor y,
                                  cq_tensor x, uint32_t site, cq_feed_forward_saved *saved, cq_error *error) {
  const bool gated = is_gated(l);
  const cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_tensor inner = cq_workspace_f32(&worker->workspace, x.rows, l->dim), before = {0};
  if (gated || saved) before = cq_workspace_f32(&worker->workspace, x.rows, gated ? 2 * l->dim : l->dim);
  if (!inner.data || ((gated || saved) && !before.data)) return cq_fail_memory(error, "feed-forward layer");
  cq_status status = gated ? forward_gated(worker, l, before, inner, x, error)
                           : cq_linear_forward(worker, &l->up, inner, x, l->activation, before, error);
  if (status) return status;
  cq_dropout_apply(worker, batch, inner, l->dropout, site);
  status = cq_linear_forward(worker, &l->down, y, inner, CQ_IDENTITY, (cq_tensor){0}, error);
  if (saved)
    *saved = (cq_feed_forward_saved){before, inner};
  else
    cq_workspace_release(&worker->workspace, mark);
  return status;
}

/* dboth from dinner [n_tokens, ffn]. */
static cq_status backward_gate(cq_worker *worker, const cq_feed_forward *l, cq_tensor dboth, cq_tensor dinner,
                               cq_tensor both, cq_error *error) {
  const cq_kernels *k = worker->kernels;
  const cq_tensor gate = gate_of(l, both), up = up_of(l, both), dgate = gate_of(l, dboth), dup = up_of(l, dboth);
  const cq_mark mark = cq_workspace_mark(&worker->workspace);
  float *active = cq_workspace_take(&worker->workspace, (size_t)l->dim * sizeof *active);
  if (!active) return cq_fail_memory(error, "feed-forward layer");
  for (int64_t i = 0; i < dinner.rows; i++) {
    k->activate(active, row_of(gate, i), l->dim, l->activation);
    k->multiply(row_of(dup, i), row_of(dinner, i), active, l->dim);
    k->multiply(row_of(dgate, i), row_of(dinner, i), row_of(up, i), l->dim);
    k->activate_backward(row_of(dgate, i), row_of(dgate, i), row_of(gate, i), l->dim, l->activation);
  }
  cq_workspace_release(&worker->workspace, mark);
  return CQ_OK;
}

cq_status cq_feed_forward_backward(cq_worker *worker, const cq_feed_forward *l, const cq_batch *batch,
                                   cq_gradients *gradients, cq_tensor dx, cq_tensor dy, cq_tensor x, uint32_t site,
                                   const cq_feed_forward_saved *saved, cq_error *error) {
  const bool gated = is_gated(l);
  const cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_tensor dinner = cq_workspace_f32(&worker->workspace, dy.rows, l->dim), dboth = {0};
  if (gated) dboth = cq_workspace_f32(&worker->workspace, dy.rows, 2 * l->dim);
  if (!dinner.data || (gated && !dboth.data)) return cq_fail_memory(error, "feed-forward layer");
  cq_status status = cq_linear_backward(worker, &l->down, gradients, dinner, false, dy, saved->inner, error);
  if (status) return status;
  cq_dropout_apply(worker, batch, dinner, l->dropout, site);
  if (!gated) {
    worker->kernels->activate_backward(cq_f32(dinner), cq_f32(dinner), cq_f32(saved->before), dy.rows * l->dim,
                                       l->activation);
    status = cq_linear_backward(worker, &l->up, gradients, dx, true, dinner, x, error);
  } else {
    status = backward_gate(worker, l, dboth, dinner, saved->before, error);
    if (!status && l->fused.weight)
      status = cq_linear_backward(worker, &l->fused, gradients, dx, true, dboth, x, error);
    if (!status && !l->fused.weight)
      status = cq_linear_backward(worker, &l->gate, gradients, dx, true, gate_of(l, dboth), x, error);
    if (!status && !l->fused.weight)
      status = cq_linear_backward(worker, &l->up, gradients, dx, true, up_of(l, dboth), x, error);
  }
  cq_workspace_release(&worker->workspace, mark);
  return status;
}

void cq_feed_forward_free(cq_feed_forward *l) {
  cq_linear_free(&l->up);
  cq_linear_free(&l->gate);
  cq_linear_free(&l->down);
  cq_linear_free(&l->fused);
}
