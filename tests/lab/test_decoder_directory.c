/* A decoder's directory: what is saved is opened again to the bit, and what can be wrong there. */
#include "support/decoders.h"

#include "base/file.h"

enum { N_LETTERS = 6, LATENT = 3 };

static const cq_decoder_shape shapes[] = {
    {.embedding_dim = 3, .hidden_dim = 5, .n_layers = 1, .latent_dim = LATENT, .latent_at_every_step = true},
    {.embedding_dim = 2, .hidden_dim = 5, .n_layers = 2, .latent_dim = LATENT, .latent_as_state = true, .dropout = 0.3},
    {.embedding_dim = 3,
     .hidden_dim = 4,
     .n_layers = 2,
     .latent_dim = LATENT,
     .latent_at_every_step = true,
     .latent_as_state = true},
    {.embedding_dim = 3,
     .hidden_dim = 2,
     .n_layers = 2,
     .latent_dim = LATENT,
     .states_from_encoder = true,
     .words_hidden = true},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static double loss_of(const cq_decoder *d) {
  static const int32_t ids[] = {2, 4, 7, 5, 3, 2, 6, 3};
  static const int64_t starts[] = {0, 5, 8};
  const cq_decoder_shape *s = cq_decoder_shape_of(d);
  float latent[2 * LATENT] = {0.3f, -1, 0.5f, 2, 0, -0.7f}, states[2 * 20] = {1, -1, 0.5f};
  cq_worker worker = {.kernels = cq_kernels_best()};
  const cq_decoder_batch batch = {.tokens = {.ids = ids, .starts = starts, .n_seqs = 2},
                                  .latent = cq_tensor_f32(latent, 2, LATENT),
                                  .states = cq_tensor_f32(states, 2, 2 * s->n_layers * s->hidden_dim)};
  double loss = 0;
  assert_int_equal(cq_decoder_loss(&loss, &worker, d, &batch, NULL, (cq_tensor){0}, (cq_tensor){0}, 1, NULL), CQ_OK);
  cq_workspace_free(&worker.workspace);
  return loss;
}

static const char *in_directory(const char *directory, const char *name) {
  char path[120];
  snprintf(path, sizeof path, "%.50s/%.60s", directory, name);
  return test_path(path);
}

static void save(const cq_decoder *d, const char *name) {
  cq_error error = {0};
  mkdir(test_path(name), 0777);
  if (cq_decoder_save(d, test_path(name), &error)) fail_msg("%s", error.message);
}

static void saving_and_opening_keep_every_bit(void **state) {
  (void)state;
  for (int i = 0; i < N_SHAPES; i++) {
    cq_decoder *made = make_decoder(&shapes[i], N_LETTERS, 0.5, 3), *opened;
    cq_error error = {0};
    size_t n, n_again;
    save(made, "saved");
    if (cq_decoder_open(&opened, test_path("saved"), &error)) fail_msg("%s", error.message);
    const cq_decoder_shape *a = cq_decoder_shape_of(made), *b = cq_decoder_shape_of(opened);
    assert_true(a->embedding_dim == b->embedding_dim && a->hidden_dim == b->hidden_dim && a->n_layers == b->n_layers &&
                a->latent_dim == b->latent_dim && a->latent_at_every_step == b->latent_at_every_step &&
                a->latent_as_state == b->latent_as_state && a->states_from_encoder == b->states_from_encoder &&
                a->words_hidden == b->words_hidden && a->dropout == b->dropout);
    const cq_param *params = cq_decoder_params(&n, made), *again = cq_decoder_params(&n_again, opened);
    assert_int_equal(n, n_again);
    for (size_t k = 0; k < n; k++) {
      assert_string_equal(params[k].name, again[k].name);
      assert_true(params[k].table == again[k].table && params[k].decay == again[k].decay);
      assert_int_equal(cq_param_floats(&params[k]), cq_param_floats(&again[k]));
      assert_memory_equal(params[k].value, again[k].value, (size_t)cq_param_floats(&params[k]) * sizeof(float));
    }
    assert_true(loss_of(made) > 0 && loss_of(made) == loss_of(opened));
    save(opened, "again");
    for (int f = 0; f < 2; f++) {
      const char *file = f ? "decoder_config.json" : "model.safetensors";
      size_t n_first, n_second;
      unsigned char *first = read_bytes(&n_first, in_directory("saved", file)),
                    *second = read_bytes(&n_second, in_directory("again", file));
      assert_int_equal(n_first, n_second);
      assert_memory_equal(first, second, n_first);
      free(first);
      free(second);
    }
    cq_decoder_free(opened);
    cq_decoder_free(made);
  }
}

static void expect_refused(cq_status expected, const char *in_file, const char *word) {
  cq_decoder *d;
  cq_error error = {0};
  const cq_status status = cq_decoder_open(&d, test_path("saved"), &error);
  if (status != expected) fail_msg("status %d, expected %d (%s): %s", status, expected, word, error.message);
  assert_null(d);
  if (!strstr(error.file, in_file))
    fail_msg("the error is in '%s', expected '%s': %s", error.file, in_file, error.message);
  if (!strstr(error.message, word)) fail_msg("'%s' does not say '%s'", error.message, word);
}

static void save_one(void) {
  cq_decoder *d = make_decoder(&shapes[2], N_LETTERS, 0.5, 3);
  save(d, "saved");
  cq_decoder_free(d);
}

#define START "{\"embedding_dim\": 3, \"hidden_dim\": 4, "
#define SIZES START "\"num_layers\": 2, \"latent_dim\": 3, "
#define SEEN(every_step, as_state, from_encoder)                                                                       \
  "\"latent_at_every_step\": " every_step ", \"latent_as_state\": " as_state ", "                                      \
  "\"states_from_encoder\": " from_encoder ", \"words_hidden\": false"
#define USUAL SEEN("true", "true", "false") ", \"dropout\": "

static void wrong_configurations(void **state) {
  static const struct {
    const char *text;
    const char *word;
  } cases[] = {
      {"", "decoder_config.json"},
      {"[]", "expected an object"},
      {"{\"embedding_dim\": 3}", "hidden_dim"},
      {START "\"num_layers\": 0, \"latent_dim\": 3, " USUAL "0}", "num_layers"},
      {START "\"num_layers\": 1000000, \"latent_dim\": 3, " USUAL "0}", "num_layers"},
      {START "\"num_layers\": 2, \"latent_dim\": \"x\", " USUAL "0}", "latent_dim"},
      {SIZES SEEN("1", "true", "false") ", \"dropout\": 0}", "latent_at_every_step"},
      {SIZES SEEN("true", "true", "0") ", \"dropout\": 0}", "states_from_encoder"},
      {SIZES "\"latent_at_every_step\": true}", "latent_as_state"},
      {SIZES "\"latent_at_every_step\": true, \"latent_as_state\": true, \"dropout\": 0}", "states_from_encoder"},
      {SIZES
       "\"latent_at_every_step\": true, \"latent_as_state\": true, \"states_from_encoder\": false, \"dropout\": 0}",
       "words_hidden"},
      {SIZES SEEN("true", "null", "false") ", \"dropout\": 0}", "latent_as_state"},
      {SIZES SEEN("true", "true", "false") "}", "dropout"},
      {SIZES USUAL "true}", "dropout"},
      {SIZES USUAL "1.5}", "dropout 1.5"},
      {SIZES USUAL "-1}", "dropout -1"},
      {SIZES SEEN("false", "false", "false") ", \"dropout\": 0}", "never sees"},
      {SIZES SEEN("true", "true", "true") ", \"dropout\": 0}", "both the vector's and the encoder's"},
  };
  (void)state;
  save_one();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_text(in_directory("saved", "decoder_config.json"), cases[i].text);
    expect_refused(CQ_ERR_FORMAT, "decoder_config.json", cases[i].word);
  }
  assert_int_equal(unlink(in_directory("saved", "decoder_config.json")), 0);
  expect_refused(CQ_ERR_IO, "decoder_config.json", "decoder_config.json");
}

