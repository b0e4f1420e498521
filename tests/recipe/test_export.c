/* Exported models: the ONNX file read back as a graph, the GGUF file's head and tensors, and what is refused. What
 * onnxruntime computes is compared in bench/export.sh. */
#define _GNU_SOURCE /* memmem */
#include "support/files.h"

#include "base/file.h"
#include "base/memory.h"
#include "calque/calque.h"
#include "format/half.h"
#include "format/json.h"
#include "format/protobuf.h"
#include "model/encoder.h"

#include <math.h>

static const char *golden(const char *name) {
  static char path[1200];
  snprintf(path, sizeof path, "%s/%s", tests_file("golden/models"), name);
  return path;
}

static cq_status export_as(const char *name, cq_export_format to, unsigned precisions, cq_error *error) {
  cq_export_options o = cq_export_default_options();
  o.to = to, o.precisions = precisions;
  *error = (cq_error){0};
  cq_directory_remove(test_path("out"));
  return cq_export(test_path("out"), golden(name), &o, error);
}

static void must_export(const char *name, cq_export_format to, unsigned precisions) {
  cq_error error;
  if (export_as(name, to, precisions, &error)) fail_msg("%s: %s", name, error.message);
}

enum { ALL = 1 << CQ_EXPORT_F32 | 1 << CQ_EXPORT_F16 | 1 << CQ_EXPORT_INT8 };

/* ---- a graph ---- */

enum { MAX = 1000 };
typedef struct graph {
  unsigned char *bytes;
  char ends[400]; /* "input_ids;...>sentence_embedding;..." */
  struct tensor {
    cq_slice name, data;
    int64_t dims[4], type;
    int n_dims;
  } tensors[MAX];
  cq_slice values[4 * MAX]; /* known so far */
  size_t n_tensors, n_values, n_nodes;
  uint64_t ir_version, opset;
} graph;

static bool is_known(const graph *g, cq_slice name) {
  for (size_t i = 0; i < g->n_values; i++)
    if (cq_slice_equal(g->values[i], name)) return true;
  return name.n == 0;
}

static void read_tensor(graph *g, const cq_proto_reader *r, const cq_proto_field *field) {
  struct tensor *t = &g->tensors[g->n_tensors++];
  cq_proto_reader in = cq_proto_inside(r, field);
  cq_proto_field f;
  assert_true(g->n_tensors < MAX);
  while (cq_proto_next(&f, &in)) {
    if (f.number == 1) t->dims[t->n_dims++] = (int64_t)f.varint;
    if (f.number == 2) t->type = (int64_t)f.varint;
    if (f.number == 8) t->name = cq_proto_bytes(&in, &f);
    if (f.number == 9) t->data = cq_proto_bytes(&in, &f);
  }
  static const size_t sizes[] = {[1] = 4, [2] = 1, [7] = 8, [10] = 2};
  size_t n = sizes[t->type];
  for (int i = 0; i < t->n_dims; i++) n *= (size_t)t->dims[i];
  assert_int_equal(t->data.n, n);
  assert_false(is_known(g, t->name));
  g->values[g->n_values++] = t->name;
}

static void read_end(graph *g, const cq_proto_reader *r, const cq_proto_field *field) {
  cq_proto_reader in = cq_proto_inside(r, field);
  cq_proto_field f;
  assert_true(cq_proto_next(&f, &in) && f.number == 1);
  const cq_slice name = cq_proto_bytes(&in, &f);
  if (field->number == 12 && !strchr(g->ends, '>')) strcat(g->ends, ">");
  strncat(g->ends, name.data, name.n);
  strcat(g->ends, ";");
  if (field->number == 11) g->values[g->n_values++] = name;
  if (field->number == 12) assert_true(is_known(g, name));
}

/* Each input of a node is a value that comes before it. */
static void read_node(graph *g, const cq_proto_reader *r, const cq_proto_field *field) {
  cq_proto_reader in = cq_proto_inside(r, field);
  cq_proto_field f;
  g->n_nodes++;
  while (cq_proto_next(&f, &in)) {
    const cq_slice text = f.wire == 2 ? cq_proto_bytes(&in, &f) : (cq_slice){"", 0};
    if (f.number == 1 && !is_known(g, text)) fail_msg("unknown value %.*s", (int)text.n, text.data);
    if (f.number == 2) g->values[g->n_values++] = text;
    assert_true(g->n_values < 4 * MAX);
  }
}

