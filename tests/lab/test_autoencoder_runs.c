/* Runs of the autoencoders' step: on any number of threads, with parts frozen, and when something is wrong. */
#include "support/autoencoders.h"

#include "lab/autoencode/autoencoder_trainer.h"

/* --- threads, seeds --- */

/* What is trained besides, by number. */
static const char *const kinds[] = {"everything", "swapped labels", "two optimizers", "a shared layer",
                                    "two optimizers, a shared layer"};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static void change(cq_autoencoder_options *o, int kind) {
  if (kind == 1) o->adversary_by = CQ_ADVERSARY_SWAPPED;
  if (kind >= 3) o->shared_latent = true;
  if (kind == 2 || kind == 4) o->two_optimizers = true, o->contrast_rate = 0.5;
}

/* All is lost but a checkpoint. */
static void interrupt(problem *p, const cq_autoencoder_options *o, cq_context *ctx) {
  cq_checkpoint_writer *w;
  cq_checkpoint *c;
  const double rate = p->rate;
  assert_int_equal(cq_checkpoint_writer_open(&w, test_path("autoencoder.checkpoint"), NULL), CQ_OK);
  assert_int_equal(cq_autoencoder_trainer_save(p->trainer, w, NULL), CQ_OK);
  assert_int_equal(cq_checkpoint_writer_commit(w, NULL), CQ_OK);
  tear_down(p);
  make_sides(p, true, 0.2);
  p->rate = rate;
  start(p, o, ctx);
  assert_int_equal(cq_checkpoint_open(&c, test_path("autoencoder.checkpoint"), NULL), CQ_OK);
  assert_int_equal(cq_autoencoder_trainer_restore(p->trainer, c, NULL), CQ_OK);
  cq_checkpoint_close(c);
}

enum { N_STEPS = 30 };

/* interrupted: before that step; 0: never. */
static uint64_t train_and_hash(int kind, int n_threads, uint64_t seed, int n_shards, int interrupted, double *first,
                               double *last) {
  cq_context *ctx;
  problem p;
  assert_int_equal(cq_context_open(&ctx, n_threads, NULL), CQ_OK);
  make_sides(&p, true, 0.2);
  cq_autoencoder_options o = noisy_options(&p);
  o.seed = seed, o.n_shards = n_shards;
  change(&o, kind);
  p.rate = 5e-3;
  start(&p, &o, ctx);
  for (int i = 0; i < N_STEPS; i++) {
    if (interrupted && i == interrupted) interrupt(&p, &o, ctx);
    const cq_autoencoder_report r = step(&p, i % 3 == 2 ? 2 : N - (size_t)(i % 2));
    if (i == 0) *first = total(&variants[N_VARIANTS - 1], &r);
    if (i % 3 == 0) *last = total(&variants[N_VARIANTS - 1], &r);
  }
  assert_int_equal(cq_autoencoder_updates(p.trainer), N_STEPS);
  assert_int_equal(cq_autoencoder_settle(p.trainer, NULL), CQ_OK);
  const uint64_t hash = hash_of(&p);
  tear_down(&p);
  cq_context_free(ctx);
  return hash;
}

static void threads_do_not_change_a_bit(void **state) {
  double first, last;
  (void)state;
  for (int kind = 0; kind < N_KINDS; kind++)
    for (int n_shards = 1; n_shards <= 16; n_shards *= 4) {
      const uint64_t one = train_and_hash(kind, 1, 1, n_shards, 0, &first, &last);
      if (!(last < first)) fail_msg("%s: the loss grows from %g to %g", kinds[kind], first, last);
      for (int n_threads = 2; n_threads <= 3; n_threads++)
        if (train_and_hash(kind, n_threads, 1, n_shards, 0, &first, &last) != one)
          fail_msg("%s: %d threads give other bits", kinds[kind], n_threads);
      assert_true(train_and_hash(kind, 1, 2, n_shards, 0, &first, &last) != one);
    }
}

