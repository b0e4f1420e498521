/* The autoencoders' step: its losses against plain sums, its gradients against differences of the losses it reports,
 * its independence of threads, and what is frozen. */
#include "support/decoders.h"

#include "base/error.h"
#include "model/modules.h"
#include "train/autoencoder.h"

enum { N = 7, DIM = 4, N_LETTERS = 6 };

static const char *const texts[2][N] = {
    {"a b c", "d", "b a", "f e d c b a", "c c", "", "a f"},
    {"c b", "e e d", "a", "b", "a b c d e f a b", "d a", "f f"},
};
static const cq_slice *batch_of(int side) {
  static cq_slice slices[2][N];
  for (int i = 0; i < N; i++) slices[side][i] = cq_slice_of(texts[side][i]);
  return slices[side];
}

/* --- tiny models --- */

typedef struct problem {
  cq_autoencoder_side sides[2];
  cq_params params;
  cq_autoencoder_trainer *trainer;
  double rate; /* of learning */
} problem;

static double rate_of(const void *context, uint64_t step, bool table) {
  (void)step, (void)table;
  return *(const double *)context;
}

static void add(cq_encoder *e, cq_module *m) {
  assert_int_equal(cq_encoder_append(e, m, NULL), CQ_OK);
}

/* Everything is smooth: differences across the kink of a maximum or of a ReLU are off. */
static cq_encoder *make_encoder(uint64_t seed, bool unit_length, double dropout) {
  cq_encoder *e;
  cq_module *m;
  cq_random random = cq_random_seeded(seed, 1);
  assert_int_equal(cq_encoder_new(&e, NULL), CQ_OK);
  assert_int_equal(
      cq_word_embeddings_new(&m, letters_tokenizer(N_LETTERS), 5, 8, "0_WordEmbeddings", &random, &e->arena, NULL),
      CQ_OK);
  add(e, m);
  assert_int_equal(cq_lstm_module_new(&m, 5, 6, 2, true, dropout, "1_LSTM", &random, &e->arena, NULL), CQ_OK);
  add(e, m);
  assert_int_equal(cq_pooling_new(&m, 12, CQ_POOL_MEAN, "2_Pooling", &e->arena, NULL), CQ_OK);
  add(e, m);
  assert_int_equal(cq_dense_new(&m, 12, DIM, CQ_IDENTITY, "3_Dense", &random, &e->arena, NULL), CQ_OK);
  add(e, m);
  if (unit_length) {
    assert_int_equal(cq_normalize_new(&m, DIM, "4_Normalize", &e->arena, NULL), CQ_OK);
    add(e, m);
  }
  for (size_t i = 0; i < e->params.n; i++) /* vectors apart from one another, gradients of a size */
    for (int64_t j = 0; j < cq_param_floats(e->params.items[i]); j++)
      e->params.items[i]->value[j] = (float)(cq_random_normal(&random) * 0.6);
  assert_int_equal(cq_encoder_pack(e, NULL, true, NULL), CQ_OK);
  return e;
}

typedef struct variant {
  const char *name;
  cq_feed feed;
  cq_contrast contrast_by;
  double reconstruction, contrast, distance, margin;
  bool unit_length;
} variant;

static cq_autoencoder_options options_of(const variant *v, const problem *p) {
  return (cq_autoencoder_options){.n_shards = 3,
                                  .seed = 9,
                                  .feed = v->feed,
                                  .reconstruction = v->reconstruction,
                                  .contrast = v->contrast,
                                  .distance = v->distance,
                                  .contrast_by = v->contrast_by,
                                  .margin = v->margin,
                                  .temperature = 0.5,
                                  .optimizer = {.learning_rate = rate_of, .context = &p->rate}};
}

static void make_sides(problem *p, bool unit_length, double dropout) {
  const cq_decoder_shape shape = {.embedding_dim = 4,
                                  .hidden_dim = 5,
                                  .n_layers = 2,
                                  .latent_dim = DIM,
                                  .latent_at_every_step = true,
                                  .latent_as_state = true,
                                  .dropout = dropout};
  *p = (problem){0};
  for (int s = 0; s < 2; s++)
    p->sides[s] = (cq_autoencoder_side){.encoder = make_encoder(40 + (uint64_t)s, unit_length, dropout),
                                        .decoder = make_decoder(&shape, N_LETTERS, 0.5, 50 + (uint64_t)s)};
}

