/* Scores of rows: evidence worked out by hand, what is kept, runs, formats of languages, and failing allocations. */
#include "support/files.h"

#include "base/memory.h"
#include "base/slice.h"
#include "calque/score.h"

#include <math.h>

#define MODEL CQ_SOURCE_DIR "/models/calque-small"

static char notices[4096];
static void keep_notice(void *context, const char *text) {
  (void)context;
  const size_t n = strlen(notices);
  snprintf(notices + n, sizeof notices - n, "%s\n", text);
}

static cq_status score(cq_row_scores **out, const char *text, double min_precision, cq_error *error) {
  const char *path = test_path("rows.tsv");
  static char cache[4096];
  write_text(path, text);
  snprintf(cache, sizeof cache, "%s", test_path("cache"));
  cq_score_options o = cq_score_default_options();
  o.inputs = &path, o.n_inputs = 1, o.model = MODEL, o.cache_directory = cache, o.min_precision = min_precision;
  o.notice = keep_notice;
  notices[0] = '\0';
  return cq_score(out, &o, NULL, error);
}

static double evidence(const cq_row_scores *s, size_t row, const char *name) {
  for (size_t e = 0; cq_score_evidence_name(e); e++)
    if (strcmp(cq_score_evidence_name(e), name) == 0) return cq_row_scores_row(s, row).evidence[e];
  fail_msg("no evidence is called %s", name);
  return 0;
}

static void evidence_is_as_worked_out(void **state) {
  (void)state;
  cq_row_scores *s = NULL;
  const char *text = "At 17 and 42 we met.\tUm 17 und 93 kamen wir.\n" /* a number that the other side lacks, twice */
                     "It cost 10,000 crowns.\tEs kostete 10 000 Kronen.\n" /* the same number */
                     "At 5:30, not 6.\tUm 5.30, nicht 6.\n"
                     "Five of 7.\t5 von 7.\n" /* one side alone has a number more */
                     "The same here!\tThe SAME, here\n"
                     "red green blue white\tgreen blue rot\n" /* 9 letters of a run of two words, of 12 */
                     "one\tder Hund\ntwo\tder Hund\nthree\tder Hund\nthree\tder Hund\n"
                     "\tnichts\n";
  assert_int_equal(score(&s, text, 0, NULL), CQ_OK);
  assert_int_equal(cq_row_scores_n(s), 11);
  const struct {
    size_t row;
    const char *name;
    double value;
  } wanted[] = {{0, "numbers_both", log(2)},
                {0, "numbers_one", 0},
                {1, "numbers_both", 0},
                {1, "numbers_one", 0},
                {2, "numbers_both", 0},
                {2, "numbers_one", 0},
                {3, "numbers_both", 0},
                {3, "numbers_one", log(2)},
                {4, "copy", 1},
                {5, "copy", 0},
                {5, "copied", 9.0 / 12},
                {5, "shortness", 0.25},
                {6, "repeated", log(3)},
                {9, "repeated", log(3)},
                {0, "repeated", 0},
                {0, "copied", 2.0 / 14}};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    assert_true(fabs(evidence(s, wanted[i].row, wanted[i].name) - wanted[i].value) < 1e-9);
  const cq_score_row empty = cq_row_scores_row(s, 10);
  assert_int_equal(empty.reason, CQ_SCORE_EMPTY);
  assert_true(empty.probability == 0 && !empty.evidence && empty.n_columns == 2);
  double sum = 0;
  for (cq_score_reason r = 0; r < CQ_SCORE_EMPTY; r++) sum += cq_row_scores_share(s, r);
  assert_true(fabs(sum - 1) < 1e-9);
  assert_non_null(strstr(notices, "10 rows are few"));
  assert_null(cq_score_reason_name(CQ_N_SCORE_REASONS));
  assert_string_equal(cq_score_reason_name(CQ_SCORE_EMPTY), "empty");
  cq_row_scores_free(s);
}

/* Zebra and Pferd share four rows. Without the row itself, that is a coefficient of 2 * 3 / (4 + 3 + 2) in each; its mean
 * over the five rows with zebra is what the last row lacks. */
