#include "nn/lstm.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

cq_status cq_lstm_pack(cq_lstm *l, int direction, const cq_kernels *kernels, bool training, cq_error *error) {
  cq_lstm_direction *w = &l->direction[direction];
  cq_status status;
  if ((status = cq_linear_pack(&w->input, kernels, training, error)) ||
      (status = cq_linear_pack(&w->recurrent, kernels, training, error)))
    return status;
  if (!w->bias && !(w->bias = cq_alloc_array((size_t)(4 * l->dim), sizeof *w->bias)))
    return cq_fail_memory(error, "packed weights");
  kernels->scale(w->bias, w->bias_input->value, 1.0f, 4 * l->dim);
  kernels->add(w->bias, w->bias_recurrent->value, 4 * l->dim);
  return CQ_OK;
}

void cq_lstm_free(cq_lstm *l) {
  for (int d = 0; d < 2; d++) {
    cq_linear_free(&l->direction[d].input);
    cq_linear_free(&l->direction[d].recurrent);
    cq_free(l->direction[d].bias);
    l->direction[d].bias = NULL;
  }
}

/* --- the plan --- */

/* The sequences by falling length, equal ones in order; n_running[t] of them are longer than t. */
static void order_sequences(int32_t *order, int64_t *n_running, const cq_batch *batch, int64_t n_steps) {
  memset(n_running, 0, (size_t)(n_steps + 1) * sizeof *n_running);
  for (int64_t s = 0; s < batch->n_seqs; s++) n_running[cq_batch_length(batch, s)]++;
  /* n_running[l] counts those of length l; turn it into the place of the first of them, longest first. */
  int64_t place = 0;
  for (int64_t l = n_steps; l >= 0; l--) {
    int64_t n = n_running[l];
    n_running[l] = place;
    place += n;
  }
  for (int64_t s = 0; s < batch->n_seqs; s++) order[n_running[cq_batch_length(batch, s)]++] = (int32_t)s;
  /* n_running[l] is now the end of length l, that is how many are at least l long: shift by one for "longer than". */
  for (int64_t t = 0; t < n_steps; t++) n_running[t] = n_running[t + 1];
}

cq_status cq_lstm_plan_make(cq_lstm_plan *plan, cq_lane *lane, const cq_batch *batch, int n_directions,
                            cq_error *error) {
  const int64_t n = cq_batch_tokens(batch);
  cq_workspace *w = &lane->workspace;
  *plan = (cq_lstm_plan){.n_tokens = n, .n_seqs = batch->n_seqs};
  for (int64_t s = 0; s < batch->n_seqs; s++)
    if (cq_batch_length(batch, s) > plan->n_steps) plan->n_steps = cq_batch_length(batch, s);
  plan->first = cq_workspace_take(w, (size_t)(plan->n_steps + 1) * sizeof *plan->first);
  plan->token_of = cq_workspace_take(w, (size_t)(n * n_directions) * sizeof *plan->token_of);
  plan->row_of = cq_workspace_take(w, (size_t)(n * n_directions) * sizeof *plan->row_of);
  plan->before = cq_workspace_take(w, (size_t)n * sizeof *plan->before);
  int32_t *order = cq_workspace_take(w, (size_t)batch->n_seqs * sizeof *order);
  int64_t *n_running = cq_workspace_take(w, (size_t)(plan->n_steps + 1) * sizeof *n_running);
  if (!plan->first || !plan->token_of || !plan->row_of || !plan->before || !order || !n_running)
    return cq_fail_memory(error, "an LSTM's plan");
  order_sequences(order, n_running, batch, plan->n_steps);

  int64_t row = 0;
  for (int64_t t = 0; t < plan->n_steps; t++) {
    plan->first[t] = row;
    for (int64_t r = 0; r < n_running[t]; r++, row++) {
      const int64_t s = order[r];
      for (int d = 0; d < n_directions; d++) {
        int64_t token = d == 0 ? batch->starts[s] + t : batch->starts[s + 1] - 1 - t;
        plan->token_of[d * n + row] = (int32_t)token;
        plan->row_of[token * n_directions + d] = (int32_t)(d * n + row);
      }
      if (t > 0) plan->before[row - plan->first[1]] = (int32_t)(plan->first[t - 1] + r);
    }
  }
  plan->first[plan->n_steps] = row;
  return CQ_OK;
}

static int64_t rows_of_step(const cq_lstm_plan *plan, int64_t t) {
  return plan->first[t + 1] - plan->first[t];
}

/* --- forward --- */

