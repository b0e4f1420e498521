/* The trainer on the tiny golden models: its gradients, its independence of threads, its state. */
#include "support/files.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/random.h"
#include "train/trainer.h"

#include <math.h>

enum { N = 12 };

static const char *const texts[N] = {
    "The cat sleeps on the warm stone.",
    "Wir fahren morgen mit dem Zug nach Hause, wenn es nicht regnet.",
    "x",
    "Where is the nearest station, please?",
    "Она читает книгу у окна.",
    "Two and two make four; three and three make six.",
    "El agua del río está muy fría esta mañana.",
    "यह घर बहुत पुराना है।",
    "No.",
    "A long sentence goes on, and on, and on, until at last it comes, after all its turns, to an end.",
    "البيت كبير",
    "The cat sleeps on the warm stone.",
};

static double constant_rate(const void *context, uint64_t step, bool table) {
  (void)step;
  return *(const double *)context * (table ? 2 : 1);
}

static cq_encoder *open_model(const char *name) {
  char path[512];
  cq_encoder *encoder;
  cq_error error = {0};
  snprintf(path, sizeof path, "%s/golden/models/%s", CQ_TESTS_DIR, name);
  if (cq_encoder_open(&encoder, path, NULL, &error)) fail_msg("%s", error.message);
  return encoder;
}

/* What texts[i] should have, and the texts for the trainer. */
typedef struct examples {
  cq_slice texts[N];
  const float *targets[N];
} examples;

static examples make_examples(float *targets, int dim) {
  examples e;
  cq_random r = cq_random_seeded(7, 7);
  for (int i = 0; i < N * dim; i++) targets[i] = (float)cq_random_normal(&r) * 0.3f;
  for (int i = 0; i < N; i++) e.texts[i] = cq_slice_of(texts[i]), e.targets[i] = targets + i * dim;
  return e;
}

static const double rate = 1e-3;

static cq_trainer_options options_for(int n_shards, bool dropout) {
  return (cq_trainer_options){.n_shards = n_shards,
                              .accumulate = 1,
                              .seed = 5,
                              .dropout = dropout,
                              .optimizer = {.beta1 = 0.9,
                                            .beta2 = 0.999,
                                            .eps = 1e-6,
                                            .weight_decay = 0.01,
                                            .clip_norm = 1,
                                            .learning_rate = constant_rate,
                                            .context = &rate}};
}

/* ---- gradients ---- */

/* The loss of all texts, without dropout. */
static double loss_of(cq_encoder *encoder, const float *targets) {
  const int dim = cq_encoder_dim(encoder);
  cq_slice slices[N];
  float *y = cq_alloc_array(N, (size_t)dim * sizeof *y);
  double sum = 0;
  for (int i = 0; i < N; i++) slices[i] = cq_slice_of(texts[i]);
  assert_int_equal(cq_encoder_pack(encoder, NULL, true, NULL), CQ_OK);
  assert_int_equal(cq_encoder_encode(y, NULL, encoder, slices, N, NULL, NULL, NULL), CQ_OK);
  for (int i = 0; i < N * dim; i++) sum += ((double)y[i] - targets[i]) * ((double)y[i] - targets[i]);
  cq_free(y);
  return sum / (N * dim);
}

/* All gradients by one backward pass over the whole batch. */
static void backward_all(cq_encoder *encoder, const float *targets, cq_gradients *gradients) {
  const int dim = cq_encoder_dim(encoder);
  cq_worker worker = {.kernels = encoder->kernels};
  cq_ids ids = {0};
  int64_t starts[N + 1] = {0};
  for (int i = 0; i < N; i++) {
    bool truncated;
    assert_int_equal(cq_encoder_tokenize(&ids, encoder, NULL, cq_slice_of(texts[i]), &truncated, NULL), CQ_OK);
    starts[i + 1] = (int64_t)ids.n;
  }
  const cq_batch batch = {.ids = ids.ids, .starts = starts, .n_seqs = N};
  cq_tape tape;
  cq_tensor y;
  assert_int_equal(cq_encoder_forward(&worker, encoder, &batch, &y, &tape, NULL), CQ_OK);
  cq_tensor dy = cq_workspace_f32(&worker.workspace, N, dim);
  worker.kernels->squared_error(cq_f32(dy), cq_f32(y), targets, (float)(2.0 / (N * dim)), N * dim);
  assert_int_equal(cq_encoder_backward(&worker, encoder, &batch, dy, &tape, gradients, NULL), CQ_OK);
  cq_workspace_free(&worker.workspace);
  cq_free(ids.ids);
}