static void weights_must_fit(void **state) {
  static const struct {
    const char *text, *word;
  } cases[] = {
      {START "\"num_layers\": 2, \"latent_dim\": 5, " USUAL "0}", "state.weight"},
      {SIZES SEEN("false", "true", "false") ", \"dropout\": 0}", "decoder.weight_ih_l0"},
      {START "\"num_layers\": 3, \"latent_dim\": 3, " USUAL "0}", "state.weight"},
  };
  (void)state;
  save_one();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_text(in_directory("saved", "decoder_config.json"), cases[i].text);
    expect_refused(CQ_ERR_FORMAT, "model.safetensors", cases[i].word);
  }
  save_one();
  /* A vocabulary of another size. */
  write_text(in_directory("saved", "vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n");
  unlink(in_directory("saved", "tokenizer.json"));
  expect_refused(CQ_ERR_FORMAT, "model.safetensors", "embedding.weight");
  /* One that cannot say where a sentence begins. */
  static const char *const files[] = {"vocab.txt", "special_tokens_map.json", "tokenizer_config.json", "spiece.model",
                                      "tokenizer_config.json"};
  for (int i = 0; i < 3; i++) unlink(in_directory("saved", files[i]));
  for (int i = 3; i < 5; i++) {
    char from[80];
    size_t n;
    snprintf(from, sizeof from, "golden/token/sentencepiece-t5/%s", files[i]);
    unsigned char *bytes = read_bytes(&n, tests_file(from));
    write_bytes(in_directory("saved", files[i]), bytes, n);
    free(bytes);
  }
  expect_refused(CQ_ERR_UNSUPPORTED, "saved", "beginning, end");
  assert_int_equal(unlink(in_directory("saved", "spiece.model")), 0);
  expect_refused(CQ_ERR_IO, "saved", "");
}

/* Every length of the weights' file but the whole one is refused, by name. */
static void weights_must_be_whole(void **state) {
  size_t n;
  (void)state;
  save_one();
  unsigned char *bytes = read_bytes(&n, in_directory("saved", "model.safetensors"));
  for (size_t length = 0; length < n; length += length < 64 || length + 64 > n ? 1 : 61) {
    cq_decoder *d;
    cq_error error = {0};
    write_bytes(in_directory("saved", "model.safetensors"), bytes, length);
    const cq_status status = cq_decoder_open(&d, test_path("saved"), &error);
    if (status != CQ_ERR_FORMAT || !strstr(error.file, "model.safetensors"))
      fail_msg("%zu bytes of %zu: status %d in '%s': %s", length, n, status, error.file, error.message);
  }
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(saving_and_opening_keep_every_bit),
      cmocka_unit_test(wrong_configurations),
      cmocka_unit_test(weights_must_fit),
      cmocka_unit_test(weights_must_be_whole),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
