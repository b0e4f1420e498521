/* An LSTM between states: against PyTorch's (reference/golden_decoder_parts.py), against plain loops in double
 * precision, and step by step against the whole sequence. */
#include "layer.h"

typedef struct states {
  float h0[128], c0[128], hn[128], cn[128];     /* [n_seqs, n_directions * dim] */
  float dh0[128], dc0[128], dhn[128], dcn[128]; /* their gradients */
} states;

static cq_tensor state_of(const layer *l, const float *x) {
  const int64_t width = l->lstm.n_directions * l->lstm.dim;
  assert_true(l->batch.n_seqs * width <= 128);
  return cq_tensor_f32((float *)(uintptr_t)x, l->batch.n_seqs, width);
}

/* Forward, and with dy backward; s NULL: without states. Leaves the workspace as it was. */
static cq_status pass(layer *l, float *y, const float *x, const float *dy, float *dx, states *s, cq_error *error) {
  const int64_t n = cq_batch_tokens(&l->batch), width = l->lstm.n_directions * l->lstm.dim;
  cq_lstm_plan plan;
  cq_lstm_saved saved;
  cq_lstm_state initial, final, dinitial, dfinal;
  if (s) {
    initial = (cq_lstm_state){state_of(l, s->h0), state_of(l, s->c0)};
    final = (cq_lstm_state){state_of(l, s->hn), state_of(l, s->cn)};
    dinitial = (cq_lstm_state){state_of(l, s->dh0), state_of(l, s->dc0)};
    dfinal = (cq_lstm_state){state_of(l, s->dhn), state_of(l, s->dcn)};
  }
  cq_tensor tx = cq_tensor_f32((float *)(uintptr_t)x, n, l->lstm.in), ty = cq_tensor_f32(y, n, width);
  cq_status status = cq_lstm_plan_make(&plan, &l->worker, &l->batch, l->lstm.n_directions, error);
  if (!status)
    status = cq_lstm_forward(&l->worker, &l->lstm, &plan, ty, s ? &final : NULL, tx, s ? &initial : NULL,
                             dy ? &saved : NULL, error);
  if (!status && dy)
    status = cq_lstm_backward(&l->worker, &l->lstm, &plan, &l->gradients, cq_tensor_f32(dx, n, l->lstm.in),
                              s ? &dinitial : NULL, cq_tensor_f32((float *)(uintptr_t)dy, n, width), s ? &dfinal : NULL,
                              &saved, error);
  cq_workspace_release(&l->worker.workspace, (cq_mark){0});
  return status;
}

static void fill(float *x, int64_t n, cq_random *random) {
  for (int64_t i = 0; i < n; i++) x[i] = (float)cq_random_normal(random);
}

static void fill_states(states *s, cq_random *random) {
  fill(s->h0, 128, random);
  fill(s->c0, 128, random);
  fill(s->dhn, 128, random);
  fill(s->dcn, 128, random);
}

/* --- PyTorch --- */

static void check_golden(const char *name, const cq_kernels *kernels) {
  char path[64];
  cq_safetensors *file;
  layer l;
  states s;
  snprintf(path, sizeof path, "golden/decoder/%s", name);
  assert_int_equal(cq_safetensors_open(&file, tests_file(path), NULL), CQ_OK);
  make_golden(&l, file, kernels);
  pack(&l);
  const int64_t n = cq_batch_tokens(&l.batch), width = l.lstm.n_directions * l.lstm.dim, size = l.batch.n_seqs * width;
  memcpy(s.h0, tensor(file, "", "h0", 0), (size_t)size * sizeof(float));
  memcpy(s.c0, tensor(file, "", "c0", 0), (size_t)size * sizeof(float));
  memcpy(s.dhn, tensor(file, "", "dhn", 0), (size_t)size * sizeof(float));
  memcpy(s.dcn, tensor(file, "", "dcn", 0), (size_t)size * sizeof(float));
  float *y = malloc((size_t)(n * width) * sizeof *y), *dx = malloc((size_t)(n * l.lstm.in) * sizeof *dx);
  assert_int_equal(pass(&l, y, tensor(file, "", "x", 0), tensor(file, "", "dy", 0), dx, &s, NULL), CQ_OK);
  expect_close("y", y, tensor(file, "", "y", 0), n * width, 2e-6);
  expect_close("hn", s.hn, tensor(file, "", "hn", 0), size, 2e-6);
  expect_close("cn", s.cn, tensor(file, "", "cn", 0), size, 3e-6);
  expect_close("dx", dx, tensor(file, "", "dx", 0), n * l.lstm.in, 5e-6);
  expect_close("dh0", s.dh0, tensor(file, "", "dh0", 0), size, 5e-6);
  expect_close("dc0", s.dc0, tensor(file, "", "dc0", 0), size, 5e-6);
  expect_golden_gradients(&l, file, 1e-5);
  free(y);
  free(dx);
  unmake(&l);
  cq_safetensors_close(file);
}

