/* Runs that train an encoder, by the library: stopped and gone on with, and refused when something has changed. */
#include "support/files.h"

#include "base/memory.h"
#include "calque/calque.h"

static const char *teacher_path(void) {
  return CQ_TESTS_DIR "/golden/models/bert-cased";
}

static const char *written(const char *name, int n, const char *word) {
  static char paths[8][400];
  static int next;
  char text[8000] = "", *path = paths[next++ % 8];
  for (int i = 0; i < n; i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "The %s number %d.\tDas Tier %d.\t%d\n", word, i, i,
             i % 5);
  snprintf(path, sizeof *paths, "%s", test_path(name));
  write_text(path, text);
  return path;
}

static bool stop_at_third(void *context, const cq_training_progress *p) {
  return strcmp(p->phase, "train") != 0 || p->text || ++*(int *)context < 3;
}

static cq_training_data train[2], dev;
static cq_training_options run; /* of the distillation that was made last */
static int n_seen;

static cq_distill_options distillation(const char *output) {
  cq_distill_options o = cq_distill_default_options();
  run = cq_training_default_options();
  o.teacher = o.student = teacher_path();
  o.train = train, o.n_train = 2;
  o.cache_directory = test_path("cache");
  o.run = &run;
  run.output = output;
  run.dev = &dev, run.n_dev = 1;
  run.batch_pairs = 4, run.steps = 7, run.evaluate_every = 2;
  run.learning_rate = 1e-3;
  return o;
}

/* Leaves a run of seven steps stopped after the third, at test_path("stopped"). */
static const char *stopped(void) {
  static char path[400];
  cq_error error = {0};
  train[0] = (cq_training_data){.path = written("train.tsv", 20, "cat"), .weight = 1};
  train[1] = (cq_training_data){.path = written("more.tsv", 12, "dog"), .weight = 2};
  dev = (cq_training_data){.path = written("dev.tsv", 9, "bird"), .weight = 1};
  snprintf(path, sizeof path, "%s", test_path("stopped"));
  cq_distill_options o = distillation(path);
  run.progress = stop_at_third, run.progress_context = &n_seen;
  n_seen = 0;
  assert_int_equal(cq_distill(NULL, &o, NULL, &error), CQ_ERR_STOPPED);
  assert_non_null(strstr(error.message, "stopped at step 3 of 7"));
  return path;
}

static void refused(const cq_distill_options *o, const char *says) {
  cq_error error = {0};
  run.resume = true;
  assert_int_equal(cq_distill(NULL, o, NULL, &error), CQ_ERR_ARGUMENT);
  if (!strstr(error.message, says)) fail_msg("'%s' does not say '%s'", error.message, says);
}

static void what_has_changed_is_named(void **state) {
  const char *path = stopped();
  cq_distill_options o = distillation(path);
  (void)state;
  cq_error error = {0};
  assert_int_equal(cq_distill(NULL, &o, NULL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "resume it"));
#define REFUSED(change, says)                                                                                          \
  o = distillation(path);                                                                                              \
  change;                                                                                                              \
  refused(&o, "stopped.work: the run under way has " says);
  REFUSED(run.learning_rate = 0.0005, "lr 0.001, not 0.0005")
  REFUSED(run.batch_pairs = 8, "batch 4, not 8")
  REFUSED(run.n_shards = 2, "shards 4, not 2")
  REFUSED(run.best_by = CQ_BEST_MSE, "best-by translation, not mse")
  REFUSED(o.dim_match = CQ_DIM_TRUNCATE, "dim-match equal, not truncate")
  REFUSED(o.student = CQ_TESTS_DIR "/golden/models/bert-uncased", "student")
  REFUSED(o.teacher = CQ_TESTS_DIR "/golden/models/bert-uncased", "teacher")
  REFUSED(o.n_train = 1, "train files 2, not 1")
  const cq_training_data other[] = {train[0], {.path = train[1].path, .weight = 3}};
  REFUSED(o.train = other, "weight of a file 2, not 3")
  REFUSED(written("more.tsv", 12, "cow"), "another text in ")
  written("more.tsv", 12, "dog");
  REFUSED(written("dev.tsv", 9, "cow"), "another text in ")
  written("dev.tsv", 9, "bird");
  cq_finetune_options f = cq_finetune_default_options();
  f.model = teacher_path(), f.pairs = train, f.n_pairs = 2;
  o = distillation(path);
  f.run = &run, run.resume = true;
  assert_int_equal(cq_finetune(NULL, &f, NULL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "the run under way has command distill, not finetune"));
  /* Where files lie, what they are called and how often a checkpoint is written make no difference. */
  char moved[400];
  snprintf(moved, sizeof moved, "%s", test_path("moved.tsv"));
  assert_int_equal(rename(train[0].path, moved), 0);
  train[0].path = moved, train[0].label = "train";
  o = distillation(path);
  run.resume = true, run.checkpoint_every = 1;
  if (cq_distill(NULL, &o, NULL, &error)) fail_msg("%s", error.message);
}

static bool stop_at_collapse(void *context, const cq_training_progress *p) {
  (void)context;
  return !p->text || !strstr(p->text, "COLLAPSE");
}

/* A rate that ruins the student: the run ends at the second evaluation that finds it so, also if it was stopped at the
 * first; the model is that of the start. */
static void a_collapse_ends_the_run(void **state) {
  cq_error error = {0};
  cq_training_result result = {0};
  char path[400];
  (void)state;
  train[0] = (cq_training_data){.path = written("train.tsv", 20, "cat"), .weight = 1};
  dev = (cq_training_data){.path = written("dev.tsv", 9, "bird"), .weight = 1};
  for (int stops = 0; stops < 2; stops++) {
    snprintf(path, sizeof path, "%s", test_path(stops ? "collapsed-twice" : "collapsed"));
    cq_distill_options o = distillation(path);
    o.n_train = 1;
    run.learning_rate = 10, run.steps = 100, run.evaluate_every = 5;
    if (stops) {
      run.progress = stop_at_collapse;
      assert_int_equal(cq_distill(&result, &o, NULL, &error), CQ_ERR_STOPPED);
      assert_non_null(strstr(error.message, "stopped at step 5 of 100"));
      run.progress = NULL, run.resume = true;
    }
    if (cq_distill(&result, &o, NULL, &error)) fail_msg("%s", error.message);
    assert_true(result.collapsed);
    assert_int_equal(result.best_step, 0);
    assert_int_equal(result.steps, 10);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_has_changed_is_named),
                                     cmocka_unit_test(a_collapse_ends_the_run)};
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
