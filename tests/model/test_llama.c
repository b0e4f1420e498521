/* Models of decoders' shape (reference/golden_decoders.py; their plain vectors are test_golden.c's): prompts by name, a
 * sentence's vector whatever stands beside it, narrow weights, and every way in which a configuration can be wrong. */
#include "support/files.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "calque/calque.h"
#include "format/json.h"
#include "model/encoder.h"

#include <math.h>

#define MODELS        CQ_TESTS_DIR "/golden/models"
#define MAX_SENTENCES 64

static cq_slice sentences[MAX_SENTENCES];
static size_t n_sentences;
static char *text;

static int read_sentences(void **state) {
  cq_slice all;
  if (make_test_directory(state) || cq_file_read(&all, MODELS "/sentences.txt", NULL)) return -1;
  text = (char *)(uintptr_t)all.data;
  for (size_t start = 0; start < all.n && n_sentences < MAX_SENTENCES;) {
    const size_t n = (size_t)((char *)memchr(text + start, '\n', all.n - start) - text) - start;
    sentences[n_sentences++] = (cq_slice){text + start, n};
    start += n + 1;
  }
  return 0;
}

static int free_sentences(void **state) {
  cq_free(text);
  return remove_test_directory(state);
}

static cq_encoder *open_model(const char *path) {
  cq_encoder *encoder;
  cq_error error = {0};
  if (cq_encoder_open(&encoder, path, NULL, &error)) fail_msg("%s", error.message);
  return encoder;
}

static cq_encoder *open_golden(const char *name) {
  char path[500];
  snprintf(path, sizeof path, MODELS "/%s", name);
  return open_model(path);
}

static float *encode(const cq_encoder *encoder, size_t first, size_t n, const char *prompt_name) {
  cq_error error = {0};
  cq_encode_options options = cq_encode_default_options();
  options.prompt_name = prompt_name;
  float *vectors = malloc(n * (size_t)cq_encoder_dim(encoder) * sizeof *vectors);
  if (cq_encoder_encode(vectors, NULL, encoder, sentences + first, n, &options, NULL, &error))
    fail_msg("%s", error.message);
  return vectors;
}

/* --- vectors --- */

static void prompts_by_name(void **state) {
  static const char *const models[] = {"qwen2-last", "qwen3-last", "gemma3-dense", "gemma3-causal"};
  (void)state;
  for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
    char path[500];
    cq_npy *npy;
    cq_error error = {0};
    cq_encoder *encoder = open_golden(models[m]);
    snprintf(path, sizeof path, MODELS "/%s/prompted.npy", models[m]);
    assert_int_equal(cq_npy_open(&npy, path, &error), CQ_OK);
    const size_t dim = (size_t)cq_encoder_dim(encoder);
    assert_int_equal(cq_npy_rows(npy), n_sentences);
    float *vectors = encode(encoder, 0, n_sentences, "query"), *plain = encode(encoder, 0, n_sentences, NULL);
    for (size_t s = 0; s < n_sentences; s++) {
      const double cosine = cq_cosine(vectors + s * dim, (const float *)cq_npy_data(npy) + s * dim, dim);
      if (!(cosine > 1 - 1e-6)) fail_msg("%s, sentence %zu: cosine %.9f", models[m], s + 1, cosine);
    }
    /* gemma3-causal has it as its default prompt. */
    assert_int_equal(memcmp(vectors, plain, n_sentences * dim * sizeof *plain) == 0, m == 3);
    cq_encode_options options = cq_encode_default_options();
    options.prompt_name = "nobody";
    assert_int_equal(cq_encoder_encode(vectors, NULL, encoder, sentences, 1, &options, NULL, &error), CQ_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "nobody"));
    free(vectors);
    free(plain);
    cq_npy_close(npy);
    cq_encoder_free(encoder);
  }
}

