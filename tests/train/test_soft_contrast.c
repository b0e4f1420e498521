/* The contrastive loss with a teacher's similarities as labels: its value and gradient against plain loops in double
 * precision, and what it does with labels, lengths and little memory. */
#include "support/files.h"

#include "base/memory.h"
#include "base/random.h"
#include "train/soft_contrast.h"

#include <math.h>
#include <string.h>

enum { N = 14, OWN = 7, CANDIDATES = 10, DIM = 5 }; /* three candidates are hard negatives */
static const double temperature = 0.3;

typedef struct problem {
  float vectors[N * DIM], teacher[CANDIDATES * DIM];
  const float *candidates[CANDIDATES];
  cq_soft_contrast contrast;
} problem;

static cq_context *one, *three; /* threads */

static cq_status loss_of(double *loss, float *gradients, const float *vectors, size_t n, const cq_soft_contrast *c,
                         double weight) {
  return cq_soft_contrast_loss(loss, gradients, vectors, n, c, weight, cq_kernels_best(), three, NULL);
}

static void make(problem *p) {
  cq_random random = cq_random_seeded(3, 0);
  for (int i = 0; i < N * DIM; i++) p->vectors[i] = (float)cq_random_normal(&random);
  for (int i = 0; i < CANDIDATES * DIM; i++) p->teacher[i] = (float)cq_random_normal(&random);
  for (int i = 0; i < CANDIDATES; i++) p->candidates[i] = p->teacher + i * DIM;
  p->contrast = (cq_soft_contrast){
      .candidates = p->candidates, .n_own = OWN, .n_candidates = CANDIDATES, .dim = DIM, .temperature = temperature};
}

/* The cosine of the first n dimensions. */
static double cosine(const double *a, const float *b, int n) {
  double ab = 0, aa = 0, bb = 0;
  for (int k = 0; k < n; k++) ab += a[k] * (double)b[k], aa += a[k] * a[k], bb += (double)b[k] * (double)b[k];
  return ab / sqrt(aa * bb);
}

static void softmax_of(double *p, const problem *of, const double *vector, int n) {
  double sum = 0;
  for (int j = 0; j < CANDIDATES; j++) sum += p[j] = exp(cosine(vector, of->candidates[j], n) / temperature);
  for (int j = 0; j < CANDIDATES; j++) p[j] /= sum;
}

static double plain(const problem *p, const double *vectors) {
  double loss = 0;
  for (int i = 0; i < N; i++) {
    double own[DIM], q[CANDIDATES], s[CANDIDATES];
    for (int k = 0; k < DIM; k++) own[k] = (double)p->candidates[i % OWN][k];
    softmax_of(q, p, own, DIM);
    for (size_t k = 0; k <= p->contrast.n_prefixes; k++) {
      softmax_of(s, p, vectors + i * DIM, k ? p->contrast.prefixes[k - 1] : DIM);
      for (int j = 0; j < CANDIDATES; j++) loss -= q[j] * log(s[j]);
    }
  }
  return loss / N;
}

/* The loss and its gradient, of finite differences. */
static void expect_plain(problem p) {
  double wide[N * DIM], loss;
  float gradients[N * DIM];
  for (int i = 0; i < CANDIDATES; i++) p.candidates[i] = p.teacher + i * DIM; /* it is a copy */
  p.contrast.candidates = p.candidates;
  for (int i = 0; i < N * DIM; i++) wide[i] = (double)p.vectors[i], gradients[i] = 1;
  assert_int_equal(loss_of(&loss, gradients, p.vectors, N, &p.contrast, 2.5), CQ_OK);
  assert_float_equal(loss, plain(&p, wide), 1e-6);
  for (int i = 0; i < N * DIM; i++) {
    const double x = wide[i], h = 1e-5;
    wide[i] = x + h;
    const double above = plain(&p, wide);
    wide[i] = x - h;
    const double below = plain(&p, wide);
    wide[i] = x;
    assert_float_equal(gradients[i] - 1, 2.5 * (above - below) / (2 * h), 1e-6); /* they are added to */
  }
}

static void loss_and_gradient_are_those_of_plain_loops(void **state) {
  (void)state;
  problem p;
  make(&p);
  expect_plain(p);
}