static graph *read_graph(const char *name) {
  graph *g = calloc(1, sizeof *g);
  size_t n;
  cq_error error = {0};
  cq_proto_field f;
  assert_non_null(g);
  g->bytes = read_bytes(&n, test_path(name));
  cq_proto_reader r = cq_proto_open((cq_slice){(char *)g->bytes, n}, name, "a graph", &error);
  while (cq_proto_next(&f, &r)) {
    if (f.number == 1) g->ir_version = f.varint;
    if (f.number == 8) {
      cq_proto_reader in = cq_proto_inside(&r, &f);
      while (cq_proto_next(&f, &in))
        if (f.number == 2) g->opset = f.varint;
    } else if (f.number == 7) {
      /* Names of inputs and weights first: a file may have them after the nodes. */
      static const uint64_t order[] = {11, 5, 1, 12};
      for (int pass = 0; pass < 4; pass++) {
        cq_proto_reader in = cq_proto_inside(&r, &f);
        cq_proto_field part;
        while (cq_proto_next(&part, &in)) {
          if (part.number != order[pass]) continue;
          (part.number == 5 ? read_tensor : part.number == 1 ? read_node : read_end)(g, &in, &part);
        }
        assert_int_equal(in.status, CQ_OK);
      }
    }
  }
  assert_int_equal(r.status, CQ_OK);
  return g;
}

static const struct tensor *tensor_of(const graph *g, const char *name) {
  for (size_t i = 0; i < g->n_tensors; i++)
    if (cq_slice_equal(g->tensors[i].name, cq_slice_of(name))) return &g->tensors[i];
  fail_msg("no initializer %s", name);
  return NULL;
}

static void free_graph(graph *g) {
  free(g->bytes);
  free(g);
}

static const cq_param *param_of(const cq_encoder *e, const char *name) {
  for (size_t i = 0; i < e->params.n; i++)
    if (!strcmp(e->params.items[i]->name, name)) return e->params.items[i];
  fail_msg("no parameter %s", name);
  return NULL;
}

static float float_at(const struct tensor *t, int64_t i) {
  float x;
  memcpy(&x, t->data.data + i * 4, sizeof x);
  return x;
}

static const char words[] = "embeddings.word_embeddings.weight", up[] = "encoder.layer.0.intermediate.dense.weight";

static cq_encoder *open_golden(const char *name) {
  cq_error error = {0};
  cq_encoder *e;
  cq_encoder_options o = cq_encoder_default_options();
  o.precision = CQ_PRECISION_F32;
  if (cq_encoder_open(&e, golden(name), &o, &error)) fail_msg("%s", error.message);
  return e;
}

static void weights_are_the_models(void **state) {
  (void)state;
  must_export("plain-bert", CQ_EXPORT_ONNX, ALL);
  cq_encoder *e = open_golden("plain-bert");
  const cq_param *table = param_of(e, words), *matrix = param_of(e, up);
  graph *g = read_graph("out/onnx/model.onnx");
  assert_int_equal(g->ir_version, 8);
  assert_int_equal(g->opset, 17);
  assert_string_equal(g->ends, "input_ids;attention_mask;token_type_ids;>sentence_embedding;last_hidden_state;");
  const struct tensor *t = tensor_of(g, words);
  assert_true(t->type == 1 && t->dims[0] == table->rows && t->dims[1] == table->cols);
  assert_memory_equal(t->data.data, table->value, t->data.n);
  t = tensor_of(g, up); /* transposed, for x W^T */
  assert_true(t->dims[0] == matrix->cols && t->dims[1] == matrix->rows);
  for (int64_t i = 0; i < matrix->rows; i++)
    for (int64_t j = 0; j < matrix->cols; j++)
      assert_true(float_at(t, j * matrix->rows + i) == matrix->value[i * matrix->cols + j]);
  free_graph(g);

  g = read_graph("out/onnx/model_fp16.onnx");
  t = tensor_of(g, words);
  assert_int_equal(t->type, 10);
  for (int64_t i = 0; i < cq_param_floats(table); i++) {
    uint16_t half;
    memcpy(&half, t->data.data + 2 * i, sizeof half);
    assert_int_equal(half, cq_f32_to_f16(table->value[i]));
  }
  free_graph(g);

  g = read_graph("out/onnx/model_quantized.onnx");
  char name[100];
  snprintf(name, sizeof name, "%s_quantized", up);
  t = tensor_of(g, name);
  snprintf(name, sizeof name, "%s_scale", up);
  const struct tensor *scales = tensor_of(g, name);
  assert_true(t->type == 2 && scales->n_dims == 1 && scales->dims[0] == matrix->rows);
  for (int64_t i = 0; i < matrix->rows; i++)
    for (int64_t j = 0; j < matrix->cols; j++) {
      const float q = (float)(uint8_t)t->data.data[j * matrix->rows + i] - 128, scale = float_at(scales, i);
      assert_true(fabsf(q * scale - matrix->value[i * matrix->cols + j]) <= scale * 0.501f);
    }
  free_graph(g);
  cq_encoder_free(e);
}

