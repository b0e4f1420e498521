/* Logs of autoencoders: what is read, from where, of runs that are not over, and what is refused on which line. */
#include "support/files.h"

#include "base/file.h"
#include "base/memory.h"
#include "calque/lab/autoencode.h"

#include <math.h>

#define RUN "{\"type\":\"run\",\"languages\":[\"fr\",\"pt-BR\",\"en\"]}\n"
#define STEP(stage, step, nll, contrast)                                                                               \
  "{\"type\":\"step\",\"stage\":\"" stage "\",\"step\":" #step ",\"nll\":{" nll "},\"contrast\":" #contrast            \
  ",\"distance\":0.5,\"gradient_norm\":1}\n"
#define WAY(name, bleu) "\"" name "\":{\"bleu\":" #bleu ",\"chrf\":20.5,\"meteor\":3}"
#define DEV(ways)       "{\"type\":\"dev\",\"stage\":\"decoders\",\"epoch\":1.0,\"ways\":{" ways "}}\n"
#define WHOLE                                                                                                          \
  RUN STEP("encoders", 1, "", 4) STEP("encoders", 2, "", 3.5) STEP("decoders", 1, "\"en\":9,\"fr\":7.5", 0)            \
      DEV(WAY("fr-en", 1) "," WAY("en-fr", 2.5))                                                                       \
          STEP("decoders", 2, "\"pt-BR\":8", 0) "{\"type\":\"news\"}\n" DEV(WAY("en-fr", 3) "," WAY("fr-en", 4))

static void check_whole(const cq_autoencode_log *log) {
  static const char *const languages[] = {"fr", "pt-BR", "en"};
  static const double nll[4][3] = {{NAN, NAN, NAN}, {NAN, NAN, NAN}, {7.5, NAN, 9}, {NAN, 8, NAN}};
  static const double bleu[2][2] = {{1, 2.5}, {4, 3}}; /* by the ways' first order */
  assert_int_equal(log->n_languages, 3);
  for (int i = 0; i < 3; i++) assert_string_equal(log->languages[i], languages[i]);
  assert_int_equal(log->n_steps, 4);
  assert_true(log->steps[0].contrast == 4 && log->steps[1].contrast == 3.5 && log->steps[1].distance == 0.5);
  assert_true(log->steps[3].contrast == 0 && log->steps[3].gradient_norm == 1);
  for (int i = 0; i < 12; i++)
    assert_true(isnan(nll[i / 3][i % 3]) ? isnan(log->nll[i]) : log->nll[i] == nll[i / 3][i % 3]);
  assert_int_equal(log->n_stages, 2);
  assert_string_equal(log->stages[0].name, "encoders");
  assert_string_equal(log->stages[1].name, "decoders");
  assert_int_equal(log->stages[0].begin, 0);
  assert_int_equal(log->stages[1].begin, 2);
  assert_int_equal(log->n_ways, 2);
  assert_string_equal(log->ways[0], "fr-en");
  assert_string_equal(log->ways[1], "en-fr");
  assert_int_equal(log->n_devs, 2);
  assert_int_equal(log->devs[0].n_steps, 3);
  assert_int_equal(log->devs[1].n_steps, 4);
  for (int i = 0; i < 4; i++) {
    const double *scores = log->scores + (size_t)i * CQ_AUTOENCODE_N_MEASURES;
    assert_true(scores[CQ_AUTOENCODE_BLEU] == bleu[i / 2][i % 2]);
    assert_true(scores[CQ_AUTOENCODE_CHRF] == 20.5 && scores[CQ_AUTOENCODE_METEOR] == 3);
  }
}

