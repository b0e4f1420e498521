/* The autoencoders' step where decoders begin with encoders' states: its losses and its update against what the models
 * give for the whole batch at once, whatever is frozen and whoever reads whom; threads; what does not fit. */
#include "support/decoders.h"

#include "base/context.h"
#include "base/hash.h"
#include "lab/autoencode/autoencoder_step.h"
#include "lab/autoencode/states.h"
#include "model/modules.h"

enum { N = 7, DIM = 4, HIDDEN = 6, N_LAYERS = 2, N_LETTERS = 6, WIDTH = 2 * N_LAYERS * HIDDEN };

/* Lengths differ between the languages, so that shards do not begin at the same sentences. */
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

static void append(cq_encoder *e, cq_status status, cq_module *const *m) {
  assert_int_equal(status, CQ_OK);
  assert_int_equal(cq_encoder_append(e, *m, NULL), CQ_OK);
}

static cq_encoder *make_encoder(uint64_t seed, int64_t n_layers, bool both_ways, double dropout) {
  cq_encoder *e;
  cq_module *m;
  cq_random random = cq_random_seeded(seed, 1);
  const int64_t wide = both_ways ? 2 * HIDDEN : HIDDEN;
  assert_int_equal(cq_encoder_new(&e, NULL), CQ_OK);
  append(e,
         cq_word_embeddings_new(&m, letters_tokenizer(N_LETTERS), 5, 8, "0_WordEmbeddings", &random, &e->arena, NULL),
         &m);
  append(e, cq_lstm_module_new(&m, 5, HIDDEN, n_layers, both_ways, dropout, "1_LSTM", &random, &e->arena, NULL), &m);
  append(e, cq_pooling_new(&m, wide, CQ_POOL_MEAN, "2_Pooling", &e->arena, NULL), &m);
  append(e, cq_dense_new(&m, wide, DIM, CQ_IDENTITY, "3_Dense", &random, &e->arena, NULL), &m);
  for (size_t i = 0; i < e->params.n; i++)
    for (int64_t j = 0; j < cq_param_floats(e->params.items[i]); j++)
      e->params.items[i]->value[j] = (float)(cq_random_normal(&random) * 0.6);
  assert_int_equal(cq_encoder_pack(e, NULL, true, NULL), CQ_OK);
  return e;
}

static const cq_decoder_shape taking = {.embedding_dim = 4,
                                        .hidden_dim = HIDDEN,
                                        .n_layers = N_LAYERS,
                                        .latent_dim = DIM,
                                        .latent_at_every_step = true,
                                        .states_from_encoder = true},
                              blind = {.embedding_dim = 5,
                                       .hidden_dim = HIDDEN,
                                       .n_layers = N_LAYERS,
                                       .latent_dim = DIM,
                                       .states_from_encoder = true},
                              other = {.embedding_dim = 4,
                                       .hidden_dim = 3,
                                       .n_layers = 1,
                                       .latent_dim = DIM,
                                       .latent_as_state = true};

static void make_sides(problem *p, const cq_decoder_shape *first, const cq_decoder_shape *second, double dropout) {
  *p = (problem){0};
  for (int s = 0; s < 2; s++) {
    cq_decoder_shape shape = s ? *second : *first;
    shape.dropout = dropout;
    p->sides[s] = (cq_autoencoder_side){.encoder = make_encoder(40 + (uint64_t)s, N_LAYERS, false, dropout),
                                        .decoder = make_decoder(&shape, N_LETTERS, 0.5, 50 + (uint64_t)s)};
  }
}

static cq_autoencoder_options usual_options(const problem *p, cq_feed feed) {
  return (cq_autoencoder_options){.n_shards = 3,
                                  .seed = 9,
                                  .feed = feed,
                                  .reconstruction = 1.2,
                                  .temperature = 0.5,
                                  .optimizer = {.learning_rate = rate_of, .context = &p->rate}};
}

