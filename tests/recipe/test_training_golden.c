/* Whole runs of distillation against PyTorch's (reference/golden_training.py): the weights after the last step. What a
 * run here does not set is calque's default, and its value in PyTorch stands in the golden program. */
#include "support/files.h"

#include "calque/calque.h"
#include "format/safetensors.h"

#include <math.h>
#include <sys/stat.h>

#define STEPS "golden/train/steps/"

/* Makes a model's directory out of the one without parameters. */
static void make_model(const char *to, const char *parameters_of) {
  static const char *const files[] = {"model/config.json",
                                      "model/tokenizer.json",
                                      "model/tokenizer_config.json",
                                      "model/modules.json",
                                      "model/sentence_bert_config.json",
                                      "model/1_Pooling/config.json"};
  char path[600], from[600];
  snprintf(path, sizeof path, "%.400s/1_Pooling", to);
  assert_int_equal(mkdir(to, 0777), 0);
  assert_int_equal(mkdir(path, 0777), 0);
  for (size_t i = 0; i <= sizeof files / sizeof *files; i++) {
    const bool is_last = i == sizeof files / sizeof *files;
    size_t n;
    snprintf(from, sizeof from, STEPS "%s", is_last ? parameters_of : files[i]);
    snprintf(path, sizeof path, "%.400s/%s", to, is_last ? "model.safetensors" : strchr(files[i], '/') + 1);
    unsigned char *bytes = read_bytes(&n, tests_file(from));
    write_bytes(path, bytes, n);
    free(bytes);
  }
}

static cq_safetensors *parameters(const char *path) {
  cq_safetensors *file;
  cq_error error = {0};
  if (cq_safetensors_open(&file, path, &error)) fail_msg("%s", error.message);
  return file;
}

/* PyTorch computed in f64, and weights are f32 here: each update rounds them by up to 2^-24 of themselves, 6e-8. Over
 * 36 updates that was 5.8e-7 of a tensor's length at most, at every SIMD level. The default weight decay, which moves
 * weights less than anything else does, moves them by 3.6e-6. */
#define TOLERANCE 1e-6

static void expect_weights(const char *run, const char *directory) {
  char path[600];
  snprintf(path, sizeof path, STEPS "%s.safetensors", run);
  cq_safetensors *golden = parameters(tests_file(path));
  snprintf(path, sizeof path, "%.400s/model.safetensors", directory);
  cq_safetensors *trained = parameters(path);
  double worst = 0;
  assert_int_equal(cq_safetensors_count(golden), 21);
  for (size_t i = 0; i < cq_safetensors_count(golden); i++) {
    const cq_stored_tensor *wanted = cq_safetensors_at(golden, i), *is = cq_safetensors_find(trained, wanted->name);
    double length = 0, difference = 0;
    /* Softmax does not see it: its gradient is 0 but for rounding, which AdamW makes as large as any. */
    if (strstr(wanted->name, "key.bias")) continue;
    assert_non_null(is);
    assert_int_equal(is->n_elements, wanted->n_elements);
    for (int64_t j = 0; j < wanted->n_elements; j++) {
      const double x = ((const float *)wanted->data)[j], y = ((const float *)is->data)[j];
      length += x * x, difference += (y - x) * (y - x);
    }
    const double relative = sqrt(difference / length);
    if (!(relative <= worst)) worst = relative;
    if (!(relative <= TOLERANCE)) fail_msg("%s: %s is %g of its length from PyTorch's", run, wanted->name, relative);
  }
  print_message("%s: at most %.2g of a tensor's length from PyTorch's\n", run, worst);
  cq_safetensors_close(golden);
  cq_safetensors_close(trained);
}

