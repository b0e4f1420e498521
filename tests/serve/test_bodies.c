/* What the routes make of bodies: cut at every byte, with fields of every wrong type, with fields that are not known,
 * nested deeply, not UTF-8, empty. The routes are called without a connection, over an index that takes documents. */
#include "support/files.h"

#include "serve/route.h"

#include <zlib.h>

#define MODEL CQ_TESTS_DIR "/golden/models/bert-uncased"

static serve_shared shared;
static serve_model *model;

/* A field of a route, with what it takes: s: a string, i: a whole number, b: true or false, t: texts in a list,
 * T: the same or one text, I: the same or token ids, d: token ids alone, e: names of types, o: an object; '!' behind it: it must be there. */
typedef struct field {
  const char *name, *takes;
} field;

static const struct call {
  const char *method, *path, *body;
  bool refuses_unknown;
  field fields[8];
} calls[] = {
    {"POST",
     "/v1/embeddings",
     "{\"input\": [\"a river\", \"b\"], \"encoding_format\": \"float\", \"dimensions\": 4, \"on_long\": \"window\"}",
     false,
     {{"input", "T!"}, {"encoding_format", "s"}, {"dimensions", "i"}, {"on_long", "s"}, {"prompt_name", "s"}}},
    {"POST",
     "/embed",
     "{\"inputs\": [[3, 4], [5]], \"normalize\": true, \"truncate\": false, \"dimensions\": 2}",
     false,
     {{"inputs", "I!"},
      {"normalize", "b"},
      {"truncate", "b"},
      {"dimensions", "i"},
      {"on_long", "s"},
      {"prompt_name", "s"},
      {"truncation_direction", "s"}}},
    {"POST",
     "/embed_all",
     "{\"inputs\": [\"a river\", \"b\"], \"truncate\": true}",
     false,
     {{"inputs", "I!"}, {"truncate", "b"}}},
    {"POST",
     "/similarity",
     "{\"inputs\": {\"source_sentence\": \"a\", \"sentences\": [\"b\", \"c\"]}}",
     false,
     {{"inputs", "o!"}}},
    {"POST",
     "/tokenize",
     "{\"inputs\": \"a river\", \"add_special_tokens\": true}",
     false,
     {{"inputs", "T!"}, {"add_special_tokens", "b"}}},
    {"POST",
     "/decode",
     "{\"ids\": [[3, 4], [5]], \"skip_special_tokens\": true}",
     false,
     {{"ids", "d!"}, {"skip_special_tokens", "b"}}},
    {"POST",
     "/rerank",
     "{\"query\": \"a\", \"texts\": [\"b\", \"c\"], \"return_text\": true, \"truncate\": true, \"top_n\": 1}",
     false,
     {{"query", "s!"},
      {"texts", "t!"},
      {"return_text", "b"},
      {"truncate", "b"},
      {"top_n", "i"},
      {"truncation_direction", "s"}}},
    {"POST",
     "/v2/rerank",
     "{\"query\": \"a\", \"documents\": [\"b\", {\"text\": \"c\"}], \"top_n\": 1, \"return_documents\": true}",
     false,
     {{"query", "s!"}, {"documents", "t!"}, {"top_n", "i"}, {"return_documents", "b"}}},
    {"POST",
     "/v1/embed",
     "{\"texts\": [\"a\", \"b\"], \"truncate\": \"START\", \"input_type\": \"search_query\"}",
     false,
     {{"texts", "t!"}, {"truncate", "b"}, {"input_type", "s"}, {"output_dimension", "i"}}},
    {"POST",
     "/v2/embed",
     "{\"texts\": [\"a\"], \"output_dimension\": 9, \"embedding_types\": [\"float\", \"int8\", \"binary\"]}",
     false,
     {{"texts", "t!"}, {"embedding_types", "e"}, {"output_dimension", "i"}}},
    {"POST",
     "/api/embed",
     "{\"input\": [\"a\", \"b\"], \"truncate\": true, \"dimensions\": 4, \"options\": {}, \"keep_alive\": \"5m\"}",
     false,
     {{"input", "T!"}, {"truncate", "b"}, {"dimensions", "i"}}},
    {"POST",
     "/api/embeddings",
     "{\"prompt\": \"a river\", \"truncate\": true}",
     false,
     {{"prompt", "s!"}, {"truncate", "b"}}},
    {"POST", "/api/show", "{\"model\": \"bert-uncased\", \"verbose\": true}", false, {{"model", "s!"}}},
    {"POST", "/api/similarity", "{\"a\": [\"a\"], \"b\": [\"b\"]}", true, {{"a", "t!"}, {"b", "t!"}}},
    {"POST",
     "/api/mine",
     "{\"source\": [\"a\", \"b\"], \"target\": [\"b\", \"a\"], \"margin\": \"ratio\"}",
     true,
     {{"source", "t!"}, {"target", "t!"}, {"margin", "s"}}},
    {"POST", "/api/map", "{\"texts\": [\"a\", \"b\", \"c\"]}", true, {{"texts", "t!"}}},
    {"POST",
     "/api/search",
     "{\"query\": \"river\", \"k\": 2, \"mode\": \"dense\", \"filter\": \"year > 2000\", \"lang\": \"en\"}",
     true,
     {{"query", "s!"}, {"k", "i"}, {"mode", "s"}, {"filter", "s"}, {"lang", "s"}}},
    {"PUT",
     "/api/documents/x",
     "{\"text\": \"A river.\", \"title\": \"t\", \"url\": \"u\", \"language\": \"en\", \"year\": 2020}",
     false,
     {{"text", "s!"}, {"title", "s"}, {"url", "s"}, {"language", "s"}}},
};
enum { N_CALLS = sizeof calls / sizeof *calls };

