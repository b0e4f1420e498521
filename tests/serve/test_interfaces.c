/* What clients of Ollama, Cohere, NVIDIA and TEI get: the encoder's own vectors, in every type, for every side of a long
 * text and with the prompt for queries or documents; texts in the order of their cosines; text of ids; the model. */
#include "base/base64.h"
#include "serve/direct.h"

#include "calque/embedding.h"

#include <math.h>

enum { MAX_DIM = 1024 };
static float wanted[4][MAX_DIM];

/* The answer, with the vectors that the queue would make; its code is expected. */
static json_t *answer_of(int expected, const char *method, const char *path, const char *text) {
  char allow[SERVE_ALLOW];
  cq_error error = {0};
  serve_request r = {.shared = &shared, .model = serve_model_use(model), .argument = argument_of};
  r.route = serve_route_find(serve_all_routes, method, path, &r.rest, allow);
  if (!r.route) fail_msg("there is no %s %s", method, path);
  cq_builder_text(&r.body, text);
  r.route->prepare(&r);
  if (!r.code) {
    serve_work *w = r.work;
    cq_encode_options o = cq_encode_default_options();
    o.prompt_name = w->prompt_name;
    assert_non_null(w->vectors = malloc(w->ids.n * model->dim * sizeof(float)));
    if (cq_encoder_encode_ids(w->vectors, model->encoder, w->ids.ids, w->ids.starts, w->ids.n, &o, NULL, &error))
      fail_msg("%s", error.message);
    serve_work_join_windows(w);
    r.route->answer(&r);
  }
  if (r.code != expected) fail_msg("%s %s: %d %.*s", path, text, r.code, (int)r.answer.n, r.answer.data);
  json_t *json = json_loadb(r.answer.data, r.answer.n, 0, NULL);
  if (!json) fail_msg("%s: %.*s", path, (int)r.answer.n, r.answer.data);
  snprintf(message, sizeof message, "%.*s", (int)r.answer.n, r.answer.data);
  serve_request_clear(&r);
  return json;
}

/* The vectors of texts, NULL-terminated, in wanted. */
static void encode(const char *const *texts, const char *prompt_name, int dim) {
  cq_encode_options o = cq_encode_default_options();
  cq_error error = {0};
  o.normalize = true, o.prompt_name = prompt_name, o.truncate_dim = dim;
  for (size_t i = 0; texts[i]; i++) {
    const cq_slice text = cq_slice_of(texts[i]);
    if (cq_encoder_encode(wanted[i], NULL, model->encoder, &text, 1, &o, NULL, &error)) fail_msg("%s", error.message);
  }
}

static void is_vector(const json_t *list, const float *expected, size_t dim) {
  assert_int_equal(json_array_size(list), dim);
  for (size_t i = 0; i < dim; i++) {
    const double x = json_number_value(json_array_get(list, i));
    if (fabs(x - (double)expected[i]) > 1e-6) fail_msg("component %zu: %g, expected %g", i, x, (double)expected[i]);
  }
}

static void are_vectors(const json_t *lists, size_t n, size_t dim) {
  assert_int_equal(json_array_size(lists), n);
  for (size_t i = 0; i < n; i++) is_vector(json_array_get(lists, i), wanted[i], dim);
}

static const char *text_at(const json_t *object, const char *name) {
  const char *text = json_string_value(json_object_get(object, name));
  return text ? text : "";
}

static const char *const two[] = {"A river.", "A late garden.", NULL};

