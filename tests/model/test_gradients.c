/* The gradients of every module, through whole models: a directional derivative for each parameter of the golden
 * models, by differences of the loss, and pooling that leaves a prompt out. The loss is computed in f32, so a step must
 * be large: the tolerance is that of the differences, not of the gradients.
 *
 * EVERY=n in the environment: each n-th parameter only, as under an emulator. */
#include "support/files.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/slice.h"
#include "format/safetensors.h"
#include "model/encoder.h"

#include <math.h>

enum { N = 5, SKIP = 2 };

static const char *const texts[N] = {"The baker opens his shop.",
                                     "My sister plays the violin, but she prefers the piano.", "No!",
                                     "Water boils at 100 degrees.", "Der Zug geht um sieben."};

typedef struct problem {
  cq_encoder *encoder;
  cq_worker worker;
  cq_ids ids;
  int64_t starts[N + 1];
  int32_t skip[N], second[N];
  cq_batch batch;
  float *weights; /* [N, dim]: the loss is their sum over the vectors */
} problem;

static void set_up(problem *p, const char *name) {
  char path[64];
  cq_error error = {0};
  cq_random random = cq_random_seeded(11, 0);
  *p = (problem){0};
  snprintf(path, sizeof path, "golden/models/%s", name);
  if (cq_encoder_open_any(&p->encoder, tests_file(path), NULL, &error)) fail_msg("%s", error.message);
  assert_int_equal(cq_encoder_make_trainable(p->encoder, NULL, NULL), CQ_OK);
  p->worker.kernels = p->encoder->kernels;
  for (int s = 0; s < N; s++) {
    bool truncated;
    const cq_slice pair[] = {cq_slice_of(texts[s]), cq_slice_of(texts[(s + 1) % N])};
    assert_int_equal(p->encoder->of_pairs
                         ? cq_encoder_tokenize_pair(&p->ids, &p->second[s], p->encoder, NULL, pair, &truncated, NULL)
                         : cq_encoder_tokenize(&p->ids, p->encoder, NULL, pair[0], &truncated, NULL),
                     CQ_OK);
    p->starts[s + 1] = (int64_t)p->ids.n;
    p->skip[s] = SKIP;
  }
  p->batch = (cq_batch){.ids = p->ids.ids, .starts = p->starts, .n_seqs = N, .skip = p->skip};
  if (p->encoder->of_pairs) p->batch.second = p->second;
  const size_t n = (size_t)N * (size_t)cq_encoder_dim(p->encoder);
  p->weights = malloc(n * sizeof *p->weights);
  for (size_t i = 0; i < n; i++) p->weights[i] = (float)cq_random_normal(&random);
}

static void tear_down(problem *p) {
  free(p->weights);
  cq_free(p->ids.ids);
  cq_workspace_free(&p->worker.workspace);
  cq_encoder_free(p->encoder);
}

static double loss_of(problem *p) {
  cq_tensor y;
  double sum = 0;
  assert_int_equal(cq_encoder_pack(p->encoder, NULL, true, NULL), CQ_OK);
  assert_int_equal(cq_encoder_forward(&p->worker, p->encoder, &p->batch, &y, NULL, NULL), CQ_OK);
  for (int64_t i = 0; i < y.rows * y.cols; i++) sum += (double)cq_f32(y)[i] * (double)p->weights[i];
  cq_workspace_release(&p->worker.workspace, (cq_mark){0});
  return sum;
}

static void add_gradients(problem *p, cq_gradients *g) {
  cq_tape tape;
  cq_tensor y;
  assert_int_equal(cq_encoder_forward(&p->worker, p->encoder, &p->batch, &y, &tape, NULL), CQ_OK);
  float *dy = cq_workspace_take(&p->worker.workspace, (size_t)(y.rows * y.cols) * sizeof *dy);
  memcpy(dy, p->weights, (size_t)(y.rows * y.cols) * sizeof *dy);
  assert_int_equal(
      cq_encoder_backward(&p->worker, p->encoder, &p->batch, cq_tensor_f32(dy, y.rows, y.cols), &tape, g, NULL), CQ_OK);
  cq_workspace_release(&p->worker.workspace, (cq_mark){0});
}

