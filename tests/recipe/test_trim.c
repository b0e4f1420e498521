/* Models trimmed to a text: every architecture and tokenizer, the same bits, and what is refused. */
#include "support/files.h"

#include "base/file.h"
#include "base/memory.h"
#include "calque/calque.h"
#include "model/encoder.h"

#include <math.h>

#define COUNT(list) (sizeof list / sizeof *list)

static const char *const texts[] = {"The dog sees the sun.", "Der Hund schläft, und die Katze auch.",
                                    "dogs [MASK] 😀 zzqx", "Prices rose by 3.75 % (from $1,200).", "кошка спит 日本"};

static const char *text_file(void) {
  static char path[400];
  snprintf(path, sizeof path, "%s", test_path("text.tsv"));
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  for (size_t i = 0; i < COUNT(texts); i++) fprintf(f, "%s\t%s\n\n", texts[i], texts[(i + 1) % COUNT(texts)]);
  assert_int_equal(fclose(f), 0);
  return path;
}

static cq_encoder *open_model(const char *path) {
  cq_error error = {0};
  cq_encoder *encoder;
  if (cq_encoder_open(&encoder, path, NULL, &error)) fail_msg("%s: %s", path, error.message);
  return encoder;
}

/* The vectors of all texts, with a prompt of the model's. */
static float *vectors_of(const cq_encoder *e, const char *prompt_name) {
  cq_error error = {0};
  cq_slice sentences[COUNT(texts)];
  cq_encode_options o = cq_encode_default_options();
  o.prompt_name = prompt_name;
  for (size_t i = 0; i < COUNT(texts); i++) sentences[i] = cq_slice_of(texts[i]);
  float *out = cq_alloc_array(COUNT(texts) * (size_t)cq_encoder_dim(e), sizeof *out);
  assert_non_null(out);
  if (cq_encoder_encode(out, NULL, e, sentences, COUNT(texts), &o, NULL, &error)) fail_msg("%s", error.message);
  return out;
}

static void same_vectors(const cq_encoder *a, const cq_encoder *b, const char *prompt_name) {
  assert_int_equal(cq_encoder_dim(a), cq_encoder_dim(b));
  float *x = vectors_of(a, prompt_name), *y = vectors_of(b, prompt_name);
  assert_memory_equal(x, y, COUNT(texts) * (size_t)cq_encoder_dim(a) * sizeof *x);
  cq_free(x), cq_free(y);
}

static cq_status trim(const char *model, cq_trim_result *result, int keep, cq_error *error) {
  const char *file = text_file();
  cq_trim_options o = cq_trim_default_options();
  o.text_files = &file, o.n_text_files = 1, o.replace = true, o.keep = keep;
  *error = (cq_error){0};
  return cq_trim(test_path("small"), model, result, &o, NULL, error);
}

static cq_trim_result trimmed_is_the_same(const char *model) {
  cq_error error;
  cq_trim_result r, again;
  const char *name;
  json_t *prompt;
  if (trim(model, &r, 0, &error)) fail_msg("%s: %s", model, error.message);
  cq_encoder *a = open_model(model), *b = open_model(test_path("small"));
  same_vectors(a, b, NULL);
  json_object_foreach(a->prompts, name, prompt) same_vectors(a, b, name);
  assert_int_equal(cq_encoder_precision(a), cq_encoder_precision(b));
  assert_int_equal(b->modules[0]->params[0].rows, r.rows_after);
  cq_encoder_free(a), cq_encoder_free(b);
  assert_int_equal(r.n_sentences, 2 * COUNT(texts));
  assert_true(r.rows_after <= r.rows_before && r.bytes_after <= r.bytes_before);
  assert_true((r.rows_after < r.rows_before) == (r.bytes_after < r.bytes_before));
  /* A second time, nothing is left to go. */
  char small[400];
  snprintf(small, sizeof small, "%s", test_path("smaller"));
  cq_directory_remove(small);
  assert_int_equal(rename(test_path("small"), small), 0);
  if (trim(small, &again, 0, &error)) fail_msg("%s: %s", model, error.message);
  assert_int_equal(again.rows_before, r.rows_after);
  assert_int_equal(again.rows_after, r.rows_after);
  assert_int_equal(again.bytes_before, r.bytes_after);
  return r;
}

static void every_architecture_keeps_its_bits(void **state) {
  static const char *const names[] = {"bert-uncased",  "bert-cased-vocab", "bert-lower",       "bert-bf16",
                                      "bert-relu-f16", "bert-prompt",      "distilbert-dense", "roberta-mean",
                                      "roberta-files", "mpnet-mean",       "plain-xlmr",       "xlmr-both",
                                      "xlmr-model",    "static-mean"};
  (void)state;
  int n_smaller = 0;
  for (size_t i = 0; i < COUNT(names); i++) {
    char model[1024];
    snprintf(model, sizeof model, "%s/golden/models/%s", CQ_TESTS_DIR, names[i]);
    const cq_trim_result r = trimmed_is_the_same(model);
    n_smaller += r.rows_after < r.rows_before;
  }
  assert_true(n_smaller >= 12);
}