static void ollama(void **state) {
  (void)state;
  encode(two, NULL, 0);
  json_t *a =
      answer_of(200, "POST", "/api/embed",
                "{\"model\": \"m\", \"input\": [\"A river.\", \"A late garden.\"], \"options\": {\"num_ctx\": 8}}");
  are_vectors(json_object_get(a, "embeddings"), 2, model->dim);
  assert_string_equal(text_at(a, "model"), model->name);
  assert_true(json_integer_value(json_object_get(a, "prompt_eval_count")) > 4);
  json_decref(a);
  a = answer_of(200, "POST", "/api/embeddings", "{\"model\": \"m\", \"prompt\": \"A river.\"}");
  is_vector(json_object_get(a, "embedding"), wanted[0], model->dim);
  json_decref(a);
  encode(two, NULL, 5);
  a = answer_of(200, "POST", "/api/embed", "{\"input\": \"A river.\", \"dimensions\": 5}");
  are_vectors(json_object_get(a, "embeddings"), 1, 5);
  json_decref(a);
  a = answer_of(200, "GET", "/api/tags", "");
  const json_t *row = json_array_get(json_object_get(a, "models"), 0);
  assert_string_equal(text_at(row, "name"), model->name);
  assert_string_equal(text_at(row, "digest"), model->fingerprint);
  json_decref(a);
  char sent[100];
  for (int i = 0; i < 2; i++) {
    snprintf(sent, sizeof sent, i ? "{\"name\": \"%s\"}" : "{\"model\": \"%s:latest\"}", model->name);
    a = answer_of(200, "POST", "/api/show", sent);
    const json_t *info = json_object_get(a, "model_info");
    assert_int_equal(json_integer_value(json_object_get(info, "calque.embedding_length")), model->dim);
    assert_int_equal(json_integer_value(json_object_get(info, "calque.context_length")), model->max_tokens);
    assert_string_equal(json_string_value(json_array_get(json_object_get(a, "capabilities"), 0)), "embedding");
    json_decref(a);
  }
  json_decref(answer_of(200, "GET", "/api/version", ""));
  json_decref(answer_of(404, "POST", "/api/show", "{\"model\": \"llama\"}"));
  assert_non_null(strstr(message, "\"error\":\"model 'llama' not found"));
  json_decref(answer_of(400, "POST", "/api/show", "{}"));
  json_decref(answer_of(400, "POST", "/api/embed", "{\"input\": [[5, 6]]}")); /* no ids here */
  assert_non_null(strstr(message, "\"error\":\"'input[0]' is not a string\""));
}

