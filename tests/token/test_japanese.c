/* BertJapaneseTokenizer: the ids of transformers 5 with MeCab (reference/golden_japanese.py), and what is refused. */
#include "golden.h"

#include "base/file.h"

#include <dlfcn.h>
#include <stdlib.h>

static const char debian[] = "/var/lib/mecab/dic/ipadic-utf8";
static const char *const names[] = {"japanese-wordpiece", "japanese-characters", "japanese-lower", "japanese-raw"};
enum { N_NAMES = sizeof names / sizeof *names };
static bool has_plugin;

static int find_plugin(void **state) {
  void *library = dlopen("libcalque_mecab.so", RTLD_NOW | RTLD_LOCAL);
  has_plugin = library != NULL;
  if (library) dlclose(library);
  unsetenv("CALQUE_MECAB_DICTIONARY");
  return make_test_directory(state);
}

static bool is_ready(void) {
  if (!has_plugin) print_message("skipped: the plugin for MeCab is not built here\n");
  if (has_plugin && !cq_is_directory(debian)) print_message("skipped: mecab-ipadic-utf8 is not installed\n");
  return has_plugin && cq_is_directory(debian);
}

static void expect_ids(const cq_tokenizer *t, const char *name) {
  char file[128];
  snprintf(file, sizeof file, "%s/ids.json", name);
  json_t *sentences = golden_json("japanese.json"), *expected = golden_json(file);
  cq_ids ids = {0};
  assert_int_equal(json_array_size(expected), json_array_size(sentences));
  for (size_t i = 0; i < json_array_size(sentences); i++) {
    const json_t *wanted = json_array_get(expected, i);
    encode(&ids, t, json_slice(json_array_get(sentences, i)), 0, NULL);
    bool same = ids.n == json_array_size(wanted);
    for (size_t k = 0; same && k < ids.n; k++) same = ids.ids[k] == json_integer_value(json_array_get(wanted, k));
    if (!same) fail_msg("%s: sentence %zu: %s", name, i, json_string_value(json_array_get(sentences, i)));
  }
  cq_free(ids.ids);
  json_decref(sentences);
  json_decref(expected);
}

static void test_ids(void **state) {
  (void)state;
  if (!is_ready()) return;
  for (size_t i = 0; i < N_NAMES; i++) {
    cq_tokenizer *t = open_tokenizer(golden_path(names[i]));
    expect_ids(t, names[i]);
    cq_tokenizer_free(t);
  }
}

/* No tokenizer.json can say what MeCab does: none is written, and one that is there is not read. */
static void test_saved(void **state) {
  (void)state;
  if (!is_ready()) return;
  cq_error error = {0};
  char path[512];
  for (size_t i = 0; i < N_NAMES; i++) {
    const char *directory = test_path(names[i]);
    cq_tokenizer *t = open_tokenizer(golden_path(names[i])), *trimmed;
    assert_int_equal(cq_directory_make(directory, &error), CQ_OK);
    if (cq_tokenizer_save(t, directory, 77, &error)) fail_msg("%s", error.message);
    const size_t n = (size_t)cq_tokenizer_describe(t)->vocab_size;
    bool *needed = calloc(n, sizeof *needed);
    int32_t *new_ids = calloc(n, sizeof *new_ids);
    assert_int_equal(cq_tokenizer_trim(&trimmed, new_ids, t, needed, &error), CQ_ERR_UNSUPPORTED);
    free(needed), free(new_ids);
    cq_tokenizer_free(t);
    snprintf(path, sizeof path, "%s/tokenizer.json", directory);
    assert_false(cq_file_exists(path));
    write_text(path, "{\"model\": {\"type\": \"WordPiece\"}}");
    t = open_tokenizer(directory);
    expect_ids(t, names[i]);
    assert_int_equal(cq_tokenizer_describe(t)->model_max_length, 77);
    cq_tokenizer_free(t);
    snprintf(path, sizeof path, "%s/vocab.txt", directory);
    assert_int_equal(remove(path), 0);
    assert_int_equal(cq_tokenizer_open(&t, directory, false, &error), CQ_ERR_IO);
    assert_non_null(strstr(error.message, "not found, but BertJapaneseTokenizer needs it"));
  }
}

static void expect_refused(const char *config, cq_status status, const char *message) {
  cq_error error = {0};
  cq_tokenizer *t = NULL;
  char path[512], text[1024];
  const char *directory = test_path("refused");
  assert_int_equal(cq_directory_make(directory, &error), CQ_OK);
  snprintf(path, sizeof path, "%s/vocab.txt", directory);
  write_text(path, "[UNK]\n[CLS]\n[SEP]\na\n");
  snprintf(path, sizeof path, "%s/tokenizer_config.json", directory);
  snprintf(text, sizeof text, "{\"tokenizer_class\": \"BertJapaneseTokenizer\"%s}", config);
  write_text(path, text);
  const cq_status found = cq_tokenizer_open(&t, directory, false, &error);
  cq_tokenizer_free(t);
  if (found != status || !strstr(error.message, message))
    fail_msg("got %s '%s', expected %s '%s'", cq_status_name(found), error.message, cq_status_name(status), message);
}

