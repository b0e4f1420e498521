/* What a model's vectors say about the language is taken out: the axes of the languages' differences are gone, and the
 * saved modules give what the map gives. */
#include "support/files.h"

#include "base/file.h"
#include "base/memory.h"
#include "calque/calque.h"
#include "model/encoder.h"

#include <math.h>

enum { N_FILES = 3, N_PAIRS = 20, N = N_FILES * N_PAIRS };

static const char *const words[] = {"sun", "dog", "house", "river", "bread", "music"};
static const char *const foreign[N_FILES] = {"der Satz %d über %s ist", "la phrase %d de %s est", "%d %s ничего"};

static char texts[2][N][80];

static const char *pair_file(int l, int n) {
  static char paths[N_FILES + 1][400];
  snprintf(paths[l], sizeof paths[l], "%s", test_path(l < N_FILES ? (const char *[]){"a", "b", "c"}[l] : "other"));
  FILE *f = fopen(paths[l], "w");
  assert_non_null(f);
  for (int i = 0; i < n; i++) {
    char *x = texts[0][l % N_FILES * N_PAIRS + i], *y = texts[1][l % N_FILES * N_PAIRS + i];
    snprintf(x, sizeof texts[0][0], "sentence %d about the %s", i, words[i % 6]);
    snprintf(y, sizeof texts[0][0], foreign[l % N_FILES], i, words[(i + l) % 6]);
    fprintf(f, "%s\t%s\n", x, y);
  }
  assert_int_equal(fclose(f), 0);
  return paths[l];
}

static cq_status center(const char *model, const char *const *files, size_t n, cq_center_result *r, cq_error *error) {
  cq_center_options o = cq_center_default_options();
  o.pair_files = files, o.n_pair_files = n, o.replace = true;
  *error = (cq_error){0};
  return cq_center(test_path("centered"), model, r, &o, NULL, error);
}

static cq_encoder *open_model(const char *path) {
  cq_error error = {0};
  cq_encoder *encoder;
  cq_encoder_options o = cq_encoder_default_options();
  o.precision = CQ_PRECISION_F32;
  if (cq_encoder_open(&encoder, path, &o, &error)) fail_msg("%s: %s", path, error.message);
  return encoder;
}

/* Of length 1. */
static float *vectors_of(const cq_encoder *e, int side) {
  cq_error error = {0};
  cq_slice sentences[N];
  cq_encode_options o = cq_encode_default_options();
  o.normalize = true, o.truncate_dim = cq_encoder_full_dim(e);
  for (size_t i = 0; i < N; i++) sentences[i] = cq_slice_of(texts[side][i]);
  float *out = cq_alloc_array(N * (size_t)cq_encoder_full_dim(e), sizeof *out);
  assert_non_null(out);
  if (cq_encoder_encode(out, NULL, e, sentences, N, &o, NULL, &error)) fail_msg("%s", error.message);
  return out;
}

/* A language's mean difference, of pairs that are not held out: nothing of it may be left. */
static void offset_is_gone(const float *x, const float *y, const float *weight, size_t l, size_t dim) {
  double *offset = cq_alloc_array_zeroed(dim, sizeof *offset), before = 0, after = 0;
  assert_non_null(offset);
  for (size_t i = l * N_PAIRS; i < (l + 1) * N_PAIRS; i++)
    for (size_t d = 0; i % 10 != 9 && d < dim; d++) offset[d] += (double)y[i * dim + d] - (double)x[i * dim + d];
  for (size_t d = 0; d < dim; d++) {
    double mapped = 0;
    for (size_t k = 0; k < dim; k++) mapped += (double)weight[d * dim + k] * offset[k];
    before += offset[d] * offset[d], after += mapped * mapped;
  }
  assert_true(before > 1e-3);
  assert_true(after < 1e-9 * before);
  cq_free(offset);
}

static double own_language_counts(const cq_center_cosines *c) {
  return c->same_language - c->other_language;
}

