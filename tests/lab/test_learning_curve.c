/* Logs of encoders: what is read, from where, of runs that are not over, and what is refused on which line. */
#include "support/files.h"

#include "base/file.h"
#include "base/memory.h"
#include "calque/lab/learning_curve.h"

#define STEP(step, loss, more)                                                                                         \
  "{\"type\":\"step\",\"step\":" #step more ",\"loss\":" #loss ",\"learning_rate\":0.1,\"gradient_norm\":1}\n"
#define SET(label, forward, back, mse)                                                                                 \
  "{\"label\":\"" label "\",\"source_to_target\":" #forward ",\"target_to_source\":" #back ",\"mse_target\":" #mse "}"
#define STS(label, spearman) "{\"label\":\"" label "\",\"spearman\":" #spearman ",\"n\":3}"
#define EVALUATE(type, step, parallel, sts, accuracy, correlation, mse)                                                \
  "{\"type\":\"" type "\",\"step\":" #step ",\"figures\":{\"parallel\":[" parallel "],\"sts\":[" sts                   \
  "],\"mean_translation\":" #accuracy ",\"mean_mse\":" #mse ",\"mean_sts\":" #correlation "}}\n"
#define FIRST  EVALUATE("evaluate", 0, SET("de", 0.5, 0.25, 2), STS("de", 0.25), 0.375, 0.25, 2)
#define BOTH   SET("de", 0.75, 0.25, 1.5) "," SET("ru", null, 0.5, 3)
#define SECOND EVALUATE("evaluate", 2, BOTH, STS("de", null) "," STS("ru", 0.5), 0.4, 0.5, 2.25)
#define MEAN   EVALUATE("average", 2, SET("de", 1, 1, 1), "", 1, null, 1)
#define WHOLE  FIRST STEP(1, 4.5, ) STEP(2, 3, ",\"kind\":\"pairs\"") SECOND MEAN "{\"type\":\"news\"}\n" STEP(3, 2.5, )

static void has_curve(const cq_learning_curve *c, size_t i, cq_curve_kind kind, const char *name, size_t n,
                      const double *steps, const double *values) {
  const cq_curve *curve = cq_learning_curve_get(c, i);
  assert_non_null(curve);
  assert_int_equal(curve->kind, kind);
  assert_string_equal(curve->name, name);
  assert_int_equal(curve->n, n);
  for (size_t p = 0; p < n; p++) assert_true(curve->steps[p] == steps[p] && curve->values[p] == values[p]);
}
#define HAS(i, kind, name, n, ...)                                                                                     \
  has_curve(c, i, kind, name, n, (const double[2][n]){__VA_ARGS__}[0], (const double[2][n]){__VA_ARGS__}[1])

static void check_whole(const cq_learning_curve *c) {
  assert_false(cq_learning_curve_of_autoencoders(c));
  HAS(0, CQ_CURVE_TRANSLATION, "de", 2, {0, 2}, {0.375, 0.5});
  HAS(1, CQ_CURVE_MSE, "de", 2, {0, 2}, {2, 1.5});
  HAS(2, CQ_CURVE_STS, "de", 1, {0}, {0.25});
  HAS(3, CQ_CURVE_LOSS, "loss", 2, {1, 3}, {4.5, 2.5});
  HAS(4, CQ_CURVE_LOSS, "pairs", 1, {2}, {3});
  HAS(5, CQ_CURVE_MSE, "ru", 1, {2}, {3});
  HAS(6, CQ_CURVE_STS, "ru", 1, {2}, {0.5});
  HAS(7, CQ_CURVE_TRANSLATION, "mean of dev sets", 1, {2}, {0.4});
  HAS(8, CQ_CURVE_MSE, "mean of dev sets", 1, {2}, {2.25});
  HAS(9, CQ_CURVE_STS, "mean of dev sets", 1, {2}, {0.5});
  assert_null(cq_learning_curve_get(c, 10));
}