/* One value of each kind, and what takes it. */
static const struct value {
  const char *json, *takers;
} values[] = {
    {"true", "b"},         {"7", "i"},         {"-1", ""},
    {"1.5", ""},           {"1e300", ""},      {"99999999999999999999", ""},
    {"{}", "o"},           {"[]", ""},         {"[[]]", ""},
    {"[null]", ""},        {"[1.5]", ""},      {"[\"a\", 2]", ""},
    {"[{}]", ""},          {"\"\"", ""},       {"\"zz\"", "s"},
    {"[\"zz\"]", ""},      {"[3, \"a\"]", ""}, {"[-1]", ""},
    {"[\"\"]", ""},        {"null", "null"},   {"\"a\\u0000b\"", ""},
    {"{\"a\": [1]}", "o"},
};

static const char *upload_name = "x.jsonl";
static const char *argument_of(const serve_request *r, const char *name) {
  (void)r;
  return !strcmp(name, "name") ? upload_name : NULL;
}

/* The answer's code; *answer, if asked for, is its JSON. What needs vectors gets some. */
static int call(json_t **answer, const char *method, const char *path, const char *body, size_t n) {
  char allow[SERVE_ALLOW];
  serve_request r = {.shared = &shared, .model = serve_model_use(model), .argument = argument_of};
  r.route = serve_route_find(serve_all_routes, method, path, &r.rest, allow);
  assert_non_null(r.route);
  cq_builder_bytes(&r.body, body, n);
  r.route->prepare(&r);
  if (!r.code) {
    assert_non_null(r.work);
    const size_t n_floats = r.work->ids.n * model->dim;
    assert_non_null(r.work->vectors = malloc(n_floats * sizeof(float)));
    for (size_t i = 0; i < n_floats; i++) r.work->vectors[i] = (float)(i % 7 + 1) / 8;
    r.route->answer(&r);
  }
  json_t *json = json_loadb(r.answer.data, r.answer.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
  if (!json)
    fail_msg("%s %s: the answer to '%.*s' is no JSON: %.*s", method, path, (int)n, body, (int)r.answer.n,
             r.answer.data);
  const bool is_cohere = r.route->style == SERVE_COHERE;
  if (r.code >= 400 && !json_object_get(json, is_cohere ? "message" : "error"))
    fail_msg("%s: %d without an error", path, r.code);
  const int code = r.code;
  serve_request_clear(&r);
  if (answer)
    *answer = json;
  else
    json_decref(json);
  return code;
}

/* The message of an error, and the field that it says to be wrong. */
static const char *message_of(const json_t *answer, const char **param) {
  const json_t *plain = json_object_get(answer, "message"), *error = plain ? plain : json_object_get(answer, "error");
  *param = json_is_object(error) ? json_string_value(json_object_get(error, "param")) : NULL;
  const char *text = json_string_value(json_is_object(error) ? json_object_get(error, "message") : error);
  return text ? text : "";
}

static int refusal_of(const struct call *c) {
  static const char *const paths[] = {"/v1/", "/v2/", "/api/embed", "/api/show"};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
    if (!strncmp(c->path, paths[i], strlen(paths[i]))) return 400;
  return 422;
}

static int open_shared(void **state) {
  static const char text[] = "A garden by the river.", metadata[] = "{\"year\": 2020}";
  const cq_document d = {.id = {"a", 1}, .text = {text, sizeof text - 1}, .metadata = {metadata, sizeof metadata - 1}};
  cq_index_options o = cq_index_default_options();
  if (make_test_directory(state)) return -1;
  setenv("TMPDIR", test_directory, 1);
  o.model = MODEL;
  assert_int_equal(cq_index_create(test_path("index"), &o, NULL), CQ_OK);
  assert_int_equal(
      serve_model_open(&model, &(serve_model_options){.model = MODEL, .index = test_path("index"), .writable = true},
                       NULL),
      CQ_OK);
  assert_int_equal(cq_index_add(model->index, &d, 1, NULL, NULL), CQ_OK);
  assert_int_equal(cq_index_commit(model->index, NULL), CQ_OK);
  shared.routes = serve_all_routes;
  shared.limits = (serve_limits){.max_body = 1 << 20, .max_tokens = 1000, .max_texts = 64, .deadline_ms = 1000};
  shared.writable = true;
  return 0;
}

static int close_shared(void **state) {
  serve_model_leave(model);
  return remove_test_directory(state);
}

static void bodies_cut_at_every_byte(void **state) {
  (void)state;
  for (size_t i = 0; i < N_CALLS; i++) {
    const size_t n = strlen(calls[i].body);
    assert_int_equal(call(NULL, calls[i].method, calls[i].path, calls[i].body, n), 200);
    for (size_t cut = 0; cut < n; cut++) {
      json_t *answer;
      const char *param, *wanted = cut ? "the body is not JSON: line 1, column " : "the body is empty";
      assert_int_equal(call(&answer, calls[i].method, calls[i].path, calls[i].body, cut), 400);
      assert_ptr_equal(strstr(message_of(answer, &param), wanted), message_of(answer, &param));
      json_decref(answer);
    }
  }
}

/* A file of documents, cut: all of them or none. */
static void documents_cut_at_every_byte(void **state) {
  static const char body[] = "{\"id\": \"p\", \"text\": \"One.\"}\n{\"id\": \"q\", \"text\": \"Two.\"}";
  (void)state;
  const size_t n = strlen(body), first = (size_t)(strchr(body, '\n') - body);
  for (size_t cut = 0; cut <= n; cut++) {
    const size_t before = cq_index_size(model->index);
    const int code = call(NULL, "POST", "/api/documents", body, cut);
    const bool is_whole = cut == 0 || cut == n || cut == first || cut == first + 1;
    if (code != (is_whole ? 200 : 422)) fail_msg("cut at %zu: %d", cut, code);
    const size_t added = cq_index_size(model->index) - before;
    assert_int_equal(added, cut == first || cut == n); /* p once, then q beside it */
  }
  assert_int_equal(cq_index_check(model->index, NULL, NULL), CQ_OK);
}

static bool takes(const field *f, const struct value *v) {
  if (!strcmp(v->takers, "null")) return !f->takes[1];
  if (strchr(v->takers, f->takes[0])) return true;
  switch (f->takes[0]) {
  case 'I':
  case 'T': return !strcmp(v->json, "\"zz\"") || !strcmp(v->json, "[\"zz\"]") || !strcmp(v->json, "\"a\\u0000b\"");
  case 't': return !strcmp(v->json, "[\"zz\"]");
  default: return false;
  }
}

/* Strings that the field has a meaning for, and others. */
static bool may_be_refused(const field *f, const struct value *v) {
  return (f->takes[0] == 's' && v->json[0] == '"') || f->takes[0] == 'o' ||
         (f->takes[0] == 'i' && !strcmp(v->json, "7"));
}

static void every_field_of_every_type(void **state) {
  (void)state;
  for (size_t i = 0; i < N_CALLS; i++)
    for (const field *f = calls[i].fields; f->name; f++)
      for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
        const char *param, *message;
        json_t *body = json_loads(calls[i].body, 0, NULL), *answer;
        json_t *value =
            json_loads(values[v].json, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL * (v == 5), NULL);
        assert_int_equal(json_object_set_new(body, f->name, value), 0);
        char *text = json_dumps(body, 0);
        assert_non_null(text);
        const int code = call(&answer, calls[i].method, calls[i].path, text, strlen(text));
        message = message_of(answer, &param);
        if (takes(f, &values[v]) ? code != 200 && !may_be_refused(f, &values[v])
                                 : code != refusal_of(&calls[i]) && !(code == 200 && may_be_refused(f, &values[v])))
          fail_msg("%s: %d: %s", text, code, message);
        if (code != 200 && !may_be_refused(f, &values[v]) && !strstr(message, f->name) &&
            (!param || strcmp(param, f->name) != 0))
          fail_msg("%s: %s does not name %s", text, message, f->name);
        free(text);
        json_decref(body);
        json_decref(answer);
      }
}