static void prefixes_add_their_losses(void **state) {
  (void)state;
  static const int prefixes[] = {2, 4};
  problem p;
  make(&p);
  for (p.contrast.n_prefixes = 1; p.contrast.n_prefixes <= 2; p.contrast.n_prefixes++) {
    p.contrast.prefixes = prefixes;
    expect_plain(p);
  }
}

/* What the teacher's first dimensions do not tell apart, the student's learn from those that its vectors have not. */
static void a_prefix_learns_the_labels_of_all_dimensions(void **state) {
  (void)state;
  const float own[DIM] = {1, 0, 0, 0, 1}, other[DIM] = {1, 0.5f, 0, 0, -1};
  const float *const candidates[] = {own, other};
  const int first = 2;
  float gradients[2][DIM] = {{0}};
  double whole, both;
  cq_soft_contrast c = {.candidates = candidates, .n_own = 1, .n_candidates = 2, .dim = DIM, .temperature = 0.05};
  assert_int_equal(loss_of(&whole, gradients[0], own, 1, &c, 1), CQ_OK);
  for (int k = 0; k < DIM; k++) assert_float_equal(gradients[0][k], 0, 1e-6);
  c.prefixes = &first, c.n_prefixes = 1;
  assert_int_equal(loss_of(&both, gradients[1], own, 1, &c, 1), CQ_OK);
  assert_true(both > whole + 0.05);
  assert_true(gradients[1][1] > 0.1); /* descent: away from the other, in the two dimensions */
  for (int k = first; k < DIM; k++) assert_float_equal(gradients[1][k], 0, 1e-6);
}

/* Two candidates alike share the label, and a student that agrees with its teacher has nothing to learn. */
static void a_copy_is_no_wrong_answer(void **state) {
  (void)state;
  problem p;
  double loss;
  float gradients[CANDIDATES * DIM] = {0};
  make(&p);
  p.contrast.n_own = CANDIDATES;
  memcpy(p.teacher + DIM, p.teacher, DIM * sizeof(float));
  assert_int_equal(loss_of(&loss, gradients, p.teacher, CANDIDATES, &p.contrast, 1), CQ_OK);
  for (int i = 0; i < CANDIDATES * DIM; i++) assert_float_equal(gradients[i], 0, 1e-6);
  p.contrast.temperature = 0.001; /* hard labels: half each for the copies, all for the others */
  assert_int_equal(loss_of(&loss, gradients, p.teacher, CANDIDATES, &p.contrast, 1), CQ_OK);
  assert_float_equal(loss, 2 * log(2) / CANDIDATES, 1e-3);
}

/* A negative that is near pushes the vector away from it, and is no candidate of which the label is 1. */
static void hard_negatives_are_pushed_away(void **state) {
  (void)state;
  const float own[DIM] = {1, 0, 0, 0, 0}, near[DIM] = {1, 0.5f, 0, 0, 0}, vector[DIM] = {1, 0.25f, 0, 0, 0};
  const float *const candidates[] = {own, near};
  cq_soft_contrast c = {.candidates = candidates, .n_own = 1, .n_candidates = 1, .dim = DIM, .temperature = 0.01};
  float gradients[DIM] = {0};
  double alone, loss;
  assert_int_equal(loss_of(&alone, gradients, vector, 1, &c, 1), CQ_OK);
  assert_float_equal(alone, 0, 1e-12);
  c.n_candidates = 2;
  assert_int_equal(loss_of(&loss, gradients, vector, 1, &c, 1), CQ_OK);
  assert_true(loss > 0.5);
  assert_true(gradients[1] > 1); /* descent lessens what the vector shares with the negative only */
}

static void vectors_of_length_0_have_no_gradient(void **state) {
  (void)state;
  problem p;
  double loss;
  float gradients[N * DIM] = {0};
  make(&p);
  memset(p.vectors, 0, DIM * sizeof(float));
  memset(p.teacher, 0, DIM * sizeof(float));
  assert_int_equal(loss_of(&loss, gradients, p.vectors, N, &p.contrast, 1), CQ_OK);
  assert_true(isfinite(loss));
  for (int k = 0; k < DIM; k++) assert_true(gradients[k] == 0);
  for (int i = 0; i < N * DIM; i++) assert_true(isfinite(gradients[i]));
}