static void gradients_of(problem *p, cq_gradients *g) {
  assert_int_equal(cq_gradients_new(g, &p->encoder->params, NULL), CQ_OK);
  add_gradients(p, g);
}

/* The gradient of element i of a parameter. */
static double gradient_at(const cq_gradients *g, const cq_param *param, int64_t i) {
  if (!param->table) return (double)g->dense[param->offset + i];
  const cq_table_gradient *t = &g->tables[param->offset];
  const int32_t slot = t->slot_of[i / param->cols];
  return slot == 0 ? 0 : (double)t->rows[(slot - 1) * param->cols + i % param->cols];
}

/* Both sides of d loss = gradient . direction, for a direction of signs in one parameter. */
static void check_param(problem *p, const cq_gradients *g, cq_param *param, const char *name, double length,
                        double tolerance) {
  const int64_t n = cq_param_floats(param);
  cq_random random = cq_random_seeded(12, (uint64_t)param->offset);
  double expected = 0, squares = 0;
  float *before = malloc((size_t)n * sizeof *before), *sign = malloc((size_t)n * sizeof *sign);
  memcpy(before, param->value, (size_t)n * sizeof *before);
  for (int64_t i = 0; i < n; i++) {
    const double slope = gradient_at(g, param, i);
    squares += slope * slope;
    sign[i] = cq_random_u64(&random) & 1 ? 1.0f : -1.0f;
    expected += slope * (double)sign[i];
  }
  /* Central differences of two steps, extrapolated: the error falls with the fourth power of the step. */
  const double step = length / sqrt((double)n);
  double slope[2];
  for (int k = 0; k < 2; k++) {
    const float h = (float)(step * (k + 1));
    double loss[2];
    for (int side = 0; side < 2; side++) {
      for (int64_t i = 0; i < n; i++) param->value[i] = before[i] + (side ? -h : h) * sign[i];
      loss[side] = loss_of(p);
    }
    slope[k] = (loss[0] - loss[1]) / (2 * (double)h);
  }
  memcpy(param->value, before, (size_t)n * sizeof *before);
  const double found = (4 * slope[0] - slope[1]) / 3;
  const double noise = 6e-6 / step; /* of a loss in f32, which no two levels round alike */
  if (!(fabs(found - expected) <= tolerance * fmax(sqrt(squares), fabs(expected)) + noise))
    fail_msg("%s, %s: the loss changes by %g, the gradient says %g (length %g)", name, param->name, found, expected,
             sqrt(squares));
  free(before);
  free(sign);
}

static void check_model(const char *name, bool dropout, double length, double tolerance) {
  static const uint64_t keys[N] = {11, 12, 13, 14, 15};
  static size_t next; /* another parameter is the first in each model */
  const char *sample = getenv("EVERY");
  const size_t every = sample && atoi(sample) > 0 ? (size_t)atoi(sample) : 1;
  problem p;
  cq_gradients g;
  set_up(&p, name);
  const double whole = loss_of(&p);
  if (dropout) {
    p.batch.keys = keys;
    assert_true(fabs(loss_of(&p) - whole) > 1e-3);
  }
  gradients_of(&p, &g);
  for (size_t i = next % every; i < p.encoder->params.n; i += every)
    if (!p.encoder->params.items[i]->frozen) check_param(&p, &g, p.encoder->params.items[i], name, length, tolerance);
  next++;
  cq_gradients_free(&g);
  tear_down(&p);
}

/* Smooth activations and no maximum, since differences across a kink are off; where there is one, the tolerance is
 * wider. */