static void cohere_types(void **state) {
  (void)state;
  encode(two, NULL, 0);
  json_t *a = answer_of(200, "POST", "/v2/embed",
                        "{\"model\": \"m\", \"texts\": [\"A river.\", \"A late garden.\"], \"embedding_types\": "
                        "[\"base64\", \"ubinary\", \"float\", \"int8\", \"uint8\", \"binary\"]}");
  const json_t *types = json_object_get(a, "embeddings");
  assert_int_equal(json_object_size(types), 6);
  are_vectors(json_object_get(types, "float"), 2, model->dim);
  assert_string_equal(json_string_value(json_array_get(json_object_get(a, "texts"), 1)), two[1]);
  assert_string_equal(text_at(a, "response_type"), "embeddings_by_type");
  for (size_t i = 0; i < 2; i++) {
    const json_t *int8 = json_array_get(json_object_get(types, "int8"), i),
                 *uint8 = json_array_get(json_object_get(types, "uint8"), i),
                 *ubinary = json_array_get(json_object_get(types, "ubinary"), i),
                 *binary = json_array_get(json_object_get(types, "binary"), i);
    float back[MAX_DIM];
    int largest = 0;
    assert_int_equal(json_array_size(int8), model->dim);
    assert_int_equal(json_array_size(ubinary), (model->dim + 7) / 8);
    for (size_t d = 0; d < model->dim; d++) {
      const int value = (int)json_integer_value(json_array_get(int8, d));
      const int bits = (int)json_integer_value(json_array_get(ubinary, d / 8));
      assert_int_equal(json_integer_value(json_array_get(uint8, d)), value + 128);
      assert_int_equal(bits >> (7 - d % 8) & 1, wanted[i][d] > 0);
      assert_int_equal(json_integer_value(json_array_get(binary, d / 8)), bits - 128);
      back[d] = (float)value;
      if (abs(value) > largest) largest = abs(value);
    }
    assert_int_equal(largest, 127);
    assert_true(cq_cosine(back, wanted[i], model->dim) > 0.9998);
    cq_builder bytes = {0};
    const char *coded = json_string_value(json_array_get(json_object_get(types, "base64"), i));
    assert_true(cq_base64_decode(&bytes, cq_slice_of(coded)));
    assert_int_equal(bytes.n, model->dim * sizeof(float));
    for (size_t d = 0; d < model->dim; d++) {
      float x;
      memcpy(&x, bytes.data + d * sizeof x, sizeof x);
      assert_true(fabsf(x - wanted[i][d]) < 1e-6F);
    }
    cq_builder_free(&bytes);
  }
  json_decref(a);
  a = answer_of(200, "POST", "/v1/embed", "{\"texts\": [\"A river.\", \"A late garden.\"]}");
  are_vectors(json_object_get(a, "embeddings"), 2, model->dim);
  assert_string_equal(text_at(a, "response_type"), "embeddings_floats");
  json_decref(a);
  encode(two, NULL, 9); /* bits that fill no byte */
  a = answer_of(200, "POST", "/v2/embed",
                "{\"texts\": [\"A river.\"], \"output_dimension\": 9, \"embedding_types\": [\"ubinary\", \"float\"]}");
  types = json_object_get(a, "embeddings");
  are_vectors(json_object_get(types, "float"), 1, 9);
  assert_int_equal(json_integer_value(json_array_get(json_array_get(json_object_get(types, "ubinary"), 0), 1)),
                   wanted[0][8] > 0 ? 128 : 0);
  json_decref(a);
  static const struct {
    const char *types, *part;
  } rows[] = {{"[\"float\", \"int4\"]", "'embedding_types[1]' is 'int4', expected float, int8"},
              {"[7]", "'embedding_types[0]' is not a string"},
              {"[]", "is not a list of strings"},
              {"\"float\"", "is not a list of strings"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char sent[200];
    snprintf(sent, sizeof sent, "{\"texts\": [\"a\"], \"embedding_types\": %s}", rows[i].types);
    a = answer_of(400, "POST", "/v2/embed", sent);
    if (!strstr(text_at(a, "message"), rows[i].part)) fail_msg("%s: %s", sent, message);
    json_decref(a);
  }
  json_decref(answer_of(501, "POST", "/v2/embed", "{\"images\": [\"data:\"]}"));
}

/* v2's "inputs": the parts of each are one text. */
static void cohere_inputs(void **state) {
  (void)state;
  encode(two, NULL, 0);
  json_t *a = answer_of(200, "POST", "/v2/embed",
                        "{\"inputs\": [{\"content\": [{\"type\": \"text\", \"text\": \"A river.\"}]}, {\"content\": "
                        "[{\"type\": \"text\", \"text\": \"A late garden.\"}]}], \"embedding_types\": [\"float\"]}");
  are_vectors(json_object_get(json_object_get(a, "embeddings"), "float"), 2, model->dim);
  json_decref(a);
  a = answer_of(200, "POST", "/v2/embed",
                "{\"texts\": null, \"inputs\": [{\"content\": [{\"type\": \"text\", \"text\": \"A late\"}, {\"type\": "
                "\"text\", \"text\": \"river.\"}]}]}");
  assert_string_equal(json_string_value(json_array_get(json_object_get(a, "texts"), 0)), "A late\nriver.");
  json_decref(a);
  static const struct {
    const char *inputs, *part;
    int code;
  } rows[] = {{"[{\"content\": [{\"type\": \"image_url\", \"image_url\": {\"url\": \"data:\"}}]}]",
               "'inputs[0].content[0]' is an image", 501},
              {"[{\"content\": [{\"type\": \"text\", \"text\": \"a\"}, {\"type\": \"image\"}]}]",
               "'inputs[0].content[1]' is an image", 501},
              {"[{\"content\": [{\"type\": \"sound\"}]}]", "'inputs[0].content[0]' is not of type 'text'", 400},
              {"[{\"content\": [{\"type\": \"text\", \"text\": 7}]}]", "with a string 'text'", 400},
              {"[{\"content\": []}]", "'inputs[0].content' is not a list of parts", 400},
              {"[\"a\"]", "'inputs[0].content' is not a list of parts", 400},
              {"[{\"content\": [{\"type\": \"text\", \"text\": \"\"}]}]", "'inputs[0]' is empty", 400},
              {"{\"content\": []}", "'inputs' is not a list of objects", 400},
              {"[]", "'inputs' is an empty list", 400},
              {"[{}], \"texts\": [\"a\"]", "'texts' and 'inputs' are both given", 400}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char sent[300];
    snprintf(sent, sizeof sent, "{\"inputs\": %s}", rows[i].inputs);
    a = answer_of(rows[i].code, "POST", "/v2/embed", sent);
    if (!strstr(text_at(a, "message"), rows[i].part)) fail_msg("%s: %s", sent, message);
    json_decref(a);
  }
  json_decref(answer_of(400, "POST", "/v1/embed", "{\"inputs\": [{\"content\": []}]}")); /* v1 has texts alone */
}

/* "truncate" with a side, of Cohere and NVIDIA, is the beginning or the end that a text is cut to. */
static void sides_of_long_texts(void **state) {
  static const char *const paths[] = {"/v1/embeddings", "/v1/embed", "/v2/embed"};
  char *sent = malloc(1 << 16), *end = malloc(1 << 16), *begin = malloc(1 << 16);
  (void)state;
  assert_true(sent && begin && end);
  size_t n = (size_t)sprintf(sent, "A late garden");
  for (int i = 0; i < 2000; i++) n += (size_t)sprintf(sent + n, " river");
  strcpy(sent + n, " The");
  const char *const texts[] = {sent, NULL};
  encode(texts, NULL, 0);
  for (size_t p = 0; p < 3; p++) {
    const bool is_openai = p == 0;
    sprintf(begin, "{\"%s\": [\"%s\"], \"truncate\": \"END\"}", is_openai ? "input" : "texts", sent);
    json_t *a = answer_of(200, "POST", paths[p], begin);
    const json_t *lists = json_object_get(a, "embeddings");
    if (is_openai)
      is_vector(json_object_get(json_array_get(json_object_get(a, "data"), 0), "embedding"), wanted[0], model->dim);
    else
      are_vectors(p == 1 ? lists : json_object_get(lists, "float"), 1, model->dim);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(a, "calque"), "truncated")), 1);
    json_decref(a);
    sprintf(end, "{\"%s\": [\"%s\"], \"truncate\": \"START\", \"encoding_format\": \"float\"}",
            is_openai ? "input" : "texts", sent);
    a = answer_of(200, "POST", paths[p], end);
    lists = json_object_get(a, "embeddings");
    const json_t *vector = is_openai ? json_object_get(json_array_get(json_object_get(a, "data"), 0), "embedding")
                                     : json_array_get(p == 1 ? lists : json_object_get(lists, "float"), 0);
    double difference = 0;
    for (size_t d = 0; d < model->dim; d++)
      difference = fmax(difference, fabs(json_number_value(json_array_get(vector, d)) - (double)wanted[0][d]));
    assert_true(difference > 1e-4);
    json_decref(a);
    sprintf(end, "{\"%s\": [\"%s\"], \"truncate\": \"NONE\"}", is_openai ? "input" : "texts", sent);
    json_decref(answer_of(400, "POST", paths[p], end));
    assert_non_null(strstr(message, "is longer than the model's"));
    sprintf(end, "{\"%s\": [\"a\"], \"truncate\": \"MIDDLE\"}", is_openai ? "input" : "texts");
    json_decref(answer_of(400, "POST", paths[p], end));
    assert_non_null(strstr(message, "expected one of END, START, NONE"));
  }
  free(sent);
  free(begin);
  free(end);
}

