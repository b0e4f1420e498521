/* The fast reader of tokenizer.json: it reads what Jansson reads, the same, or leaves it to Jansson. And the trie that
 * takes many strings at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "token/large_json.h"
#include "token/trie.h"

#include <stdio.h>
#include <string.h>

typedef struct seen {
  char text[256]; /* "piece=id/score;" and so on */
  bool scored;
  size_t n, refuse_at;
  cq_status refuse_as;
} seen;

static cq_status begin(void *context, size_t n, bool scored) {
  seen *s = context;
  s->n = n, s->scored = scored, s->text[0] = 0;
  return CQ_OK;
}

static cq_status take(void *context, const char *text, size_t n, int64_t id, double score) {
  seen *s = context;
  const size_t at = strlen(s->text);
  if (s->refuse_at && (size_t)id + 1 == s->refuse_at) return s->refuse_as;
  snprintf(s->text + at, sizeof s->text - at, "%.*s=%d/%g;", (int)n, text, (int)id, score);
  return CQ_OK;
}

static cq_status reads(json_t **rest, seen *s, const char *text) {
  const cq_vocab_sink sink = {s, begin, take};
  return cq_large_json_read(rest, text, strlen(text), &sink);
}

/* What is left is what Jansson reads, without the vocabulary. */
static void same_as_jansson(const char *text, const char *pieces, bool scored) {
  seen s = {0};
  json_t *rest, *whole = json_loads(text, JSON_ALLOW_NUL, NULL);
  assert_non_null(whole);
  assert_int_equal(reads(&rest, &s, text), CQ_OK);
  assert_string_equal(s.text, pieces);
  assert_int_equal(s.scored, scored);
  json_object_del(json_object_get(whole, "model"), "vocab");
  assert_true(json_equal(rest, whole));
  json_decref(rest);
  json_decref(whole);
}

static void both_forms(void **state) {
  (void)state;
  same_as_jansson(
      "{\"a\": [1, -2.5e3, true, false, null, \"x\\u0041\\u00e9\\n\", {}, []], \"model\": {\"type\": "
      "\"Unigram\", \"vocab\": [[\"<s>\", 0], [\"\\u2581a\\\"\", -1.5]], \"unk_id\": 0}, \"z\": {\"y\": 1}}",
      "<s>=0/0;\xE2\x96\x81"
      "a\"=1/-1.5;",
      true);
  same_as_jansson("{\"model\": {\"vocab\": {\"b\": 7, \"a\": 0, \"\": 1}, \"type\": \"BPE\", \"merges\": [\"a b\"]}}",
                  "b=7/0;a=0/0;=1/0;", false);
  same_as_jansson("{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\\u0000b\", 1]]}, \"n\": \"a\\u0000b\"}",
                  "a=0/1;", true);
}

static void left_to_jansson(void **state) {
  static const char *const texts[] = {
      "",
      "[]",
      "{}",
      "{\"model\": 1}",
      "{\"model\": {\"type\": \"BPE\"}}",
      "{\"model\": {\"vocab\": {\"a\": 0}}}",                      /* the form says what it is */
      "{\"model\": {\"type\": \"BPE\", \"vocab\": [[\"a\", 0]]}}", /* two that do not belong together */
      "{\"model\": {\"type\": \"Unigram\", \"vocab\": {\"a\": 0}}}",
      "{\"model\": {\"type\": \"BPE\", \"vocab\": {}}}",
      "{\"model\": {\"type\": \"Unigram\", \"vocab\": []}}",
      "{\"model\": {\"type\": \"BPE\", \"vocab\": 3}}",
      "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0.5}}}",
      "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": \"b\"}}}",
      "{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\"]]}}",
      "{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\", 1, 2]]}}",
      "{\"model\": {\"type\": \"Unigram\", \"vocab\": [[1, \"a\"]]}}",
      "{\"model\": {\"type\": \"Unigram\", \"vocab\": [\"a\"]}}",
      "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"vocab\": {\"b\": 0}}}",
      "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}}, \"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}}}",
      "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}}, \"n\": 1000000000000000000000000}",
      "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}}, \"n\": 18446744073709551615}",
      "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}}, \"n\": 1e999}",
      "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}}, \"n\": \"\\ud800\"}",
      "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}}, \"n\": \"\\uDC00\"}",
      "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}}, \"n\\u0000\": 1}",
      "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}}, \"n\": \"\xFF\"}",
      "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}}} x",
      "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}}",
      "\\",
      "\\u",
  };
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    seen s = {0};
    json_t *rest = (json_t *)&s;
    if (reads(&rest, &s, texts[i]) != CQ_ERR_FORMAT) fail_msg("read: %s", texts[i]);
    assert_null(rest);
  }
  for (int i = 0; i < 2; i++) {
    seen s = {.refuse_at = 2, .refuse_as = i ? CQ_ERR_MEMORY : CQ_ERR_FORMAT};
    json_t *rest;
    assert_int_equal(reads(&rest, &s, "{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\", 0], [\"b\", 0]]}}"),
                     s.refuse_as);
    assert_null(rest);
  }
}

/* --- the trie --- */

static cq_slice key_at(const void *context, size_t i) {
  return ((const cq_slice *)context)[i];
}

static void all_at_once_as_one_by_one(void **state) {
  enum { N = 3000 };
  static char bytes[N][8];
  static cq_slice keys[N];
  cq_random random = cq_random_seeded(5, 0);
  (void)state;
  for (size_t i = 0; i < N; i++) { /* few letters: many are prefixes of others, many stand twice, some are empty */
    const size_t n = cq_random_below(&random, 8);
    for (size_t c = 0; c < n; c++) bytes[i][c] = (char)cq_random_below(&random, 3);
    keys[i] = (cq_slice){bytes[i], n};
  }
  for (size_t n = 0; n <= N; n = n < 40 ? n + 1 : n + 740) {
    cq_trie one = {0}, all = {0};
    for (size_t i = 0; i < n; i++) assert_true(cq_trie_put(&one, keys[i], (int32_t)i));
    assert_true(cq_trie_put_all(&all, n, key_at, keys));
    if (n > 0) assert_int_equal(one.n_nodes, all.n_nodes);
    for (size_t i = 0; i < N; i++) assert_int_equal(cq_trie_get(&one, keys[i]), cq_trie_get(&all, keys[i]));
    cq_trie_free(&one);
    cq_trie_free(&all);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(both_forms),
      cmocka_unit_test(left_to_jansson),
      cmocka_unit_test(all_at_once_as_one_by_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
