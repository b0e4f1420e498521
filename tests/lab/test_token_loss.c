/* The likelihood of tokens: against PyTorch's (reference/golden_decoder_parts.py) and against plain loops in double
 * precision, whose finite differences check the gradients; rows of several blocks against one at a time. */
#include "support/files.h"

#include "base/memory.h"
#include "base/random.h"
#include "format/safetensors.h"
#include "lab/autoencode/token_loss.h"

#include <math.h>

typedef struct output {
  cq_param weight, bias;
  cq_linear linear;
  cq_params all;
  cq_gradients gradients;
  cq_worker worker;
} output;

static void make(output *o, int64_t dim, int64_t vocabulary, bool biased, const cq_kernels *kernels) {
  *o = (output){.weight = {.name = "weight", .rows = vocabulary, .cols = dim, .n_dims = 2},
                .bias = {.name = "bias", .rows = 1, .cols = vocabulary, .n_dims = 1},
                .worker = {.kernels = kernels}};
  o->linear = (cq_linear){.weight = &o->weight, .bias = biased ? &o->bias : NULL};
  assert_int_equal(cq_params_add(&o->all, &o->weight, NULL), CQ_OK);
  if (biased) assert_int_equal(cq_params_add(&o->all, &o->bias, NULL), CQ_OK);
  for (size_t i = 0; i < o->all.n; i++)
    o->all.items[i]->value = cq_alloc_array((size_t)cq_param_floats(o->all.items[i]), sizeof(float));
  cq_params_index(&o->all);
  assert_int_equal(cq_gradients_new(&o->gradients, &o->all, NULL), CQ_OK);
}

static void unmake(output *o) {
  for (size_t i = 0; i < o->all.n; i++) cq_free(o->all.items[i]->value);
  cq_linear_free(&o->linear);
  cq_gradients_free(&o->gradients);
  cq_params_free(&o->all);
  cq_workspace_free(&o->worker.workspace);
}

static void pack(output *o) {
  assert_int_equal(cq_linear_pack(&o->linear, &(cq_packing){o->worker.kernels, CQ_PRECISION_F32, true}, NULL), CQ_OK);
}

static void fill(float *x, int64_t n, cq_random *random) {
  for (int64_t i = 0; i < n; i++) x[i] = (float)(cq_random_normal(random) * 0.7);
}

/* Values, tokens and inputs. */
static void randomize(output *o, float *x, int32_t *ids, int64_t n, uint64_t seed) {
  cq_random random = cq_random_seeded(seed, 0);
  for (size_t i = 0; i < o->all.n; i++) fill(o->all.items[i]->value, cq_param_floats(o->all.items[i]), &random);
  fill(x, n * o->weight.cols, &random);
  for (int64_t i = 0; i < n; i++) ids[i] = (int32_t)cq_random_below(&random, (uint64_t)o->weight.rows);
  pack(o);
}

static cq_tensor rows_of(const output *o, const float *x, int64_t n) {
  return cq_tensor_f32((float *)(uintptr_t)x, n, o->weight.cols);
}

static void expect_close(const char *what, const float *found, const float *expected, int64_t n, double tolerance) {
  for (int64_t i = 0; i < n; i++) {
    double difference = fabs((double)found[i] - (double)expected[i]);
    if (!(difference <= tolerance * fmax(1, fabs((double)expected[i]))))
      fail_msg("%s[%lld] is %g, expected %g", what, (long long)i, (double)found[i], (double)expected[i]);
  }
}

/* --- PyTorch --- */

static const float *tensor(const cq_safetensors *file, const char *name) {
  const cq_stored_tensor *t = cq_safetensors_find(file, name);
  if (!t) fail_msg("no %s", name);
  return t->data;
}

static void check_golden(const char *name, const cq_kernels *kernels) {
  char path[64];
  cq_safetensors *file;
  output o;
  snprintf(path, sizeof path, "golden/decoder/%s", name);
  assert_int_equal(cq_safetensors_open(&file, tests_file(path), NULL), CQ_OK);
  const cq_stored_tensor *weight = cq_safetensors_find(file, "weight");
  const bool biased = cq_safetensors_find(file, "bias") != NULL;
  const int64_t n = cq_safetensors_find(file, "x")->shape[0], vocabulary = weight->shape[0], dim = weight->shape[1];
  make(&o, dim, vocabulary, biased, kernels);
  for (size_t i = 0; i < o.all.n; i++)
    memcpy(o.all.items[i]->value, tensor(file, o.all.items[i]->name),
           (size_t)cq_param_floats(o.all.items[i]) * sizeof(float));
  pack(&o);
  int32_t ids[64];
  float dx[64 * 16], log_p[64 * 64];
  double loss = 1;
  assert_true(n <= 64 && dim <= 16 && vocabulary <= 64);
  for (int64_t i = 0; i < n; i++) ids[i] = (int32_t)tensor(file, "ids")[i];
  const cq_tensor x = rows_of(&o, tensor(file, "x"), n);
  assert_int_equal(cq_token_loss(&o.worker, &o.linear, &o.gradients, rows_of(&o, dx, n), x, ids,
                                 *tensor(file, "factor"), *tensor(file, "smoothing"), &loss, NULL),
                   CQ_OK);
  expect_close("loss", &(float){(float)(loss - 1)}, tensor(file, "loss"), 1, 1e-6);
  expect_close("dx", dx, tensor(file, "dx"), n * dim, 2e-6);
  expect_close("weight", cq_gradient_of(&o.gradients, &o.weight), tensor(file, "gradient.weight"), dim * vocabulary,
               5e-6);
  if (biased)
    expect_close("bias", cq_gradient_of(&o.gradients, &o.bias), tensor(file, "gradient.bias"), vocabulary, 5e-6);
  assert_int_equal(cq_token_log_probabilities(&o.worker, &o.linear, cq_tensor_f32(log_p, n, vocabulary), x, NULL),
                   CQ_OK);
  expect_close("log_p", log_p, tensor(file, "log_p"), n * vocabulary, 3e-6);
  unmake(&o);
  cq_safetensors_close(file);
}

