/* Rerankers: every model of tests/golden/rerankers (reference/golden_rerankers.py) against transformers' logits, and
 * what is no reranker. */
#include "support/files.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/slice.h"
#include "calque/calque.h"
#include "model/encoder.h"
#include "recipe/encode/cached_encoder.h"

#include <math.h>

#define RERANKERS CQ_TESTS_DIR "/golden/rerankers"

enum { N = 10, N_LONG = 7 };
static cq_slice queries[N], passages[N];
static char *text;

static int read_pairs(void **state) {
  cq_slice all;
  (void)state;
  assert_int_equal(cq_file_read(&all, RERANKERS "/pairs.tsv", NULL), CQ_OK);
  text = (char *)(uintptr_t)all.data;
  const char *at = text;
  for (int i = 0; i < N; i++) {
    const char *tab = strchr(at, '\t'), *end = strchr(at, '\n');
    assert_true(tab && end && tab < end);
    queries[i] = (cq_slice){at, (size_t)(tab - at)};
    passages[i] = (cq_slice){tab + 1, (size_t)(end - tab) - 1};
    at = end + 1;
  }
  assert_int_equal(at - text, all.n);
  return 0;
}

static int free_pairs(void **state) {
  (void)state;
  cq_free(text);
  return 0;
}

static cq_reranker *open_golden(const char *name, cq_precision precision, int length) {
  char path[4096];
  cq_reranker *r;
  cq_error error = {0};
  cq_encoder_options o = cq_encoder_default_options();
  o.precision = precision, o.max_seq_length = length;
  snprintf(path, sizeof path, RERANKERS "/%s", name);
  if (cq_reranker_open(&r, path, &o, &error)) fail_msg("%s: %s", name, error.message);
  return r;
}

static double farthest(const float *logits, const char *name) {
  char path[4096];
  cq_npy *npy;
  cq_error error = {0};
  double worst = 0;
  snprintf(path, sizeof path, RERANKERS "/%s/logits.npy", name);
  if (cq_npy_open(&npy, path, &error)) fail_msg("%s", error.message);
  const float *expected = cq_npy_data(npy);
  for (int i = 0; i < N; i++) {
    const double distance = fabs((double)logits[i] - (double)expected[i]);
    if (!(distance <= worst)) worst = distance;
  }
  cq_npy_close(npy);
  return worst;
}

static void logits_agree(void **state) {
  static const struct {
    cq_precision precision;
    double tolerance;
  } all[] = {{CQ_PRECISION_F32, 1e-5}, {CQ_PRECISION_BF16, 0.05}, {CQ_PRECISION_INT8, 0.1}};
  DIR *d = opendir(RERANKERS);
  int n = 0, n_failed = 0;
  (void)state;
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));) {
    char path[4096];
    snprintf(path, sizeof path, RERANKERS "/%s/logits.npy", e->d_name);
    if (!cq_file_exists(path)) continue;
    n++;
    for (size_t p = 0; p < sizeof all / sizeof *all; p++) {
      float logits[N];
      cq_error error = {0};
      cq_reranker *r = open_golden(e->d_name, all[p].precision, 0);
      if (cq_reranker_score_pairs(logits, NULL, r, queries, passages, N, NULL, &error)) fail_msg("%s", error.message);
      const double worst = farthest(logits, e->d_name);
      if (!(worst <= all[p].tolerance))
        print_error("%s in %s: %g\n", e->d_name, cq_precision_name(all[p].precision), worst), n_failed++;
      cq_reranker_free(r);
    }
  }
  closedir(d);
  assert_int_equal(n, 9);
  assert_int_equal(n_failed, 0);
}

static void a_pair_does_not_depend_on_others(void **state) {
  cq_context *ctx;
  (void)state;
  assert_int_equal(cq_context_open(&ctx, 2, NULL), CQ_OK);
  float all[N], one[N];
  cq_encode_stats stats = {0};
  cq_reranker *r = open_golden("bert", CQ_PRECISION_F32, 0);
  assert_int_equal(cq_reranker_score_pairs(all, &stats, r, queries, passages, N, ctx, NULL), CQ_OK);
  assert_int_equal(stats.n_sentences, N);
  assert_int_equal(stats.n_truncated, N_LONG);
  for (int i = 0; i < N; i++) {
    assert_int_equal(cq_reranker_score(one + i, NULL, r, queries[i], passages + i, 1, NULL, NULL), CQ_OK);
  }
  assert_memory_equal(one, all, sizeof all);
  /* One query with all passages, and no passage at all. */
  cq_slice same[N];
  for (int i = 0; i < N; i++) same[i] = queries[0];
  assert_int_equal(cq_reranker_score_pairs(all, NULL, r, same, passages, N, NULL, NULL), CQ_OK);
  assert_int_equal(cq_reranker_score(one, NULL, r, queries[0], passages, N, ctx, NULL), CQ_OK);
  assert_memory_equal(one, all, sizeof all);
  assert_int_equal(cq_reranker_score(one, NULL, r, queries[0], NULL, 0, ctx, NULL), CQ_OK);
  cq_reranker_free(r);
  cq_context_free(ctx);
}