static void logs_are_found_and_read(void **state) {
  (void)state;
  cq_learning_curve *c;
  cq_error error;
  write_text(test_path("log.jsonl"), WHOLE);
  assert_int_equal(cq_learning_curve_read(&c, test_path("log.jsonl"), NULL), CQ_OK);
  check_whole(c);
  cq_learning_curve_free(c);
  assert_int_equal(cq_directory_make(test_path("model"), NULL), CQ_OK);
  assert_int_equal(cq_learning_curve_read(&c, test_path("model"), &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "model/log.jsonl"));
  assert_null(c);
  write_text(test_path("model/log.jsonl"), WHOLE);
  assert_int_equal(cq_learning_curve_read(&c, test_path("model/"), NULL), CQ_OK);
  assert_string_equal(cq_learning_curve_path(c), test_path("model/log.jsonl"));
  check_whole(c);
  cq_learning_curve_free(c);
  assert_int_equal(cq_directory_make(test_path("model.work"), NULL), CQ_OK);
  write_text(test_path("model.work/log.jsonl"), FIRST);
  assert_int_equal(cq_learning_curve_read(&c, test_path("model"), NULL), CQ_OK);
  assert_string_equal(cq_learning_curve_path(c), test_path("model.work/log.jsonl"));
  assert_null(cq_learning_curve_get(c, 3));
  cq_learning_curve_free(c);
  cq_learning_curve_free(NULL);

  /* A reranker's: the targets' correlations, of which the mean is one. */
  write_text(test_path("log.jsonl"), "{\"type\":\"evaluate\",\"step\":2,\"figures\":{\"parallel\":[" BOTH
                                     "],\"sts\":[],\"mean_translation\":0.75,\"mean_mse\":2,\"mean_sts\":null,"
                                     "\"reranker\":true}}\n");
  assert_int_equal(cq_learning_curve_read(&c, test_path("log.jsonl"), NULL), CQ_OK);
  HAS(0, CQ_CURVE_LOGITS, "de", 1, {2}, {0.75});
  HAS(3, CQ_CURVE_LOGITS, "mean of dev sets", 1, {2}, {0.75});
  cq_learning_curve_free(c);

  write_text(test_path("log.jsonl"), "{\"type\":\"run\",\"languages\":[\"fr\",\"en\"]}\n{\"type\":\"step\"}\n");
  assert_int_equal(cq_learning_curve_read(&c, test_path("log.jsonl"), NULL), CQ_OK);
  assert_true(cq_learning_curve_of_autoencoders(c));
  assert_null(cq_learning_curve_get(c, 0));
  cq_learning_curve_free(c);
}

/* Cut anywhere: the lines that are whole until there are read. */
static void lines_that_break_off_are_left_out(void **state) {
  (void)state;
  const char *path = test_path("cut.jsonl");
  const size_t first = strlen(FIRST) - 1; /* whole without its newline */
  for (size_t n = 0; n <= strlen(WHOLE); n++) {
    cq_learning_curve *c;
    cq_error error;
    write_bytes(path, WHOLE, n);
    const cq_status status = cq_learning_curve_read(&c, path, &error);
    assert_int_equal(status, n < first ? CQ_ERR_FORMAT : CQ_OK);
    if (status) assert_non_null(strstr(error.message, "no step is logged"));
    if (n == strlen(WHOLE)) check_whole(c);
    cq_learning_curve_free(c);
  }
}

static void lines_that_are_wrong_are_named(void **state) {
  (void)state;
  static const struct {
    const char *line, *word;
  } cases[] = {
      {"no json\n", "near"},
      {"[]\n", "xpected object"},
      {"{}\n", "type"},
      {"{\"type\":7}\n", "string"},
      {"{\"type\":\"step\",\"stage\":\"together\",\"step\":1}\n", "loss"},
      {STEP("1", 1, ), "integer"},
      {STEP(1, "1", ), "real or integer"},
      {STEP(1, 1e999, ), "overflow"},
      {STEP(1, 1, ",\"kind\":3"), "string"},
      {STEP(1, 1, ",\"step\":1"), "duplicate"},
      {"{\"type\":\"evaluate\",\"step\":1}\n", "figures"},
      {"{\"type\":\"evaluate\",\"step\":1,\"figures\":[]}\n", "xpected object"},
      {"{\"type\":\"evaluate\",\"step\":1,\"figures\":{\"parallel\":[]}}\n", "sts"},
      {EVALUATE("evaluate", 1, "1", "", 1, 1, 1), "xpected object"},
      {EVALUATE("evaluate", 1, "{\"label\":\"de\"}", "", 1, 1, 1), "source_to_target"},
      {EVALUATE("evaluate", 1, "", "{\"label\":1}", 1, 1, 1), "string"},
      {EVALUATE("evaluate", 1, "", "{\"label\":\"de\"}", 1, 1, 1), "spearman"},
      {"\xff\n", "UTF-8"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[2000];
    cq_learning_curve *c;
    cq_error error;
    snprintf(text, sizeof text, "%s%s%s%s", FIRST, STEP(1, 1, ), cases[i].line, SECOND);
    write_text(test_path("wrong.jsonl"), text);
    assert_int_equal(cq_learning_curve_read(&c, test_path("wrong.jsonl"), &error), CQ_ERR_FORMAT);
    assert_int_equal(error.line, 3);
    if (!strstr(error.message, "wrong.jsonl:3: ") || !strstr(error.message, cases[i].word))
      fail_msg("'%s' does not say '%s' on line 3", error.message, cases[i].word);
    assert_null(c);
  }
}

static void memory_may_run_out(void **state) {
  (void)state;
  write_text(test_path("log.jsonl"), WHOLE);
  long n = 0;
  for (bool failed = true; failed;) {
    cq_learning_curve *c;
    cq_alloc_fail_at(++n);
    const cq_status status = cq_learning_curve_read(&c, test_path("log.jsonl"), NULL);
    failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    /* Jansson can do without some of its allocations: then the log is whole. */
    assert_true(status == CQ_ERR_MEMORY || status == CQ_OK);
    assert_true(status || c);
    if (c) check_whole(c);
    cq_learning_curve_free(c);
  }
  assert_true(n > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(logs_are_found_and_read),
      cmocka_unit_test(lines_that_break_off_are_left_out),
      cmocka_unit_test(lines_that_are_wrong_are_named),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