static void start(problem *p, const cq_autoencoder_options *o, cq_pool *pool) {
  cq_error error = {0};
  if (cq_autoencoder_trainer_new(&p->trainer, &p->params, p->sides, 2, pool, o, &error)) fail_msg("%s", error.message);
}

static void tear_down(problem *p) {
  cq_autoencoder_trainer_free(p->trainer);
  for (int s = 0; s < 2; s++) {
    cq_encoder_free(p->sides[s].encoder);
    cq_decoder_free(p->sides[s].decoder);
  }
  cq_params_free(&p->params);
}

static cq_autoencoder_batch pairs_of(size_t n) {
  return (cq_autoencoder_batch){.side = {0, 1}, .sentences = {batch_of(0), batch_of(1)}, .n = n};
}

static cq_autoencoder_report step(problem *p, size_t n) {
  const cq_autoencoder_batch batch = pairs_of(n);
  cq_autoencoder_report report;
  cq_error error = {0};
  if (cq_autoencoder_step(p->trainer, &batch, &report, &error)) fail_msg("%s", error.message);
  return report;
}

/* --- losses --- */

static double dot(const float *a, const float *b) {
  double sum = 0;
  for (int i = 0; i < DIM; i++) sum += (double)a[i] * (double)b[i];
  return sum;
}

static double gap(const float *a, const float *b) {
  double sum = 0;
  for (int i = 0; i < DIM; i++) sum += pow((double)a[i] - (double)b[i], 2);
  return sum;
}

static double plain_distance(float v[2][N][DIM], size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += gap(v[0][i], v[1][i]);
  return sum / (double)n;
}

static double plain_pairs(float v[2][N][DIM], size_t n, double margin) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += gap(v[0][i], v[1][i]);
    if (n > 1) sum += pow(fmax(0, margin - sqrt(gap(v[0][i], v[1][(i + 1) % n]))), 2);
  }
  return sum / (double)n;
}

static double plain_in_batch(float v[2][N][DIM], size_t n, double temperature) {
  double sum = 0;
  for (int way = 0; way < 2; way++)
    for (size_t i = 0; i < n; i++) {
      double all = 0, own = 0;
      for (size_t j = 0; j < n; j++) {
        const float *a = v[way][i], *b = v[1 - way][j];
        const double cosine = dot(a, b) / sqrt(dot(a, a) * dot(b, b)) / temperature;
        all += exp(cosine);
        if (j == i) own = cosine;
      }
      sum += log(all) - own;
    }
  return sum / (2 * (double)n);
}

/* -log p a token of one side's sentences under its decoder, from the vectors of `from`. */
static double plain_reconstruction(problem *p, float v[2][N][DIM], size_t n, int side, int from) {
  plain_decoder plain = plain_of(p->sides[side].decoder);
  double sum = 0;
  size_t n_written = 0;
  for (size_t i = 0; i < n; i++) {
    cq_ids ids = {0};
    bool truncated;
    double z[DIM];
    assert_int_equal(cq_encoder_tokenize(&ids, p->sides[side].encoder, batch_of(side)[i], &truncated, NULL), CQ_OK);
    for (int j = 0; j < DIM; j++) z[j] = (double)v[from][i][j];
    sum += plain_nll(&plain, z, NULL, ids.ids, (int64_t)ids.n, NULL, 0);
    n_written += ids.n - 1;
    cq_free(ids.ids);
  }
  plain_free(&plain);
  return sum / (double)n_written;
}

static const variant variants[] = {
    {.name = "own", .feed = CQ_FEED_OWN, .reconstruction = 1.3},
    {.name = "other", .feed = CQ_FEED_OTHER, .reconstruction = 0.7},
    {.name = "both", .feed = CQ_FEED_BOTH, .reconstruction = 1.1},
    {.name = "distance", .distance = 0.8},
    {.name = "distance of unit vectors", .distance = 1.2, .unit_length = true},
    {.name = "pairs, some too near", .contrast_by = CQ_CONTRAST_PAIRS, .contrast = 0.9, .margin = 1.5},
    {.name = "pairs, all too near", .contrast_by = CQ_CONTRAST_PAIRS, .contrast = 0.9, .margin = 20},
    {.name = "pairs, none too near", .contrast_by = CQ_CONTRAST_PAIRS, .contrast = 2, .margin = 0},
    {.name = "in batch", .contrast_by = CQ_CONTRAST_IN_BATCH, .contrast = 1.7},
    {.name = "in batch of unit vectors", .contrast_by = CQ_CONTRAST_IN_BATCH, .contrast = 1, .unit_length = true},
    {.name = "all with pairs",
     .feed = CQ_FEED_BOTH,
     .reconstruction = 1,
     .contrast_by = CQ_CONTRAST_PAIRS,
     .contrast = 1.4,
     .margin = 3,
     .distance = 0.5},
    {.name = "all in batch",
     .feed = CQ_FEED_OTHER,
     .reconstruction = 1,
     .contrast_by = CQ_CONTRAST_IN_BATCH,
     .contrast = 1.4,
     .distance = 0.5,
     .unit_length = true},
};
enum { N_VARIANTS = sizeof variants / sizeof *variants };