static void words_of_a_row_are_linked(void **state) {
  (void)state;
  cq_row_scores *s = NULL;
  assert_int_equal(score(&s, "zebra\tPferd\nZebra\tpferd\nzebra\tPferde\nzebras\tPferd\nzebra\tHaus\n", 0, NULL),
                   CQ_OK);
  assert_true(fabs(evidence(s, 4, "unlinked_source") - 4 * (2.0 / 3) / 5) < 1e-6);
  assert_true(fabs(evidence(s, 4, "unlinked") - 4 * (2.0 / 3) / 5) < 1e-6);
  assert_true(evidence(s, 4, "unlinked_target") == 0 && evidence(s, 0, "unlinked_source") == 0);
  cq_row_scores_free(s);
}

/* The fifth row's source has the words of the second in an order that the file has not, and no mark at its end. */
static void order_and_ends_are_those_of_the_file(void **state) {
  (void)state;
  cq_row_scores *s = NULL;
  const char *text = "the dog sleeps here.\tder Hund schläft hier.\nthe dog eats here.\tder Hund frisst hier.\n"
                     "the dog drinks here.\tder Hund trinkt hier.\nthe dog sits here.\tder Hund sitzt hier.\n"
                     "here. dog eats the\tder Hund frisst hier.\n";
  assert_int_equal(score(&s, text, 0, NULL), CQ_OK);
  for (size_t i = 0; i < 4; i++) {
    assert_true(evidence(s, 4, "marks") < evidence(s, i, "marks") - 1);
    assert_true(evidence(s, 4, "end") < evidence(s, i, "end"));
    assert_true(evidence(s, i, "mark") == 0);
  }
  assert_true(fabs(evidence(s, 4, "mark")) == 1);
  cq_row_scores_free(s);
}

static void kept_rows_have_the_precision(void **state) {
  (void)state;
  cq_row_scores *s = NULL;
  const char *text = "We met in the garden.\tWir trafen uns im Garten.\nThe dog sleeps.\tDer Hund schläft.\n"
                     "It rains today.\tDer Bericht über das neue Museum erschien im Oktober 1957.\n";
  assert_int_equal(score(&s, text, 0.7, NULL), CQ_OK);
  double kept = 0, lowest = 1, highest_dropped = 0;
  size_t n = 0;
  for (size_t i = 0; i < 3; i++) {
    const cq_score_row row = cq_row_scores_row(s, i);
    if (row.is_kept) kept += row.probability, n++, lowest = fmin(lowest, row.probability);
    if (!row.is_kept) highest_dropped = fmax(highest_dropped, row.probability);
  }
  assert_true(n > 0 && n < 3);
  assert_true(kept >= 0.7 * (double)n && highest_dropped <= lowest);
  assert_true(kept + highest_dropped < 0.7 * (double)(n + 1)); /* one row more would be too many */
  cq_row_scores_free(s);
}

static void what_is_refused(void **state) {
  (void)state;
  cq_row_scores *s = NULL;
  cq_error error;
  assert_int_equal(score(&s, "", 0, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "no row with two sides"));
  assert_null(s);
  assert_int_equal(score(&s, "a\tb\nc\xff\td\n", 0, &error), CQ_ERR_FORMAT);
  assert_int_equal(error.line, 2);
  assert_int_equal(score(&s, "alone\n", 0, &error), CQ_ERR_FORMAT);
  assert_int_equal(error.line, 1);
}

static void failing_allocations(void **state) {
  (void)state;
  for (long n = 1;; n += n < 40 ? 1 : 7) {
    cq_row_scores *s = NULL;
    cq_alloc_fail_at(n);
    const cq_status status = score(&s, "The dog sleeps.\tDer Hund schläft.\nRain.\tRegen.\n", 0.5, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    cq_row_scores_free(s);
    if (!failed) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(evidence_is_as_worked_out),
      cmocka_unit_test(words_of_a_row_are_linked),
      cmocka_unit_test(order_and_ends_are_those_of_the_file),
      cmocka_unit_test(kept_rows_have_the_precision),
      cmocka_unit_test(what_is_refused),
      cmocka_unit_test(failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