static void a_restored_trainer_goes_on_to_the_same_bits(void **state) {
  double first, last;
  (void)state;
  for (int kind = 0; kind < N_KINDS; kind++) {
    const uint64_t one = train_and_hash(kind, 1, 1, 3, 0, &first, &last);
    for (int n = 1; n < N_STEPS; n += 14)
      if (train_and_hash(kind, 2, 1, 3, n, &first, &last) != one)
        fail_msg("%s: other bits when interrupted after %d steps", kinds[kind], n);
  }
}

static void a_checkpoint_of_another_kind_is_refused(void **state) {
  problem p;
  cq_checkpoint_writer *w;
  cq_checkpoint *c;
  cq_error error = {0};
  (void)state;
  make_sides(&p, true, 0);
  cq_autoencoder_options o = noisy_options(&p);
  o.adversary = 0;
  start(&p, &o, NULL);
  assert_int_equal(cq_checkpoint_writer_open(&w, test_path("other.checkpoint"), NULL), CQ_OK);
  assert_int_equal(cq_autoencoder_trainer_save(p.trainer, w, NULL), CQ_OK);
  assert_int_equal(cq_checkpoint_writer_commit(w, NULL), CQ_OK);
  tear_down(&p);
  make_sides(&p, true, 0);
  o.adversary = 1;
  start(&p, &o, NULL);
  assert_int_equal(cq_checkpoint_open(&c, test_path("other.checkpoint"), NULL), CQ_OK);
  assert_int_equal(cq_autoencoder_trainer_restore(p.trainer, c, &error), CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "discriminator"));
  cq_checkpoint_close(c);
  tear_down(&p);
}

/* --- two optimizers --- */

static void copy_encoders(problem *to, const problem *from) {
  for (int s = 0; s < 2; s++)
    for (size_t i = 0; i < to->sides[s].encoder->params.n; i++) {
      const cq_param *p = from->sides[s].encoder->params.items[i];
      memcpy(to->sides[s].encoder->params.items[i]->value, p->value, (size_t)cq_param_floats(p) * sizeof(float));
    }
}

static void settle(problem *p) {
  assert_int_equal(cq_autoencoder_settle(p->trainer, NULL), CQ_OK);
}

/* One trainer of the losses between vectors and one of -log p, which hand the encoders over, and bring every row up,
 * after every update. */
static void two_optimizers_are_two_trainers(void **state) {
  problem p, between, writing;
  (void)state;
  problem *const all[] = {&p, &between, &writing};
  for (int k = 0; k < 3; k++) {
    make_sides(all[k], true, 0);
    cq_autoencoder_options o = noisy_options(all[k]);
    o.noise = o.word_dropout = o.encoder_word_dropout = 0;
    all[k]->rate = 5e-3;
    if (k == 0) {
      o.two_optimizers = true, o.contrast_rate = 0.5;
    } else if (k == 1) {
      all[k]->rate *= 0.5;
      o.discriminator_rate /= 0.5;
      o.reconstruction = o.optimizer.weight_decay = 0;
    } else {
      o.contrast = o.distance = o.distillation = o.adversary = 0;
    }
    start(all[k], &o, NULL);
  }
  for (int i = 0; i < 40; i++) {
    const size_t n = i % 3 == 2 ? 1 : i % 5 == 4 ? N : 3; /* rows are long without being read */
    const cq_autoencoder_report r = step(&p, n), first = step(&between, n);
    settle(&between);
    copy_encoders(&writing, &between);
    settle(&writing);
    const cq_autoencoder_report last = step(&writing, n);
    settle(&writing);
    copy_encoders(&between, &writing);
    settle(&between);
    assert_true(r.space_gradient_norm == first.gradient_norm && r.gradient_norm == last.gradient_norm);
    assert_true(r.contrast == first.contrast && r.distance == first.distance);
    assert_true(r.discriminator.loss == first.discriminator.loss && r.distillation[1] == first.distillation[1]);
    assert_true(r.nll[0] == last.nll[0] && r.nll[1] == last.nll[1] && first.nll[0] == 0 && last.contrast == 0);
  }
  settle(&p);
  assert_int_equal(cq_autoencoder_updates(p.trainer), 40);
  assert_true(hash_of(&p) == hash_of(&writing));
  for (int k = 0; k < 3; k++) tear_down(all[k]);
}

