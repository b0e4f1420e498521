/* What pairs of sentences are learned from: against sentence-transformers (reference/golden_pair_losses.py), gradients
 * against finite differences of plain loops in double precision, on any number of threads, with little memory. */
#include "support/files.h"

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"
#include "format/safetensors.h"
#include "train/contrast.h"
#include "train/label_head.h"

#include <math.h>

/* --- sentence-transformers --- */

enum { MOST = 4096 };

typedef struct golden {
  cq_safetensors *file;
  int64_t n, dim;
  const float *u, *v, *hard;
} golden;

static const float *tensor(const golden *g, const char *name) {
  const cq_stored_tensor *t = cq_safetensors_find(g->file, name);
  if (!t) fail_msg("no %s", name);
  return t->data;
}

static golden open_golden(void) {
  golden g = {0};
  cq_error error = {0};
  if (cq_safetensors_open(&g.file, tests_file("golden/train/pairs.safetensors"), &error)) fail_msg("%s", error.message);
  g.n = cq_safetensors_find(g.file, "u")->shape[0];
  g.dim = cq_safetensors_find(g.file, "u")->shape[1];
  g.u = tensor(&g, "u"), g.v = tensor(&g, "v"), g.hard = tensor(&g, "hard");
  return g;
}

static void same(const golden *g, const char *loss, const char *what, const float *found, int64_t n) {
  char name[64];
  snprintf(name, sizeof name, "%s.%s", loss, what);
  const float *expected = tensor(g, name);
  for (int64_t i = 0; i < n; i++)
    if (!(fabs((double)found[i] - (double)expected[i]) <= 2e-6))
      fail_msg("%s, %lld: %.9g, sentence-transformers has %.9g", name, (long long)i, (double)found[i],
               (double)expected[i]);
}

static void same_loss(const golden *g, const char *loss, double found) {
  const float value = (float)found;
  same(g, loss, "loss", &value, 1);
}

static void ranking_is_that_of_sentence_transformers(void **state) {
  static const struct {
    const char *name;
    bool hard, symmetric;
  } cases[] = {{"ranking", false, false}, {"ranking_hard", true, false}, {"both_ways", false, true}};
  golden g = open_golden();
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    float candidates[MOST], du[MOST] = {0}, dcandidates[MOST] = {0};
    const int64_t floats = g.n * g.dim;
    memcpy(candidates, g.v, (size_t)floats * sizeof(float));
    memcpy(candidates + floats, g.hard, (size_t)floats * sizeof(float));
    const cq_contrast c = {.vectors = {g.u, candidates},
                           .gradients = {du, dcandidates},
                           .n = {g.n, cases[i].hard ? 2 * g.n : g.n},
                           .dim = g.dim,
                           .temperature = 0.25,
                           .symmetric = cases[i].symmetric};
    cq_worker worker = {.kernels = cq_kernels_best()};
    double loss;
    assert_int_equal(cq_contrast_loss(&loss, &c, 1, &worker, NULL, NULL), CQ_OK);
    same_loss(&g, cases[i].name, loss);
    same(&g, cases[i].name, "du", du, floats);
    same(&g, cases[i].name, "dv", dcandidates, floats);
    if (cases[i].hard) same(&g, cases[i].name, "dhard", dcandidates + floats, floats);
    cq_workspace_free(&worker.workspace);
  }
  cq_safetensors_close(g.file);
}

static void scores_are_those_of_sentence_transformers(void **state) {
  golden g = open_golden();
  float du[MOST] = {0}, dv[MOST] = {0};
  const cq_space space = {{g.u, g.v}, {du, dv}, g.n, g.dim};
  (void)state;
  same_loss(&g, "scores", cq_space_cosines(&space, tensor(&g, "scores"), 1));
  same(&g, "scores", "du", du, g.n * g.dim);
  same(&g, "scores", "dv", dv, g.n * g.dim);
  cq_safetensors_close(g.file);
}

static double rate = 0;

static double rate_of(const void *context, uint64_t step, bool table) {
  (void)context, (void)step, (void)table;
  return rate;
}

static cq_label_head *make_head(int64_t dim, int64_t n_labels) {
  const cq_label_head_options o = {.dim = dim,
                                   .n_labels = n_labels,
                                   .seed = 3,
                                   .optimizer = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .learning_rate = rate_of}};
  cq_label_head *h;
  cq_error error = {0};
  if (cq_label_head_new(&h, cq_kernels_best(), &o, &error)) fail_msg("%s", error.message);
  return h;
}