static void activations_are_the_directories(void **state) {
  (void)state;
  static const char *const expected[][2] = {{"bert", "Sigmoid"}, {"bert-saved", "Sigmoid"}, {"bert-vocab", "Identity"}};
  for (int i = 0; i < 3; i++) {
    cq_reranker *r = open_golden(expected[i][0], CQ_PRECISION_DEFAULT, 0);
    assert_string_equal(cq_reranker_activation(r), expected[i][1]);
    assert_int_equal(cq_reranker_max_seq_length(r), 40);
    assert_int_equal(cq_reranker_precision(r), CQ_PRECISION_F32);
    cq_reranker_free(r);
  }
}

static void order_is_stable(void **state) {
  (void)state;
  static const float logits[] = {0.5f, 2, -1, 2, 0.5f};
  static const size_t expected[] = {1, 3, 0, 4, 2};
  size_t order[5];
  cq_reranker_order(order, logits, 5);
  assert_memory_equal(order, expected, sizeof order);
}

/* ---- as an encoder, which training takes ---- */

/* What is saved gives the same bits; so does a pair in one text. */
static void saved_ones_give_the_same_logits(void **state) {
  static const char *const names[] = {"bert",    "bert-saved", "bert-vocab", "xlmr",
                                      "electra", "distilbert", "deberta",    "modernbert"};
  (void)state;
  assert_int_equal(make_test_directory(state), 0);
  for (size_t m = 0; m < sizeof names / sizeof *names; m++) {
    char path[4096];
    float logits[N], again[N];
    bool is_reranker;
    cq_builder joined = {0};
    size_t ends[N];
    cq_slice pairs[N];
    cq_encoder *e = NULL;
    cq_error error = {0};
    cq_reranker *r = open_golden(names[m], CQ_PRECISION_F32, 0);
    assert_int_equal(cq_reranker_score_pairs(logits, NULL, r, queries, passages, N, NULL, NULL), CQ_OK);
    char activation[40];
    snprintf(activation, sizeof activation, "%s", cq_reranker_activation(r));
    cq_reranker_free(r);
    snprintf(path, sizeof path, RERANKERS "/%s", names[m]);
    assert_int_equal(cq_model_is_reranker(&is_reranker, path, NULL), CQ_OK);
    assert_true(is_reranker);
    assert_int_equal(cq_encoder_open_any(&e, path, NULL, NULL), CQ_OK);
    for (int i = 0; i < N; i++) {
      cq_builder_bytes(&joined, queries[i].data, queries[i].n);
      cq_builder_char(&joined, CQ_PAIR_MARK);
      cq_builder_bytes(&joined, passages[i].data, passages[i].n);
      ends[i] = joined.n;
    }
    for (int i = 0; i < N; i++) {
      const size_t first = i ? ends[i - 1] : 0;
      pairs[i] = (cq_slice){joined.data + first, ends[i] - first};
    }
    assert_int_equal(cq_encoder_encode(again, NULL, e, pairs, N, NULL, NULL, NULL), CQ_OK);
    assert_memory_equal(again, logits, sizeof logits);
    assert_int_equal(cq_encoder_encode(again, NULL, e, queries, 1, NULL, NULL, &error), CQ_ERR_FORMAT);
    assert_non_null(strstr(error.message, "a reranker takes a query and a passage with the character U+001F between"));
    if (cq_encoder_save(e, test_path("saved"), true, "card", &error)) fail_msg("%s: %s", names[m], error.message);
    cq_encoder_free(e);
    cq_builder_free(&joined);
    if (cq_reranker_open(&r, test_path("saved"), NULL, &error)) fail_msg("%s: %s", names[m], error.message);
    assert_int_equal(cq_reranker_score_pairs(again, NULL, r, queries, passages, N, NULL, NULL), CQ_OK);
    assert_memory_equal(again, logits, sizeof logits);
    assert_string_equal(cq_reranker_activation(r), activation);
    cq_reranker_free(r);
  }
  assert_int_equal(remove_test_directory(state), 0);
}

static void only_one_label_alone_is_a_reranker(void **state) {
  (void)state;
  bool is_reranker;
  static const char *const others[] = {RERANKERS "/three-labels", CQ_TESTS_DIR "/golden/models/bert-cased"};
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(cq_model_is_reranker(&is_reranker, others[i], NULL), CQ_OK);
    assert_false(is_reranker);
  }
  assert_int_equal(cq_model_is_reranker(&is_reranker, "nowhere", NULL), CQ_ERR_IO);
}

/* ---- bad input ---- */

static void refused(const char *directory, const cq_encoder_options *options, cq_status status, const char *why) {
  cq_reranker *r = NULL;
  cq_error error = {0};
  assert_int_equal(cq_reranker_open(&r, directory, options, &error), status);
  if (!strstr(error.message, why)) fail_msg("'%s' is not in '%s'", why, error.message);
  assert_null(r);
}

