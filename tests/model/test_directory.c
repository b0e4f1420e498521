/* Opening and saving model directories: where a name leads, what each file may say, and every way in which one can be
 * wrong: status and place are asserted. */
#include "support/files.h"

#include "base/memory.h"
#include "calque/calque.h"
#include "model/encoder.h"

#include <sys/stat.h>

static char *copy_model(const char *model, const char *as) {
  static char path[400];
  char command[2048];
  snprintf(path, sizeof path, "%s", test_path(as));
  snprintf(command, sizeof command, "rm -rf '%s' && cp -r '%s/golden/models/%s' '%s' && chmod -R u+w '%s'", path,
           CQ_TESTS_DIR, model, path, path);
  assert_int_equal(system(command), 0);
  return path;
}

static const char *file_of(const char *model, const char *name) {
  char path[120];
  snprintf(path, sizeof path, "%.50s/%.60s", model, name);
  return test_path(path);
}

/* Opens a copy of a model after writing `text` to one of its files (NULL: the file is removed). */
static cq_status open_changed(const char *model, const char *file, const char *text, cq_error *error) {
  cq_encoder *encoder = NULL;
  char *path = copy_model(model, "changed");
  if (text)
    write_text(file_of("changed", file), text);
  else
    assert_int_equal(unlink(file_of("changed", file)), 0);
  *error = (cq_error){0};
  cq_status status = cq_encoder_open(&encoder, path, NULL, error);
  if (status == CQ_OK) cq_encoder_free(encoder);
  return status;
}

static void expect_refused(const char *model, const char *file, const char *text, cq_status expected,
                           const char *in_file, const char *word) {
  cq_error error;
  cq_status status = open_changed(model, file, text, &error);
  if (status != expected)
    fail_msg("%s with %s: status %d, expected %d: %s", model, file, status, expected, error.message);
  if (!strstr(error.file, in_file))
    fail_msg("the error is in '%s', expected '%s': %s", error.file, in_file, error.message);
  if (!strstr(error.message, word)) fail_msg("'%s' does not say '%s'", error.message, word);
}

/* --- what a file may not say --- */

#define POOLING     "sentence_transformers.models.Pooling"
#define TRANSFORMER "{\"idx\":0,\"name\":\"0\",\"path\":\"\",\"type\":\"sentence_transformers.models.Transformer\"}"

