/* One block of later encoders: norms, attention and a feed-forward layer in the order that its data specify. See
 * block.h. */
#include "nn/block.h"

#include "base/error.h"

#include <string.h>

/* One of the block's two branches, and its norms. */
typedef struct half {
  const cq_block *l;
  const cq_norm *before, *after;
  float dropout;
  uint32_t site; /* of the branch's output */
  bool is_attention;
} half;

static half half_of(const cq_block *l, bool is_attention, uint32_t first_site) {
  return is_attention
             ? (half){l, &l->before_attention, &l->after_attention, l->attention_output_dropout, first_site + 1, true}
             : (half){l, &l->before_ffn, &l->after_ffn, l->output_dropout, first_site + 3, false};
}

static const float *turns_of(const cq_block *l, const cq_block_inputs *inputs) {
  return l->rotary > 0 ? inputs->turns[l->rotary - 1] : NULL;
}

static void copy(cq_worker *worker, cq_tensor to, cq_tensor from) {
  worker->kernels->scale(cq_f32(to), cq_f32(from), 1.0f, from.rows * from.cols);
}

/* y = x + branch(norm x) with the half's norms; y must not alias x or the branch's memory. */
static cq_status forward_half(cq_worker *worker, const half *h, const cq_batch *batch, cq_tensor y, cq_tensor x,
                              const cq_block_inputs *inputs, cq_half_saved *saved, cq_block_saved *all,
                              cq_error *error) {
  const cq_block *l = h->l;
  const cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_tensor in = x;
  cq_status status = CQ_OK;
  if (h->before->gamma) {
    in = cq_workspace_f32(&worker->workspace, x.rows, x.cols);
    if (!in.data) return cq_fail_memory(error, "transformer block");
    status = cq_norm_forward(worker, h->before, in, x, (cq_tensor){0}, saved ? &saved->before : NULL, error);
  }
  if (!status && h->is_attention)
    status = cq_attention_forward(worker, &l->attention, batch, y, in, inputs->bias, turns_of(l, inputs), h->site - 1,
                                  all ? &all->attention : NULL, error);
  else if (!status)
    status = cq_feed_forward_forward(worker, &l->ffn, batch, y, in, h->site - 1, all ? &all->ffn : NULL, error);
  if (status) return status;
  cq_dropout_apply(worker, batch, y, h->dropout, h->site);
  if (l->post) worker->kernels->add(cq_f32(y), cq_f32(x), x.rows * x.cols);
  if (h->after->gamma)
    status = cq_norm_forward(worker, h->after, y, y, (cq_tensor){0}, saved ? &saved->after : NULL, error);
  if (!l->post) worker->kernels->add(cq_f32(y), cq_f32(x), x.rows * x.cols);
  if (saved)
    saved->x = in;
  else
    cq_workspace_release(&worker->workspace, mark);
  return status;
}

cq_status cq_block_forward(cq_worker *worker, const cq_block *l, const cq_batch *batch, cq_tensor y, cq_tensor x,
                           const cq_block_inputs *inputs, uint32_t first_site, cq_block_saved *saved, cq_error *error) {
  const cq_mark mark = cq_workspace_mark(&worker->workspace);
  const half first = half_of(l, true, first_site), second = half_of(l, false, first_site);
  cq_tensor h = cq_workspace_f32(&worker->workspace, x.rows, x.cols);
  if (!h.data) return cq_fail_memory(error, "transformer block");
  cq_status status =
      forward_half(worker, &first, batch, h, x, inputs, saved ? &saved->attention_half : NULL, saved, error);
  if (!status)
    status = forward_half(worker, &second, batch, y, h, inputs, saved ? &saved->ffn_half : NULL, saved, error);
  if (!saved) cq_workspace_release(&worker->workspace, mark);
  return status;
}

/* Replaces dy, the gradient with respect to the half's output, by the gradient with respect to its input. */
static cq_status backward_half(cq_worker *worker, const half *h, const cq_batch *batch, cq_gradients *gradients,
                               cq_tensor dy, const cq_block_inputs *inputs, const cq_half_saved *saved,
                               const cq_block_saved *all, cq_error *error) {
  const cq_block *l = h->l;
  const cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_tensor branch = cq_workspace_f32(&worker->workspace, dy.rows, dy.cols);
  cq_tensor din = cq_workspace_f32(&worker->workspace, dy.rows, dy.cols);
  if (!branch.data || !din.data) return cq_fail_memory(error, "transformer block");
  if (l->post && h->after->gamma) cq_norm_backward(worker, h->after, gradients, dy, dy, &saved->after);
  copy(worker, branch, dy);
  if (!l->post && h->after->gamma) cq_norm_backward(worker, h->after, gradients, branch, branch, &saved->after);
  cq_dropout_apply(worker, batch, branch, h->dropout, h->site);
  memset(din.data, 0, (size_t)(dy.rows * dy.cols) * sizeof(float));
  const cq_status status =
      h->is_attention
          ? cq_attention_backward(worker, &l->attention, batch, gradients, din, branch, saved->x, inputs->bias,
                                  inputs->dbias, turns_of(l, inputs), h->site - 1, &all->attention, error)
          : cq_feed_forward_backward(worker, &l->ffn, batch, gradients, din, branch, saved->x, h->site - 1, &all->ffn,
                                     error);
  if (status) return status;
  if (h->before->gamma) cq_norm_backward(worker, h->before, gradients, din, din, &saved->before);
  worker->kernels->add(cq_f32(dy), cq_f32(din), dy.rows * dy.cols);
  cq_workspace_release(&worker->workspace, mark);
  return CQ_OK;
}

cq_status cq_block_backward(cq_worker *worker, const cq_block *l, const cq_batch *batch, cq_gradients *gradients,
                            cq_tensor dy, const cq_block_inputs *inputs, uint32_t first_site,
                            const cq_block_saved *saved, cq_error *error) {
  const half first = half_of(l, true, first_site), second = half_of(l, false, first_site);
  cq_status status = backward_half(worker, &second, batch, gradients, dy, inputs, &saved->ffn_half, saved, error);
  if (!status)
    status = backward_half(worker, &first, batch, gradients, dy, inputs, &saved->attention_half, saved, error);
  return status;
}

void cq_block_pass(const cq_block *l, const cq_gradients *gradients) {
  const cq_attention *a = &l->attention;
  const cq_feed_forward *f = &l->ffn;
  const cq_linear *linears[] = {&a->query, &a->key,  &a->value, &a->fused, &a->output,
                                &f->up,    &f->gate, &f->down,  &f->fused};
  const cq_norm *norms[] = {&a->q_norm,          &a->k_norm,     &l->before_attention,
                            &l->after_attention, &l->before_ffn, &l->after_ffn};
  enum { N_LINEARS = sizeof linears / sizeof *linears, N_NORMS = sizeof norms / sizeof *norms };
  const cq_param *params[2 * (N_LINEARS + N_NORMS)];
  size_t n = 0;
  for (size_t i = 0; i < N_LINEARS; i++) params[n++] = linears[i]->weight, params[n++] = linears[i]->bias;
  for (size_t i = 0; i < N_NORMS; i++) params[n++] = norms[i]->gamma, params[n++] = norms[i]->beta;
  cq_gradients_pass(gradients, params, n);
}

void cq_block_free(cq_block *l) {
  cq_attention_free(&l->attention);
  cq_feed_forward_free(&l->ffn);
}
