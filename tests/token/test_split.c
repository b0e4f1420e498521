/* Split: strings and regular expressions give the words that Hugging Face's library gives; what ICU does not have the
 * same is refused with its place; hostile patterns end. */
#include "golden.h"

#include "text/regex.h"
#include "token/tokenizer_parts.h"

#include <pthread.h>

/* The pre-tokenizer of a JSON object, which is taken over. */
static cq_status open_steps(cq_pre_tokenizers *out, cq_arena *arena, json_t *json, cq_error *error) {
  static const cq_place place = {"tokenizer.json", "pre_tokenizer"};
  assert_non_null(json);
  const cq_status status = cq_pre_tokenizers_parse(out, arena, json, &place, error);
  json_decref(json);
  return status;
}

static cq_status run_steps(cq_words **out, cq_words words[2], const cq_pre_tokenizers *steps, cq_slice text) {
  words[0].n = 0;
  cq_builder_clear(&words[0].text);
  words[0].text.limit = 0;
  cq_builder_bytes(&words[0].text, text.data, text.n);
  assert_true(text.n == 0 || cq_words_put(&words[0], 0, text.n, true));
  return cq_pre_tokenizers_run(out, words, steps);
}

static void free_words(cq_words words[2]) {
  for (int i = 0; i < 2; i++) {
    cq_builder_free(&words[i].text);
    cq_free(words[i].words);
  }
}

static bool same_words(const cq_words *words, const json_t *expected) {
  if (words->n != json_array_size(expected)) return false;
  for (size_t i = 0; i < words->n; i++)
    if (!cq_slice_equal(cq_words_text(words, &words->words[i]), json_slice(json_array_get(expected, i)))) return false;
  return true;
}

static void test_words(void **state) {
  (void)state;
  json_t *rows = golden_json("splits.json");
  cq_words words[2] = {0}, *result;
  cq_arena arena = {0};
  size_t n_different = 0;
  assert_true(json_array_size(rows) > 1000);
  for (size_t i = 0; i < json_array_size(rows); i++) {
    const json_t *row = json_array_get(rows, i);
    json_t *pattern = json_array_get(row, 0);
    cq_pre_tokenizers steps = {0};
    cq_error error = {0};
    json_t *given = json_is_string(pattern) ? json_pack("{s:O}", "Regex", pattern) : json_incref(pattern);
    if (open_steps(&steps, &arena,
                   json_pack("{s:s, s:o, s:O, s:O}", "type", "Split", "pattern", given, "behavior",
                             json_array_get(row, 1), "invert", json_array_get(row, 2)),
                   &error))
      fail_msg("row %zu: %s", i, error.message);
    assert_int_equal(run_steps(&result, words, &steps, json_slice(json_array_get(row, 3))), CQ_OK);
    if (!same_words(result, json_array_get(row, 4))) {
      char *text = json_dumps(row, JSON_COMPACT);
      print_error("row %zu: %s\n  words:", i, text);
      for (size_t k = 0; k < result->n; k++)
        print_error(" [%.*s]", (int)result->words[k].n, result->text.data + result->words[k].start);
      print_error("\n");
      free(text);
      n_different++;
    }
    cq_pre_tokenizers_free(&steps);
  }
  assert_int_equal(n_different, 0);
  free_words(words);
  cq_arena_free(&arena);
  json_decref(rows);
}

