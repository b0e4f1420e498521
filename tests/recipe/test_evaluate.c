/* Evaluation on files: what sentence-transformers' evaluators give for the golden models, and every fault of a file. */
#include "eval/golden.h"

#include "base/memory.h"
#include "corpus/near_miss.h"
#include "recipe/evaluate/encoded_once.h"
#include "recipe/evaluate/evaluate.h"

#include <unistd.h>

#define MODEL(name) CQ_TESTS_DIR "/golden/models/" name

/* --- files that the tests write --- */

static char scratch[] = "/tmp/calque-evaluate-XXXXXX";

static int make_scratch(void **state) {
  (void)state;
  int descriptor = mkstemp(scratch);
  return descriptor < 0 ? -1 : close(descriptor);
}

static int remove_scratch(void **state) {
  (void)state;
  return unlink(scratch);
}

static const char *file_of(const char *text) {
  FILE *file = fopen(scratch, "w");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
  assert_int_equal(fclose(file), 0);
  return scratch;
}

/* --- rows --- */

static void rows_are_read(void **state) {
  (void)state;
  cq_rows rows;
  cq_eval_options two = cq_eval_default_options();
  two.max_rows = 2;
  const char *file = file_of("\xef\xbb\xbfone\teins\r\ntwo\tzwei\tmore\t\nthree\tdrei\n");
  assert_int_equal(cq_rows_read(&rows, file, 2, NULL, NULL), CQ_OK);
  assert_int_equal(rows.n, 3);
  assert_memory_equal(rows.column[0][0].data, "one", 4);
  assert_memory_equal(rows.column[1][0].data, "eins", 5);
  assert_memory_equal(rows.column[1][1].data, "zwei", 5);
  assert_null(rows.gold);
  cq_rows_free(&rows);
  assert_int_equal(cq_rows_read(&rows, file, 2, &two, NULL), CQ_OK);
  assert_int_equal(rows.n, 2);
  cq_rows_free(&rows);
  assert_int_equal(cq_rows_read(&rows, file_of("a\tb\t2.5\nc\td\t-1e-1"), 3, NULL, NULL), CQ_OK);
  assert_int_equal(rows.n, 2);
  assert_true(rows.gold[0] == 2.5 && rows.gold[1] == -0.1);
  cq_rows_free(&rows);
}