static void expect_near(const char *name, const char *what, double found, double expected) {
  if (!(fabs(found - expected) <= 2e-6 * fmax(1, fabs(expected))))
    fail_msg("%s: %s is %.9g, expected %.9g", name, what, found, expected);
}

static void losses_are_the_plain_sums(void **state) {
  (void)state;
  for (size_t n = 1; n <= N; n += n == 1 ? 1 : 5)
    for (int k = 0; k < N_VARIANTS; k++) {
      const variant *v = &variants[k];
      problem p;
      float vectors[2][N][DIM];
      uint64_t n_tokens = 0;
      make_sides(&p, v->unit_length, 0);
      const cq_autoencoder_options o = options_of(v, &p);
      start(&p, &o, NULL);
      for (int s = 0; s < 2; s++)
        assert_int_equal(cq_encoder_encode(vectors[s][0], p.sides[s].encoder, NULL, batch_of(s), n, NULL, NULL, NULL),
                         CQ_OK);
      const cq_autoencoder_report r = step(&p, n);
      expect_near(v->name, "the distance", r.distance, v->distance > 0 ? plain_distance(vectors, n) : 0);
      expect_near(v->name, "the contrast", r.contrast,
                  v->contrast == 0                      ? 0
                  : v->contrast_by == CQ_CONTRAST_PAIRS ? plain_pairs(vectors, n, v->margin)
                                                        : plain_in_batch(vectors, n, 0.5));
      for (int s = 0; s < 2; s++) {
        const double own = plain_reconstruction(&p, vectors, n, s, s),
                     other = plain_reconstruction(&p, vectors, n, s, 1 - s);
        expect_near(v->name, "-log p", r.nll[s],
                    v->reconstruction == 0     ? 0
                    : v->feed == CQ_FEED_OWN   ? own
                    : v->feed == CQ_FEED_OTHER ? other
                                               : (own + other) / 2);
        for (size_t i = 0; i < n; i++) n_tokens += cq_smaller(8, strlen(texts[s][i]) / 2 + (texts[s][i][0] != 0) + 2);
      }
      assert_int_equal(r.n_tokens, n_tokens);
      tear_down(&p);
    }
}

/* --- gradients --- */

static double total(const variant *v, const cq_autoencoder_report *r) {
  return v->reconstruction * (r->nll[0] + r->nll[1]) + v->contrast * r->contrast + v->distance * r->distance;
}

/* An update is the gradient itself: without momentum, Adam divides by |g| + eps, and the rate is that eps, far above
 * any |g|. Differences are of f32 losses, along signs of one parameter, most of which follow the gradient; two steps
 * are extrapolated. */
