/* The autoencoders' step: its losses against plain sums, its gradients against differences of the losses it reports. */
#include "support/autoencoders.h"

#include "lab/autoencode/autoencoder_trainer.h"

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

static double plain_distillation(float v[N][DIM], size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += gap(v[i], targets_of() + i * DIM);
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

/* -log p a token of one side's sentences under its decoder, from the vectors of `from`; keys [n]: of dropout. */
static double plain_reconstruction(problem *p, float v[2][N][DIM], size_t n, int side, int from, const uint64_t *keys,
                                   double word_dropout) {
  plain_decoder plain = plain_of(p->sides[side].decoder);
  double sum = 0;
  size_t n_written = 0;
  for (size_t i = 0; i < n; i++) {
    cq_ids ids = {0};
    bool truncated;
    double z[DIM];
    assert_int_equal(cq_encoder_tokenize(&ids, p->sides[side].encoder, NULL, batch_of(side)[i], &truncated, NULL),
                     CQ_OK);
    for (int j = 0; j < DIM; j++) z[j] = (double)v[from][i][j];
    sum += plain_nll(&plain, z, NULL, ids.ids, (int64_t)ids.n, keys ? &keys[i] : NULL, word_dropout);
    n_written += ids.n - 1;
    cq_free(ids.ids);
  }
  plain_free(&plain);
  return sum / (double)n_written;
}

/* What a discriminator of its own says. */
static cq_discriminator_report plain_discriminator(const cq_autoencoder_options *o, float v[2][N][DIM], size_t n) {
  float gradients[2][N * DIM] = {{0}};
  const cq_space space = {{v[0][0], v[1][0]}, {gradients[0], gradients[1]}, (int64_t)n, DIM};
  const cq_discriminator_options options = {.dim = DIM,
                                            .hidden = o->discriminator_hidden,
                                            .adversary_by = o->adversary_by,
                                            .smoothing = o->label_smoothing,
                                            .n_shards = o->n_shards,
                                            .seed = o->seed,
                                            .optimizer = o->optimizer};
  cq_discriminator_report report = {0};
  cq_discriminator *d;
  if (o->adversary == 0) return report;
  assert_int_equal(cq_discriminator_new(&d, cq_kernels_best(), &options, NULL), CQ_OK);
  assert_int_equal(cq_discriminator_forward(d, &report, &space, 1, NULL, NULL), CQ_OK);
  cq_discriminator_free(d);
  return report;
}

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
        assert_int_equal(cq_encoder_encode(vectors[s][0], NULL, p.sides[s].encoder, batch_of(s), n, NULL, NULL, NULL),
                         CQ_OK);
      const cq_autoencoder_report r = step(&p, n);
      const cq_discriminator_report expected_report = plain_discriminator(&o, vectors, n);
      assert_memory_equal(&r.discriminator, &expected_report, sizeof expected_report);
      expect_near(v->name, "the distance", r.distance, v->distance > 0 ? plain_distance(vectors, n) : 0);
      expect_near(v->name, "the contrast", r.contrast,
                  v->contrast == 0                      ? 0
                  : v->contrast_by == CQ_CONTRAST_PAIRS ? plain_pairs(vectors, n, v->margin)
                                                        : plain_in_batch(vectors, n, 0.5));
      for (int s = 0; s < 2; s++) {
        expect_near(v->name, "the distance from targets", r.distillation[s],
                    v->distillation > 0 ? plain_distillation(vectors[s], n) : 0);
        const double own = plain_reconstruction(&p, vectors, n, s, s, NULL, 0),
                     other = plain_reconstruction(&p, vectors, n, s, 1 - s, NULL, 0);
        expect_near(v->name, "-log p", r.nll[s],
                    v->reconstruction == 0     ? 0
                    : v->feed == CQ_FEED_OWN   ? own
                    : v->feed == CQ_FEED_OTHER ? other
                                               : (own + other) / 2);
        for (size_t i = 0; i < n; i++) n_tokens += cq_min(8, strlen(texts[s][i]) / 2 + (texts[s][i][0] != 0) + 2);
      }
      assert_int_equal(r.n_tokens, n_tokens);
      tear_down(&p);
    }
}

/* --- gradients --- */

