/* Models in fewer bits: what they lose, how they are opened again, and what is refused. */
#include "support/files.h"

#include "base/file.h"
#include "base/memory.h"
#include "calque/calque.h"
#include "format/safetensors.h"
#include "model/encoder.h"

#include <math.h>
#include <sys/stat.h>

#define COUNT(list) (sizeof list / sizeof *list)

static const char *const texts[] = {"the dog sees the sun.", "a man loves the music.", "", "the child finds bread"};

static const char *text_file(void) {
  static char path[400];
  snprintf(path, sizeof path, "%s", test_path("text.tsv"));
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  for (int i = 0; i < 1500; i++) fprintf(f, "%s %d\t%s %d\t%d\n", texts[i % 4], i, texts[(i + 1) % 4], i, i % 5);
  assert_int_equal(fclose(f), 0);
  return path;
}

static const char *fresh(cq_student_kind kind) {
  static char path[400];
  static cq_training_data file;
  cq_error error = {0};
  cq_student_options o = cq_student_default_options();
  file.path = text_file();
  o.kind = kind, o.text = &file, o.n_text = 1, o.vocab_size = 70, o.character_coverage = 1;
  o.dim = 24, o.n_layers = 2, o.n_heads = 3, o.feed_forward_dim = 32, o.max_seq_length = 20, o.output_dim = 10;
  o.replace = true;
  snprintf(path, sizeof path, "%s", test_path("model"));
  if (cq_student_new(path, &o, NULL, &error)) fail_msg("%s", error.message);
  return path;
}

static cq_encoder *open_as(const char *path, cq_precision precision) {
  cq_error error = {0};
  cq_encoder *encoder;
  cq_encoder_options o = cq_encoder_default_options();
  o.precision = precision;
  if (cq_encoder_open(&encoder, path, &o, &error)) fail_msg("%s", error.message);
  return encoder;
}

/* [COUNT(texts), dim] */
static float *vectors_of(const cq_encoder *encoder) {
  cq_error error = {0};
  cq_slice sentences[COUNT(texts)];
  for (size_t i = 0; i < COUNT(texts); i++) sentences[i] = cq_slice_of(texts[i]);
  float *out = cq_alloc_array(COUNT(texts) * (size_t)cq_encoder_dim(encoder), sizeof *out);
  assert_int_equal(cq_encoder_encode(out, NULL, encoder, sentences, COUNT(texts), NULL, NULL, &error), CQ_OK);
  return out;
}

static void same_vectors(const cq_encoder *a, const cq_encoder *b) {
  float *x = vectors_of(a), *y = vectors_of(b);
  assert_memory_equal(x, y, COUNT(texts) * (size_t)cq_encoder_dim(a) * sizeof *x);
  cq_free(x);
  cq_free(y);
}

static const char *small(void) {
  return test_path("small");
}

static cq_status quantize(const char *model, cq_quantize_options *o, double *worst, cq_error *error) {
  *error = (cq_error){0};
  return cq_quantize(small(), model, worst, o, NULL, error);
}

static double size_of(const char *name) {
  struct stat s;
  assert_int_equal(stat(test_path(name), &s), 0);
  return (double)s.st_size;
}

/* --- what comes of it --- */

typedef struct told {
  char text[512];
  double losses[8];
  int n;
} told;

static void tell(void *context, const char *measure, const char *file, double before, double after, double loss) {
  told *t = context;
  assert_non_null(file);
  assert_true(t->n < 8 && fabs(before - after - loss) < 1e-12);
  t->losses[t->n++] = loss;
  strcat(strcat(t->text, measure), ";");
}