static void pytorch_agrees(void **state) {
  const cq_kernels *levels[8];
  const size_t n = cq_kernels_all(levels, 8);
  (void)state;
  for (size_t i = 0; i < n; i++) {
    check_golden("states.safetensors", levels[i]);
    check_golden("states_both.safetensors", levels[i]);
  }
}

/* --- plain loops in double precision: inputs are x, then h0, then c0, then the parameters one after the other --- */

static double loss_of(const layer *l, const double *x, const float *dy, const states *s) {
  const int64_t in = l->lstm.in, dim = l->lstm.dim, width = l->lstm.n_directions * dim, size = l->batch.n_seqs * width;
  const double *h0 = x + cq_batch_tokens(&l->batch) * in, *c0 = h0 + size, *p = c0 + size;
  double loss = 0;
  for (int d = 0; d < l->lstm.n_directions; d++) {
    const double *w_input = p, *w_recurrent = w_input + 4 * dim * in, *b_input = w_recurrent + 4 * dim * dim,
                 *b_recurrent = b_input + 4 * dim;
    p = b_recurrent + 4 * dim;
    for (int64_t seq = 0; seq < l->batch.n_seqs; seq++) {
      double h[16], c[16], gates[64];
      memcpy(h, h0 + seq * width + d * dim, (size_t)dim * sizeof *h);
      memcpy(c, c0 + seq * width + d * dim, (size_t)dim * sizeof *c);
      for (int64_t t = 0; t < cq_batch_length(&l->batch, seq); t++) {
        const int64_t token = d == 0 ? l->starts[seq] + t : l->starts[seq + 1] - 1 - t;
        for (int64_t g = 0; g < 4 * dim; g++) {
          gates[g] = b_input[g] + b_recurrent[g];
          for (int64_t i = 0; i < in; i++) gates[g] += w_input[g * in + i] * x[token * in + i];
          for (int64_t i = 0; i < dim; i++) gates[g] += w_recurrent[g * dim + i] * h[i];
        }
        for (int64_t j = 0; j < dim; j++) {
          double i = 1 / (1 + exp(-gates[j])), f = 1 / (1 + exp(-gates[dim + j])), g = tanh(gates[2 * dim + j]),
                 o = 1 / (1 + exp(-gates[3 * dim + j]));
          c[j] = f * c[j] + i * g;
          h[j] = o * tanh(c[j]);
          loss += h[j] * (double)dy[token * width + d * dim + j];
        }
      }
      for (int64_t j = 0; j < dim; j++) {
        const int64_t at = seq * width + d * dim + j;
        loss += h[j] * (double)s->dhn[at] + c[j] * (double)s->dcn[at];
      }
    }
  }
  return loss;
}

static void check_differences(const int64_t *lengths, int64_t n_seqs, int n_directions) {
  enum { IN = 3, DIM = 5, MAX_TOKENS = 20, MAX_INPUTS = 1000 };
  const double step = 1e-5;
  layer l;
  states s;
  float x[MAX_TOKENS * IN], dx[MAX_TOKENS * IN], y[MAX_TOKENS * 2 * DIM], dy[MAX_TOKENS * 2 * DIM];
  double inputs[MAX_INPUTS];
  float gradients[MAX_INPUTS];
  int64_t n_inputs = 0;
  cq_random random = cq_random_seeded(5, (uint64_t)n_seqs);
  make(&l, IN, DIM, n_directions, lengths, n_seqs, cq_kernels_best());
  randomize(&l, &random);
  pack(&l);
  fill_states(&s, &random);
  fill(x, MAX_TOKENS * IN, &random);
  fill(dy, MAX_TOKENS * 2 * DIM, &random);
  assert_int_equal(pass(&l, y, x, dy, dx, &s, NULL), CQ_OK);
#define INPUT(values, derivatives, n)                                                                                  \
  for (int64_t i_ = 0; i_ < (n); i_++, n_inputs++)                                                                     \
    inputs[n_inputs] = (double)(values)[i_], gradients[n_inputs] = (derivatives)[i_];
  INPUT(x, dx, cq_batch_tokens(&l.batch) * IN)
  INPUT(s.h0, s.dh0, n_seqs * n_directions * DIM)
  INPUT(s.c0, s.dc0, n_seqs * n_directions * DIM)
  for (size_t p = 0; p < l.all.n; p++)
    INPUT(l.params[p].value, cq_gradient_of(&l.gradients, &l.params[p]), cq_param_floats(&l.params[p]))
#undef INPUT
  for (int64_t i = 0; i < n_inputs; i++) {
    const double here = inputs[i];
    inputs[i] = here + step;
    const double above = loss_of(&l, inputs, dy, &s);
    inputs[i] = here - step;
    const double below = loss_of(&l, inputs, dy, &s);
    inputs[i] = here;
    expect_close("gradient", &gradients[i], &(float){(float)((above - below) / (2 * step))}, 1, 1e-5);
  }
  unmake(&l);
}

