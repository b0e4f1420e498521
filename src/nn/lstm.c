/* An LSTM over whole sequences, forward and backward through time. See lstm.h. */
#include "nn/lstm.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

cq_status cq_lstm_pack(cq_lstm *l, int direction, const cq_packing *packing, cq_error *error) {
  cq_lstm_direction *w = &l->direction[direction];
  cq_status status;
  if ((status = cq_linear_pack(&w->input, packing, error)) || (status = cq_linear_pack(&w->recurrent, packing, error)))
    return status;
  if (!w->bias && !(w->bias = cq_alloc_array((size_t)(4 * l->dim), sizeof *w->bias)))
    return cq_fail_memory(error, "packed weights");
  packing->kernels->scale(w->bias, w->bias_input->value, 1.0f, 4 * l->dim);
  packing->kernels->add(w->bias, w->bias_recurrent->value, 4 * l->dim);
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

/* The sequences by descending length, stable; n_running[t] of them are longer than t. */
static void order_sequences(int32_t *order, int64_t *n_running, const cq_batch *batch, int64_t n_steps) {
  memset(n_running, 0, (size_t)(n_steps + 1) * sizeof *n_running);
  for (int64_t s = 0; s < batch->n_seqs; s++) n_running[cq_batch_length(batch, s)]++;
  /* n_running[l] is the number of sequences of length l; make it the position of the first of them, longest first. */
  int64_t place = 0;
  for (int64_t l = n_steps; l >= 0; l--) {
    int64_t n = n_running[l];
    n_running[l] = place;
    place += n;
  }
  for (int64_t s = 0; s < batch->n_seqs; s++) order[n_running[cq_batch_length(batch, s)]++] = (int32_t)s;
  /* n_running[l] is now the number of sequences at least l long: shift by one for "longer than". */
  for (int64_t t = 0; t < n_steps; t++) n_running[t] = n_running[t + 1];
}

cq_status cq_lstm_plan_make(cq_lstm_plan *plan, cq_worker *worker, const cq_batch *batch, int n_directions,
                            cq_error *error) {
  const int64_t n = cq_batch_tokens(batch);
  cq_workspace *w = &worker->workspace;
  *plan = (cq_lstm_plan){.n_tokens = n, .n_seqs = batch->n_seqs};
  for (int64_t s = 0; s < batch->n_seqs; s++)
    if (cq_batch_length(batch, s) > plan->n_steps) plan->n_steps = cq_batch_length(batch, s);
  plan->first = cq_workspace_take(w, (size_t)(plan->n_steps + 1) * sizeof *plan->first);
  plan->token_of = cq_workspace_take(w, (size_t)(n * n_directions) * sizeof *plan->token_of);
  plan->row_of = cq_workspace_take(w, (size_t)(n * n_directions) * sizeof *plan->row_of);
  plan->before = cq_workspace_take(w, (size_t)n * sizeof *plan->before);
  plan->state_of = cq_workspace_take(w, (size_t)(batch->n_seqs * n_directions) * sizeof *plan->state_of);
  int32_t *order = cq_workspace_take(w, (size_t)batch->n_seqs * sizeof *order);
  int64_t *n_running = cq_workspace_take(w, (size_t)(plan->n_steps + 1) * sizeof *n_running);
  if (!plan->first || !plan->token_of || !plan->row_of || !plan->before || !plan->state_of || !order || !n_running)
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
  for (int d = 0; d < n_directions; d++)
    for (int64_t r = 0; r < batch->n_seqs; r++)
      plan->state_of[d * batch->n_seqs + r] = (int32_t)(order[r] * n_directions + d);
  return CQ_OK;
}

static int64_t rows_of_step(const cq_lstm_plan *plan, int64_t t) {
  return plan->first[t + 1] - plan->first[t];
}

/* --- states: rows in order of descending length internally, [n_seqs, dim] per direction --- */

static bool is_state_of(cq_tensor t, const cq_lstm *l, const cq_lstm_plan *plan) {
  return !t.data || (cq_is_dense(t) && t.rows == plan->n_seqs && t.cols == l->n_directions * l->dim);
}

static bool are_states_of(const cq_lstm_state *s, const cq_lstm *l, const cq_lstm_plan *plan) {
  return !s || (is_state_of(s->hidden, l, plan) && is_state_of(s->cell, l, plan));
}

static void clear_tensor(cq_tensor t) {
  if (t.data) memset(t.data, 0, (size_t)(t.rows * t.cols) * sizeof(float));
}

/* Copies direction d of a state from the batch's order (data NULL: zeros) to rows of descending length. */
static void read_state(const cq_kernels *k, cq_tensor rows, cq_tensor state, const cq_lstm_plan *plan, int d) {
  if (state.data)
    k->gather(cq_f32(rows), cq_f32(state), plan->state_of + d * plan->n_seqs, plan->n_seqs, rows.cols, false);
  else
    clear_tensor(rows);
}

/* Adds rows [first, first + n), in order of descending length, to direction d of a state in the batch's order (data
 * NULL: not needed). */
static void add_to_state(const cq_kernels *k, cq_tensor state, const float *rows, const cq_lstm_plan *plan, int d,
                         int64_t first, int64_t n, int64_t dim) {
  if (state.data) k->scatter_add(cq_f32(state), rows, plan->state_of + d * plan->n_seqs + first, n, dim);
}

/* Copies all directions of `state` to the workspace; data NULL stays NULL. */
static cq_status keep_state(cq_tensor *out, cq_worker *worker, const cq_lstm *l, const cq_lstm_plan *plan,
                            cq_tensor state, cq_error *error) {
  *out = (cq_tensor){0};
  if (!state.data) return CQ_OK;
  *out = cq_workspace_f32(&worker->workspace, l->n_directions * plan->n_seqs, l->dim);
  if (!out->data) return cq_fail_memory(error, "an LSTM's states");
  for (int d = 0; d < l->n_directions; d++)
    read_state(worker->kernels, cq_tensor_rows(*out, d * plan->n_seqs, plan->n_seqs), state, plan, d);
  return CQ_OK;
}

/* The first row of direction d of a kept state; NULL: zeros. */
static const float *kept_rows(cq_tensor state, const cq_lstm_plan *plan, int d) {
  return state.data ? cq_f32(state) + d * plan->n_seqs * state.cols : NULL;
}

/* --- forward --- */

cq_status cq_lstm_forward(cq_worker *worker, const cq_lstm *l, const cq_lstm_plan *plan, cq_tensor y,
                          const cq_lstm_state *final, cq_tensor x, const cq_lstm_state *initial, cq_lstm_saved *saved,
                          cq_error *error) {
  const cq_kernels *k = worker->kernels;
  cq_workspace *w = &worker->workspace;
  const int64_t n = plan->n_tokens, dim = l->dim, n_seqs = plan->n_seqs;
  assert(cq_is_dense(x) && cq_is_dense(y) && x.cols == l->in && y.cols == l->n_directions * dim && x.rows == n);
  assert(are_states_of(final, l, plan) && are_states_of(initial, l, plan));
  const cq_lstm_state none = {0}, to = final ? *final : none, from = initial ? *initial : none;
  cq_mark mark = cq_workspace_mark(w);
  cq_lstm_saved keep;
  cq_status status;
  if ((status = keep_state(&keep.first.hidden, worker, l, plan, from.hidden, error)) ||
      (status = keep_state(&keep.first.cell, worker, l, plan, from.cell, error)))
    return status;
  clear_tensor(to.hidden);
  clear_tensor(to.cell);
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
    const float *hidden_before = kept_rows(keep.first.hidden, plan, d),
                *cells_before = kept_rows(keep.first.cell, plan, d);
    const int64_t n_running = plan->n_steps > 0 ? rows_of_step(plan, 0) : 0;
    if (hidden_before)
      add_to_state(k, to.hidden, hidden_before + n_running * dim, plan, d, n_running, n_seqs - n_running, dim);
    if (cells_before)
      add_to_state(k, to.cell, cells_before + n_running * dim, plan, d, n_running, n_seqs - n_running, dim);
    k->gather(cq_f32(keep.x[d]), cq_f32(x), plan->token_of + d * n, n, l->in, false);
    status = cq_linear_product(worker, &direction->input, keep.gates[d], keep.x[d],
                               &(cq_epilogue){.bias = direction->bias}, error);
    for (int64_t t = 0; !status && t < plan->n_steps; t++) {
      const int64_t row = plan->first[t], rows = rows_of_step(plan, t);
      const int64_t lasting = t + 1 < plan->n_steps ? rows_of_step(plan, t + 1) : 0;
      if (hidden_before) {
        const cq_tensor before = cq_tensor_f32((float *)(uintptr_t)hidden_before, rows, dim);
        status = cq_linear_product(worker, &direction->recurrent, cq_tensor_rows(keep.gates[d], row, rows), before,
                                   &(cq_epilogue){.accumulate = true}, error);
      }
      k->lstm_cell(hidden + row * dim, dim, cells + row * dim, gates + row * 4 * dim, cells_before, rows, dim);
      hidden_before = hidden + row * dim;
      cells_before = cells + row * dim;
      add_to_state(k, to.hidden, hidden_before + lasting * dim, plan, d, lasting, rows - lasting, dim);
      add_to_state(k, to.cell, cells_before + lasting * dim, plan, d, lasting, rows - lasting, dim);
    }
    if (status) return status;
  }
  /* y as [n_directions n_tokens] rows of dim: a token's directions are adjacent. */
  k->gather(cq_f32(y), cq_f32(keep.hidden), plan->row_of, l->n_directions * n, dim, false);
  if (saved)
    *saved = keep;
  else
    cq_workspace_release(w, mark);
  return CQ_OK;
}

