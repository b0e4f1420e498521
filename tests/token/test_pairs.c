/* Pairs of texts: templates, token types, and truncation of the longer text first. */
#include "support/files.h"

#include "base/memory.h"
#include "token/tokenizer.h"

#define MODEL                                                                                                          \
  "\"pre_tokenizer\":{\"type\":\"Whitespace\"},"                                                                       \
  "\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"u\",\"vocab\":{\"u\":0,\"c\":1,\"s\":2,\"a\":3,\"b\":4,\"d\":5}}"
#define TEMPLATE(pair)                                                                                                 \
  "{\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[" A "]" pair                                       \
  ",\"special_tokens\":{\"c\":{\"id\":\"c\",\"ids\":[1]},\"s\":{\"id\":\"s\",\"ids\":[2]}}}," MODEL "}"
#define A       "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}"
#define B(t)    "{\"Sequence\":{\"id\":\"B\",\"type_id\":" t "}}"
#define S(x)    "{\"SpecialToken\":{\"id\":\"" x "\",\"type_id\":0}}"
#define ENDS(t) "{\"post_processor\":{\"type\":\"" t "\",\"cls\":[\"c\",1],\"sep\":[\"s\",2]}," MODEL "}"

static cq_tokenizer *open_json(const char *json) {
  cq_tokenizer *t;
  cq_error error = {0};
  write_text(test_path("tokenizer.json"), json);
  if (cq_tokenizer_open(&t, test_directory, false, &error)) fail_msg("%s", error.message);
  return t;
}

/* ids as digits, with a bar before the first of type 1. */
static void expect_pair(const char *json, const char *first, const char *other, size_t max_length, bool truncated,
                        const char *expected) {
  cq_tokenizer *t = open_json(json);
  cq_ids ids = {0};
  size_t second = 99, at = 0;
  bool was = !truncated;
  char found[64];
  cq_error error = {0};
  const cq_slice texts[] = {cq_slice_of(first), cq_slice_of(other)};
  if (cq_tokenizer_encode_pair(&ids, &second, t, NULL, texts, max_length, &was, &error)) fail_msg("%s", error.message);
  for (size_t i = 0; i < ids.n; i++) {
    if (i == second) found[at++] = '|';
    found[at++] = (char)('0' + ids.ids[i]);
  }
  found[at] = '\0';
  assert_string_equal(found, expected);
  assert_int_equal(was, truncated);
  cq_free(ids.ids);
  cq_tokenizer_free(t);
}

static void templates_are_the_tokenizers(void **state) {
  (void)state;
  expect_pair(ENDS("BertProcessing"), "a b", "d", 0, false, "1342|52");
  expect_pair(ENDS("RobertaProcessing"), "a b", "d", 0, false, "1342252");
  expect_pair(TEMPLATE(",\"pair\":[" S("c") "," A "," S("s") "," B("1") "," S("s") "]"), "a", "b d", 0, false,
              "132|452");
  expect_pair(TEMPLATE(",\"pair\":[" A "," S("s") "," B("0") "]"), "a", "b d", 0, false, "3245");
  expect_pair(ENDS("BertProcessing"), "", "", 0, false, "12|2");
}

static void the_longer_text_is_truncated_first(void **state) {
  (void)state;
  static const char *const bert = ENDS("BertProcessing");
  expect_pair(bert, "a a", "b b b b", 9, false, "1332|44442");
  expect_pair(bert, "a a", "b b b b", 8, true, "1332|4442");
  expect_pair(bert, "a a", "b b b b", 7, true, "1332|442");
  expect_pair(bert, "a a a a", "b b", 7, true, "1332|442");
  expect_pair(bert, "a a", "b b b b", 6, true, "132|442"); /* room for 3: one of the shorter, two of the longer */
  expect_pair(bert, "a a a a", "b b", 6, true, "1332|42");
  expect_pair(bert, "a a a a", "b b b b", 6, true, "132|442");
  expect_pair(bert, "a a a a", "", 6, true, "13332|2");
  expect_pair(bert, "a a a a a a", "b b b b b b b b", 5, true, "132|42");
  expect_pair(bert, "a a a a a a", "b b b b b b b b", 6, true, "132|442");
  expect_pair(bert, "a a a a a a a a", "b b b b b b", 6, true, "1332|42");
  expect_pair(
      "{\"truncation\":{\"max_length\":9,\"direction\":\"Left\"},\"post_processor\":{\"type\":\"BertProcessing\","
      "\"cls\":[\"c\",1],\"sep\":[\"s\",2]}," MODEL "}",
      "a b", "a a b b d", 8, true, "1342|4452");
}

static void refused(const char *json, size_t max_length, cq_status status, const char *why) {
  cq_tokenizer *t = open_json(json);
  cq_ids ids = {0};
  size_t second;
  cq_error error = {0};
  const cq_slice texts[] = {cq_slice_of("a"), cq_slice_of("b")};
  assert_int_equal(cq_tokenizer_encode_pair(&ids, &second, t, NULL, texts, max_length, NULL, &error), status);
  if (!strstr(error.message, why)) fail_msg("'%s' is not in '%s'", why, error.message);
  assert_int_equal(ids.n, 0);
  cq_free(ids.ids);
  cq_tokenizer_free(t);
}

static void unusual_templates_are_refused(void **state) {
  (void)state;
  static const char *const why = "no template for pairs of texts";
  refused("{" MODEL "}", 0, CQ_ERR_UNSUPPORTED, why);
  refused(TEMPLATE(""), 0, CQ_ERR_UNSUPPORTED, why);
  refused(TEMPLATE(",\"pair\":[" A "]"), 0, CQ_ERR_UNSUPPORTED, why);
  refused(TEMPLATE(",\"pair\":[" A "," B("1") "," B("1") "]"), 0, CQ_ERR_UNSUPPORTED, why);
  refused(TEMPLATE(",\"pair\":[" A "," B("2") "]"), 0, CQ_ERR_UNSUPPORTED, why);
  refused(TEMPLATE(",\"pair\":[" A "," S("x") "," B("1") "]"), 0, CQ_ERR_UNSUPPORTED, why);
  refused(ENDS("BertProcessing"), 4, CQ_ERR_ARGUMENT, "the maximum sequence length 4 leaves no room for two texts");
}

static void memory_runs_out(void **state) {
  (void)state;
  cq_tokenizer *t = open_json(ENDS("RobertaProcessing"));
  const cq_slice texts[] = {cq_slice_of("a b"), cq_slice_of("d")};
  bool failed = true;
  for (long n = 1; failed; n++) {
    cq_ids ids = {0};
    size_t second;
    cq_error error = {0};
    cq_alloc_fail_at(n);
    const cq_status status = cq_tokenizer_encode_pair(&ids, &second, t, NULL, texts, 0, NULL, &error);
    failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    assert_int_equal(ids.n, failed ? 0 : 7);
    cq_free(ids.ids);
  }
  cq_tokenizer_free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(templates_are_the_tokenizers),
      cmocka_unit_test(the_longer_text_is_truncated_first),
      cmocka_unit_test(unusual_templates_are_refused),
      cmocka_unit_test(memory_runs_out),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
