/* The decoder against plain loops in double precision, whose differences check all gradients, and against PyTorch
 * (reference/golden_decoder.py); step by step and whole; where memory runs out. */
#include "support/decoders.h"

/* <s> ... </s>, ragged; the second is empty, the last has a token twice. */
static const int32_t sentence_ids[] = {2, 4, 7, 5, 3, 2, 3, 2, 6, 1, 8, 4, 9, 5, 3, 2, 4, 4, 3};
static const int64_t sentence_starts[] = {0, 5, 7, 15, 19};
static const uint64_t sentence_keys[] = {11, 12, 13, 14};
enum { N_SENTENCES = 4, N_IDS = 19, N_LETTERS = 6, LATENT = 3, MOST_STATES = 20 };

static const cq_decoder_shape shapes[] = {
    {.embedding_dim = 3, .hidden_dim = 5, .n_layers = 1, .latent_dim = LATENT, .latent_at_every_step = true},
    {.embedding_dim = 4, .hidden_dim = 3, .n_layers = 1, .latent_dim = LATENT, .latent_as_state = true},
    {.embedding_dim = 3,
     .hidden_dim = 4,
     .n_layers = 2,
     .latent_dim = LATENT,
     .latent_at_every_step = true,
     .latent_as_state = true},
    {.embedding_dim = 2, .hidden_dim = 5, .n_layers = 2, .latent_dim = LATENT, .latent_as_state = true, .dropout = 0.3},
    {.embedding_dim = 5,
     .hidden_dim = 4,
     .n_layers = 2,
     .latent_dim = LATENT,
     .latent_at_every_step = true,
     .latent_as_state = true,
     .dropout = 0.2},
    {.embedding_dim = 3,
     .hidden_dim = 3,
     .n_layers = 2,
     .latent_dim = LATENT,
     .latent_at_every_step = true,
     .dropout = 0.4},
    {.embedding_dim = 4, .hidden_dim = 5, .n_layers = 1, .latent_dim = LATENT, .states_from_encoder = true},
    {.embedding_dim = 3,
     .hidden_dim = 4,
     .n_layers = 2,
     .latent_dim = LATENT,
     .latent_at_every_step = true,
     .states_from_encoder = true,
     .dropout = 0.3},
    {.embedding_dim = 4,
     .hidden_dim = 3,
     .n_layers = 2,
     .latent_dim = LATENT,
     .latent_at_every_step = true,
     .states_from_encoder = true,
     .words_hidden = true,
     .dropout = 0.2},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

typedef struct problem {
  cq_decoder *decoder;
  cq_worker worker;
  float latent[N_SENTENCES * LATENT], states[N_SENTENCES * MOST_STATES];
  int64_t width; /* of a sentence's states; 0: none are given */
  cq_decoder_batch batch;
  cq_params params;
  cq_gradients gradients;
} problem;

static void set_up(problem *p, const cq_decoder_shape *shape, double deviation, bool dropout) {
  cq_random random = cq_random_seeded(5, 0);
  *p = (problem){.decoder = make_decoder(shape, N_LETTERS, deviation, 3), .worker = {.kernels = cq_kernels_best()}};
  for (int i = 0; i < N_SENTENCES * LATENT; i++) p->latent[i] = (float)cq_random_normal(&random);
  for (int i = 0; i < N_SENTENCES * MOST_STATES; i++) p->states[i] = (float)cq_random_normal(&random);
  p->width = shape->states_from_encoder ? 2 * shape->n_layers * shape->hidden_dim : 0;
  assert_true(p->width <= MOST_STATES);
  p->batch = (cq_decoder_batch){.tokens = {.ids = sentence_ids,
                                           .starts = sentence_starts,
                                           .n_seqs = N_SENTENCES,
                                           .keys = dropout ? sentence_keys : NULL},
                                .latent = cq_tensor_f32(p->latent, N_SENTENCES, LATENT),
                                .states = cq_tensor_f32(p->width ? p->states : NULL, N_SENTENCES, p->width),
                                .word_dropout = dropout ? 0.4 : 0};
  size_t n;
  cq_param *params = cq_decoder_params(&n, p->decoder);
  for (size_t i = 0; i < n; i++) assert_int_equal(cq_params_add(&p->params, &params[i], NULL), CQ_OK);
  cq_params_index(&p->params);
  assert_int_equal(cq_gradients_new(&p->gradients, &p->params, NULL), CQ_OK);
}

static void tear_down(problem *p) {
  cq_gradients_free(&p->gradients);
  cq_params_free(&p->params);
  cq_workspace_free(&p->worker.workspace);
  cq_decoder_free(p->decoder);
}

static double plain_loss(const plain_decoder *plain, const double *latent, const double *states, const problem *p) {
  double sum = 0;
  for (int64_t s = 0; s < N_SENTENCES; s++)
    sum += plain_nll(plain, latent + s * LATENT, states + s * p->width, sentence_ids + sentence_starts[s],
                     sentence_starts[s + 1] - sentence_starts[s], p->batch.tokens.keys ? &sentence_keys[s] : NULL,
                     p->batch.word_dropout);
  return sum;
}

/* --- learning --- */

static const double step = 1e-5, factor = 0.5;

/* d loss / d *value. */
static double slope_at(double *value, const plain_decoder *plain, const double *latent, const double *states,
                       const problem *p) {
  const double kept = *value;
  double sides[2];
  for (int side = 0; side < 2; side++) {
    *value = kept + (side ? -step : step);
    sides[side] = plain_loss(plain, latent, states, p);
  }
  *value = kept;
  return factor * (sides[0] - sides[1]) / (2 * step);
}

/* Values are moved in double precision, so the differences are good to 1e-9; the tolerance is that of a gradient in
 * f32, sums of some dozens of products. */
static void expect_slope(int number, const char *name, int64_t i, double found, double slope) {
  if (!(fabs(found - slope) <= 1e-5 * fmax(1, fabs(slope))))
    fail_msg("shape %d: %s[%lld] is %g, expected %g", number, name, (long long)i, found, slope);
}

static void check_gradients(const cq_decoder_shape *shape, bool dropout, int number) {
  const float before = 0.25f; /* gradients are added to what is there */
  problem p;
  double latent[N_SENTENCES * LATENT], states[N_SENTENCES * MOST_STATES], loss = 1;
  float dlatent[N_SENTENCES * LATENT], dstates[N_SENTENCES * MOST_STATES];
  set_up(&p, shape, 0.5, dropout);
  plain_decoder plain = plain_of(p.decoder);
  for (int i = 0; i < N_SENTENCES * LATENT; i++) latent[i] = (double)p.latent[i], dlatent[i] = before;
  for (int i = 0; i < N_SENTENCES * MOST_STATES; i++) states[i] = (double)p.states[i], dstates[i] = before;
  assert_int_equal(cq_decoder_loss(&loss, &p.worker, p.decoder, &p.batch, &p.gradients,
                                   cq_tensor_f32(dlatent, N_SENTENCES, LATENT),
                                   cq_tensor_f32(dstates, N_SENTENCES, p.width), (float)factor, NULL),
                   CQ_OK);
  const double expected = plain_loss(&plain, latent, states, &p);
  if (!(fabs(loss - 1 - expected) <= 2e-6 * expected)) fail_msg("shape %d: loss %.9g, %.9g", number, loss, expected);
  for (size_t i = 0; i < p.params.n; i++)
    for (int64_t j = 0; j < cq_param_floats(p.params.items[i]); j++)
      expect_slope(number, p.params.items[i]->name, j, gradient_at(&p.gradients, p.params.items[i], j),
                   slope_at(&plain.values[i][j], &plain, latent, states, &p));
  for (int i = 0; i < N_SENTENCES * LATENT; i++)
    expect_slope(number, "the vectors'", i, (double)(dlatent[i] - before),
                 slope_at(&latent[i], &plain, latent, states, &p));
  for (int i = 0; i < N_SENTENCES * p.width; i++)
    expect_slope(number, "the states'", i, (double)(dstates[i] - before),
                 slope_at(&states[i], &plain, latent, states, &p));
  plain_free(&plain);
  tear_down(&p);
}

static void differences_agree(void **state) {
  (void)state;
  for (int i = 0; i < N_SHAPES; i++)
    for (int dropout = 0; dropout < 2; dropout++) check_gradients(&shapes[i], dropout, i);
}

/* The loss without gradients, and gradients without that of the vectors, are the same bits; the workspace is as it was
 * before. */
static void what_is_not_wanted_may_be_left_out(void **state) {
  (void)state;
  for (int i = 0; i < N_SHAPES; i++) {
    problem p;
    double loss[3] = {0};
    float dlatent[N_SENTENCES * LATENT] = {0}, dstates[N_SENTENCES * MOST_STATES] = {0};
    set_up(&p, &shapes[i], 0.5, true);
    const cq_mark mark = cq_workspace_mark(&p.worker.workspace);
    assert_int_equal(
        cq_decoder_loss(&loss[0], &p.worker, p.decoder, &p.batch, NULL, (cq_tensor){0}, (cq_tensor){0}, 1, NULL),
        CQ_OK);
    assert_int_equal(cq_decoder_loss(&loss[1], &p.worker, p.decoder, &p.batch, &p.gradients, (cq_tensor){0},
                                     (cq_tensor){0}, 1, NULL),
                     CQ_OK);
    const size_t n_bytes = (size_t)p.params.n_dense * sizeof(float);
    float *first = malloc(n_bytes);
    memcpy(first, p.gradients.dense, n_bytes);
    cq_gradients_clear(&p.gradients);
    assert_int_equal(cq_decoder_loss(&loss[2], &p.worker, p.decoder, &p.batch, &p.gradients,
                                     cq_tensor_f32(dlatent, N_SENTENCES, LATENT),
                                     cq_tensor_f32(dstates, N_SENTENCES, p.width), 1, NULL),
                     CQ_OK);
    assert_true(loss[0] == loss[1] && loss[0] == loss[2]);
    assert_memory_equal(first, p.gradients.dense, n_bytes);
    const cq_mark after = cq_workspace_mark(&p.worker.workspace);
    assert_true(after.chunk == mark.chunk && after.used == mark.used);
    free(first);
    tear_down(&p);
  }
}

/* --- PyTorch --- */

/* Both sides are f32 sums in different orders. */
static void pytorch_agrees(void **state) {
  const cq_decoder_shape shape = {.embedding_dim = 6,
                                  .hidden_dim = 7,
                                  .n_layers = 2,
                                  .latent_dim = 5,
                                  .latent_at_every_step = true,
                                  .latent_as_state = true};
  cq_safetensors *file;
  cq_decoder *d = make_decoder(&shape, 7, 1, 1);
  cq_worker worker = {.kernels = cq_kernels_best()};
  cq_params all = {0};
  cq_gradients gradients;
  int32_t ids[64];
  int64_t starts[16] = {0}, n_seqs, n_ids, n_latent, n_values;
  float latent[80], dlatent[80] = {0};
  double loss = 0;
  size_t n;
  (void)state;
  assert_int_equal(cq_safetensors_open(&file, tests_file("golden/decoder/two-layers.safetensors"), NULL), CQ_OK);
  const float *lengths = stored(file, "", "lengths", &n_seqs), *stored_ids = stored(file, "", "ids", &n_ids);
  assert_true(n_seqs < 16 && n_ids <= 64);
  for (int64_t i = 0; i < n_ids; i++) ids[i] = (int32_t)stored_ids[i];
  for (int64_t s = 0; s < n_seqs; s++) starts[s + 1] = starts[s] + (int64_t)lengths[s];
  const float *stored_latent = stored(file, "", "latent", &n_latent);
  assert_true(n_latent == n_seqs * 5);
  memcpy(latent, stored_latent, (size_t)n_latent * sizeof *latent);
  cq_param *params = cq_decoder_params(&n, d);
  for (size_t i = 0; i < n; i++) {
    const float *values = stored(file, "", params[i].name, &n_values);
    assert_int_equal(n_values, cq_param_floats(&params[i]));
    memcpy(params[i].value, values, (size_t)n_values * sizeof *values);
    assert_int_equal(cq_params_add(&all, &params[i], NULL), CQ_OK);
  }
  cq_params_index(&all);
  assert_int_equal(cq_gradients_new(&gradients, &all, NULL), CQ_OK);
  assert_int_equal(cq_decoder_pack(d, true, NULL), CQ_OK);
  const cq_decoder_batch batch = {.tokens = {.ids = ids, .starts = starts, .n_seqs = n_seqs},
                                  .latent = cq_tensor_f32(latent, n_seqs, 5)};
  assert_int_equal(cq_decoder_loss(&loss, &worker, d, &batch, &gradients, cq_tensor_f32(dlatent, n_seqs, 5),
                                   (cq_tensor){0}, 1, NULL),
                   CQ_OK);
  expect_close("loss", loss, (double)*stored(file, "", "loss", NULL), 1e-6);
  for (size_t i = 0; i < n; i++) {
    const float *expected = stored(file, "gradient.", params[i].name, &n_values);
    for (int64_t j = 0; j < n_values; j++)
      expect_close(params[i].name, gradient_at(&gradients, &params[i], j), (double)expected[j], 1e-5);
  }
  const float *expected = stored(file, "gradient.", "latent", NULL);
  for (int64_t j = 0; j < n_latent; j++) expect_close("latent", (double)dlatent[j], (double)expected[j], 1e-5);
  cq_gradients_free(&gradients);
  cq_params_free(&all);
  cq_workspace_free(&worker.workspace);
  cq_decoder_free(d);
  cq_safetensors_close(file);
}

/* --- writing --- */

/* Token after token, of all sentences at once as long as they last, gives the log p of the whole, and the same bits as
 * a sentence alone. */
static void steps_are_the_whole(void **state) {
  enum { V = PLAIN_FIRST + N_LETTERS };
  (void)state;
  for (int i = 0; i < N_SHAPES; i++) {
    problem p;
    double whole = 0, sum = 0, alone_sum = 0;
    float log_p[N_SENTENCES * V], alone_log_p[V];
    int32_t ids[N_SENTENCES];
    cq_decoder_state all, one;
    set_up(&p, &shapes[i], 0.7, false);
    assert_int_equal(
        cq_decoder_loss(&whole, &p.worker, p.decoder, &p.batch, NULL, (cq_tensor){0}, (cq_tensor){0}, 1, NULL), CQ_OK);
    assert_int_equal(cq_decoder_begin(&all, &p.worker, p.decoder, p.batch.latent, p.batch.states, NULL), CQ_OK);
    for (int64_t t = 0; t < 7; t++) {
      for (int s = 0; s < N_SENTENCES; s++) {
        const bool lasts = sentence_starts[s] + t < sentence_starts[s + 1];
        ids[s] = lasts ? sentence_ids[sentence_starts[s] + t] : 0;
      }
      assert_int_equal(
          cq_decoder_step(cq_tensor_f32(log_p, N_SENTENCES, V), &p.worker, p.decoder, &all, ids, p.batch.latent, NULL),
          CQ_OK);
      for (int s = 0; s < N_SENTENCES; s++)
        if (sentence_starts[s] + t + 1 < sentence_starts[s + 1])
          sum -= (double)log_p[s * V + sentence_ids[sentence_starts[s] + t + 1]];
      if (t == 0) {
        const cq_tensor latent = cq_tensor_rows(p.batch.latent, 2, 1);
        const cq_tensor given = p.width ? cq_tensor_rows(p.batch.states, 2, 1) : p.batch.states;
        assert_int_equal(cq_decoder_begin(&one, &p.worker, p.decoder, latent, given, NULL), CQ_OK);
      }
      assert_int_equal(cq_decoder_step(cq_tensor_f32(alone_log_p, 1, V), &p.worker, p.decoder, &one, &ids[2],
                                       cq_tensor_rows(p.batch.latent, 2, 1), NULL),
                       CQ_OK);
      assert_memory_equal(alone_log_p, log_p + 2 * V, sizeof alone_log_p);
      for (int v = 0; v < V; v++) alone_sum += exp((double)alone_log_p[v]);
    }
    assert_true(fabs(alone_sum - 7) < 1e-5);
    if (!(fabs(sum - whole) <= 1e-6 * whole)) fail_msg("shape %d: %.9g in steps, %.9g whole", i, sum, whole);
    tear_down(&p);
  }
}

/* --- what cannot be made --- */

static void wrong_shapes(void **state) {
  static const struct {
    cq_decoder_shape shape;
    const char *word;
  } wrong[] = {
      {{.embedding_dim = 0, .hidden_dim = 1, .n_layers = 1, .latent_dim = 1, .latent_as_state = true}, "embedding_dim"},
      {{.embedding_dim = 1, .hidden_dim = -1, .n_layers = 1, .latent_dim = 1, .latent_as_state = true}, "hidden_dim"},
      {{.embedding_dim = 1, .hidden_dim = 1, .n_layers = 65, .latent_dim = 1, .latent_as_state = true}, "1 to 64"},
      {{.embedding_dim = 1, .hidden_dim = 1, .n_layers = 1, .latent_dim = 1 << 20, .latent_as_state = true},
       "1 to 65536"},
      {{.embedding_dim = 1, .hidden_dim = 1, .n_layers = 1, .latent_dim = 1}, "never sees"},
      {{.embedding_dim = 1,
        .hidden_dim = 1,
        .n_layers = 1,
        .latent_dim = 1,
        .latent_as_state = true,
        .states_from_encoder = true},
       "both"},
      {{.embedding_dim = 1, .hidden_dim = 1, .n_layers = 1, .latent_dim = 1, .latent_as_state = true, .dropout = 1},
       "dropout 1"},
      {{.embedding_dim = 1, .hidden_dim = 1, .n_layers = 1, .latent_dim = 1, .latent_as_state = true, .dropout = NAN},
       "dropout"},
  };
  cq_tokenizer *t = letters_tokenizer(3);
  cq_random random = cq_random_seeded(1, 0);
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    cq_decoder *d;
    cq_error error = {0};
    assert_int_equal(cq_decoder_new(&d, t, &wrong[i].shape, &random, &error), CQ_ERR_ARGUMENT);
    assert_null(d);
    if (!strstr(error.message, wrong[i].word)) fail_msg("'%s' does not say '%s'", error.message, wrong[i].word);
  }
  cq_tokenizer_free(t); /* was never the decoder's */
}