/* Where there is nothing to write, one optimizer does all that there is, at the rate of the first. */
static void without_decoders_one_optimizer_is_enough(void **state) {
  uint64_t hash[2];
  (void)state;
  for (int two = 0; two < 2; two++) {
    problem p;
    make_sides(&p, true, 0.2);
    cq_decoder *decoders[2] = {p.sides[0].decoder, p.sides[1].decoder};
    p.sides[0].decoder = p.sides[1].decoder = NULL;
    cq_autoencoder_options o = noisy_options(&p);
    p.rate = two ? 4e-3 : 1e-3;
    o.discriminator_rate = two ? 0.25 : 1;
    o.two_optimizers = two, o.contrast_rate = 0.25;
    start(&p, &o, NULL);
    for (int i = 0; i < 5; i++) assert_true(step(&p, N).space_gradient_norm == 0);
    settle(&p);
    hash[two] = hash_of(&p);
    for (int s = 0; s < 2; s++) p.sides[s].decoder = decoders[s];
    tear_down(&p);
  }
  assert_true(hash[0] == hash[1]);
}

/* A word that is hidden when encoders read first and not when they read again: its row is updated by both all the same,
 * in order. */
static void hidden_words_miss_no_update(void **state) {
  problem p;
  (void)state;
  make_sides(&p, true, 0);
  cq_autoencoder_options o = noisy_options(&p);
  o.two_optimizers = true, o.contrast_rate = 1;
  o.encoder_word_dropout = 0.5;
  p.rate = 1e-2;
  start(&p, &o, NULL);
  for (int i = 1; i <= 5; i++) {
    step(&p, N);
    const cq_params *of_encoders = &p.trainer->of_encoders;
    for (size_t k = 0; k < of_encoders->n; k++) {
      const cq_param *table = of_encoders->items[k];
      const cq_sequences *read = &p.trainer->columns[k > 0];
      for (size_t id = 0; table->table && id < read->ids.n; id++)
        assert_int_equal(p.trainer->alignment.optimizer.row_steps[table->offset][read->ids.ids[id]], i);
    }
  }
  tear_down(&p);
}

static void of_two_updates_the_first_stays(void **state) {
  const cq_autoencoder_batch batch = pairs_of(N);
  problem p;
  cq_autoencoder_report report;
  cq_error error = {0};
  size_t n;
  (void)state;
  make_sides(&p, true, 0);
  cq_autoencoder_options o = noisy_options(&p);
  o.two_optimizers = true, o.contrast_rate = 1;
  p.rate = 1e-2;
  start(&p, &o, NULL);
  step(&p, N);
  float *value = &cq_decoder_params(&n, p.sides[0].decoder)[2].value[1];
  const float kept = *value;
  *value = NAN;
  settle(&p);
  const float before = p.sides[0].encoder->params.items[0]->value[5 * PLAIN_FIRST];
  assert_int_equal(cq_autoencoder_step(p.trainer, &batch, &report, &error), CQ_ERR_LIMIT);
  assert_non_null(strstr(error.message, "batch 2: the loss is nan"));
  assert_true(report.space_gradient_norm > 0 && report.gradient_norm == 0);
  assert_true(p.sides[0].encoder->params.items[0]->value[5 * PLAIN_FIRST] != before);
  assert_int_equal(cq_autoencoder_updates(p.trainer), 1);
  *value = kept;
  settle(&p);
  for (int i = 0; i < 3; i++) step(&p, 2); /* rows that owe more of one than of the other */
  settle(&p);
  for (size_t i = 0; i < p.params.n; i++)
    for (int64_t j = 0; j < cq_param_floats(p.params.items[i]); j++) assert_true(isfinite(p.params.items[i]->value[j]));
  tear_down(&p);
}

