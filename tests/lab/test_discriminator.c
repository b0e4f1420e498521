/* The discriminator of languages: against PyTorch (reference/golden_discriminator.py), its gradients and those of the
 * vectors against finite differences of plain loops in double precision, and runs of it. */
#include "support/files.h"

#include "base/context.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/random.h"
#include "format/safetensors.h"
#include "lab/autoencode/discriminator.h"

#include <math.h>

enum { MOST = 4096 };

static double rate = 0;

static double rate_of(const void *context, uint64_t step, bool table) {
  (void)context, (void)step, (void)table;
  return rate;
}

typedef struct problem {
  cq_discriminator_options o;
  cq_discriminator *d;
  int64_t n;
  double weight;
  float vectors[2][MOST], gradients[2][MOST];
  cq_discriminator_report report;
} problem;

/* Gradients begin at what another loss might have left. */
static float before_of(int64_t i) {
  return (float)(i % 5) * 0.25f;
}

static cq_discriminator_options options_of(int64_t dim, int64_t hidden, cq_adversary by, double smoothing) {
  return (cq_discriminator_options){.dim = dim,
                                    .hidden = hidden,
                                    .adversary_by = by,
                                    .smoothing = smoothing,
                                    .n_shards = 3,
                                    .seed = 4,
                                    .optimizer = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .learning_rate = rate_of}};
}

static void make(problem *p, int64_t n, const cq_discriminator_options *o) {
  cq_error error = {0};
  *p = (problem){.o = *o, .n = n, .weight = 0.7};
  assert_true(n * o->dim <= MOST);
  if (cq_discriminator_new(&p->d, cq_kernels_best(), o, &error)) fail_msg("%s", error.message);
  for (uint64_t s = 0; s < 2; s++) {
    cq_random random = cq_random_seeded(8, s);
    for (int64_t i = 0; i < n * o->dim; i++) p->vectors[s][i] = (float)(cq_random_normal(&random) + 0.1 * (double)s);
  }
}

static void forward(problem *p, cq_context *ctx) {
  const cq_space space = {{p->vectors[0], p->vectors[1]}, {p->gradients[0], p->gradients[1]}, p->n, p->o.dim};
  for (int s = 0; s < 2; s++)
    for (int64_t i = 0; i < p->n * p->o.dim; i++) p->gradients[s][i] = before_of(i);
  assert_int_equal(cq_discriminator_forward(p->d, &p->report, &space, p->weight, ctx, NULL), CQ_OK);
}

static void update(problem *p, cq_context *ctx) {
  cq_error error = {0};
  if (cq_discriminator_update(p->d, ctx, &error)) fail_msg("%s", error.message);
}

static float *values_of(const problem *p, size_t which) {
  return cq_discriminator_params(p->d)->items[which]->value;
}

static int64_t size_of(const problem *p, size_t which) {
  return cq_param_floats(cq_discriminator_params(p->d)->items[which]);
}

/* --- plain loops --- */

typedef struct plain {
  double *vectors[2], *params[4];
} plain;

static double *doubles_of(const float *x, int64_t n) {
  double *out = malloc((size_t)n * sizeof *out);
  for (int64_t i = 0; i < n; i++) out[i] = (double)x[i];
  return out;
}

static plain plain_of(const problem *p) {
  plain out;
  for (size_t s = 0; s < 2; s++) out.vectors[s] = doubles_of(p->vectors[s], p->n * p->o.dim);
  for (size_t i = 0; i < 4; i++) out.params[i] = doubles_of(values_of(p, i), size_of(p, i));
  return out;
}

static void plain_free(plain *v) {
  for (int s = 0; s < 2; s++) free(v->vectors[s]);
  for (int i = 0; i < 4; i++) free(v->params[i]);
}

static cq_discriminator_report plain_report(const problem *p, const plain *v) {
  cq_discriminator_report r = {0};
  for (int s = 0; s < 2; s++)
    for (int64_t i = 0; i < p->n; i++) {
      double odds = v->params[3][0];
      for (int64_t h = 0; h < p->o.hidden; h++) {
        double x = v->params[1][h];
        for (int64_t j = 0; j < p->o.dim; j++) x += v->params[0][h * p->o.dim + j] * v->vectors[s][i * p->o.dim + j];
        odds += v->params[2][h] * (x > 0 ? x : 0.2 * x);
      }
      const double second = 1 / (1 + exp(-odds)), y = s ? 1 - p->o.smoothing : p->o.smoothing;
      r.loss -= (y * log(second) + (1 - y) * log(1 - second)) / (double)(2 * p->n);
      r.adversary -= ((1 - y) * log(second) + y * log(1 - second)) / (double)(2 * p->n);
      r.accuracy += (s == 1) == (odds > 0) ? 0.5 / (double)p->n : 0;
    }
  if (p->o.adversary_by == CQ_ADVERSARY_REVERSED) r.adversary = -r.loss;
  return r;
}