static void train_as_pytorch(const char *name, const char *data, const cq_training_options *options) {
  char paths[4][600], file[100];
  static const char *const whose[] = {"student", "teacher"};
  cq_error error = {0};
  cq_training_options run = *options;
  cq_distill_options o = cq_distill_default_options();
  for (int i = 0; i < 2; i++) {
    snprintf(file, sizeof file, "%s-%s", name, whose[i]);
    snprintf(paths[i], sizeof paths[i], "%s", test_path(file));
    snprintf(file, sizeof file, "%s.%s.safetensors", data, whose[i]);
    make_model(paths[i], file);
  }
  snprintf(paths[2], sizeof paths[2], "%s/" STEPS "%s.tsv", CQ_TESTS_DIR, data);
  snprintf(paths[3], sizeof paths[3], "%s", test_path(name));
  const cq_training_data train = {.path = paths[2], .weight = 1};
  o.student = paths[0], o.teacher = paths[1], o.train = &train, o.n_train = 1;
  o.cache_directory = test_path("cache");
  o.run = &run;
  run.output = paths[3], run.no_shuffle = true;
  if (cq_distill(NULL, &o, NULL, &error)) fail_msg("%s: %s", name, error.message);
  expect_weights(name, paths[3]);
}

/* Gradients are clipped in some of the 36 updates, which begin with a warm-up; one sentence is as long as is allowed,
 * one is longer. */
static void defaults_with_clipping(void **state) {
  (void)state;
  const cq_training_options o = cq_training_default_options();
  train_as_pytorch("defaults", "clipped", &o);
}

/* Gradients are so small that AdamW's epsilon matters. */
static void defaults_with_tiny_gradients(void **state) {
  (void)state;
  const cq_training_options o = cq_training_default_options();
  train_as_pytorch("defaults-tiny", "tiny", &o);
}

/* What no golden run shows: what it costs or where it goes, not what is learned, and random numbers. */
static void other_defaults(void **state) {
  (void)state;
  const cq_training_options o = cq_training_default_options(), f = cq_finetune_default_training();
  assert_true(o.dropout == -1); /* the model's, which has none here */
  assert_int_equal(o.seed, 1);
  assert_int_equal(o.n_shards, 4);
  assert_int_equal(o.evaluate_every, 1000);
  assert_int_equal(o.checkpoint_every, 1000);
  assert_int_equal(o.best_by, CQ_BEST_AUTO);
  assert_false(o.balanced || o.no_shuffle || o.resume || o.replace || o.skip_bad);
  /* Fine-tuning has two of its own. */
  assert_int_equal(f.batch_pairs, 16);
  assert_true(f.epochs == 1);
  cq_training_options but_two = f;
  but_two.batch_pairs = o.batch_pairs, but_two.epochs = o.epochs;
  assert_memory_equal(&but_two, &o, sizeof o);
}

/* What the other runs have in common. */
static cq_training_options all_set(uint64_t steps) {
  cq_training_options o = cq_training_default_options();
  o.steps = steps, o.learning_rate = 2e-3, o.batch_pairs = 8;
  o.weight_decay = 0.3, o.adam_beta1 = 0.8, o.adam_beta2 = 0.95, o.adam_eps = 1e-6;
  return o;
}

static void linear_without_warmup(void **state) {
  (void)state;
  cq_training_options o = all_set(7);
  o.schedule = CQ_SCHEDULE_LINEAR, o.warmup_steps = 0, o.clip_norm = 0.5;
  train_as_pytorch("linear", "clipped", &o);
}

static void cosine_after_counted_warmup(void **state) {
  (void)state;
  cq_training_options o = all_set(9);
  o.schedule = CQ_SCHEDULE_COSINE, o.warmup_steps = 3, o.clip_norm = 0.7, o.embedding_learning_rate = 5e-3;
  train_as_pytorch("cosine", "clipped", &o);
}

static void constant_without_clipping(void **state) {
  (void)state;
  cq_training_options o = all_set(8);
  o.schedule = CQ_SCHEDULE_CONSTANT, o.warmup_steps = 0.25, o.clip_norm = 0;
  train_as_pytorch("constant", "clipped", &o);
}

static void accumulated_batches(void **state) {
  (void)state;
  cq_training_options o = all_set(5);
  o.accumulate = 3, o.batch_pairs = 5, o.clip_norm = 1.5, o.adam_eps = 1e-4;
  train_as_pytorch("accumulated", "clipped", &o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults_with_clipping),
      cmocka_unit_test(defaults_with_tiny_gradients),
      cmocka_unit_test(other_defaults),
      cmocka_unit_test(linear_without_warmup),
      cmocka_unit_test(cosine_after_counted_warmup),
      cmocka_unit_test(constant_without_clipping),
      cmocka_unit_test(accumulated_batches),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