static void check_gradients(const variant *v, size_t n) {
  const double eps = 1e5;
  problem p;
  make_sides(&p, v->unit_length, 0);
  cq_autoencoder_options o = options_of(v, &p);
  o.optimizer.eps = eps;
  start(&p, &o, NULL);
  size_t n_floats = 0;
  for (size_t i = 0; i < p.params.n; i++) n_floats += (size_t)cq_param_floats(p.params.items[i]);
  float *before = malloc(n_floats * sizeof *before), *at = before;
  double *gradient = malloc(n_floats * sizeof *gradient), *g = gradient, squares = 0;
  for (size_t i = 0; i < p.params.n; at += cq_param_floats(p.params.items[i++]))
    memcpy(at, p.params.items[i]->value, (size_t)cq_param_floats(p.params.items[i]) * sizeof *at);
  p.rate = eps;
  const double norm = step(&p, n).gradient_norm;
  assert_int_equal(cq_autoencoder_settle(p.trainer, NULL), CQ_OK);
  p.rate = 0;
  at = before;
  for (size_t i = 0; i < p.params.n; i++) {
    cq_param *param = p.params.items[i];
    for (int64_t j = 0; j < cq_param_floats(param); j++, at++, g++) {
      *g = (double)*at - (double)param->value[j];
      squares += *g * *g;
      param->value[j] = *at;
    }
  }
  if (!(fabs(norm - sqrt(squares)) <= 1e-3 * norm)) fail_msg("%s: norm %g of %g", v->name, norm, sqrt(squares));
  assert_true(norm > 1e-3 || n == 1);
  at = before, g = gradient;
  for (size_t i = 0; i < p.params.n; i++) {
    cq_param *param = p.params.items[i];
    const int64_t size = cq_param_floats(param);
    cq_random random = cq_random_seeded(6, i);
    float *sign = malloc((size_t)size * sizeof *sign);
    double expected = 0, slope[2], length = 0;
    for (int64_t j = 0; j < size; j++) {
      const bool along = cq_random_below(&random, 4) > 0;
      sign[j] = (g[j] > 0) == along ? 1.0f : -1.0f;
      expected += g[j] * (double)sign[j];
      length += g[j] * g[j];
    }
    const double h = 1.5e-2 / sqrt((double)size);
    for (int k = 0; k < 2; k++) {
      double loss[2];
      for (int side = 0; side < 2; side++) {
        const float move = (float)((side ? -h : h) * (k + 1));
        for (int64_t j = 0; j < size; j++) param->value[j] = at[j] + move * sign[j];
        assert_int_equal(cq_autoencoder_settle(p.trainer, NULL), CQ_OK);
        const cq_autoencoder_report r = step(&p, n);
        loss[side] = total(v, &r);
      }
      slope[k] = (loss[0] - loss[1]) / (2 * h * (k + 1));
    }
    memcpy(param->value, at, (size_t)size * sizeof *at);
    const double found = (4 * slope[0] - slope[1]) / 3;
    /* 0.5 % for the fifth derivative, and the rounding of two f32 losses. */
    if (!(fabs(found - expected) <= 5e-3 * fmax(fabs(expected), sqrt(length)) + 2e-6 / h))
      fail_msg("%s, n %zu, %s %zu: the loss changes by %g, the gradient says %g", v->name, n, param->name, i, found,
               expected);
    at += size, g += size;
    free(sign);
  }
  free(before);
  free(gradient);
  tear_down(&p);
}

static void gradients_agree_with_differences(void **state) {
  (void)state;
  for (int k = 0; k < N_VARIANTS; k++) {
    check_gradients(&variants[k], N);
    check_gradients(&variants[k], 2);
    check_gradients(&variants[k], 1);
  }
}

/* --- threads, seeds --- */

static cq_autoencoder_options noisy_options(const problem *p) {
  cq_autoencoder_options o = options_of(&variants[N_VARIANTS - 1], p);
  o.feed = CQ_FEED_BOTH;
  o.noise = 0.3, o.word_dropout = 0.3;
  o.optimizer = (cq_optimizer_options){.beta1 = 0.9,
                                       .beta2 = 0.999,
                                       .eps = 1e-8,
                                       .weight_decay = 0.01,
                                       .clip_norm = 1,
                                       .learning_rate = rate_of,
                                       .context = &p->rate};
  return o;
}

static uint64_t hash_of(const problem *p) {
  uint64_t hash = 0;
  for (size_t i = 0; i < p->params.n; i++)
    hash = cq_mix(hash) ^ cq_hash(p->params.items[i]->value, (size_t)cq_param_floats(p->params.items[i]) * 4);
  return hash;
}

static uint64_t train_and_hash(int n_threads, uint64_t seed, int n_shards, double *first, double *last) {
  cq_pool *pool;
  problem p;
  assert_int_equal(cq_pool_open(&pool, n_threads, NULL), CQ_OK);
  make_sides(&p, true, 0.2);
  cq_autoencoder_options o = noisy_options(&p);
  o.seed = seed, o.n_shards = n_shards;
  p.rate = 5e-3;
  start(&p, &o, pool);
  for (int i = 0; i < 30; i++) {
    const cq_autoencoder_report r = step(&p, i % 3 == 2 ? 2 : N - (size_t)(i % 2));
    if (i == 0) *first = total(&variants[N_VARIANTS - 1], &r);
    if (i % 3 == 0) *last = total(&variants[N_VARIANTS - 1], &r);
  }
  assert_int_equal(cq_autoencoder_updates(p.trainer), 30);
  assert_int_equal(cq_autoencoder_settle(p.trainer, NULL), CQ_OK);
  const uint64_t hash = hash_of(&p);
  tear_down(&p);
  cq_pool_free(pool);
  return hash;
}