/* There is no padding: a sentence alone and in any company has the same bits, also where the last token is taken. */
static void neighbors_do_not_matter(void **state) {
  static const char *const models[] = {"qwen3-last", "mistral-last", "gemma3-dense"};
  (void)state;
  for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
    cq_encoder *encoder = open_golden(models[m]);
    const size_t dim = (size_t)cq_encoder_dim(encoder);
    float *together = encode(encoder, 0, n_sentences, NULL);
    for (size_t s = 0; s < n_sentences; s += 3) {
      float *alone = encode(encoder, s, 1, NULL);
      assert_memory_equal(alone, together + s * dim, dim * sizeof *alone);
      free(alone);
    }
    free(together);
    cq_encoder_free(encoder);
  }
}

/* What is multiplied from 16 bits as they lie, and from the same numbers in f32, packed. */
static void narrow_weights_stay_and_agree(void **state) {
  (void)state;
  cq_error error = {0};
  cq_encoder *narrow = open_golden("qwen3-last");
  size_t n_narrow = 0;
  for (size_t i = 0; i < narrow->params.n; i++) n_narrow += narrow->params.items[i]->value == NULL;
  assert_int_equal(n_narrow, 3 * 7 + 1); /* the matrices of three layers, and the word embeddings */
  assert_int_equal(cq_encoder_save(narrow, test_path("wide"), true, NULL, &error), CQ_OK);
  cq_encoder *wide = open_model(test_path("wide"));
  for (size_t i = 0; i < wide->params.n; i++) assert_non_null(wide->params.items[i]->value);
  float *a = encode(narrow, 0, n_sentences, NULL), *b = encode(wide, 0, n_sentences, NULL);
  assert_memory_equal(a, b, n_sentences * (size_t)cq_encoder_dim(wide) * sizeof *a);
  free(a);
  free(b);
  cq_encoder_free(narrow);
  cq_encoder_free(wide);
}

/* --- what is refused --- */

static void copy_model(const char *model, const char *as) {
  char command[2048];
  snprintf(command, sizeof command, "rm -rf '%s' && cp -r '%s/%s' '%s' && chmod -R u+w '%s'", test_path(as), MODELS,
           model, test_path(as), test_path(as));
  assert_int_equal(system(command), 0);
}

/* Opens a copy of a model whose config.json has another value (JSON; NULL: none) under a key. */
static cq_status open_with(const char *model, const char *key, const char *value, cq_error *error) {
  char path[500];
  json_t *config;
  cq_encoder *encoder = NULL;
  copy_model(model, "changed");
  snprintf(path, sizeof path, "%s/config.json", test_path("changed"));
  *error = (cq_error){0};
  assert_int_equal(cq_json_read(&config, path, error), CQ_OK);
  if (value)
    assert_int_equal(json_object_set_new(config, key, json_loads(value, JSON_DECODE_ANY, NULL)), 0);
  else
    assert_int_equal(json_object_del(config, key), 0);
  assert_int_equal(cq_json_save(config, test_path("changed"), "config.json", error), CQ_OK);
  const cq_status status = cq_encoder_open(&encoder, test_path("changed"), NULL, error);
  if (!status) cq_encoder_free(encoder);
  return status;
}

