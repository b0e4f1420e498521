/* The blocks of an encoder in order, forward and backward, with their shared tables. See stack.h. */
#include "nn/stack.h"

#include "base/error.h"

static uint32_t site_of_block(uint32_t first_site, int64_t i) {
  return first_site + (uint32_t)i * CQ_SITES_PER_BLOCK;
}

static cq_status make_inputs(cq_worker *worker, const cq_stack *l, const cq_batch *batch, cq_block_inputs *inputs,
                             cq_error *error) {
  *inputs = (cq_block_inputs){0};
  for (int i = 0; i < l->n_rotary; i++) {
    inputs->turns[i] = cq_rotary_turns(worker, &l->rotary[i], batch);
    if (!inputs->turns[i]) return cq_fail_memory(error, "rotary positions");
  }
  if (!l->relative.table) return CQ_OK;
  const float **bias = NULL;
  const cq_status status = cq_relative_bias_forward(worker, &l->relative, batch, &bias, error);
  inputs->bias = bias;
  return status;
}

cq_status cq_stack_forward(cq_worker *worker, const cq_stack *l, const cq_batch *batch, cq_tensor *x,
                           uint32_t first_site, cq_stack_saved *saved, cq_error *error) {
  cq_workspace *w = &worker->workspace;
  cq_block_inputs inputs;
  if (saved) {
    saved->blocks = cq_workspace_take(w, (size_t)l->n_blocks * sizeof *saved->blocks);
    if (!saved->blocks) return cq_fail_memory(error, "transformer");
  }
  /* Two buffers alternate as input and output; in training, every block's input is kept instead. */
  cq_tensor now = *x, next = cq_workspace_f32(w, now.rows, now.cols);
  if (!next.data) return cq_fail_memory(error, "transformer");
  const cq_mark mark = cq_workspace_mark(w);
  cq_status status = make_inputs(worker, l, batch, &inputs, error);
  for (int64_t i = 0; !status && i < l->n_blocks; i++) {
    status = cq_block_forward(worker, &l->blocks[i], batch, next, now, &inputs, site_of_block(first_site, i),
                              saved ? &saved->blocks[i] : NULL, error);
    const cq_tensor before = now;
    now = next;
    next = saved && i + 1 < l->n_blocks ? cq_workspace_f32(w, now.rows, now.cols) : before;
    if (!next.data) return cq_fail_memory(error, "transformer");
  }
  if (!status && l->last_norm.gamma)
    status = cq_norm_forward(worker, &l->last_norm, now, now, (cq_tensor){0}, saved ? &saved->last_norm : NULL, error);
  if (saved)
    saved->inputs = inputs;
  else
    cq_workspace_release(w, mark);
  *x = now;
  return status;
}

cq_status cq_stack_backward(cq_worker *worker, const cq_stack *l, const cq_batch *batch, cq_gradients *gradients,
                            cq_tensor dy, uint32_t first_site, const cq_stack_saved *saved, cq_error *error) {
  const cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_block_inputs inputs = saved->inputs;
  float **dbias = NULL;
  cq_status status = CQ_OK;
  if (l->relative.table && !l->relative.table->frozen)
    status = cq_relative_bias_gradients(worker, &l->relative, batch, &dbias, error);
  inputs.dbias = dbias;
  if (!status && l->last_norm.gamma) cq_norm_backward(worker, &l->last_norm, gradients, dy, dy, &saved->last_norm);
  for (int64_t i = l->n_blocks; !status && i-- > 0;) {
    status = cq_block_backward(worker, &l->blocks[i], batch, gradients, dy, &inputs, site_of_block(first_site, i),
                               &saved->blocks[i], error);
    if (!status && !dbias) cq_block_pass(&l->blocks[i], gradients); /* the bias is all blocks' */
  }
  if (!status && dbias) status = cq_relative_bias_backward(worker, &l->relative, batch, gradients, dbias, error);
  cq_workspace_release(&worker->workspace, mark);
  return status;
}

void cq_stack_free(cq_stack *l) {
  for (int64_t i = 0; l->blocks && i < l->n_blocks; i++) cq_block_free(&l->blocks[i]);
}