static void pytorch_agrees(void **state) {
  const cq_kernels *levels[8];
  const size_t n = cq_kernels_all(levels, 8);
  (void)state;
  for (size_t i = 0; i < n; i++) {
    check_golden("tokens.safetensors", levels[i]);
    check_golden("tokens_smoothed.safetensors", levels[i]);
  }
}

/* --- plain loops in double precision: inputs are x, then the weight, then the bias --- */

enum { TOKENS = 5, DIM = 4, VOCABULARY = 11, N_INPUTS = TOKENS * DIM + VOCABULARY * (DIM + 1) };

static double loss_of(const double *x, const int32_t *ids, double smoothing) {
  const double *w = x + TOKENS * DIM, *b = w + VOCABULARY * DIM;
  double loss = 0;
  for (int t = 0; t < TOKENS; t++) {
    double logits[VOCABULARY], sum = 0, mean = 0;
    for (int v = 0; v < VOCABULARY; v++) {
      logits[v] = b[v];
      for (int j = 0; j < DIM; j++) logits[v] += x[t * DIM + j] * w[v * DIM + j];
      sum += exp(logits[v]);
    }
    for (int v = 0; v < VOCABULARY; v++) mean += (log(sum) - logits[v]) / VOCABULARY;
    loss += (1 - smoothing) * (log(sum) - logits[ids[t]]) + smoothing * mean;
  }
  return loss;
}

static void differences_agree(void **state) {
  const double step = 1e-5;
  (void)state;
  for (int smoothed = 0; smoothed < 2; smoothed++) {
    const double smoothing = smoothed ? 0.125 : 0;
    output o;
    float x[TOKENS * DIM], gradients[N_INPUTS];
    int32_t ids[TOKENS];
    double inputs[N_INPUTS], loss = 0;
    make(&o, DIM, VOCABULARY, true, cq_kernels_best());
    randomize(&o, x, ids, TOKENS, 11);
    assert_int_equal(cq_token_loss(&o.worker, &o.linear, &o.gradients, rows_of(&o, gradients, TOKENS),
                                   rows_of(&o, x, TOKENS), ids, 0.5f, (float)smoothing, &loss, NULL),
                     CQ_OK);
    memcpy(gradients + TOKENS * DIM, cq_gradient_of(&o.gradients, &o.weight), VOCABULARY * DIM * sizeof(float));
    memcpy(gradients + TOKENS * DIM + VOCABULARY * DIM, cq_gradient_of(&o.gradients, &o.bias),
           VOCABULARY * sizeof(float));
    for (int i = 0; i < N_INPUTS; i++)
      inputs[i] = (double)(i < TOKENS * DIM                      ? x[i]
                           : i < TOKENS * DIM + VOCABULARY * DIM ? o.weight.value[i - TOKENS * DIM]
                                                                 : o.bias.value[i - TOKENS * DIM - VOCABULARY * DIM]);
    assert_true(fabs(loss - loss_of(inputs, ids, smoothing)) <= 1e-5);
    for (int i = 0; i < N_INPUTS; i++) {
      const double here = inputs[i];
      inputs[i] = here + step;
      const double above = loss_of(inputs, ids, smoothing);
      inputs[i] = here - step;
      const double below = loss_of(inputs, ids, smoothing);
      inputs[i] = here;
      expect_close("gradient", &gradients[i], &(float){(float)(0.5 * (above - below) / (2 * step))}, 1, 2e-6);
    }
    unmake(&o);
  }
}

/* --- blocks --- */

