/* Losses between two languages' vectors: against PyTorch (reference/golden_space_losses.py), against plain loops in
 * double precision whose finite differences check the gradients, and on any number of threads. */
#include "support/files.h"

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"
#include "format/safetensors.h"
#include "train/space_loss.h"

#include <math.h>

typedef enum loss { DISTANCE, DISTILLATION, PAIRS, IN_BATCH, COSINES, N_LOSSES } loss;
static const char *const names[N_LOSSES] = {"distance", "distillation", "pairs", "in_batch", "cosines"};

typedef struct problem {
  int64_t n, dim;
  double number, weight; /* number: the margin, the temperature */
  float *vectors[2], *targets, *gradients[2];
} problem;

/* Gradients begin at what another loss might have left. */
static float before_of(int64_t i) {
  return (float)(i % 5) * 0.25f;
}

static problem make(int64_t n, int64_t dim, double number) {
  problem p = {.n = n, .dim = dim, .number = number, .weight = 1.3};
  float **matrices[] = {&p.vectors[0], &p.vectors[1], &p.targets, &p.gradients[0], &p.gradients[1]};
  for (uint64_t k = 0; k < 5; k++) {
    cq_random random = cq_random_seeded((uint64_t)(n * 1000 + dim), k);
    *matrices[k] = malloc((size_t)(n * dim) * sizeof(float));
    for (int64_t i = 0; i < n * dim; i++) (*matrices[k])[i] = (float)(cq_random_normal(&random) * 0.8);
  }
  return p;
}

static void unmake(problem *p) {
  for (int s = 0; s < 2; s++) {
    free(p->vectors[s]);
    free(p->gradients[s]);
  }
  free(p->targets);
}

static double run(problem *p, loss which, const cq_kernels *kernels, cq_context *ctx) {
  const cq_space space = {{p->vectors[0], p->vectors[1]}, {p->gradients[0], p->gradients[1]}, p->n, p->dim};
  cq_worker worker = {.kernels = kernels};
  double value = NAN;
  for (int s = 0; s < 2; s++)
    for (int64_t i = 0; i < p->n * p->dim; i++) p->gradients[s][i] = before_of(i);
  if (which == DISTANCE) value = cq_space_distance(&space, p->weight);
  if (which == DISTILLATION)
    value = cq_space_distillation(&space, 0, p->targets, p->weight) +
            cq_space_distillation(&space, 1, p->targets, p->weight);
  if (which == PAIRS) value = cq_space_pairs(&space, p->number, p->weight);
  if (which == COSINES) value = cq_space_cosines(&space, p->targets, p->weight); /* the first [n] of them */
  if (which == IN_BATCH)
    assert_int_equal(cq_space_in_batch(&value, &space, p->number, p->weight, &worker, ctx, NULL), CQ_OK);
  cq_workspace_free(&worker.workspace);
  return value;
}

/* --- plain loops --- */

enum { MOST = 130 }; /* rows, and numbers of a matrix that are changed */

typedef double *const matrices[2];