/* A small model of a vocabulary trained on other text besides. */
static const char *fresh(cq_student_kind kind, cq_student_vocabulary vocabulary) {
  static char path[400];
  cq_error error = {0};
  char other[400];
  const cq_training_data files[] = {{.path = other}, {.path = text_file()}};
  snprintf(other, sizeof other, "%s", test_path("other.txt"));
  FILE *f = fopen(other, "w");
  assert_non_null(f);
  for (int i = 0; i < 300; i++) fprintf(f, "number %d is followed by number %d, and that by another one\n", i, i + 1);
  assert_int_equal(fclose(f), 0);
  cq_student_options o = cq_student_default_options();
  o.kind = kind, o.vocabulary = vocabulary, o.text = files, o.n_text = 2, o.vocab_size = 160, o.character_coverage = 1;
  o.dim = 24, o.n_layers = 2, o.n_heads = 3, o.feed_forward_dim = 32, o.max_seq_length = 6, o.replace = true;
  snprintf(path, sizeof path, "%s", test_path("model"));
  if (cq_student_new(path, &o, NULL, &error)) fail_msg("%s", error.message);
  return path;
}

/* Truncated sentences are among the texts: the fresh models take six tokens. */
static void every_student_keeps_its_bits(void **state) {
  (void)state;
  for (int kind = CQ_STUDENT_TRANSFORMER; kind <= CQ_STUDENT_STATIC; kind++)
    for (int vocabulary = CQ_VOCABULARY_UNIGRAM; vocabulary <= CQ_VOCABULARY_WORDS; vocabulary++) {
      const cq_trim_result r = trimmed_is_the_same(fresh((cq_student_kind)kind, (cq_student_vocabulary)vocabulary));
      assert_true(r.rows_after < r.rows_before);
    }
}

static void the_first_pieces_can_stay(void **state) {
  cq_error error;
  cq_trim_result without, with, all;
  (void)state;
  const char *model = fresh(CQ_STUDENT_STATIC, CQ_VOCABULARY_WORDS);
  assert_int_equal(trim(model, &without, 0, &error), CQ_OK);
  assert_int_equal(trim(model, &with, 40, &error), CQ_OK);
  assert_int_equal(trim(model, &all, 1 << 20, &error), CQ_OK);
  assert_true(with.rows_after > without.rows_after && with.rows_after < with.rows_before);
  assert_int_equal(all.rows_after, all.rows_before);
}

/* --- fewer dimensions --- */

static double cosine(const float *a, const float *b, int dim) {
  double ab = 0, aa = 0, bb = 0;
  for (int d = 0; d < dim; d++) ab += a[d] * b[d], aa += a[d] * a[d], bb += b[d] * b[d];
  return ab / sqrt(aa * bb);
}

/* The mean squared difference of cosines between all texts by the model and by another, of whose vectors the first dim
 * dimensions are looked at. */
static double lost_by(const cq_encoder *model, const cq_encoder *other, int dim) {
  const int all = cq_encoder_dim(model), others = cq_encoder_dim(other);
  float *x = vectors_of(model, NULL), *y = vectors_of(other, NULL);
  double sum = 0;
  for (size_t i = 0; i < COUNT(texts); i++)
    for (size_t k = 0; k < i; k++) {
      const size_t a = (size_t)all, b = (size_t)others;
      sum += pow(cosine(x + i * a, x + k * a, all) - cosine(y + i * b, y + k * b, dim), 2);
    }
  cq_free(x), cq_free(y);
  return sum;
}

/* Turned to all axes, the cosines are what they were; the first axes keep more of them than the first dimensions. */
static void a_static_model_is_cut_to_its_principal_axes(void **state) {
  (void)state;
  const char *model = fresh(CQ_STUDENT_STATIC, CQ_VOCABULARY_WORDS), *file = text_file();
  cq_error error = {0};
  cq_encoder *whole = open_model(model);
  double lost[25];
  for (int dim = 24; dim >= 4; dim -= 10) {
    cq_trim_options o = cq_trim_default_options();
    o.text_files = &file, o.n_text_files = 1, o.replace = true, o.dimensions = dim;
    if (cq_trim(test_path("small"), model, NULL, &o, NULL, &error)) fail_msg("%s", error.message);
    cq_encoder *small = open_model(test_path("small"));
    assert_int_equal(cq_encoder_dim(small), dim);
    lost[dim] = lost_by(whole, small, dim);
    cq_encoder_free(small);
  }
  assert_true(lost[24] < 1e-10);
  assert_true(lost[14] < lost_by(whole, whole, 14));
  assert_true(lost[4] < lost_by(whole, whole, 4));
  cq_encoder_free(whole);
}

