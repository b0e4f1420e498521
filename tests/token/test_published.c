/* Directories as models are published (reference/golden_published.py): every form of a vocabulary and of the files that
 * name its special tokens gives the ids of transformers. */
#include "golden.h"

#include "base/file.h"

static void copy_golden(const char *from, const char *directory, const char *to) {
  size_t n;
  char path[1200];
  unsigned char *bytes = read_bytes(&n, golden_path(from));
  snprintf(path, sizeof path, "%s/%s", directory, to);
  write_bytes(path, bytes, n);
  free(bytes);
}

static cq_tokenizer *open_case(const json_t *test, size_t number) {
  char folder[32], path[1200];
  const char *name;
  json_t *content;
  cq_error error = {0};
  snprintf(folder, sizeof folder, "case-%zu", number);
  const char *directory = test_path(folder);
  assert_int_equal(cq_directory_make(directory, &error), CQ_OK);
  const json_t *copies = json_object_get(test, "copies");
  for (size_t i = 0; i < json_array_size(copies); i++)
    copy_golden(json_string_value(json_array_get(json_array_get(copies, i), 0)), directory,
                json_string_value(json_array_get(json_array_get(copies, i), 1)));
  json_object_foreach(json_object_get(test, "files"), name, content) {
    snprintf(path, sizeof path, "%s/%s", directory, name);
    assert_int_equal(cq_json_write(content, path, &error), CQ_OK);
  }
  for (long n = number % 9 ? 0 : 1; n > 0; n++) {
    cq_tokenizer *t = NULL;
    cq_alloc_fail_at(n);
    const cq_status status = cq_tokenizer_open(&t, directory, false, &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (status != (failed ? CQ_ERR_MEMORY : CQ_OK)) fail_msg("case %zu: allocation %ld: %s", number, n, error.message);
    cq_tokenizer_free(t);
    if (!failed) break;
  }
  return open_tokenizer(directory);
}

static size_t count_differences(const cq_tokenizer *t, const json_t *sentences, const json_t *expected) {
  size_t n = 0;
  cq_ids ids = {0};
  for (size_t i = 0; i < json_array_size(sentences); i++) {
    const json_t *row = json_array_get(expected, i);
    encode(&ids, t, json_slice(json_array_get(sentences, i)), 0, NULL);
    bool same = ids.n == json_array_size(row);
    for (size_t k = 0; same && k < ids.n; k++) same = ids.ids[k] == json_integer_value(json_array_get(row, k));
    if (!same) print_error("sentence %zu differs: '%s'\n", i, json_string_value(json_array_get(sentences, i)));
    n += !same;
  }
  cq_free(ids.ids);
  return n;
}

static void ids_are_those_of_transformers(void **state) {
  (void)state;
  json_t *golden = golden_json("published.json");
  const json_t *cases = json_object_get(golden, "cases"), *sentences = json_object_get(golden, "sentences");
  size_t n_different = 0;
  assert_true(json_array_size(cases) > 100 && json_array_size(sentences) > 30);
  for (size_t i = 0; i < json_array_size(cases); i++) {
    const json_t *test = json_array_get(cases, i);
    cq_tokenizer *t = open_case(test, i);
    const size_t n = count_differences(t, sentences, json_object_get(test, "ids"));
    const int64_t length = json_integer_value(json_object_get(test, "length"));
    if (n || cq_tokenizer_describe(t)->vocab_size != length) {
      char *text = json_dumps(test, JSON_COMPACT);
      print_error("case %zu: %.400s\n", i, text);
      free(text);
      n_different++;
    }
    cq_tokenizer_free(t);
  }
  assert_int_equal(n_different, 0);
  json_decref(golden);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(ids_are_those_of_transformers)};
  int failed = cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
  cq_token_memory_free(golden_memory);
  return failed;
}