static double dot(const double *a, const double *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

static double gap(const double *a, const double *b, int64_t n) {
  return dot(a, a, n) + dot(b, b, n) - 2 * dot(a, b, n);
}

static double plain(const problem *p, matrices v, loss which) {
  const int64_t n = p->n, dim = p->dim;
  double sum = 0, squares[2][MOST];
  assert_true(n <= MOST);
  for (int s = 0; s < 2; s++)
    for (int64_t i = 0; i < n; i++) squares[s][i] = dot(v[s] + i * dim, v[s] + i * dim, dim);
  for (int64_t i = 0; i < n; i++) {
    const double *x = v[0] + i * dim;
    for (int s = 0; s < 2 && which == DISTILLATION; s++)
      for (int64_t j = i * dim; j < (i + 1) * dim; j++) sum += pow(v[s][j] - (double)p->targets[j], 2);
    if (which == DISTANCE || which == PAIRS) sum += gap(x, v[1] + i * dim, dim);
    if (which == PAIRS && n > 1) sum += pow(fmax(0, p->number - sqrt(gap(x, v[1] + (i + 1) % n * dim, dim))), 2);
    if (which == COSINES) {
      const double *y = v[1] + i * dim;
      sum += pow(dot(x, y, dim) / sqrt(dot(x, x, dim) * dot(y, y, dim)) - (double)p->targets[i], 2);
    }
    for (int way = 0; way < 2 && which == IN_BATCH; way++) {
      const double *a = v[way] + i * dim;
      double all = 0, own = 0;
      for (int64_t j = 0; j < n; j++) {
        const double *b = v[1 - way] + j * dim;
        const double s = dot(a, b, dim) / sqrt(squares[way][i] * squares[1 - way][j]) / p->number;
        all += exp(s);
        if (i == j) own = s;
      }
      sum += (log(all) - own) / 2;
    }
  }
  return sum / (double)n;
}

/* The differences are of the plain loops: every level is compared with the same ones. */
static void check(int64_t n, int64_t dim, loss which, double number) {
  problem p = make(n, dim, number);
  const cq_kernels *levels[8];
  const size_t n_levels = which == IN_BATCH ? cq_kernels_all(levels, 8) : 1; /* the others need no kernels */
  const int64_t every = n * dim / 40 + 1;                                    /* where there are many, some */
  double *v[2], slopes[2][MOST];
  for (int s = 0; s < 2; s++) {
    v[s] = malloc((size_t)(n * dim) * sizeof(double));
    for (int64_t i = 0; i < n * dim; i++) v[s][i] = (double)p.vectors[s][i];
  }
  const double expected = plain(&p, v, which), h = 1e-5;
  for (int s = 0; s < 2; s++)
    for (int64_t i = 0; i < n * dim; i += every) {
      const double kept = v[s][i];
      v[s][i] = kept + h;
      const double above = plain(&p, v, which);
      v[s][i] = kept - h;
      slopes[s][i / every] = p.weight * (above - plain(&p, v, which)) / (2 * h);
      v[s][i] = kept;
    }
  for (size_t k = 0; k < n_levels; k++) {
    const double value = run(&p, which, which == IN_BATCH ? levels[k] : NULL, NULL);
    if (!(fabs(value - expected) <= 2e-6 * fmax(1, fabs(expected))))
      fail_msg("%s of %lld: %.9g, expected %.9g", names[which], (long long)n, value, expected);
    for (int s = 0; s < 2; s++)
      for (int64_t i = 0; i < n * dim; i += every) {
        const double slope = slopes[s][i / every], found = (double)p.gradients[s][i] - (double)before_of(i);
        /* f32 cosines over the temperature, and the f32 sum that the gradient is added to */
        if (!(fabs(found - slope) <= 1e-5 * fmax(0.1, fabs(slope))))
          fail_msg("%s of %lld, vector %d, %lld: gradient %.9g, expected %.9g", names[which], (long long)n, s,
                   (long long)i, found, slope);
      }
  }
  free(v[0]);
  free(v[1]);
  unmake(&p);
}

static void gradients_are_those_of_plain_loops(void **state) {
  static const int64_t sizes[] = {1, 2, 7, 63, 64, 65, 130};
  (void)state;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    check(sizes[i], 5, DISTANCE, 0);
    check(sizes[i], 5, DISTILLATION, 0);
    check(sizes[i], 5, PAIRS, 2.5); /* some are too near */
    check(sizes[i], 3, PAIRS, 30);  /* all */
    check(sizes[i], 4, PAIRS, 0);   /* none */
    check(sizes[i], 5, IN_BATCH, 0.5);
    check(sizes[i], 17, IN_BATCH, 0.1);
    check(sizes[i], 1, IN_BATCH, 1);
    check(sizes[i], 1, COSINES, 0);
    check(sizes[i], 19, COSINES, 0);
  }
}

/* --- PyTorch --- */

static const float *tensor(const cq_safetensors *file, const char *prefix, const char *name, int64_t *rows,
                           int64_t *cols) {
  char whole[64];
  snprintf(whole, sizeof whole, "%s%s", prefix, name);
  const cq_stored_tensor *t = cq_safetensors_find(file, whole);
  if (!t) fail_msg("no %s", whole);
  if (rows) *rows = t->shape[0], *cols = t->shape[1];
  return t->data;
}

static void pytorch_agrees(void **state) {
  cq_safetensors *file;
  cq_error error = {0};
  (void)state;
  if (cq_safetensors_open(&file, tests_file("golden/train/space.safetensors"), &error)) fail_msg("%s", error.message);
  for (loss which = 0; which < N_LOSSES; which++) {
    int64_t n, dim;
    char prefix[32];
    const float *golden[2] = {tensor(file, "", "a", &n, &dim), tensor(file, "", "b", NULL, NULL)};
    problem p = make(n, dim, 0);
    snprintf(prefix, sizeof prefix, "%s.", names[which]);
    p.number = (double)tensor(file, prefix, "number", NULL, NULL)[0];
    p.weight = (double)tensor(file, prefix, "weight", NULL, NULL)[0];
    for (int s = 0; s < 2; s++) memcpy(p.vectors[s], golden[s], (size_t)(n * dim) * sizeof(float));
    memcpy(p.targets, tensor(file, "", "targets", NULL, NULL), (size_t)(n * dim) * sizeof(float));
    const double value = run(&p, which, cq_kernels_best(), NULL),
                 expected = (double)tensor(file, prefix, "loss", NULL, NULL)[0];
    if (!(fabs(value - expected) <= 2e-6 * fabs(expected)))
      fail_msg("%s: %.9g, PyTorch has %.9g", names[which], value, expected);
    for (int s = 0; s < 2; s++) {
      const float *gradient = tensor(file, prefix, s ? "db" : "da", NULL, NULL);
      for (int64_t i = 0; i < n * dim; i++) {
        const double found = (double)p.gradients[s][i] - (double)before_of(i);
        if (!(fabs(found - (double)gradient[i]) <= 2e-6))
          fail_msg("%s, vector %d, %lld: gradient %.9g, PyTorch has %.9g", names[which], s, (long long)i, found,
                   (double)gradient[i]);
      }
    }
    unmake(&p);
  }
  cq_safetensors_close(file);
}