static void threads_do_not_change_a_bit(void **state) {
  double first, last;
  (void)state;
  for (int n_shards = 1; n_shards <= 16; n_shards *= 4) {
    const uint64_t one = train_and_hash(1, 1, n_shards, &first, &last);
    assert_true(last < first);
    assert_true(train_and_hash(2, 1, n_shards, &first, &last) == one);
    assert_true(train_and_hash(3, 1, n_shards, &first, &last) == one);
    assert_true(train_and_hash(1, 2, n_shards, &first, &last) != one);
  }
}

/* --- frozen --- */

static float *values_of(const cq_params *params) {
  size_t n = 0;
  for (size_t i = 0; i < params->n; i++) n += (size_t)cq_param_floats(params->items[i]);
  float *values = malloc(n * sizeof *values), *at = values;
  for (size_t i = 0; i < params->n; at += cq_param_floats(params->items[i++]))
    memcpy(at, params->items[i]->value, (size_t)cq_param_floats(params->items[i]) * sizeof *at);
  return values;
}

/* Which of encoder 0, decoder 0, encoder 1, decoder 1 move. */
static void what_is_frozen_stays(void **state) {
  (void)state;
  for (unsigned frozen = 0; frozen < 16; frozen++)
    for (unsigned missing = 0; missing < 4; missing++) {
      problem p;
      cq_params of[4] = {{0}};
      float *before[4];
      make_sides(&p, true, 0.2);
      cq_decoder *decoders[2] = {p.sides[0].decoder, p.sides[1].decoder};
      for (unsigned s = 0; s < 2; s++) {
        size_t n;
        for (size_t i = 0; i < p.sides[s].encoder->params.n; i++)
          assert_int_equal(cq_params_add(&of[2 * s], p.sides[s].encoder->params.items[i], NULL), CQ_OK);
        cq_param *params = cq_decoder_params(&n, decoders[s]);
        for (size_t i = 0; i < n; i++) assert_int_equal(cq_params_add(&of[2 * s + 1], &params[i], NULL), CQ_OK);
        p.sides[s].encoder_frozen = frozen >> (2 * s) & 1;
        p.sides[s].decoder_frozen = frozen >> (2 * s + 1) & 1;
        if (missing >> s & 1) p.sides[s].decoder = NULL;
      }
      for (int i = 0; i < 4; i++) before[i] = values_of(&of[i]);
      const cq_autoencoder_options o = noisy_options(&p);
      p.rate = 1e-2;
      bool moves[4], any = false;
      for (unsigned i = 0; i < 4; i++) {
        moves[i] = !(frozen >> i & 1) && !(i % 2 && missing >> (i / 2) & 1);
        any |= moves[i];
      }
      cq_error error = {0};
      const cq_status status = cq_autoencoder_trainer_new(&p.trainer, &p.params, p.sides, 2, NULL, &o, &error);
      if (any) {
        assert_int_equal(status, CQ_OK);
        for (int i = 0; i < 3; i++) {
          const cq_autoencoder_report r = step(&p, N);
          assert_true((r.nll[0] > 0) == moves[1] && (r.nll[1] > 0) == moves[3]);
        }
        assert_int_equal(cq_autoencoder_settle(p.trainer, NULL), CQ_OK);
      } else {
        assert_int_equal(status, CQ_ERR_ARGUMENT);
        assert_non_null(strstr(error.message, "frozen"));
      }
      for (int i = 0; i < 4; i++) {
        float *after = values_of(&of[i]);
        size_t n = 0;
        for (size_t k = 0; k < of[i].n; k++) n += (size_t)cq_param_floats(of[i].items[k]);
        if ((memcmp(before[i], after, n * sizeof *after) != 0) != moves[i])
          fail_msg("frozen %u, missing %u: part %d %s", frozen, missing, i, moves[i] ? "stays" : "moves");
        free(before[i]);
        free(after);
        cq_params_free(&of[i]);
      }
      for (int s = 0; s < 2; s++) p.sides[s].decoder = decoders[s];
      tear_down(&p);
    }
}