cq_status cq_lstm_forward(cq_lane *lane, const cq_lstm *l, const cq_lstm_plan *plan, cq_tensor y, cq_tensor x,
                          cq_lstm_saved *saved, cq_error *error) {
  const cq_kernels *k = lane->kernels;
  cq_workspace *w = &lane->workspace;
  const int64_t n = plan->n_tokens, dim = l->dim;
  assert(cq_is_dense(x) && cq_is_dense(y) && x.cols == l->in && y.cols == l->n_directions * dim && x.rows == n);
  cq_mark mark = cq_workspace_mark(w);
  cq_lstm_saved keep;
  keep.hidden = cq_workspace_f32(w, l->n_directions * n, dim);
  keep.cells = cq_workspace_f32(w, l->n_directions * n, dim);
  if (!keep.hidden.data || !keep.cells.data) return cq_fail_memory(error, "an LSTM");
  for (int d = 0; d < l->n_directions; d++) {
    const cq_lstm_direction *direction = &l->direction[d];
    keep.x[d] = cq_workspace_f32(w, n, l->in);
    keep.gates[d] = cq_workspace_f32(w, n, 4 * dim);
    if (!keep.x[d].data || !keep.gates[d].data) return cq_fail_memory(error, "an LSTM");
    float *gates = cq_f32(keep.gates[d]), *hidden = cq_f32(keep.hidden) + d * n * dim,
          *cells = cq_f32(keep.cells) + d * n * dim;
    k->gather(cq_f32(keep.x[d]), cq_f32(x), plan->token_of + d * n, n, l->in, false);
    k->product(gates, 4 * dim, cq_f32(keep.x[d]), l->in, direction->input.packed, n, 4 * dim, l->in,
               &(cq_epilogue){.bias = direction->bias});
    for (int64_t t = 0; t < plan->n_steps; t++) {
      const int64_t row = plan->first[t], rows = rows_of_step(plan, t);
      const int64_t before = t > 0 ? plan->first[t - 1] : 0;
      if (t > 0)
        k->product(gates + row * 4 * dim, 4 * dim, hidden + before * dim, dim, direction->recurrent.packed, rows,
                   4 * dim, dim, &(cq_epilogue){.accumulate = true});
      k->lstm_cell(hidden + row * dim, dim, cells + row * dim, gates + row * 4 * dim,
                   t > 0 ? cells + before * dim : NULL, rows, dim);
    }
  }
  /* y as [n_directions n_tokens] rows of dim: a token's directions lie side by side. */
  k->gather(cq_f32(y), cq_f32(keep.hidden), plan->row_of, l->n_directions * n, dim, false);
  if (saved)
    *saved = keep;
  else
    cq_workspace_release(w, mark);
  return CQ_OK;
}

cq_status cq_lstm_backward(cq_lane *lane, const cq_lstm *l, const cq_lstm_plan *plan, cq_gradients *gradients,
                           cq_tensor dx, cq_tensor dy, const cq_lstm_saved *saved, cq_error *error) {
  const cq_kernels *k = lane->kernels;
  cq_workspace *w = &lane->workspace;
  const int64_t n = plan->n_tokens, dim = l->dim, m = plan->n_steps > 0 ? rows_of_step(plan, 0) : 0, later = n - m;
  assert(cq_is_dense(dx) && cq_is_dense(dy) && dx.cols == l->in && dy.cols == l->n_directions * dim);
  cq_mark mark = cq_workspace_mark(w);
  cq_tensor dhidden = cq_workspace_f32(w, n, dim), dgates = cq_workspace_f32(w, n, 4 * dim),
            drows = cq_workspace_f32(w, n, l->in), dcell = cq_workspace_f32(w, m, dim),
            dstep = cq_workspace_f32(w, m, dim), before = cq_workspace_f32(w, later, dim);
  int32_t *side = cq_workspace_take(w, (size_t)n * sizeof *side); /* rows of dy seen as [n_directions n_tokens, dim] */
  float *scratch = cq_workspace_take(w, (size_t)k->packed_floats(later, dim) * sizeof(float));
  if (!dhidden.data || !dgates.data || !drows.data || !dcell.data || !dstep.data || !before.data || !side || !scratch)
    return cq_fail_memory(error, "an LSTM's gradient");
  memset(dx.data, 0, (size_t)(n * l->in) * sizeof(float));
  for (int d = 0; d < l->n_directions; d++) {
    const cq_lstm_direction *direction = &l->direction[d];
    const float *gates = cq_f32(saved->gates[d]), *cells = cq_f32(saved->cells) + d * n * dim;
    for (int64_t row = 0; row < n; row++) side[row] = plan->token_of[d * n + row] * l->n_directions + d;
    k->gather(cq_f32(dhidden), cq_f32(dy), side, n, dim, false);
    memset(dcell.data, 0, (size_t)(m * dim) * sizeof(float));
    for (int64_t t = plan->n_steps; t-- > 0;) {
      const int64_t row = plan->first[t], rows = rows_of_step(plan, t);
      float *dh = cq_f32(dhidden) + row * dim, *dg = cq_f32(dgates) + row * 4 * dim;
      if (t + 1 < plan->n_steps) k->add(dh, cq_f32(dstep), rows_of_step(plan, t + 1) * dim);
      k->lstm_cell_backward(dg, cq_f32(dcell), dh, gates + row * 4 * dim, cells + row * dim,
                            t > 0 ? cells + plan->first[t - 1] * dim : NULL, rows, dim);
      if (t > 0)
        k->product(cq_f32(dstep), dim, dg, 4 * dim, direction->recurrent.packed_backward, rows, dim, 4 * dim, NULL);
    }
    /* Steps 1 ... each saw the hidden state of the step before. */
    k->gather(cq_f32(before), cq_f32(saved->hidden) + d * n * dim, plan->before, later, dim, false);
    k->product_transposed(cq_gradient_of(gradients, direction->recurrent.weight), dim, cq_f32(dgates) + m * 4 * dim,
                          4 * dim, cq_f32(before), dim, 4 * dim, dim, later, scratch);
    k->add_columns(cq_gradient_of(gradients, direction->bias_input), cq_f32(dgates), 4 * dim, n, 4 * dim);
    k->add_columns(cq_gradient_of(gradients, direction->bias_recurrent), cq_f32(dgates), 4 * dim, n, 4 * dim);
    cq_status status = cq_linear_backward(lane, &direction->input, gradients, drows, false, dgates, saved->x[d], error);
    if (status) return status;
    k->scatter_add(cq_f32(dx), cq_f32(drows), plan->token_of + d * n, n, l->in);
  }
  cq_workspace_release(w, mark);
  return CQ_OK;
}