static void logs_are_found(void **state) {
  (void)state;
  cq_autoencode_log log;
  cq_error error;
  write_text(test_path("log.jsonl"), WHOLE);
  assert_int_equal(cq_autoencode_log_read(&log, test_path("log.jsonl"), NULL), CQ_OK);
  check_whole(&log);
  cq_autoencode_log_free(&log);
  cq_autoencode_log_free(&log); /* is empty */

  assert_int_equal(cq_directory_make(test_path("model"), NULL), CQ_OK);
  assert_int_equal(cq_autoencode_log_read(&log, test_path("model"), &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "model/log.jsonl"));
  assert_null(log.path);
  write_text(test_path("model/log.jsonl"), WHOLE);
  assert_int_equal(cq_autoencode_log_read(&log, test_path("model/"), NULL), CQ_OK);
  check_whole(&log);
  assert_string_equal(log.path, test_path("model/log.jsonl"));
  cq_autoencode_log_free(&log);

  /* The run at work goes before; it has said little yet. */
  assert_int_equal(cq_directory_make(test_path("model.work"), NULL), CQ_OK);
  write_text(test_path("model.work/log.jsonl"), RUN STEP("together", 1, "\"fr\":9", 4));
  assert_int_equal(cq_autoencode_log_read(&log, test_path("model"), NULL), CQ_OK);
  assert_int_equal(log.n_steps, 1);
  assert_int_equal(log.n_devs, 0);
  assert_int_equal(log.n_ways, 0);
  assert_string_equal(log.path, test_path("model.work/log.jsonl"));
  cq_autoencode_log_free(&log);

  assert_int_equal(cq_autoencode_log_read(&log, test_path("nowhere"), &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "nowhere: "));
}

/* Cut anywhere: what is whole until there is read. */
static void lines_that_break_off_are_left_out(void **state) {
  (void)state;
  const char *path = test_path("cut.jsonl"), *first = strchr(strchr(WHOLE, '\n') + 1, '\n');
  for (size_t n = 0; n <= strlen(WHOLE); n++) {
    cq_autoencode_log log;
    cq_error error;
    size_t n_steps = 0;
    for (const char *at = WHOLE; (at = strstr(at, "\"gradient_norm\":1}")); at++)
      n_steps += (size_t)(at - WHOLE) + strlen("\"gradient_norm\":1}") <= n;
    write_bytes(path, WHOLE, n);
    const cq_status status = cq_autoencode_log_read(&log, path, &error);
    assert_int_equal(status, n < (size_t)(first - WHOLE) ? CQ_ERR_FORMAT : CQ_OK);
    assert_int_equal(log.n_steps, n_steps);
    if (status) assert_non_null(strstr(error.message, "no step is logged"));
    cq_autoencode_log_free(&log);
  }
}