static void frozen_encoders_read_without_dropout(void **state) {
  problem p;
  float vectors[2][N][DIM];
  (void)state;
  make_sides(&p, true, 0);
  for (unsigned s = 0; s < 2; s++) {
    cq_encoder_free(p.sides[s].encoder);
    p.sides[s].encoder = make_encoder(40 + s, true, 0.5);
    p.sides[s].encoder_frozen = true;
    assert_int_equal(cq_encoder_encode(vectors[s][0], p.sides[s].encoder, NULL, batch_of((int)s), N, NULL, NULL, NULL),
                     CQ_OK);
  }
  const cq_autoencoder_options o = options_of(&variants[0], &p);
  start(&p, &o, NULL);
  const cq_autoencoder_report r = step(&p, N);
  for (int s = 0; s < 2; s++)
    expect_near("frozen encoders", "-log p", r.nll[s], plain_reconstruction(&p, vectors, N, s, s));
  tear_down(&p);
}

/* --- what goes wrong --- */

static void a_loss_that_is_no_number_changes_nothing(void **state) {
  const cq_autoencoder_batch batch = pairs_of(N);
  (void)state;
  for (int k = 0; k < N_VARIANTS; k++) {
    problem p;
    cq_autoencoder_report report;
    cq_error error = {0};
    make_sides(&p, variants[k].unit_length, 0);
    const cq_autoencoder_options o = options_of(&variants[k], &p);
    p.rate = 1e-2;
    start(&p, &o, NULL);
    step(&p, N);
    /* The linear layer before the vector: its bias is in every loss. */
    cq_param *bias = NULL;
    for (size_t i = 0; i < p.sides[0].encoder->params.n; i++)
      if (strstr(p.sides[0].encoder->params.items[i]->name, "linear.bias")) bias = p.sides[0].encoder->params.items[i];
    assert_non_null(bias);
    const float kept = bias->value[1];
    bias->value[1] = NAN;
    assert_int_equal(cq_autoencoder_settle(p.trainer, NULL), CQ_OK);
    const uint64_t before = hash_of(&p);
    assert_int_equal(cq_autoencoder_step(p.trainer, &batch, &report, &error), CQ_ERR_LIMIT);
    if (!strstr(error.message, "batch 2")) fail_msg("%s: %s", variants[k].name, error.message);
    assert_int_equal(cq_autoencoder_updates(p.trainer), 1);
    assert_int_equal(cq_autoencoder_settle(p.trainer, NULL), CQ_OK);
    assert_true(hash_of(&p) == before);
    bias->value[1] = kept;
    assert_int_equal(cq_autoencoder_settle(p.trainer, NULL), CQ_OK);
    step(&p, N); /* as if nothing had been */
    assert_int_equal(cq_autoencoder_updates(p.trainer), 2);
    tear_down(&p);
  }
}

static void a_gradient_that_is_no_number_is_told(void **state) {
  const cq_autoencoder_batch batch = pairs_of(N);
  problem p;
  cq_autoencoder_report report;
  cq_error error = {0};
  (void)state;
  make_sides(&p, false, 0);
  cq_autoencoder_options o = options_of(&variants[0], &p);
  o.reconstruction = 1e300; /* more than f32 has */
  start(&p, &o, NULL);
  assert_int_equal(cq_autoencoder_step(p.trainer, &batch, &report, &error), CQ_ERR_LIMIT);
  assert_true(isfinite(report.nll[0]) && !isfinite(report.gradient_norm));
  assert_non_null(strstr(error.message, "batch 1: the gradient"));
  tear_down(&p);
}

static void expect_refused(problem *p, const cq_autoencoder_options *o, const char *word) {
  cq_autoencoder_trainer *t;
  cq_params params = {0};
  cq_error error = {0};
  assert_int_equal(cq_autoencoder_trainer_new(&t, &params, p->sides, 2, NULL, o, &error), CQ_ERR_ARGUMENT);
  assert_null(t);
  if (!strstr(error.message, word)) fail_msg("'%s' does not say '%s'", error.message, word);
  cq_params_free(&params);
}