static float gradient_at(const cq_gradients *g, const cq_param *p, int64_t row, int64_t col) {
  if (!p->table) return g->dense[p->offset + row * p->cols + col];
  const cq_table_gradient *t = &g->tables[p->offset];
  const int32_t slot = t->slot_of[row];
  return slot ? t->rows[(slot - 1) * t->dim + col] : 0;
}

/* Central differences of an f32 forward pass carry noise of about 1e-7 of the loss over the step: directions of many
 * elements at once keep the signal well above it. A direction is random signs over one parameter. */
static void check_gradients(const char *name) {
  cq_encoder *encoder = open_model(name);
  const int dim = cq_encoder_dim(encoder);
  float *targets = cq_alloc_array(N, (size_t)dim * sizeof *targets);
  cq_gradients gradients;
  make_examples(targets, dim);
  assert_int_equal(cq_encoder_make_trainable(encoder, NULL, NULL), CQ_OK);
  assert_int_equal(cq_gradients_new(&gradients, &encoder->params, NULL), CQ_OK);
  backward_all(encoder, targets, &gradients);
  for (size_t i = 0; i < encoder->params.n; i++) {
    const cq_param *p = encoder->params.items[i];
    const int64_t n = cq_param_floats(p);
    double slope = 0, square = 0;
    float *saved = cq_alloc_array((size_t)n, sizeof *saved);
    cq_random r = cq_random_seeded(11, i);
    memcpy(saved, p->value, (size_t)n * sizeof *saved);
    signed char *signs = cq_alloc((size_t)n);
    for (int64_t j = 0; j < n; j++) {
      const double g = gradient_at(&gradients, p, j / p->cols, j % p->cols);
      /* Half the signs follow the gradient, so that the slope is not a sum of nothings. */
      signs[j] = cq_random_below(&r, 4) == 0 ? (g > 0 ? -1 : 1) : (g > 0 ? 1 : -1);
      slope += signs[j] * g;
      square += g * g;
    }
    const float step = 2e-3f / (float)(1 + sqrt((double)n) * 0.02);
    for (int64_t j = 0; j < n; j++) p->value[j] = saved[j] + (float)signs[j] * step;
    const double above = loss_of(encoder, targets);
    for (int64_t j = 0; j < n; j++) p->value[j] = saved[j] - (float)signs[j] * step;
    const double below = loss_of(encoder, targets);
    memcpy(p->value, saved, (size_t)n * sizeof *saved);
    const double numeric = (above - below) / (2 * (double)step);
    /* 2 % of the slope for the third derivative, and the rounding noise of two losses. */
    if (!(fabs(numeric - slope) <= 0.02 * fabs(slope) + 1e-6 / (double)step * above))
      fail_msg("%s: %s: slope %g by backward, %g by differences (|g| %g)", name, p->name, slope, numeric, sqrt(square));
    cq_free(signs);
    cq_free(saved);
  }
  cq_gradients_free(&gradients);
  cq_free(targets);
  cq_encoder_free(encoder);
}

static void gradients_agree_with_differences(void **state) {
  (void)state;
  static const char *const models[] = {"bert-cased",       "bert-gelu-new",    "roberta-mean", "mpnet-mean",
                                       "distilbert-dense", "pool-all-new",     "labse",        "static-mean",
                                       "bilstm-deep",      "static-normalized"};
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) check_gradients(models[i]);
}

/* ---- the same bits for any number of threads ---- */

typedef struct joint {
  const float *const *targets;
  size_t dim;
} joint;