static void gradients_agree_with_differences(void **state) {
  static const char *const smooth[] = {"lstm-forward",
                                       "static-normalized",
                                       "distilbert-dense",
                                       "labse",
                                       "pool-lasttoken-new",
                                       "pool-weightedmean-old",
                                       "mpnet-mean",
                                       "dense-no-bias",
                                       "bert-prompt-pooled",
                                       "pool-mean-sqrt-len-old",
                                       "bert-xlmr",
                                       "pool-norm-dropout",
                                       "model2vec-mapping",
                                       "electra",
                                       "albert-groups",
                                       "ernie",
                                       "modernbert",
                                       "modernbert-biases",
                                       "nomic",
                                       "gte",
                                       "jina-v2",
                                       "jina-v3",
                                       "xlmr-xl"};
  (void)state;
  for (size_t i = 0; i < sizeof smooth / sizeof *smooth; i++) check_model(smooth[i], false, 3e-2, 2e-3);
  /* RMSNorm in front of every branch bends the loss more: a shorter step, whose rounding is allowed for. */
  static const char *const decoders[] = {"llama-linear",  "llama-scaled", "mistral-last", "qwen2-last",
                                         "qwen2-window",  "qwen3-last",   "qwen3-yarn",   "gemma3-dense",
                                         "gemma3-causal", "eurobert-5"};
  for (size_t i = 0; i < sizeof decoders / sizeof *decoders; i++) check_model(decoders[i], false, 1e-2, 2e-3);
  check_model("bilstm-deep", false, 2e-3, 2e-2);
  check_model("t5", false, 2e-3, 2e-2); /* scores without a scale bend the loss */
  check_model("t5-gated", false, 2e-3, 2e-2);
  check_model("pool-max-old", false, 2e-3, 2e-2);
  check_model("cnn", false, 2e-3, 2e-2);
}

/* Their classifiers: tanh, GELU, a norm, ReLU. */
static void gradients_of_rerankers_agree(void **state) {
  static const char *const smooth[] = {"bert", "xlmr", "electra", "modernbert", "modernbert-mean"};
  char name[40];
  (void)state;
  for (size_t i = 0; i < sizeof smooth / sizeof *smooth; i++) {
    snprintf(name, sizeof name, "../rerankers/%s", smooth[i]);
    check_model(name, false, 1e-2, 2e-3);
  }
  check_model("../rerankers/distilbert", false, 2e-3, 2e-2);
  check_model("../rerankers/xlmr", true, 1e-2, 2e-3);
}

/* What forward drops, backward drops. */
static void gradients_agree_under_dropout(void **state) {
  static const char *const models[] = {"labse",   "distilbert-dense", "mpnet-mean", "bert-xlmr", "pool-norm-dropout",
                                       "electra", "albert-groups",    "gte",        "xlmr-xl"};
  (void)state;
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) check_model(models[i], true, 3e-2, 2e-3);
  check_model("t5-gated", true, 2e-3, 2e-2);
}

/* What backward has passed, it adds nothing to any more. */
typedef struct passing {
  cq_gradients *g;
  float *then;    /* [n_dense] as it was when it was passed */
  int64_t lowest; /* passed until now */
  int n;          /* times it got lower */
} passing;

static void note_passed(void *context, int64_t offset) {
  passing *p = context;
  if (offset >= p->lowest) return;
  memcpy(p->then + offset, p->g->dense + offset, (size_t)(p->lowest - offset) * sizeof *p->then);
  p->lowest = offset, p->n++;
}