static void prompts_for_queries_and_documents(void **state) {
  static const struct {
    const char *path, *field, *type, *prompt;
  } rows[] = {{"/v1/embed", "texts", "search_query", "query"},
              {"/v1/embed", "texts", "search_document", "document"},
              {"/v1/embed", "texts", "clustering", NULL},
              {"/v1/embeddings", "input", "query", "query"},
              {"/v1/embeddings", "input", "passage", "document"}};
  serve_model *had = model;
  (void)state;
  assert_int_equal(
      serve_model_open(&model, &(serve_model_options){.model = CQ_TESTS_DIR "/golden/models/bert-prompt"}, NULL),
      CQ_OK);
  assert_string_equal(cq_encoder_task_prompt(model->encoder, "query"), "query");
  assert_string_equal(cq_encoder_task_prompt(model->encoder, "passage"), "passage");
  assert_null(cq_encoder_task_prompt(had->encoder, "query"));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char sent[200];
    snprintf(sent, sizeof sent, "{\"%s\": [\"A river.\"], \"input_type\": \"%s\"}", rows[i].field, rows[i].type);
    json_t *a = answer_of(200, "POST", rows[i].path, sent);
    const json_t *data = json_array_get(json_object_get(a, "data"), 0);
    encode(two, rows[i].prompt, 0);
    is_vector(data ? json_object_get(data, "embedding") : json_array_get(json_object_get(a, "embeddings"), 0),
              wanted[0], model->dim);
    json_decref(a);
  }
  serve_model_leave(model);
  model = had;
}