static void unknown_fields(void **state) {
  (void)state;
  for (size_t i = 0; i < N_CALLS; i++) {
    char body[400];
    json_t *answer;
    const char *param;
    snprintf(body, sizeof body, "{\"surprise\": [1], %s", calls[i].body + 1);
    assert_int_equal(call(&answer, calls[i].method, calls[i].path, body, strlen(body)),
                     calls[i].refuses_unknown ? 422 : 200);
    if (calls[i].refuses_unknown) assert_non_null(strstr(message_of(answer, &param), "unknown field 'surprise'"));
    json_decref(answer);
  }
}

/* A megabyte of brackets, in the body and in a field; and as deep as JSON may be nested here, as metadata. */
static void deep_nesting(void **state) {
  enum { DEPTH = 1 << 19 };
  (void)state;
  char *deep = malloc(2 * DEPTH + 64);
  assert_non_null(deep);
  for (size_t i = 0; i < N_CALLS; i++)
    for (int in_field = 0; in_field < 2; in_field++) {
      json_t *answer;
      const char *param;
      const int n = snprintf(deep, 64, in_field ? "{\"%s\": " : "%.0s", calls[i].fields[0].name);
      memset(deep + n, '[', DEPTH);
      memset(deep + n + DEPTH, ']', DEPTH);
      assert_int_equal(call(&answer, calls[i].method, calls[i].path, deep, (size_t)n + 2 * DEPTH), 400);
      assert_non_null(strstr(message_of(answer, &param), "maximum parsing depth"));
      json_decref(answer);
    }
  for (size_t depth = 500; depth <= 2000; depth += 500) {
    const int n = snprintf(deep, 64, "{\"text\": \"Deep.\", \"year\": ");
    memset(deep + n, '[', depth);
    memset(deep + n + depth, ']', depth);
    strcpy(deep + n + 2 * depth, "}");
    const int code = call(NULL, "PUT", "/api/documents/deep", deep, strlen(deep));
    if (code != 200 && code != 422) fail_msg("%zu brackets as metadata: %d", depth, code);
    static const char query[] = "{\"query\": \"river\", \"filter\": \"year >= 2000\"}";
    assert_int_equal(call(NULL, "POST", "/api/search", query, sizeof query - 1), 200);
  }
  free(deep);
  assert_int_equal(cq_index_check(model->index, NULL, NULL), CQ_OK);
}

