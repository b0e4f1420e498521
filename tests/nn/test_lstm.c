/* The LSTM against PyTorch's (reference/golden_lstm.py) and against plain loops in double precision, whose finite
 * differences check the gradients. */
#include "layer.h"

/* y from x, and with dy the gradients and dx. */
static void run(layer *l, float *y, const float *x, const float *dy, float *dx) {
  const int64_t n = cq_batch_tokens(&l->batch), width = l->lstm.n_directions * l->lstm.dim;
  cq_lstm_plan plan;
  cq_lstm_saved saved;
  pack(l);
  assert_int_equal(cq_lstm_plan_make(&plan, &l->worker, &l->batch, l->lstm.n_directions, NULL), CQ_OK);
  cq_tensor tx = cq_tensor_f32((float *)(uintptr_t)x, n, l->lstm.in), ty = cq_tensor_f32(y, n, width);
  assert_int_equal(cq_lstm_forward(&l->worker, &l->lstm, &plan, ty, NULL, tx, NULL, dy ? &saved : NULL, NULL), CQ_OK);
  if (dy)
    assert_int_equal(cq_lstm_backward(&l->worker, &l->lstm, &plan, &l->gradients, cq_tensor_f32(dx, n, l->lstm.in),
                                      NULL, cq_tensor_f32((float *)(uintptr_t)dy, n, width), NULL, &saved, NULL),
                     CQ_OK);
  cq_workspace_release(&l->worker.workspace, (cq_mark){0});
}

/* --- PyTorch --- */

static void check_golden(const char *name, const cq_kernels *kernels) {
  char path[64];
  cq_safetensors *file;
  layer l;
  snprintf(path, sizeof path, "golden/lstm/%s", name);
  assert_int_equal(cq_safetensors_open(&file, tests_file(path), NULL), CQ_OK);
  make_golden(&l, file, kernels);
  const int64_t n = cq_batch_tokens(&l.batch), width = l.lstm.n_directions * l.lstm.dim;
  float *y = malloc((size_t)(n * width) * sizeof *y), *dx = malloc((size_t)(n * l.lstm.in) * sizeof *dx);
  run(&l, y, tensor(file, "", "x", 0), tensor(file, "", "dy", 0), dx);
  expect_close("y", y, tensor(file, "", "y", 0), n * width, 2e-6);
  expect_close("dx", dx, tensor(file, "", "dx", 0), n * l.lstm.in, 5e-6);
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
    check_golden("both.safetensors", levels[i]);
    check_golden("forward.safetensors", levels[i]);
  }
}

/* --- plain loops in double precision --- */

/* sum of dy * y of one sentence and direction, with the layer's values plus `shift` at one place of one parameter. */
static double loss_of(const layer *l, const double *x, const float *dy, const cq_param *shifted, int64_t place,
                      double shift) {
  const int64_t in = l->lstm.in, dim = l->lstm.dim, width = l->lstm.n_directions * dim;
  double loss = 0, h[64], c[64], gates[256];
  for (int d = 0; d < l->lstm.n_directions; d++) {
    const cq_param *p = &l->params[4 * d];
#define VALUE(which, i) ((double)p[which].value[i] + (&p[which] == shifted && (i) == place ? shift : 0))
    for (int64_t s = 0; s < l->batch.n_seqs; s++) {
      const int64_t length = cq_batch_length(&l->batch, s);
      memset(h, 0, sizeof h);
      memset(c, 0, sizeof c);
      for (int64_t t = 0; t < length; t++) {
        const int64_t token = d == 0 ? l->starts[s] + t : l->starts[s + 1] - 1 - t;
        for (int64_t g = 0; g < 4 * dim; g++) {
          gates[g] = VALUE(2, g) + VALUE(3, g);
          for (int64_t i = 0; i < in; i++) gates[g] += VALUE(0, g * in + i) * x[token * in + i];
          for (int64_t i = 0; i < dim; i++) gates[g] += VALUE(1, g * dim + i) * h[i];
        }
        for (int64_t j = 0; j < dim; j++) {
          double i = 1 / (1 + exp(-gates[j])), f = 1 / (1 + exp(-gates[dim + j])), g = tanh(gates[2 * dim + j]),
                 o = 1 / (1 + exp(-gates[3 * dim + j]));
          c[j] = f * c[j] + i * g;
          h[j] = o * tanh(c[j]);
          loss += h[j] * (double)dy[token * width + d * dim + j];
        }
      }
    }
#undef VALUE
  }
  return loss;
}

static void differences_agree(void **state) {
  static const int64_t lengths[] = {2, 5, 0, 1, 5, 3};
  const double step = 1e-5;
  const int64_t in = 3, dim = 5;
  layer l;
  float x[16 * 3], dy[16 * 10], y[16 * 10], dx[16 * 3];
  double wide[16 * 3];
  cq_random random = cq_random_seeded(3, 0);
  (void)state;
  make(&l, in, dim, 2, lengths, 6, cq_kernels_best());
  randomize(&l, &random);
  for (int i = 0; i < 16 * 3; i++) wide[i] = x[i] = (float)cq_random_normal(&random);
  for (int i = 0; i < 16 * 10; i++) dy[i] = (float)cq_random_normal(&random);
  run(&l, y, x, dy, dx);
  for (size_t i = 0; i < l.all.n; i++)
    for (int64_t j = 0; j < cq_param_floats(&l.params[i]); j++) {
      double slope =
          (loss_of(&l, wide, dy, &l.params[i], j, step) - loss_of(&l, wide, dy, &l.params[i], j, -step)) / (2 * step);
      expect_close(names[i % 4], &cq_gradient_of(&l.gradients, &l.params[i])[j], &(float){(float)slope}, 1, 1e-5);
    }
  for (int i = 0; i < 16 * 3; i++) {
    double before = wide[i], up, down;
    wide[i] = before + step;
    up = loss_of(&l, wide, dy, NULL, 0, 0);
    wide[i] = before - step;
    down = loss_of(&l, wide, dy, NULL, 0, 0);
    wide[i] = before;
    expect_close("dx", &dx[i], &(float){(float)((up - down) / (2 * step))}, 1, 1e-5);
  }
  unmake(&l);
}

/* --- a sentence does not see its neighbors --- */

static void neighbors_do_not_matter(void **state) {
  static const int64_t lengths[] = {4, 9, 1, 4};
  layer all, one;
  float x[18 * 6], y[18 * 8], alone[9 * 8];
  cq_random random = cq_random_seeded(4, 0);
  (void)state;
  make(&all, 6, 4, 2, lengths, 4, cq_kernels_best());
  randomize(&all, &random);
  for (int i = 0; i < 18 * 6; i++) x[i] = (float)cq_random_normal(&random);
  run(&all, y, x, NULL, NULL);
  for (int s = 0; s < 4; s++) {
    make(&one, 6, 4, 2, &lengths[s], 1, cq_kernels_best());
    for (size_t i = 0; i < all.all.n; i++)
      memcpy(one.params[i].value, all.params[i].value, (size_t)cq_param_floats(&all.params[i]) * sizeof(float));
    run(&one, alone, x + all.starts[s] * 6, NULL, NULL);
    assert_memory_equal(alone, y + all.starts[s] * 8, (size_t)lengths[s] * 8 * sizeof(float));
    unmake(&one);
  }
  unmake(&all);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pytorch_agrees),
      cmocka_unit_test(differences_agree),
      cmocka_unit_test(neighbors_do_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
