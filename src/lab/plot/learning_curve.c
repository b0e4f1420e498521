/* Reads the log of encoder_training.c:
 *
 *   {"type":"step","step":1,"kind":"pairs","loss":0.4,"learning_rate":1e-4,...}      kind: if a run has several losses
 *   {"type":"evaluate","step":100,"figures":{"parallel":[{"label":"de","source_to_target":0.9,"target_to_source":0.8,
 *    "mse_target":0.1,...}],"sts":[{"label":"de","spearman":0.7,...}],...},...}     "reranker":true: see cq_dev_json()
 *
 * Every value goes to the curve of its kind and name. Other types are skipped. A log whose first record has the type
 * "run" is that of autoencode.c. */
#include "calque/lab/learning_curve.h"

#include "base/error.h"
#include "base/memory.h"
#include "lab/plot/training_log.h"

#include <math.h>
#include <string.h>

typedef struct growing_curve {
  cq_curve curve;
  double *steps, *values;
  size_t steps_room, values_room;
} growing_curve;

struct cq_learning_curve {
  char *path;
  bool of_autoencoders;
  growing_curve *curves;
  size_t n, capacity;
};

static growing_curve *curve_of(cq_learning_curve *c, cq_curve_kind kind, const char *name) {
  for (size_t i = 0; i < c->n; i++)
    if (c->curves[i].curve.kind == kind && !strcmp(c->curves[i].curve.name, name)) return &c->curves[i];
  if (!cq_reserve((void **)&c->curves, &c->capacity, c->n + 1, sizeof *c->curves)) return NULL;
  growing_curve *g = &c->curves[c->n];
  *g = (growing_curve){.curve = {.kind = kind, .name = cq_strdup(name)}};
  if (!g->curve.name) return NULL;
  c->n++;
  return g;
}

static cq_status add_point(cq_learning_curve *c, cq_curve_kind kind, const char *name, double step, double value,
                           cq_error *error) {
  if (!isfinite(value)) return CQ_OK;
  growing_curve *g = curve_of(c, kind, name);
  if (!g || !cq_reserve((void **)&g->steps, &g->steps_room, g->curve.n + 1, sizeof *g->steps) ||
      !cq_reserve((void **)&g->values, &g->values_room, g->curve.n + 1, sizeof *g->values))
    return cq_fail_memory(error, c->path);
  g->steps[g->curve.n] = step, g->values[g->curve.n++] = value;
  g->curve.steps = g->steps, g->curve.values = g->values;
  return CQ_OK;
}

/* NaN: null. */
static double number_of(const json_t *value) {
  return json_is_number(value) ? json_number_value(value) : NAN;
}

static cq_status take_step(cq_learning_curve *c, const cq_log_record *record, cq_error *error) {
  json_error_t problem;
  json_int_t step;
  const char *kind = "loss";
  double loss;
  if (json_unpack_ex(record->value, &problem, 0, "{s:I, s:F, s?s}", "step", &step, "loss", &loss, "kind", &kind))
    return cq_log_fail(record, &problem, error);
  return add_point(c, CQ_CURVE_LOSS, kind, (double)step, loss, error);
}

static cq_status take_dev_set(cq_learning_curve *c, const cq_log_record *record, cq_curve_kind kind, double step,
                              json_t *of, cq_error *error) {
  json_error_t problem;
  const char *label;
  json_t *forward, *back, *mse;
  if (json_unpack_ex(of, &problem, 0, "{s:s, s:o, s:o, s:o}", "label", &label, "source_to_target", &forward,
                     "target_to_source", &back, "mse_target", &mse))
    return cq_log_fail(record, &problem, error);
  const double first = number_of(forward), figure = kind == CQ_CURVE_LOGITS ? first : (first + number_of(back)) / 2;
  cq_status status = add_point(c, kind, label, step, figure, error);
  return status ? status : add_point(c, CQ_CURVE_MSE, label, step, number_of(mse), error);
}

static cq_status take_evaluation(cq_learning_curve *c, const cq_log_record *record, cq_error *error) {
  json_error_t problem;
  json_int_t step;
  json_t *parallel, *sts, *of, *translation, *mean_sts, *mean_mse, *spearman;
  const char *label;
  size_t i;
  int of_reranker = 0;
  cq_status status = CQ_OK;
  if (json_unpack_ex(record->value, &problem, 0, "{s:I, s:{s:o, s:o, s:o, s:o, s:o, s?b}}", "step", &step, "figures",
                     "parallel", &parallel, "sts", &sts, "mean_translation", &translation, "mean_sts", &mean_sts,
                     "mean_mse", &mean_mse, "reranker", &of_reranker))
    return cq_log_fail(record, &problem, error);
  const cq_curve_kind kind = of_reranker ? CQ_CURVE_LOGITS : CQ_CURVE_TRANSLATION;
  const double at = (double)step;
  json_array_foreach(parallel, i, of) {
    if (!status) status = take_dev_set(c, record, kind, at, of, error);
  }
  json_array_foreach(sts, i, of) {
    if (status) break;
    if (json_unpack_ex(of, &problem, 0, "{s:s, s:o}", "label", &label, "spearman", &spearman))
      return cq_log_fail(record, &problem, error);
    status = add_point(c, CQ_CURVE_STS, label, at, number_of(spearman), error);
  }
  if (!status && json_array_size(parallel) > 1)
    status = add_point(c, kind, "mean of dev sets", at, number_of(translation), error);
  if (!status && json_array_size(parallel) > 1)
    status = add_point(c, CQ_CURVE_MSE, "mean of dev sets", at, number_of(mean_mse), error);
  if (!status && json_array_size(sts) > 1)
    status = add_point(c, CQ_CURVE_STS, "mean of dev sets", at, number_of(mean_sts), error);
  return status;
}

static cq_status take_record(void *context, const cq_log_record *record, cq_error *error) {
  cq_learning_curve *c = context;
  if (record->line == 1) c->of_autoencoders = !strcmp(record->type, "run");
  if (c->of_autoencoders) return CQ_OK;
  return !strcmp(record->type, "step")       ? take_step(c, record, error)
         : !strcmp(record->type, "evaluate") ? take_evaluation(c, record, error)
                                             : CQ_OK;
}

cq_status cq_learning_curve_read(cq_learning_curve **out, const char *path, cq_error *error) {
  cq_learning_curve *c = cq_alloc_zeroed(sizeof *c);
  *out = NULL;
  if (!c) return cq_fail_memory(error, path);
  cq_status status = cq_log_find(&c->path, path, error);
  if (!status) status = cq_log_read(c->path, take_record, c, error);
  if (!status && c->n == 0 && !c->of_autoencoders)
    status = cq_fail_file(error, CQ_ERR_FORMAT, c->path, "no step is logged in it");
  if (status)
    cq_learning_curve_free(c);
  else
    *out = c;
  return status;
}

void cq_learning_curve_free(cq_learning_curve *c) {
  if (!c) return;
  for (size_t i = 0; i < c->n; i++) {
    cq_free(c->curves[i].curve.name);
    cq_free(c->curves[i].steps);
    cq_free(c->curves[i].values);
  }
  cq_free(c->curves);
  cq_free(c->path);
  cq_free(c);
}

const char *cq_learning_curve_path(const cq_learning_curve *c) {
  return c->path;
}

bool cq_learning_curve_of_autoencoders(const cq_learning_curve *c) {
  return c->of_autoencoders;
}

const cq_curve *cq_learning_curve_get(const cq_learning_curve *c, size_t i) {
  return i < c->n ? &c->curves[i].curve : NULL;
}