/* An update is the gradient itself: without momentum, Adam divides by |g| + eps, and the rate is that eps, far above
 * any |g|. Differences are of f32 losses, along signs of one parameter, most of which follow the gradient; two steps
 * are extrapolated. */
static void check_gradients(const variant *v, size_t n, bool shared) {
  const double eps = 1e5;
  problem p;
  make_sides(&p, v->unit_length, 0);
  cq_autoencoder_options o = options_of(v, &p);
  o.optimizer.eps = eps, o.shared_latent = shared;
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
    check_gradients(&variants[k], N, false);
    check_gradients(&variants[k], 2, false);
    check_gradients(&variants[k], 1, false);
    check_gradients(&variants[k], N, true);
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
    assert_int_equal(cq_encoder_encode(vectors[s][0], NULL, p.sides[s].encoder, batch_of((int)s), N, NULL, NULL, NULL),
                     CQ_OK);
  }
  const cq_autoencoder_options o = options_of(&variants[0], &p);
  start(&p, &o, NULL);
  const cq_autoencoder_report r = step(&p, N);
  for (int s = 0; s < 2; s++)
    expect_near("frozen encoders", "-log p", r.nll[s], plain_reconstruction(&p, vectors, N, s, s, NULL, 0));
  tear_down(&p);
}

/* --- a shared layer --- */

static const cq_param *dense_of(const problem *p, int side) {
  return p->sides[side].encoder->modules[3]->params;
}

static void a_shared_layer_is_one(void **state) {
  problem p;
  float vectors[2][N][DIM], first[DIM * 12];
  (void)state;
  make_sides(&p, false, 0);
  cq_autoencoder_options o = options_of(&variants[N_VARIANTS - 2], &p);
  o.shared_latent = true;
  o.optimizer.beta1 = 0.9, o.optimizer.beta2 = 0.999;
  memcpy(first, dense_of(&p, 0)->value, sizeof first);
  assert_memory_not_equal(dense_of(&p, 1)->value, first, sizeof first);
  p.rate = 1e-2;
  start(&p, &o, NULL);
  assert_memory_equal(dense_of(&p, 1)->value, first, sizeof first);
  for (int i = 0; i < 5; i++) {
    assert_int_equal(cq_autoencoder_settle(p.trainer, NULL), CQ_OK);
    for (int s = 0; s < 2; s++)
      assert_int_equal(cq_encoder_encode(vectors[s][0], NULL, p.sides[s].encoder, batch_of(s), N, NULL, NULL, NULL),
                       CQ_OK);
    expect_near("a shared layer", "the distance", step(&p, N).distance, plain_distance(vectors, N));
    for (size_t k = 0; k < 2; k++) /* weight, bias */
      assert_memory_equal(dense_of(&p, 0)[k].value, dense_of(&p, 1)[k].value,
                          (size_t)cq_param_floats(&dense_of(&p, 0)[k]) * sizeof(float));
  }
  assert_memory_not_equal(dense_of(&p, 0)->value, first, sizeof first);
  tear_down(&p);
}

/* --- dropout --- */

static void decoders_forget_by_their_keys(void **state) {
  (void)state;
  for (int feed = CQ_FEED_OWN; feed <= CQ_FEED_BOTH; feed++) {
    problem p;
    float vectors[2][N][DIM];
    make_sides(&p, true, 0.4);
    for (int s = 0; s < 2; s++) {
      p.sides[s].encoder_frozen = true;
      assert_int_equal(cq_encoder_encode(vectors[s][0], NULL, p.sides[s].encoder, batch_of(s), N, NULL, NULL, NULL),
                       CQ_OK);
    }
    cq_autoencoder_options o = options_of(&variants[feed], &p);
    o.word_dropout = 0.3, o.optimizer.eps = 1;
    start(&p, &o, NULL);
    for (uint64_t n_batch = 0; n_batch < 2; n_batch++) {
      const cq_autoencoder_report r = step(&p, N);
      for (int s = 0; s < 2; s++) {
        double nll[2];
        for (int other = 0; other < 2; other++) {
          uint64_t keys[N];
          for (size_t i = 0; i < N; i++)
            keys[i] = cq_reader_key(cq_sentence_key(o.seed, n_batch, s, i),
                                    other ? CQ_READ_DECODER_OF_OTHER : CQ_READ_DECODER_OF_OWN);
          nll[other] = plain_reconstruction(&p, vectors, N, s, other ? 1 - s : s, keys, 0.3);
        }
        expect_near("decoders with dropout", "-log p", r.nll[s],
                    feed == CQ_FEED_OWN     ? nll[0]
                    : feed == CQ_FEED_OTHER ? nll[1]
                                            : (nll[0] + nll[1]) / 2);
      }
    }
    tear_down(&p);
  }
}

