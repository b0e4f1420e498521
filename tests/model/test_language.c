/* Languages with a vocabulary of their own over a model's body: what they do not change, what they open as, and every way
 * in which one can be wrong. */
#include "support/files.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "calque/calque.h"
#include "model/model_language.h"
#include "model/transformer_module.h"

#include <sys/stat.h>

enum { N = 4, MAX_DIM = 64 };
static const char *const texts[N] = {"The cat sleeps on the warm stone.", "Two and two make four.", "x", "Straße 12"};

static const char *golden(const char *name) {
  static char paths[4][600];
  static unsigned next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/golden/models/%s", CQ_TESTS_DIR, name);
  return path;
}

static void copy_directory(const char *from, const char *to) {
  cq_error error = {0};
  cq_directory_remove(to);
  assert_int_equal(cq_directory_make(to, NULL), CQ_OK);
  if (cq_directory_copy(from, to, &error)) fail_msg("%s: %s", error.file, error.message);
}

static cq_encoder *open_model(const char *path) {
  cq_encoder *e;
  cq_error error = {0};
  if (cq_encoder_open(&e, path, NULL, &error)) fail_msg("%s: %s: %s", path, error.file, error.message);
  return e;
}

typedef struct vectors {
  float values[N * MAX_DIM];
  char fingerprint[33];
} vectors;

static vectors vectors_of(const cq_encoder *e) {
  vectors v = {0};
  cq_slice slices[N];
  for (int i = 0; i < N; i++) slices[i] = cq_slice_of(texts[i]);
  assert_true(cq_encoder_dim(e) <= MAX_DIM);
  assert_int_equal(cq_encoder_encode(v.values, NULL, e, slices, N, NULL, NULL, NULL), CQ_OK);
  assert_int_equal(cq_encoder_fingerprint(v.fingerprint, e, NULL), CQ_OK);
  return v;
}

static vectors vectors_of_model(const char *path) {
  cq_encoder *e = open_model(path);
  const vectors v = vectors_of(e);
  cq_encoder_free(e);
  return v;
}

/* A model with the tokenizer of another, and word embeddings drawn at random. */
static cq_encoder *with_vocabulary(const char *path, const char *tokenizer_of, uint64_t seed) {
  cq_encoder *e = open_model(path);
  cq_transformer *t = (cq_transformer *)e->modules[0];
  cq_tokenizer *tokenizer;
  cq_random random = cq_random_seeded(seed, 3);
  assert_int_equal(cq_tokenizer_open(&tokenizer, golden(tokenizer_of), false, NULL), CQ_OK);
  const size_t n = (size_t)cq_tokenizer_describe(tokenizer)->vocab_size * (size_t)t->dim;
  float *rows = cq_alloc_array(n, sizeof *rows);
  for (size_t i = 0; i < n; i++) rows[i] = (float)cq_random_normal(&random) * 0.1f;
  assert_int_equal(cq_transformer_set_vocabulary(t, tokenizer, rows, &e->arena, NULL), CQ_OK);
  cq_free(rows);
  return e;
}

static void add_language(const cq_encoder *e, const char *model, const char *name) {
  char path[600];
  snprintf(path, sizeof path, "%s/languages/%s", model, name);
  assert_int_equal(cq_directory_make(path, NULL), CQ_OK);
  assert_int_equal(cq_language_write(e, CQ_F32, path, NULL), CQ_OK);
}

static void assert_same_file(const char *a, const char *b, const char *name) {
  char path[2][700];
  size_t n[2];
  snprintf(path[0], sizeof path[0], "%s/%s", a, name);
  snprintf(path[1], sizeof path[1], "%s/%s", b, name);
  unsigned char *bytes[2] = {read_bytes(&n[0], path[0]), read_bytes(&n[1], path[1])};
  if (n[0] != n[1] || memcmp(bytes[0], bytes[1], n[0]) != 0) fail_msg("%s and %s differ", path[0], path[1]);
  free(bytes[0]);
  free(bytes[1]);
}

/* --- what they do not change, what they open as --- */