/* The other models' graphs are whole: each value is computed before it is used. */
static void families_are_whole_graphs(void **state) {
  static const struct {
    const char *name, *ends;
  } models[] = {{"electra", "input_ids;attention_mask;token_type_ids;>sentence_embedding;last_hidden_state;"},
                {"xlmr-model", "input_ids;attention_mask;>sentence_embedding;last_hidden_state;"},
                {"modernbert", "input_ids;attention_mask;>sentence_embedding;last_hidden_state;"},
                {"mpnet-mean", "input_ids;attention_mask;>sentence_embedding;last_hidden_state;"},
                {"jina-v2", "input_ids;attention_mask;token_type_ids;>sentence_embedding;last_hidden_state;"},
                {"qwen3-last", "input_ids;attention_mask;>sentence_embedding;last_hidden_state;"},
                {"pool-all-old", "input_ids;attention_mask;token_type_ids;>sentence_embedding;last_hidden_state;"},
                {"weighted-layers", "input_ids;attention_mask;token_type_ids;>sentence_embedding;last_hidden_state;"},
                {"model2vec-mapping", "input_ids;attention_mask;>sentence_embedding;"}};
  (void)state;
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    must_export(models[i].name, CQ_EXPORT_ONNX, ALL);
    static const char *const files[] = {"out/onnx/model.onnx", "out/onnx/model_fp16.onnx",
                                        "out/onnx/model_quantized.onnx"};
    for (size_t f = 0; f < 3; f++) {
      graph *g = read_graph(files[f]);
      if (strcmp(g->ends, models[i].ends) != 0) fail_msg("%s: %s", models[i].name, g->ends);
      assert_true(g->n_nodes > 8);
      free_graph(g);
    }
  }
}

/* ---- files beside it ---- */

static json_t *json_of(const char *name) {
  json_t *json;
  cq_error error = {0};
  if (cq_json_read(&json, test_path(name), &error)) fail_msg("%s", error.message);
  return json;
}

static void tokenizers_do_what_calque_does(void **state) {
  (void)state;
  must_export("static-mean", CQ_EXPORT_ONNX, 0);
  assert_false(cq_file_exists(test_path("out/onnx/model_fp16.onnx")));
  json_t *tokenizer = json_of("out/tokenizer.json"), *config = json_of("out/tokenizer_config.json"),
         *model = json_of("out/config.json");
  assert_true(json_is_null(json_object_get(tokenizer, "post_processor"))); /* no special tokens */
  assert_true(json_integer_value(json_object_get(config, "model_max_length")) > 0);
  assert_true(json_is_string(json_object_get(config, "pad_token")));
  assert_string_equal(json_string_value(json_object_get(model, "model_type")), "model2vec");
  assert_true(json_is_integer(json_object_get(model, "pad_token_id")));
  json_decref(tokenizer), json_decref(config), json_decref(model);

  must_export("bert-lower", CQ_EXPORT_ONNX, 0); /* do_lower_case of sentence_bert_config.json */
  tokenizer = json_of("out/tokenizer.json");
  const json_t *steps = json_object_get(json_object_get(tokenizer, "normalizer"), "normalizers");
  assert_string_equal(json_string_value(json_object_get(json_array_get(steps, 0), "type")), "Lowercase");
  assert_int_equal(json_array_size(steps), 2);
  json_decref(tokenizer);

  must_export("roberta-files", CQ_EXPORT_ONNX, 0); /* of vocab.json and merges.txt */
  tokenizer = json_of("out/tokenizer.json");
  const json_t *decoder = json_object_get(tokenizer, "decoder"); /* the library requires both */
  assert_true(json_is_boolean(json_object_get(decoder, "add_prefix_space")) &&
              json_is_boolean(json_object_get(decoder, "trim_offsets")));
  json_decref(tokenizer);
}

/* ---- GGUF ---- */

