/* Comparing runs through the library: topics, groups, pairs, corrections, and an allocation that fails. */
#include "eval/golden.h"
#include "support/files.h"

#include "base/memory.h"
#include "base/slice.h"
#include "calque/lab/compare.h"

/* Reciprocal rank of the one relevant document r: 1 / its rank. */
static void write_run(const char *name, const int *ranks, const int *topics, size_t n) {
  char text[4096];
  size_t used = 0;
  for (size_t t = 0; t < n; t++)
    for (int rank = 1; rank <= ranks[t]; rank++)
      used += (size_t)snprintf(text + used, sizeof text - used, "%d Q0 %s%d %d %d x\n", topics[t],
                               rank == ranks[t] ? "r" : "d", rank == ranks[t] ? 0 : rank, rank, 100 - rank);
  write_bytes(test_path(name), text, used);
}

static const int topics[] = {1, 2, 3, 4, 10, 11};

static int make_files(void **state) {
  if (make_test_directory(state)) return -1;
  const char qrels[] = "1 0 r0 1\n2 0 r0 1\n3 0 r0 1\n4 0 r0 1\n10 0 r0 1\n11 0 r0 1\n12 0 r0 1\n";
  write_bytes(test_path("qrels"), qrels, sizeof qrels - 1);
  write_run("a", (int[]){4, 2, 4, 4, 2}, topics, 5);
  write_run("b", (int[]){1, 1, 4, 1, 5}, topics, 5);
  write_run("c", (int[]){4, 2, 4, 4, 2, 1}, topics, 6);
  write_run("none", (int[]){1}, (int[]){99}, 1);
  return 0;
}

static cq_comparisons *compare(const char *const *names, size_t n, const cq_compare_options *options) {
  const char *paths[4];
  cq_comparisons *c = NULL;
  cq_error error = {0};
  for (size_t i = 0; i < n; i++) paths[i] = test_path(names[i]);
  if (cq_compare_runs(&c, test_path("qrels"), paths, n, options, &error)) fail_msg("%s", error.message);
  return c;
}

static void each_run_to_the_first(void **state) {
  (void)state;
  cq_comparisons *c = compare((const char *[]){"a", "b", "c"}, 3, NULL);
  assert_int_equal(cq_comparisons_n_measures(c), 1);
  assert_string_equal(cq_comparisons_measure(c, 0), "map");
  assert_int_equal(cq_comparisons_n_topics(c), 6); /* 12 no run has */
  assert_int_equal(cq_comparisons_n_groups(c), 6);
  assert_int_equal(cq_comparisons_n_pairs(c), 2);
  /* a  1/4 1/2 1/4 1/4 1/2 0; b  1 1 1/4 1 1/5 0; d  3/4 1/2 0 3/4 -3/10 0 */
  const cq_comparison *b = cq_comparisons_result(c, 0, 0), *r = cq_comparisons_result(c, 1, 0);
  assert_int_equal(cq_comparisons_first(c, 0), 0);
  assert_int_equal(cq_comparisons_second(c, 0), 1);
  assert_int_equal(cq_comparisons_second(c, 1), 2);
  assert_int_equal(b->n, 6);
  assert_near(b->mean_a, 1.75 / 6, 1e-15);
  assert_near(b->mean_b, 3.45 / 6, 1e-15);
  assert_near(b->difference, 1.7 / 6, 1e-15);
  assert_int_equal(b->n_wins, 3);
  assert_int_equal(b->n_losses, 1);
  assert_int_equal(b->n_ties, 2);
  assert_false(b->exact[CQ_TEST_WILCOXON]); /* 3/4 twice */
  assert_true(b->exact[CQ_TEST_T] && b->exact[CQ_TEST_RANDOMIZATION]);
  /* Of 16 ways to sign 3/4 1/2 3/4 3/10: sums of 1.7 or more are 2.3 and 1.7, on both sides. */
  assert_near(b->p[CQ_TEST_RANDOMIZATION], 4.0 / 16, 0);
  /* c differs in one topic. */
  assert_near(r->difference, 1.0 / 6, 1e-15);
  assert_int_equal(r->n_ties, 5);
  assert_near(r->p[CQ_TEST_WILCOXON], 1, 0);
  assert_near(r->p[CQ_TEST_RANDOMIZATION], 1, 0);
  assert_near(b->corrected[CQ_TEST_RANDOMIZATION], 2 * 4.0 / 16, 0);
  assert_near(r->corrected[CQ_TEST_RANDOMIZATION], 1, 0);
  cq_comparisons_free(c);
}