/* --- out of memory, at every allocation --- */

static void allocations_may_fail(void **state) {
  const cq_decoder_shape *shape = &shapes[4];
  problem p;
  (void)state;
  set_up(&p, shape, 0.5, true);
  mkdir(test_path("saved"), 0777);
  assert_int_equal(cq_decoder_save(p.decoder, test_path("saved"), NULL), CQ_OK);
  enum { NEW, OPEN, LOSS, STEP, N_WAYS };
  for (int way = 0; way < N_WAYS; way++)
    for (long n = 1;; n++) {
      cq_decoder *d = NULL;
      cq_error error = {0};
      cq_status status;
      cq_worker worker = {.kernels = p.worker.kernels};
      cq_gradients gradients;
      cq_decoder_state states;
      cq_random random = cq_random_seeded(1, 0);
      double loss = 0;
      float dlatent[N_SENTENCES * LATENT] = {0}, log_p[N_SENTENCES * (PLAIN_FIRST + N_LETTERS)];
      const int32_t ids[N_SENTENCES] = {2, 2, 2, 2};
      cq_tokenizer *t = way == NEW ? letters_tokenizer(N_LETTERS) : NULL;
      assert_int_equal(cq_gradients_new(&gradients, &p.params, NULL), CQ_OK);
      cq_alloc_fail_at(n);
      if (way == NEW)
        status = cq_decoder_new(&d, t, shape, &random, &error);
      else if (way == OPEN)
        status = cq_decoder_open(&d, test_path("saved"), &error);
      else if (way == LOSS)
        status = cq_decoder_loss(&loss, &worker, p.decoder, &p.batch, &gradients,
                                 cq_tensor_f32(dlatent, N_SENTENCES, LATENT), (cq_tensor){0}, 1, &error);
      else {
        status = cq_decoder_begin(&states, &worker, p.decoder, p.batch.latent, p.batch.states, &error);
        if (!status)
          status = cq_decoder_step(cq_tensor_f32(log_p, N_SENTENCES, PLAIN_FIRST + N_LETTERS), &worker, p.decoder,
                                   &states, ids, p.batch.latent, &error);
      }
      const bool failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      if (way == NEW && status) cq_tokenizer_free(t);
      cq_decoder_free(d);
      cq_gradients_free(&gradients);
      cq_workspace_free(&worker.workspace);
      if (!failed) {
        assert_int_equal(status, CQ_OK);
        assert_true(n > 1);
        break;
      }
      if (status != CQ_ERR_MEMORY) fail_msg("way %d, allocation %ld: status %d: %s", way, n, status, error.message);
    }
  tear_down(&p);
}

