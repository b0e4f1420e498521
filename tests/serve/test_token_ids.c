/* Token ids on OpenAI's routes: refused unless the server knows of what they are; decoded with a table in tiktoken's
 * format, whose every damage is found. */
#include "base/base64.h"
#include "base/memory.h"
#include "serve/direct.h"

static serve_token_kind kinds[] = {SERVE_TOKENS_CL100K, SERVE_TOKENS_O200K};

/* Lines of a table: a character each, then pairs and triples of letters, "Hello" at 9906 and " world" at 1917, as in
 * cl100k, and the halves of "\u00e9" and a byte that begins no character. */
static void put_token(cq_builder *b, size_t id) {
  char token[8];
  const size_t letter = id % 26, more = id / 26 % 26, most = id / 676 % 26;
  const char *words[] = {"Hello", " world", "\xC3", "\xA9", "\xFF"};
  const size_t ids[] = {9906, 1917, 2000, 2001, 2002};
  snprintf(token, sizeof token, "%c%c%c", (int)('a' + letter), (int)('a' + more), (int)('a' + most));
  cq_slice text = {token, 3};
  for (size_t i = 0; i < 5; i++)
    if (ids[i] == id) text = cq_slice_of(words[i]);
  cq_base64_encode(b, text);
  cq_builder_printf(b, " %zu\n", id);
}

static cq_builder table_of(size_t n) {
  cq_builder b = {0};
  for (size_t id = 0; id < n; id++) put_token(&b, id);
  assert_false(b.failed);
  return b;
}

static cq_status open_table(serve_token_kind kind, const char *bytes, size_t n, cq_error *error) {
  write_bytes(test_path("table"), bytes, n);
  serve_token_table_close(&shared.tokens);
  shared.token_kind = kind;
  return serve_token_table_open(&shared.tokens, kind, test_path("table"), error);
}

/* The ids that a body becomes. */
static void take_ids(cq_token_ids *out, const char *text) {
  char allow[SERVE_ALLOW];
  serve_request r = {.shared = &shared, .model = serve_model_use(model), .argument = argument_of};
  r.route = serve_route_find(serve_all_routes, "POST", "/v1/embeddings", &r.rest, allow);
  cq_builder_text(&r.body, text);
  r.route->prepare(&r);
  if (r.code || !r.work) fail_msg("%s: %d: %s", text, r.code, r.answer.data);
  *out = r.work->ids;
  r.work->ids = (cq_token_ids){0};
  serve_request_clear(&r);
}

static void are_the_same(const char *ids, const char *text) {
  cq_token_ids a, b;
  take_ids(&a, ids);
  take_ids(&b, text);
  assert_int_equal(a.n, b.n);
  assert_memory_equal(a.starts, b.starts, (a.n + 1) * sizeof *a.starts);
  assert_memory_equal(a.ids, b.ids, a.starts[a.n] * sizeof *a.ids);
  cq_token_ids_free(&a);
  cq_token_ids_free(&b);
}

static void ids_are_refused_with_the_remedy(void **state) {
  static const char *const bodies[] = {"{\"input\": [[9906, 1917]]}", "{\"input\": [9906]}",
                                       "{\"model\": \"bert-uncased\", \"input\": [\"a\", [5]]}", "{\"input\": [[]]}"};
  static const char *const paths[] = {"/v1/embeddings", "/embeddings"};
  (void)state;
  shared.token_kind = SERVE_TOKENS_REFUSED;
  for (size_t i = 0; i < 8; i++) {
    const body b = {NULL, NULL, bodies[i / 2], strlen(bodies[i / 2])};
    is_code(400, "check_embedding_ctx_length=False", "POST", paths[i % 2], b);
    assert_non_null(strstr(message, "--token-ids"));
    assert_non_null(strstr(message, "\"param\":\"input\""));
  }
  is_code(200, "", "POST", "/embed", (body){NULL, NULL, BYTES("{\"inputs\": [[5, 6]]}")}); /* TEI's: its own */
}

static void own_ids_are_used_as_they_are(void **state) {
  char text[200];
  cq_token_ids ids;
  (void)state;
  shared.token_kind = SERVE_TOKENS_OWN;
  take_ids(&ids, "{\"input\": [5, 6]}");
  assert_true(ids.n == 1 && ids.starts[1] == 2 && ids.ids[0] == 5 && ids.ids[1] == 6);
  cq_token_ids_free(&ids);
  snprintf(text, sizeof text, "{\"model\": \"%s\", \"input\": [[5, 6]]}", model->name);
  is_code(200, "", "POST", "/v1/embeddings", (body){NULL, NULL, text, strlen(text)});
  is_code(400, "check_embedding_ctx_length", "POST", "/v1/embeddings",
          (body){NULL, NULL, BYTES("{\"model\": \"text-embedding-3-small\", \"input\": [[5, 6]]}")});
  is_code(200, "", "POST", "/v1/embeddings",
          (body){NULL, NULL, BYTES("{\"model\": \"text-embedding-3-small\", \"input\": [\"a\"]}")});
}