static void expect_near(const char *what, int64_t n, double found, double expected, double tolerance) {
  if (!(fabs(found - expected) <= tolerance * fmax(1, fabs(expected))))
    fail_msg("n %lld, %s is %.9g, expected %.9g", (long long)n, what, found, expected);
}

static double slope_of(const problem *p, plain *v, double *x, bool of_adversary) {
  const double kept = *x, h = 1e-6;
  *x = kept + h;
  const cq_discriminator_report above = plain_report(p, v);
  *x = kept - h;
  const cq_discriminator_report below = plain_report(p, v);
  *x = kept;
  return (of_adversary ? above.adversary - below.adversary : above.loss - below.loss) / (2 * h);
}

/* An update is the gradient itself: without momentum, Adam divides by |g| + eps, and the rate is that eps, far above
 * any |g|. */
static void check(int64_t n, int64_t dim, int64_t hidden, cq_adversary by, double smoothing) {
  static problem p;
  cq_discriminator_options o = options_of(dim, hidden, by, smoothing);
  o.optimizer = (cq_optimizer_options){.eps = 1e7, .learning_rate = rate_of};
  make(&p, n, &o);
  for (int i = 0; i < 4; i++) /* apart from the kinks */
    for (int64_t j = 0; j < size_of(&p, (size_t)i); j++) values_of(&p, (size_t)i)[j] *= 1.5f;
  assert_int_equal(cq_discriminator_pack(p.d, NULL), CQ_OK);
  plain v = plain_of(&p);
  forward(&p, NULL);
  const cq_discriminator_report expected = plain_report(&p, &v);
  expect_near("the loss", n, p.report.loss, expected.loss, 1e-6);
  expect_near("the adversary's loss", n, p.report.adversary, expected.adversary, 1e-6);
  expect_near("the accuracy", n, p.report.accuracy, expected.accuracy, 1e-12);
  for (int s = 0; s < 2; s++)
    for (int64_t i = 0; i < n * dim; i++)
      expect_near("a vector's gradient", n, (double)p.gradients[s][i] - (double)before_of(i),
                  p.weight * slope_of(&p, &v, &v.vectors[s][i], true), 2e-6);
  rate = 1e7;
  update(&p, NULL);
  for (size_t i = 0; i < 4; i++)
    for (int64_t j = 0; j < size_of(&p, i); j++)
      expect_near(cq_discriminator_params(p.d)->items[i]->name, n, v.params[i][j] - (double)values_of(&p, i)[j],
                  slope_of(&p, &v, &v.params[i][j], false), 2e-6);
  rate = 0;
  plain_free(&v);
  cq_discriminator_free(p.d);
}

static void gradients_are_those_of_plain_loops(void **state) {
  (void)state;
  for (int by = CQ_ADVERSARY_REVERSED; by <= CQ_ADVERSARY_SWAPPED; by++) {
    check(1, 3, 5, (cq_adversary)by, 0);
    check(2, 1, 1, (cq_adversary)by, 0.1);
    check(7, 4, 6, (cq_adversary)by, 0);
    check(20, 17, 33, (cq_adversary)by, 0.3);
  }
}

/* --- PyTorch --- */

static const float *tensor(const cq_safetensors *file, const char *name, int64_t *rows, int64_t *cols) {
  const cq_stored_tensor *t = cq_safetensors_find(file, name);
  if (!t) fail_msg("no %s", name);
  if (rows) *rows = t->shape[0], *cols = t->shape[1];
  return t->data;
}

static double number(const cq_safetensors *file, const char *name) {
  return (double)tensor(file, name, NULL, NULL)[0];
}