static void every_two_runs(void **state) {
  (void)state;
  cq_compare_options o = cq_compare_default_options();
  o.all_pairs = true, o.measures = (const char *[]){"num_rel_ret", "P_1"}, o.n_measures = 2;
  cq_comparisons *c = compare((const char *[]){"a", "b", "c", "a"}, 4, &o);
  assert_int_equal(cq_comparisons_n_pairs(c), 6);
  const size_t firsts[] = {0, 0, 0, 1, 1, 2}, seconds[] = {1, 2, 3, 2, 3, 3};
  for (size_t i = 0; i < 6; i++) {
    assert_int_equal(cq_comparisons_first(c, i), firsts[i]);
    assert_int_equal(cq_comparisons_second(c, i), seconds[i]);
  }
  assert_string_equal(cq_comparisons_measure(c, 1), "P_1");
  const cq_comparison *itself = cq_comparisons_result(c, 2, 1), *found = cq_comparisons_result(c, 1, 0);
  assert_int_equal(itself->n_ties, 6);
  for (int test = 0; test < CQ_N_TESTS; test++) assert_true(itself->p[test] == 1 && itself->corrected[test] == 1);
  assert_near(found->mean_a, 5.0 / 6, 1e-15); /* of counts, too, the mean */
  assert_near(found->mean_b, 1, 0);
  cq_comparisons_free(c);
}

static void means_over_groups(void **state) {
  (void)state;
  cq_compare_options o = cq_compare_default_options();
  o.topics_per_group = 3;
  /* 1 to 3, 4, and 10 to 12, of which 12 no run has; in order of bytes 10 comes before 2. */
  cq_comparisons *c = compare((const char *[]){"a", "b", "c"}, 3, &o);
  assert_int_equal(cq_comparisons_n_topics(c), 6);
  assert_int_equal(cq_comparisons_n_groups(c), 3);
  const cq_comparison *b = cq_comparisons_result(c, 0, 0);
  assert_int_equal(b->n, 3);
  assert_near(b->mean_a, (1.0 / 3 + 1.0 / 4 + 1.0 / 4) / 3, 1e-15);
  assert_near(b->mean_b, (2.25 / 3 + 1 + 0.2 / 2) / 3, 1e-15);
  assert_int_equal(b->n_wins, 2);
  assert_int_equal(b->n_losses, 1);
  assert_true(b->exact[CQ_TEST_WILCOXON]);
  assert_near(b->p[CQ_TEST_WILCOXON], 4.0 / 8, 0);
  cq_comparisons_free(c);
}

static void groups_of_topics(void **state) {
  (void)state;
  const struct {
    const char *topic;
    uint64_t per_group, group;
  } fine[] = {{"1", 10, 0}, {"10", 10, 0}, {"11", 10, 1}, {"007", 3, 2}, {"18446744073709551615", 1, UINT64_MAX - 1}};
  const char *const bad[] = {"", "0", "x7", "7x", "-1", "1.5", "18446744073709551616"};
  uint64_t group;
  for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
    assert_int_equal(cq_topic_group(&group, cq_slice_of(fine[i].topic), fine[i].per_group, NULL), CQ_OK);
    assert_true(group == fine[i].group);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char expected[128];
    cq_error error = {0};
    assert_int_equal(cq_topic_group(&group, cq_slice_of(bad[i]), 2, &error), CQ_ERR_ARGUMENT);
    snprintf(expected, sizeof expected, "topic '%s' is not a number from 1 on, which groups of topics need", bad[i]);
    assert_string_equal(error.message, expected);
  }
}