cq_status cq_lstm_backward(cq_worker *worker, const cq_lstm *l, const cq_lstm_plan *plan, cq_gradients *gradients,
                           cq_tensor dx, const cq_lstm_state *dinitial, cq_tensor dy, const cq_lstm_state *dfinal,
                           const cq_lstm_saved *saved, cq_error *error) {
  const cq_kernels *k = worker->kernels;
  cq_workspace *w = &worker->workspace;
  const int64_t n = plan->n_tokens, dim = l->dim, m = plan->n_steps > 0 ? rows_of_step(plan, 0) : 0;
  /* Rows with a previous hidden state: all except step 0's; with an initial state, step 0's as well. */
  const int64_t unseeing = saved->first.hidden.data ? 0 : m, seeing = n - unseeing;
  assert(cq_is_dense(dx) && dx.cols == l->in && (!dy.data || (cq_is_dense(dy) && dy.cols == l->n_directions * dim)));
  assert(are_states_of(dinitial, l, plan) && are_states_of(dfinal, l, plan));
  const cq_lstm_state none = {0}, to = dinitial ? *dinitial : none, from = dfinal ? *dfinal : none;
  cq_mark mark = cq_workspace_mark(w);
  cq_tensor dhidden = cq_workspace_f32(w, n, dim), dgates = cq_workspace_f32(w, n, 4 * dim),
            drows = cq_workspace_f32(w, n, l->in), dcell = cq_workspace_f32(w, plan->n_seqs, dim),
            dstep = cq_workspace_f32(w, plan->n_seqs, dim), before = cq_workspace_f32(w, seeing, dim);
  int32_t *side = cq_workspace_take(w, (size_t)n * sizeof *side); /* rows of dy seen as [n_directions n_tokens, dim] */
  if (!dhidden.data || !dgates.data || !drows.data || !dcell.data || !dstep.data || !before.data || !side)
    return cq_fail_memory(error, "an LSTM's gradient");
  clear_tensor(dx);
  clear_tensor(to.hidden);
  clear_tensor(to.cell);
  for (int d = 0; d < l->n_directions; d++) {
    const cq_lstm_direction *direction = &l->direction[d];
    const float *gates = cq_f32(saved->gates[d]), *cells = cq_f32(saved->cells) + d * n * dim;
    const float *first_hidden = kept_rows(saved->first.hidden, plan, d),
                *first_cells = kept_rows(saved->first.cell, plan, d);
    for (int64_t row = 0; row < n; row++) side[row] = plan->token_of[d * n + row] * l->n_directions + d;
    if (dy.data)
      k->gather(cq_f32(dhidden), cq_f32(dy), side, n, dim, false);
    else
      clear_tensor(dhidden);
    /* The gradient flowing back through time. It starts as the final state's gradient, at each sequence's last step. */
    read_state(k, dcell, from.cell, plan, d);
    read_state(k, dstep, from.hidden, plan, d);
    cq_status status = CQ_OK;
    for (int64_t t = plan->n_steps; !status && t-- > 0;) {
      const int64_t row = plan->first[t], rows = rows_of_step(plan, t);
      float *dh = cq_f32(dhidden) + row * dim, *dg = cq_f32(dgates) + row * 4 * dim;
      const int64_t lasting = t + 1 < plan->n_steps ? rows_of_step(plan, t + 1) : 0;
      k->add(dh, cq_f32(dstep), (from.hidden.data ? rows : lasting) * dim);
      k->lstm_cell_backward(dg, cq_f32(dcell), dh, gates + row * 4 * dim, cells + row * dim,
                            t > 0 ? cells + plan->first[t - 1] * dim : first_cells, rows, dim);
      if (t > 0 || to.hidden.data)
        status = cq_linear_backward_input(worker, &direction->recurrent, cq_tensor_rows(dstep, 0, rows), false,
                                          cq_tensor_rows(dgates, row, rows), error);
    }
    if (status) return status;
    add_to_state(k, to.hidden, cq_f32(dstep), plan, d, 0, plan->n_seqs, dim);
    add_to_state(k, to.cell, cq_f32(dcell), plan, d, 0, plan->n_seqs, dim);
    /* At steps 1 ..., the previous step's hidden state is the input. */
    if (first_hidden) memcpy(before.data, first_hidden, (size_t)(m * dim) * sizeof(float));
    k->gather(cq_f32(before) + (m - unseeing) * dim, cq_f32(saved->hidden) + d * n * dim, plan->before, n - m, dim,
              false);
    status = cq_linear_backward_weight(worker, &direction->recurrent, gradients,
                                       cq_tensor_rows(dgates, unseeing, seeing), before, error);
    if (status) return status;
    if (!direction->bias_input->frozen)
      k->add_columns(cq_gradient_of(gradients, direction->bias_input), cq_f32(dgates), 4 * dim, n, 4 * dim);
    if (!direction->bias_recurrent->frozen)
      k->add_columns(cq_gradient_of(gradients, direction->bias_recurrent), cq_f32(dgates), 4 * dim, n, 4 * dim);
    status = cq_linear_backward(worker, &direction->input, gradients, drows, false, dgates, saved->x[d], error);
    if (status) return status;
    k->scatter_add(cq_f32(dx), cq_f32(drows), plan->token_of + d * n, n, l->in);
  }
  cq_workspace_release(w, mark);
  return CQ_OK;
}