static void differences_agree(void **state) {
  (void)state;
  check_differences((const int64_t[]){2, 5, 0, 1, 5, 3}, 6, 2);
  check_differences((const int64_t[]){1, 4, 0, 1}, 4, 1);
  check_differences((const int64_t[]){7}, 1, 1);
  check_differences((const int64_t[]){1, 1, 1}, 3, 1);
  check_differences((const int64_t[]){0, 0}, 2, 2);
}

/* --- the same bits --- */

enum { N_RAGGED = 7 };
static const int64_t ragged[N_RAGGED] = {9, 6, 6, 3, 1, 1, 0}; /* falling: the running ones are always the first */

/* Zeros are what no state is, an output left out does not matter, and the final state is the last output. */
static void zeros_are_no_state(void **state) {
  static states with, zeros;
  float x[26 * 6], dy[26 * 8], y[2][26 * 8], dx[2][26 * 6];
  layer l[2];
  (void)state;
  for (int i = 0; i < 2; i++) {
    cq_random random = cq_random_seeded(6, 0);
    make(&l[i], 6, 4, 2, ragged, N_RAGGED, cq_kernels_best());
    randomize(&l[i], &random);
    pack(&l[i]);
    fill(x, 26 * 6, &random);
    fill(dy, 26 * 8, &random);
    assert_int_equal(pass(&l[i], y[i], x, dy, dx[i], i ? &with : NULL, NULL), CQ_OK);
  }
  assert_memory_equal(y[0], y[1], sizeof y[0]);
  assert_memory_equal(dx[0], dx[1], sizeof dx[0]);
  for (size_t p = 0; p < l[0].all.n; p++)
    expect_close(names[p % 4], cq_gradient_of(&l[1].gradients, &l[1].params[p]),
                 cq_gradient_of(&l[0].gradients, &l[0].params[p]), cq_param_floats(&l[0].params[p]), 1e-6);
  for (int64_t s = 0; s < N_RAGGED; s++) {
    const int64_t first = l[0].starts[s], last = l[0].starts[s + 1] - 1;
    const float *forward = ragged[s] ? y[0] + last * 8 : zeros.h0,
                *reverse = ragged[s] ? y[0] + first * 8 + 4 : zeros.h0;
    assert_memory_equal(with.hn + s * 8, forward, 4 * sizeof(float));
    assert_memory_equal(with.hn + s * 8 + 4, reverse, 4 * sizeof(float));
  }
  unmake(&l[0]);
  unmake(&l[1]);
}