static void faults_name_file_and_line(void **state) {
  (void)state;
  const struct {
    const char *text;
    int n_columns;
    cq_status status;
    uint64_t line;
    const char *words;
  } cases[] = {
      {"a\tb\nonly one\nc\td\n", 2, CQ_ERR_FORMAT, 2, "1 column, expected source TAB target"},
      {"a\tb\n\n", 2, CQ_ERR_FORMAT, 2, "1 column"},
      {"a\tb\t1\nc\td\n", 3, CQ_ERR_FORMAT, 2, "2 columns, expected sentence TAB sentence TAB gold"},
      {"\tb\n", 2, CQ_ERR_FORMAT, 1, "column 1 is empty"},
      {"a\t\n", 2, CQ_ERR_FORMAT, 1, "column 2 is empty"},
      {"a\tb\t1\nc\td\tgood\n", 3, CQ_ERR_FORMAT, 2, "column 3 is 'good', expected a number"},
      {"a\tb\t1 \n", 3, CQ_ERR_FORMAT, 1, "column 3"},
      {"a\tb\t\n", 3, CQ_ERR_FORMAT, 1, "column 3"},
      {"a\tb\tnan\n", 3, CQ_ERR_FORMAT, 1, "column 3"},
      {"a\tb\n\xff\tc\n", 2, CQ_ERR_FORMAT, 2, "UTF-8"},
      {"", 2, CQ_ERR_ARGUMENT, 0, "empty"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_rows rows;
    cq_error error = {0};
    cq_status status = cq_rows_read(&rows, file_of(cases[i].text), cases[i].n_columns, NULL, &error);
    if (status != cases[i].status || error.status != status || error.line != cases[i].line ||
        !strstr(error.message, cases[i].words) || strcmp(error.file, scratch) != 0)
      fail_msg("case %zu: status %d, line %d, %s", i, (int)status, (int)error.line, error.message);
    cq_rows_free(&rows);
  }
  cq_rows rows;
  cq_error error = {0};
  assert_int_equal(cq_rows_read(&rows, "/no/such/file.tsv", 2, NULL, &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "/no/such/file.tsv"));
  cq_rows_free(&rows);
}

static void bad_lines_are_counted_when_asked(void **state) {
  (void)state;
  cq_rows rows;
  cq_error error = {0};
  cq_eval_options skip = cq_eval_default_options();
  skip.skip_bad = true;
  assert_int_equal(cq_rows_read(&rows, file_of("a\tb\nx\n\xc3(\ty\n\tz\nc\td\n"), 2, &skip, &error), CQ_OK);
  assert_int_equal(rows.n, 2);
  assert_int_equal(rows.n_skipped, 3);
  assert_memory_equal(rows.column[0][1].data, "c", 2);
  cq_rows_free(&rows);
  assert_int_equal(cq_rows_read(&rows, file_of("x\ny\n"), 2, &skip, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "2 of them malformed"));
  cq_rows_free(&rows);
}

static void every_failed_allocation_of_reading_is_reported(void **state) {
  (void)state;
  const char *file = file_of("a\tb\t1\nc\td\t2\n");
  for (long n = 1;; n++) {
    cq_rows rows;
    cq_error error = {0};
    cq_alloc_fail_at(n);
    cq_status status = cq_rows_read(&rows, file, 3, NULL, &error);
    bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    cq_rows_free(&rows);
    if (!failed) {
      assert_int_equal(status, CQ_OK);
      assert_true(n > 4);
      break;
    }
    assert_int_equal(status, CQ_ERR_MEMORY);
  }
}

/* --- measures on rows --- */

static void a_repeated_sentence_is_no_mistake(void **state) {
  (void)state;
  cq_rows rows;
  cq_translation_result r;
  float source[] = {1, 0, 1, 0.1f, 0, 1}, target[] = {1, 0, 1, 0, 0, 1};
  assert_int_equal(cq_rows_read(&rows, file_of("a\tx\nb\tx\nc\ty\n"), 2, NULL, NULL), CQ_OK);
  assert_int_equal(cq_rows_translation(&r, &rows, source, target, 2, NULL, NULL), CQ_OK);
  assert_true(r.source_to_target == 1);            /* b's match is line 1's x, which is its own text */
  assert_near(r.target_to_source, 2.0 / 3, 1e-15); /* line 2's x finds a, not b */
  assert_near(r.mean, 5.0 / 6, 1e-15);
  assert_int_equal(r.n, 3);
  cq_rows_free(&rows);
}

static void the_spread_of_the_teacher(void **state) {
  (void)state;
  float teacher[] = {3, 4, -3, 4, 3, -4, -3, -4};
  cq_mse_result r;
  assert_int_equal(cq_vector_spread(&r.teacher_variance, &r.teacher_norm, teacher, 4, 2, NULL), CQ_OK);
  assert_near(r.teacher_norm, 5, 1e-15);
  assert_near(r.teacher_variance, 100 * 12.5, 1e-12);
}

/* --- models --- */

static cq_encoder *open_model(const char *directory) {
  cq_encoder *encoder;
  cq_error error = {0};
  if (cq_encoder_open(&encoder, directory, NULL, &error) != CQ_OK) fail_msg("%s", error.message);
  return encoder;
}

static void mse_equals_sentence_transformers(void **state) {
  (void)state;
  cq_encoder *teacher = open_model(MODEL("bert-uncased")), *student = open_model(MODEL("xlmr-both"));
  cq_mse_result r;
  assert_int_equal(cq_eval_mse(&r, teacher, student, GOLDEN "pairs.tsv", NULL, NULL, NULL), CQ_OK);
  /* Theirs is summed in single precision. */
  assert_near(r.target, golden_number("eval_mse_target"), 1e-3);
  assert_near(r.source, golden_number("eval_mse_source"), 1e-3);
  assert_near(r.teacher_variance, golden_number("eval_teacher_variance"), 1e-5);
  assert_near(r.teacher_norm, golden_number("eval_teacher_norm"), 1e-6);
  assert_int_equal(r.n, 24);
  assert_int_equal(r.n_skipped, 0);
  cq_encoder_free(teacher);
  cq_encoder_free(student);
}

static void translation_equals_sentence_transformers(void **state) {
  (void)state;
  const char *models[] = {"labse", "mpnet-mean"}, *files[] = {"pairs", "sts"};
  for (int m = 0; m < 2; m++)
    for (int f = 0; f < 2; f++) {
      char path[1024], name[128];
      cq_translation_result r;
      snprintf(path, sizeof path, MODEL("%s"), models[m]);
      cq_encoder *encoder = open_model(path);
      snprintf(path, sizeof path, GOLDEN "%s.tsv", files[f]);
      assert_int_equal(cq_eval_translation(&r, encoder, path, NULL, NULL, NULL), CQ_OK);
      snprintf(name, sizeof name, "eval_source_to_target_%s_%s", files[f], models[m]);
      assert_near(r.source_to_target, golden_number(name), 1e-12);
      snprintf(name, sizeof name, "eval_target_to_source_%s_%s", files[f], models[m]);
      assert_near(r.target_to_source, golden_number(name), 1e-12);
      cq_encoder_free(encoder);
    }
}

static void sts_equals_sentence_transformers(void **state) {
  (void)state;
  cq_encoder *encoder = open_model(MODEL("xlmr-both"));
  cq_sts_result r;
  assert_int_equal(cq_eval_sts(&r, encoder, GOLDEN "sts.tsv", NULL, NULL, NULL), CQ_OK);
  assert_near(r.spearman, golden_number("eval_spearman"), 1e-12);
  assert_near(r.pearson, golden_number("eval_pearson"), 1e-5);
  assert_int_equal(r.n, 15);
  cq_encoder_free(encoder);
}

/* Two models of different width: a plain loop over the dimensions both have. */
static void a_narrower_student_is_measured_on_the_first_dimensions(void **state) {
  (void)state;
  cq_encoder *teacher = open_model(MODEL("bert-uncased")), *student = open_model(MODEL("distilbert-dense"));
  const size_t dim = (size_t)cq_encoder_dim(student), wide = (size_t)cq_encoder_dim(teacher);
  cq_rows rows;
  cq_mse_result r;
  float *wanted, *target;
  assert_true(dim < wide);
  assert_int_equal(cq_eval_mse(&r, teacher, student, GOLDEN "pairs.tsv", NULL, NULL, NULL), CQ_OK);
  assert_int_equal(cq_rows_read(&rows, GOLDEN "pairs.tsv", 2, NULL, NULL), CQ_OK);
  assert_int_equal(cq_encode_column(&wanted, teacher, NULL, rows.column[0], rows.n, NULL, NULL), CQ_OK);
  assert_int_equal(cq_encode_column(&target, student, NULL, rows.column[1], rows.n, NULL, NULL), CQ_OK);
  double sum = 0;
  for (size_t i = 0; i < rows.n; i++) {
    for (size_t d = 0; d < dim; d++) {
      const double difference = (double)wanted[i * wide + d] - (double)target[i * dim + d];
      sum += difference * difference;
    }
  }
  assert_near(r.target, 100 * sum / (double)(rows.n * dim), 1e-9);
  cq_free(wanted);
  cq_free(target);
  cq_rows_free(&rows);
  cq_encoder_free(teacher);
  cq_encoder_free(student);
}

/* truncate-dim: what the same measures give for vectors that end there, in files of every kind. */
static void vectors_are_measured_truncated(void **state) {
  (void)state;
  cq_encoder *encoder = open_model(MODEL("bert-uncased")), *teacher = open_model(MODEL("distilbert-dense"));
  cq_eval_options o = cq_eval_default_options();
  cq_encode_options first = cq_encode_default_options();
  cq_rows rows;
  float a[64 * 6], b[64 * 6];
  cq_translation_result got, expected;
  cq_mse_result mse;
  cq_sts_result whole, sts;
  cq_error error = {0};
  o.truncate_dim = first.truncate_dim = 6;
  assert_int_equal(cq_rows_read(&rows, GOLDEN "pairs.tsv", 2, NULL, NULL), CQ_OK);
  assert_true(rows.n <= 64);
  assert_int_equal(cq_encoder_encode(a, NULL, encoder, rows.column[0], rows.n, &first, NULL, NULL), CQ_OK);
  assert_int_equal(cq_encoder_encode(b, NULL, encoder, rows.column[1], rows.n, &first, NULL, NULL), CQ_OK);
  assert_int_equal(cq_translation_accuracy(&expected, a, b, rows.n, 6, NULL, NULL), CQ_OK);
  assert_int_equal(cq_eval_translation(&got, encoder, GOLDEN "pairs.tsv", &o, NULL, NULL), CQ_OK);
  assert_true(got.source_to_target == expected.source_to_target && got.target_to_source == expected.target_to_source);
  assert_int_equal(cq_encoder_encode(a, NULL, teacher, rows.column[0], rows.n, &first, NULL, NULL), CQ_OK);
  assert_int_equal(cq_eval_mse(&mse, encoder, teacher, GOLDEN "pairs.tsv", &o, NULL, NULL), CQ_OK);
  assert_int_equal(cq_encoder_encode(b, NULL, encoder, rows.column[0], rows.n, &first, NULL, NULL), CQ_OK);
  assert_near(mse.source, cq_mse_100(b, a, rows.n, 6), 1e-9);
  assert_int_equal(cq_eval_sts(&whole, encoder, GOLDEN "sts.tsv", NULL, NULL, NULL), CQ_OK);
  assert_int_equal(cq_eval_sts(&sts, encoder, GOLDEN "sts.tsv", &o, NULL, NULL), CQ_OK);
  assert_true(sts.pearson != whole.pearson);
  o.truncate_dim = cq_encoder_dim(encoder) + 1;
  assert_int_equal(cq_eval_sts(&sts, encoder, GOLDEN "sts.tsv", &o, NULL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "truncate-dim is 25, expected 0 to the model's 24"));
  cq_rows_free(&rows);
  cq_encoder_free(encoder);
  cq_encoder_free(teacher);
}

/* --- near misses among the candidates --- */

static const char *const hard_sentences[] = {
    "Twelve long trains came to the station.",
    "My brother met Olga near the river.",
    "They walked with Anna through the old town.",
    "The bridge is open on Sunday.",
    "He left the garden because she sang.",
    "A red boat lay in the harbour.",
    "A red boat lay in the harbour.",
    "We drank tea and read the letter.",
};
enum { N_HARD = sizeof hard_sentences / sizeof *hard_sentences };

/* Each query is the text of a candidate, which is therefore the best: of each kind a near miss of its own row, a sentence
 * itself, its copy's near miss, and another row's near miss. */
static void near_misses_are_counted_by_kind(void **state) {
  static const struct {
    uint32_t of;
    int kind; /* -1: the sentence */
  } queries[N_HARD] = {{0, CQ_MISS_NUMBER}, {1, CQ_MISS_NAME}, {2, -1}, {3, CQ_MISS_NEGATION},
                       {4, CQ_MISS_ORDER},  {6, -1},           {6, -1}, {3, CQ_MISS_NAME}};
  (void)state;
  cq_encoder *encoder = open_model(MODEL("bert-uncased"));
  cq_near_misses misses;
  cq_xsim_hard_result r;
  cq_slice sentences[N_HARD];
  char text[4096] = "";
  size_t n_of[CQ_N_MISSES] = {0};
  for (size_t i = 0; i < N_HARD; i++) sentences[i] = cq_slice_of(hard_sentences[i]);
  assert_int_equal(cq_near_misses_make(&misses, sentences, N_HARD, 1, NULL), CQ_OK);
  for (size_t i = 0; i < misses.n; i++) n_of[misses.items[i].kind]++;
  for (size_t i = 0; i < N_HARD; i++) {
    cq_slice query = sentences[queries[i].of];
    bool found = queries[i].kind < 0;
    for (size_t k = 0; k < misses.n; k++) {
      if (misses.items[k].of != queries[i].of || (int)misses.items[k].kind != queries[i].kind) continue;
      query = misses.items[k].text, found = true;
    }
    assert_true(found);
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s\t%.*s\n", hard_sentences[i], (int)query.n,
             query.data);
  }
  assert_int_equal(cq_eval_xsim_hard(&r, encoder, file_of(text), NULL, NULL, NULL), CQ_OK);
  assert_int_equal(r.n, N_HARD);
  assert_near(r.error, 5.0 / N_HARD, 1e-15);
  assert_int_equal(r.number.n_errors, 1);
  assert_int_equal(r.name.n_errors, 1);
  assert_int_equal(r.negation.n_errors, 1);
  assert_int_equal(r.order.n_errors, 1);
  assert_int_equal(r.n_other, 1);
  assert_int_equal(r.number.n_near_misses, n_of[CQ_MISS_NUMBER]);
  assert_int_equal(r.name.n_near_misses, n_of[CQ_MISS_NAME]);
  assert_int_equal(r.negation.n_near_misses, n_of[CQ_MISS_NEGATION]);
  assert_int_equal(r.order.n_near_misses, n_of[CQ_MISS_ORDER]);
  cq_error error = {0};
  assert_int_equal(cq_eval_xsim_hard(&r, encoder, file_of("a\tb\nc\n"), NULL, NULL, &error), CQ_ERR_FORMAT);
  assert_int_equal(error.line, 2);
  cq_near_misses_free(&misses);
  cq_encoder_free(encoder);
}

