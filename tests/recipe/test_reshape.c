/* Models with fewer layers, factorized word embeddings and folded case, by `model trim`. */
#include "support/files.h"

#include "base/memory.h"
#include "calque/calque.h"
#include "model/encoder.h"
#include "model/transformer_module.h"

#include <math.h>

#define COUNT(list) (sizeof list / sizeof *list)

static const char *const texts[] = {"The dog sees the sun.", "Der Hund schläft, und die Katze auch.", "кошка спит"};

static const char *text_file(void) {
  static char path[400];
  snprintf(path, sizeof path, "%s", test_path("text.txt"));
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  for (size_t i = 0; i < COUNT(texts); i++) fprintf(f, "%s\n", texts[i]);
  assert_int_equal(fclose(f), 0);
  return path;
}

static cq_status reshape(const char *model, const cq_trim_options *options, cq_error *error) {
  const char *file = text_file();
  cq_trim_options o = *options;
  o.text_files = &file, o.n_text_files = 1, o.replace = true, o.keep = 1 << 20;
  *error = (cq_error){0};
  return cq_trim(test_path("small"), model, NULL, &o, NULL, error);
}

static cq_encoder *open_model(const char *path) {
  cq_error error = {0};
  cq_encoder *encoder;
  if (cq_encoder_open(&encoder, path, NULL, &error)) fail_msg("%s: %s", path, error.message);
  return encoder;
}

static cq_encoder *reshaped(const char *model, const cq_trim_options *options) {
  cq_error error;
  if (reshape(model, options, &error)) fail_msg("%s: %s", model, error.message);
  return open_model(test_path("small"));
}

static void encode_one(float *out, const cq_encoder *e, const char *text) {
  cq_error error = {0};
  const cq_slice sentence = cq_slice_of(text);
  if (cq_encoder_encode(out, NULL, e, &sentence, 1, NULL, NULL, &error)) fail_msg("%s", error.message);
}

/* The smallest cosine between the two models' vectors of the texts. */
static double agreement(const cq_encoder *a, const cq_encoder *b) {
  const size_t dim = (size_t)cq_encoder_dim(a);
  float x[1024], y[1024];
  double least = 1;
  assert_true(dim <= COUNT(x));
  assert_int_equal(cq_encoder_dim(b), dim);
  for (size_t i = 0; i < COUNT(texts); i++) {
    encode_one(x, a, texts[i]), encode_one(y, b, texts[i]);
    least = fmin(least, cq_cosine(x, y, dim));
  }
  return least;
}

static const char *golden(const char *name) {
  static char path[1024];
  snprintf(path, sizeof path, "%s/golden/models/%s", CQ_TESTS_DIR, name);
  return path;
}

/* One axis goes with each dimension, the least first; the norm takes one more. */
static void factors_keep_the_principal_axes(void **state) {
  static const char *const names[] = {"bert-cased", "bert-uncased", "xlmr-both", "roberta-mean"};
  (void)state;
  for (size_t i = 0; i < COUNT(names); i++) {
    cq_encoder *model = open_model(golden(names[i]));
    const cq_transformer *t = (const cq_transformer *)model->modules[0];
    cq_trim_options o = cq_trim_default_options();
    o.embedding_dim = (int)t->dim - 1;
    cq_encoder *small = reshaped(golden(names[i]), &o);
    const cq_transformer *electra = (const cq_transformer *)small->modules[0];
    assert_string_equal(json_string_value(json_object_get(electra->config, "model_type")), "electra");
    assert_int_equal(electra->embedding.words->cols, o.embedding_dim);
    const double wide = agreement(model, small);
    cq_encoder_free(small);
    o.embedding_dim = (int)t->dim / 3;
    small = reshaped(golden(names[i]), &o);
    const double narrow = agreement(model, small);
    if (!(wide > 0.97 && wide > narrow)) fail_msg("%s: %g, %g", names[i], wide, narrow);
    cq_encoder_free(small), cq_encoder_free(model);
  }
}

static void students_can_be_factorized(void **state) {
  static const cq_student_kind kinds[] = {CQ_STUDENT_COPY, CQ_STUDENT_NEW_VOCABULARY, CQ_STUDENT_TRANSFORMER};
  (void)state;
  cq_error error = {0};
  const cq_training_data file = {.path = text_file(), .weight = 1};
  for (size_t i = 0; i < COUNT(kinds); i++) {
    cq_student_options o = cq_student_default_options();
    o.kind = kinds[i], o.text = &file, o.n_text = 1, o.vocab_size = 60, o.replace = true, o.embedding_dim = 8;
    o.dim = 24, o.n_layers = 1, o.n_heads = 2, o.feed_forward_dim = 32, o.character_coverage = 1;
    if (kinds[i] != CQ_STUDENT_TRANSFORMER) o.from = golden("bert-cased");
    if (cq_student_new(test_path("student"), &o, NULL, &error)) fail_msg("%s", error.message);
    cq_encoder *student = open_model(test_path("student"));
    assert_int_equal(cq_encoder_word_table(NULL, student)->cols, 8);
    cq_encoder_free(student);
  }
}

