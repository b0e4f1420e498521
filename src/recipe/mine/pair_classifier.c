/* Trains the classifier of pairs by logistic regression; saves and reads it as JSON. See pair_classifier.h. */
#include "recipe/mine/pair_classifier.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "calque/classify.h"
#include "format/json.h"
#include "recipe/mine/mining.h"
#include "search/search_options.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* --- learning --- */

static void measure_spread(cq_pair_classifier *c, const float *features, size_t n) {
  for (size_t f = 0; f < CQ_N_PAIR_FEATURES; f++) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) sum += (double)features[i * CQ_N_PAIR_FEATURES + f];
    c->mean[f] = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
      const double d = (double)features[i * CQ_N_PAIR_FEATURES + f] - c->mean[f];
      squares += d * d;
    }
    c->deviation[f] = sqrt(squares / (double)n);
    if (!(c->deviation[f] > FLT_EPSILON * fabs(c->mean[f]))) c->deviation[f] = 1; /* the same for all */
  }
}

static double standardized(const cq_pair_classifier *c, size_t f, float value) {
  return ((double)value - c->mean[f]) / c->deviation[f];
}

cq_status cq_pair_classifier_learn(cq_pair_classifier *out, const cq_mining *m, const float *features,
                                   const cq_gold_pairs *gold, unsigned leave_out, cq_margin margin, cq_context *ctx,
                                   cq_error *error) {
  const size_t n = m->n_pairs;
  cq_logistic regression = {0};
  *out = (cq_pair_classifier){.margin = margin, .n = n};
  for (size_t i = 0; i < n; i++) out->n_right += cq_gold_pairs_count(gold, m->pairs[i].source, m->pairs[i].target) > 0;
  if (out->n_right == 0 || out->n_right == n)
    return cq_fail(error, CQ_ERR_ARGUMENT,
                   "of %zu mined pairs the gold standard has %s: there is nothing to learn from", n,
                   out->n_right ? "all" : "none");
  float *x = cq_alloc_array(n, CQ_N_PAIR_FEATURES * sizeof *x);
  uint32_t *classes = cq_alloc_array(n, sizeof *classes);
  cq_status status = x && classes ? CQ_OK : cq_fail_memory(error, "pairs");
  if (!status) measure_spread(out, features, n);
  for (size_t i = 0; !status && i < n; i++) {
    classes[i] = cq_gold_pairs_count(gold, m->pairs[i].source, m->pairs[i].target) > 0;
    for (size_t f = 0; f < CQ_N_PAIR_FEATURES; f++)
      x[i * CQ_N_PAIR_FEATURES + f] =
          leave_out >> f & 1 ? 0 : (float)standardized(out, f, features[i * CQ_N_PAIR_FEATURES + f]);
  }
  if (!status) status = cq_logistic_train(&regression, x, classes, n, CQ_N_PAIR_FEATURES, 2, NULL, ctx, error);
  if (!status) {
    const double *no = regression.weights, *yes = no + CQ_N_PAIR_FEATURES + 1;
    for (size_t f = 0; f < CQ_N_PAIR_FEATURES; f++) out->weight[f] = yes[f] - no[f];
    out->intercept = yes[CQ_N_PAIR_FEATURES] - no[CQ_N_PAIR_FEATURES];
  }
  cq_logistic_free(&regression);
  cq_free(x);
  cq_free(classes);
  return status;
}

double cq_pair_classifier_score(const cq_pair_classifier *c, const float *features) {
  double logit = c->intercept;
  for (size_t f = 0; f < CQ_N_PAIR_FEATURES; f++) logit += c->weight[f] * standardized(c, f, features[f]);
  return 1 / (1 + exp(-logit));
}

/* --- files: docs/formats.md --- */

static const char kind[] = "calque pair classifier";