static void faults_reach_the_caller(void **state) {
  (void)state;
  cq_encoder *teacher = open_model(MODEL("bert-uncased")), *other = open_model(MODEL("distilbert-dense"));
  cq_mse_result mse;
  cq_translation_result translation;
  cq_sts_result sts;
  cq_error error = {0};
  assert_int_equal(cq_eval_mse(&mse, other, teacher, GOLDEN "pairs.tsv", NULL, NULL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "24 dimensions, the teacher's 20"));
  const char *file = file_of("a\tb\nc\n");
  assert_int_equal(cq_eval_mse(&mse, teacher, teacher, file, NULL, NULL, &error), CQ_ERR_FORMAT);
  assert_int_equal(error.line, 2);
  assert_int_equal(cq_eval_translation(&translation, teacher, file, NULL, NULL, &error), CQ_ERR_FORMAT);
  assert_int_equal(error.line, 2);
  assert_int_equal(cq_eval_sts(&sts, teacher, file, NULL, NULL, &error), CQ_ERR_FORMAT);
  assert_int_equal(error.line, 1);
  cq_eval_options skip = cq_eval_default_options();
  skip.skip_bad = true;
  assert_int_equal(cq_eval_translation(&translation, teacher, file, &skip, NULL, &error), CQ_OK);
  assert_int_equal(translation.n_skipped, 1);
  assert_true(translation.mean == 1);
  cq_encoder_free(teacher);
  cq_encoder_free(other);
}

