/* Opening and saving model directories: where a name leads, what each file may say, and every way in which one can be
 * wrong: status and place are asserted. */
#include "support/files.h"

#include "base/memory.h"
#include "calque/calque.h"
#include "format/safetensors.h"
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

static unsigned char *find_bytes(unsigned char *bytes, size_t n, const char *text) {
  for (size_t i = 0; i + strlen(text) <= n; i++)
    if (memcmp(bytes + i, text, strlen(text)) == 0) return bytes + i;
  return NULL;
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
      {"[{\"path\":\"\",\"type\":\"sentence_transformers.models.BoW\"}]", CQ_ERR_UNSUPPORTED,
       "sentence_transformers.models.BoW"},
      {"[{\"path\":\"\",\"type\":\"other.Transformer\"}]", CQ_ERR_UNSUPPORTED,
       "other.Transformer' is not supported; the closest supported one: Transformer (supported: Transformer, Pooling"},
      {"[{\"path\":\"\",\"type\":\"sentence_transformers.models.Normalise\"}]", CQ_ERR_UNSUPPORTED,
       "the closest supported one: Normalize"},
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
  expect_refused("bert-uncased", "config_sentence_transformers.json", "{\"truncate_dim\":0}", CQ_ERR_FORMAT,
                 "config_sentence_transformers.json", "truncate_dim");
  expect_refused("bert-uncased", "config_sentence_transformers.json", "{\"truncate_dim\":\"8\"}", CQ_ERR_FORMAT,
                 "config_sentence_transformers.json", "truncate_dim");
  expect_refused("bert-uncased", "sentence_bert_config.json", "{\"max_seq_length\":0}", CQ_ERR_FORMAT,
                 "sentence_bert_config.json", "max_seq_length");
  expect_refused("bert-uncased", "sentence_bert_config.json",
                 "{\"model_args\":{\"add_pooling_layer\":false,\"dtype\":\"float16\"}}", CQ_ERR_UNSUPPORTED,
                 "sentence_bert_config.json", "model_args");
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

/* --- weights in several files --- */

#define INDEX "model.safetensors.index.json"

/* An index that names file `shard` for one tensor, with this total size; the other tensors are its own. */
static void wrong_indexes(void **state) {
  static const struct {
    const char *change; /* of the index, by sed */
    cq_status status;
    const char *file, *word;
  } cases[] = {
      {"s/weight_map/weights_map/", CQ_ERR_FORMAT, INDEX, "no object 'weight_map'"},
      {"s/00002-of-00003/00004-of-00003/", CQ_ERR_IO, "model-00004-of-00003.safetensors", ""},
      {"s|\"model-00001|\"../model-00001|", CQ_ERR_FORMAT, INDEX,
       "'../model-00001-of-00003.safetensors', expected the name"},
      {"s|\"model-00001|\"/model-00001|", CQ_ERR_FORMAT, INDEX, "expected the name of a file next to the index"},
      {"s|: \"model-00001-of-00003.safetensors\"|: \"..\"|", CQ_ERR_FORMAT, INDEX, "'..', expected the name"},
      {"s|: \"model-00001-of-00003.safetensors\"|: 1|", CQ_ERR_FORMAT, INDEX, "expected the name"},
      {"/embeddings.LayerNorm.bias/s/00001/00002/", CQ_ERR_FORMAT, INDEX,
       "tensor 'embeddings.LayerNorm.bias' lies in model-00001-of-00003.safetensors, the index says model-00002"},
      {"/embeddings.LayerNorm.bias/d", CQ_ERR_FORMAT, INDEX, "the index says nothing of it"},
      {"s/embeddings.LayerNorm.bias/embeddings.LayerNorm.boas/", CQ_ERR_FORMAT, INDEX, "embeddings.LayerNorm.bias"},
      {"s/\\(.*\\)embeddings.LayerNorm.bias\\(.*\\)/&\\n\\1more\\2/", CQ_ERR_FORMAT, INDEX,
       "tensor 'more' is not in model-00001-of-00003.safetensors"},
      {"s/\"total_size\": /&1/", CQ_ERR_FORMAT, INDEX, "total_size is 1"},
      {"s/\"total_size\": /&-/", CQ_ERR_FORMAT, INDEX, "total_size"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char command[2048];
    cq_encoder *encoder = NULL;
    cq_error error = {0};
    const char *path = copy_model("pool-sharded", "sharded");
    snprintf(command, sizeof command, "sed -i '%s' '%s/" INDEX "'", cases[i].change, path);
    assert_int_equal(system(command), 0);
    const cq_status status = cq_encoder_open(&encoder, path, NULL, &error);
    if (status != cases[i].status || !strstr(error.file, cases[i].file) || !strstr(error.message, cases[i].word))
      fail_msg("case %zu: status %d, expected %d: %s: %s", i, status, cases[i].status, error.file, error.message);
  }
}

/* --- static models --- */

static void wrong_static_models(void **state) {
  cq_encoder *encoder = NULL;
  cq_error error = {0};
  const char *path;
  (void)state;
  expect_refused("model2vec-mapping", "config_sentence_transformers.json", "{\"truncate_dim\":-3}", CQ_ERR_FORMAT,
                 "config_sentence_transformers.json", "truncate_dim");

  /* mapping: a row that is not there, too few, a type that is none of whole numbers; weights: too few */
  static const float table[4] = {1, 2, 3, 4};
  static const int32_t rows[3] = {0, 2, 1};
  const struct {
    cq_stored_tensor second;
    cq_status status;
    const char *word;
  } cases[] = {
      {{.name = "mapping", .dtype = CQ_I32, .n_dims = 1, .shape = {3}, .n_elements = 3, .data = rows},
       CQ_ERR_FORMAT,
       "element 1 of tensor 'mapping' is 2, expected 0 to 1"},
      {{.name = "mapping", .dtype = CQ_I32, .n_dims = 1, .shape = {1}, .n_elements = 1, .data = rows},
       CQ_ERR_FORMAT,
       "tensor 'mapping' has 1 rows"},
      {{.name = "mapping", .dtype = CQ_F32, .n_dims = 1, .shape = {3}, .n_elements = 3, .data = table},
       CQ_ERR_UNSUPPORTED,
       "tensor 'mapping' has dtype F32, expected I32 or I64"},
      {{.name = "mapping", .dtype = CQ_I32, .n_dims = 2, .shape = {1, 3}, .n_elements = 3, .data = rows},
       CQ_ERR_FORMAT,
       "tensor 'mapping' has shape [1, 3]"},
      {{.name = "weights", .dtype = CQ_F32, .n_dims = 1, .shape = {1}, .n_elements = 1, .data = table},
       CQ_ERR_FORMAT,
       "tensor 'weights' has shape [1], expected [2]"},
      {{.name = "biases", .dtype = CQ_F32, .n_dims = 1, .shape = {1}, .n_elements = 1, .data = table},
       CQ_ERR_UNSUPPORTED,
       "tensor 'biases'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    path = copy_model("model2vec-mapping", "changed");
    const cq_stored_tensor tensors[2] = {
        {.name = "embeddings", .dtype = CQ_F32, .n_dims = 2, .shape = {2, 2}, .n_elements = 4, .data = table},
        cases[i].second};
    assert_int_equal(cq_safetensors_write(file_of("changed", "model.safetensors"), tensors, 2, NULL, NULL), CQ_OK);
    const cq_status status = cq_encoder_open(&encoder, path, NULL, &error);
    if (status != cases[i].status || !strstr(error.message, cases[i].word))
      fail_msg("case %zu: status %d, expected %d: %s", i, status, cases[i].status, error.message);
  }
}

static void wrong_other_modules(void **state) {
  static const struct {
    const char *model, *file, *text;
    cq_status status;
    const char *word;
  } cases[] = {
      {"cnn", "1_CNN/cnn_config.json", "{\"in_embedding_dimension\":9}", CQ_ERR_FORMAT, "tokens of 9 dimensions"},
      {"cnn", "1_CNN/cnn_config.json", "{\"in_embedding_dimension\":10,\"out_channels\":7,\"kernel_sizes\":[1,4,5]}",
       CQ_ERR_UNSUPPORTED, "kernel size 4"},
      {"cnn", "1_CNN/cnn_config.json", "{\"in_embedding_dimension\":10,\"out_channels\":7,\"kernel_sizes\":[]}",
       CQ_ERR_FORMAT, "kernel_sizes"},
      {"cnn", "1_CNN/cnn_config.json",
       "{\"in_embedding_dimension\":10,\"out_channels\":7,\"kernel_sizes\":[1,\"3\",5]}", CQ_ERR_FORMAT,
       "kernel size 0"},
      {"cnn", "1_CNN/cnn_config.json",
       "{\"in_embedding_dimension\":10,\"out_channels\":7,\"kernel_sizes\":[1,3,5],\"stride_sizes\":[1,2,1]}",
       CQ_ERR_UNSUPPORTED, "stride_sizes"},
      {"cnn", "1_CNN/cnn_config.json",
       "{\"in_embedding_dimension\":10,\"out_channels\":7,\"kernel_sizes\":[1,3,5],\"stride_sizes\":[1]}",
       CQ_ERR_FORMAT, "stride_sizes"},
      {"cnn", "1_CNN/cnn_config.json", "{\"in_embedding_dimension\":10,\"out_channels\":7,\"kernel_sizes\":[1,5,3]}",
       CQ_ERR_FORMAT, "tensor 'convs.1.weight' has shape [7, 10, 3], expected [7, 10, 5]"},
      {"cnn", "1_CNN/cnn_config.json", "{\"in_embedding_dimension\":10,\"out_channels\":7,\"kernel_sizes\":[1,3]}",
       CQ_ERR_UNSUPPORTED, "tensor 'convs.2"},
      {"pool-norm-dropout", "2_LayerNorm/config.json", "{\"dimension\":13}", CQ_ERR_FORMAT, "dimension is 13"},
      {"pool-norm-dropout", "2_LayerNorm/model.safetensors", NULL, CQ_ERR_IO, ""},
      {"pool-norm-dropout", "3_Dropout/config.json", "{\"dropout\":1}", CQ_ERR_FORMAT, "key 'dropout' is 1"},
      {"pool-norm-dropout", "3_Dropout/config.json", "{\"dropout\":\"x\"}", CQ_ERR_FORMAT, "dropout"},
      {"weighted-layers", "1_WeightedLayerPooling/config.json",
       "{\"embedding_dimension\":24,\"layer_start\":1,\"num_hidden_layers\":3}", CQ_ERR_FORMAT,
       "3 layers of 24 dimensions, the Transformer has 2 of 24"},
      {"weighted-layers", "1_WeightedLayerPooling/config.json",
       "{\"embedding_dimension\":24,\"layer_start\":0,\"num_hidden_layers\":2}", CQ_ERR_FORMAT,
       "tensor 'layer_weights' has shape [2], expected [3]"},
      {"weighted-layers", "1_WeightedLayerPooling/config.json",
       "{\"embedding_dimension\":24,\"layer_start\":3,\"num_hidden_layers\":2}", CQ_ERR_FORMAT, "layer_start"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect_refused(cases[i].model, cases[i].file, cases[i].text, cases[i].status, "", cases[i].word);
  cq_error error;
  char command[1024];
  cq_encoder *encoder = NULL;
  const char *path = copy_model("weighted-layers", "changed");
  snprintf(command, sizeof command, "sed -i s/output_hidden_states/no_hidden_states/ '%s/config.json'", path);
  assert_int_equal(system(command), 0);
  assert_int_equal(cq_encoder_open(&encoder, path, NULL, &error), CQ_ERR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "output_hidden_states"));
  path = copy_model("weighted-layers", "changed");
  assert_int_equal(cq_encoder_open(&encoder, path, NULL, &error), CQ_OK);
  assert_int_equal(cq_encoder_make_trainable(encoder, NULL, &error), CQ_ERR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "WeightedLayerPooling"));
  cq_encoder_free(encoder);
}

#define STATIC "\"sentence_transformers.models.StaticEmbedding\""

static void wrong_routers(void **state) {
  static const struct {
    const char *text;
    cq_status status;
    const char *word;
  } cases[] = {
      {"[]", CQ_ERR_FORMAT, "'types' is not an object with members"},
      {"{\"types\":{},\"structure\":{}}", CQ_ERR_FORMAT, "'types'"},
      {"{\"types\":{\"a\":" STATIC "},\"structure\":[]}", CQ_ERR_FORMAT, "'structure'"},
      {"{\"types\":{\"a\":" STATIC "},\"structure\":{\"query\":1}}", CQ_ERR_FORMAT, "route 'query' is not a list"},
      {"{\"types\":{\"a\":" STATIC "},\"structure\":{\"query\":[]}}", CQ_ERR_FORMAT, "route 'query' is not a list"},
      {"{\"types\":{\"a\":" STATIC "},\"structure\":{\"query\":[\"b\"]}}", CQ_ERR_FORMAT,
       "module 0 of the route 'query' has no type"},
      {"{\"types\":{\"../a\":" STATIC "},\"structure\":{\"query\":[\"../a\"]}}", CQ_ERR_FORMAT, "outside"},
      {"{\"types\":{\"a\":\"my.Module\"},\"structure\":{\"query\":[\"a\"]}}", CQ_ERR_UNSUPPORTED, "my.Module"},
      {"{\"types\":{\"a\":" STATIC "},\"structure\":{\"query\":[\"a\"]},"
       "\"parameters\":{\"default_route\":\"answer\"}}",
       CQ_ERR_FORMAT, "route 'answer' is not a list"},
      {"{\"types\":{\"a\":" STATIC "},\"structure\":{\"query\":[\"a\"],\"document\":[\"a\"]},"
       "\"parameters\":{\"allow_empty_key\":false}}",
       CQ_ERR_ARGUMENT, "no route without a task, there are query, document"},
      {"{\"types\":{\"a\":" STATIC "},\"structure\":{\"query\":[\"a\"]},"
       "\"parameters\":{\"route_mappings\":{\"(None, 'text')\":\"other\"}}}",
       CQ_ERR_FORMAT, "route 'other' is not a list"},
      {"{\"types\":{\"a\":" STATIC "},\"structure\":{\"query\":[\"a\"]}}", CQ_ERR_IO, ""},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect_refused("router", "router_config.json", cases[i].text, cases[i].status, "", cases[i].word);
}

/* Opens a model with the first `from` of its config.json replaced by `to`. */
static cq_status open_edited(const char *model, const char *from, const char *to, cq_error *error) {
  char path[120], text[4096];
  size_t n;
  snprintf(path, sizeof path, "golden/models/%s/config.json", model);
  unsigned char *bytes = read_bytes(&n, tests_file(path));
  const char *at = (const char *)find_bytes(bytes, n, from);
  assert_non_null(at);
  const int n_before = (int)(at - (const char *)bytes), n_after = (int)n - n_before - (int)strlen(from);
  snprintf(text, sizeof text, "%.*s%s%.*s", n_before, (const char *)bytes, to, n_after, at + strlen(from));
  free(bytes);
  return open_changed(model, "config.json", text, error);
}

static void wrong_sizes_of_older_encoders(void **state) {
  static const struct {
    const char *model, *from, *to;
    cq_status status;
    const char *file, *message;
  } cases[] = {
      {"electra", "\"embedding_size\": 20", "\"embedding_size\": 21", CQ_ERR_FORMAT, "model.safetensors",
       "tensor 'embeddings.word_embeddings.weight' has shape [420, 20], expected [420, 21]"},
      {"electra", "\"hidden_size\": 24", "\"hidden_size\": 27", CQ_ERR_FORMAT, "model.safetensors",
       "tensor 'embeddings_project.weight' has shape [24, 20], expected [27, 20]"},
      {"electra-equal", "\"hidden_size\": 24", "\"hidden_size\": 27", CQ_ERR_FORMAT, "model.safetensors",
       "tensor 'embeddings_project.weight' is missing"},
      {"electra", "\"embedding_size\": 20", "\"embedding_size\": 0", CQ_ERR_FORMAT, "config.json", "embedding_size"},
      {"electra", "\"embedding_size\": 20", "\"embedding_size\": 65537", CQ_ERR_FORMAT, "config.json",
       "embedding_size"},
      {"electra", "\"embedding_size\": 20", "\"embedding_size\": 25", CQ_ERR_FORMAT, "model.safetensors",
       "tensor 'embeddings.word_embeddings.weight' has shape [420, 20], expected [420, 25]"},
      {"electra", "\"embedding_size\": 20", "\"embedding_size\": null", CQ_ERR_FORMAT, "model.safetensors",
       "tensor 'embeddings.word_embeddings.weight' has shape [420, 20], expected [420, 128]"},
      {"albert-groups", "\"num_hidden_groups\": 2", "\"num_hidden_groups\": 3", CQ_ERR_FORMAT, "config.json",
       "num_hidden_groups 3 does not divide num_hidden_layers 4"},
      {"albert-groups", "\"inner_group_num\": 2", "\"inner_group_num\": 3", CQ_ERR_FORMAT, "model.safetensors",
       "'encoder.albert_layer_groups.0.albert_layers.2.attention.query.weight' is missing"},
      {"albert-groups", "\"num_hidden_groups\": 2", "\"num_hidden_groups\": 1", CQ_ERR_UNSUPPORTED, "model.safetensors",
       "'encoder.albert_layer_groups.1."},
      {"ernie", "\"task_type_vocab_size\": 3", "\"task_type_vocab_size\": 4", CQ_ERR_FORMAT, "model.safetensors",
       "'embeddings.task_type_embeddings.weight' has shape [3, 24], expected [4, 24]"},
      {"deberta", "\"c2p\"", "\"p2p\"", CQ_ERR_UNSUPPORTED, "config.json", "pos_att_type 'p2p' is not supported"},
      {"deberta", "\"c2p\"", "7", CQ_ERR_FORMAT, "config.json", "item 2 of 'pos_att_type' is not a string"},
      {"deberta", "\"position_buckets\": 8", "\"position_buckets\": 9", CQ_ERR_FORMAT, "model.safetensors",
       "tensor 'encoder.rel_embeddings.weight' has shape [16, 24], expected [18, 24]"},
      {"deberta", "\"position_buckets\": 8", "\"position_buckets\": 3", CQ_ERR_FORMAT, "config.json",
       "position_buckets 3, expected at least 4"},
      {"deberta", "\"share_att_key\": true", "\"share_att_key\": false", CQ_ERR_FORMAT, "model.safetensors",
       "'encoder.layer.0.attention.self.pos_key_proj.weight' is missing"},
      {"deberta", "\"share_att_key\": true", "\"share_att_key\": true, \"conv_kernel_size\": 3", CQ_ERR_UNSUPPORTED,
       "config.json", "conv_kernel_size 3"},
      {"deberta", "\"share_att_key\": true", "\"share_att_key\": true, \"embedding_size\": 20", CQ_ERR_UNSUPPORTED,
       "config.json", "embedding_size 20"},
      {"t5", "\"feed_forward_proj\": \"relu\"", "\"feed_forward_proj\": \"gated-step\"", CQ_ERR_UNSUPPORTED,
       "config.json", "feed_forward_proj 'gated-step' is not supported"},
      {"t5", "\"feed_forward_proj\": \"relu\"", "\"feed_forward_proj\": \"gated-gelu\"", CQ_ERR_FORMAT,
       "model.safetensors", "'encoder.block.0.layer.1.DenseReluDense.wi_0.weight' is missing"},
      {"t5-gated", "\"feed_forward_proj\": \"gated-gelu\"", "\"feed_forward_proj\": \"relu\"", CQ_ERR_FORMAT,
       "model.safetensors", "'encoder.block.0.layer.1.DenseReluDense.wi.weight' is missing"},
      {"t5", "\"relative_attention_max_distance\": 128", "\"relative_attention_max_distance\": 64", CQ_ERR_UNSUPPORTED,
       "config.json", "relative_attention_max_distance"},
      {"t5", "\"relative_attention_num_buckets\": 10", "\"relative_attention_num_buckets\": 12", CQ_ERR_FORMAT,
       "model.safetensors", "has shape [10, 3], expected [12, 3]"},
      {"t5", "\"d_kv\": 10", "\"d_kv\": 8", CQ_ERR_FORMAT, "model.safetensors",
       "'encoder.block.0.layer.0.SelfAttention.q.weight' has shape [30, 24], expected [24, 24]"},
      {"xlmr-xl", "\"max_position_embeddings\": 42", "\"max_position_embeddings\": 2", CQ_ERR_FORMAT, "config.json",
       "max_position_embeddings 2 leaves no position after pad_token_id 1"},
      {"xlmr-xl", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3", CQ_ERR_FORMAT, "model.safetensors",
       "'encoder.layer.2.attention.self_attn_layer_norm.weight' is missing"},
      {"deberta", "\"norm_rel_ebd\": \"layer_norm\"", "\"norm_rel_ebd\": \"none\"", CQ_ERR_UNSUPPORTED,
       "model.safetensors", "'encoder.LayerNorm."},
  };
  cq_error error;
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const cq_status status = open_edited(cases[i].model, cases[i].from, cases[i].to, &error);
    if (status != cases[i].status || !strstr(error.file, cases[i].file) || !strstr(error.message, cases[i].message))
      fail_msg("%s with %s: status %d in '%s': %s", cases[i].model, cases[i].to, status, error.file, error.message);
  }
  expect_refused("deberta-spm", "tokenizer_config.json", "{\"tokenizer_class\":\"XLNetTokenizer\"}", CQ_ERR_UNSUPPORTED,
                 "spm.model", "'XLNetTokenizer' without tokenizer.json");
  /* Task types that are there and not used are no fault. */
  assert_int_equal(open_edited("ernie", "\"use_task_id\": true", "\"use_task_id\": false", &error), CQ_OK);
}

static void deberta_is_not_trained(void **state) {
  cq_encoder *encoder = NULL;
  cq_error error = {0};
  (void)state;
  assert_int_equal(cq_encoder_open(&encoder, tests_file("golden/models/deberta"), NULL, &error), CQ_OK);
  assert_int_equal(cq_encoder_make_trainable(encoder, NULL, &error), CQ_ERR_UNSUPPORTED);
  assert_non_null(strstr(error.file, "golden/models/deberta"));
  assert_non_null(strstr(error.message, "training is not supported for disentangled attention"));
  cq_encoder_free(encoder);
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
      {2, "\"rope_scaling\":{\"rope_type\":\"dynamic\"}", "rope_type 'dynamic'", CQ_ERR_UNSUPPORTED},
      {2, "\"rope_scaling\":{\"rope_type\":\"linear\"}", "'factor' is missing", CQ_ERR_FORMAT},
      {2, "\"rope_parameters\":{\"rope_theta\":1}", "rope_theta is 1, expected above 1", CQ_ERR_FORMAT},
      {2, "\"rope_parameters\":{\"sliding_attention\":{\"rope_type\":\"dynamic\"}}", "rope_type 'dynamic'",
       CQ_ERR_UNSUPPORTED},
      {2, "\"rope_parameters\":{\"full_attention\":7}", "not an object", CQ_ERR_FORMAT},
      {2, "\"layer_types\":[\"full_attention\"]", "no string for layer 1", CQ_ERR_FORMAT},
      {2, "\"layer_types\":[\"linear_attention\"]", "'linear_attention' is not supported", CQ_ERR_UNSUPPORTED},
      {2, "\"hidden_activation\":\"mish\"", "activation 'mish' of key 'hidden_activation'", CQ_ERR_UNSUPPORTED},
      {2, "\"global_attn_every_n_layers\":0", "global_attn_every_n_layers", CQ_ERR_FORMAT},
      {2, "\"attention_dropout\":1", "'attention_dropout' is 1", CQ_ERR_FORMAT},
      {2, "\"local_rope_theta\":-3", "rope_theta is -3", CQ_ERR_FORMAT},
      {5, "\"norm_eps\":1e-5", "hidden_size 24 is not a multiple of num_attention_heads 5", CQ_ERR_FORMAT},
      {24, "\"norm_eps\":1e-5", "head_dim 1 is not even", CQ_ERR_FORMAT},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[400];
    snprintf(text, sizeof text, modernbert, cases[i].n_heads, cases[i].key);
    expect_refused("modernbert", "config.json", text, cases[i].status, "config.json", cases[i].word);
  }
  expect_refused("modernbert", "config.json", "{\"model_type\":\"modernbert-decoder\"}", CQ_ERR_UNSUPPORTED,
                 "config.json",
                 "'modernbert-decoder' is not supported; the closest supported one: modernbert (supported: bert, ");
  expect_refused("modernbert", "config.json", "{\"model_type\":\"xq\"}", CQ_ERR_UNSUPPORTED, "config.json",
                 "'xq' is not supported (supported: bert, ");
  expect_refused("modernbert", "config.json", "{\"model_type\":\"modernbert\"}", CQ_ERR_FORMAT, "config.json",
                 "key 'hidden_size' is missing");
  expect_refused("nomic", "config.json", "{\"model_type\":\"nomic_bert\",\"prenorm\":true}", CQ_ERR_UNSUPPORTED,
                 "config.json", "key 'prenorm' with value true");
  cq_error error = {0};
  assert_int_equal(open_edited("nomic", "\"rotary_scaling_factor\": null", "\"rotary_scaling_factor\": \"2\"", &error),
                   CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "rotary_scaling_factor"));
  expect_refused("jina-v2", "config.json",
                 "{\"model_type\":\"bert\",\"position_embedding_type\":\"alibi\",\"hidden_size\":24,"
                 "\"intermediate_size\":28,\"num_attention_heads\":6,\"num_hidden_layers\":4,\"vocab_size\":420,"
                 "\"feed_forward_type\":\"original\"}",
                 CQ_ERR_UNSUPPORTED, "config.json", "feed_forward_type 'original'");
}

/* Tasks' weights that the configuration and the file disagree about. */
static void wrong_adaptations(void **state) {
  static const struct {
    const char *what, *to, *word;
    cq_status status;
  } cases[] = {
      {"\"lora_rank\": 3", "\"lora_rank\": 2", "lora_A' has shape [3, 420, 3], expected [3, 420, 2]", CQ_ERR_FORMAT},
      {"\"lora_rank\": 3", "\"lora_rank\": \"3\"", "lora_rank", CQ_ERR_FORMAT},
      {"\"lora_rank\": 3", "\"lora_rank\": 0", "lora_rank", CQ_ERR_FORMAT},
      {"\"lora_alpha\": 2", "\"lora_alpha\": []", "lora_alpha", CQ_ERR_FORMAT},
      {"\"retrieval.query\",", "", "expected [2, 420, 3]", CQ_ERR_FORMAT},
      {"\"lora_adaptations\": [", "\"lora_adaptations\": [7,", "element 0 of 'lora_adaptations'", CQ_ERR_FORMAT},
      {"\"lora_adaptations\": [", "\"lora_adaptations\": 1, \"x\": [", "not a list", CQ_ERR_FORMAT},
      {"\"lora_adaptations\"", "\"no_adaptations\"", "tensor 'embeddings.word_embeddings.weight' is missing",
       CQ_ERR_FORMAT},
      {"\"rotary_emb_base\": 200.0", "\"rotary_emb_base\": \"200\"", "rotary_emb_base", CQ_ERR_FORMAT},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_error error = {0};
    const cq_status status = open_edited("jina-v3", cases[i].what, cases[i].to, &error);
    if (status != cases[i].status || !strstr(error.message, cases[i].word))
      fail_msg("%s: status %d: %s", cases[i].to, status, error.message);
  }
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
  static const char *const models[] = {"labse",
                                       "bilstm-deep",
                                       "static-normalized",
                                       "mpnet-mean",
                                       "bert-bf16",
                                       "pool-sharded",
                                       "model2vec-mapping",
                                       "router",
                                       "cnn",
                                       "weighted-layers",
                                       "pool-norm-dropout",
                                       "albert-groups",
                                       "deberta-plain",
                                       "t5"};
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
      cmocka_unit_test(wrong_indexes),           cmocka_unit_test(wrong_routers),
      cmocka_unit_test(wrong_adaptations),       cmocka_unit_test(wrong_other_modules),
      cmocka_unit_test(wrong_static_models),     cmocka_unit_test(wrong_sizes_of_older_encoders),
      cmocka_unit_test(deberta_is_not_trained),  cmocka_unit_test(wrong_normalize_modules),
      cmocka_unit_test(wrong_dense_modules),     cmocka_unit_test(wrong_weights),
      cmocka_unit_test(a_wrong_shape_is_told),   cmocka_unit_test(more_ids_than_rows),
      cmocka_unit_test(names_lead_to_the_cache), cmocka_unit_test(plain_directories_take_the_mean),
      cmocka_unit_test(lengths_are_found),       cmocka_unit_test(saving_minds_what_is_there),
      cmocka_unit_test(wrong_families),          cmocka_unit_test(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