/* The loss on targets, as one of all vectors together. */
static cq_status towards_targets(void *context, double *loss, float *gradients, const float *vectors, size_t n,
                                 cq_error *error) {
  const joint *j = context;
  const float factor = (float)(2.0 / ((double)n * (double)j->dim));
  double sum = 0;
  (void)error;
  for (size_t i = 0; i < n; i++)
    sum += cq_kernels_best()->squared_error(gradients + i * j->dim, vectors + i * j->dim, j->targets[i], factor,
                                            (int64_t)j->dim);
  *loss = sum / ((double)n * (double)j->dim);
  return CQ_OK;
}

static uint64_t train_and_hash(const char *model, int n_threads, int n_steps, bool jointly) {
  cq_context *ctx;
  cq_trainer *trainer;
  cq_step_report report;
  assert_int_equal(cq_context_open(&ctx, n_threads, NULL), CQ_OK);
  cq_encoder *encoder = open_model(model);
  const int dim = cq_encoder_dim(encoder);
  float *targets = cq_alloc_array(N, (size_t)dim * sizeof *targets);
  const examples e = make_examples(targets, dim);
  const cq_trainer_options options = options_for(4, true);
  assert_int_equal(cq_trainer_new(&trainer, encoder, ctx, &options, NULL), CQ_OK);
  double first = 0;
  for (int i = 0; i < n_steps; i++) {
    const size_t from = (size_t)i % 3, n = N - from;
    joint j = {e.targets + from, (size_t)dim};
    const cq_status status =
        jointly ? cq_trainer_step_jointly(trainer, e.texts + from, n, towards_targets, &j, &report, NULL)
                : cq_trainer_step(trainer, e.texts + from, e.targets + from, n, &report, NULL);
    assert_int_equal(status, CQ_OK);
    if (i == 0) first = report.loss;
  }
  assert_true(report.loss < first);
  assert_int_equal(cq_trainer_settle(trainer, NULL), CQ_OK);
  const uint64_t hash =
      cq_hash64(encoder->params.own, (size_t)encoder->params.n_dense * sizeof(float), 0) ^
      cq_hash64(encoder->params.items[0]->value, (size_t)cq_param_floats(encoder->params.items[0]) * 4, 0);
  cq_trainer_free(trainer);
  cq_encoder_free(encoder);
  cq_free(targets);
  cq_context_free(ctx);
  return hash;
}

static void threads_do_not_change_a_bit(void **state) {
  (void)state;
  static const char *const models[] = {"bert-cased", "mpnet-mean", "bilstm-max", "static-mean"};
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    const uint64_t one = train_and_hash(models[i], 1, 12, false);
    for (int n = 2; n <= 5; n++) assert_true(train_and_hash(models[i], n, 12, false) == one);
    /* Nor does it whether a loss is computed vector by vector, or of all together (these shards are one block each). */
    for (int n = 1; n <= 4; n++) assert_true(train_and_hash(models[i], n, 12, true) == one);
  }
}