/* --- edges --- */

static void threads_do_not_change_a_bit(void **state) {
  (void)state;
  problem one = make(300, 9, 0.2), many = make(300, 9, 0.2);
  const double value = run(&one, IN_BATCH, cq_kernels_best(), NULL);
  for (int n_threads = 1; n_threads <= 3; n_threads++) {
    cq_context *ctx;
    assert_int_equal(cq_context_open(&ctx, n_threads, NULL), CQ_OK);
    assert_true(run(&many, IN_BATCH, cq_kernels_best(), ctx) == value);
    for (int s = 0; s < 2; s++)
      assert_memory_equal(one.gradients[s], many.gradients[s], (size_t)(one.n * one.dim) * sizeof(float));
    cq_context_free(ctx);
  }
  unmake(&one);
  unmake(&many);
}

static void vectors_of_length_0_have_no_direction(void **state) {
  (void)state;
  for (loss which = 0; which < N_LOSSES; which++) {
    problem p = make(5, 4, 1);
    memset(p.vectors[0] + 2 * p.dim, 0, (size_t)p.dim * sizeof(float));
    memset(p.vectors[1] + 3 * p.dim, 0, (size_t)p.dim * sizeof(float)); /* at no distance from the other */
    assert_true(isfinite(run(&p, which, cq_kernels_best(), NULL)));
    for (int s = 0; s < 2; s++)
      for (int64_t i = 0; i < p.n * p.dim; i++) assert_true(fabs((double)p.gradients[s][i]) < 20);
    for (int64_t i = 2 * p.dim; i < 3 * p.dim && (which == IN_BATCH || which == COSINES); i++)
      assert_true(p.gradients[0][i] == before_of(i));
    unmake(&p);
  }
}

/* Far below any temperature of use, where exp of a similarity has no room in a double. */
static void low_temperatures_do_no_harm(void **state) {
  problem p = make(70, 6, 1e-5);
  (void)state;
  assert_true(isfinite(run(&p, IN_BATCH, cq_kernels_best(), NULL)));
  for (int s = 0; s < 2; s++)
    for (int64_t i = 0; i < p.n * p.dim; i++) assert_true(isfinite(p.gradients[s][i]));
  unmake(&p);
}

static void what_is_no_number_is_seen(void **state) {
  (void)state;
  for (loss which = 0; which < N_LOSSES; which++)
    for (int s = 0; s < 2; s++)
      for (int64_t row = 0; row < 7; row += 3) {
        problem p = make(7, 4, 2);
        p.vectors[s][row * p.dim + 1] = NAN;
        assert_false(isfinite(run(&p, which, cq_kernels_best(), NULL)));
        unmake(&p);
      }
}

static void memory_may_be_short(void **state) {
  problem p = make(9, 4, 1);
  const cq_space space = {{p.vectors[0], p.vectors[1]}, {p.gradients[0], p.gradients[1]}, p.n, p.dim};
  (void)state;
  for (long n = 1;; n++) {
    cq_worker worker = {.kernels = cq_kernels_best()};
    double value;
    cq_alloc_fail_at(n);
    const cq_status status = cq_space_in_batch(&value, &space, 1, 1, &worker, NULL, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    cq_workspace_free(&worker.workspace);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    if (!failed) break;
  }
  unmake(&p);
}

/* Logits 0 and 2 with probabilities 1 and 0.25 by hand; the gradient by differences; large logits stay finite. */
static void cross_entropy_of_logits(void **state) {
  static const float logits[] = {0, 2}, wanted[] = {1, 0.25F};
  float gradients[] = {1, 1};
  (void)state;
  const double value = cq_logits_loss(gradients, logits, wanted, 2);
  assert_true(fabs(value - (log(2) + log(1 + exp(2)) - 0.5) / 2) < 1e-7);
  for (int i = 0; i < 2; i++) {
    double at[2];
    for (int side = 0; side < 2; side++) {
      float moved[] = {0, 2}, ignored[2] = {0};
      moved[i] += side ? -1e-2F : 1e-2F;
      at[side] = cq_logits_loss(ignored, moved, wanted, 2);
    }
    assert_true(fabs((double)gradients[i] - 1 - (at[0] - at[1]) / 2e-2) < 1e-5);
  }
  static const float far[] = {-500, 500};
  assert_true(fabs(cq_logits_loss(gradients, far, wanted, 2) - (500 + 375) / 2.0) < 1e-6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cross_entropy_of_logits),
      cmocka_unit_test(gradients_are_those_of_plain_loops),
      cmocka_unit_test(pytorch_agrees),
      cmocka_unit_test(threads_do_not_change_a_bit),
      cmocka_unit_test(vectors_of_length_0_have_no_direction),
      cmocka_unit_test(low_temperatures_do_no_harm),
      cmocka_unit_test(what_is_no_number_is_seen),
      cmocka_unit_test(memory_may_be_short),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