static void labels_are_those_of_sentence_transformers(void **state) {
  golden g = open_golden();
  float du[MOST] = {0}, dv[MOST] = {0};
  uint32_t labels[MOST];
  const cq_space space = {{g.u, g.v}, {du, dv}, g.n, g.dim};
  const int64_t n_labels = cq_safetensors_find(g.file, "labels.bias")->shape[0];
  cq_label_head *h = make_head(g.dim, n_labels);
  cq_label_head_report report;
  (void)state;
  const cq_params *params = cq_label_head_params(h);
  memcpy(params->items[0]->value, tensor(&g, "labels.weight"), (size_t)(3 * g.dim * n_labels) * sizeof(float));
  memcpy(params->items[1]->value, tensor(&g, "labels.bias"), (size_t)n_labels * sizeof(float));
  assert_int_equal(cq_label_head_pack(h, NULL), CQ_OK);
  for (int64_t i = 0; i < g.n; i++) labels[i] = (uint32_t)tensor(&g, "labels")[i];
  assert_int_equal(cq_label_head_forward(h, &report, &space, labels, NULL), CQ_OK);
  same_loss(&g, "labels", report.loss);
  same(&g, "labels", "du", du, g.n * g.dim);
  same(&g, "labels", "dv", dv, g.n * g.dim);
  const cq_gradients *own = cq_label_head_gradients(h);
  same(&g, "labels", "dweight", own->dense + params->items[0]->offset, 3 * g.dim * n_labels);
  same(&g, "labels", "dbias", own->dense + params->items[1]->offset, n_labels);
  cq_label_head_free(h);
  cq_safetensors_close(g.file);
}

/* --- ranking by plain loops --- */

typedef struct problem {
  cq_contrast c;
  float *vectors[2], *gradients[2];
} problem;

static problem make(int64_t n, int64_t n_candidates, int64_t dim, bool symmetric) {
  problem p = {.c = {.n = {n, n_candidates}, .dim = dim, .temperature = 0.3, .symmetric = symmetric}};
  for (uint64_t s = 0; s < 2; s++) {
    const size_t floats = (size_t)(p.c.n[s] * dim);
    cq_random random = cq_random_seeded((uint64_t)(n * 100 + dim), s);
    p.vectors[s] = malloc(floats * sizeof(float));
    p.gradients[s] = calloc(floats, sizeof(float));
    for (size_t i = 0; i < floats; i++) p.vectors[s][i] = (float)cq_random_normal(&random);
    p.c.vectors[s] = p.vectors[s], p.c.gradients[s] = p.gradients[s];
  }
  return p;
}

static void unmake(problem *p) {
  for (int s = 0; s < 2; s++) {
    free(p->vectors[s]);
    free(p->gradients[s]);
  }
}

static double run(problem *p, const cq_kernels *kernels, cq_context *ctx) {
  cq_worker worker = {.kernels = kernels};
  double loss;
  for (int s = 0; s < 2; s++) memset(p->gradients[s], 0, (size_t)(p->c.n[s] * p->c.dim) * sizeof(float));
  assert_int_equal(cq_contrast_loss(&loss, &p->c, 1, &worker, ctx, NULL), CQ_OK);
  cq_workspace_free(&worker.workspace);
  return loss;
}

static double cosine(const double *a, const double *b, int64_t n) {
  double ab = 0, aa = 0, bb = 0;
  for (int64_t i = 0; i < n; i++) ab += a[i] * b[i], aa += a[i] * a[i], bb += b[i] * b[i];
  return ab / sqrt(aa * bb);
}

static bool may_be_its_own(const cq_contrast *c, int64_t i, int64_t j) {
  if (!c->ids[0] || i == j) return false;
  return c->ids[1][i] == c->ids[1][j] || (j < c->n[0] && c->ids[0][i] == c->ids[0][j]);
}

static double plain(const cq_contrast *c, double *const v[2]) {
  double sum = 0;
  for (int way = 0; way < (c->symmetric ? 2 : 1); way++)
    for (int64_t i = 0; i < c->n[0]; i++) {
      double all = 0, own = 0;
      for (int64_t j = 0; j < c->n[1 - way]; j++) {
        if (way == 0 ? may_be_its_own(c, i, j) : may_be_its_own(c, j, i)) continue;
        const double x = cosine(v[way] + i * c->dim, v[1 - way] + j * c->dim, c->dim) / c->temperature;
        all += exp(x);
        if (i == j) own = x;
      }
      sum += log(all) - own;
    }
  return sum / (double)c->n[0] / (c->symmetric ? 2 : 1);
}