static void check_golden(const char *name, cq_adversary by) {
  static problem p;
  char path[80];
  cq_safetensors *file;
  cq_error error = {0};
  int64_t n, dim, hidden;
  snprintf(path, sizeof path, "golden/train/%s.safetensors", name);
  if (cq_safetensors_open(&file, tests_file(path), &error)) fail_msg("%s", error.message);
  const float *of_vectors[2] = {tensor(file, "a", &n, &dim), tensor(file, "b", NULL, NULL)};
  tensor(file, "hidden.weight", &hidden, &dim);
  cq_discriminator_options o = options_of(dim, hidden, by, number(file, "smoothing"));
  o.optimizer = (cq_optimizer_options){.eps = 1e7, .learning_rate = rate_of};
  make(&p, n, &o);
  p.weight = number(file, "weight");
  for (size_t s = 0; s < 2; s++) memcpy(p.vectors[s], of_vectors[s], (size_t)(n * dim) * sizeof(float));
  for (size_t i = 0; i < 4; i++)
    memcpy(values_of(&p, i), tensor(file, cq_discriminator_params(p.d)->items[i]->name, NULL, NULL),
           (size_t)size_of(&p, i) * sizeof(float));
  assert_int_equal(cq_discriminator_pack(p.d, NULL), CQ_OK);
  forward(&p, NULL);
  expect_near("the loss", n, p.report.loss, number(file, "loss"), 1e-6);
  expect_near("the adversary's loss", n, p.report.adversary, number(file, "adversary"), 1e-6);
  expect_near("the accuracy", n, p.report.accuracy, number(file, "accuracy"), 1e-6);
  for (size_t s = 0; s < 2; s++)
    for (int64_t i = 0; i < n * dim; i++)
      expect_near("a vector's gradient", n, (double)p.gradients[s][i] - (double)before_of(i),
                  (double)tensor(file, s ? "db" : "da", NULL, NULL)[i], 2e-6);
  rate = 1e7;
  update(&p, NULL);
  rate = 0;
  for (size_t i = 0; i < 4; i++) {
    char of[64];
    snprintf(of, sizeof of, "gradient.%s", cq_discriminator_params(p.d)->items[i]->name);
    const float *before = tensor(file, of + strlen("gradient."), NULL, NULL), *gradient = tensor(file, of, NULL, NULL);
    for (int64_t j = 0; j < size_of(&p, i); j++)
      expect_near(of, n, (double)before[j] - (double)values_of(&p, i)[j], (double)gradient[j], 2e-6);
  }
  cq_discriminator_free(p.d);
  cq_safetensors_close(file);
}

static void pytorch_agrees(void **state) {
  (void)state;
  check_golden("discriminator_reversed", CQ_ADVERSARY_REVERSED);
  check_golden("discriminator_swapped", CQ_ADVERSARY_SWAPPED);
}

/* --- runs --- */

/* Learns for 60 steps of other vectors each, whose first dimension says a little of the language. interrupted: all is
 * lost at half way but a checkpoint. */
static uint64_t run(int n_threads, int n_shards, bool interrupted, double first[2], double last[2]) {
  static problem p;
  cq_context *ctx;
  uint64_t hash = 0;
  assert_int_equal(cq_context_open(&ctx, n_threads, NULL), CQ_OK);
  cq_discriminator_options o = options_of(6, 20, CQ_ADVERSARY_REVERSED, 0.05);
  o.n_shards = n_shards;
  make(&p, 50, &o);
  rate = 1e-2;
  for (int step = 0; step < 60; step++) {
    if (interrupted && step == 30) {
      cq_checkpoint_writer *w;
      cq_checkpoint *c;
      const char *path = test_path("discriminator.checkpoint");
      assert_int_equal(cq_checkpoint_writer_open(&w, path, NULL), CQ_OK);
      assert_int_equal(cq_discriminator_save(p.d, w, NULL), CQ_OK);
      assert_int_equal(cq_checkpoint_writer_commit(w, NULL), CQ_OK);
      cq_discriminator_free(p.d);
      o.seed++;
      assert_int_equal(cq_discriminator_new(&p.d, cq_kernels_best(), &o, NULL), CQ_OK);
      assert_int_equal(cq_checkpoint_open(&c, path, NULL), CQ_OK);
      assert_int_equal(cq_discriminator_restore(p.d, c, NULL), CQ_OK);
      cq_checkpoint_close(c);
    }
    for (uint64_t s = 0; s < 2; s++) {
      cq_random random = cq_random_seeded(80 + (uint64_t)step, s);
      for (int64_t i = 0; i < p.n * o.dim; i++)
        p.vectors[s][i] = (float)(cq_random_normal(&random) + (i % o.dim == 0 ? 1.3 * (double)s : 0));
    }
    forward(&p, ctx);
    if (step == 0) first[0] = p.report.loss, first[1] = p.report.accuracy;
    last[0] = p.report.loss, last[1] = p.report.accuracy;
    for (int s = 0; s < 2; s++)
      hash = cq_mix(hash) ^ cq_hash64(p.gradients[s], (size_t)(p.n * o.dim) * sizeof(float), 0);
    update(&p, ctx);
  }
  rate = 0;
  cq_discriminator_free(p.d);
  cq_context_free(ctx);
  return hash;
}

static void it_learns_the_same_on_any_number_of_threads(void **state) {
  double first[2], last[2];
  (void)state;
  for (int n_shards = 1; n_shards <= 64; n_shards *= 4) {
    const uint64_t one = run(1, n_shards, false, first, last);
    assert_true(last[0] < first[0] - 0.05 && last[1] > 0.65 && last[1] > first[1]);
    assert_true(run(2, n_shards, false, first, last) == one);
    assert_true(run(3, n_shards, false, first, last) == one);
  }
}