#define MECAB ", \"word_tokenizer_type\": \"mecab\""

static void test_refused(void **state) {
  (void)state;
  static const struct {
    const char *config, *message;
  } cases[] = {
      {"", "word_tokenizer_type 'basic' is not supported, only mecab"},
      {", \"word_tokenizer_type\": \"sudachi\"", "word_tokenizer_type 'sudachi' is not supported, only mecab"},
      {", \"word_tokenizer_type\": \"jumanpp\"", "word_tokenizer_type 'jumanpp' is not supported, only mecab"},
      {MECAB ", \"subword_tokenizer_type\": \"sentencepiece\"",
       "subword_tokenizer_type 'sentencepiece' is not supported, only wordpiece and character"},
      {MECAB ", \"do_word_tokenize\": false", "do_word_tokenize is false"},
      {MECAB ", \"do_subword_tokenize\": false", "do_subword_tokenize is false"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect_refused(cases[i].config, CQ_ERR_UNSUPPORTED, cases[i].message);
  if (!has_plugin) expect_refused(MECAB, CQ_ERR_UNSUPPORTED, "needs calque's plugin for MeCab");
}

#define KWARGS(x) MECAB ", \"mecab_kwargs\": {" x "}"

static void test_dictionaries(void **state) {
  (void)state;
  if (!is_ready()) return;
  expect_refused(MECAB, CQ_ERR_IO,
                 "MeCab's dictionary unidic_lite is not found: name its directory with CALQUE_MECAB_");
  expect_refused(KWARGS("\"mecab_dic\": \"unidic\""), CQ_ERR_IO, "dictionary unidic is not found");
  expect_refused(KWARGS("\"mecab_dic\": \"jumandic\""), CQ_ERR_UNSUPPORTED, "mecab_dic 'jumandic' is not supported");
  expect_refused(KWARGS("\"mecab_option\": \"-O wakati\""), CQ_ERR_UNSUPPORTED, "mecab_option '-O' is not supported");
  expect_refused(KWARGS("\"mecab_option\": \"-r /etc/mecabrc\""), CQ_ERR_UNSUPPORTED, "mecab_option '-r'");
  expect_refused(KWARGS("\"mecab_option\": \"-d\""), CQ_ERR_FORMAT, "mecab_option ends with '-d', without a value");
  expect_refused(KWARGS("\"mecab_option\": \"-d /not/there\""), CQ_ERR_IO, "MeCab's dictionary: ");
  static const char *const relative[] = {"-d dic", "-ddic", "--userdic=dic", "-u ./dic"};
  for (size_t i = 0; i < 4; i++) {
    char config[256];
    snprintf(config, sizeof config, KWARGS("\"mecab_option\": \"%s\""), relative[i]);
    expect_refused(config, CQ_ERR_UNSUPPORTED, "dic', expected an absolute path");
  }
  setenv("CALQUE_MECAB_DICTIONARY", debian, 1);
  expect_refused(MECAB, CQ_ERR_FORMAT, "is not the dictionary unidic_lite that the model names: it has 1316 contexts");
  setenv("CALQUE_MECAB_DICTIONARY", "/not/there", 1);
  expect_refused(KWARGS("\"mecab_dic\": \"ipadic\""), CQ_ERR_IO, "/not/there: MeCab's dictionary: ");
  unsetenv("CALQUE_MECAB_DICTIONARY");
  /* A directory that the model's options name, with and without quotes. */
  static const char *const options[] = {"-d %s", "--dicdir=%s", "-d \\\"%s\\\""};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    cq_error error = {0};
    char option[256], config[512], path[512];
    const char *directory = test_path("named");
    size_t n;
    assert_int_equal(cq_directory_make(directory, &error), CQ_OK);
    unsigned char *bytes = read_bytes(&n, golden_path("japanese-wordpiece/vocab.txt"));
    snprintf(path, sizeof path, "%s/vocab.txt", directory);
    write_bytes(path, bytes, n);
    free(bytes);
    snprintf(option, sizeof option, options[i], debian);
    snprintf(path, sizeof path, "%s/tokenizer_config.json", directory);
    snprintf(config, sizeof config,
             "{\"tokenizer_class\": \"BertJapaneseTokenizer\"" MECAB
             ", \"mecab_kwargs\": {\"mecab_dic\": null, \"mecab_option\": \"%s\"}}",
             option);
    write_text(path, config);
    cq_tokenizer *t = open_tokenizer(directory);
    expect_ids(t, "japanese-wordpiece");
    cq_tokenizer_free(t);
    if (i) continue; /* the environment counts more */
    setenv("CALQUE_MECAB_DICTIONARY", "/not/there", 1);
    assert_int_equal(cq_tokenizer_open(&t, directory, false, &error), CQ_ERR_IO);
    unsetenv("CALQUE_MECAB_DICTIONARY");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ids),
      cmocka_unit_test(test_saved),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_dictionaries),
  };
  return cmocka_run_group_tests(tests, find_plugin, remove_test_directory);
}