/* With a memory every figure is the same, and a first column's sentence is encoded once for each model: another prompt,
 * which would change its vector, does not reach it. */
static void first_columns_are_encoded_once(void **state) {
  (void)state;
  cq_encoder *encoder = open_model(MODEL("bert-uncased")), *other = open_model(MODEL("distilbert-dense"));
  cq_eval_options plain = cq_eval_default_options(), o = plain, prompted;
  cq_translation_result expected, got;
  cq_mse_result mse_expected, mse;
  const cq_slice sentences[] = {cq_slice_of("a river"), cq_slice_of("a boat is here"), cq_slice_of("a boat is here")};
  float *alone, *known;
  const size_t dim = (size_t)cq_encoder_dim(encoder);
  assert_int_equal(cq_eval_memory_new(&o.memory, NULL), CQ_OK);
  for (int time = 0; time < 2; time++) { /* the second time every vector is there */
    const char *file = file_of("a boat is here\tthe boat\nthe river\tthe train\na boat is here\tit rains\n");
    assert_int_equal(cq_eval_translation(&expected, encoder, file, &plain, NULL, NULL), CQ_OK);
    assert_int_equal(cq_eval_translation(&got, encoder, file, &o, NULL, NULL), CQ_OK);
    assert_memory_equal(&got, &expected, sizeof got);
    assert_int_equal(cq_eval_mse(&mse_expected, encoder, other, file, &plain, NULL, NULL), CQ_OK);
    assert_int_equal(cq_eval_mse(&mse, encoder, other, file, &o, NULL, NULL), CQ_OK);
    assert_memory_equal(&mse, &mse_expected, sizeof mse);
  }
  prompted = o, prompted.prompt = "night train: ";
  assert_int_equal(cq_encode_column(&alone, encoder, NULL, sentences, 3, &plain, NULL), CQ_OK);
  assert_int_equal(cq_encode_first_column(&known, encoder, NULL, sentences, 3, &prompted, NULL), CQ_OK);
  assert_memory_not_equal(known, alone, dim * sizeof *known);
  assert_memory_equal(known + dim, alone + dim, 2 * dim * sizeof *known);
  cq_free(alone);
  cq_free(known);
  cq_eval_memory_free(o.memory);
  cq_eval_memory_free(NULL);
  cq_encoder_free(encoder);
  cq_encoder_free(other);
}

