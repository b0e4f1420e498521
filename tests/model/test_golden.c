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
static bool agrees(const char *name, const float *vectors, int dim) {
  char path[4096];
  cq_npy *npy;
  cq_error error = {0};
  snprintf(path, sizeof path, MODELS "/%s/expected.npy", name);
  if (cq_npy_open(&npy, path, &error)) fail_msg("%s", error.message);
  if (cq_npy_columns(npy) != dim || (size_t)cq_npy_rows(npy) != n_sentences) {
    print_error("%s: [%zu, %d], expected [%lld, %lld]\n", name, n_sentences, dim, (long long)cq_npy_rows(npy),
                (long long)cq_npy_columns(npy));
    return false;
  }
  const float *expected = cq_npy_data(npy);
  double worst = 0, lowest = 1;
  size_t worst_at = 0;
  for (size_t s = 0; s < n_sentences; s++) {
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
      cmocka_unit_test(saving_keeps_the_bits),
  };
  return cmocka_run_group_tests(tests, read_sentences, free_sentences);
}