static void check_languages(const char *model) {
  static const char *const tokenizers[] = {"bert-cased", "bert-lower"};
  char m[400], complete[400], again[400], path[600];
  snprintf(m, sizeof m, "%s", test_path("model"));
  snprintf(complete, sizeof complete, "%s", test_path("complete"));
  snprintf(again, sizeof again, "%s", test_path("again"));
  copy_directory(golden(model), m);
  const vectors before = vectors_of_model(m);
  vectors of[2];
  for (int i = 0; i < 2; i++) {
    static const char *const names[] = {"xx", "yy-Latn"};
    cq_encoder *e = with_vocabulary(m, tokenizers[i], (uint64_t)i);
    add_language(e, m, names[i]);
    assert_int_equal(cq_encoder_save(e, complete, true, NULL, NULL), CQ_OK);
    cq_encoder_free(e);
    /* It is the model that a directory of all of it is, and is written as that. */
    snprintf(path, sizeof path, "%s/languages/%s", m, names[i]);
    e = open_model(path);
    of[i] = vectors_of(e);
    const vectors want = vectors_of_model(complete);
    assert_memory_equal(of[i].values, want.values, sizeof want.values);
    assert_string_equal(of[i].fingerprint, want.fingerprint);
    assert_int_equal(cq_encoder_save(e, again, true, NULL, NULL), CQ_OK);
    cq_encoder_free(e);
    static const char *const files[] = {"model.safetensors", "config.json", "modules.json", "tokenizer.json",
                                        "sentence_bert_config.json"};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) assert_same_file(again, complete, files[f]);
  }
  assert_memory_not_equal(of[0].values, of[1].values, sizeof of[0].values);
  assert_string_not_equal(of[0].fingerprint, of[1].fingerprint);
  /* The model knows nothing of it. */
  const vectors after = vectors_of_model(m);
  assert_memory_equal(after.values, before.values, sizeof before.values);
  assert_string_equal(after.fingerprint, before.fingerprint);
  assert_string_not_equal(after.fingerprint, of[0].fingerprint);
  assert_memory_not_equal(after.values, of[0].values, sizeof of[0].values);
  assert_same_file(m, golden(model), "config.json");
}

static void languages_change_nothing_else(void **state) {
  (void)state;
  static const char *const models[] = {"bert-cased", "bert-lower",       "bert-bf16",  "bert-prompt",
                                       "mpnet-mean", "distilbert-dense", "plain-bert", "roberta-mean"};
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) check_languages(models[i]);
}