static void wrong_options(void **state) {
  problem p;
  cq_autoencoder_report report;
  (void)state;
  make_sides(&p, false, 0);
  const cq_autoencoder_options usual = options_of(&variants[10], &p);
#define REFUSED(change, word)                                                                                          \
  {                                                                                                                    \
    cq_autoencoder_options o = usual;                                                                                  \
    change;                                                                                                            \
    expect_refused(&p, &o, word);                                                                                      \
  }
  REFUSED(o.n_shards = 0, "0 shards")
  REFUSED(o.n_shards = 65, "65 shards")
  REFUSED(o.reconstruction = o.contrast = o.distance = 0, "losses")
  REFUSED(o.distance = -1, "losses")
  REFUSED(o.contrast = NAN, "losses")
  REFUSED(o.temperature = 0, "temperature 0")
  REFUSED(o.margin = -2, "margin -2")
  REFUSED(o.noise = -1, "noise -1")
  REFUSED(o.word_dropout = 1, "word dropout 1")
  const cq_decoder_shape wide = {
      .embedding_dim = 2, .hidden_dim = 2, .n_layers = 1, .latent_dim = DIM + 1, .latent_as_state = true};
  const cq_decoder_shape small = {
      .embedding_dim = 2, .hidden_dim = 2, .n_layers = 1, .latent_dim = DIM, .latent_as_state = true};
  cq_decoder *kept = p.sides[1].decoder;
  p.sides[1].decoder = make_decoder(&wide, N_LETTERS, 1, 1);
  expect_refused(&p, &usual, "of 5 dimensions, the encoders give 4");
  cq_decoder_free(p.sides[1].decoder);
  p.sides[1].decoder = make_decoder(&small, N_LETTERS - 1, 1, 1);
  expect_refused(&p, &usual, "other tokens");
  cq_decoder_free(p.sides[1].decoder);
  p.sides[1].decoder = kept;
  start(&p, &usual, NULL);
  const cq_autoencoder_batch batch = pairs_of(0);
  assert_int_equal(cq_autoencoder_step(p.trainer, &batch, &report, NULL), CQ_ERR_ARGUMENT);
  tear_down(&p);
}

static void allocations_may_fail(void **state) {
  const cq_autoencoder_batch batch = pairs_of(N);
  (void)state;
  for (int in_step = 0; in_step < 2; in_step++)
    for (long n = 1;; n++) {
      problem p;
      cq_autoencoder_report report;
      cq_error error = {0};
      make_sides(&p, true, 0.2);
      const cq_autoencoder_options o = noisy_options(&p);
      if (in_step) start(&p, &o, NULL);
      cq_alloc_fail_at(n);
      const cq_status status = in_step
                                   ? cq_autoencoder_step(p.trainer, &batch, &report, &error)
                                   : cq_autoencoder_trainer_new(&p.trainer, &p.params, p.sides, 2, NULL, &o, &error);
      const bool failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      if (!failed) assert_int_equal(status, CQ_OK);
      if (failed && status != CQ_ERR_MEMORY) fail_msg("allocation %ld: status %d: %s", n, status, error.message);
      /* What has failed is done with; the next step has what it needs. */
      if (failed && in_step) step(&p, N);
      tear_down(&p);
      if (!failed) {
        assert_true(n > 10);
        break;
      }
    }
}

/* --- more languages, and less than two --- */

static uint64_t side_hash(const cq_autoencoder_side *side) {
  uint64_t hash = 0;
  size_t n;
  const cq_param *of_decoder = cq_decoder_params(&n, side->decoder);
  for (size_t i = 0; i < side->encoder->params.n + n; i++) {
    const cq_param *p = i < n ? &of_decoder[i] : side->encoder->params.items[i - n];
    hash = cq_mix(hash) ^ cq_hash(p->value, (size_t)cq_param_floats(p) * 4);
  }
  return hash;
}

/* After one step of a batch; sides [n_sides]. */
static void hashes_after(uint64_t *hashes, cq_autoencoder_side *sides, int n_sides, const cq_autoencoder_batch *batch,
                         const cq_autoencoder_options *o) {
  cq_autoencoder_trainer *t;
  cq_params params = {0};
  cq_autoencoder_report report;
  assert_int_equal(cq_autoencoder_trainer_new(&t, &params, sides, n_sides, NULL, o, NULL), CQ_OK);
  assert_int_equal(cq_autoencoder_step(t, batch, &report, NULL), CQ_OK);
  assert_true(report.nll[0] > 0 && (report.nll[1] > 0) == (batch->side[1] >= 0));
  assert_int_equal(cq_autoencoder_settle(t, NULL), CQ_OK);
  for (int s = 0; s < n_sides; s++) hashes[s] = side_hash(&sides[s]);
  cq_autoencoder_trainer_free(t);
  for (int s = 0; s < n_sides; s++) {
    cq_encoder_free(sides[s].encoder);
    cq_decoder_free(sides[s].decoder);
  }
  cq_params_free(&params);
}