static void blocks_do_not_matter(void **state) {
  enum { N = 333, D = 7, V = 61 };
  static float x[N * D], dx[N * D], one[D], log_p[N * V];
  static int32_t ids[N];
  (void)state;
  output o, rows;
  make(&o, D, V, true, cq_kernels_best());
  make(&rows, D, V, true, cq_kernels_best());
  randomize(&o, x, ids, N, 12);
  randomize(&rows, x, ids, N, 12);
  double loss = 0, alone = 0, only = 0, by_rows = 0, expected = 0;
  assert_int_equal(
      cq_token_loss(&o.worker, &o.linear, &o.gradients, rows_of(&o, dx, N), rows_of(&o, x, N), ids, 2, 0, &loss, NULL),
      CQ_OK);
  assert_int_equal(
      cq_token_log_probabilities(&o.worker, &o.linear, cq_tensor_f32(log_p, N, V), rows_of(&o, x, N), NULL), CQ_OK);
  for (int i = 0; i < N; i++) {
    assert_int_equal(cq_token_loss(&rows.worker, &rows.linear, &rows.gradients, rows_of(&o, one, 1),
                                   rows_of(&o, x + i * D, 1), ids + i, 2, 0, &by_rows, NULL),
                     CQ_OK);
    assert_memory_equal(one, dx + i * D, sizeof one);
    expected -= (double)log_p[i * V + ids[i]];
  }
  assert_true(fabs(loss - by_rows) <= 1e-9 * loss && fabs(loss - expected) <= 1e-5 * loss);
  expect_close("weight", cq_gradient_of(&o.gradients, &o.weight), cq_gradient_of(&rows.gradients, &rows.weight), V * D,
               1e-4); /* of sums of 333 terms of up to 2 */
  expect_close("bias", cq_gradient_of(&o.gradients, &o.bias), cq_gradient_of(&rows.gradients, &rows.bias), V, 1e-4);
  /* the loss alone, and the parameters' gradients alone */
  cq_gradients_clear(&rows.gradients);
  assert_int_equal(
      cq_token_loss(&o.worker, &o.linear, NULL, (cq_tensor){0}, rows_of(&o, x, N), ids, 2, 0, &alone, NULL), CQ_OK);
  assert_int_equal(
      cq_token_loss(&o.worker, &o.linear, &rows.gradients, (cq_tensor){0}, rows_of(&o, x, N), ids, 2, 0, &only, NULL),
      CQ_OK);
  assert_true(loss == alone && loss == only);
  assert_memory_equal(rows.gradients.dense, o.gradients.dense, (size_t)o.gradients.n_dense * sizeof(float));
  /* rows that lie in wider ones */
  static float wide[N * (D + 3)];
  for (int i = 0; i < N; i++) memcpy(wide + i * (D + 3), x + i * D, D * sizeof *x);
  double strided = 0;
  assert_int_equal(cq_token_loss(&o.worker, &o.linear, NULL, (cq_tensor){0},
                                 cq_tensor_columns(cq_tensor_f32(wide, N, D + 3), 0, D), ids, 2, 0, &strided, NULL),
                   CQ_OK);
  assert_true(strided == loss);
  unmake(&o);
  unmake(&rows);
}

static void no_rows_are_nothing(void **state) {
  output o;
  double loss = 4;
  float x[DIM] = {0};
  int32_t ids[1] = {0};
  (void)state;
  make(&o, DIM, VOCABULARY, true, cq_kernels_best());
  randomize(&o, x, ids, 1, 1);
  assert_int_equal(
      cq_token_loss(&o.worker, &o.linear, &o.gradients, rows_of(&o, x, 0), rows_of(&o, x, 0), ids, 1, 0, &loss, NULL),
      CQ_OK);
  assert_int_equal(
      cq_token_log_probabilities(&o.worker, &o.linear, cq_tensor_f32(x, 0, VOCABULARY), rows_of(&o, x, 0), NULL),
      CQ_OK);
  assert_true(loss == 4);
  for (int64_t i = 0; i < o.gradients.n_dense; i++) assert_true(o.gradients.dense[i] == 0);
  unmake(&o);
}

static void every_allocation_may_fail(void **state) {
  enum { N = 70, D = 8, V = 20000 }; /* two chunks of a workspace */
  static float x[N * D], dx[N * D];
  static int32_t ids[N];
  output o;
  (void)state;
  make(&o, D, V, false, cq_kernels_best());
  randomize(&o, x, ids, N, 2);
  long n = 1;
  for (bool failed = true; failed; n++) {
    cq_error error = {0};
    double loss = 0.5;
    cq_workspace_free(&o.worker.workspace);
    cq_alloc_fail_at(n);
    cq_status status = cq_token_loss(&o.worker, &o.linear, &o.gradients, rows_of(&o, dx, N), rows_of(&o, x, N), ids, 1,
                                     0, &loss, &error);
    failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    assert_true(failed ? loss == 0.5 : loss > 1);
  }
  assert_true(n > 3);
  unmake(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pytorch_agrees),
      cmocka_unit_test(differences_agree),
      cmocka_unit_test(blocks_do_not_matter),
      cmocka_unit_test(no_rows_are_nothing),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