static void start(problem *p, const cq_autoencoder_options *o, cq_context *ctx) {
  cq_error error = {0};
  if (cq_autoencoder_trainer_new(&p->trainer, &p->params, p->sides, 2, ctx, o, &error)) fail_msg("%s", error.message);
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

/* --- the whole batch at once --- */

typedef struct whole {
  cq_worker worker;
  cq_ids ids;
  int64_t starts[N + 1];
  float latent[N * DIM], dlatent[N * DIM], states[N * WIDTH], dstates[N * WIDTH];
  cq_batch batch;
  cq_tape tape;
} whole;

static void read_whole(whole *w, const cq_encoder *e, int side, size_t n) {
  cq_tensor y;
  *w = (whole){.worker = {.kernels = cq_kernels_best()}};
  for (size_t i = 0; i < n; i++) {
    bool truncated;
    assert_int_equal(cq_encoder_tokenize(&w->ids, e, NULL, batch_of(side)[i], &truncated, NULL), CQ_OK);
    w->starts[i + 1] = (int64_t)w->ids.n;
  }
  w->batch = (cq_batch){.ids = w->ids.ids,
                        .starts = w->starts,
                        .n_seqs = (int64_t)n,
                        .final = cq_tensor_f32(w->states, (int64_t)n, WIDTH),
                        .dfinal = cq_tensor_f32(w->dstates, (int64_t)n, WIDTH)};
  assert_int_equal(cq_encoder_forward(&w->worker, e, &w->batch, &y, &w->tape, NULL), CQ_OK);
  memcpy(w->latent, y.data, n * DIM * sizeof(float));
}

/* -log p a token of each language's decoder, and all gradients of their weighted sum. */
static void compute_whole(double nll[2], cq_gradients *g, const problem *p, const cq_autoencoder_options *o, size_t n) {
  static whole sides[2];
  for (int s = 0; s < 2; s++) read_whole(&sides[s], p->sides[s].encoder, s, n);
  for (int s = 0; s < 2; s++) {
    nll[s] = 0;
    if (p->sides[s].decoder_frozen) continue;
    const double n_written = (double)(sides[s].ids.n - n), n_ways = o->feed == CQ_FEED_BOTH ? 2 : 1;
    for (int from = 0; from < 2; from++) {
      if (o->feed != CQ_FEED_BOTH && (o->feed == CQ_FEED_OWN) != (from == s)) continue;
      whole *w = &sides[from];
      const cq_decoder_batch batch = {
          .tokens = sides[s].batch, .latent = cq_tensor_f32(w->latent, (int64_t)n, DIM), .states = w->batch.final};
      const bool trained = !p->sides[from].encoder_frozen;
      double loss = 0;
      assert_int_equal(cq_decoder_loss(&loss, &sides[s].worker, p->sides[s].decoder, &batch, g,
                                       cq_tensor_f32(trained ? w->dlatent : NULL, (int64_t)n, DIM),
                                       trained ? w->batch.dfinal : (cq_tensor){0},
                                       (float)(o->reconstruction / n_ways / n_written), NULL),
                       CQ_OK);
      nll[s] += loss / n_ways / n_written;
    }
  }
  for (int s = 0; s < 2; s++) {
    whole *w = &sides[s];
    if (!p->sides[s].encoder_frozen)
      assert_int_equal(cq_encoder_backward(&w->worker, p->sides[s].encoder, &w->batch,
                                           cq_tensor_f32(w->dlatent, (int64_t)n, DIM), &w->tape, g, NULL),
                       CQ_OK);
    cq_workspace_free(&w->worker.workspace);
    cq_free(w->ids.ids);
  }
}

/* An update is the gradient itself: without momentum, Adam divides by |g| + eps, and the rate is that eps, far above
 * any |g|. What is left are sums in another order, and a parameter's last bit. */
static void check_step(const cq_decoder_shape *first, const cq_decoder_shape *second, cq_feed feed, unsigned frozen,
                       int n_shards, size_t n) {
  const double eps = 1e5;
  problem p;
  cq_gradients g;
  double nll[2], largest[4] = {0};
  make_sides(&p, first, second, 0);
  for (unsigned s = 0; s < 2; s++) {
    p.sides[s].encoder_frozen = frozen >> (2 * s) & 1;
    p.sides[s].decoder_frozen = frozen >> (2 * s + 1) & 1;
  }
  cq_autoencoder_options o = usual_options(&p, feed);
  o.optimizer.eps = eps, o.n_shards = n_shards;
  start(&p, &o, NULL);
  assert_int_equal(cq_gradients_new(&g, &p.params, NULL), CQ_OK);
  compute_whole(nll, &g, &p, &o, n);
  float *before[64];
  assert_true(p.params.n <= 64);
  for (size_t i = 0; i < p.params.n; i++) {
    const size_t n_bytes = (size_t)cq_param_floats(p.params.items[i]) * sizeof(float);
    before[i] = malloc(n_bytes);
    memcpy(before[i], p.params.items[i]->value, n_bytes);
  }
  p.rate = eps;
  const cq_autoencoder_report r = step(&p, n);
  assert_int_equal(cq_autoencoder_settle(p.trainer, NULL), CQ_OK);
  for (int s = 0; s < 2; s++) expect_close("-log p", r.nll[s], nll[s], 1e-6);
  for (size_t i = 0; i < p.params.n; i++) {
    const cq_param *param = p.params.items[i];
    for (int64_t j = 0; j < cq_param_floats(param); j++) {
      const double moved = (double)before[i][j] - (double)param->value[j], expected = gradient_at(&g, param, j);
      if (!(fabs(moved - expected) <= 3e-5 * fabs(expected) + 5e-7))
        fail_msg("feed %d, frozen %u, %d shards of %zu: %s %zu[%lld] moves by %g, expected %g", (int)feed, frozen,
                 n_shards, n, param->name, i, (long long)j, moved, expected);
      for (int s = 0; s < 2; s++)
        for (size_t k = 0; k < p.sides[s].encoder->params.n; k++)
          if (p.sides[s].encoder->params.items[k] == param) largest[s] = fmax(largest[s], fabs(expected));
    }
    free(before[i]);
  }
  /* An encoder that some decoder reads has learned. */
  for (int s = 0; s < 2; s++) {
    const bool own = feed != CQ_FEED_OTHER && !p.sides[s].decoder_frozen,
               others = feed != CQ_FEED_OWN && !p.sides[1 - s].decoder_frozen;
    if ((largest[s] > 1e-3) != (!p.sides[s].encoder_frozen && (own || others)))
      fail_msg("feed %d, frozen %u: encoder %d moves by %g", (int)feed, frozen, s, largest[s]);
  }
  cq_gradients_free(&g);
  tear_down(&p);
}

static void steps_are_those_of_the_whole_batch(void **state) {
  static const cq_decoder_shape *const pairs[][2] = {
      {&taking, &taking}, {&blind, &blind}, {&taking, &other}, {&other, &blind}};
  (void)state;
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
    for (int feed = CQ_FEED_OWN; feed <= CQ_FEED_BOTH; feed++)
      for (unsigned frozen = 0; frozen < 15; frozen++) {
        check_step(pairs[k][0], pairs[k][1], (cq_feed)feed, frozen, 3, N);
        if (frozen == 0)
          for (int n_shards = 1; n_shards <= 16; n_shards *= 4)
            for (size_t n = 1; n <= 3; n += 2) check_step(pairs[k][0], pairs[k][1], (cq_feed)feed, frozen, n_shards, n);
      }
}

static uint64_t hash_of_side(const cq_autoencoder_side *side) {
  uint64_t hash = 0;
  size_t n;
  const cq_param *of_decoder = cq_decoder_params(&n, side->decoder);
  for (size_t i = 0; i < n + side->encoder->params.n; i++) {
    const cq_param *p = i < n ? &of_decoder[i] : side->encoder->params.items[i - n];
    hash = cq_mix(hash) ^ cq_hash64(p->value, (size_t)cq_param_floats(p) * 4, 0);
  }
  return hash;
}

/* Text of one language is what pairs are to it when nobody reads the other's. */
static void text_of_one_language(void **state) {
  uint64_t of_first[2], of_second[2];
  (void)state;
  for (int way = 0; way < 2; way++) {
    problem p;
    cq_autoencoder_report report;
    cq_autoencoder_batch batch = pairs_of(N);
    make_sides(&p, &taking, &blind, 0.2);
    const cq_autoencoder_options o = usual_options(&p, way ? CQ_FEED_OTHER : CQ_FEED_OWN);
    p.rate = 1e-2;
    start(&p, &o, NULL);
    if (way) batch.side[1] = -1;
    assert_int_equal(cq_autoencoder_step(p.trainer, &batch, &report, NULL), CQ_OK);
    assert_int_equal(cq_autoencoder_settle(p.trainer, NULL), CQ_OK);
    of_first[way] = hash_of_side(&p.sides[0]), of_second[way] = hash_of_side(&p.sides[1]);
    tear_down(&p);
  }
  assert_true(of_first[0] == of_first[1] && of_second[0] != of_second[1]);
}

/* --- threads --- */

static uint64_t train_and_hash(int n_threads, double *first, double *last) {
  cq_context *ctx;
  problem p;
  uint64_t hash = 0;
  assert_int_equal(cq_context_open(&ctx, n_threads, NULL), CQ_OK);
  make_sides(&p, &taking, &blind, 0.2);
  cq_autoencoder_options o = usual_options(&p, CQ_FEED_BOTH);
  o.contrast = 1, o.contrast_by = CQ_CONTRAST_IN_BATCH, o.noise = 0.3, o.word_dropout = 0.2;
  o.optimizer.beta1 = 0.9, o.optimizer.beta2 = 0.999, o.optimizer.eps = 1e-8;
  p.rate = 5e-3;
  start(&p, &o, ctx);
  for (int i = 0; i < 30; i++) {
    const cq_autoencoder_report r = step(&p, i % 3 == 2 ? 2 : N - (size_t)(i % 2));
    if (i == 0) *first = r.nll[0] + r.nll[1];
    if (i % 3 == 0) *last = r.nll[0] + r.nll[1];
  }
  assert_int_equal(cq_autoencoder_settle(p.trainer, NULL), CQ_OK);
  for (size_t i = 0; i < p.params.n; i++)
    hash = cq_mix(hash) ^ cq_hash64(p.params.items[i]->value, (size_t)cq_param_floats(p.params.items[i]) * 4, 0);
  tear_down(&p);
  cq_context_free(ctx);
  return hash;
}

static void threads_do_not_change_a_bit(void **state) {
  double first, last;
  (void)state;
  const uint64_t one = train_and_hash(1, &first, &last);
  assert_true(last < first);
  assert_true(train_and_hash(2, &first, &last) == one);
  assert_true(train_and_hash(3, &first, &last) == one);
}

/* --- what goes wrong --- */

static void expect_refused(problem *p, cq_feed feed, const char *word) {
  cq_autoencoder_trainer *t;
  cq_params params = {0};
  cq_error error = {0};
  const cq_autoencoder_options o = usual_options(p, feed);
  assert_int_equal(cq_autoencoder_trainer_new(&t, &params, p->sides, 2, NULL, &o, &error), CQ_ERR_ARGUMENT);
  assert_null(t);
  if (!strstr(error.message, word)) fail_msg("'%s' does not say '%s'", error.message, word);
  cq_params_free(&params);
}

/* Whichever side it is on, and whoever is read. */
static void states_must_fit(void **state) {
  (void)state;
  for (int side = 0; side < 2; side++)
    for (int feed = CQ_FEED_OWN; feed <= CQ_FEED_BOTH; feed++) {
      problem p;
      make_sides(&p, &taking, &taking, 0);
      cq_encoder *kept = p.sides[side].encoder;
      p.sides[side].encoder = make_encoder(1, 1, false, 0);
      expect_refused(&p, (cq_feed)feed, "the states of 2 layers of 6, an encoder that ends in 1 of 6");
      cq_encoder_free(p.sides[side].encoder);
      p.sides[side].encoder = make_encoder(1, N_LAYERS, true, 0);
      expect_refused(&p, (cq_feed)feed, "reads in both directions");
      cq_encoder_free(p.sides[side].encoder);
      p.sides[side].encoder = kept;
      tear_down(&p);
    }
  /* A third language, that is in no batch yet. */
  problem p;
  cq_autoencoder_trainer *t;
  cq_params params = {0};
  cq_error error = {0};
  make_sides(&p, &taking, &taking, 0);
  const cq_autoencoder_options o = usual_options(&p, CQ_FEED_OWN);
  const cq_autoencoder_side three[] = {p.sides[0], p.sides[1], {.encoder = make_encoder(1, 1, false, 0)}};
  assert_int_equal(cq_autoencoder_trainer_new(&t, &params, three, 3, NULL, &o, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "ends in 1 of 6"));
  cq_encoder_free(three[2].encoder);
  cq_params_free(&params);
  tear_down(&p);
}

static void allocations_may_fail(void **state) {
  const cq_autoencoder_batch batch = pairs_of(N);
  (void)state;
  for (long n = 1;; n++) {
    problem p;
    cq_autoencoder_report report;
    cq_error error = {0};
    make_sides(&p, &taking, &blind, 0.2);
    const cq_autoencoder_options o = usual_options(&p, CQ_FEED_BOTH);
    start(&p, &o, NULL);
    cq_alloc_fail_at(n);
    const cq_status status = cq_autoencoder_step(p.trainer, &batch, &report, &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (!failed) assert_int_equal(status, CQ_OK);
    if (failed && status != CQ_ERR_MEMORY) fail_msg("allocation %ld: status %d: %s", n, status, error.message);
    if (failed) step(&p, N);
    tear_down(&p);
    if (!failed) {
      assert_true(n > 10);
      break;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_are_those_of_the_whole_batch),
      cmocka_unit_test(text_of_one_language),
      cmocka_unit_test(threads_do_not_change_a_bit),
      cmocka_unit_test(states_must_fit),
      cmocka_unit_test(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