static void other_models_are_refused(void **state) {
  (void)state;
  refused(RERANKERS "/three-labels", NULL, CQ_ERR_UNSUPPORTED,
          "three-labels: the classifier has 3 labels, a reranker has 1");
  refused(CQ_TESTS_DIR "/golden/models/plain-bert", NULL, CQ_ERR_UNSUPPORTED,
          "plain-bert: no classifier (tensor 'classifier.weight')");
  refused(CQ_TESTS_DIR "/golden/models/bert-cased", NULL, CQ_ERR_UNSUPPORTED,
          "an embedding model, expected a reranker");
  refused(CQ_TESTS_DIR "/golden/models/plain-xlmr", NULL, CQ_ERR_UNSUPPORTED,
          "no classifier (tensor 'classifier.out_proj.weight')");
  refused(RERANKERS, NULL, CQ_ERR_IO, "config.json: not found: this is not the directory of a reranker");
  cq_encoder_options o = cq_encoder_default_options();
  o.compose = true;
  refused(RERANKERS "/bert", &o, CQ_ERR_ARGUMENT, "compose");

  static const char *const rerankers[] = {RERANKERS "/bert", RERANKERS "/bert-saved", RERANKERS "/xlmr",
                                          RERANKERS "/modernbert"};
  cq_encoder *encoder = NULL;
  cq_cached_encoder store = {0};
  for (size_t i = 0; i < 4; i++) {
    char why[4200];
    cq_error error = {0};
    snprintf(why, sizeof why, "%s is a reranker: it gives logits for pairs of texts, and no vectors. 'calque search",
             rerankers[i]);
    assert_int_equal(cq_encoder_open(&encoder, rerankers[i], NULL, &error), CQ_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, why));
    assert_null(encoder);
    const cq_encoder_options defaults = cq_encoder_default_options();
    error = (cq_error){0};
    assert_int_equal(cq_cached_encoder_open(&store, rerankers[i], &defaults, "none", &error), CQ_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, why));
    assert_null(store.encoder);
  }
  assert_int_equal(cq_encoder_open(&encoder, RERANKERS "/three-labels", NULL, NULL), CQ_OK);
  cq_encoder_free(encoder);
}

static void bad_texts_are_named(void **state) {
  (void)state;
  float logits[2];
  cq_error error = {0};
  cq_reranker *r = open_golden("xlmr", CQ_PRECISION_F32, 0);
  const cq_slice bad[] = {{"fine", 4}, {"no\xFFt", 4}};
  assert_int_equal(cq_reranker_score(logits, NULL, r, queries[0], bad, 2, NULL, &error), CQ_ERR_FORMAT);
  assert_int_equal(error.line, 2);
  assert_non_null(strstr(error.message, "sentence 2 is not UTF-8 at byte 2"));
  assert_int_equal(cq_reranker_score(logits, NULL, r, bad[1], bad, 1, NULL, &error), CQ_ERR_FORMAT);
  cq_reranker_free(r);

  r = open_golden("bert", CQ_PRECISION_F32, 4);
  assert_int_equal(cq_reranker_score(logits, NULL, r, queries[0], passages, 1, NULL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "the maximum sequence length 4 leaves no room for two texts"));
  cq_reranker_free(r);
  r = open_golden("bert", CQ_PRECISION_F32, 5); /* a token of each */
  cq_encode_stats stats = {0};
  assert_int_equal(cq_reranker_score(logits, &stats, r, queries[0], passages, 2, NULL, &error), CQ_OK);
  assert_int_equal(stats.n_tokens, 10);
  assert_int_equal(stats.n_truncated, 2);
  cq_reranker_free(r);
}

static void memory_runs_out(void **state) {
  (void)state;
  static const char *const names[] = {"bert-saved", "modernbert-mean"};
  for (int m = 0; m < 2; m++) {
    char path[4096];
    snprintf(path, sizeof path, RERANKERS "/%s", names[m]);
    cq_status status = CQ_ERR_MEMORY;
    for (long n = 1; status; n++) {
      cq_reranker *r = NULL;
      float logits[N];
      cq_error error = {0};
      cq_alloc_fail_at(n);
      status = cq_reranker_open(&r, path, NULL, &error);
      if (!status) status = cq_reranker_score_pairs(logits, NULL, r, queries, passages, N, NULL, &error);
      cq_alloc_fail_at(0);
      if (status && status != CQ_ERR_MEMORY) fail_msg("allocation %ld: %s", n, error.message);
      cq_reranker_free(r);
      assert_true(n < 100000);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(logits_agree),
      cmocka_unit_test(a_pair_does_not_depend_on_others),
      cmocka_unit_test(activations_are_the_directories),
      cmocka_unit_test(order_is_stable),
      cmocka_unit_test(saved_ones_give_the_same_logits),
      cmocka_unit_test(only_one_label_alone_is_a_reranker),
      cmocka_unit_test(other_models_are_refused),
      cmocka_unit_test(bad_texts_are_named),
      cmocka_unit_test(memory_runs_out),
  };
  return cmocka_run_group_tests(tests, read_pairs, free_pairs);
}
