/* Translating where decoders begin with encoders' states: from disk, what the models write one sentence at a time, for
 * any number of threads; directories whose parts do not fit one another. test_autoencode.c has the rest. */
#include "support/decoders.h"

#include "lab/autoencode/autoencoder.h"
#include "lab/autoencode/beam.h"
#include "lab/autoencode/states.h"
#include "model/modules.h"

enum { N_LETTERS = 6, HIDDEN = 6, N_LAYERS = 2, DIM = 4, WIDTH = 2 * N_LAYERS * HIDDEN };

static void append(cq_encoder *e, cq_status status, cq_module *const *m) {
  assert_int_equal(status, CQ_OK);
  assert_int_equal(cq_encoder_append(e, *m, NULL), CQ_OK);
}

static cq_encoder *make_encoder(uint64_t seed, int64_t n_layers, bool both_ways) {
  cq_encoder *e;
  cq_module *m;
  cq_random random = cq_random_seeded(seed, 1);
  const int64_t wide = both_ways ? 2 * HIDDEN : HIDDEN;
  assert_int_equal(cq_encoder_new(&e, NULL), CQ_OK);
  append(e,
         cq_word_embeddings_new(&m, letters_tokenizer(N_LETTERS), 5, 9, "0_WordEmbeddings", &random, &e->arena, NULL),
         &m);
  append(e, cq_lstm_module_new(&m, 5, HIDDEN, n_layers, both_ways, 0, "1_LSTM", &random, &e->arena, NULL), &m);
  append(e, cq_pooling_new(&m, wide, CQ_POOL_MEAN, "2_Pooling", &e->arena, NULL), &m);
  append(e, cq_dense_new(&m, wide, DIM, CQ_IDENTITY, "3_Dense", &random, &e->arena, NULL), &m);
  for (size_t i = 0; i < e->params.n; i++)
    for (int64_t j = 0; j < cq_param_floats(e->params.items[i]); j++)
      e->params.items[i]->value[j] = (float)cq_random_normal(&random);
  assert_int_equal(cq_encoder_pack(e, NULL, false, NULL), CQ_OK);
  return e;
}

/* Languages xx, yy and zz: the first two's decoders take states, one of them the vector too; zz's takes none. */
static void save_model(const char *path, cq_encoder *second) {
  static const char *const codes[] = {"xx", "yy", "zz"};
  static const cq_decoder_shape shapes[] = {
      {.embedding_dim = 4, .hidden_dim = HIDDEN, .n_layers = N_LAYERS, .latent_dim = DIM, .states_from_encoder = true},
      {.embedding_dim = 3,
       .hidden_dim = HIDDEN,
       .n_layers = N_LAYERS,
       .latent_dim = DIM,
       .latent_at_every_step = true,
       .states_from_encoder = true},
      {.embedding_dim = 3, .hidden_dim = 5, .n_layers = 1, .latent_dim = DIM, .latent_as_state = true},
  };
  cq_error error = {0};
  cq_autoencoder a = {.languages = cq_alloc_array_zeroed(3, sizeof *a.languages), .n = 3};
  for (unsigned i = 0; i < 3; i++) {
    a.languages[i].code = cq_strdup(codes[i]);
    a.languages[i].encoder = i == 1 && second ? second : make_encoder(60 + i, N_LAYERS, false);
    a.languages[i].decoder = make_decoder(&shapes[i], N_LETTERS, 1, 70 + i);
  }
  if (cq_autoencoder_save(&a, path, true, &error)) fail_msg("%s", error.message);
  cq_autoencoder_release(&a);
}

static const char *const texts[] = {"a b c", "", "f e d c b a", "d", "c c a", "b e"};
enum { N_TEXTS = sizeof texts / sizeof *texts, N = 100 };

