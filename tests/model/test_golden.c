/* Every tiny model of tests/golden/models (reference/golden_models.py) against sentence-transformers' vectors, which
 * were computed one sentence at a time; then saved, opened again, and the same vectors bit for bit. */
#include "support/files.h"

#include "base/file.h"
#include "base/memory.h"
#include "calque/calque.h"

#include <math.h>

#define MODELS        CQ_TESTS_DIR "/golden/models"
#define MAX_SENTENCES 256

static cq_slice sentences[MAX_SENTENCES];
static size_t n_sentences;
static char *text;

static int read_sentences(void **state) {
  cq_slice all;
  assert_int_equal(make_test_directory(state), 0);
  assert_int_equal(cq_file_read(&all, MODELS "/sentences.txt", NULL), CQ_OK);
  text = (char *)(uintptr_t)all.data;
  for (size_t start = 0; start < all.n;) {
    const char *end = memchr(text + start, '\n', all.n - start);
    size_t n = end ? (size_t)(end - text) - start : all.n - start;
    assert_true(n_sentences < MAX_SENTENCES);
    sentences[n_sentences++] = (cq_slice){text + start, n};
    start += n + 1;
  }
  return 0;
}

static int free_sentences(void **state) {
  cq_free(text);
  return remove_test_directory(state);
}

static float *encode(const cq_encoder *encoder) {
  cq_error error = {0};
  float *vectors = malloc(n_sentences * (size_t)cq_encoder_dim(encoder) * sizeof *vectors);
  cq_status status = cq_encoder_encode(vectors, NULL, encoder, sentences, n_sentences, NULL, NULL, &error);
  if (status) fail_msg("%s", error.message);
  return vectors;
}

/* Whether all vectors agree; tells the worst otherwise. A sentence that both sides find empty may be NaN or -inf in the
 * reference (a maximum over no tokens). */
static bool agrees_with(const char *name, const char *file, const float *vectors, int dim, size_t n) {
  char path[4096];
  cq_npy *npy;
  cq_error error = {0};
  snprintf(path, sizeof path, MODELS "/%s/%s", name, file);
  if (cq_npy_open(&npy, path, &error)) fail_msg("%s", error.message);
  if (cq_npy_columns(npy) != dim || (size_t)cq_npy_rows(npy) != n) {
    print_error("%s: [%zu, %d], expected [%lld, %lld]\n", name, n, dim, (long long)cq_npy_rows(npy),
                (long long)cq_npy_columns(npy));
    return false;
  }
  const float *expected = cq_npy_data(npy);
  double worst = 0, lowest = 1;
  size_t worst_at = 0;
  for (size_t s = 0; s < n; s++) {
    const float *a = vectors + s * (size_t)dim, *b = expected + s * (size_t)dim;
    double norm = 0;
    for (int j = 0; j < dim; j++) norm += (double)b[j] * (double)b[j];
    if (!isfinite(norm) && sentences[s].n == 0) continue;
    for (int j = 0; j < dim; j++) {
      double difference = fabs((double)a[j] - (double)b[j]) / fmax(1.0, sqrt(norm / dim));
      if (!(difference <= worst)) worst = difference, worst_at = s;
    }
    if (norm > 0) lowest = fmin(lowest, cq_cosine(a, b, (size_t)dim));
  }
  cq_npy_close(npy);
  bool ok = worst < 1e-5 && lowest > 0.99999;
  if (!ok)
    print_error("%s: worst difference %g (sentence %zu), lowest cosine %.7f\n", name, worst, worst_at + 1, lowest);
  return ok;
}

static bool agrees(const char *name, const float *vectors, int dim) {
  return agrees_with(name, "expected.npy", vectors, dim, n_sentences);
}

static void each_model(bool (*check)(const char *name)) {
  DIR *d = opendir(MODELS);
  int n = 0, n_failed = 0;
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));) {
    char path[4096];
    snprintf(path, sizeof path, MODELS "/%s/expected.npy", e->d_name);
    if (!cq_file_exists(path)) continue;
    n++;
    if (!check(e->d_name)) n_failed++;
  }
  closedir(d);
  assert_true(n >= 30);
  assert_int_equal(n_failed, 0);
}

static bool check_vectors(const char *name) {
  char path[4096];
  cq_encoder *encoder = NULL;
  cq_error error = {0};
  snprintf(path, sizeof path, MODELS "/%s", name);
  cq_status status = cq_encoder_open(&encoder, path, NULL, &error);
  if (status) {
    print_error("%s: %s\n", name, error.message);
    return false;
  }
  float *vectors = encode(encoder);
  bool ok = agrees(name, vectors, cq_encoder_dim(encoder));
  free(vectors);
  cq_encoder_free(encoder);
  return ok;
}