static void values_alone(void **state) {
  (void)state;
  const double a[] = {0.5, 0.25, 0.75, 0}, b[] = {0.75, 0.75, 0.625, 1}, bad[] = {0, 0, NAN, 0};
  cq_comparison r;
  cq_error error = {0};
  assert_int_equal(cq_compare_values(&r, a, b, 4, NULL, NULL), CQ_OK);
  assert_int_equal(r.n, 4);
  assert_near(r.mean_a, 0.375, 0);
  assert_near(r.mean_b, 0.78125, 0);
  assert_near(r.difference, 0.40625, 0);
  assert_near(r.p[CQ_TEST_WILCOXON], 0.25, 0);
  assert_near(r.corrected[CQ_TEST_WILCOXON], 0.25, 0);
  assert_near(r.p[CQ_TEST_RANDOMIZATION], 0.25, 0);
  assert_int_equal(cq_compare_values(&r, a, b, 0, NULL, NULL), CQ_OK);
  assert_true(r.n == 0 && r.difference == 0 && r.mean_a == 0 && r.p[CQ_TEST_T] == 1);
  assert_int_equal(cq_compare_values(&r, a, bad, 4, NULL, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "compare: pair 3 is 0.75 and nan, expected finite numbers");
  cq_compare_options no_samples = cq_compare_default_options();
  no_samples.n_samples = 0;
  assert_int_equal(cq_compare_values(&r, a, b, 4, &no_samples, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "samples is 0, expected at least 1");
  double p[] = {0.04, 0.01};
  assert_int_equal(cq_compare_corrected(p, p, 2, NULL), CQ_OK);
  assert_true(p[0] == 0.04 && p[1] == 0.02);
}

static void faults(void **state) {
  (void)state;
  const char *const runs[] = {test_path("a"), test_path("none")}, *const missing[] = {test_path("a"), "nowhere"};
  cq_comparisons *c = (cq_comparisons *)&runs;
  cq_error error = {0};
  assert_int_equal(cq_compare_runs(&c, test_path("qrels"), runs, 1, NULL, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "compare: expected at least 2 runs, got 1");
  assert_null(c);
  assert_int_equal(cq_compare_runs(&c, test_path("qrels"), runs, 2, NULL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "none have no topic in common"));
  assert_int_equal(cq_compare_runs(&c, test_path("qrels"), missing, 2, NULL, &error), CQ_ERR_IO);
  assert_null(c);
  cq_comparisons_free(NULL);
}

static void every_allocation_fails_once(void **state) {
  (void)state;
  const char *const runs[] = {test_path("a"), test_path("b"), test_path("c")};
  const char *qrels = test_path("qrels");
  cq_compare_options o = cq_compare_default_options();
  o.topics_per_group = 2, o.all_pairs = true;
  long n = 1;
  for (bool failed = true; failed; n++) {
    cq_comparisons *c = NULL;
    cq_error error = {0};
    cq_alloc_fail_at(n);
    const cq_status status = cq_compare_runs(&c, qrels, runs, 3, &o, &error);
    failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    assert_true(failed == !c);
    cq_comparisons_free(c);
  }
  assert_true(n > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_run_to_the_first),
      cmocka_unit_test(every_two_runs),
      cmocka_unit_test(means_over_groups),
      cmocka_unit_test(groups_of_topics),
      cmocka_unit_test(values_alone),
      cmocka_unit_test(faults),
      cmocka_unit_test(every_allocation_fails_once),
  };
  return cmocka_run_group_tests(tests, make_files, remove_test_directory);
}