static void models_translate(void **state) {
  cq_autoencoder *a;
  cq_error error = {0};
  cq_slice sentences[N];
  size_t n_characters = 0, n_differ = 0;
  (void)state;
  save_model(test_path("model"), NULL);
  if (cq_autoencoder_open(&a, test_path("model"), &error)) fail_msg("%s", error.message);
  for (int i = 0; i < N; i++) sentences[i] = cq_slice_of(texts[i % N_TEXTS]);
  for (size_t from = 0; from < 3; from++)
    for (size_t to = 0; to < 3; to++)
      for (int beam = 1; beam <= 4; beam += 3) {
        cq_translate_options o = cq_translate_default_options();
        o.beam = beam, o.max_tokens = 9;
        const cq_beam_options alike = {.beam = beam, .max_tokens = 9, .length_penalty = 1};
        const cq_language *source = &a->languages[from], *target = &a->languages[to];
        char *out[3][N];
        for (int way = 0; way < 3; way++) {
          cq_context *ctx;
          assert_int_equal(cq_context_open(&ctx, way + 1, NULL), CQ_OK);
          if (cq_autoencoder_translate(out[way], NULL, a, source->code, target->code, sentences, N, &o, ctx, &error))
            fail_msg("%s", error.message);
          cq_context_free(ctx);
          for (int i = 0; i < N; i++) assert_string_equal(out[way][i], out[0][i]);
        }
        for (int i = 0; i < N; i++) {
          cq_worker worker = {.kernels = cq_kernels_best()};
          cq_ids ids = {0};
          cq_builder text = {0};
          float vector[DIM], states[WIDTH];
          const cq_tensor row = cq_tensor_f32(states, 1, WIDTH);
          assert_int_equal(
              cq_encoder_encode_states(vector, row, NULL, source->encoder, &sentences[i], 1, NULL, NULL, NULL), CQ_OK);
          assert_int_equal(
              cq_decoder_write(&ids, &worker, target->decoder, cq_tensor_f32(vector, 1, DIM), row, &alike, NULL),
              CQ_OK);
          cq_tokenizer_text(&text, cq_decoder_tokenizer(target->decoder), ids.ids, ids.n);
          assert_string_equal(out[0][i], text.data ? text.data : "");
          n_characters += text.n;
          n_differ += strcmp(out[0][i], out[0][0]) != 0;
          cq_builder_free(&text);
          cq_free(ids.ids);
          cq_workspace_free(&worker.workspace);
        }
        for (int way = 0; way < 3; way++)
          for (int i = 0; i < N; i++) cq_free(out[way][i]);
      }
  assert_true(n_characters > 1000 && n_differ > 300);
  cq_autoencoder_free(a);
}

static void parts_must_fit(void **state) {
  static const struct {
    int64_t n_layers;
    bool both_ways;
    const char *word;
  } cases[] = {{1, false,
                "from 'yy' into 'xx': a decoder that begins with the states of 2 layers of 6, an encoder that "
                "ends in 1 of 6"},
               {3, false, "3 of 6"},
               {2, true, "from 'yy' into 'xx': an encoder that reads in both directions"}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_autoencoder *a;
    cq_error error = {0};
    save_model(test_path("odd"), make_encoder(5, cases[i].n_layers, cases[i].both_ways));
    assert_int_equal(cq_autoencoder_open(&a, test_path("odd"), &error), CQ_ERR_FORMAT);
    assert_null(a);
    if (!strstr(error.message, cases[i].word)) fail_msg("'%s' does not say '%s'", error.message, cases[i].word);
    if (!strstr(error.file, "autoencoder.json")) fail_msg("the error is in '%s'", error.file);
  }
}

static void allocations_may_fail(void **state) {
  const cq_slice sentences[] = {cq_slice_of(texts[0]), cq_slice_of(texts[2])};
  cq_autoencoder *a;
  (void)state;
  save_model(test_path("model"), NULL);
  assert_int_equal(cq_autoencoder_open(&a, test_path("model"), NULL), CQ_OK);
  for (long n = 1;; n++) {
    char *out[2] = {NULL, NULL};
    cq_error error = {0};
    cq_alloc_fail_at(n);
    const cq_status status = cq_autoencoder_translate(out, NULL, a, "xx", "yy", sentences, 2, NULL, NULL, &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    for (int i = 0; i < 2; i++) cq_free(out[i]);
    if (!failed) {
      assert_int_equal(status, CQ_OK);
      assert_true(n > 10);
      break;
    }
    if (status != CQ_ERR_MEMORY) fail_msg("allocation %ld: status %d: %s", n, status, error.message);
  }
  cq_autoencoder_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(models_translate),
      cmocka_unit_test(parts_must_fit),
      cmocka_unit_test(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