/* A joint step without memory for something changes nothing but its own room, and works when there is some. */
static void memory_may_be_short(void **state) {
  cq_encoder *encoder = open_model("bert-cased");
  const int dim = cq_encoder_dim(encoder);
  float *targets = cq_alloc_array(N, (size_t)dim * sizeof *targets);
  cq_trainer *trainer;
  cq_step_report report;
  const cq_trainer_options options = options_for(3, true);
  (void)state;
  const examples e = make_examples(targets, dim);
  joint j = {e.targets, (size_t)dim};
  cq_trainer_options none = options;
  none.accumulate = 0;
  assert_int_equal(cq_trainer_new(&trainer, encoder, NULL, &none, NULL), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_trainer_new(&trainer, encoder, NULL, &options, NULL), CQ_OK);
  for (long n = 1;; n++) {
    cq_alloc_fail_at(n);
    const cq_status status = cq_trainer_step_jointly(trainer, e.texts, N, towards_targets, &j, &report, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (!failed) {
      assert_int_equal(status, CQ_OK);
      break;
    }
    assert_int_equal(status, CQ_ERR_MEMORY);
  }
  assert_true(isfinite(report.loss));
  cq_trainer_free(trainer);
  cq_encoder_free(encoder);
  cq_free(targets);
}

/* ---- a frozen body ---- */

static const char *const frozen_models[] = {"bert-bf16", "mpnet-mean", "labse", "bilstm-max"};

/* The gradient of the word embeddings is the one they have beside a body that learns. */
static void a_frozen_body_passes_the_same_gradient_on(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof frozen_models / sizeof *frozen_models; i++) {
    cq_gradients gradients[2];
    cq_encoder *encoders[2];
    float *targets = NULL;
    for (int frozen = 0; frozen < 2; frozen++) {
      cq_encoder *e = encoders[frozen] = open_model(frozen_models[i]);
      if (!targets) targets = cq_alloc_array(N, (size_t)cq_encoder_dim(e) * sizeof *targets);
      make_examples(targets, cq_encoder_dim(e));
      if (frozen) cq_encoder_freeze_body(e);
      assert_int_equal(cq_encoder_make_trainable(e, NULL, NULL), CQ_OK);
      assert_int_equal(cq_gradients_new(&gradients[frozen], &e->params, NULL), CQ_OK);
      backward_all(e, targets, &gradients[frozen]);
    }
    const cq_table_gradient *want = &gradients[0].tables[0], *got = &gradients[1].tables[0];
    assert_true(gradients[0].n_dense > 0);
    assert_int_equal(gradients[1].n_dense, 0);
    assert_true(want->n > 0);
    assert_int_equal(got->n, want->n);
    assert_memory_equal(got->row_of, want->row_of, want->n * sizeof *want->row_of);
    assert_memory_equal(got->rows, want->rows, want->n * (size_t)want->dim * sizeof *want->rows);
    for (int frozen = 0; frozen < 2; frozen++) {
      cq_gradients_free(&gradients[frozen]);
      cq_encoder_free(encoders[frozen]);
    }
    cq_free(targets);
  }
}

/* Trains word embeddings alone, and checks that all else has the bits that a model without training has. */
static uint64_t train_frozen_and_hash(const char *model, int n_threads) {
  cq_context *ctx;
  cq_trainer *trainer;
  cq_step_report report;
  uint64_t hash = 0;
  assert_int_equal(cq_context_open(&ctx, n_threads, NULL), CQ_OK);
  cq_encoder *before = open_model(model), *encoder = open_model(model);
  const int dim = cq_encoder_dim(encoder);
  float *targets = cq_alloc_array(N, (size_t)dim * sizeof *targets);
  const examples e = make_examples(targets, dim);
  const cq_trainer_options options = options_for(4, true);
  cq_encoder_freeze_body(encoder);
  assert_int_equal(cq_trainer_new(&trainer, encoder, ctx, &options, NULL), CQ_OK);
  for (int i = 0; i < 6; i++)
    assert_int_equal(cq_trainer_step(trainer, e.texts + i % 3, e.targets + i % 3, N - 3, &report, NULL), CQ_OK);
  assert_int_equal(cq_trainer_settle(trainer, NULL), CQ_OK);
  for (size_t i = 0; i < encoder->params.n; i++) {
    const cq_param *is = encoder->params.items[i], *was = before->params.items[i];
    float *made[2];
    const float *values[2] = {cq_param_f32(&made[0], is), cq_param_f32(&made[1], was)};
    const size_t n_bytes = (size_t)cq_param_floats(is) * sizeof(float);
    const bool equal = memcmp(values[0], values[1], n_bytes) == 0;
    if (equal == is->table) fail_msg("%s: %s %s", model, is->name, equal ? "was not trained" : "has changed");
    if (is->table) hash ^= cq_hash64(values[0], n_bytes, 0);
    cq_free(made[0]);
    cq_free(made[1]);
  }
  cq_trainer_free(trainer);
  cq_encoder_free(encoder);
  cq_encoder_free(before);
  cq_free(targets);
  cq_context_free(ctx);
  return hash;
}

static void a_frozen_body_keeps_its_bits(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof frozen_models / sizeof *frozen_models; i++)
    assert_true(train_frozen_and_hash(frozen_models[i], 1) == train_frozen_and_hash(frozen_models[i], 2));
}

/* ---- lazy tables ---- */