/* --- one step --- */

cq_status cq_lstm_step(cq_worker *worker, const cq_lstm *l, cq_tensor hidden, cq_tensor cell, cq_tensor x,
                       cq_error *error) {
  const cq_kernels *k = worker->kernels;
  const cq_lstm_direction *direction = &l->direction[0];
  const int64_t rows = x.rows, dim = l->dim;
  assert(l->n_directions == 1 && x.cols == l->in && cq_is_dense(hidden) && cq_is_dense(cell));
  assert(hidden.rows == rows && hidden.cols == dim && cell.rows == rows && cell.cols == dim);
  cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_tensor gates = cq_workspace_f32(&worker->workspace, rows, 4 * dim);
  if (!gates.data) return cq_fail_memory(error, "an LSTM's step");
  cq_status status =
      cq_linear_product(worker, &direction->input, gates, x, &(cq_epilogue){.bias = direction->bias}, error);
  if (!status)
    status = cq_linear_product(worker, &direction->recurrent, gates, hidden, &(cq_epilogue){.accumulate = true}, error);
  if (status) return status;
  k->lstm_cell(cq_f32(hidden), dim, cq_f32(cell), cq_f32(gates), cq_f32(cell), rows, dim);
  cq_workspace_release(&worker->workspace, mark);
  return CQ_OK;
}

/* --- states --- */

static void copy_rows(cq_tensor to, cq_tensor from) {
  assert(to.rows == from.rows && to.cols == from.cols);
  for (int64_t i = 0; i < to.rows; i++)
    memcpy(cq_f32(to) + i * to.stride, cq_f32(from) + i * from.stride, (size_t)to.cols * sizeof(float));
}

void cq_lstm_state_copy(cq_lstm_state to, cq_lstm_state from) {
  copy_rows(to.hidden, from.hidden);
  copy_rows(to.cell, from.cell);
}
