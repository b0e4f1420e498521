/* Classification: logistic regression on a few rows of each class, drawn several times. */
#include "cli/mteb/mteb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ACCURACY, F1, F1_WEIGHTED, PRECISION, PRECISION_WEIGHTED, RECALL, RECALL_WEIGHTED, AP, AP_WEIGHTED, N_FIGURES };
static const char *const class_figures[] = {"accuracy",           "f1",     "f1_weighted",     "precision",
                                            "precision_weighted", "recall", "recall_weighted", "ap",
                                            "ap_weighted"};

/* scikit-learn's figures, where a divisor of 0 gives 0. Average precision is that of hard predictions of the second of two
 * classes; other numbers of classes among the gold ones have none. */
static void class_scores(double *out, const uint32_t *predicted, const uint32_t *gold, size_t n, size_t n_classes,
                         size_t *counts /* [3, n_classes] */) {
  size_t *n_right = counts, *n_predicted = counts + n_classes, *n_gold = counts + 2 * n_classes;
  size_t n_occurring = 0, n_of_gold = 0;
  memset(counts, 0, 3 * n_classes * sizeof *counts);
  memset(out, 0, N_FIGURES * sizeof *out);
  for (size_t i = 0; i < n; i++) {
    n_right[gold[i]] += predicted[i] == gold[i];
    n_predicted[predicted[i]]++, n_gold[gold[i]]++;
  }
  double of_last = 0; /* average precision by the last of the gold classes */
  for (size_t c = 0; c < n_classes; c++) {
    if (!n_predicted[c] && !n_gold[c]) continue;
    const double right = (double)n_right[c], weight = (double)n_gold[c] / (double)n;
    const double precision = n_predicted[c] ? right / (double)n_predicted[c] : 0;
    const double recall = n_gold[c] ? right / (double)n_gold[c] : 0;
    const double f1 = 2 * right / (double)(n_predicted[c] + n_gold[c]);
    n_occurring++;
    if (n_gold[c]) n_of_gold++, of_last = recall * precision + (1 - recall) * weight;
    out[ACCURACY] += right / (double)n;
    out[F1] += f1, out[F1_WEIGHTED] += weight * f1;
    out[PRECISION] += precision, out[PRECISION_WEIGHTED] += weight * precision;
    out[RECALL] += recall, out[RECALL_WEIGHTED] += weight * recall;
  }
  out[F1] /= (double)n_occurring, out[PRECISION] /= (double)n_occurring, out[RECALL] /= (double)n_occurring;
  out[AP] = out[AP_WEIGHTED] = n_of_gold == 2 ? of_last : NAN;
}

static int compare_names(const void *a, const void *b) {
  const cq_slice *x = a, *y = b;
  const int order = memcmp(x->data, y->data, x->n < y->n ? x->n : y->n);
  return order ? order : (x->n > y->n) - (x->n < y->n);
}

/* The distinct classes of training rows, sorted, to be freed; NULL: out of memory. */
static cq_slice *class_names(size_t *n, const mteb_rows *train) {
  cq_slice *names = calloc(train->n, sizeof *names);
  *n = 0;
  if (!names) return NULL;
  memcpy(names, train->column[1], train->n * sizeof *names);
  qsort(names, train->n, sizeof *names, compare_names);
  for (size_t i = 0; i < train->n; i++)
    if (!*n || compare_names(&names[*n - 1], &names[i]) != 0) names[(*n)++] = names[i];
  return names;
}

static int number_classes(uint32_t *out, const mteb_rows *r, const cq_slice *names, size_t n_names, const char *file) {
  for (size_t i = 0; i < r->n; i++) {
    const cq_slice name = r->column[1][i];
    const cq_slice *found = bsearch(&name, names, n_names, sizeof *names, compare_names);
    if (!found)
      return cli_fail("%s:%llu: the class '%.*s' is not in --train", file, (unsigned long long)r->line[i],
                      (int)(name.n < 80 ? name.n : 80), name.data);
    out[i] = (uint32_t)(found - names);
  }
  return CLI_OK;
}