/* --- what is refused --- */

/* A BiLSTM whose words are looked up without a tokenizer. */
static const char *model_of_whitespace(void) {
  static char model[400];
  char from[1024], command[2400];
  snprintf(model, sizeof model, "%s", fresh(CQ_STUDENT_BILSTM, CQ_VOCABULARY_UNIGRAM));
  snprintf(from, sizeof from, "%s", tests_file("golden/whitespace/plain/whitespacetokenizer_config.json"));
  snprintf(
      command, sizeof command,
      "cp '%s' '%s/0_WordEmbeddings/' && sed -i 's/[A-Za-z_.]*TransformersTokenizerWrapper/"
      "sentence_transformers.models.tokenizer.WhitespaceTokenizer/' '%s/0_WordEmbeddings/wordembedding_config.json'",
      from, model, model);
  assert_int_equal(system(command), 0);
  return model;
}

static void is_refused(cq_status wanted, const char *text, const char *model, const char *file, bool replace) {
  cq_error error = {0};
  cq_trim_result r = {.n_sentences = 7};
  cq_trim_options o = cq_trim_default_options();
  o.text_files = &file, o.n_text_files = file ? 1 : 0, o.replace = replace;
  assert_int_equal(cq_trim(test_path("refused"), model, &r, &o, NULL, &error), wanted);
  if (!strstr(error.message, text)) fail_msg("'%s' is not in '%s'", text, error.message);
  assert_int_equal(r.n_sentences, 7);
}

static void what_cannot_be_trimmed_is_refused(void **state) {
  char model[1024], words[1024], empty[400], wide[400], broken[400];
  cq_error error;
  (void)state;
  snprintf(model, sizeof model, "%s", tests_file("golden/models/bert-uncased"));
  snprintf(words, sizeof words, "%s", model_of_whitespace());
  snprintf(empty, sizeof empty, "%s", test_path("empty.txt"));
  snprintf(wide, sizeof wide, "%s", test_path("wide.tsv"));
  snprintf(broken, sizeof broken, "%s", test_path("broken.txt"));
  write_bytes(empty, "\n\n\t\n", 4);
  write_bytes(broken,
              "good\nb\xff"
              "d\n",
              8);
  FILE *f = fopen(wide, "w");
  assert_non_null(f);
  fputs("one\n", f);
  for (int i = 0; i < 64; i++) fputs("x\t", f);
  fputs("x\n", f);
  assert_int_equal(fclose(f), 0);
  is_refused(CQ_ERR_ARGUMENT, "text is missing", model, NULL, false);
  is_refused(CQ_ERR_ARGUMENT, "no text", model, empty, false);
  is_refused(CQ_ERR_FORMAT, "wide.tsv:2", model, wide, false);
  is_refused(CQ_ERR_FORMAT, "broken.txt:2", model, broken, false);
  is_refused(CQ_ERR_IO, "absent.txt", model, test_path("absent.txt"), false);
  is_refused(CQ_ERR_IO, "no-such-model", "no-such-model", text_file(), false);
  is_refused(CQ_ERR_UNSUPPORTED, "cannot be trimmed", words, text_file(), false);
  assert_false(cq_file_exists(test_path("refused")));

  cq_quantize_options q = cq_quantize_default_options();
  q.replace = true;
  assert_int_equal(cq_quantize(test_path("int8"), model, NULL, &q, NULL, &error), CQ_OK);
  is_refused(CQ_ERR_UNSUPPORTED, "quantized", test_path("int8"), text_file(), false);

  assert_int_equal(cq_directory_make(test_path("refused"), &error), CQ_OK);
  is_refused(CQ_ERR_ARGUMENT, "exists", model, text_file(), false);
}

static void every_allocation_may_fail(void **state) {
  cq_error error;
  cq_trim_result r;
  cq_status status = CQ_ERR_MEMORY;
  char model[1024];
  (void)state;
  snprintf(model, sizeof model, "%s", tests_file("golden/models/bert-prompt"));
  cq_directory_remove(test_path("small"));
  for (uint64_t at = 1; status; at += 1 + at / 40) {
    cq_alloc_fail_at(at);
    status = trim(model, &r, 0, &error);
    cq_alloc_fail_at(0);
    if (!status) break;
    assert_int_equal(status, CQ_ERR_MEMORY);
    assert_false(cq_file_exists(test_path("small")));
  }
  assert_true(cq_file_exists(test_path("small")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_architecture_keeps_its_bits),
      cmocka_unit_test(every_student_keeps_its_bits),
      cmocka_unit_test(the_first_pieces_can_stay),
      cmocka_unit_test(a_static_model_is_cut_to_its_principal_axes),
      cmocka_unit_test(what_cannot_be_trimmed_is_refused),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