static void what_is_passed_stays(void **state) {
  static const struct {
    const char *name;
    int n; /* layers and modules with dense parameters, where they are told apart */
  } models[] = {{"labse", 3},         {"distilbert-dense", 3}, {"mpnet-mean", 1}, {"bert-xlmr", 2},
                {"albert-groups", 1}, {"modernbert", 3},       {"nomic", 3},      {"gte", 3},
                {"llama-linear", 3},  {"gemma3-dense", 4},     {"t5", 1},         {"lstm-forward", 1},
                {"cnn", 1},           {"xlmr-xl", 2}};
  (void)state;
  for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
    problem p;
    cq_gradients g;
    set_up(&p, models[m].name);
    assert_int_equal(cq_gradients_new(&g, &p.encoder->params, NULL), CQ_OK);
    passing seen = {&g, malloc((size_t)g.n_dense * sizeof(float)), g.n_dense, 0};
    g.passed = note_passed, g.context = &seen;
    add_gradients(&p, &g);
    if (memcmp(seen.then + seen.lowest, g.dense + seen.lowest, (size_t)(g.n_dense - seen.lowest) * sizeof *g.dense) !=
        0)
      fail_msg("%s: gradients were added to behind what was passed", models[m].name);
    if (seen.n < models[m].n) fail_msg("%s: told %d times, expected %d", models[m].name, seen.n, models[m].n);
    assert_int_equal(seen.lowest, 0);
    free(seen.then);
    cq_gradients_free(&g);
    tear_down(&p);
  }
}

/* PyTorch's gradients (reference/golden_families.py) of all parameters, each against its own largest. */
static void gradients_agree_with_pytorch(void **state) {
  static const char *const models[] = {"modernbert", "modernbert-biases"};
  (void)state;
  for (size_t m = 0; m < 2; m++) {
    problem p;
    cq_gradients g;
    cq_safetensors *file;
    cq_error error = {0};
    char path[96];
    set_up(&p, models[m]);
    const int64_t dim = cq_encoder_dim(p.encoder);
    for (int64_t i = 0; i < N * dim; i++) p.weights[i] = (float)((7 * (i / dim) + 3 * (i % dim)) % 11 - 5);
    gradients_of(&p, &g);
    snprintf(path, sizeof path, "golden/models/%s/gradients.safetensors", models[m]);
    if (cq_safetensors_open(&file, tests_file(path), &error)) fail_msg("%s", error.message);
    assert_int_equal(cq_safetensors_count(file), p.encoder->params.n);
    for (size_t i = 0; i < p.encoder->params.n; i++) {
      const cq_param *param = p.encoder->params.items[i];
      const cq_stored_tensor *expected = cq_safetensors_find(file, param->name);
      double largest = 0, worst = 0;
      assert_non_null(expected);
      assert_int_equal(expected->n_elements, cq_param_floats(param));
      for (int64_t j = 0; j < expected->n_elements; j++) {
        float want;
        memcpy(&want, (const char *)expected->data + (size_t)j * sizeof want, sizeof want);
        largest = fmax(largest, fabs((double)want));
        const double difference = fabs((double)want - gradient_at(&g, param, j));
        if (!(difference <= worst)) worst = difference;
      }
      if (!(largest > 0 && worst <= 2e-5 * largest))
        fail_msg("%s, %s: off by %g of %g", models[m], param->name, worst, largest);
    }
    cq_safetensors_close(file);
    cq_gradients_free(&g);
    tear_down(&p);
  }
}

/* Without its prompt, a weighted mean keeps the weights that the places after the prompt have. */
static void prompts_are_left_out(void **state) {
  static const char *const models[] = {"pool-all-old", "pool-order-new"};
  (void)state;
  for (size_t m = 0; m < 2; m++) {
    problem p;
    cq_gradients g;
    set_up(&p, models[m]);
    cq_module *pooling = p.encoder->modules[1];
    const double with_all = loss_of(&p);
    pooling->leaves_out_prompt = true;
    assert_true(fabs(loss_of(&p) - with_all) > 1e-3);
    gradients_of(&p, &g);
    cq_gradients_free(&g);
    p.skip[2] = 100; /* nothing is left of this one: zeros */
    cq_tensor y;
    assert_int_equal(cq_encoder_forward(&p.worker, p.encoder, &p.batch, &y, NULL, NULL), CQ_OK);
    for (int64_t i = 0; i < y.cols; i++) assert_true(cq_f32(y)[2 * y.cols + i] == 0.0f);
    tear_down(&p);
  }
}