static void every_failed_allocation_of_a_measure_is_reported(void **state) {
  (void)state;
  cq_encoder *encoder = open_model(MODEL("bert-uncased"));
  cq_reranker *reranker;
  assert_int_equal(cq_reranker_open(&reranker, CQ_TESTS_DIR "/golden/rerankers/bert", NULL, NULL), CQ_OK);
  const char *file = file_of("a boat is here\tthe boat\t1\nc\td\t2\nthe river\tthe train\t3\n");
  for (int measure = 0; measure < 7; measure++)
    for (long n = 1;; n++) {
      cq_mse_result mse;
      cq_translation_result translation;
      cq_sts_result sts;
      cq_xsim_hard_result hard;
      cq_error error = {0};
      cq_eval_options o = cq_eval_default_options();
      cq_alloc_fail_at(n);
      cq_status status = measure == 0   ? cq_eval_mse(&mse, encoder, encoder, file, NULL, NULL, &error)
                         : measure == 1 ? cq_eval_translation(&translation, encoder, file, NULL, NULL, &error)
                         : measure == 2 ? cq_eval_sts(&sts, encoder, file, NULL, NULL, &error)
                         : measure == 3 ? cq_eval_xsim(&translation, encoder, file, NULL, NULL, &error)
                         : measure == 4 ? cq_eval_xsim_hard(&hard, encoder, file, NULL, NULL, &error)
                         : measure == 6 ? cq_eval_sts_reranker(&sts, reranker, file, NULL, NULL, &error)
                                        : cq_eval_memory_new(&o.memory, &error);
      if (measure == 5 && !status) status = cq_eval_translation(&translation, encoder, file, &o, NULL, &error);
      bool failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      cq_eval_memory_free(o.memory);
      if (!failed) {
        assert_int_equal(status, CQ_OK);
        break;
      }
      if (status != CQ_ERR_MEMORY) fail_msg("measure %d, allocation %ld: status %d", measure, n, (int)status);
    }
  cq_reranker_free(reranker);
  cq_encoder_free(encoder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_read),
      cmocka_unit_test(faults_name_file_and_line),
      cmocka_unit_test(bad_lines_are_counted_when_asked),
      cmocka_unit_test(every_failed_allocation_of_reading_is_reported),
      cmocka_unit_test(a_repeated_sentence_is_no_mistake),
      cmocka_unit_test(the_spread_of_the_teacher),
      cmocka_unit_test(mse_equals_sentence_transformers),
      cmocka_unit_test(translation_equals_sentence_transformers),
      cmocka_unit_test(sts_equals_sentence_transformers),
      cmocka_unit_test(vectors_are_measured_truncated),
      cmocka_unit_test(a_narrower_student_is_measured_on_the_first_dimensions),
      cmocka_unit_test(near_misses_are_counted_by_kind),
      cmocka_unit_test(faults_reach_the_caller),
      cmocka_unit_test(first_columns_are_encoded_once),
      cmocka_unit_test(every_failed_allocation_of_a_measure_is_reported),
  };
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