static void every_kind_in_every_precision(void **state) {
  static const cq_student_kind kinds[] = {CQ_STUDENT_TRANSFORMER, CQ_STUDENT_BILSTM, CQ_STUDENT_STATIC};
  static const cq_precision by_default[] = {CQ_PRECISION_F32, CQ_PRECISION_F32, CQ_PRECISION_INT8, CQ_PRECISION_INT8};
  (void)state;
  for (size_t k = 0; k < COUNT(kinds); k++)
    for (int p = CQ_STORED_BF16; p <= CQ_STORED_INT4; p++) {
      const char *model = fresh(kinds[k]), *file = text_file();
      const double full = size_of(kinds[k] == CQ_STUDENT_TRANSFORMER ? "model/model.safetensors"
                                  : kinds[k] == CQ_STUDENT_BILSTM    ? "model/0_WordEmbeddings/model.safetensors"
                                                                     : "model/0_StaticEmbedding/model.safetensors");
      cq_error error;
      told t = {0};
      double worst;
      cq_quantize_options o = cq_quantize_default_options();
      o.precision = (cq_stored_precision)p, o.replace = true;
      o.text_files = o.translation_files = o.sts_files = &file;
      o.n_text_files = o.n_translation_files = o.n_sts_files = 1;
      o.measured = tell, o.measured_context = &t;
      if (quantize(model, &o, &worst, &error)) fail_msg("%s", error.message);
      assert_string_equal(t.text, "cosine;cosine, min;translation;STS;");
      assert_true(t.losses[0] >= -1e-5 && t.losses[0] < (p == CQ_STORED_INT4 ? 3 : p == CQ_STORED_INT8 ? 1 : 0.01));
      assert_true(t.losses[0] <= t.losses[1]);
      assert_true(worst == fmax(t.losses[0], fmax(t.losses[2], t.losses[3])));

      cq_encoder *plain = open_as(small(), CQ_PRECISION_DEFAULT), *f32 = open_as(small(), CQ_PRECISION_F32);
      if (!getenv("CALQUE_PRECISION") && (p < CQ_STORED_INT8 || cq_products_of(f32->kernels, CQ_PRECISION_INT8) !=
                                                                    cq_products_of(f32->kernels, CQ_PRECISION_F32)))
        assert_int_equal(cq_encoder_precision(plain), by_default[p]);
      /* Written in full again: the same numbers. */
      assert_int_equal(cq_encoder_save(f32, test_path("again"), true, NULL, &error), CQ_OK);
      cq_encoder *again = open_as(test_path("again"), CQ_PRECISION_F32);
      same_vectors(f32, again);
      /* What lies narrow can be trained. */
      assert_int_equal(cq_encoder_make_trainable(plain, NULL, &error), CQ_OK);
      same_vectors(plain, again);
      char identity[2][33];
      assert_int_equal(cq_encoder_fingerprint(identity[0], f32, &error), CQ_OK);
      assert_int_equal(cq_encoder_fingerprint(identity[1], again, &error), CQ_OK);
      assert_string_equal(identity[0], identity[1]);
      cq_encoder_free(plain), cq_encoder_free(f32), cq_encoder_free(again);

      const double narrow = size_of(
          kinds[k] == CQ_STUDENT_TRANSFORMER
              ? (p >= CQ_STORED_INT8 ? "small/model-int8.safetensors" : "small/model.safetensors")
          : kinds[k] == CQ_STUDENT_BILSTM ? (p >= CQ_STORED_INT8 ? "small/0_WordEmbeddings/model-int8.safetensors"
                                                                 : "small/0_WordEmbeddings/model.safetensors")
                                          : (p >= CQ_STORED_INT8 ? "small/0_StaticEmbedding/model-int8.safetensors"
                                                                 : "small/0_StaticEmbedding/model.safetensors"));
      assert_true(narrow < 0.8 * full);
    }
}

/* --- what is refused --- */

static void too_much_lost(void **state) {
  (void)state;
  const char *model = fresh(CQ_STUDENT_TRANSFORMER), *file = text_file();
  cq_error error;
  double worst = -1;
  cq_quantize_options o = cq_quantize_default_options();
  o.max_loss = 1e-9;
  assert_int_equal(quantize(model, &o, &worst, &error), CQ_ERR_ARGUMENT); /* nothing to measure it on */
  o.text_files = &file, o.n_text_files = 1;
  cq_directory_remove(small());
  assert_int_equal(quantize(model, &o, &worst, &error), CQ_ERR_LIMIT);
  assert_true(worst > 1e-9 && strstr(error.message, "points"));
  assert_false(cq_file_exists(small()));
  o.max_loss = 2;
  assert_int_equal(quantize(model, &o, &worst, &error), CQ_OK);
  assert_int_equal(quantize(model, &o, NULL, &error), CQ_ERR_ARGUMENT); /* it is there now */
  o.replace = true;
  assert_int_equal(quantize("/no/such/model", &o, NULL, &error), CQ_ERR_IO);
  const char *none = test_path("none");
  write_text(none, "");
  o.text_files = &none;
  assert_int_equal(quantize(model, &o, NULL, &error), CQ_ERR_ARGUMENT);
}

static void expect_refused(cq_status expected, const char *word) {
  cq_error error = {0};
  cq_encoder *encoder = NULL;
  const cq_status status = cq_encoder_open(&encoder, small(), NULL, &error);
  if (status != expected || !strstr(error.message, word)) fail_msg("%d: '%s'", status, error.message);
}