static void check(int64_t n, int64_t n_candidates, bool symmetric, bool repeats, const cq_kernels *kernels) {
  problem p = make(n, n_candidates, 5, symmetric);
  const cq_contrast *c = &p.c;
  uint32_t ids[2][MOST];
  for (int64_t i = 0; i < n_candidates; i++) ids[0][i] = (uint32_t)(i % 4), ids[1][i] = (uint32_t)(i % 7);
  if (repeats) p.c.ids[0] = ids[0], p.c.ids[1] = ids[1];
  double *v[2];
  for (int s = 0; s < 2; s++) {
    v[s] = malloc((size_t)(c->n[s] * c->dim) * sizeof(double));
    for (int64_t i = 0; i < c->n[s] * c->dim; i++) v[s][i] = (double)p.vectors[s][i];
  }
  const double value = run(&p, kernels, NULL), expected = plain(c, v), h = 1e-5;
  if (!(fabs(value - expected) <= 2e-6 * fmax(1, fabs(expected))))
    fail_msg("%lld among %lld: %.9g, expected %.9g", (long long)n, (long long)n_candidates, value, expected);
  for (int s = 0; s < 2; s++)
    for (int64_t i = 0, every = c->n[s] * c->dim / 40 + 1; i < c->n[s] * c->dim; i += every) {
      const double kept = v[s][i];
      v[s][i] = kept + h;
      const double above = plain(c, v);
      v[s][i] = kept - h;
      const double slope = (above - plain(c, v)) / (2 * h), found = (double)p.gradients[s][i];
      v[s][i] = kept;
      if (!(fabs(found - slope) <= 1e-5 * fmax(0.05, fabs(slope))))
        fail_msg("%lld among %lld, vector %d, %lld: gradient %.9g, expected %.9g", (long long)n,
                 (long long)n_candidates, s, (long long)i, found, slope);
    }
  free(v[0]);
  free(v[1]);
  unmake(&p);
}

static void ranking_is_that_of_plain_loops(void **state) {
  static const int64_t sizes[][2] = {{1, 1}, {1, 2}, {5, 10}, {63, 64}, {64, 64}, {65, 130}, {30, 100}};
  const cq_kernels *levels[8];
  const size_t n_levels = cq_kernels_all(levels, 8);
  (void)state;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (size_t k = 0; k < n_levels; k++)
      for (int how = 0; how < 4; how++) check(sizes[i][0], sizes[i][1], how & 1, how & 2, levels[k]);
}

static void threads_do_not_change_a_bit(void **state) {
  problem one = make(150, 290, 9, true), many = make(150, 290, 9, true);
  const double value = run(&one, cq_kernels_best(), NULL);
  (void)state;
  for (int n_threads = 1; n_threads <= 3; n_threads++) {
    cq_context *ctx;
    assert_int_equal(cq_context_open(&ctx, n_threads, NULL), CQ_OK);
    assert_true(run(&many, cq_kernels_best(), ctx) == value);
    for (int s = 0; s < 2; s++)
      assert_memory_equal(one.gradients[s], many.gradients[s], (size_t)(one.c.n[s] * one.c.dim) * sizeof(float));
    cq_context_free(ctx);
  }
  unmake(&one);
  unmake(&many);
}

/* --- labels --- */

enum { N = 60, DIM = 4, LABELS = 3 };

/* Pairs of which the sum of u - v, or of |u - v|, says the label. */
static void make_pairs(float *u, float *v, uint32_t *labels) {
  cq_random random = cq_random_seeded(11, 0);
  for (int i = 0; i < N; i++) {
    labels[i] = (uint32_t)(i % LABELS);
    for (int j = 0; j < DIM; j++) {
      u[i * DIM + j] = (float)cq_random_normal(&random);
      v[i * DIM + j] = labels[i] == 0 ? u[i * DIM + j] : u[i * DIM + j] + (labels[i] == 1 ? 2.0f : -2.0f);
    }
  }
}

