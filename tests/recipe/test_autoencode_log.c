/* Logs of autoencoders: what is read, from where, of runs that are not over, and what is refused on which line. */
#include "support/files.h"

#include "base/file.h"
#include "base/memory.h"
#include "calque/autoencode.h"

#define RUN "{\"type\":\"run\",\"languages\":[\"fr\",\"pt-BR\"]}\n"
#define STEP(stage, step, nll, contrast)                                                                               \
  "{\"type\":\"step\",\"stage\":\"" stage "\",\"step\":" #step ",\"nll\":[" #nll ",0],\"contrast\":" #contrast         \
  ",\"distance\":0.5,\"gradient_norm\":1}\n"
#define DEV "{\"type\":\"dev\",\"stage\":\"decoders\",\"epoch\":1.0,\"bleu\":[1.5,2.5]}\n"
#define WHOLE                                                                                                          \
  RUN STEP("encoders", 1, 0.0, 4) STEP("encoders", 2, 0, 3.5) STEP("decoders", 1, 9, 0)                                \
      DEV STEP("decoders", 2, 8, 0) "{\"type\":\"news\"}\n" DEV

static void check_whole(const cq_autoencode_log *log) {
  assert_string_equal(log->languages[0], "fr");
  assert_string_equal(log->languages[1], "pt-BR");
  assert_int_equal(log->n_steps, 4);
  assert_true(log->steps[0].contrast == 4 && log->steps[1].contrast == 3.5 && log->steps[1].distance == 0.5);
  assert_true(log->steps[3].nll[0] == 8 && log->steps[3].nll[1] == 0 && log->steps[3].gradient_norm == 1);
  assert_int_equal(log->n_stages, 2);
  assert_string_equal(log->stages[0].name, "encoders");
  assert_string_equal(log->stages[1].name, "decoders");
  assert_int_equal(log->stages[0].begin, 0);
  assert_int_equal(log->stages[1].begin, 2);
  assert_int_equal(log->n_devs, 2);
  assert_int_equal(log->devs[0].n_steps, 3);
  assert_int_equal(log->devs[1].n_steps, 4);
  assert_true(log->devs[1].bleu[0] == 1.5 && log->devs[1].bleu[1] == 2.5);
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
  write_text(test_path("model.work/log.jsonl"), STEP("together", 1, 9, 4));
  assert_int_equal(cq_autoencode_log_read(&log, test_path("model"), NULL), CQ_OK);
  assert_int_equal(log.n_steps, 1);
  assert_int_equal(log.n_devs, 0);
  assert_null(log.languages[0]);
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
      {"{\"type\":\"run\",\"languages\":[\"fr\"]}\n", "Array"},
      {"{\"type\":\"dev\",\"bleu\":[1]}\n", "Array"},
      {"{\"type\":\"dev\",\"bleu\":[1,null]}\n", "null"},
      {"{\"type\":\"step\",\"stage\":\"together\",\"nll\":[1],\"contrast\":1,\"distance\":1,\"gradient_norm\":1}\n",
       "Array"},
      {"{\"type\":\"step\",\"stage\":\"together\",\"nll\":[1,2],\"contrast\":\"1\",\"distance\":1,"
       "\"gradient_norm\":1}\n",
       "got string"},
      {"{\"type\":\"step\",\"stage\":\"together\",\"nll\":[1,2],\"contrast\":1e999,\"distance\":1,"
       "\"gradient_norm\":1}\n",
       "overflow"},
      {STEP("a-stage-of-so-long-a-name", 1, 1, 1), "no stage's name"},
      {"\xff\n", "UTF-8"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[2000];
    cq_autoencode_log log;
    cq_error error;
    snprintf(text, sizeof text, "%s%s%s", RUN STEP("together", 1, 9, 4), cases[i].line, DEV);
    write_text(test_path("wrong.jsonl"), text);
    assert_int_equal(cq_autoencode_log_read(&log, test_path("wrong.jsonl"), &error), CQ_ERR_FORMAT);
    assert_int_equal(error.line, 3);
    if (!strstr(error.message, "wrong.jsonl:3: ") || !strstr(error.message, cases[i].word))
      fail_msg("'%s' does not say '%s' on line 3", error.message, cases[i].word);
    assert_null(log.steps);
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
    assert_true(status == CQ_ERR_MEMORY || (status == CQ_OK && !cq_alloc_failed()));
    cq_alloc_fail_at(0);
    cq_autoencode_log_free(&log);
  }
  assert_true(at > 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(logs_are_found), cmocka_unit_test(lines_that_break_off_are_left_out),
      cmocka_unit_test(lines_that_are_wrong_are_named), cmocka_unit_test(memory_runs_out)};
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