static void it_goes_on_from_a_checkpoint(void **state) {
  double first[2], last[2];
  (void)state;
  assert_true(run(2, 3, true, first, last) == run(1, 3, false, first, last));
}

static void a_checkpoint_of_another_is_refused(void **state) {
  static problem p;
  cq_discriminator_options o = options_of(3, 40, CQ_ADVERSARY_SWAPPED, 0);
  cq_discriminator *other;
  cq_checkpoint_writer *w;
  cq_checkpoint *c;
  cq_error error = {0};
  const char *path = test_path("other.checkpoint");
  (void)state;
  make(&p, 2, &o);
  assert_int_equal(cq_checkpoint_writer_open(&w, path, NULL), CQ_OK);
  assert_int_equal(cq_discriminator_save(p.d, w, NULL), CQ_OK);
  assert_int_equal(cq_checkpoint_writer_commit(w, NULL), CQ_OK);
  o.hidden = 80;
  assert_int_equal(cq_discriminator_new(&other, cq_kernels_best(), &o, NULL), CQ_OK);
  assert_int_equal(cq_checkpoint_open(&c, path, NULL), CQ_OK);
  assert_int_equal(cq_discriminator_restore(other, c, &error), CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "discriminator.parameters"));
  cq_checkpoint_close(c);
  cq_discriminator_free(other);
  cq_discriminator_free(p.d);
}

/* --- what goes wrong --- */

static void numbers_without_end(void **state) {
  static problem p;
  cq_error error = {0};
  (void)state;
  const cq_discriminator_options o = options_of(4, 6, CQ_ADVERSARY_REVERSED, 0);
  make(&p, 7, &o);
  for (size_t i = 0; i < 7 * 4; i++) p.vectors[0][i] *= 1e20f; /* sure of itself, and well */
  forward(&p, NULL);
  assert_true(isfinite(p.report.loss) && p.report.loss > 1e15);
  p.vectors[1][5] = NAN;
  forward(&p, NULL);
  assert_false(isfinite(p.report.loss) || isfinite(p.report.adversary));
  assert_int_equal(cq_discriminator_update(p.d, NULL, &error), CQ_ERR_LIMIT);
  assert_non_null(strstr(error.message, "discriminator's gradient"));
  cq_discriminator_free(p.d);
}

static void wrong_options(void **state) {
  static const struct {
    int64_t hidden;
    double smoothing;
    const char *says;
  } wrong[] = {{0, 0, "of 0 hidden"}, {-3, 0, "of -3 hidden"}, {1 << 20, 0, "of 1048576 hidden"},
               {4, -0.1, "by -0.1"},  {4, 0.5, "by 0.5"},      {4, NAN, "by nan"}};
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    cq_discriminator *d;
    cq_error error = {0};
    const cq_discriminator_options o = options_of(4, wrong[i].hidden, CQ_ADVERSARY_REVERSED, wrong[i].smoothing);
    assert_int_equal(cq_discriminator_new(&d, cq_kernels_best(), &o, &error), CQ_ERR_ARGUMENT);
    assert_null(d);
    if (!strstr(error.message, wrong[i].says)) fail_msg("'%s' does not say '%s'", error.message, wrong[i].says);
  }
}

static void memory_may_be_short(void **state) {
  static problem p;
  const cq_discriminator_options o = options_of(4, 6, CQ_ADVERSARY_REVERSED, 0);
  (void)state;
  for (int in_forward = 0; in_forward < 2; in_forward++)
    for (long n = 1;; n++) {
      cq_discriminator *d = NULL;
      cq_error error = {0};
      cq_status status = CQ_OK;
      make(&p, 5, &o);
      const cq_space space = {{p.vectors[0], p.vectors[1]}, {p.gradients[0], p.gradients[1]}, p.n, p.o.dim};
      cq_alloc_fail_at(n);
      if (in_forward)
        status = cq_discriminator_forward(p.d, &p.report, &space, 1, NULL, &error);
      else
        status = cq_discriminator_new(&d, cq_kernels_best(), &o, &error);
      const bool failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
      assert_true((d != NULL) == (!in_forward && !failed));
      cq_discriminator_free(d);
      if (in_forward) forward(&p, NULL);
      cq_discriminator_free(p.d);
      if (!failed) break;
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_are_those_of_plain_loops),
      cmocka_unit_test(pytorch_agrees),
      cmocka_unit_test(it_learns_the_same_on_any_number_of_threads),
      cmocka_unit_test(it_goes_on_from_a_checkpoint),
      cmocka_unit_test(a_checkpoint_of_another_is_refused),
      cmocka_unit_test(numbers_without_end),
      cmocka_unit_test(wrong_options),
      cmocka_unit_test(memory_may_be_short),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
