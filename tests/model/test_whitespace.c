/* sentence-transformers' WhitespaceTokenizer (reference/golden_whitespace.py). */
#include "support/files.h"

#include "base/memory.h"
#include "calque/lines.h"
#include "model/whitespace.h"

#include <jansson.h>

static void paths_have_an_end(void **state) {
  (void)state;
  char directory[5000];
  cq_whitespace *w = NULL;
  memset(directory, 'x', sizeof directory);
  directory[4090] = 0;
  assert_int_equal(cq_whitespace_open(&w, directory, NULL), CQ_ERR_ARGUMENT);
}

static void check(const char *name) {
  char path[64], directory[1024];
  cq_whitespace *w;
  cq_lines *lines;
  cq_slice line;
  cq_error error = {0};
  int n = 0;
  snprintf(path, sizeof path, "golden/whitespace/%s", name);
  snprintf(directory, sizeof directory, "%s", tests_file(path));
  if (cq_whitespace_open(&w, directory, &error)) fail_msg("%s", error.message);
  assert_int_equal(cq_whitespace_size(w), 19);
  snprintf(path, sizeof path, "golden/whitespace/%s/expected.jsonl", name);
  assert_int_equal(cq_lines_open(&lines, tests_file(path), NULL), CQ_OK);
  while (cq_lines_next(&line, lines, &error) == CQ_OK && line.data) {
    json_t *item = json_loadb(line.data, line.n, 0, NULL);
    const json_t *text = json_object_get(item, "text"), *ids = json_object_get(item, "ids");
    cq_ids found = {0};
    assert_int_equal(
        cq_whitespace_encode(&found, w, (cq_slice){json_string_value(text), json_string_length(text)}, NULL), CQ_OK);
    bool same = found.n == json_array_size(ids);
    for (size_t i = 0; same && i < found.n; i++) same = found.ids[i] == json_integer_value(json_array_get(ids, i));
    if (!same) fail_msg("%s: other ids for '%s'", name, json_string_value(text));
    cq_free(found.ids);
    json_decref(item);
    n++;
  }
  assert_int_equal(n, 23);
  cq_lines_close(lines);
  cq_whitespace_free(w);
}

static void ids_agree(void **state) {
  (void)state;
  check("plain");
  check("lower");
}

static void faults_are_told(void **state) {
  static const struct {
    const char *text, *word;
  } cases[] = {{"[]", "object"},
               {"{\"vocab\":1,\"stop_words\":[]}", "'vocab'"},
               {"{\"vocab\":[\"a\",2],\"stop_words\":[]}", "entry 1 of 'vocab'"},
               {"{\"vocab\":[\"a\"]}", "'stop_words'"},
               {"{\"vocab\":[],\"stop_words\":[],\"do_lower_case\":3}", "do_lower_case"}};
  cq_whitespace *w;
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_error error = {0};
    write_text(test_path("whitespacetokenizer_config.json"), cases[i].text);
    assert_int_equal(cq_whitespace_open(&w, test_directory, &error), CQ_ERR_FORMAT);
    assert_non_null(strstr(error.file, "whitespacetokenizer_config.json"));
    if (!strstr(error.message, cases[i].word)) fail_msg("'%s' does not say %s", error.message, cases[i].word);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(paths_have_an_end),
      cmocka_unit_test(ids_agree),
      cmocka_unit_test(faults_are_told),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