static void labels_are_learned_and_gone_on_with(void **state) {
  float u[N * DIM], v[N * DIM], du[N * DIM], dv[N * DIM];
  uint32_t labels[N];
  const cq_space space = {{u, v}, {du, dv}, N, DIM};
  cq_label_head *h = make_head(DIM, LABELS), *other;
  cq_label_head_report first, last, again;
  (void)state;
  make_pairs(u, v, labels);
  rate = 0.05;
  for (int step = 0; step < 200; step++) {
    memset(du, 0, sizeof du);
    memset(dv, 0, sizeof dv);
    assert_int_equal(cq_label_head_forward(h, step ? &last : &first, &space, labels, NULL), CQ_OK);
    assert_int_equal(cq_label_head_update(h, 1, NULL, NULL), CQ_OK);
  }
  assert_true(last.accuracy > 0.95 && last.loss < first.loss / 4);

  cq_checkpoint_writer *w;
  cq_checkpoint *c;
  assert_int_equal(cq_checkpoint_writer_open(&w, test_path("labels"), NULL), CQ_OK);
  assert_int_equal(cq_label_head_save(h, w, NULL), CQ_OK);
  assert_int_equal(cq_checkpoint_writer_commit(w, NULL), CQ_OK);
  other = make_head(DIM, LABELS);
  assert_int_equal(cq_checkpoint_open(&c, test_path("labels"), NULL), CQ_OK);
  assert_int_equal(cq_label_head_restore(other, c, NULL), CQ_OK);
  cq_checkpoint_close(c);
  for (int step = 0; step < 3; step++) {
    assert_int_equal(cq_label_head_forward(h, &last, &space, labels, NULL), CQ_OK);
    assert_int_equal(cq_label_head_forward(other, &again, &space, labels, NULL), CQ_OK);
    assert_true(last.loss == again.loss);
    assert_int_equal(cq_label_head_update(h, 1, NULL, NULL), CQ_OK);
    assert_int_equal(cq_label_head_update(other, 1, NULL, NULL), CQ_OK);
  }
  cq_label_head_free(h);
  cq_label_head_free(other);
}

static void vectors_of_length_0_have_no_gradient(void **state) {
  enum { ROWS = 3, WIDTH = 2 };
  const float u[ROWS * WIDTH] = {1, 2, 0, 0, 3, -1}, v[ROWS * WIDTH] = {0, 0, 2, 1, 1, 1};
  float du[ROWS * WIDTH] = {0}, dv[ROWS * WIDTH] = {0};
  const cq_contrast c = {
      .vectors = {u, v}, .gradients = {du, dv}, .n = {ROWS, ROWS}, .dim = WIDTH, .temperature = 0.1, .symmetric = true};
  cq_worker worker = {.kernels = cq_kernels_best()};
  double loss;
  (void)state;
  assert_int_equal(cq_contrast_loss(&loss, &c, 1, &worker, NULL, NULL), CQ_OK);
  assert_true(isfinite(loss));
  assert_true(du[2] == 0 && du[3] == 0 && dv[0] == 0 && dv[1] == 0);
  assert_true(du[0] != 0 && dv[2] != 0);
  cq_workspace_free(&worker.workspace);
}

static void what_is_no_number_is_seen(void **state) {
  float u[N * DIM], v[N * DIM], du[N * DIM] = {0}, dv[N * DIM] = {0};
  uint32_t labels[N];
  const cq_space space = {{u, v}, {du, dv}, N, DIM};
  cq_label_head *h = make_head(DIM, LABELS);
  cq_label_head_report report;
  (void)state;
  make_pairs(u, v, labels);
  v[5] = NAN;
  assert_int_equal(cq_label_head_forward(h, &report, &space, labels, NULL), CQ_OK);
  assert_false(isfinite(report.loss));
  assert_int_equal(cq_label_head_update(h, 1, NULL, NULL), CQ_ERR_LIMIT);
  cq_label_head_free(h);
}

static void memory_may_be_short(void **state) {
  float u[N * DIM], v[N * DIM], du[N * DIM] = {0}, dv[N * DIM] = {0};
  uint32_t labels[N];
  const cq_space space = {{u, v}, {du, dv}, N, DIM};
  const cq_label_head_options o = {
      .dim = DIM, .n_labels = LABELS, .optimizer = {.learning_rate = rate_of, .eps = 1e-8}};
  (void)state;
  make_pairs(u, v, labels);
  for (long n = 1;; n++) {
    cq_label_head *h;
    cq_label_head_report report;
    cq_alloc_fail_at(n);
    cq_status status = cq_label_head_new(&h, cq_kernels_best(), &o, NULL);
    if (!status) status = cq_label_head_forward(h, &report, &space, labels, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    cq_label_head_free(h);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    if (!failed) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranking_is_that_of_sentence_transformers),
      cmocka_unit_test(scores_are_those_of_sentence_transformers),
      cmocka_unit_test(labels_are_those_of_sentence_transformers),
      cmocka_unit_test(ranking_is_that_of_plain_loops),
      cmocka_unit_test(threads_do_not_change_a_bit),
      cmocka_unit_test(labels_are_learned_and_gone_on_with),
      cmocka_unit_test(vectors_of_length_0_have_no_gradient),
      cmocka_unit_test(what_is_no_number_is_seen),
      cmocka_unit_test(memory_may_be_short),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
