/* JSON in which a name comes twice, or that a parser refuses though it is JSON: the same holds for readers and routes. A
 * repeated name that is read is an error that names it; fields that are ignored may hold any JSON. */
#include "serve/direct.h"

typedef struct row {
  const char *json, *part; /* of the error; NULL: it is fine */
} row;

/* Whether the answer, whose quotation marks are escaped, has it. */
static bool json_has(const char *part) {
  char plain[sizeof message];
  size_t n = 0;
  for (const char *c = message; *c; c++)
    if (*c != '\\') plain[n++] = *c;
  plain[n] = '\0';
  return strstr(plain, part) != NULL;
}

/* As a document's metadata, all of which is read: by the reader of files, and in PUT. */
static void in_documents(void **state) {
  static const row rows[] = {
      {"{\"text\": \"a\", \"text\": \"b\"}", "duplicate object key near '\"text\"'"},
      {"{\"text\": \"a\", \"x\": 1, \"x\": 1}", "duplicate object key near '\"x\"'"},
      {"{\"text\": \"a\", \"x\": 1, \"\\u0078\": 1}", "duplicate object key"},
      {"{\"text\": \"a\", \"x\": {\"y\": 1, \"y\": 2}}", "duplicate object key near '\"y\"'"},
      {"{\"text\": \"a\", \"x\": NaN}", "'NaN'"},
      {"{\"text\": \"a\", \"x\": [-Infinity]}", "invalid token"},
      {"{\"text\": \"a\", \"x\": 01}", ""},
      {"{\"text\": \"a\\u0000b\"}", "text"},
      {"{\"text\": \"a\", \"x\": [\"\\u0000\"]}", "NUL character"}, /* which PostgreSQL cannot keep */
      {"{\"text\": \"a\", \"x\\u0000y\": 1}", "NUL"},
      {"{\"text\": \"a\", \"y\": 1e400, \"z\": 123456789012345678901234567890}", NULL},
      {"{\"text\": \"a\", \"x\": \"\\ud800\", \"y\": {\"x\": [1, {\"x\": 1}]}, \"z\": {\"x\": 1}}", NULL},
      {"{\"text\": \"a\", \"x\": \"\\\"text\\\": 1, \\\"text\\\": 2\"}", NULL},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int is_put = 0; is_put < 2; is_put++) {
      const int code = code_of(is_put ? "PUT" : "POST", is_put ? "/api/documents/a" : "/api/documents",
                               (body){"application/json", NULL, rows[i].json, strlen(rows[i].json)});
      if ((code == 200) != !rows[i].part || (code != 200 && code != 400 && code != 422) ||
          (rows[i].part && !json_has(rows[i].part)))
        fail_msg("%s %s: %d %s", is_put ? "PUT" : "POST", rows[i].json, code, message);
    }
}

static void in_requests(void **state) {
  static const row rows[] = {
      {"{\"input\": \"a\", \"input\": \"a\"}", "'input' comes twice"},
      {"{\"x\": 1, \"x\": 2, \"input\": \"a\", \"inp\\u0075t\" : \"b\"}", "'input' comes twice"},
      {"{\"input\": \"a\", \"dimensions\": 2, \"x\": [\"dimensions\"], \"dimensions\": 3}", "'dimensions' comes twice"},
      {"{\"x\": 1e999, \"input\": \"a\", \"input\": \"b\"}", "'input' comes twice"},
      {"{\"input\": \"a\", \"x\": NaN}", "'NaN'"},
      {"{\"input\": \"a\", \"x\": Infinity}", "'Infinity'"},
      {"{\"input\": \"a\", \"dimensions\": 1e400}", "'dimensions' is not"},
      {"{\"input\": \"a\", \"prompt_name\": \"\\u0000\"}", "'prompt_name' is not"},
      {"[{\"input\": \"a\", \"input\": \"b\"}]", "not a JSON object"},
      {"{\"input\": \"a\", \"x\": 1, \"x\": [2]}", NULL},
      {"{\"input\": \"a\", \"x\": {\"input\": 1, \"input\": 2}}", NULL},
      {"{\"x\": [{\"y\": \"\\\"\", \"y\": \"}\"}], \"input\": \"a\"}", NULL},
      {"{\"input\": \"a\", \"x\\u0000y\": {\"\\u0000\": \"\\u0000\"}}", NULL},
      {"{\"input\": \"a\", \"x\": [1e400, -1e400, 123456789012345678901234567890, \"\\udc00\"]}", NULL},
  };
  static const struct {
    const char *path, *json, *part;
  } others[] = {
      {"/similarity", "{\"inputs\": {\"source_sentence\": \"a\", \"sentences\": [\"b\"], \"sentences\": [\"c\"]}}",
       "'inputs'"},
      {"/", "{\"inputs\": \"a\", \"inputs\": \"b\"}", "'inputs' comes twice"},
      {"/embed", "{\"inputs\": \"a\", \"normalize\": true, \"normalize\": false}", "'normalize' comes twice"},
      {"/tokenize", "{\"inputs\": \"a\", \"on_long\": \"error\", \"on_long\": \"truncate\"}", "'on_long' comes twice"},
      {"/api/similarity", "{\"a\": [\"x\"], \"b\": [\"y\"], \"b\": [\"z\"]}", "'b' comes twice"},
      {"/api/search", "{\"query\": \"a\", \"k\": 1, \"k\": 2}", "'k' comes twice"},
      {"/api/search", "{\"query\": \"a\", \"query\": \"b\"}", "'query' comes twice"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    is_code(rows[i].part ? 400 : 200, rows[i].part ? rows[i].part : "embedding", "POST", "/v1/embeddings",
            (body){NULL, NULL, rows[i].json, strlen(rows[i].json)});
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    is_code(422, others[i].part, "POST", others[i].path, (body){NULL, NULL, others[i].json, strlen(others[i].json)});
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(in_documents),
      cmocka_unit_test(in_requests),
  };
  return cmocka_run_group_tests(tests, open_shared, close_shared);
}
