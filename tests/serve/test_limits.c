/* The limits of requests, each from both sides: texts, tokens, token ids, dimensions, hits, documents, names of files; an
 * index that is read-only; addresses that others can reach. */
#include "serve/direct.h"

#include "serve/listen.h"

#include "calque/encoder.h"

#include <math.h>

static char *text;
enum { TEXT_BYTES = 1 << 20 };

static int post(const char *path) {
  return code_of("POST", path, (body){NULL, NULL, text, strlen(text)});
}

/* {FIRST ITEM, ITEM, ... LAST}, n items. */
static void put_list(const char *first, const char *item, size_t n, const char *last) {
  size_t at = (size_t)sprintf(text, "{%s[", first);
  for (size_t i = 0; i < n; i++) at += (size_t)sprintf(text + at, i ? ",%s" : "%s", item);
  sprintf(text + at, "]%s}", last);
}

static void texts_of_a_request(void **state) {
  const size_t max = shared.limits.max_texts;
  (void)state;
  put_list("\"inputs\":", "\"a\"", max, "");
  assert_int_equal(post("/embed"), 200);
  put_list("\"inputs\":", "\"a\"", max + 1, "");
  assert_int_equal(post("/embed"), 413);
}

static void texts_of_a_side(void **state) {
  const serve_limits had = shared.limits;
  (void)state;
  shared.limits.max_texts = 16384, shared.limits.max_tokens = 1000000;
  put_list("\"b\":[\"a\"],\"a\":", "\"a\"", 2000, "");
  assert_int_equal(post("/api/similarity"), 200);
  put_list("\"b\":[\"a\"],\"a\":", "\"a\"", 2001, "");
  assert_int_equal(post("/api/similarity"), 413);
  shared.limits = had;
}

static void tokens_of_a_request(void **state) {
  static const char ten[] = "[5,5,5,5,5,5,5,5,5,5]";
  const serve_limits had = shared.limits;
  (void)state;
  shared.limits.max_tokens = 100;
  put_list("\"inputs\":", ten, 10, "");
  assert_int_equal(post("/embed"), 200);
  put_list("\"inputs\":", ten, 10, "");
  strcpy(strrchr(text, ']'), ",[5]]}");
  assert_int_equal(post("/embed"), 413);
  assert_non_null(strstr(message, "--max-tokens"));
  shared.limits = had;
}

static void tokens_of_a_text(void **state) {
  const serve_limits had = shared.limits;
  (void)state;
  shared.limits.max_tokens = 10000;
  put_list("\"inputs\":[", "5", model->max_tokens, "],\"on_long\":\"error\"");
  assert_int_equal(post("/embed"), 200);
  put_list("\"inputs\":[", "5", model->max_tokens + 1, "],\"on_long\":\"error\"");
  assert_int_equal(post("/embed"), 413);
  /* Which end of a longer text is left out. */
  for (int is_left = 0; is_left < 2; is_left++) {
    size_t at = (size_t)sprintf(text, "{\"truncation_direction\":\"%s\",\"inputs\":\"a", is_left ? "Left" : "Right");
    for (size_t i = 0; i < model->max_tokens; i++) at += (size_t)sprintf(text + at, " the");
    strcpy(text + at, "\"}");
    assert_int_equal(post("/tokenize"), 200);
    assert_true((strstr(message, "\"text\":\"a\"") == NULL) == (is_left == 1));
    assert_int_equal(post("/embed"), 200);
  }
  sprintf(text, "{\"truncation_direction\":\"Up\",\"inputs\":\"a\"}");
  assert_int_equal(post("/embed"), 422);
  shared.limits = had;
}

static void token_ids_of_the_vocabulary(void **state) {
  const long long n = (long long)cq_encoder_vocab_size(model->encoder);
  (void)state;
  for (long long id = -1; id <= n; id = id == 0 ? n - 1 : id + 1) {
    sprintf(text, "{\"inputs\":[[%lld]]}", id);
    assert_int_equal(post("/embed"), id >= 0 && id < n ? 200 : 422);
  }
}

static void numbers_in_their_range(void **state) {
  (void)state;
  for (size_t dim = 0; dim <= model->dim + 1; dim++) {
    const bool is_fine = dim >= 1 && dim <= model->dim;
    sprintf(text, "{\"inputs\":\"a\",\"dimensions\":%zu}", dim);
    assert_int_equal(post("/embed"), is_fine ? 200 : 422);
    sprintf(text, "{\"input\":\"a\",\"dimensions\":%zu}", dim);
    assert_int_equal(post("/v1/embeddings"), is_fine ? 200 : 400);
  }
  for (int k = 0; k <= 1001; k += k == 1 ? 999 : 1) {
    sprintf(text, "{\"query\":\"a\",\"k\":%d}", k);
    assert_int_equal(post("/api/search"), k >= 1 && k <= 1000 ? 200 : 422);
  }
}

/* A document of exactly eight times the maximum body, with its id, its language and 512 bytes, and of one byte more. */
static void bytes_of_documents(void **state) {
  (void)state;
  for (size_t more = 0; more < 2; more++) {
    const size_t n = 8 * MAX_BODY - 512 - strlen("x") - strlen("en") + more;
    const size_t at = (size_t)sprintf(text, "{\"id\":\"x\",\"language\":\"en\",\"text\":\"");
    memset(text + at, 'a', n);
    strcpy(text + at + n, "\"}");
    assert_int_equal(post("/api/documents"), more ? 413 : 200);
  }
}