/* Every kind of bytes that are not UTF-8, in the middle of every body's first string. */
static void not_utf8(void **state) {
  static const char *const bad[] = {"\x80", "\xff", "\xc0\xaf", "\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80"};
  (void)state;
  for (size_t i = 0; i < N_CALLS; i++)
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
      char body[400];
      json_t *answer;
      const char *param, *at = strchr(strchr(calls[i].body, ':'), ' ');
      snprintf(body, sizeof body, "%.*s \"%s\"%s", (int)(at - calls[i].body), calls[i].body, bad[b], at);
      assert_int_equal(call(&answer, calls[i].method, calls[i].path, body, strlen(body)), 400);
      assert_non_null(strstr(message_of(answer, &param), "the body is not JSON: line 1, column"));
      json_decref(answer);
    }
}

/* 16 MB of documents in some kB: refused before they are all in memory, and none is added. */
static void a_body_that_expands(void **state) {
  static char text[1001];
  size_t n;
  (void)state;
  memset(text, 'a', sizeof text - 1);
  gzFile file = gzopen(test_path("expands.gz"), "wb");
  assert_non_null(file);
  for (int i = 0; i < 16000; i++) assert_true(gzprintf(file, "{\"id\": \"g%d\", \"text\": \"%s\"}\n", i, text) > 0);
  assert_int_equal(gzclose(file), Z_OK);
  unsigned char *bytes = read_bytes(&n, test_path("expands.gz"));
  assert_true(n < shared.limits.max_body / 4);
  const size_t before = cq_index_size(model->index);
  json_t *answer;
  const char *param;
  upload_name = "x.jsonl.gz";
  const int code = call(&answer, "POST", "/api/documents", (const char *)bytes, n);
  upload_name = "x.jsonl";
  if (code != 413) fail_msg("%d: %s", code, message_of(answer, &param));
  assert_string_equal(message_of(answer, &param), "the documents have more than 8388608 bytes, 8 times --max-body");
  assert_int_equal(cq_index_size(model->index), before);
  json_decref(answer);
  free(bytes);
}