/* By cosine, ties by index. */
static void reranked(void **state) {
  static const char *const texts[] = {"A late garden.", "The river is long.", "A river.", NULL};
  static const char *const query[] = {"A river.", NULL};
  float q[MAX_DIM];
  double cosines[4];
  (void)state;
  encode(query, NULL, 0);
  memcpy(q, wanted[0], sizeof q);
  encode(texts, NULL, 0);
  for (size_t i = 0; i < 3; i++) cosines[i] = cq_cosine(q, wanted[i], model->dim);
  cosines[3] = cosines[2];
  const size_t second = cosines[0] > cosines[1] ? 0 : 1, order[] = {2, 3, second, 1 - second};
  static const char *const paths[] = {"/rerank", "/v1/rerank", "/v2/rerank", "/rerank", "/api/rerank"};
  for (size_t p = 0; p < 5; p++) {
    const bool is_cohere = p > 0;
    char sent[300];
    snprintf(sent, sizeof sent,
             "{\"query\": \"A river.\", \"%s\": [\"A late garden.\", \"The river is long.\", \"A river.\", %s], "
             "\"%s\": true}",
             is_cohere ? "documents" : "texts", is_cohere ? "{\"text\": \"A river.\"}" : "\"A river.\"",
             is_cohere ? "return_documents" : "return_text");
    json_t *a = answer_of(200, "POST", paths[p], sent);
    const json_t *list = is_cohere ? json_object_get(a, "results") : a;
    assert_int_equal(json_array_size(list), 4);
    for (size_t i = 0; i < 4; i++) {
      const json_t *row = json_array_get(list, i);
      assert_int_equal(json_integer_value(json_object_get(row, "index")), order[i]);
      const double score = json_number_value(json_object_get(row, is_cohere ? "relevance_score" : "score"));
      assert_true(fabs(score - cosines[order[i]]) < 1e-6);
      assert_string_equal(text_at(is_cohere ? json_object_get(row, "document") : row, "text"),
                          texts[order[i] == 3 ? 2 : order[i]]);
    }
    if (is_cohere) assert_string_equal(text_at(json_object_get(a, "calque"), "scores"), "cosine");
    json_decref(a);
  }
  json_t *a = answer_of(200, "POST", "/v2/rerank", "{\"query\": \"a\", \"documents\": [\"b\", \"c\"], \"top_n\": 1}");
  const json_t *results = json_object_get(a, "results");
  assert_int_equal(json_array_size(results), 1);
  assert_null(json_object_get(json_array_get(results, 0), "document"));
  json_decref(a);
  json_decref(answer_of(400, "POST", "/v2/rerank", "{\"query\": \"a\", \"documents\": [\"b\", {\"title\": \"c\"}]}"));
  assert_non_null(strstr(message, "\"message\":\"'documents[1]' is not a string\""));
  json_decref(answer_of(422, "POST", "/rerank", "{\"query\": \"a\", \"texts\": []}"));
  json_decref(answer_of(422, "POST", "/rerank", "{\"texts\": [\"a\"]}"));
}

static void decoded(void **state) {
  char sent[4000] = "{\"ids\": [[";
  (void)state;
  json_t *a = answer_of(200, "POST", "/tokenize", "{\"inputs\": \"the river is long .\"}");
  const json_t *tokens = json_array_get(a, 0);
  for (size_t i = 0; i < json_array_size(tokens); i++) {
    const json_t *id = json_object_get(json_array_get(tokens, i), "id");
    snprintf(sent + strlen(sent), 20, i ? ", %d" : "%d", (int)json_integer_value(id));
  }
  json_decref(a);
  const size_t n = strlen(sent);
  strcpy(sent + n, "]]}");
  a = answer_of(200, "POST", "/decode", sent);
  assert_int_equal(json_array_size(a), 1);
  assert_string_equal(json_string_value(json_array_get(a, 0)), "the river is long .");
  json_decref(a);
  strcpy(sent + n, "]], \"skip_special_tokens\": false}");
  a = answer_of(200, "POST", "/decode", sent);
  assert_string_equal(json_string_value(json_array_get(a, 0)), "[CLS] the river is long . [SEP]");
  json_decref(a);
  snprintf(sent, sizeof sent, "{\"ids\": [%d, %d]}", 5, (int)cq_encoder_vocab_size(model->encoder));
  json_decref(answer_of(422, "POST", "/decode", sent));
  assert_non_null(strstr(message, "token 1 of 'ids' is not a whole number from 0 to"));
  char *text;
  cq_error error = {0};
  assert_int_equal(cq_encoder_decode(&text, model->encoder, (const int32_t[]){5, -1}, 2, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "token 1 is -1, expected 0 to"));
}