static void names_of_files(void **state) {
  static const struct {
    const char *name, *id;
  } rows[] = {{"a.md", "a.md"},       {"../../etc/b.md", "b.md"}, {"/c.md", "c.md"},
              {"..", "documents:1"},  {"../..", "documents:1"},   {".", "documents:1"},
              {".md", "documents:1"}, {"folder/", "documents:1"}, {"", "documents:1"}};
  char name[201];
  (void)state;
  strcpy(text, "A text.");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const cq_slice id = {rows[i].id, strlen(rows[i].id)};
    name_argument = rows[i].name;
    if (post("/api/documents") != 200) fail_msg("%s: %s", rows[i].name, message);
    is_document(rows[i].id, "A text.");
    size_t n = 0;
    assert_int_equal(cq_index_remove_commit(model->index, &id, 1, &n, NULL), CQ_OK);
    assert_int_equal(n, 1);
  }
  for (size_t n = 199; n <= 200; n++) {
    memset(name, 'n', n);
    strcpy(name + n - 3, ".md");
    name_argument = name;
    assert_int_equal(post("/api/documents"), 200);
    is_document(n < 200 ? name : "documents:1", "A text.");
  }
  name_argument = NULL;
}

/* Names of types, parameters and fields fit, or are refused: none is truncated. */
static void lengths_of_names(void **state) {
  char type[600], form[1200];
  (void)state;
  for (size_t n = 120; n < 140; n++) {
    char token[200] = {0};
    memset(token, 't', n);
    snprintf(type, sizeof type, "application/json; %s=x", token);
    assert_int_equal(code_of("POST", "/embed", (body){type, NULL, BYTES("{\"inputs\":\"a\"}")}), n < 128 ? 200 : 415);
    snprintf(type, sizeof type, "multipart/form-data; boundary=\"%s\"", token);
    snprintf(form, sizeof form, "--%s\r\nContent-Disposition: form-data; name=f; filename=f.md\r\n\r\nx\r\n--%s--",
             token, token);
    assert_int_equal(code_of("POST", "/api/documents", (body){type, NULL, form, strlen(form)}), n < 128 ? 200 : 415);
  }
  for (int is_quoted = 0; is_quoted < 2; is_quoted++)
    for (size_t n = 250; n < 260; n++) {
      char token[300] = {0};
      memset(token, 't', n);
      snprintf(form, sizeof form, "--x\r\nContent-Disposition: form-data; name=%s%s%s; filename=f.md\r\n\r\nx\r\n--x--",
               is_quoted ? "\"" : "", token, is_quoted ? "\"" : "");
      assert_int_equal(
          code_of("POST", "/api/documents", (body){"multipart/form-data; boundary=x", NULL, form, strlen(form)}),
          n < 256 ? 200 : 400);
      snprintf(form, sizeof form,
               "--x\r\nContent-Disposition: form-data; name=name\r\n\r\n%s\r\n--x\r\nContent-Disposition: form-data; "
               "name=f; filename=f.md\r\n\r\nx\r\n--x--",
               token);
      assert_int_equal(
          code_of("POST", "/api/documents", (body){"multipart/form-data; boundary=x", NULL, form, strlen(form)}),
          n < 256 ? 200 : 422);
    }
}

static void a_read_only_index(void **state) {
  const size_t before = cq_index_size(model->index);
  (void)state;
  shared.writable = false;
  strcpy(text, "{\"text\":\"a\"}");
  assert_int_equal(post("/api/documents"), 403);
  assert_int_equal(code_of("PUT", "/api/documents/new", (body){NULL, NULL, text, strlen(text)}), 403);
  assert_int_equal(code_of("DELETE", "/api/documents/x", (body){NULL, NULL, "", 0}), 403);
  shared.writable = true;
  assert_int_equal(cq_index_size(model->index), before);
}

static void addresses_of_this_machine(void **state) {
  static const char *const own[] = {"localhost", "127.0.0.1", "127.1.2.3", "::1"};
  static const char *const reachable[] = {
      "0.0.0.0",        "::",       "127.evil.example", "127.0.0.1.evil", "1270.0.0.1",
      "localhost.evil", "localhos", "10.0.0.1",         "::11",           "127"};
  (void)state;
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (!serve_is_loopback(own[i])) fail_msg("%s", own[i]);
  for (size_t i = 0; i < sizeof reachable / sizeof *reachable; i++)
    if (serve_is_loopback(reachable[i])) fail_msg("%s", reachable[i]);
}

static int open_limits(void **state) {
  return !(text = malloc(TEXT_BYTES)) || open_shared(state);
}

static int close_limits(void **state) {
  free(text);
  return close_shared(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_of_a_request),
      cmocka_unit_test(texts_of_a_side),
      cmocka_unit_test(tokens_of_a_request),
      cmocka_unit_test(tokens_of_a_text),
      cmocka_unit_test(token_ids_of_the_vocabulary),
      cmocka_unit_test(numbers_in_their_range),
      cmocka_unit_test(bytes_of_documents),
      cmocka_unit_test(names_of_files),
      cmocka_unit_test(lengths_of_names),
      cmocka_unit_test(a_read_only_index),
      cmocka_unit_test(addresses_of_this_machine),
  };
  return cmocka_run_group_tests(tests, open_limits, close_limits);
}