static void a_table_gives_text(void **state) {
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    const size_t n = serve_token_table_size(kinds[i]);
    cq_builder b = table_of(n);
    cq_error error = {0};
    if (open_table(kinds[i], b.data, b.n, &error)) fail_msg("%s", error.message);
    are_the_same("{\"input\": [[9906, 1917]]}", "{\"input\": \"Hello world\"}");
    are_the_same("{\"model\": \"text-embedding-3-small\", \"input\": [9906, 2000, 2001]}",
                 "{\"input\": \"Hello\u00e9\"}");
    are_the_same("{\"input\": [[0], \"b\", [1917, 9906, 1]]}", "{\"input\": [\"aaa\", \"b\", \" worldHellobaa\"]}");
    /* The beginning, the end, and no part of a character. */
    are_the_same("{\"input\": [[9906, 2000], [2001, 9906], [9906, 2002, 1917]]}",
                 "{\"input\": [\"Hello\uFFFD\", \"\uFFFDHello\", \"Hello\uFFFD world\"]}");
    for (size_t id = n - 1; id <= n; id++) {
      char text[100], expected[100];
      snprintf(text, sizeof text, "{\"input\": [[9906], [1917, %zu]]}", id);
      snprintf(expected, sizeof expected, "token 1 of 'input[1]' is not a whole number from 0 to %zu", n - 1);
      is_code(id < n ? 200 : 400, id < n ? "" : expected, "POST", "/v1/embeddings",
              (body){NULL, NULL, text, strlen(text)});
    }
    static const char *const wrong[] = {"[-1]", "[1.5]",       "[[9906, null]]",     "[[\"a\"]]",
                                        "[[]]", "[9906, [1]]", "[99999999999999999]"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
      char text[100];
      snprintf(text, sizeof text, "{\"input\": %s}", wrong[k]);
      is_code(400, "'input", "POST", "/v1/embeddings", (body){NULL, NULL, text, strlen(text)});
    }
    cq_builder_free(&b);
  }
}

static void damaged_tables_are_refused(void **state) {
  static const struct {
    const char *line, *part;
  } rows[] = {
      {"!!!! 0\n", ":1: no token in base64"}, {"IQ= 0\n", ":1: no token in base64"},
      {"\n", ":1: no token in base64"},       {"IQ==\n", ":1: no token in base64"},
      {" 0\n", ":1: no token in base64"},     {"IQ== 1\n", ":1: the id is '1', expected 0"},
      {"IQ== x\n", ":1: the id is 'x'"},      {"IQ== -1\n", ":1: the id is '-1'"},
      {"IQ==  0\n", ":1: the id is ' 0'"},    {"IQ== 0 0\n", ":1: the id is '0 0'"},
  };
  cq_error error = {0};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (open_table(SERVE_TOKENS_CL100K, rows[i].line, strlen(rows[i].line), &error) != CQ_ERR_FORMAT ||
        !strstr(error.message, rows[i].part))
      fail_msg("%s: %s", rows[i].line, error.message);
    assert_true(!shared.tokens.ends && !shared.tokens.n);
  }
  const size_t n = serve_token_table_size(SERVE_TOKENS_CL100K);
  for (int more = -1; more <= 1; more += 2) { /* cut after a line; that of another model */
    cq_builder b = table_of(more < 0 ? n - 1 : n + 1);
    assert_int_equal(open_table(SERVE_TOKENS_CL100K, b.data, b.n, &error), CQ_ERR_FORMAT);
    assert_non_null(strstr(error.message, more < 0 ? "100255 tokens, the table has 100256"
                                                   : ":100257: a token too many: the table has 100256"));
    cq_builder_free(&b);
  }
  assert_int_equal(open_table(SERVE_TOKENS_CL100K, "", 0, &error), CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "0 tokens"));
  cq_builder cut = table_of(n);
  for (size_t less = 1; less <= 12; less++) /* of the last line: no newline is needed */
    assert_int_equal(open_table(SERVE_TOKENS_CL100K, cut.data, cut.n - less, &error),
                     less == 1 ? CQ_OK : CQ_ERR_FORMAT);
  cq_builder_free(&cut);
  assert_int_equal(serve_token_table_open(&shared.tokens, SERVE_TOKENS_CL100K, test_path("none"), &error), CQ_ERR_IO);
}

static void failing_allocations(void **state) {
  cq_builder b = table_of(serve_token_table_size(SERVE_TOKENS_CL100K));
  cq_error error = {0};
  long n = 0;
  (void)state;
  write_bytes(test_path("table"), b.data, b.n);
  serve_token_table_close(&shared.tokens);
  for (bool failed = true; failed;) {
    cq_alloc_fail_at(++n);
    const cq_status status = serve_token_table_open(&shared.tokens, SERVE_TOKENS_CL100K, test_path("table"), &error);
    failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
  }
  assert_true(n > 3);
  cq_builder_free(&b);
}

static int close_all(void **state) {
  serve_token_table_close(&shared.tokens);
  return close_shared(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ids_are_refused_with_the_remedy),
      cmocka_unit_test(own_ids_are_used_as_they_are),
      cmocka_unit_test(a_table_gives_text),
      cmocka_unit_test(damaged_tables_are_refused),
      cmocka_unit_test(failing_allocations),
  };
  return cmocka_run_group_tests(tests, open_shared, close_all);
}