static void numbers_of_any_size(void **state) {
  static const char *const ks[] = {"0",      "-1",  "1001", "9223372036854775807", "9223372036854775808",
                                   "-1e400", "1e2", "\"5\""};
  (void)state;
  for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
    char body[100];
    json_t *answer;
    const char *param;
    snprintf(body, sizeof body, "{\"query\": \"a\", \"k\": %s}", ks[i]);
    assert_int_equal(call(&answer, "POST", "/api/search", body, strlen(body)), 422);
    assert_string_equal(message_of(answer, &param), "'k' is not a whole number from 1 to 1000");
    json_decref(answer);
  }
  /* ignored, and as metadata */
  static const char ignored[] = "{\"inputs\": \"cut \\ud83d\", \"seed\": 10014255632117358197, \"x\": 1e400}";
  assert_int_equal(call(NULL, "POST", "/embed", ignored, sizeof ignored - 1), 200);
  static const char put[] = "{\"text\": \"a\", \"hash\": 10014255632117358197}";
  json_t *answer;
  assert_int_equal(call(NULL, "PUT", "/api/documents/big", put, sizeof put - 1), 200);
  assert_int_equal(call(&answer, "GET", "/api/documents/big", "", 0), 200);
  assert_string_equal(json_string_value(json_object_get(answer, "hash")), "10014255632117358197");
  json_decref(answer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bodies_cut_at_every_byte),
      cmocka_unit_test(documents_cut_at_every_byte),
      cmocka_unit_test(every_field_of_every_type),
      cmocka_unit_test(unknown_fields),
      cmocka_unit_test(deep_nesting),
      cmocka_unit_test(not_utf8),
      cmocka_unit_test(numbers_of_any_size),
      cmocka_unit_test(a_body_that_expands),
  };
  return cmocka_run_group_tests(tests, open_shared, close_shared);
}