/* Pairs and text of one language: rows owe both optimizers, of which the first may have nothing to say. */
static void settling_changes_no_bit_of_two(void **state) {
  uint64_t hash[2];
  (void)state;
  for (int often = 0; often < 2; often++) {
    problem p;
    make_sides(&p, true, 0.2);
    cq_autoencoder_options o = noisy_options(&p);
    o.two_optimizers = true, o.contrast_rate = 2;
    p.rate = 1e-2;
    start(&p, &o, NULL);
    for (int i = 0; i < 60; i++) {
      cq_autoencoder_report report;
      cq_autoencoder_batch batch = pairs_of(i % 7 == 6 ? N : (size_t)(i % 3) + 1);
      if (i % 5 < 2) batch.side[0] = i % 5, batch.side[1] = -1, batch.sentences[0] = batch_of(i % 5);
      if (i % 2) batch.targets = NULL;
      assert_int_equal(cq_autoencoder_step(p.trainer, &batch, &report, NULL), CQ_OK);
      assert_true((report.space_gradient_norm > 0) == (batch.side[1] >= 0 || batch.targets));
      if (often) settle(&p);
    }
    settle(&p);
    hash[often] = hash_of(&p);
    tear_down(&p);
  }
  assert_true(hash[0] == hash[1]);
}

/* --- frozen --- */