/* Slashes at the end, a name relative to the language or to what is above it. */
static void names_of_a_language(void **state) {
  (void)state;
  char here[1024], out[600], want[600];
  copy_directory(golden("bert-cased"), test_path("model"));
  cq_encoder *e = with_vocabulary(test_path("model"), "bert-lower", 1);
  add_language(e, test_path("model"), "xx");
  cq_encoder_free(e);
  assert_true(cq_language_model(out, sizeof out, test_path("model/languages/xx//")));
  assert_string_equal(out, test_path("model"));
  assert_non_null(getcwd(here, sizeof here));
  assert_non_null(realpath(test_path("model"), want));
  const vectors v = vectors_of_model(test_path("model/languages/xx"));
  static const struct {
    const char *in, *name;
  } names[] = {
      {"", "model/languages/xx"}, {"model", "languages/xx"}, {"model/languages", "xx"}, {"model/languages/xx", "."}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    assert_int_equal(chdir(test_path(names[i].in)), 0);
    const vectors of_name = vectors_of_model(names[i].name);
    assert_memory_equal(of_name.values, v.values, sizeof v.values);
    assert_true(cq_language_model(out, sizeof out, names[i].name));
    assert_int_equal(chdir(here), 0);
  }
  assert_string_equal(out, want);
  /* What is a model by itself is none of another's, and neither is what lies elsewhere. */
  assert_false(cq_language_model(out, sizeof out, test_path("model")));
  copy_directory(golden("bert-lower"), test_path("model/languages/whole"));
  assert_false(cq_language_model(out, sizeof out, test_path("model/languages/whole")));
  copy_directory(test_path("model/languages/xx"), test_path("model/tongues/xx"));
  assert_false(cq_language_model(out, sizeof out, test_path("model/tongues/xx")));
  copy_directory(test_path("model/languages/xx"), test_path("nothing/languages/xx"));
  assert_false(cq_language_model(out, sizeof out, test_path("nothing/languages/xx")));
  static const char *const bad[] = {"", ".", "..", "a/b", "-a", "a b", "a.b"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(cq_language_is_name(bad[i]));
  assert_true(cq_language_is_name("zh-Hant_TW"));
}

static void a_model_lists_its_languages(void **state) {
  (void)state;
  char *text;
  json_t *list;
  copy_directory(golden("bert-cased"), test_path("listing"));
  assert_int_equal(cq_language_list(&list, test_path("listing"), NULL), CQ_OK);
  assert_null(list);
  cq_encoder *e = with_vocabulary(test_path("listing"), "bert-lower", 1);
  static const char *const names[] = {"tr", "hu", "zh"};
  for (int i = 0; i < 3; i++) add_language(e, test_path("listing"), names[i]);
  cq_encoder_free(e);
  write_text(test_path("listing/languages/notes"), "no language\n");
  assert_int_equal(cq_directory_make(test_path("listing/languages/.hidden"), NULL), CQ_OK);
  e = open_model(test_path("listing"));
  assert_int_equal(cq_encoder_describe(&text, e, NULL), CQ_OK);
  json_t *all = json_loads(text, 0, NULL);
  char *shown = json_dumps(json_object_get(all, "languages"), JSON_COMPACT);
  assert_string_equal(shown, "[\"hu\",\"tr\",\"zh\"]");
  free(shown);
  json_decref(all);
  cq_free(text);
  for (long n = 1;; n++) {
    cq_alloc_fail_at(n);
    const cq_status status = cq_encoder_describe(&text, e, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (status == CQ_OK) cq_free(text);
    if (!failed) break;
    assert_int_equal(status, CQ_ERR_MEMORY);
  }
  cq_encoder_free(e);
  e = open_model(test_path("listing/languages/hu"));
  assert_int_equal(cq_encoder_describe(&text, e, NULL), CQ_OK);
  assert_non_null(strstr(text, "/listing/languages/hu\""));
  assert_non_null(strstr(text, "\"body\""));
  assert_null(strstr(text, "\"languages\""));
  cq_free(text);
  cq_encoder_free(e);
}

/* --- what is wrong --- */

static void expect_refused(const char *name, cq_status wanted, const char *in_file, const char *word) {
  cq_encoder *e = NULL;
  cq_error error = {0};
  const cq_status status = cq_encoder_open(&e, test_path(name), NULL, &error);
  if (status != wanted) fail_msg("%s: status %d, expected %d: %s", name, status, wanted, error.message);
  if (!strstr(error.file, in_file)) fail_msg("the error is in '%s', expected '%s'", error.file, in_file);
  if (!strstr(error.message, word)) fail_msg("'%s' does not say '%s'", error.message, word);
}

/* A language whose word embeddings are these. */
static void write_rows(const cq_param *params, size_t n) {
  assert_int_equal(cq_weights_save(params, n, CQ_F32, test_path("model/languages/xx"), NULL), CQ_OK);
}

static void refused_languages(void **state) {
  (void)state;
  static float values[4096 * 4];
  copy_directory(golden("bert-cased"), test_path("model"));
  cq_encoder *e = with_vocabulary(test_path("model"), "bert-lower", 1);
  const int dim = cq_encoder_dim(e);
  add_language(e, test_path("model"), "xx");
  cq_encoder_free(e);
  vectors_of_model(test_path("model/languages/xx"));

  expect_refused("model/languages/zz", CQ_ERR_IO, "model/languages/zz", "no such directory");
  assert_int_equal(cq_directory_make(test_path("model/languages/empty"), NULL), CQ_OK);
  expect_refused("model/languages/empty", CQ_ERR_IO, "model/languages/empty/model.safetensors", "");

  /* Word embeddings that are none, of another width, for fewer ids than the tokenizer has, and more than those. */
  const char *word_name = "embeddings.word_embeddings.weight";
  cq_param two[2] = {{.name = word_name, .rows = 40, .cols = 3, .n_dims = 2, .value = values},
                     {.name = "pooler.weight", .rows = 1, .cols = 3, .n_dims = 1, .value = values}};
  char expected[64];
  snprintf(expected, sizeof expected, "has shape [40, 3], expected [*, %d]", dim);
  write_rows(two, 1);
  expect_refused("model/languages/xx", CQ_ERR_FORMAT, "languages/xx/model.safetensors", expected);
  write_rows(two + 1, 1);
  expect_refused("model/languages/xx", CQ_ERR_FORMAT, "languages/xx/model.safetensors",
                 "tensor 'embeddings.word_embeddings.weight' is missing");
  two[0].cols = dim, two[0].rows = 2;
  write_rows(two, 1);
  expect_refused("model/languages/xx", CQ_ERR_FORMAT, "model/languages/xx", "has 2 rows");
  write_rows(two, 2);
  expect_refused("model/languages/xx", CQ_ERR_UNSUPPORTED, "languages/xx/model.safetensors", "'pooler.weight'");

  /* A damaged file: truncated anywhere. */
  e = with_vocabulary(test_path("model"), "bert-lower", 1);
  add_language(e, test_path("model"), "xx");
  cq_encoder_free(e);
  size_t n;
  unsigned char *bytes = read_bytes(&n, test_path("model/languages/xx/model.safetensors"));
  const size_t lengths[] = {0, 7, 8, 60, n / 2, n - 1};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    write_bytes(test_path("model/languages/xx/model.safetensors"), bytes, lengths[i]);
    expect_refused("model/languages/xx", CQ_ERR_FORMAT, "languages/xx/model.safetensors", "");
  }
  write_bytes(test_path("model/languages/xx/model.safetensors"), bytes, n);
  free(bytes);
  vectors_of_model(test_path("model/languages/xx"));

  /* No tokenizer, and no model's beside it that would be taken instead. */
  assert_int_equal(unlink(test_path("model/languages/xx/tokenizer.json")), 0);
  (void)unlink(test_path("model/languages/xx/vocab.txt"));
  (void)unlink(test_path("model/languages/xx/sentencepiece.bpe.model"));
  expect_refused("model/languages/xx", CQ_ERR_IO, "model/languages/xx", "");

  /* Models without a body. */
  static const char *const without[] = {"static-mean", "bilstm-max"};
  for (int i = 0; i < 2; i++) {
    copy_directory(golden(without[i]), test_path("bare"));
    assert_int_equal(cq_directory_make(test_path("bare/languages/xx"), NULL), CQ_OK);
    expect_refused("bare/languages/xx", CQ_ERR_UNSUPPORTED, "bare/languages/xx",
                   i ? "WordEmbeddings, which has no layers" : "StaticEmbedding, which has no layers");
    cq_error error = {0};
    e = open_model(test_path("bare"));
    assert_int_equal(cq_language_write(e, CQ_F32, test_path("bare/languages/xx"), &error), CQ_ERR_UNSUPPORTED);
    cq_encoder_free(e);
  }
}

static void memory_may_be_short(void **state) {
  (void)state;
  copy_directory(golden("bert-cased"), test_path("model"));
  cq_encoder *e = with_vocabulary(test_path("model"), "bert-lower", 1);
  add_language(e, test_path("model"), "xx");
  cq_encoder_free(e);
  for (long n = 1;; n++) {
    cq_alloc_fail_at(n);
    const cq_status status = cq_encoder_open(&e, test_path("model/languages/xx"), NULL, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (!failed) {
      assert_int_equal(status, CQ_OK);
      cq_encoder_free(e);
      break;
    }
    assert_int_equal(status, CQ_ERR_MEMORY);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(languages_change_nothing_else), cmocka_unit_test(names_of_a_language),
      cmocka_unit_test(a_model_lists_its_languages),   cmocka_unit_test(refused_languages),
      cmocka_unit_test(memory_may_be_short),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