static void wrong_module_lists(void **state) {
  static const struct {
    const char *text;
    cq_status status;
    const char *word;
  } cases[] = {
      {"", CQ_ERR_FORMAT, "modules.json"},
      {"{}", CQ_ERR_FORMAT, "list of modules"},
      {"[]", CQ_ERR_FORMAT, "list of modules"},
      {"[1]", CQ_ERR_FORMAT, "module 0 is not an object"},
      {"[{\"path\":\"\"}]", CQ_ERR_FORMAT, "module 0 has no type"},
      {"[{\"path\":\"\",\"type\":\"sentence_transformers.models.CNN\"}]", CQ_ERR_UNSUPPORTED,
       "sentence_transformers.models.CNN"},
      {"[{\"path\":\"\",\"type\":\"other.Transformer\"}]", CQ_ERR_UNSUPPORTED, "other.Transformer"},
      {"[{\"path\":\"../x\",\"type\":\"" POOLING "\"}]", CQ_ERR_FORMAT, "outside"},
      {"[{\"path\":\"a/../../x\",\"type\":\"" POOLING "\"}]", CQ_ERR_FORMAT, "outside"},
      {"[{\"path\":\"/etc\",\"type\":\"" POOLING "\"}]", CQ_ERR_FORMAT, "outside"},
      {"[{\"path\":\"1_Pooling\",\"type\":\"" POOLING "\"}]", CQ_ERR_FORMAT, "dimensions"},
      {"[" TRANSFORMER "]", CQ_ERR_UNSUPPORTED, "sentence vector"},
      {"[" TRANSFORMER "," TRANSFORMER "]", CQ_ERR_UNSUPPORTED, "module 1 is a Transformer"},
      {"[" TRANSFORMER ",{\"path\":\"2_Normalize\",\"type\":\"sentence_transformers.models.Normalize\"},"
       "{\"path\":\"1_Pooling\",\"type\":\"" POOLING "\"}]",
       CQ_ERR_UNSUPPORTED, "Normalize on tokens, before any pooling"},
      {"[{\"path\":\"\",\"type\":\"sentence_transformers.models.Transformer\",\"kwargs\":[\"task\"]}]",
       CQ_ERR_UNSUPPORTED, "kwargs"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect_refused("bert-uncased", "modules.json", cases[i].text, cases[i].status, "", cases[i].word);
}

static void wrong_configurations(void **state) {
  (void)state;
  expect_refused("bert-uncased", "config_sentence_transformers.json", "{\"model_type\":\"SparseEncoder\"}",
                 CQ_ERR_UNSUPPORTED, "config_sentence_transformers.json", "SparseEncoder");
  expect_refused("bert-uncased", "config_sentence_transformers.json", "{\"prompts\":{\"a\":1}}", CQ_ERR_FORMAT,
                 "config_sentence_transformers.json", "prompt 'a'");
  expect_refused("bert-uncased", "config_sentence_transformers.json", "{\"default_prompt_name\":\"query\"}",
                 CQ_ERR_FORMAT, "config_sentence_transformers.json", "'query'");
  expect_refused("bert-uncased", "config_sentence_transformers.json", "{\"truncate_dim\":8}", CQ_ERR_UNSUPPORTED,
                 "config_sentence_transformers.json", "'truncate_dim' with value 8");
  expect_refused("bert-uncased", "sentence_bert_config.json", "{\"max_seq_length\":0}", CQ_ERR_FORMAT,
                 "sentence_bert_config.json", "max_seq_length");
  expect_refused("bert-uncased", "sentence_bert_config.json", "{\"transformer_task\":\"fill-mask\"}",
                 CQ_ERR_UNSUPPORTED, "sentence_bert_config.json", "fill-mask");
  expect_refused("bert-uncased", "adapter_config.json", "{}", CQ_ERR_UNSUPPORTED, "adapter_config.json", "adapter");
  static const char bert[] = "{\"model_type\":\"bert\",\"hidden_size\":24,\"intermediate_size\":40,"
                             "\"num_attention_heads\":3,\"num_hidden_layers\":2,\"vocab_size\":420,"
                             "\"max_position_embeddings\":48,\"type_vocab_size\":2,\"hidden_act\":\"gelu\",%s}";
  static const char *const refused[][2] = {
      {"\"position_embedding_type\":\"relative_key\"", "position_embedding_type 'relative_key' is not supported"},
      {"\"is_decoder\":true", "is_decoder is not supported"}};
  for (int i = 0; i < 3; i++) {
    char text[400];
    cq_error error;
    snprintf(text, sizeof text, bert, i < 2 ? refused[i][0] : "\"position_embedding_type\":\"absolute\"");
    if (i < 2)
      expect_refused("bert-uncased", "config.json", text, CQ_ERR_UNSUPPORTED, "config.json", refused[i][1]);
    else
      assert_int_equal(open_changed("bert-uncased", "config.json", text, &error), CQ_OK);
  }
  expect_refused("bert-uncased", "1_Pooling/config.json", "{\"word_embedding_dimension\": 5}", CQ_ERR_FORMAT,
                 "1_Pooling/config.json", "5 dimensions");
  expect_refused("bert-uncased", "1_Pooling/config.json", "{\"pooling_mode\":\"median\"}", CQ_ERR_UNSUPPORTED,
                 "1_Pooling/config.json", "median");
  expect_refused("bert-uncased", "1_Pooling/config.json", "{\"pooling_mode_of_tomorrow\":true}", CQ_ERR_UNSUPPORTED,
                 "1_Pooling/config.json", "pooling_mode_of_tomorrow");
  expect_refused("bert-uncased", "1_Pooling/config.json", NULL, CQ_ERR_IO, "1_Pooling/config.json", "");
  expect_refused("bilstm-max", "wordembedding_config.json", "{\"tokenizer_class\":\"my.Tokenizer\"}",
                 CQ_ERR_UNSUPPORTED, "wordembedding_config.json", "my.Tokenizer");
  expect_refused("bilstm-max", "1_LSTM/lstm_config.json", "{\"embedding_dimension\":3,\"hidden_dim\":4}", CQ_ERR_FORMAT,
                 "1_LSTM/lstm_config.json", "3 dimensions");
}

/* A configuration of another family in the place of one that works. */
static void wrong_families(void **state) {
  static const char modernbert[] = "{\"model_type\":\"modernbert\",\"hidden_size\":24,\"intermediate_size\":28,"
                                   "\"num_attention_heads\":%d,\"num_hidden_layers\":4,\"vocab_size\":420,"
                                   "\"max_position_embeddings\":64,%s}";
  static const struct {
    int n_heads;
    const char *key, *word;
    cq_status status;
  } cases[] = {
      {2, "\"rope_scaling\":{\"rope_type\":\"yarn\"}", "rope_scaling of type 'yarn'", CQ_ERR_UNSUPPORTED},
      {2, "\"rope_scaling\":{\"rope_type\":\"linear\"}", "'factor' is missing", CQ_ERR_FORMAT},
      {2, "\"rope_parameters\":{\"rope_theta\":1}", "key 'rope_parameters'", CQ_ERR_UNSUPPORTED},
      {2, "\"hidden_activation\":\"mish\"", "activation 'mish' of key 'hidden_activation'", CQ_ERR_UNSUPPORTED},
      {2, "\"global_attn_every_n_layers\":0", "global_attn_every_n_layers", CQ_ERR_FORMAT},
      {2, "\"attention_dropout\":1", "'attention_dropout' is 1", CQ_ERR_FORMAT},
      {2, "\"local_rope_theta\":-3", "base -3", CQ_ERR_FORMAT},
      {5, "\"norm_eps\":1e-5", "hidden_size 24 is not a multiple of num_attention_heads 5", CQ_ERR_FORMAT},
      {24, "\"norm_eps\":1e-5", "cannot turn 1 of a head's 1 columns", CQ_ERR_FORMAT},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[400];
    snprintf(text, sizeof text, modernbert, cases[i].n_heads, cases[i].key);
    expect_refused("modernbert", "config.json", text, cases[i].status, "config.json", cases[i].word);
  }
  expect_refused("modernbert", "config.json", "{\"model_type\":\"modernbert-decoder\"}", CQ_ERR_UNSUPPORTED,
                 "config.json", "'modernbert-decoder' is not supported; the closest that is: modernbert (bert, ");
  expect_refused("modernbert", "config.json", "{\"model_type\":\"xq\"}", CQ_ERR_UNSUPPORTED, "config.json",
                 "'xq' is not supported (bert, ");
  expect_refused("modernbert", "config.json", "{\"model_type\":\"modernbert\"}", CQ_ERR_FORMAT, "config.json",
                 "key 'hidden_size' is missing");
  expect_refused("nomic", "config.json", "{\"model_type\":\"nomic_bert\",\"prenorm\":true}", CQ_ERR_UNSUPPORTED,
                 "config.json", "key 'prenorm' with value true");
  expect_refused("jina-v2", "config.json",
                 "{\"model_type\":\"bert\",\"position_embedding_type\":\"alibi\",\"hidden_size\":24,"
                 "\"intermediate_size\":28,\"num_attention_heads\":6,\"num_hidden_layers\":4,\"vocab_size\":420,"
                 "\"feed_forward_type\":\"original\"}",
                 CQ_ERR_UNSUPPORTED, "config.json", "feed_forward_type 'original'");
}

static void wrong_normalize_modules(void **state) {
  static const char path[] = "3_Normalize/config.json";
  cq_error error;
  (void)state;
  expect_refused("labse", path, "{\"module_input_name\":\"token_embeddings\"}", CQ_ERR_UNSUPPORTED, path,
                 "module_input_name");
  expect_refused("labse", path, "{\"module_output_name\":7}", CQ_ERR_UNSUPPORTED, path, "module_output_name");
  expect_refused("labse", path, "{\"p\":1}", CQ_ERR_UNSUPPORTED, path, "'p' is not known");
  assert_int_equal(
      open_changed("labse", path, "{\"module_input_name\":\"sentence_embedding\",\"module_output_name\":null}", &error),
      CQ_OK);
}

static void wrong_dense_modules(void **state) {
  static const char path[] = "2_Dense/config.json";
  (void)state;
  expect_refused("labse", path, "{\"in_features\":3,\"out_features\":4}", CQ_ERR_FORMAT, path, "3 dimensions");
  expect_refused("labse", path, "{\"use_residual\":true}", CQ_ERR_UNSUPPORTED, path, "use_residual");
  expect_refused("labse", path, "{\"module_input_name\":\"token_embeddings\"}", CQ_ERR_UNSUPPORTED, path,
                 "module_input_name");
  expect_refused("labse", "2_Dense/model.safetensors", NULL, CQ_ERR_IO, "2_Dense/model.safetensors", "");
}

/* --- weights --- */

static unsigned char *find_bytes(unsigned char *bytes, size_t n, const char *text) {
  for (size_t i = 0; i + strlen(text) <= n; i++)
    if (memcmp(bytes + i, text, strlen(text)) == 0) return bytes + i;
  return NULL;
}

/* The golden BERT's weights with one byte string replaced by another of the same length. */
static void change_weights(const char *from, const char *to, size_t n_bytes) {
  size_t n;
  unsigned char *bytes = read_bytes(&n, tests_file("golden/models/bert-uncased/model.safetensors"));
  copy_model("bert-uncased", "weights");
  if (from) {
    unsigned char *at = find_bytes(bytes, n, from);
    assert_non_null(at);
    memcpy(at, to, strlen(to));
  }
  write_bytes(file_of("weights", "model.safetensors"), bytes, n_bytes ? n_bytes : n);
  free(bytes);
}

static void expect_bad_weights(cq_status expected, const char *word) {
  cq_encoder *encoder;
  cq_error error = {0};
  assert_int_equal(cq_encoder_open(&encoder, test_path("weights"), NULL, &error), expected);
  assert_non_null(strstr(error.file, "model.safetensors"));
  if (!strstr(error.message, word)) fail_msg("'%s' does not say '%s'", error.message, word);
}

static void wrong_weights(void **state) {
  (void)state;
  change_weights(NULL, NULL, 5);
  expect_bad_weights(CQ_ERR_FORMAT, "");
  change_weights(NULL, NULL, 4000);
  expect_bad_weights(CQ_ERR_FORMAT, "");
  change_weights("encoder.layer.0.intermediate.dense.bias", "encoder.layer.0.intermediate.dense.bath", 0);
  expect_bad_weights(CQ_ERR_FORMAT, "tensor 'encoder.layer.0.intermediate.dense.bias' is missing");
  change_weights("\"F32\"", "\"I32\"", 0);
  expect_bad_weights(CQ_ERR_UNSUPPORTED, "I32");
  expect_refused("bert-uncased", "model.safetensors", NULL, CQ_ERR_IO, "model.safetensors", "");
  /* A tensor that has no place in the architecture is not passed over. */
  cq_error error;
  char *path = copy_model("bilstm-max", "extra"), target[500];
  snprintf(target, sizeof target, "cp '%s/model.safetensors' '%s/1_LSTM/model.safetensors'", path, path);
  assert_int_equal(system(target), 0);
  cq_encoder *encoder;
  assert_int_equal(cq_encoder_open(&encoder, path, NULL, &error), CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "encoder.weight_ih_l0"));
}

static void a_wrong_shape_is_told(void **state) {
  cq_error error;
  (void)state;
  size_t n;
  char *config = (char *)read_bytes(&n, tests_file("golden/models/bert-uncased/config.json"));
  char *at = strstr(config, "\"intermediate_size\": ");
  assert_non_null(at);
  at[strlen("\"intermediate_size\": ")] = '9';
  assert_int_equal(open_changed("bert-uncased", "config.json", config, &error), CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "intermediate.dense.weight"));
  assert_non_null(strstr(error.message, "shape ["));
  assert_non_null(strstr(error.message, "expected ["));
  free(config);
}