/* However little room a worker has left, a step either fails for want of memory or has the same gradients. */
static void a_lack_of_room_changes_no_gradient(void **state) {
  static const char *const models[] = {"mpnet-mean", "bilstm-deep", "labse", "static-normalized", "albert"};
  static const uint64_t keys[N] = {11, 12, 13, 14, 15};
  enum { CHUNK = 4 << 20, STEP = 448 };
  (void)state;
  for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
    problem p;
    cq_gradients expected, g;
    set_up(&p, models[m]);
    p.batch.keys = keys;
    gradients_of(&p, &expected);
    gradients_of(&p, &g); /* whose tables have room from here on */
    const size_t n = (size_t)p.encoder->params.n_dense * sizeof(float);
    const int64_t n_weights = N * cq_encoder_dim(p.encoder);
    bool enough = false;
    for (size_t left = 0; !enough; left += STEP) {
      cq_worker worker = {.kernels = p.worker.kernels};
      cq_tape tape;
      cq_tensor y;
      assert_non_null(cq_workspace_take(&worker.workspace, CHUNK - left / 64 * 64));
      memset(g.dense, 0, n);
      cq_alloc_fail_at(1); /* there is this chunk, and no other */
      cq_status status = cq_encoder_forward(&worker, p.encoder, &p.batch, &y, &tape, NULL);
      float *dy = status ? NULL : cq_workspace_take(&worker.workspace, (size_t)n_weights * sizeof *dy);
      if (dy) {
        memcpy(dy, p.weights, (size_t)n_weights * sizeof *dy);
        status = cq_encoder_backward(&worker, p.encoder, &p.batch, cq_tensor_f32(dy, y.rows, y.cols), &tape, &g, NULL);
        if (!status && memcmp(g.dense, expected.dense, n) != 0)
          fail_msg("%s: with %zu bytes left the gradients are others", models[m], left);
      }
      if (status) assert_int_equal(status, CQ_ERR_MEMORY);
      enough = dy && !status;
      cq_alloc_fail_at(0);
      cq_workspace_free(&worker.workspace);
      assert_true(left < CHUNK - 2 * STEP);
    }
    cq_gradients_free(&expected);
    cq_gradients_free(&g);
    tear_down(&p);
  }
}

/* In bf16: the gradient points where it does in f32, as far as 8 bits of mantissa tell. */
static void gradients_in_bf16_are_near(void **state) {
  static const char *const names[] = {"bert-uncased", "mpnet-mean", "distilbert-dense"};
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    problem p;
    cq_gradients g[2];
    set_up(&p, names[i]);
    gradients_of(&p, &g[0]);
    p.encoder->precision = CQ_PRECISION_BF16;
    assert_int_equal(cq_encoder_make_trainable(p.encoder, NULL, NULL), CQ_OK);
    gradients_of(&p, &g[1]);
    double xy = 0, xx = 0, yy = 0, difference = 0;
    for (int64_t j = 0; j < g[0].n_dense; j++) {
      const double x = (double)g[0].dense[j], y = (double)g[1].dense[j];
      xy += x * y, xx += x * x, yy += y * y, difference += fabs(x - y);
    }
    if (cq_products_of(p.encoder->kernels, CQ_PRECISION_BF16)->precision == CQ_PRECISION_BF16)
      assert_true(difference > 0);
    if (!(xy / sqrt(xx * yy) > 0.9995)) fail_msg("%s: cosine %.6f", names[i], xy / sqrt(xx * yy));
    cq_gradients_free(&g[0]), cq_gradients_free(&g[1]);
    tear_down(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_lack_of_room_changes_no_gradient),
      cmocka_unit_test(gradients_agree_with_differences),
      cmocka_unit_test(gradients_of_rerankers_agree),
      cmocka_unit_test(gradients_agree_under_dropout),
      cmocka_unit_test(what_is_passed_stays),
      cmocka_unit_test(gradients_agree_with_pytorch),
      cmocka_unit_test(prompts_are_left_out),
      cmocka_unit_test(gradients_in_bf16_are_near),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