/* Whatever a call has no more room for, the workspace is then as it was before: it is left with so many bytes, and gets
 * no more. */
static void check_failures(const cq_decoder_shape *shape) {
  enum { LOSS, BEGIN, STEP, GREEDY, N_WAYS, CHUNK = 4 << 20 /* of a workspace */ };
  problem p;
  double loss = 0;
  set_up(&p, shape, 0.5, true);
  /* The gradient of the table of words has room for them from here on. */
  assert_int_equal(
      cq_decoder_loss(&loss, &p.worker, p.decoder, &p.batch, &p.gradients, (cq_tensor){0}, (cq_tensor){0}, 1, NULL),
      CQ_OK);
  for (int way = 0; way < N_WAYS; way++)
    for (size_t left = 0;; left += 64) {
      cq_worker worker = {.kernels = p.worker.kernels};
      cq_workspace *w = &worker.workspace;
      cq_decoder_state states;
      float dlatent[N_SENTENCES * LATENT] = {0}, dstates[N_SENTENCES * MOST_STATES] = {0},
                                  log_p[N_SENTENCES * (PLAIN_FIRST + N_LETTERS)];
      int32_t ids[N_SENTENCES] = {2, 2, 2, 2};
      const cq_tensor rows = cq_tensor_f32(log_p, N_SENTENCES, PLAIN_FIRST + N_LETTERS),
                      dvectors = cq_tensor_f32(dlatent, N_SENTENCES, LATENT),
                      dgiven = cq_tensor_f32(dstates, N_SENTENCES, p.width);
      assert_int_equal(cq_decoder_begin(&states, &worker, p.decoder, p.batch.latent, p.batch.states, NULL), CQ_OK);
      assert_non_null(cq_workspace_take(w, CHUNK - cq_workspace_mark(w).used - left));
      const cq_mark before = cq_workspace_mark(w);
      cq_alloc_fail_at(1);
      const cq_status status =
          way == LOSS    ? cq_decoder_loss(&loss, &worker, p.decoder, &p.batch, &p.gradients, dvectors, dgiven, 1, NULL)
          : way == BEGIN ? cq_decoder_begin(&states, &worker, p.decoder, p.batch.latent, p.batch.states, NULL)
          : way == STEP  ? cq_decoder_step(rows, &worker, p.decoder, &states, ids, p.batch.latent, NULL)
                         : cq_decoder_step_greedy(ids, &worker, p.decoder, &states, ids, p.batch.latent, NULL);
      cq_alloc_fail_at(0);
      const cq_mark after = cq_workspace_mark(w);
      cq_workspace_free(w);
      if (!status) {
        assert_true(left > 0);
        break;
      }
      assert_int_equal(status, CQ_ERR_MEMORY);
      if (after.chunk != before.chunk || after.used != before.used)
        fail_msg("way %d keeps %zu bytes, with %zu left", way, after.used - before.used, left);
    }
  tear_down(&p);
}

static void a_failure_gives_back_what_it_took(void **state) {
  (void)state;
  check_failures(&shapes[4]);
  check_failures(&shapes[7]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(differences_agree),
      cmocka_unit_test(what_is_not_wanted_may_be_left_out),
      cmocka_unit_test(pytorch_agrees),
      cmocka_unit_test(steps_are_the_whole),
      cmocka_unit_test(wrong_shapes),
      cmocka_unit_test(allocations_may_fail),
      cmocka_unit_test(a_failure_gives_back_what_it_took),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