static void lines_that_are_wrong_are_named(void **state) {
  (void)state;
  static const struct {
    const char *line, *word;
  } cases[] = {
      {"{\"type\":\"step\",\"step\":1,\"loss\":0.5}\n", "stage"}, /* of another training */
      {"no json\n", "near"},
      {"[]\n", "object"},
      {"{}\n", "type"},
      {"{\"type\":7}\n", "string"},
      {"{\"type\":\"run\"}\n", "languages"},
      {RUN, "another run"},
      {"{\"type\":\"dev\",\"bleu\":[1,2]}\n", "ways"},
      {"{\"type\":\"dev\",\"ways\":[1,2]}\n", "not an object"},
      {DEV(""), "not an object"},
      {DEV(WAY("fr-en", 1)), "dev has 1 ways, 2 before"},
      {DEV(WAY("fr-en", 1) "," WAY("fr-pt-BR", 1)), "the way 'fr-pt-BR', not so before"},
      {DEV(WAY("fr-en", 1) "," WAY("en-fr", null)), "got null"},
      {DEV(WAY("fr-en", 1) "," WAY("fr-en", 1)), "duplicate"},
      {DEV(WAY("fr-en", 1) ",\"en-fr\":{\"bleu\":1,\"chrf\":2}"), "meteor"},
      {DEV(WAY("fr-en", 1) ",\"en-fr\":1"), "xpected object"},
      {"{\"type\":\"step\",\"stage\":\"together\",\"nll\":[1,2],\"contrast\":1,\"distance\":1,\"gradient_norm\":1}\n",
       "not an object of languages"},
      {STEP("together", 2, "\"it\":1", 1), "'it' is not a language of the run"},
      {STEP("together", 2, "\"fr\":null", 1), "-log p of 'fr' is not a number"},
      {STEP("together", 2, "\"fr\":1,\"fr\":2", 1), "duplicate"},
      {STEP("together", 2, "\"fr\":1", "1"), "got string"},
      {STEP("together", 2, "\"fr\":1", 1e999), "overflow"},
      {"{\"type\":\"step\",\"stage\":\"together\",\"nll\":{},\"contrast\":1,\"distance\":1}\n", "gradient_norm"},
      {STEP("a-stage-of-so-long-a-name", 1, "", 1), "not the name of a stage"},
      {"\xff\n", "UTF-8"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[2000];
    cq_autoencode_log log;
    cq_error error;
    const char *dev = DEV(WAY("fr-en", 1) "," WAY("en-fr", 2)), *step = STEP("together", 1, "\"fr\":9", 4);
    snprintf(text, sizeof text, "%s%s%s%s%s", RUN, step, dev, cases[i].line, dev);
    write_text(test_path("wrong.jsonl"), text);
    assert_int_equal(cq_autoencode_log_read(&log, test_path("wrong.jsonl"), &error), CQ_ERR_FORMAT);
    assert_int_equal(error.line, 4);
    if (!strstr(error.message, "wrong.jsonl:4: ") || !strstr(error.message, cases[i].word))
      fail_msg("'%s' does not say '%s' on line 4", error.message, cases[i].word);
    assert_null(log.steps);
  }
}

/* What the languages of the run may be, which is said before the first step. */
static void first_lines_that_are_wrong_are_named(void **state) {
  (void)state;
  static const struct {
    const char *line, *word;
  } cases[] = {
      {"{\"type\":\"news\"}\n", "2: a step before the run"},
      {"{\"type\":\"run\",\"languages\":{\"fr\":1}}\n", "1: key 'languages' is not a list"},
      {"{\"type\":\"run\",\"languages\":[]}\n", "1: key 'languages' is not a list"},
      {"{\"type\":\"run\",\"languages\":[\"fr\",7]}\n", "1: a language without code"},
      {"{\"type\":\"run\",\"languages\":[\"fr\",\"\"]}\n", "1: a language without code"},
      {"{\"type\":\"run\",\"languages\":[\"fr\",\"it\",\"fr\"]}\n", "1: 'fr' appears twice"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[2000];
    cq_autoencode_log log;
    cq_error error;
    snprintf(text, sizeof text, "%s%s", cases[i].line, STEP("together", 1, "\"fr\":9", 4));
    write_text(test_path("wrong.jsonl"), text);
    assert_int_equal(cq_autoencode_log_read(&log, test_path("wrong.jsonl"), &error), CQ_ERR_FORMAT);
    if (!strstr(error.message, cases[i].word)) fail_msg("'%s' does not say '%s'", error.message, cases[i].word);
    assert_null(log.languages);
  }
}

static void memory_runs_out(void **state) {
  (void)state;
  write_text(test_path("log.jsonl"), WHOLE);
  cq_status status = CQ_ERR_MEMORY;
  long at = 0;
  while (status) {
    cq_autoencode_log log;
    cq_alloc_fail_at(++at);
    status = cq_autoencode_log_read(&log, test_path("log.jsonl"), NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    /* Jansson can do without some of its allocations: then the log is whole. */
    assert_true(status == CQ_ERR_MEMORY || status == CQ_OK);
    if (!status) check_whole(&log);
    cq_autoencode_log_free(&log);
    if (failed) status = CQ_ERR_MEMORY;
  }
  assert_true(at > 12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(logs_are_found), cmocka_unit_test(lines_that_break_off_are_left_out),
      cmocka_unit_test(lines_that_are_wrong_are_named), cmocka_unit_test(first_lines_that_are_wrong_are_named),
      cmocka_unit_test(memory_runs_out)};
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