static void gguf_has_aligned_tensors(void **state) {
  (void)state;
  must_export("plain-xlmr", CQ_EXPORT_GGUF, ALL);
  cq_encoder *e = open_golden("plain-xlmr");
  size_t n;
  unsigned char *bytes = read_bytes(&n, test_path("out/model-f32.gguf"));
  uint64_t counts[2];
  assert_memory_equal(bytes, "GGUF\x03\0\0\0", 8);
  memcpy(counts, bytes + 8, sizeof counts);
  assert_true(counts[0] > 16 && counts[1] > 20);
  /* The first tensor: its name, dimensions (the width first), type and offset; its data is the last multiple of 32 after
   * all heads, so it is found by its bytes. */
  static const char name[] = "token_embd.weight", positions[] = "position_embd.weight";
  const cq_param *table = param_of(e, words), *places = param_of(e, "embeddings.position_embeddings.weight");
  const unsigned char *at = memmem(bytes, n, name, sizeof name - 1), *data, *second;
  assert_non_null(at);
  uint64_t dims[2], offset;
  uint32_t n_dims, type;
  at += sizeof name - 1;
  memcpy(&n_dims, at, 4), memcpy(dims, at + 4, 16), memcpy(&type, at + 20, 4), memcpy(&offset, at + 24, 8);
  assert_true(n_dims == 2 && type == 0 && offset == 0);
  assert_true(dims[0] == (uint64_t)table->cols && dims[1] == (uint64_t)table->rows);
  data = memmem(bytes, n, table->value, (size_t)cq_param_floats(table) * 4);
  assert_non_null(data);
  assert_int_equal((data - bytes) % 32, 0);
  /* Positions begin after those of padding, at their offset. */
  at = memmem(bytes, n, positions, sizeof positions - 1);
  assert_non_null(at);
  at += sizeof positions - 1;
  memcpy(dims, at + 4, 16), memcpy(&offset, at + 24, 8);
  assert_int_equal(dims[1], places->rows - 2);
  second = data + offset;
  assert_int_equal(offset % 32, 0);
  assert_memory_equal(second, places->value + 2 * places->cols, (size_t)((places->rows - 2) * places->cols) * 4);
  assert_non_null(memmem(bytes, n, "precompiled_charsmap", 20));
  free(bytes);
  cq_encoder_free(e);
}

/* ---- what is refused ---- */

static void expect_refused(const char *name, cq_export_format to, const char *words_of_it) {
  cq_error error;
  const cq_status status = export_as(name, to, 0, &error);
  if (status != CQ_ERR_UNSUPPORTED || !strstr(error.message, words_of_it)) fail_msg("%s: %s", name, error.message);
  assert_false(cq_file_exists(test_path("out")));
  assert_int_equal(count_files("out"), 0);
}

static void the_module_is_named(void **state) {
  (void)state;
  expect_refused("bilstm-max", CQ_EXPORT_ONNX, "module 1 (WordEmbeddings) cannot be exported to ONNX");
  expect_refused("deberta", CQ_EXPORT_ONNX,
                 "module 1 (Transformer, deberta-v2) cannot be exported to ONNX: disentangled");
  expect_refused("bert-prompt", CQ_EXPORT_ONNX,
                 "module 2 (Pooling) cannot be exported to ONNX: it leaves out a prompt");
  expect_refused("static-mean", CQ_EXPORT_GGUF, "module 1 (StaticEmbedding) cannot be exported to GGUF");
  expect_refused("modernbert", CQ_EXPORT_GGUF, "module 1 (Transformer, modernbert) cannot be exported to GGUF");
  expect_refused("electra", CQ_EXPORT_GGUF, "normalized before they are projected");
  expect_refused("distilbert-dense", CQ_EXPORT_GGUF, "module 3 (Dense) cannot be exported to GGUF");
  expect_refused("pool-max-old", CQ_EXPORT_GGUF, "module 2 (Pooling) cannot be exported to GGUF");
  expect_refused("bert-cased", CQ_EXPORT_GGUF, "capitals");
  expect_refused("truncate-dim", CQ_EXPORT_GGUF, "its vectors are truncated");
}

static void an_existing_path_is_kept(void **state) {
  (void)state;
  cq_error error = {0};
  write_text(test_path("there"), "mine");
  assert_int_equal(cq_export(test_path("there"), golden("static-mean"), NULL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "already exists"));
  size_t n;
  unsigned char *bytes = read_bytes(&n, test_path("there"));
  assert_string_equal((char *)bytes, "mine");
  free(bytes);
  assert_int_equal(cq_export(test_path("out"), "/no/such/model", NULL, &error), CQ_ERR_IO);
}

/* Each allocation fails once: an error, and no directory. */
static void failing_allocations(void **state) {
  static const struct {
    const char *name;
    cq_export_format to;
  } exports[] = {{"static-mean", CQ_EXPORT_ONNX}, {"plain-xlmr", CQ_EXPORT_GGUF}};
  (void)state;
  for (size_t i = 0; i < 2; i++)
    for (long n = 1;; n += n < 200 ? 1 : 37) { /* the tokenizer's many are tested elsewhere */
      cq_error error;
      cq_alloc_fail_at(n);
      const cq_status status = export_as(exports[i].name, exports[i].to, 1u << CQ_EXPORT_INT8, &error);
      const bool failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      if (!failed) {
        assert_int_equal(status, CQ_OK);
        break;
      }
      if (status) assert_false(cq_file_exists(test_path("out")));
      if (status && status != CQ_ERR_MEMORY) fail_msg("%ld: %d %s", n, status, error.message);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(weights_are_the_models),
      cmocka_unit_test(families_are_whole_graphs),
      cmocka_unit_test(tokenizers_do_what_calque_does),
      cmocka_unit_test(gguf_has_aligned_tensors),
      cmocka_unit_test(the_module_is_named),
      cmocka_unit_test(an_existing_path_is_kept),
      cmocka_unit_test(failing_allocations),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