static void test_refused(void **state) {
  static const struct {
    const char *pattern;
    uint64_t byte;
    const char *what;
  } cases[] = {
      {"(a)\\1", 3, "a back-reference"},
      {"(?<x>a)\\k<x>", 7, "a back-reference or call"},
      {"a\\gx", 1, "a back-reference or call"},
      {"(?x) a", 0, "an option besides i and m"},
      {"(?(1)a|b)", 0, "a group of another kind"},
      {"(?~ab)", 0, "a group of another kind"},
      {"b(*FAIL)", 1, "a callout"},
      {"a(?i)b", 1, "an option in the middle of a group"},
      {"(?i", 0, "a group without its end"},
      {"(ab", 3, "a group without its )"},
      {"ab)", 2, "a ) without its ("},
      {"(?#ab", 0, "a comment without its )"},
      {"(?<-x>a)", 0, "a malformed name of a group"},
      {"[ab", 0, "a class without its ]"},
      {"x[]a]", 1, "a class that begins with ]"},
      {"[a&&]", 4, "an intersection with nothing"},
      {"[z-a]", 1, "a range that ends before it begins"},
      {"[a-\\w]", 3, "a range that ends with a class"},
      {"[a-[b]]", 3, "a range that ends with a class"},
      {"[[:cntrl:]]", 1, "a bracketed class that ICU does not have"},
      {"\\p{Graph}", 0, "a property that ICU does not have"},
      {"\\pL", 0, "a property without braces"},
      {"a\\p{}", 1, "a malformed property"},
      {"\\p{Lx}", 0, "U_REGEX_PROPERTY_SYNTAX"},
      {"+a", 0, "a quantifier with nothing to repeat"},
      {"a|*", 2, "a quantifier with nothing to repeat"},
      {"(?=a)*", 5, "a quantifier with nothing to repeat"},
      {"^+", 1, "a quantifier with nothing to repeat"},
      {"a*+*", 3, "a quantifier of a quantifier"},
      {"a{3}{2}", 4, "a quantifier with nothing to repeat"},
      {"a{3,2}", 1, "a quantifier that ends before it begins"},
      {"a{100001}", 1, "a quantifier above 100000"},
      {"a\\", 1, "a backslash at the end"},
      {"\\Qa", 0, "an escape that is not known"},
      {"\\x{110000}", 0, "a malformed number of a character"},
      {"\\xE9", 0, "a malformed number of a character"},
      {"\\u12", 0, "a malformed number of a character"},
      {"(?<=a*)b", 0, "U_REGEX_LOOK_BEHIND_LIMIT"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_regex *regex = NULL;
    cq_error error = {0};
    if (cq_regex_open(&regex, cq_slice_of(cases[i].pattern), &error) != CQ_ERR_UNSUPPORTED)
      fail_msg("%s is taken", cases[i].pattern);
    assert_null(regex);
    assert_int_equal(error.status, CQ_ERR_UNSUPPORTED);
    if (!strstr(error.message, cases[i].what)) fail_msg("%s: %s", cases[i].pattern, error.message);
    if (error.byte != cases[i].byte) fail_msg("%s: byte %d", cases[i].pattern, (int)error.byte);
  }
  char deep[200] = "";
  for (int i = 0; i < 65; i++) strcat(deep, "(");
  cq_regex *regex;
  cq_error error = {0};
  assert_int_equal(cq_regex_open(&regex, cq_slice_of(deep), &error), CQ_ERR_UNSUPPORTED);
  assert_int_equal(error.byte, 64);
  assert_non_null(strstr(error.message, "byte 64, groups nested too deeply"));
}

/* What stands in the message of a whole tokenizer. */
static void test_message(void **state) {
  cq_pre_tokenizers steps = {0};
  cq_arena arena = {0};
  cq_error error = {0};
  (void)state;
  assert_int_equal(
      open_steps(&steps, &arena, json_pack("{s:s, s:{s:s}}", "type", "Split", "pattern", "Regex", "x\\K"), &error),
      CQ_ERR_UNSUPPORTED);
  assert_string_equal(error.message, "tokenizer.json: pre_tokenizer: Split with the regular expression 'x\\K' is not "
                                     "supported: byte 1, an escape that is not known");
  cq_pre_tokenizers_free(&steps);
  assert_int_equal(
      open_steps(&steps, &arena, json_pack("{s:s, s:{s:s}}", "type", "Split", "pattern", "Regex", ""), &error),
      CQ_ERR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "'' is not supported: U_ILLEGAL_ARGUMENT_ERROR at character 0 of ''"));
  /* Why it is refused stands behind a long pattern too. */
  char pattern[2000];
  memset(pattern, 'a', sizeof pattern - 1);
  memcpy(pattern + sizeof pattern - 4, "\\K", sizeof "\\K");
  cq_pre_tokenizers_free(&steps);
  assert_int_equal(
      open_steps(&steps, &arena, json_pack("{s:s, s:{s:s}}", "type", "Split", "pattern", "Regex", pattern), &error),
      CQ_ERR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "is not supported: byte 1996, an escape that is not known"));
  cq_pre_tokenizers_free(&steps);
  cq_arena_free(&arena);
}

