/* Runs that train an encoder, by the library: stopped and gone on with, and refused when something has changed. */
#include "support/files.h"

#include "base/memory.h"
#include "calque/calque.h"
#include "model/encoder.h"

#include <math.h>

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

/* ---- averaging ---- */

/* Seven steps of a rate that stays; the weights at 4, 6 and 7 are the last three evaluations'. */
static cq_distill_options averaging(const char *output, int average, uint64_t steps, cq_best_by best_by) {
  cq_distill_options o = distillation(output);
  o.n_train = 1;
  run.schedule = CQ_SCHEDULE_CONSTANT, run.warmup_steps = 0, run.learning_rate = 3e-3;

  run.average = average, run.steps = steps, run.best_by = best_by;
  return o;
}

static void run_averaging(cq_training_result *result, const cq_distill_options *o, cq_context *ctx) {
  cq_error error = {0};
  if (cq_distill(result, o, ctx, &error)) fail_msg("%s", error.message);
}

static void averaged_files(void) {
  train[0] = (cq_training_data){.path = written("train.tsv", 20, "cat"), .weight = 1};
  dev = (cq_training_data){.path = written("dev.tsv", 9, "bird"), .weight = 1};
}

/* Whether the last of n + 1 models is the mean of the others, and not their last. Frees them. */
static void expect_mean(cq_encoder **models, int n) {
  double largest = 0;
  for (size_t p = 0; p < models[n]->params.n; p++) {
    const cq_param *of[5];
    for (int i = 0; i <= n; i++) of[i] = models[i]->params.items[p];
    for (int64_t k = 0; k < cq_param_floats(of[n]); k++) {
      double mean = 0;
      for (int i = 0; i < n; i++) mean += (double)of[i]->value[k] / n;
      if (fabs((double)of[n]->value[k] - mean) > 1e-6)
        fail_msg("%s, element %d: %g, expected %g", of[n]->name, (int)k, (double)of[n]->value[k], mean);
      largest = fmax(largest, fabs((double)of[n - 1]->value[k] - mean));
    }
  }
  assert_true(largest > 1e-4);
  for (int i = 0; i <= n; i++) cq_encoder_free(models[i]);
}

static int n_averaged;

static cq_encoder *averaged_over(int average, uint64_t steps, int n) {
  cq_training_result result = {0};
  cq_encoder *model;
  char path[400];
  snprintf(path, sizeof path, "%s-%d-%d-%d", test_path("averaged"), average, (int)steps, n_averaged++);
  const cq_distill_options o = averaging(path, average, steps, CQ_BEST_LAST);
  run_averaging(&result, &o, NULL);
  assert_int_equal(result.averaged, n);
  assert_int_equal(cq_encoder_open(&model, path, NULL, NULL), CQ_OK);
  return model;
}

static void the_last_evaluations_are_averaged(void **state) {
  (void)state;
  averaged_files();
  cq_encoder *models[] = {averaged_over(0, 4, 0), averaged_over(0, 6, 0), averaged_over(0, 7, 0),
                          averaged_over(3, 7, 3)};
  expect_mean(models, 3);
}

static void the_start_counts_where_more_are_averaged(void **state) {
  (void)state;
  averaged_files();
  cq_encoder *models[] = {NULL, averaged_over(0, 2, 0), averaged_over(0, 4, 0), averaged_over(9, 4, 3)};
  assert_int_equal(cq_encoder_open(&models[0], averaging("", 0, 1, CQ_BEST_LAST).student, NULL, NULL), CQ_OK);
  expect_mean(models, 3);
}

static bool stop_before_end(void *context, const cq_training_progress *p) {
  (void)context;
  return strcmp(p->phase, "train") != 0 || p->text || p->step + 2 < p->n_steps;
}

/* Stopped amid the steps that are averaged and gone on with by another number of threads; kept as a candidate beside the
 * weights, or as the last model. */
static void an_average_goes_on(void **state) {
  static const struct {
    cq_best_by best_by;
    int average;
    uint64_t steps;
    double rate;
  } ways[] = {{CQ_BEST_LAST, 3, 7, 3e-3}, {CQ_BEST_MSE, 6, 61, 3e-4}};
  cq_context *ctx;
  (void)state;
  averaged_files();
  assert_int_equal(cq_context_open(&ctx, 2, NULL), CQ_OK);
  for (int i = 0; i < 2; i++) {
    cq_training_result whole = {0}, resumed = {0};
    char path[2][400], command[1200];
    for (int k = 0; k < 2; k++) snprintf(path[k], sizeof path[k], "%s-%d-%d", test_path("goes-on"), i, k);
    cq_distill_options o = averaging(path[0], ways[i].average, ways[i].steps, ways[i].best_by);
    run.learning_rate = ways[i].rate;
    run_averaging(&whole, &o, NULL);
    o = averaging(path[1], ways[i].average, ways[i].steps, ways[i].best_by);
    run.learning_rate = ways[i].rate;
    run.progress = stop_before_end;
    assert_int_equal(cq_distill(NULL, &o, NULL, NULL), CQ_ERR_STOPPED);
    run.progress = NULL, run.resume = true;
    run_averaging(&resumed, &o, ctx);
    assert_int_equal(whole.averaged, i == 0 ? 3 : 0); /* the weights themselves are better */
    assert_int_equal(resumed.averaged, whole.averaged);
    assert_true(i == 0 || whole.best_score == resumed.best_score);
    snprintf(command, sizeof command, "diff -r -x log.jsonl -x README.md '%s' '%s'", path[0], path[1]);
    if (system(command) != 0) fail_msg("another model");
    if (i > 0) continue;
    snprintf(command, sizeof command, "grep -q 'the mean of the weights at 3 evaluations up to step 7' '%s/README.md'",
             path[1]);
    if (system(command) != 0) fail_msg("the card does not tell of the mean");
  }
  cq_context_free(ctx);
}

static cq_distill_options with_falling_contrast(const char *output) {
  cq_distill_options o = distillation(output);
  o.n_train = 1, o.contrast = 2, o.final_contrast = 0.5;
  return o;
}

/* The weight of the contrastive loss depends on the step alone, also where a run goes on. */
static void a_falling_contrast_goes_on(void **state) {
  char path[2][400], command[1200];
  (void)state;
  averaged_files();
  for (int k = 0; k < 2; k++) snprintf(path[k], sizeof path[k], "%s-%d", test_path("falls"), k);
  cq_distill_options o = with_falling_contrast(path[0]);
  cq_training_result result = {0};
  run_averaging(&result, &o, NULL);
  o = with_falling_contrast(path[1]);
  run.progress = stop_before_end;
  assert_int_equal(cq_distill(NULL, &o, NULL, NULL), CQ_ERR_STOPPED);
  o.final_contrast = 1;
  refused(&o, "final-contrast 0.5, not 1");
  o.final_contrast = 0.5;
  run.progress = NULL, run.resume = true;
  run_averaging(&result, &o, NULL);
  snprintf(command, sizeof command, "diff -r -x log.jsonl -x README.md '%s' '%s'", path[0], path[1]);
  if (system(command) != 0) fail_msg("another model");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_has_changed_is_named),
                                     cmocka_unit_test(a_collapse_ends_the_run),
                                     cmocka_unit_test(the_last_evaluations_are_averaged),
                                     cmocka_unit_test(the_start_counts_where_more_are_averaged),
                                     cmocka_unit_test(an_average_goes_on),
                                     cmocka_unit_test(a_falling_contrast_goes_on)};
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