static void damaged_quantization(void **state) {
  (void)state;
  const char *model = fresh(CQ_STUDENT_STATIC);
  cq_error error;
  cq_quantize_options o = cq_quantize_default_options();
  o.replace = true;
  assert_int_equal(quantize(model, &o, NULL, &error), CQ_OK);
  const char *marker = test_path("small/0_StaticEmbedding/quantization.json");
  write_text(marker, "{\"version\": 2, \"weights\": \"int8\"}");
  expect_refused(CQ_ERR_UNSUPPORTED, "version 2 of quantized weights, expected 1");
  write_text(marker, "{}");
  expect_refused(CQ_ERR_UNSUPPORTED, "version 0");
  write_text(marker, "{");
  expect_refused(CQ_ERR_FORMAT, "JSON");
  assert_int_equal(unlink(marker), 0);
  expect_refused(CQ_ERR_UNSUPPORTED, "quantization.json");
  write_text(marker, "{\"version\": 1}");

  /* Without scales, and with those of another matrix. */
  int8_t matrix[6 * 4] = {1, 2, 3};
  float scales[7] = {1, 1, 1, 1, 1, 1, 1};
  cq_stored_tensor tensors[2] = {
      {.name = "embedding.weight", .dtype = CQ_I8, .n_dims = 2, .shape = {6, 4}, .n_elements = 24, .data = matrix},
      {.name = "embedding.weight_scale", .dtype = CQ_F32, .n_dims = 1, .shape = {7}, .n_elements = 7, .data = scales}};
  const char *weights = test_path("small/0_StaticEmbedding/model-int8.safetensors");
  assert_int_equal(cq_safetensors_write(weights, tensors, 1, NULL, &error), CQ_OK);
  expect_refused(CQ_ERR_FORMAT, "embedding.weight_scale");
  assert_int_equal(cq_safetensors_write(weights, tensors, 2, NULL, &error), CQ_OK);
  expect_refused(CQ_ERR_FORMAT, "shape [7], expected [6]");

  /* In 4 bits: as wide as the scales say, or a matrix of bytes, which no model has. */
  tensors[0].dtype = CQ_U8;
  assert_int_equal(cq_safetensors_write(weights, tensors, 2, NULL, &error), CQ_OK);
  expect_refused(CQ_ERR_FORMAT, "embedding.weight");
}

/* A weight that is no number is no number afterwards. */
static void not_finite(void **state) {
  (void)state;
  cq_error error;
  cq_encoder *broken = open_as(fresh(CQ_STUDENT_STATIC), CQ_PRECISION_F32);
  assert_int_equal(cq_encoder_make_trainable(broken, NULL, &error), CQ_OK);
  for (int64_t i = 0; i < cq_param_floats(broken->params.items[0]); i += 24) broken->params.items[0]->value[i] = NAN;
  assert_int_equal(cq_encoder_save(broken, test_path("broken"), true, NULL, &error), CQ_OK);
  cq_encoder_free(broken);
  for (int p = CQ_STORED_BF16; p <= CQ_STORED_INT4; p++) {
    cq_quantize_options o = cq_quantize_default_options();
    o.precision = (cq_stored_precision)p, o.replace = true;
    assert_int_equal(quantize(test_path("broken"), &o, NULL, &error), CQ_OK);
    cq_encoder *encoder = open_as(small(), CQ_PRECISION_DEFAULT);
    float *vectors = vectors_of(encoder);
    assert_true(isnan(vectors[0]));
    cq_free(vectors);
    cq_encoder_free(encoder);
  }
}

static void allocations_may_fail(void **state) {
  (void)state;
  const char *model = fresh(CQ_STUDENT_STATIC), *file = text_file();
  cq_quantize_options o = cq_quantize_default_options();
  o.replace = true, o.text_files = &file, o.n_text_files = 1;
  for (long n = 1;; n += n < 100 ? 1 : n / 20) {
    cq_error error;
    cq_alloc_fail_at(n);
    const cq_status status = quantize(model, &o, NULL, &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (!failed) {
      assert_int_equal(status, CQ_OK);
      break;
    }
    if (status != CQ_ERR_MEMORY) fail_msg("allocation %ld: %d '%s'", n, status, error.message);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_in_every_precision), cmocka_unit_test(too_much_lost),
      cmocka_unit_test(damaged_quantization),          cmocka_unit_test(not_finite),
      cmocka_unit_test(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