/* A tokenizer with more ids than the table has rows would read behind it. */
static void more_ids_than_rows(void **state) {
  char command[1500];
  cq_encoder *encoder;
  cq_error error = {0};
  (void)state;
  char *path = copy_model("static-mean", "ids");
  snprintf(command, sizeof command, "cp '%s/golden/models/bert-xlmr/tokenizer.json' '%s/tokenizer.json'", CQ_TESTS_DIR,
           path);
  assert_int_equal(system(command), 0);
  cq_status status = cq_encoder_open(&encoder, path, NULL, &error);
  if (status == CQ_OK) { /* the other vocabulary is the smaller one: take them the other way round */
    cq_encoder_free(encoder);
    path = copy_model("bert-xlmr", "ids");
    snprintf(command, sizeof command, "cp '%s/golden/models/static-mean/tokenizer.json' '%s/tokenizer.json'",
             CQ_TESTS_DIR, path);
    assert_int_equal(system(command), 0);
    status = cq_encoder_open(&encoder, path, NULL, &error);
  }
  assert_int_equal(status, CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "rows"));
}

/* --- names --- */

static void link_snapshot(const char *cache, const char *folder, const char *revision, bool with_ref) {
  char command[3000];
  snprintf(
      command, sizeof command,
      "mkdir -p '%s/%s/snapshots' '%s/%s/refs' && ln -sfn '%s/golden/models/static-mean' '%s/%s/snapshots/%s' && %s",
      cache, folder, cache, folder, CQ_TESTS_DIR, cache, folder, revision, with_ref ? "true" : "exit 0");
  assert_int_equal(system(command), 0);
  if (with_ref) {
    snprintf(command, sizeof command, "printf '%s\\n' > '%s/%s/refs/main'", revision, cache, folder);
    assert_int_equal(system(command), 0);
  }
}