static void vectors_agree(void **state) {
  (void)state;
  each_model(check_vectors);
}

/* A pad token that stands in the text has no position of its own. */
static void pad_tokens_in_the_text(void **state) {
  static const char *const names[] = {"roberta-mean", "mpnet-mean"};
  const cq_slice sentence = cq_slice_of("The <pad> boat <pad><pad> is of paper.");
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    char path[4096];
    cq_encoder *encoder = NULL;
    float vector[64];
    snprintf(path, sizeof path, MODELS "/%s", names[i]);
    assert_int_equal(cq_encoder_open(&encoder, path, NULL, NULL), CQ_OK);
    assert_true(cq_encoder_dim(encoder) <= 64);
    assert_int_equal(cq_encoder_encode(vector, NULL, encoder, &sentence, 1, NULL, NULL, NULL), CQ_OK);
    assert_true(agrees_with(names[i], "padded.npy", vector, cq_encoder_dim(encoder), 1));
    cq_encoder_free(encoder);
  }
}

/* As model2vec's own library has it; a model of another kind has nothing to leave out. */
static void unknown_tokens_left_out(void **state) {
  cq_encoder *encoder = NULL;
  cq_error error = {0};
  cq_encoder_options options = cq_encoder_default_options();
  (void)state;
  options.drop_unknown = true;
  assert_int_equal(cq_encoder_open(&encoder, MODELS "/model2vec-mapping", &options, NULL), CQ_OK);
  float *vectors = encode(encoder);
  assert_true(agrees_with("model2vec-mapping", "model2vec.npy", vectors, cq_encoder_dim(encoder), n_sentences));
  assert_false(agrees_with("model2vec-mapping", "expected.npy", vectors, cq_encoder_dim(encoder), n_sentences));
  free(vectors);
  cq_encoder_free(encoder);
  assert_int_equal(cq_encoder_open(&encoder, MODELS "/bert-cased", &options, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "drop-unknown is for a StaticEmbedding"));
}

/* A model2vec directory without modules.json is one all the same. */
static void model2vec_alone(void **state) {
  char command[2048];
  cq_encoder *encoder = NULL;
  cq_error error = {0};
  (void)state;
  snprintf(command, sizeof command, "cp -r '%s' '%s' && rm '%s/modules.json'", MODELS "/model2vec-mapping",
           test_path("alone"), test_path("alone"));
  assert_int_equal(system(command), 0);
  if (cq_encoder_open(&encoder, test_path("alone"), NULL, &error)) fail_msg("%s", error.message);
  float *vectors = encode(encoder);
  assert_true(agrees("model2vec-mapping", vectors, cq_encoder_dim(encoder)));
  free(vectors);
  cq_encoder_free(encoder);
}

/* The model's own truncation is the default; the options may choose another, up to all dimensions. */
static void truncated_dimensions(void **state) {
  cq_encoder *encoder = NULL;
  cq_encode_options options = cq_encode_default_options();
  float whole[24], kept[24], few[24];
  const cq_slice sentence = cq_slice_of("violin");
  (void)state;
  assert_int_equal(cq_encoder_open(&encoder, MODELS "/truncate-dim", NULL, NULL), CQ_OK);
  assert_int_equal(cq_encoder_dim(encoder), 7);
  assert_int_equal(cq_encoder_encode_dim(encoder, NULL), 7);
  assert_int_equal(cq_encoder_encode(kept, NULL, encoder, &sentence, 1, NULL, NULL, NULL), CQ_OK);
  options.truncate_dim = 24;
  assert_int_equal(cq_encoder_encode_dim(encoder, &options), 24);
  assert_int_equal(cq_encoder_encode(whole, NULL, encoder, &sentence, 1, &options, NULL, NULL), CQ_OK);
  assert_memory_equal(kept, whole, 7 * sizeof *kept);
  options.truncate_dim = 3;
  assert_int_equal(cq_encoder_encode_dim(encoder, &options), 3);
  assert_int_equal(cq_encoder_encode(few, NULL, encoder, &sentence, 1, &options, NULL, NULL), CQ_OK);
  assert_memory_equal(few, whole, 3 * sizeof *few);
  options.truncate_dim = 25;
  assert_int_equal(cq_encoder_encode(whole, NULL, encoder, &sentence, 1, &options, NULL, NULL), CQ_ERR_ARGUMENT);
  cq_encoder_free(encoder);
}