/* Without dy the gradient is that of the final states alone. */
static void outputs_may_be_left_out(void **state) {
  static states s[2];
  static const float zeros[26 * 4];
  float x[26 * 6], y[26 * 4], dx[2][26 * 6];
  layer l;
  cq_random random = cq_random_seeded(9, 0);
  (void)state;
  make(&l, 6, 4, 1, ragged, N_RAGGED, cq_kernels_best());
  randomize(&l, &random);
  pack(&l);
  fill(x, 26 * 6, &random);
  fill_states(&s[0], &random);
  s[1] = s[0];
  assert_int_equal(pass(&l, y, x, zeros, dx[0], &s[0], NULL), CQ_OK);
  cq_lstm_plan plan;
  cq_lstm_saved saved;
  assert_int_equal(cq_lstm_plan_make(&plan, &l.worker, &l.batch, 1, NULL), CQ_OK);
  assert_int_equal(cq_lstm_forward(&l.worker, &l.lstm, &plan, cq_tensor_f32(y, 26, 4), NULL, cq_tensor_f32(x, 26, 6),
                                   &(cq_lstm_state){state_of(&l, s[1].h0), state_of(&l, s[1].c0)}, &saved, NULL),
                   CQ_OK);
  assert_int_equal(cq_lstm_backward(&l.worker, &l.lstm, &plan, &l.gradients, cq_tensor_f32(dx[1], 26, 6),
                                    &(cq_lstm_state){.cell = state_of(&l, s[1].dc0)}, (cq_tensor){0},
                                    &(cq_lstm_state){state_of(&l, s[1].dhn), state_of(&l, s[1].dcn)}, &saved, NULL),
                   CQ_OK);
  assert_memory_equal(dx[0], dx[1], sizeof dx[0]);
  assert_memory_equal(s[0].dc0, s[1].dc0, N_RAGGED * 4 * sizeof(float));
  unmake(&l);
}

static void steps_give_the_whole(void **state) {
  enum { IN = 6, DIM = 17, TOKENS = 26 };
  const cq_kernels *levels[8];
  const size_t n_levels = cq_kernels_all(levels, 8);
  (void)state;
  for (size_t level = 0; level < n_levels; level++) {
    for (int from_zeros = 0; from_zeros < 2; from_zeros++) {
      layer l;
      states s;
      float x[TOKENS * IN], y[TOKENS * DIM], h[N_RAGGED * DIM], c[N_RAGGED * DIM], x_step[N_RAGGED * IN];
      cq_random random = cq_random_seeded(7, level);
      make(&l, IN, DIM, 1, ragged, N_RAGGED, levels[level]);
      randomize(&l, &random);
      pack(&l);
      fill(x, TOKENS * IN, &random);
      fill_states(&s, &random);
      if (from_zeros) memset(s.h0, 0, sizeof s.h0), memset(s.c0, 0, sizeof s.c0);
      assert_int_equal(pass(&l, y, x, NULL, NULL, &s, NULL), CQ_OK);
      memcpy(h, s.h0, sizeof h);
      memcpy(c, s.c0, sizeof c);
      if (from_zeros) assert_int_equal(pass(&l, y, x, NULL, NULL, NULL, NULL), CQ_OK);
      for (int64_t t = 0; t < ragged[0]; t++) {
        int64_t rows = 0;
        for (; rows < N_RAGGED && ragged[rows] > t; rows++)
          memcpy(x_step + rows * IN, x + (l.starts[rows] + t) * IN, IN * sizeof *x);
        assert_int_equal(cq_lstm_step(&l.worker, &l.lstm, cq_tensor_f32(h, rows, DIM), cq_tensor_f32(c, rows, DIM),
                                      cq_tensor_f32(x_step, rows, IN), NULL),
                         CQ_OK);
        for (int64_t r = 0; r < rows; r++)
          assert_memory_equal(h + r * DIM, y + (l.starts[r] + t) * DIM, DIM * sizeof *h);
      }
      assert_memory_equal(h, s.hn, sizeof h);
      assert_memory_equal(c, s.cn, sizeof c);
      unmake(&l);
    }
  }
}

static void neighbors_do_not_matter(void **state) {
  layer all, one;
  static states together, alone;
  float x[26 * 6], dy[26 * 8], y[26 * 8], y_one[9 * 8], dx[26 * 6], dx_one[9 * 6];
  cq_random random = cq_random_seeded(8, 0);
  (void)state;
  make(&all, 6, 4, 2, ragged, N_RAGGED, cq_kernels_best());
  randomize(&all, &random);
  pack(&all);
  fill(x, 26 * 6, &random);
  fill(dy, 26 * 8, &random);
  fill_states(&together, &random);
  assert_int_equal(pass(&all, y, x, dy, dx, &together, NULL), CQ_OK);
  for (int64_t s = 0; s < N_RAGGED; s++) {
    const size_t row = 8 * sizeof(float), n = (size_t)ragged[s];
    make(&one, 6, 4, 2, &ragged[s], 1, cq_kernels_best());
    for (size_t i = 0; i < all.all.n; i++)
      memcpy(one.params[i].value, all.params[i].value, (size_t)cq_param_floats(&all.params[i]) * sizeof(float));
    pack(&one);
    memcpy(alone.h0, together.h0 + s * 8, row);
    memcpy(alone.c0, together.c0 + s * 8, row);
    memcpy(alone.dhn, together.dhn + s * 8, row);
    memcpy(alone.dcn, together.dcn + s * 8, row);
    assert_int_equal(pass(&one, y_one, x + all.starts[s] * 6, dy + all.starts[s] * 8, dx_one, &alone, NULL), CQ_OK);
    assert_memory_equal(y_one, y + all.starts[s] * 8, n * row);
    assert_memory_equal(dx_one, dx + all.starts[s] * 6, n * 6 * sizeof(float));
    assert_memory_equal(alone.hn, together.hn + s * 8, row);
    assert_memory_equal(alone.cn, together.cn + s * 8, row);
    assert_memory_equal(alone.dh0, together.dh0 + s * 8, row);
    assert_memory_equal(alone.dc0, together.dc0 + s * 8, row);
    unmake(&one);
  }
  unmake(&all);
}