static void wrong_configurations(void **state) {
  static const struct {
    const char *model, *key, *value;
    cq_status status;
    const char *what;
  } cases[] = {
      {"qwen2-last", "model_type", "\"qwen2_moe\"", CQ_ERR_UNSUPPORTED, "model_type 'qwen2_moe' is not supported"},
      {"qwen2-last", "model_type", "\"qwen2_moe\"", CQ_ERR_UNSUPPORTED, "qwen2, qwen3, gemma3_text"},
      {"qwen2-last", "hidden_size", NULL, CQ_ERR_FORMAT, "key 'hidden_size' is missing"},
      {"qwen2-last", "num_key_value_heads", "3", CQ_ERR_FORMAT, "num_attention_heads 4 is not a multiple"},
      {"qwen2-last", "num_key_value_heads", "0", CQ_ERR_FORMAT, "num_key_value_heads"},
      {"qwen2-last", "num_key_value_heads", "4", CQ_ERR_FORMAT, "layers.0.self_attn.k_proj.weight"},
      {"qwen3-last", "head_dim", "7", CQ_ERR_FORMAT, "head_dim 7 is not even"},
      {"qwen2-last", "is_causal", "false", CQ_ERR_UNSUPPORTED, "is_causal"},
      {"gemma3-dense", "attn_logit_softcapping", "50.0", CQ_ERR_UNSUPPORTED, "attn_logit_softcapping"},
      {"gemma3-dense", "query_pre_attn_scalar", "-1", CQ_ERR_FORMAT, "query_pre_attn_scalar is -1"},
      {"gemma3-dense", "hidden_activation", "\"quick\"", CQ_ERR_UNSUPPORTED, "activation 'quick'"},
      {"gemma3-dense", "layer_types", "[\"full_attention\",\"linear_attention\",\"full_attention\"]",
       CQ_ERR_UNSUPPORTED, "layer_types: 'linear_attention' is not supported"},
      {"gemma3-dense", "layer_types", "[\"full_attention\"]", CQ_ERR_FORMAT, "layer_types has no string for layer 1"},
      {"llama-linear", "rms_norm_eps", "2", CQ_ERR_FORMAT, "'rms_norm_eps' is 2"},
      {"llama-linear", "attention_bias", "false", CQ_ERR_UNSUPPORTED, "self_attn.k_proj.bias"},
      {"llama-linear", "rope_theta", "0.5", CQ_ERR_FORMAT, "rope_theta is 0.5"},
      {"llama-linear", "rope_scaling", "7", CQ_ERR_FORMAT, "not an object"},
      {"llama-linear", "rope_scaling", "{\"rope_type\":\"longrope\"}", CQ_ERR_UNSUPPORTED,
       "rope_type 'longrope' is not supported (default, linear, ntk, llama3 and yarn are)"},
      {"llama-linear", "rope_scaling", "{\"type\":\"dynamic\",\"factor\":2}", CQ_ERR_UNSUPPORTED, "'dynamic'"},
      {"llama-linear", "rope_scaling", "{\"type\":\"linear\"}", CQ_ERR_FORMAT, "key 'factor' is missing"},
      {"llama-linear", "rope_scaling", "{\"type\":\"linear\",\"factor\":0}", CQ_ERR_FORMAT, "key 'factor' is 0"},
      {"llama-scaled", "rope_scaling",
       "{\"type\":\"llama3\",\"factor\":8,\"low_freq_factor\":4,\"high_freq_factor\":4,"
       "\"original_max_position_embeddings\":16}",
       CQ_ERR_FORMAT, "high_freq_factor 4 is not above low_freq_factor 4"},
      {"llama-scaled", "rope_scaling", "{\"type\":\"llama3\",\"factor\":8}", CQ_ERR_FORMAT, "'low_freq_factor'"},
      {"llama-scaled", "partial_rotary_factor", "0.5", CQ_ERR_UNSUPPORTED, "partial_rotary_factor 0.5"},
      {"llama-scaled", "num_hidden_layers", "4", CQ_ERR_FORMAT, "'layers.3.input_layernorm.weight' is missing"},
      {"llama-scaled", "num_hidden_layers", "2", CQ_ERR_UNSUPPORTED, "layers.2."},
      /* Biases are there where the family and the configuration say so, and nowhere else. */
      {"llama-scaled", "attention_bias", "true", CQ_ERR_FORMAT, "'layers.0.self_attn.q_proj.bias' is missing"},
      {"llama-scaled", "mlp_bias", "true", CQ_ERR_FORMAT, "'layers.0.mlp.gate_proj.bias' is missing"},
      {"llama-linear", "mlp_bias", "false", CQ_ERR_UNSUPPORTED, ".mlp."},
      {"qwen3-last", "attention_bias", "true", CQ_ERR_FORMAT, "'layers.0.self_attn.q_proj.bias' is missing"},
      {"qwen2-last", "model_type", "\"mistral\"", CQ_ERR_UNSUPPORTED, ".bias"},
      {"mistral-last", "model_type", "\"qwen2\"", CQ_ERR_FORMAT, "'layers.0.self_attn.q_proj.bias' is missing"},
      {"gemma3-dense", "attention_bias", "true", CQ_ERR_FORMAT, "'layers.0.self_attn.q_proj.bias' is missing"},
      {"modernbert", "norm_bias", "true", CQ_ERR_FORMAT, "'embeddings.norm.bias' is missing"},
      {"modernbert", "attention_bias", "true", CQ_ERR_FORMAT, "'layers.0.attn.Wqkv.bias' is missing"},
      {"modernbert-biases", "mlp_bias", "false", CQ_ERR_UNSUPPORTED, ".mlp."},
      {"nomic", "qkv_proj_bias", NULL, CQ_ERR_FORMAT, "'encoder.layers.0.attn.Wqkv.bias' is missing"},
      {"nomic", "mlp_fc2_bias", "true", CQ_ERR_FORMAT, "'encoder.layers.0.mlp.fc2.bias' is missing"},
      {"llama-scaled", "vocab_size", "100", CQ_ERR_FORMAT, "embed_tokens.weight"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_error error;
    const cq_status status = open_with(cases[i].model, cases[i].key, cases[i].value, &error);
    if (status != cases[i].status) fail_msg("case %zu: status %d: %s", i, status, error.message);
    if (!strstr(error.message, cases[i].what)) fail_msg("case %zu: %s", i, error.message);
    if (!strstr(error.file, "/changed")) fail_msg("case %zu: the error is in '%s'", i, error.file);
  }
}

/* The configuration as transformers writes it from version 5 on. */
static void positions_in_the_new_format(void **state) {
  cq_error error = {0};
  char path[500];
  json_t *config;
  (void)state;
  for (int nested = 0; nested < 2; nested++) {
    const char *model = nested ? "gemma3-dense" : "llama-scaled";
    copy_model(model, "new-format");
    snprintf(path, sizeof path, "%s/config.json", test_path("new-format"));
    assert_int_equal(cq_json_read(&config, path, &error), CQ_OK);
    json_t *parameters =
        nested ? json_pack("{s:{s:s, s:f}, s:{s:s, s:f}}", "full_attention", "rope_type", "default", "rope_theta", 1e4,
                           "sliding_attention", "rope_type", "default", "rope_theta", 100.0)
               : json_deep_copy(json_object_get(config, "rope_scaling"));
    if (!nested) json_object_set_new(parameters, "rope_theta", json_real(5000));
    json_object_set_new(config, "rope_parameters", parameters);
    json_object_del(config, "rope_scaling");
    json_object_del(config, "rope_theta");
    json_object_del(config, "rope_local_base_freq");
    assert_int_equal(cq_json_save(config, test_path("new-format"), "config.json", &error), CQ_OK);
    cq_encoder *old = open_golden(model), *new = open_model(test_path("new-format"));
    float *a = encode(old, 0, n_sentences, NULL), *b = encode(new, 0, n_sentences, NULL);
    assert_memory_equal(a, b, n_sentences * (size_t)cq_encoder_dim(old) * sizeof *a);
    free(a);
    free(b);
    cq_encoder_free(old);
    cq_encoder_free(new);
  }
}

/* --- out of memory, at every allocation --- */

static void allocations_may_fail(void **state) {
  char path[500];
  (void)state;
  snprintf(path, sizeof path, MODELS "/gemma3-dense");
  long n_failed = 0;
  for (long n = 1;; n += n < 400 ? 7 : 41) {
    cq_encoder *encoder = NULL;
    cq_error error = {0};
    float vector[24];
    cq_alloc_fail_at(n);
    cq_status status = cq_encoder_open(&encoder, path, NULL, &error);
    if (!status) status = cq_encoder_encode(vector, NULL, encoder, sentences, 1, NULL, NULL, &error);
    cq_alloc_fail_at(0);
    cq_encoder_free(encoder);
    if (!status) break;
    if (status != CQ_ERR_MEMORY) fail_msg("allocation %ld: status %d: %s", n, status, error.message);
    n_failed++;
  }
  assert_true(n_failed > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(prompts_by_name),
      cmocka_unit_test(neighbors_do_not_matter),
      cmocka_unit_test(narrow_weights_stay_and_agree),
      cmocka_unit_test(wrong_configurations),
      cmocka_unit_test(positions_in_the_new_format),
      cmocka_unit_test(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, read_sentences, free_sentences);
}