/* Which of encoder 0, decoder 0, encoder 1, decoder 1 move. */
static void what_is_frozen_stays(void **state) {
  (void)state;
  for (unsigned frozen = 0; frozen < 16 * N_KINDS; frozen++)
    for (unsigned missing = 0; missing < 4; missing++) {
      const int kind = (int)frozen / 16;
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
      const bool half_shared = kind >= 3 && p.sides[0].encoder_frozen != p.sides[1].encoder_frozen;
      for (int i = 0; i < 4; i++) before[i] = values_of(&of[i]);
      cq_autoencoder_options o = noisy_options(&p);
      change(&o, kind);
      p.rate = 1e-2;
      bool moves[4], any = false;
      for (unsigned i = 0; i < 4; i++) {
        moves[i] = !(frozen >> i & 1) && !(i % 2 && missing >> (i / 2) & 1);
        any |= moves[i];
      }
      cq_error error = {0};
      const cq_status status = cq_autoencoder_trainer_new(&p.trainer, &p.params, p.sides, 2, NULL, &o, &error);
      if (any && half_shared) {
        assert_int_equal(status, CQ_ERR_ARGUMENT);
        assert_non_null(strstr(error.message, "shared with an encoder that is frozen"));
        memset(moves, 0, sizeof moves);
      } else if (any) {
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

static void targets_may_be_missing_and_must_be_numbers(void **state) {
  cq_autoencoder_batch batch = pairs_of(N);
  float wrong[N * DIM];
  problem p;
  cq_autoencoder_report report;
  cq_error error = {0};
  (void)state;
  make_sides(&p, true, 0);
  const cq_autoencoder_options o = noisy_options(&p);
  p.rate = 1e-2;
  start(&p, &o, NULL);
  batch.targets = NULL;
  assert_int_equal(cq_autoencoder_step(p.trainer, &batch, &report, NULL), CQ_OK);
  assert_true(report.distillation[0] == 0 && report.distillation[1] == 0 && report.contrast > 0);
  assert_int_equal(cq_autoencoder_settle(p.trainer, NULL), CQ_OK);
  const uint64_t before = hash_of(&p);
  memcpy(wrong, targets_of(), sizeof wrong);
  wrong[DIM + 1] = INFINITY;
  batch.targets = wrong;
  assert_int_equal(cq_autoencoder_step(p.trainer, &batch, &report, &error), CQ_ERR_LIMIT);
  assert_non_null(strstr(error.message, "batch 2: the loss is inf"));
  assert_non_null(strstr(error.message, "distillation inf"));
  assert_true(hash_of(&p) == before);
  tear_down(&p);
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
  assert_non_null(strstr(error.message, "the gradient is"));
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
  const cq_autoencoder_options usual = options_of(&variants[13], &p);
#define REFUSED(change, word)                                                                                          \
  {                                                                                                                    \
    cq_autoencoder_options o = usual;                                                                                  \
    change;                                                                                                            \
    expect_refused(&p, &o, word);                                                                                      \
  }
  REFUSED(o.n_shards = 0, "0 shards")
  REFUSED(o.n_shards = 257, "257 shards")
  REFUSED(o.reconstruction = o.contrast = o.distance = 0, "losses")
  REFUSED(o.distance = -1, "losses")
  REFUSED(o.distillation = -1, "losses")
  REFUSED(o.adversary = -1, "losses")
  REFUSED(o.adversary = NAN, "losses")
  REFUSED((o.two_optimizers = true, o.contrast_rate = -1), "contrasted at -1 times")
  REFUSED((o.two_optimizers = true, o.contrast_rate = NAN), "contrasted at nan times")
  REFUSED((o.adversary = 1, o.discriminator_rate = -1), "learns -1 times")
  REFUSED((o.adversary = 1, o.discriminator_hidden = 0), "0 hidden")
  REFUSED((o.adversary = 1, o.label_smoothing = 0.5), "smoothed by 0.5")
  REFUSED(o.contrast = NAN, "losses")
  REFUSED(o.temperature = 0, "temperature 0")
  REFUSED(o.margin = -2, "margin -2")
  REFUSED(o.noise = -1, "noise -1")
  REFUSED(o.word_dropout = 1, "word dropout 1 and 0")
  REFUSED(o.encoder_word_dropout = 1, "word dropout 0 and 1")
  REFUSED(o.encoder_word_dropout = 1, "word dropout 0 and 1")
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
  cq_decoder *decoders[2] = {p.sides[0].decoder, kept};
  cq_encoder *encoders[2] = {p.sides[0].encoder, p.sides[1].encoder};
  cq_autoencoder_options shared = usual;
  shared.shared_latent = true;
  p.sides[1].encoder = make_encoder_of(1, 5, DIM, false, 0);
  expect_refused(&p, &shared, "linear.weight is 4 x 12 in encoder 1, 4 x 10 in encoder 2");
  cq_encoder_free(p.sides[1].encoder);
  for (int s = 0; s < 2; s++) {
    p.sides[s].encoder = make_encoder_of(1, 6, s ? 0 : 12, false, 0);
    p.sides[s].decoder = NULL;
  }
  expect_refused(&p, &shared, "encoder 2 has no Dense module");
  for (int s = 0; s < 2; s++) {
    cq_encoder_free(p.sides[s].encoder);
    p.sides[s].encoder = encoders[s], p.sides[s].decoder = decoders[s];
  }
  cq_autoencoder_trainer *t;
  cq_params params = {0};
  cq_error error = {0};
  const cq_autoencoder_side three[] = {p.sides[0], p.sides[1], p.sides[0]};
  const cq_autoencoder_options all = noisy_options(&p);
  assert_int_equal(cq_autoencoder_trainer_new(&t, &params, three, 3, NULL, &all, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "discriminator of 3 languages"));
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_do_not_change_a_bit),
      cmocka_unit_test(a_restored_trainer_goes_on_to_the_same_bits),
      cmocka_unit_test(a_checkpoint_of_another_kind_is_refused),
      cmocka_unit_test(two_optimizers_are_two_trainers),
      cmocka_unit_test(without_decoders_one_optimizer_is_enough),
      cmocka_unit_test(hidden_words_miss_no_update),
      cmocka_unit_test(of_two_updates_the_first_stays),
      cmocka_unit_test(settling_changes_no_bit_of_two),
      cmocka_unit_test(what_is_frozen_stays),
      cmocka_unit_test(a_loss_that_is_no_number_changes_nothing),
      cmocka_unit_test(targets_may_be_missing_and_must_be_numbers),
      cmocka_unit_test(a_gradient_that_is_no_number_is_told),
      cmocka_unit_test(wrong_options),
      cmocka_unit_test(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