static void expect_found(const char *name, const char *ending) {
  char path[4096];
  cq_error error = {0};
  if (cq_model_resolve(path, sizeof path, name, &error)) fail_msg("%s", error.message);
  assert_true(strlen(path) > strlen(ending));
  assert_string_equal(path + strlen(path) - strlen(ending), ending);
}

static void names_lead_to_the_cache(void **state) {
  char hub[400], path[4096];
  cq_error error = {0};
  cq_encoder *encoder;
  (void)state;
  snprintf(hub, sizeof hub, "%s/hub", test_path("home"));
  link_snapshot(hub, "models--someone--tiny", "abc", true);
  link_snapshot(hub, "models--sentence-transformers--short", "def", false);
  link_snapshot(hub, "models--plain", "123", true);
  unsetenv("HF_HUB_CACHE");
  unsetenv("HUGGINGFACE_HUB_CACHE");
  setenv("HF_HOME", test_path("home"), 1);
  expect_found("someone/tiny", "models--someone--tiny/snapshots/abc");
  expect_found("short", "models--sentence-transformers--short/snapshots/def");
  expect_found("plain", "models--plain/snapshots/123");
  assert_int_equal(cq_encoder_open(&encoder, "someone/tiny", NULL, &error), CQ_OK);
  cq_encoder_free(encoder);
  setenv("HF_HUB_CACHE", test_path("elsewhere"), 1);
  assert_int_equal(cq_model_resolve(path, sizeof path, "someone/tiny", &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "elsewhere/models--someone--tiny"));
  setenv("HF_HUB_CACHE", hub, 1);
  expect_found("someone/tiny", "abc");
  /* Two revisions and no word which: none. */
  link_snapshot(hub, "models--sentence-transformers--short", "ghi", false);
  assert_int_equal(cq_model_resolve(path, sizeof path, "short", &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "models--sentence-transformers--short"));
  assert_int_equal(cq_model_resolve(path, sizeof path, "../someone/tiny", &error), CQ_ERR_IO);
  assert_int_equal(cq_model_resolve(path, sizeof path, "", &error), CQ_ERR_IO);
  write_text(test_path("a-file"), "x");
  assert_int_equal(cq_model_resolve(path, sizeof path, test_path("a-file"), &error), CQ_ERR_ARGUMENT);
  unsetenv("HF_HUB_CACHE");
  unsetenv("HF_HOME");
}