/* Pooling is their mean here, scaled to length 1. */
static void vectors_of_tokens(void **state) {
  (void)state;
  encode(two, NULL, 0);
  json_t *a = answer_of(200, "POST", "/embed_all", "{\"inputs\": [\"A river.\", \"A late garden.\"]}");
  assert_int_equal(json_array_size(a), 2);
  for (size_t i = 0; i < 2; i++) {
    const json_t *tokens = json_array_get(a, i);
    float mean[MAX_DIM] = {0};
    assert_true(json_array_size(tokens) >= 5);
    for (size_t t = 0; t < json_array_size(tokens); t++) {
      assert_int_equal(json_array_size(json_array_get(tokens, t)), model->dim);
      for (size_t d = 0; d < model->dim; d++)
        mean[d] += (float)json_number_value(json_array_get(json_array_get(tokens, t), d));
    }
    cq_normalize(mean, 1, model->dim);
    for (size_t d = 0; d < model->dim; d++) assert_true(fabsf(mean[d] - wanted[i][d]) < 1e-5F);
  }
  json_decref(a);
  a = answer_of(200, "POST", "/embed_all", "{\"inputs\": [[5, 6, 7]]}");
  assert_int_equal(json_array_size(json_array_get(a, 0)), 3);
  json_decref(a);
  serve_model *had = model;
  assert_int_equal(
      serve_model_open(&model, &(serve_model_options){.model = CQ_TESTS_DIR "/golden/models/static-mean"}, NULL),
      CQ_OK);
  assert_int_equal(cq_encoder_token_dim(model->encoder), 0);
  json_decref(answer_of(501, "POST", "/embed_all", "{\"inputs\": \"a\"}"));
  assert_non_null(strstr(message, "no vectors of single tokens"));
  serve_model_leave(model);
  model = had;
}

static void openai_without_v1(void **state) {
  char path[100];
  (void)state;
  json_t *a = answer_of(200, "GET", "/models", "");
  assert_string_equal(text_at(json_array_get(json_object_get(a, "data"), 0), "id"), model->name);
  json_decref(a);
  snprintf(path, sizeof path, "/models/%s", model->name);
  json_decref(answer_of(200, "GET", path, ""));
  json_decref(answer_of(404, "GET", "/models/none", ""));
}

/* LM Studio's clients take models of type embeddings, and the vectors of /v1/embeddings. */
static void lm_studio(void **state) {
  (void)state;
  encode(two, NULL, 0);
  json_t *a = answer_of(200, "GET", "/api/v0/models", "");
  const json_t *m = json_array_get(json_object_get(a, "data"), 0);
  assert_string_equal(text_at(m, "id"), model->name);
  assert_string_equal(text_at(m, "type"), "embeddings");
  assert_int_equal(json_integer_value(json_object_get(m, "max_context_length")), model->max_tokens);
  json_decref(a);
  a = answer_of(200, "POST", "/api/v0/embeddings", "{\"model\": \"m\", \"input\": [\"A river.\", \"A late garden.\"]}");
  for (size_t i = 0; i < 2; i++)
    is_vector(json_object_get(json_array_get(json_object_get(a, "data"), i), "embedding"), wanted[i], model->dim);
  json_decref(a);
  json_decref(answer_of(400, "POST", "/api/v0/embeddings", "{\"input\": [[1, 2]]}"));
  assert_non_null(strstr(message, "check_embedding_ctx_length=False"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ollama),
      cmocka_unit_test(cohere_types),
      cmocka_unit_test(cohere_inputs),
      cmocka_unit_test(sides_of_long_texts),
      cmocka_unit_test(prompts_for_queries_and_documents),
      cmocka_unit_test(reranked),
      cmocka_unit_test(decoded),
      cmocka_unit_test(vectors_of_tokens),
      cmocka_unit_test(openai_without_v1),
      cmocka_unit_test(lm_studio),
  };
  return cmocka_run_group_tests(tests, open_shared, close_shared);
}
