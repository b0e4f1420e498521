/* The autoencoders' step of more languages than two, and of text of one. */
#include "support/autoencoders.h"

static uint64_t side_hash(const cq_autoencoder_side *side) {
  uint64_t hash = 0;
  size_t n;
  const cq_param *of_decoder = cq_decoder_params(&n, side->decoder);
  for (size_t i = 0; i < side->encoder->params.n + n; i++) {
    const cq_param *p = i < n ? &of_decoder[i] : side->encoder->params.items[i - n];
    hash = cq_mix(hash) ^ cq_hash64(p->value, (size_t)cq_param_floats(p) * 4, 0);
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
  o.optimizer.weight_decay = o.adversary = 0;
  o.optimizer.clip_norm = 0; /* the last bit of a length may differ by what zeros lie between */
  cq_autoencoder_batch batch = pairs_of(N);
  hashes_after(of_two, two.sides, 2, &batch, &o);
  batch.side[1] = 2;
  hashes_after(of_three, three, 3, &batch, &o);
  assert_true(of_two[0] == of_three[0] && of_two[1] == of_three[2] && of_three[1] == untouched);
}

/* A teacher's vectors are a loss of one language's text as well, without any decoder. */
static void a_teacher_of_one_language(void **state) {
  (void)state;
  problem p;
  cq_autoencoder_report report;
  cq_autoencoder_batch batch = pairs_of(N);
  make_sides(&p, false, 0);
  p.sides[0].decoder_frozen = p.sides[1].decoder_frozen = true;
  cq_autoencoder_options o = noisy_options(&p);
  p.rate = 1e-2;
  start(&p, &o, NULL);
  batch.side[1] = -1;
  double first = 0, last = 0;
  for (int i = 0; i < 30; i++) {
    assert_int_equal(cq_autoencoder_step(p.trainer, &batch, &report, NULL), CQ_OK);
    if (i == 0) first = report.distillation[0];
    last = report.distillation[0];
    assert_true(report.distillation[1] == 0 && report.contrast == 0 && report.gradient_norm > 0);
  }
  assert_true(last < first);
  batch.targets = NULL;
  assert_int_equal(cq_autoencoder_step(p.trainer, &batch, &report, NULL), CQ_ERR_ARGUMENT);
  tear_down(&p);
}

/* Of three languages that share a layer, the one that is in no batch has it all the same. */
static void a_layer_shared_by_three(void **state) {
  (void)state;
  problem p;
  cq_params params = {0};
  cq_autoencoder_trainer *t;
  cq_autoencoder_report report;
  cq_autoencoder_batch batch = pairs_of(N);
  make_sides(&p, true, 0.2);
  const cq_autoencoder_side three[3] = {p.sides[0], {.encoder = make_encoder(77, true, 0.2)}, p.sides[1]};
  cq_autoencoder_options o = noisy_options(&p);
  o.adversary = 0, o.shared_latent = true, p.rate = 1e-2;
  assert_int_equal(cq_autoencoder_trainer_new(&t, &params, three, 3, NULL, &o, NULL), CQ_OK);
  batch.side[0] = 2, batch.side[1] = 0;
  batch.sentences[0] = batch_of(1), batch.sentences[1] = batch_of(0);
  float before[DIM];
  memcpy(before, three[1].encoder->modules[3]->params[0].value, sizeof before);
  assert_int_equal(cq_autoencoder_step(t, &batch, &report, NULL), CQ_OK);
  const cq_param *dense[3];
  for (int s = 0; s < 3; s++) dense[s] = three[s].encoder->modules[3]->params;
  assert_memory_not_equal(before, dense[1]->value, sizeof before);
  for (int k = 0; k < 2; k++)
    for (int s = 1; s < 3; s++)
      assert_memory_equal(dense[s][k].value, dense[0][k].value, (size_t)cq_param_floats(&dense[0][k]) * sizeof(float));
  cq_autoencoder_trainer_free(t);
  cq_encoder_free(three[1].encoder);
  tear_down(&p);
  cq_params_free(&params);
}

/* Which half of a batch a language is makes no difference to a discriminator. */
static void a_discriminator_knows_languages(void **state) {
  (void)state;
  cq_autoencoder_report reports[2];
  for (int turned = 0; turned < 2; turned++) {
    problem p;
    make_sides(&p, true, 0);
    cq_autoencoder_options o = noisy_options(&p);
    o.noise = o.word_dropout = o.encoder_word_dropout = 0, p.rate = 1e-2;
    start(&p, &o, NULL);
    for (int i = 0; i < 2; i++) {
      cq_autoencoder_batch batch = pairs_of(N);
      if (turned) {
        batch.side[0] = 1, batch.side[1] = 0;
        batch.sentences[0] = batch_of(1), batch.sentences[1] = batch_of(0);
      }
      assert_int_equal(cq_autoencoder_step(p.trainer, &batch, &reports[turned], NULL), CQ_OK);
    }
    tear_down(&p);
  }
  expect_close("loss", reports[0].discriminator.loss, reports[1].discriminator.loss, 1e-5);
  expect_close("accuracy", reports[0].discriminator.accuracy, reports[1].discriminator.accuracy, 1e-9);
  expect_close("-log p", reports[0].nll[0], reports[1].nll[1], 1e-5);
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
  o.feed = CQ_FEED_OWN, o.contrast = o.distance = o.distillation = o.adversary = 0,
  o.optimizer.clip_norm = o.optimizer.weight_decay = 0;
  cq_autoencoder_batch batch = pairs_of(N);
  hashes_after(of_pairs, pairs.sides, 2, &batch, &o);
  o.feed = CQ_FEED_OTHER, o.contrast = o.distance = o.adversary = 1;
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
      cmocka_unit_test(other_languages_have_no_part), cmocka_unit_test(text_of_one_language),
      cmocka_unit_test(a_teacher_of_one_language),    cmocka_unit_test(a_discriminator_knows_languages),
      cmocka_unit_test(a_layer_shared_by_three),      cmocka_unit_test(wrong_batches),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