/* --- plain directories, lengths --- */

static void keep_notice(void *context, const char *text) {
  snprintf(context, 512, "%s", text);
}

static void plain_directories_take_the_mean(void **state) {
  char said[512] = "";
  cq_encoder *encoder;
  cq_error error = {0};
  cq_encoder_options options = cq_encoder_default_options();
  options.notice = keep_notice, options.notice_context = said;
  (void)state;
  assert_int_equal(cq_encoder_open(&encoder, tests_file("golden/models/plain-bert"), &options, &error), CQ_OK);
  assert_non_null(strstr(said, "no modules.json"));
  cq_encoder_free(encoder);
  assert_int_equal(mkdir(test_path("empty"), 0777), 0);
  assert_int_equal(cq_encoder_open(&encoder, test_path("empty"), &options, &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "modules.json"));
  assert_non_null(strstr(error.message, "config.json"));
}

static int length_with(const char *file, const char *text, int asked) {
  cq_encoder *encoder;
  cq_error error = {0};
  cq_encoder_options options = cq_encoder_default_options();
  options.max_seq_length = asked;
  char *path = copy_model("bert-uncased", "length");
  unlink(file_of("length", "sentence_bert_config.json"));
  if (file) write_text(file_of("length", file), text);
  if (cq_encoder_open(&encoder, path, &options, &error)) return -(int)error.status;
  int length = cq_encoder_max_seq_length(encoder);
  cq_encoder_free(encoder);
  return length;
}