/* The loss of one vector in double precision, without prefixes. */
static double plain_of(const cq_soft_contrast *c, const double *vector, size_t row) {
  double sums[2] = {0}, q[128], p[128], loss = 0, own[64];
  for (int64_t k = 0; k < c->dim; k++) own[k] = (double)c->candidates[row % c->n_own][k];
  for (size_t j = 0; j < c->n_candidates; j++) {
    sums[0] += q[j] = exp(cosine(own, c->candidates[j], (int)c->dim) / c->temperature);
    sums[1] += p[j] = exp(cosine(vector, c->candidates[j], (int)c->dim) / c->temperature);
  }
  for (size_t j = 0; j < c->n_candidates; j++) loss -= q[j] / sums[0] * log(p[j] / sums[1]);
  return loss;
}

/* Several blocks of vectors and of labels, the last of them short, with kernels of each level. */
static void blocks_are_those_of_plain_loops(void **state) {
  (void)state;
  enum { ROWS = 150, SENTENCES = 75, ALL = 90, WIDTH = 33, MAX_LEVELS = 8 };
  static float vectors[ROWS * WIDTH], teacher[ALL * WIDTH], gradients[2][ROWS * WIDTH];
  const float *candidates[ALL];
  const cq_kernels *levels[MAX_LEVELS];
  const size_t n_levels = cq_kernels_all(levels, MAX_LEVELS);
  cq_random random = cq_random_seeded(4, 0);
  for (int i = 0; i < ROWS * WIDTH; i++) vectors[i] = (float)cq_random_normal(&random);
  for (int i = 0; i < ALL * WIDTH; i++) teacher[i] = (float)cq_random_normal(&random);
  for (int i = 0; i < ALL; i++) candidates[i] = teacher + i * WIDTH;
  const cq_soft_contrast c = {candidates, SENTENCES, ALL, WIDTH, temperature, NULL, 0};
  assert_true(n_levels > 1);
  for (size_t level = 0; level < n_levels; level++) {
    double losses[2], expected = 0;
    memset(gradients, 0, sizeof gradients);
    for (int i = 0; i < 2; i++) /* any number of threads gives the same bits */
      assert_int_equal(cq_soft_contrast_loss(&losses[i], gradients[i], vectors, ROWS, &c, ROWS, levels[level],
                                             i ? three : one, NULL),
                       CQ_OK);
    assert_true(losses[0] == losses[1]);
    assert_memory_equal(gradients[0], gradients[1], sizeof gradients[0]);
    for (size_t row = 0; row < ROWS; row++) {
      double wide[WIDTH];
      const double h = 1e-5;
      for (int k = 0; k < WIDTH; k++) wide[k] = (double)vectors[row * WIDTH + (size_t)k];
      expected += plain_of(&c, wide, row) / ROWS;
      const size_t k = row % WIDTH;
      wide[k] += h;
      const double above = plain_of(&c, wide, row);
      wide[k] -= 2 * h;
      assert_float_equal(gradients[0][row * WIDTH + k], (above - plain_of(&c, wide, row)) / (2 * h), 1e-5);
    }
    assert_float_equal(losses[0], expected, 1e-5);
  }
}

static void memory_may_be_short(void **state) {
  (void)state;
  problem p;
  make(&p);
  for (long n = 1;; n++) {
    double loss;
    float gradients[N * DIM] = {0};
    cq_alloc_fail_at(n);
    const cq_status status = loss_of(&loss, gradients, p.vectors, N, &p.contrast, 1);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    if (!failed) break;
  }
}

static int open_contexts(void **state) {
  (void)state;
  return cq_context_open(&one, 1, NULL) || cq_context_open(&three, 3, NULL);
}

static int close_contexts(void **state) {
  (void)state;
  cq_context_free(one), cq_context_free(three);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loss_and_gradient_are_those_of_plain_loops),
      cmocka_unit_test(prefixes_add_their_losses),
      cmocka_unit_test(a_prefix_learns_the_labels_of_all_dimensions),
      cmocka_unit_test(a_copy_is_no_wrong_answer),
      cmocka_unit_test(hard_negatives_are_pushed_away),
      cmocka_unit_test(vectors_of_length_0_have_no_gradient),
      cmocka_unit_test(blocks_are_those_of_plain_loops),
      cmocka_unit_test(memory_may_be_short),
  };
  return cmocka_run_group_tests(tests, open_contexts, close_contexts);
}