/* encode_query and encode_document: the prompt of the task, and its route or weights where the model has some. */
static void tasks_agree(void **state) {
  static const char *const tasks[][3] = {{"router", "query", "query.npy"},
                                         {"router", "document", "document.npy"},
                                         {"asym", "query", "query.npy"},
                                         {"asym", "document", "document.npy"},
                                         {"jina-v3", "query", "retrieval.query.npy"},
                                         {"jina-v3", "document", "retrieval.passage.npy"},
                                         {"jina-v3", "retrieval.query", "retrieval.query.npy"},
                                         {"jina-v3", "text-matching", "text-matching.npy"}};
  (void)state;
  for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
    char path[4096];
    cq_encoder *encoder = NULL;
    cq_error error = {0};
    cq_encoder_options options = cq_encoder_default_options();
    options.task = tasks[i][1];
    snprintf(path, sizeof path, MODELS "/%s", tasks[i][0]);
    if (cq_encoder_open(&encoder, path, &options, &error)) fail_msg("%s", error.message);
    float *vectors = encode(encoder);
    assert_true(agrees_with(tasks[i][0], tasks[i][2], vectors, cq_encoder_dim(encoder), n_sentences));
    free(vectors);
    /* Saved with the weights of one task, it is a model of that task, prompt and all. */
    if (!strcmp(tasks[i][0], "jina-v3")) {
      if (cq_encoder_save(encoder, test_path("one-task"), true, NULL, &error)) fail_msg("%s", error.message);
      cq_encoder_free(encoder);
      if (cq_encoder_open(&encoder, test_path("one-task"), NULL, &error)) fail_msg("%s", error.message);
      vectors = encode(encoder);
      assert_true(agrees_with(tasks[i][0], tasks[i][2], vectors, cq_encoder_dim(encoder), n_sentences));
      free(vectors);
    }
    cq_encoder_free(encoder);
  }
  cq_encoder *encoder = NULL;
  cq_error error = {0};
  cq_encoder_options options = cq_encoder_default_options();
  options.task = "clustering";
  assert_int_equal(cq_encoder_open(&encoder, MODELS "/router", &options, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "no route for the task 'clustering', there are query, document"));
  assert_non_null(strstr(error.file, "router_config.json"));
  assert_int_equal(cq_encoder_open(&encoder, MODELS "/jina-v3", &options, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "there are retrieval.query, retrieval.passage, text-matching"));
  assert_int_equal(cq_encoder_open(&encoder, MODELS "/bert-prompt", &options, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "the task is 'clustering', expected query or document"));
}

static bool check_round_trip(const char *name) {
  char path[4096], one[33], two[33];
  const char *target = test_path("copy");
  cq_encoder *encoder, *again;
  cq_error error = {0};
  snprintf(path, sizeof path, MODELS "/%s", name);
  if (cq_encoder_open(&encoder, path, NULL, &error)) {
    print_error("%s: %s\n", name, error.message);
    return false;
  }
  bool ok = true;
  if (cq_encoder_save(encoder, target, true, "# A card\n", &error) || cq_encoder_open(&again, target, NULL, &error)) {
    print_error("%s: %s\n", name, error.message);
    ok = false;
  } else {
    float *a = encode(encoder), *b = encode(again);
    size_t n_bytes = n_sentences * (size_t)cq_encoder_dim(encoder) * sizeof *a;
    ok = cq_encoder_dim(encoder) == cq_encoder_dim(again) && memcmp(a, b, n_bytes) == 0;
    if (!ok) print_error("%s: other vectors after saving\n", name);
    assert_int_equal(cq_encoder_fingerprint(one, encoder, &error), CQ_OK);
    assert_int_equal(cq_encoder_fingerprint(two, again, &error), CQ_OK);
    if (strcmp(one, two) != 0) {
      print_error("%s: other fingerprint after saving\n", name);
      ok = false;
    }
    free(a);
    free(b);
    cq_encoder_free(again);
  }
  cq_encoder_free(encoder);
  return ok;
}

static void saving_keeps_the_bits(void **state) {
  (void)state;
  each_model(check_round_trip);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(vectors_agree),
      cmocka_unit_test(pad_tokens_in_the_text),
      cmocka_unit_test(unknown_tokens_left_out),
      cmocka_unit_test(model2vec_alone),
      cmocka_unit_test(tasks_agree),
      cmocka_unit_test(truncated_dimensions),

      cmocka_unit_test(saving_keeps_the_bits),
  };
  return cmocka_run_group_tests(tests, read_sentences, free_sentences);
}