static void lengths_are_found(void **state) {
  (void)state;
  const int most = length_with("sentence_bert_config.json", "{\"max_seq_length\":1000000}", 0); /* all positions */
  assert_true(most >= 32 && most < 1000000);
  assert_int_equal(length_with("sentence_bert_config.json", "{\"max_seq_length\":21}", 0), 21);
  assert_int_equal(length_with("sentence_xlnet_config.json", "{\"max_seq_length\":22}", 0), 22);
  assert_int_equal(length_with("sentence_bert_config.json", "{\"max_seq_length\":21}", 9), 9);
  assert_int_equal(length_with(NULL, NULL, most), most);
  assert_int_equal(length_with(NULL, NULL, most + 1), -CQ_ERR_ARGUMENT);
  assert_int_equal(length_with("tokenizer_config.json", "{\"model_max_length\":17}", 0), 17);
}

/* --- saving --- */

static void saving_minds_what_is_there(void **state) {
  cq_encoder *encoder;
  cq_error error = {0};
  (void)state;
  assert_int_equal(cq_encoder_open(&encoder, tests_file("golden/models/static-mean"), NULL, &error), CQ_OK);
  char saved[400];
  snprintf(saved, sizeof saved, "%s", test_path("saved"));
  assert_int_equal(cq_encoder_save(encoder, saved, false, "card", &error), CQ_OK);
  assert_int_equal(cq_encoder_save(encoder, saved, false, NULL, &error), CQ_ERR_ARGUMENT);
  assert_int_equal(access(file_of("saved", "README.md"), F_OK), 0);
  assert_int_equal(cq_encoder_save(encoder, saved, true, NULL, &error), CQ_OK);
  assert_int_equal(access(file_of("saved", "README.md"), F_OK), -1);
  assert_int_equal(cq_encoder_save(encoder, "/proc/no/such", false, NULL, &error), CQ_ERR_IO);
  cq_encoder_free(encoder);
}

/* --- out of memory, at every allocation --- */

static void allocations_may_fail(void **state) {
  static const char *const models[] = {"labse", "bilstm-deep", "static-normalized", "mpnet-mean", "bert-bf16"};
  (void)state;
  for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
    char path[64];
    snprintf(path, sizeof path, "golden/models/%s", models[m]);
    for (long n = 1;; n++) {
      cq_encoder *encoder = NULL;
      cq_error error = {0};
      cq_alloc_fail_at(n);
      cq_status status = cq_encoder_open(&encoder, tests_file(path), NULL, &error);
      const bool failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      if (!failed) {
        assert_int_equal(status, CQ_OK);
        cq_encoder_free(encoder);
        assert_true(n > 20);
        break;
      }
      if (status != CQ_ERR_MEMORY) fail_msg("%s: allocation %ld: status %d: %s", models[m], n, status, error.message);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_module_lists),      cmocka_unit_test(wrong_configurations),
      cmocka_unit_test(wrong_families),          cmocka_unit_test(wrong_normalize_modules),
      cmocka_unit_test(wrong_dense_modules),     cmocka_unit_test(wrong_weights),
      cmocka_unit_test(a_wrong_shape_is_told),   cmocka_unit_test(more_ids_than_rows),
      cmocka_unit_test(names_lead_to_the_cache), cmocka_unit_test(plain_directories_take_the_mean),
      cmocka_unit_test(lengths_are_found),       cmocka_unit_test(saving_minds_what_is_there),
      cmocka_unit_test(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