/* Hiding words is reading sentences in which other letters, that nobody knows, stand for them. */
static void encoders_read_hidden_words_as_unknown(void **state) {
  (void)state;
  static char hidden[2][N][32];
  static cq_slice slices[2][N];
  const uint64_t seed = 9;
  size_t n_hidden = 0, n_shown = 0;
  for (int s = 0; s < 2; s++)
    for (size_t i = 0; i < N; i++) {
      const uint64_t key =
          cq_dropout_key(cq_reader_key(cq_sentence_key(seed, 0, s, i), CQ_READ_ENCODER), UINT32_MAX - 2);
      strcpy(hidden[s][i], texts[s][i]);
      for (size_t c = 0; c < strlen(texts[s][i]); c += 2) { /* letters, behind <s> */
        const bool hide = cq_dropout_bits(key, (uint32_t)(c / 2 + 1)) < (uint32_t)(0.4 * UINT32_MAX);
        if (hide) hidden[s][i][c] = 'z';
        n_hidden += hide, n_shown += !hide;
      }
      slices[s][i] = cq_slice_of(hidden[s][i]);
    }
  assert_true(n_hidden > 5 && n_shown > 5);
  variant v = variants[0];
  v.reconstruction = 0, v.distance = v.contrast = 1;
  problem p[2];
  for (int literally = 0; literally < 2; literally++) {
    make_sides(&p[literally], true, 0);
    cq_autoencoder_options o = options_of(&v, &p[literally]);
    assert_int_equal(o.seed, seed);
    o.encoder_word_dropout = literally ? 0 : 0.4;
    p[literally].rate = 0.1;
    start(&p[literally], &o, NULL);
    cq_autoencoder_batch batch = pairs_of(N);
    cq_autoencoder_report r;
    for (int s = 0; s < 2 && literally; s++) batch.sentences[s] = slices[s];
    assert_int_equal(cq_autoencoder_step(p[literally].trainer, &batch, &r, NULL), CQ_OK);
  }
  assert_true(hash_of(&p[0]) == hash_of(&p[1]));
  for (int literally = 0; literally < 2; literally++) tear_down(&p[literally]);
}

/* Of two masks that drop half each, half the elements agree; where readers share a key, all do. */
static void readers_forget_on_their_own(void **state) {
  enum { N_SENTENCES = 500, LENGTH = 40, N_READERS = CQ_READ_DECODER_OF_OTHER + 1 };
  (void)state;
  for (int one = 0; one < N_READERS; one++)
    for (int other = 0; other < N_READERS; other++)
      for (size_t apart = 0; apart < 2; apart++) { /* of the same sentence, and of neighbors */
        int n_agreeing = 0;
        for (size_t i = 0; i < N_SENTENCES; i++) {
          const uint64_t a = cq_reader_key(cq_sentence_key(3, 5, 0, i), (cq_reader)one),
                         b = cq_reader_key(cq_sentence_key(3, 5, 0, i + apart), (cq_reader)other);
          for (uint32_t j = 0; j < LENGTH; j++)
            n_agreeing +=
                (cq_dropout_bits(cq_dropout_key(a, 0), j) ^ cq_dropout_bits(cq_dropout_key(b, 0), j)) >> 31 == 0;
        }
        const double share = (double)n_agreeing / (N_SENTENCES * LENGTH);
        assert_true(one == other && !apart ? share == 1 : fabs(share - 0.5) < 0.02); /* five deviations */
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(losses_are_the_plain_sums),
      cmocka_unit_test(gradients_agree_with_differences),
      cmocka_unit_test(frozen_encoders_read_without_dropout),
      cmocka_unit_test(a_shared_layer_is_one),
      cmocka_unit_test(decoders_forget_by_their_keys),
      cmocka_unit_test(encoders_read_hidden_words_as_unknown),
      cmocka_unit_test(readers_forget_on_their_own),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