static void an_empty_batch_is_nothing(void **state) {
  static states s;
  layer l;
  float nothing[1] = {3};
  cq_random random = cq_random_seeded(1, 0);
  (void)state;
  make(&l, 3, 4, 1, NULL, 0, cq_kernels_best());
  randomize(&l, &random);
  pack(&l);
  s.hn[0] = s.dh0[0] = 5;
  assert_int_equal(pass(&l, nothing, nothing, nothing, nothing, &s, NULL), CQ_OK);
  assert_int_equal(cq_lstm_step(&l.worker, &l.lstm, cq_tensor_f32(nothing, 0, 4), cq_tensor_f32(nothing, 0, 4),
                                cq_tensor_f32(nothing, 0, 3), NULL),
                   CQ_OK);
  assert_true(nothing[0] == 3 && s.hn[0] == 5 && s.dh0[0] == 5);
  unmake(&l);
}

/* --- memory --- */

static void every_allocation_may_fail(void **state) {
  static const int64_t lengths[] = {2400, 0, 1600}; /* enough for several chunks of a workspace */
  enum { TOKENS = 4000, IN = 40, DIM = 60 };
  static float x[TOKENS * IN], y[TOKENS * DIM], dx[TOKENS * IN], dy[TOKENS * DIM];
  static float h[3 * DIM], c[3 * DIM];
  layer l;
  (void)state;
  make(&l, IN, DIM, 1, lengths, 3, cq_kernels_best());
  cq_random random = cq_random_seeded(1, 0);
  randomize(&l, &random);
  pack(&l);
  const cq_tensor th = cq_tensor_f32(h, 3, DIM), tc = cq_tensor_f32(c, 3, DIM);
  const cq_lstm_state s = {th, tc};
  long n = 1;
  for (bool failed = true; failed; n++) {
    cq_lstm_plan plan;
    cq_lstm_saved saved;
    cq_error error = {0};
    cq_workspace_free(&l.worker.workspace);
    cq_alloc_fail_at(n);
    cq_status status = cq_lstm_plan_make(&plan, &l.worker, &l.batch, 1, &error);
    if (!status)
      status = cq_lstm_forward(&l.worker, &l.lstm, &plan, cq_tensor_f32(y, TOKENS, DIM), NULL,
                               cq_tensor_f32(x, TOKENS, IN), &s, &saved, &error);
    if (!status)
      status = cq_lstm_backward(&l.worker, &l.lstm, &plan, &l.gradients, cq_tensor_f32(dx, TOKENS, IN), &s,
                                cq_tensor_f32(dy, TOKENS, DIM), NULL, &saved, &error);
    failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
  }
  assert_true(n > 5);
  for (bool failed = true, first = true; failed; first = false) {
    cq_error error = {0};
    cq_workspace_free(&l.worker.workspace);
    cq_alloc_fail_at(first ? 1 : 0);
    cq_status status = cq_lstm_step(&l.worker, &l.lstm, th, tc, cq_tensor_f32(x, 3, IN), &error);
    failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, first ? CQ_ERR_MEMORY : CQ_OK);
  }
  unmake(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pytorch_agrees),
      cmocka_unit_test(differences_agree),
      cmocka_unit_test(zeros_are_no_state),
      cmocka_unit_test(outputs_may_be_left_out),
      cmocka_unit_test(steps_give_the_whole),
      cmocka_unit_test(neighbors_do_not_matter),
      cmocka_unit_test(an_empty_batch_is_nothing),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