static uint64_t next_random(uint64_t *state) { /* splitmix64 (Steele, Lea & Flood 2014) */
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* What all experiments on a file share; arrays are freed by classify_free. */
typedef struct classify {
  mteb_rows train, test;
  float *x, *y;             /* [train.n, dim], [test.n, dim] */
  float *sample;            /* [train.n, dim] at most */
  cq_slice *names;          /* [n_classes] */
  size_t n_classes, *order; /* [train.n], shuffled further by each experiment, as in MTEB */
  size_t *counts;           /* [3, n_classes] */
  uint32_t *classes, *gold; /* [train.n], [test.n] */
  uint32_t *sampled, *predicted;
} classify;

static void classify_free(classify *c) {
  mteb_rows_free(&c->train), mteb_rows_free(&c->test);
  free(c->x), free(c->y), free(c->sample), free(c->names), free(c->order), free(c->counts);
  free(c->classes), free(c->gold), free(c->sampled), free(c->predicted);
}

static int classify_open(classify *c, const mteb_bench *b, const char *file) {
  const mteb_args *args = b->args;
  int code = mteb_rows_read(&c->train, args->train, 2, args->eval);
  if (code == CLI_OK) code = mteb_rows_read(&c->test, file, 2, args->eval);
  if (code) return code;
  c->names = class_names(&c->n_classes, &c->train);
  c->order = calloc(c->train.n, sizeof *c->order);
  c->counts = calloc(c->train.n, 3 * sizeof *c->counts);
  c->classes = calloc(c->train.n, sizeof *c->classes), c->sampled = calloc(c->train.n, sizeof *c->sampled);
  c->gold = calloc(c->test.n, sizeof *c->gold), c->predicted = calloc(c->test.n, sizeof *c->predicted);
  c->sample = reallocarray(NULL, c->train.n, b->dim * sizeof *c->sample);
  if (!c->names || !c->order || !c->counts || !c->classes || !c->sampled || !c->gold || !c->predicted || !c->sample)
    return cli_fail("out of memory");
  if (c->n_classes < 2) return cli_fail("%s: all rows are of one class", args->train);
  for (size_t i = 0; i < c->train.n; i++) c->order[i] = i;
  code = number_classes(c->classes, &c->train, c->names, c->n_classes, args->train);
  if (code == CLI_OK) code = number_classes(c->gold, &c->test, c->names, c->n_classes, file);
  if (code == CLI_OK) code = mteb_encode(&c->x, b, c->train.column[0], c->train.n);
  if (code == CLI_OK) code = mteb_encode(&c->y, b, c->test.column[0], c->test.n);
  return code;
}

/* Learns from n_samples of each class, the first in the shuffled order. */
static int run_experiment(double *figures, classify *c, const mteb_bench *b, uint64_t *random) {
  size_t n = 0;
  cq_error error = {0};
  cq_logistic model;
  for (size_t i = c->train.n; i > 1; i--) {
    const size_t j = (size_t)(next_random(random) % i), kept = c->order[i - 1];
    c->order[i - 1] = c->order[j], c->order[j] = kept;
  }
  memset(c->counts, 0, c->n_classes * sizeof *c->counts);
  for (size_t i = 0; i < c->train.n; i++) {
    const size_t row = c->order[i];
    if (c->counts[c->classes[row]] == (size_t)b->args->n_samples) continue;
    c->counts[c->classes[row]]++;
    memcpy(c->sample + n * b->dim, c->x + row * b->dim, b->dim * sizeof *c->x);
    c->sampled[n++] = c->classes[row];
  }
  if (cq_logistic_train(&model, c->sample, c->sampled, n, b->dim, c->n_classes, b->args->logistic, b->ctx, &error))
    return cli_fail_error(&error);
  for (size_t i = 0; i < c->test.n; i++) c->predicted[i] = cq_logistic_class(&model, c->y + i * b->dim);
  cq_logistic_free(&model);
  class_scores(figures, c->predicted, c->gold, c->test.n, c->n_classes, c->counts);
  return CLI_OK;
}

int mteb_classification(json_t *scores, const mteb_bench *b, const char *file) {
  classify c = {0};
  double mean[N_FIGURES] = {0};
  uint64_t random = 42;
  json_t *experiments = json_array();
  int failed = 0, code = classify_open(&c, b, file);
  for (int e = 0; e < b->args->n_experiments && code == CLI_OK; e++) {
    double figures[N_FIGURES];
    json_t *one = json_object();
    code = run_experiment(figures, &c, b, &random);
    for (size_t f = 0; f < N_FIGURES && code == CLI_OK; f++) {
      mean[f] += figures[f] / b->args->n_experiments;
      failed |= mteb_put_figure(one, class_figures[f], figures[f]);
    }
    failed |= json_array_append_new(experiments, one);
  }
  failed |= json_object_set_new(scores, "scores_per_experiment", experiments);
  for (size_t f = 0; f < N_FIGURES; f++) failed |= mteb_put_figure(scores, class_figures[f], mean[f]);
  failed |= mteb_put_figure(scores, "main_score", mean[ACCURACY]);
  classify_free(&c);
  return code ? code : failed ? cli_fail("out of memory") : CLI_OK;
}