/* A plain AdamW over every row at every step, as PyTorch would do it. */
static void lazy_tables_equal_dense_updates(void **state) {
  (void)state;
  enum { ROWS = 40, DIM = 5, STEPS = 200 };
  cq_param table = {.name = "t", .rows = ROWS, .cols = DIM, .n_dims = 2, .decay = true, .table = true};
  cq_params params = {0};
  cq_optimizer lazy;
  cq_gradients gradients;
  float start[ROWS * DIM], p[ROWS * DIM], m[ROWS * DIM] = {0}, v[ROWS * DIM] = {0};
  cq_random r = cq_random_seeded(3, 1);
  for (int i = 0; i < ROWS * DIM; i++) p[i] = start[i] = (float)cq_random_normal(&r);
  table.value = start;
  const cq_kernels *k = cq_kernels_best();
  assert_int_equal(cq_params_add(&params, &table, NULL), CQ_OK);
  cq_params_index(&params);
  assert_int_equal(cq_params_own(&params, NULL), CQ_OK);
  cq_optimizer_options o = options_for(1, false).optimizer;
  o.clip_norm = 0;
  assert_int_equal(cq_optimizer_new(&lazy, &params, k, &o, NULL), CQ_OK);
  assert_int_equal(cq_gradients_new(&gradients, &params, NULL), CQ_OK);
  for (uint64_t t = 1; t <= STEPS; t++) {
    int32_t ids[3] = {(int32_t)cq_random_below(&r, ROWS), (int32_t)cq_random_below(&r, 5), 0}, slots[3];
    ids[2] = ids[0]; /* a row that appears twice */
    float g[3 * DIM], dense[ROWS * DIM] = {0};
    for (int i = 0; i < 3 * DIM; i++) g[i] = (float)cq_random_normal(&r);
    assert_int_equal(cq_optimizer_catch_up(&lazy, &table, ids, 3, NULL, NULL), CQ_OK);
    /* What is read now must be what the dense optimizer has. */
    for (int i = 0; i < 3; i++) assert_memory_equal(table.value + ids[i] * DIM, p + ids[i] * DIM, DIM * sizeof(float));
    assert_int_equal(cq_gradient_slots(slots, &gradients, &table, ids, 3, NULL), CQ_OK);
    k->scatter_add(gradients.tables[0].rows, g, slots, 3, DIM);
    k->scatter_add(dense, g, ids, 3, DIM);
    cq_optimizer_update(&lazy, &gradients, 1, NULL, NULL);
    cq_gradients_clear(&gradients);
    const cq_adamw step = {.learning_rate = 2 * rate,
                           .beta1 = 0.9,
                           .beta2 = 0.999,
                           .eps = 1e-6,
                           .weight_decay = 0.01,
                           .correction1 = 1 - pow(0.9, (double)t),
                           .correction2 = 1 - pow(0.999, (double)t),
                           .gradient_scale = 1};
    for (int row = 0; row < ROWS; row++)
      k->adamw(p + row * DIM, m + row * DIM, v + row * DIM, dense + row * DIM, DIM, &step);
    if (t % 50 == 0) {
      cq_optimizer_flush(&lazy, NULL);
      assert_memory_equal(table.value, p, sizeof p);
    }
  }
  cq_gradients_free(&gradients);
  cq_optimizer_free(&lazy);
  cq_params_free(&params);
}