/* Patterns that would take forever are stopped, and real ones are not, however long the text. */
static void test_time(void **state) {
  static const char *const hostile[] = {"(a+)+b", "(a|aa)+b", "(.*)*x", "(a*)*b", "(?:a?){200}a{200}b"};
  enum { LONG = 1 << 20 };
  cq_words words[2] = {0}, *result;
  cq_arena arena = {0};
  cq_error error = {0};
  char *text = malloc(LONG);
  (void)state;
  assert_non_null(text);
  for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
    cq_pre_tokenizers steps = {0};
    memset(text, 'a', LONG);
    assert_int_equal(open_steps(&steps, &arena,
                                json_pack("{s:s, s:{s:s}}", "type", "Split", "pattern", "Regex", hostile[i]), &error),
                     CQ_OK);
    assert_int_equal(run_steps(&result, words, &steps, (cq_slice){text, 500}), CQ_ERR_STOPPED);
    assert_int_equal(run_steps(&result, words, &steps, (cq_slice){"c", 1}), CQ_OK); /* and goes on */
    assert_int_equal(result->n, 1);
    cq_pre_tokenizers_free(&steps);
  }
  cq_tokenizer *t = open_tokenizer(golden_path("o200k"));
  for (size_t c = 0; c < 4; c++) { /* runs of one kind: capitals are tried twice, blanks thrice */
    memset(text, "A \n."[c], LONG);
    assert_int_equal(run_steps(&result, words, &t->pre_tokenizers, (cq_slice){text, LONG}), CQ_OK);
    assert_int_equal(result->n, c == 1 ? 1 : 1);
  }
  cq_tokenizer_free(t);
  free(text);
  free_words(words);
  cq_arena_free(&arena);
}

/* The error that encoding ends with. */
static void test_stopped_tokenizer(void **state) {
  char path[700], text[200];
  cq_error error = {0};
  cq_ids ids = {0};
  (void)state;
  assert_int_equal(cq_directory_make(test_path("stopped"), &error), CQ_OK);
  snprintf(path, sizeof path, "%s/tokenizer.json", test_path("stopped"));
  write_text(path, "{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(a+)+b\"}},"
                   "\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"u\",\"vocab\":{\"u\":0}}}");
  cq_tokenizer *t = open_tokenizer(test_path("stopped"));
  memset(text, 'a', sizeof text);
  assert_int_equal(cq_tokenizer_encode(&ids, t, NULL, (cq_slice){text, sizeof text}, false, 0, NULL, &error),
                   CQ_ERR_LIMIT);
  assert_string_equal(error.message,
                      "the regular expression that the tokenizer splits by takes too long with a text of 200 bytes");
  assert_int_equal(ids.n, 0);
  cq_free(ids.ids);
  cq_tokenizer_free(t);
}

/* --- threads --- */

enum { N_THREADS = 8, N_ROUNDS = 20 };
typedef struct thread_job {
  const cq_tokenizer *t;
  json_t *sentences, *expected;
  size_t n_different;
} thread_job;

static void *encode_all(void *context) {
  thread_job *job = context;
  cq_ids ids = {0};
  for (int round = 0; round < N_ROUNDS; round++) {
    for (size_t i = 0; i < json_array_size(job->sentences); i++) {
      ids.n = 0;
      const cq_slice text = json_slice(json_array_get(job->sentences, i));
      const json_t *expected = json_array_get(job->expected, i);
      bool same =
          !cq_tokenizer_encode(&ids, job->t, NULL, text, true, 0, NULL, NULL) && ids.n == json_array_size(expected);
      for (size_t k = 0; same && k < ids.n; k++) same = ids.ids[k] == json_integer_value(json_array_get(expected, k));
      job->n_different += !same;
    }
  }
  cq_free(ids.ids);
  return NULL;
}

static void test_threads(void **state) {
  pthread_t threads[N_THREADS];
  thread_job jobs[N_THREADS];
  (void)state;
  cq_tokenizer *t = open_tokenizer(golden_path("qwen2"));
  json_t *sentences = golden_json("sentences.json"), *expected = golden_json("qwen2/ids.json");
  for (int i = 0; i < N_THREADS; i++) {
    jobs[i] = (thread_job){t, sentences, expected, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, encode_all, &jobs[i]), 0);
  }
  for (int i = 0; i < N_THREADS; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(jobs[i].n_different, 0);
  }
  json_decref(sentences);
  json_decref(expected);
  cq_tokenizer_free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_words), cmocka_unit_test(test_refused),           cmocka_unit_test(test_message),
      cmocka_unit_test(test_time),  cmocka_unit_test(test_stopped_tokenizer), cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