static void layers_that_stay_are_renumbered(void **state) {
  (void)state;
  static const int second[] = {1};
  cq_trim_options o = cq_trim_default_options();
  o.layers = second, o.n_layers = 1;
  cq_encoder *model = open_model(golden("bert-cased")), *small = reshaped(golden("bert-cased"), &o);
  const cq_transformer *whole = (const cq_transformer *)model->modules[0];
  const cq_transformer *part = (const cq_transformer *)small->modules[0];
  assert_int_equal(whole->n_layers, 2);
  assert_int_equal(part->n_layers, 1);
  const cq_param *wanted = whole->layers[1].up.weight, *found = part->layers[0].up.weight;
  assert_memory_equal(found->value, wanted->value, (size_t)cq_param_floats(wanted) * sizeof(float));
  cq_encoder_free(model), cq_encoder_free(small);
}

static void folded_models_read_text_as_it_is_typed(void **state) {
  static const char *const alike[][2] = {{"The Dog sees THE SUN.", "the dog sees the sun."},
                                         {"schla\xCC\x88"
                                          "ft",
                                          "schl\xC3\xA4"
                                          "ft"},
                                         {"Kat\xC2\xADze", "katze"},
                                         {"\xE2\x80\x8Ekatze\xEF\xBB\xBF", "Katze"}};
  (void)state;
  float x[1024], y[1024];
  cq_trim_options o = cq_trim_default_options();
  o.fold_case = true;
  cq_encoder *small = reshaped(golden("xlmr-both"), &o);
  const size_t dim = (size_t)cq_encoder_dim(small);
  for (size_t i = 0; i < COUNT(alike); i++) {
    encode_one(x, small, alike[i][0]), encode_one(y, small, alike[i][1]);
    assert_memory_equal(x, y, dim * sizeof *x);
  }
  encode_one(x, small, "scho\xCC\x88n"), encode_one(y, small, "schon"); /* accents are never folded */
  assert_true(memcmp(x, y, dim * sizeof *x) != 0);
  cq_encoder_free(small);
}

static void the_most_used_pieces_stay(void **state) {
  (void)state;
  cq_error error;
  const char *file = text_file();
  cq_trim_options o = cq_trim_default_options();
  o.text_files = &file, o.n_text_files = 1, o.replace = true, o.vocab_size = 20;
  if (cq_trim(test_path("few"), golden("xlmr-both"), NULL, &o, NULL, &error)) fail_msg("%s", error.message);
  cq_encoder *few = open_model(test_path("few"));
  const int64_t rows = cq_tokenizer_describe(few->modules[0]->tokenizer)->vocab_size;
  assert_true(rows >= 20 && rows <= 20 + 6); /* and the special ones */
  cq_encoder_free(few);
}

static void refused(const char *model, const cq_trim_options *o, cq_status wanted, const char *text) {
  cq_error error;
  assert_int_equal(reshape(golden(model), o, &error), wanted);
  if (!strstr(error.message, text)) fail_msg("'%s' is not in '%s'", text, error.message);
}

static void other_shapes_are_refused(void **state) {
  static const int falling[] = {1, 0}, absent[] = {2};
  (void)state;
  cq_trim_options o = cq_trim_default_options();
  o.embedding_dim = 24;
  refused("bert-cased", &o, CQ_ERR_ARGUMENT, "24 dimensions of word embeddings, expected 2 to 23");
  o.embedding_dim = 8;
  refused("distilbert-dense", &o, CQ_ERR_UNSUPPORTED, "only BERT, RoBERTa and XLM-R");
  refused("electra", &o, CQ_ERR_UNSUPPORTED, "only BERT, RoBERTa and XLM-R");
  refused("static-mean", &o, CQ_ERR_UNSUPPORTED, "only BERT, RoBERTa and XLM-R");
  o = cq_trim_default_options();
  o.layers = falling, o.n_layers = 2;
  refused("bert-cased", &o, CQ_ERR_ARGUMENT, "layer 0: expected rising numbers below 2");
  o.layers = absent, o.n_layers = 1;
  refused("bert-cased", &o, CQ_ERR_ARGUMENT, "layer 2: expected rising numbers below 2");
  refused("albert", &o, CQ_ERR_UNSUPPORTED, "BERT-like encoders");
  o = cq_trim_default_options();
  o.fold_case = true;
  refused("bert-cased", &o, CQ_ERR_UNSUPPORTED, "unigram ones only");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(factors_keep_the_principal_axes), cmocka_unit_test(students_can_be_factorized),
      cmocka_unit_test(layers_that_stay_are_renumbered), cmocka_unit_test(folded_models_read_text_as_it_is_typed),
      cmocka_unit_test(the_most_used_pieces_stay),       cmocka_unit_test(other_shapes_are_refused),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