/* One optimizer ahead of another on the first of two tables, against updating every row in every turn. */
static void two_lazy_optimizers_take_turns(void **state) {
  enum { ROWS = 40, DIM = 5, STEPS = 1200, N_OPTIMIZERS = 2 };
  cq_param tables[2];
  cq_params both = {0}, first;
  cq_optimizer lazy[N_OPTIMIZERS];
  cq_gradients gradients;
  static float p[2][ROWS * DIM], m[2][2][ROWS * DIM], v[2][2][ROWS * DIM]; /* [optimizer][table] */
  cq_random r = cq_random_seeded(5, 1);
  const cq_kernels *k = cq_kernels_best();
  (void)state;
  for (int i = 0; i < 2; i++) {
    for (int j = 0; j < ROWS * DIM; j++) p[i][j] = (float)cq_random_normal(&r);
    tables[i] = (cq_param){.rows = ROWS, .cols = DIM, .n_dims = 2, .decay = i == 0, .table = true, .value = p[i]};
    assert_int_equal(cq_params_add(&both, &tables[i], NULL), CQ_OK);
  }
  cq_params_index(&both);
  assert_int_equal(cq_params_own(&both, NULL), CQ_OK);
  first = cq_params_first(&both, 1);
  cq_optimizer_options o = options_for(1, false).optimizer;
  o.clip_norm = 0;
  assert_int_equal(cq_optimizer_new(&lazy[0], &first, k, &o, NULL), CQ_OK);
  o.beta1 = 0.8;
  assert_int_equal(cq_optimizer_new(&lazy[1], &both, k, &o, NULL), CQ_OK);
  assert_true(lazy[0].n_floats < lazy[1].n_floats);
  lazy[1].before = &lazy[0];
  assert_int_equal(cq_gradients_new(&gradients, &both, NULL), CQ_OK);
  for (uint64_t t = 1; t <= STEPS; t++) {
    const int32_t ids[2] = {(int32_t)cq_random_below(&r, t < 900 ? 5 : ROWS), (int32_t)cq_random_below(&r, ROWS)};
    for (int i = 0; i < 2; i++) {
      assert_int_equal(cq_optimizer_catch_up(&lazy[1], &tables[i], ids, 2, NULL, NULL), CQ_OK);
      for (int j = 0; j < 2; j++)
        assert_memory_equal(tables[i].value + ids[j] * DIM, p[i] + ids[j] * DIM, DIM * sizeof(float));
    }
    for (int n = 0; n < N_OPTIMIZERS; n++) {
      cq_gradients of_turn = n == 0 ? cq_gradients_first(&gradients, &first) : gradients;
      for (int i = 0; i <= n; i++) {
        float g[2 * DIM], dense[ROWS * DIM] = {0};
        int32_t slots[2];
        for (int j = 0; j < 2 * DIM; j++) g[j] = (float)cq_random_normal(&r);
        assert_int_equal(cq_gradient_slots(slots, &of_turn, &tables[i], ids, 2, NULL), CQ_OK);
        k->scatter_add(of_turn.tables[i].rows, g, slots, 2, DIM);
        k->scatter_add(dense, g, ids, 2, DIM);
        const double beta1 = n == 0 ? 0.9 : 0.8;
        const cq_adamw step = {.learning_rate = 2 * rate,
                               .beta1 = beta1,
                               .beta2 = 0.999,
                               .eps = 1e-6,
                               .weight_decay = i == 0 ? 0.01 : 0,
                               .correction1 = 1 - pow(beta1, (double)t),
                               .correction2 = 1 - pow(0.999, (double)t),
                               .gradient_scale = 1};
        k->adamw(p[i], m[n][i], v[n][i], dense, ROWS * DIM, &step);
      }
      cq_optimizer_update(&lazy[n], &of_turn, 1, NULL, NULL);
      cq_gradients_clear(&of_turn);
    }
    if (t % 400 == 0) {
      cq_optimizer_flush(&lazy[1], NULL);
      for (int i = 0; i < 2; i++) assert_memory_equal(tables[i].value, p[i], sizeof p[i]);
    }
  }
  cq_gradients_free(&gradients);
  for (int n = 0; n < N_OPTIMIZERS; n++) cq_optimizer_free(&lazy[n]);
  cq_params_free(&both);
}

/* ---- state ---- */