cq_status cq_pair_classifier_write(const cq_pair_classifier *c, const char *path, cq_error *error) {
  json_t *features = json_object(), *root = json_object();
  for (size_t f = 0; f < CQ_N_PAIR_FEATURES; f++) {
    json_t *feature = json_object();
    cq_json_set(&feature, "mean", json_real(c->mean[f]));
    cq_json_set(&feature, "standard_deviation", json_real(c->deviation[f]));
    cq_json_set(&feature, "weight", json_real(c->weight[f]));
    cq_json_set(&features, cq_pair_feature_names[f], feature);
  }
  cq_json_set(&root, "kind", json_string(kind));
  cq_json_set(&root, "margin", json_string(cq_margin_names[c->margin]));
  cq_json_set(&root, "k", json_integer((json_int_t)c->k));
  cq_json_set(&root, "model", json_string(c->model));
  cq_json_set(&root, "pairs", json_integer((json_int_t)c->n));
  cq_json_set(&root, "translations", json_integer((json_int_t)c->n_right));
  cq_json_set(&root, "intercept", json_real(c->intercept));
  cq_json_set(&root, "features", features);
  cq_status status = root ? cq_json_write(root, path, error) : cq_fail_memory(error, path);
  json_decref(root);
  return status;
}

/* Keeps every score finite; training does not come near these bounds. */
#define MAX_NUMBER    1e9
#define MIN_DEVIATION 1e-9

static cq_status read_number(double *out, const json_t *object, const char *key, double min, const char *path,
                             cq_error *error) {
  if (!cq_json_has(object, key)) return cq_fail_file(error, CQ_ERR_FORMAT, path, "'%s' is missing", key);
  cq_status status = cq_json_get_number(out, object, key, path, error);
  if (!status && !(*out >= min && *out <= MAX_NUMBER))
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "'%s' is %g, expected %g to %g", key, *out, min, MAX_NUMBER);
  return status;
}

static cq_status read_feature(cq_pair_classifier *c, size_t f, const json_t *features, const char *path,
                              cq_error *error) {
  const json_t *feature = json_object_get(features, cq_pair_feature_names[f]);
  if (!json_is_object(feature))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "the feature '%s' is %s", cq_pair_feature_names[f],
                        feature ? "no object" : "missing");
  cq_status status = read_number(&c->mean[f], feature, "mean", -MAX_NUMBER, path, error);
  if (!status) status = read_number(&c->deviation[f], feature, "standard_deviation", MIN_DEVIATION, path, error);
  if (!status) status = read_number(&c->weight[f], feature, "weight", -MAX_NUMBER, path, error);
  return status;
}

static cq_status read_margin(const json_t *root, cq_margin margin, const char *path, cq_error *error) {
  const char *with = NULL;
  cq_status status = cq_json_get_string(&with, root, "margin", path, error);
  if (!status && !with) status = cq_fail_file(error, CQ_ERR_FORMAT, path, "'margin' is missing");
  if (!status && strcmp(with, cq_margin_names[margin]) != 0)
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, path, "it was trained with --margin %s, not %s", with,
                          cq_margin_names[margin]);
  return status;
}

static cq_status read_origin(cq_pair_classifier *out, const json_t *root, const char *path, cq_error *error) {
  int64_t k = 0;
  const char *model = NULL;
  cq_status status = cq_json_get_int(&k, root, "k", 0, 1 << 20, path, error);
  if (!status) status = cq_json_get_string(&model, root, "model", path, error);
  out->k = (size_t)k;
  if (!status) cq_snprintf(out->model, sizeof out->model, "%s", model ? model : "");
  return status;
}

cq_status cq_pair_classifier_read(cq_pair_classifier *out, const char *path, cq_margin margin, cq_error *error) {
  json_t *root = NULL;
  const char *is = NULL;
  *out = (cq_pair_classifier){.margin = margin};
  cq_status status = cq_json_read(&root, path, error);
  if (!status) status = cq_json_get_string(&is, root, "kind", path, error);
  if (!status && (!is || strcmp(is, kind) != 0))
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "not a classifier saved by calque mine");
  if (!status) status = read_margin(root, margin, path, error);
  if (!status) status = read_origin(out, root, path, error);
  if (!status) status = read_number(&out->intercept, root, "intercept", -MAX_NUMBER, path, error);
  const json_t *features = status ? NULL : json_object_get(root, "features");
  if (!status && json_object_size(features) != CQ_N_PAIR_FEATURES)
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "it has %zu features, expected %d", json_object_size(features),
                          CQ_N_PAIR_FEATURES);
  for (size_t f = 0; !status && f < CQ_N_PAIR_FEATURES; f++) status = read_feature(out, f, features, path, error);
  json_decref(root);
  return status;
}