static void languages_differ_no_more(void **state) {
  static const char *const names[] = {"bert-prompt",      "static-mean", "static-normalized",
                                      "distilbert-dense", "xlmr-model",  "truncate-dim"};
  const char *const files[] = {pair_file(0, N_PAIRS), pair_file(1, N_PAIRS), pair_file(2, N_PAIRS)};
  cq_error error;
  (void)state;
  for (size_t m = 0; m < sizeof names / sizeof *names; m++) {
    char model[1024];
    cq_center_result r;
    snprintf(model, sizeof model, "%s/golden/models/%s", CQ_TESTS_DIR, names[m]);
    if (center(model, files, N_FILES, &r, &error)) fail_msg("%s: %s", model, error.message);
    assert_int_equal(r.n_pairs, N);
    assert_true(own_language_counts(&r.after) < own_language_counts(&r.before));
    cq_encoder *old = open_model(model), *new = open_model(test_path("centered"));
    const size_t dim = (size_t)cq_encoder_full_dim(old);
    assert_int_equal(cq_encoder_full_dim(new), dim);
    assert_int_equal(cq_encoder_dim(new), cq_encoder_dim(old)); /* a prefix stays one */
    const cq_module *dense = new->modules[new->n_modules - 2];
    assert_string_equal(dense->type->name, "Dense");
    assert_string_equal(new->modules[new->n_modules - 1]->type->name, "Normalize");
    const float *weight = dense->params[0].value, *bias = dense->params[1].value;
    float *x = vectors_of(old, 0), *y = vectors_of(old, 1), *mapped = vectors_of(new, 1);
    for (size_t l = 0; l < N_FILES; l++) offset_is_gone(x, y, weight, l, dim);
    for (size_t i = 0; i < N; i++) { /* the module is the map, between vectors of length 1 */
      double dot = 0, square = 0;
      for (size_t d = 0; d < dim; d++) {
        double sum = (double)bias[d];
        for (size_t k = 0; k < dim; k++) sum += (double)weight[d * dim + k] * (double)y[i * dim + k];
        dot += sum * (double)mapped[i * dim + d], square += sum * sum;
      }
      assert_true(dot > 0.9999 * sqrt(square));
    }
    cq_free(x), cq_free(y), cq_free(mapped);
    cq_encoder_free(old), cq_encoder_free(new);
  }
}

static void is_refused(cq_status status, const char *words_of_it, const char *model, const char *file) {
  cq_error error;
  assert_int_equal(center(model, &file, 1, NULL, &error), status);
  if (!strstr(error.message, words_of_it)) fail_msg("'%s' is not in: %s", words_of_it, error.message);
}

static void what_cannot_be_centered_is_refused(void **state) {
  char model[1024];
  cq_error error = {0};
  cq_center_result r;
  (void)state;
  snprintf(model, sizeof model, "%s", tests_file("golden/models/static-mean"));
  is_refused(CQ_ERR_ARGUMENT, "9 pairs", model, pair_file(N_FILES, 9));
  is_refused(CQ_ERR_IO, "nothing", model, "nothing");
  const char *file = pair_file(N_FILES, N_PAIRS);
  FILE *f = fopen(file, "a");
  assert_non_null(f);
  fprintf(f, "no translation\n\tno sentence\n");
  assert_int_equal(fclose(f), 0);
  is_refused(CQ_ERR_FORMAT, ":21:", model, file);
  cq_center_options o = cq_center_default_options();
  o.pair_files = &file, o.n_pair_files = 1, o.skip_bad = true, o.max_pairs = 15;
  cq_directory_remove(test_path("centered"));
  if (cq_center(test_path("centered"), model, &r, &o, NULL, &error)) fail_msg("%s", error.message);
  assert_int_equal(r.n_bad, 2);
  assert_int_equal(r.n_pairs, 15);
  assert_true(isnan(r.after.other_language)); /* there is one language */
  assert_int_equal(cq_center(test_path("centered"), model, &r, &o, NULL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "already exists"));
  cq_quantize_options q = cq_quantize_default_options();
  q.replace = true;
  assert_int_equal(cq_quantize(test_path("int8"), model, NULL, &q, NULL, &error), CQ_OK);
  is_refused(CQ_ERR_UNSUPPORTED, "quantized", test_path("int8"), pair_file(0, N_PAIRS));
}

static void every_allocation_may_fail(void **state) {
  const char *const files[] = {pair_file(0, N_PAIRS), pair_file(1, N_PAIRS)};
  cq_error error;
  cq_status status = CQ_ERR_MEMORY;
  char model[1024];
  (void)state;
  snprintf(model, sizeof model, "%s", tests_file("golden/models/static-mean"));
  cq_directory_remove(test_path("centered"));
  for (uint64_t at = 1; status; at += 1 + at / 40) {
    cq_alloc_fail_at(at);
    status = center(model, files, 2, NULL, &error);
    cq_alloc_fail_at(0);
    if (!status) break;
    assert_int_equal(status, CQ_ERR_MEMORY);
    assert_false(cq_file_exists(test_path("centered")));
  }
  assert_true(cq_file_exists(test_path("centered")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(languages_differ_no_more),
      cmocka_unit_test(what_cannot_be_centered_is_refused),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