static void a_restored_trainer_goes_on_to_the_same_bits(void **state) {
  (void)state;
  const char *path = test_path("trainer.checkpoint");
  float *targets = NULL, *values[2];
  for (int interrupted = 0; interrupted < 2; interrupted++) {
    cq_encoder *encoder = open_model("bert-cased");
    const int dim = cq_encoder_dim(encoder);
    const cq_trainer_options options = options_for(3, true);
    cq_trainer *trainer;
    cq_step_report report;
    if (!targets) targets = cq_alloc_array(N, (size_t)dim * sizeof *targets);
    const examples e = make_examples(targets, dim);
    assert_int_equal(cq_trainer_new(&trainer, encoder, NULL, &options, NULL), CQ_OK);
    for (int i = 0; i < 20; i++) {
      if (interrupted && i == 9) { /* all is lost but the file */
        cq_checkpoint_writer *w;
        cq_checkpoint *c;
        assert_int_equal(cq_checkpoint_writer_open(&w, path, NULL), CQ_OK);
        assert_int_equal(cq_trainer_save(trainer, w, NULL), CQ_OK);
        assert_int_equal(cq_checkpoint_writer_commit(w, NULL), CQ_OK);
        cq_trainer_free(trainer);
        cq_encoder_free(encoder);
        encoder = open_model("bert-cased");
        assert_int_equal(cq_trainer_new(&trainer, encoder, NULL, &options, NULL), CQ_OK);
        assert_int_equal(cq_checkpoint_open(&c, path, NULL), CQ_OK);
        assert_int_equal(cq_trainer_restore(trainer, c, NULL), CQ_OK);
        cq_checkpoint_close(c);
        assert_int_equal(cq_trainer_updates(trainer), 9);
      }
      assert_int_equal(cq_trainer_step(trainer, e.texts + i % 4, e.targets + i % 4, 6, &report, NULL), CQ_OK);
    }
    assert_int_equal(cq_trainer_settle(trainer, NULL), CQ_OK);
    const size_t n = (size_t)encoder->params.n_dense;
    values[interrupted] = cq_alloc_array(n, sizeof(float));
    memcpy(values[interrupted], encoder->params.own, n * sizeof(float));
    if (interrupted) assert_memory_equal(values[0], values[1], n * sizeof(float));
    cq_trainer_free(trainer);
    cq_encoder_free(encoder);
  }
  cq_free(values[0]);
  cq_free(values[1]);
  cq_free(targets);
}

/* Two accumulated halves are the whole batch: gradients are linear, so only rounding differs (1e-6 of weights near
 * 0.1). */
static void accumulation_equals_one_larger_batch(void **state) {
  (void)state;
  float *values[2], *targets = NULL;
  size_t n = 0;
  for (int parts = 1; parts <= 2; parts++) {
    cq_encoder *encoder = open_model("bert-cased");
    const int dim = cq_encoder_dim(encoder);
    cq_trainer *trainer;
    cq_step_report report;
    if (!targets) targets = cq_alloc_array(N, (size_t)dim * sizeof *targets);
    const examples e = make_examples(targets, dim);
    cq_trainer_options options = options_for(2, false);
    options.accumulate = parts;
    assert_int_equal(cq_trainer_new(&trainer, encoder, NULL, &options, NULL), CQ_OK);
    for (int step = 0; step < 3; step++) {
      for (int part = 0; part < parts; part++) {
        const int from = part * N / parts;
        assert_int_equal(cq_trainer_step(trainer, e.texts + from, e.targets + from, (size_t)(N / parts), &report, NULL),
                         CQ_OK);
      }
    }
    assert_int_equal(cq_trainer_updates(trainer), 3);
    n = (size_t)encoder->params.n_dense;
    values[parts - 1] = cq_alloc_array(n, sizeof(float));
    memcpy(values[parts - 1], encoder->params.own, n * sizeof(float));
    cq_trainer_free(trainer);
    cq_encoder_free(encoder);
  }
  /* Adam divides by the gradient's size, so where a gradient is nearly nothing its rounding decides: a mean, not a
   * maximum. */
  double difference = 0;
  for (size_t i = 0; i < n; i++) difference += fabs((double)values[0][i] - (double)values[1][i]) / (double)n;
  assert_true(difference < 1e-5);
  cq_free(values[0]);
  cq_free(values[1]);
  cq_free(targets);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_agree_with_differences),
      cmocka_unit_test(threads_do_not_change_a_bit),
      cmocka_unit_test(memory_may_be_short),
      cmocka_unit_test(a_frozen_body_passes_the_same_gradient_on),
      cmocka_unit_test(a_frozen_body_keeps_its_bits),
      cmocka_unit_test(lazy_tables_equal_dense_updates),
      cmocka_unit_test(two_lazy_optimizers_take_turns),
      cmocka_unit_test(a_restored_trainer_goes_on_to_the_same_bits),
      cmocka_unit_test(accumulation_equals_one_larger_batch),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