static void other_languages_have_no_part(void **state) {
  (void)state;
  problem two, other;
  uint64_t of_two[2], of_three[3];
  make_sides(&two, true, 0.2);
  make_sides(&other, true, 0.2);
  const cq_autoencoder_side third = {.encoder = make_encoder(77, true, 0.2), .decoder = other.sides[1].decoder};
  cq_autoencoder_side three[3] = {other.sides[0], third, {.encoder = other.sides[1].encoder}};
  three[2].decoder = three[1].decoder; /* the same language as two's second */
  const cq_decoder_shape shape = {
      .embedding_dim = 3, .hidden_dim = 5, .n_layers = 1, .latent_dim = DIM, .latent_as_state = true};
  three[1].decoder = make_decoder(&shape, N_LETTERS, 0.5, 60);
  const uint64_t untouched = side_hash(&three[1]);
  cq_autoencoder_options o = noisy_options(&two);
  two.rate = 1e-2;
  o.optimizer.weight_decay = 0;
  cq_autoencoder_batch batch = pairs_of(N);
  hashes_after(of_two, two.sides, 2, &batch, &o);
  batch.side[1] = 2;
  hashes_after(of_three, three, 3, &batch, &o);
  assert_true(of_two[0] == of_three[0] && of_two[1] == of_three[2] && of_three[1] == untouched);
}

/* Text of one language is what pairs are without losses between languages. */
static void text_of_one_language(void **state) {
  (void)state;
  problem pairs, text;
  uint64_t of_pairs[2], of_text[2];
  make_sides(&pairs, true, 0.2);
  make_sides(&text, true, 0.2);
  const uint64_t untouched = side_hash(&text.sides[1]);
  cq_autoencoder_options o = noisy_options(&pairs);
  pairs.rate = 1e-2;
  o.feed = CQ_FEED_OWN, o.contrast = o.distance = 0, o.optimizer.clip_norm = o.optimizer.weight_decay = 0;
  cq_autoencoder_batch batch = pairs_of(N);
  hashes_after(of_pairs, pairs.sides, 2, &batch, &o);
  o.feed = CQ_FEED_OTHER, o.contrast = o.distance = 1;
  batch.side[1] = -1;
  hashes_after(of_text, text.sides, 2, &batch, &o);
  assert_true(of_pairs[0] == of_text[0] && of_text[1] == untouched);
}

static void wrong_batches(void **state) {
  (void)state;
  problem p;
  cq_autoencoder_report report;
  make_sides(&p, false, 0);
  p.sides[1].encoder_frozen = p.sides[1].decoder_frozen = true;
  const cq_autoencoder_options o = noisy_options(&p);
  start(&p, &o, NULL);
  static const int wrong[][2] = {{-1, 0}, {2, 0}, {0, 2}, {0, -2}, {0, 0}, {1, -1}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    cq_autoencoder_batch batch = pairs_of(N);
    memcpy(batch.side, wrong[i], sizeof wrong[i]);
    assert_int_equal(cq_autoencoder_step(p.trainer, &batch, &report, NULL), CQ_ERR_ARGUMENT);
  }
  const cq_autoencoder_batch right = pairs_of(N);
  assert_int_equal(cq_autoencoder_step(p.trainer, &right, &report, NULL), CQ_OK);
  tear_down(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(other_languages_have_no_part),
      cmocka_unit_test(text_of_one_language),
      cmocka_unit_test(wrong_batches),
      cmocka_unit_test(losses_are_the_plain_sums),
      cmocka_unit_test(gradients_agree_with_differences),
      cmocka_unit_test(threads_do_not_change_a_bit),
      cmocka_unit_test(what_is_frozen_stays),
      cmocka_unit_test(frozen_encoders_read_without_dropout),
      cmocka_unit_test(a_loss_that_is_no_number_changes_nothing),
      cmocka_unit_test(a_gradient_that_is_no_number_is_told),
      cmocka_unit_test(wrong_options),
      cmocka_unit_test(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
