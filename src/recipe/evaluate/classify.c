/* A classifier on a frozen encoder: rows of a file -> vectors -> logistic regression -> classes of another file's rows. */
#include "calque/classify.h"

#include "base/error.h"
#include "base/intern.h"
#include "base/memory.h"
#include "format/tsv.h"
#include "recipe/evaluate/evaluate.h"

#include <stdio.h>

struct cq_classifier {
  const cq_encoder *encoder;
  cq_intern classes; /* names, as they came in training */
  cq_logistic model;
};

typedef struct labeled_vectors {
  cq_rows rows;
  float *vectors;    /* [n, dim] */
  uint32_t *classes; /* [n] */
} labeled_vectors;

static void vectors_free(labeled_vectors *v) {
  cq_rows_free(&v->rows);
  cq_free(v->vectors);
  cq_free(v->classes);
}

/* Numbers the class names in the order of the training data; writes the numbers to v. */
static cq_status number_classes(labeled_vectors *v, cq_intern *classes, const char *file, const cq_eval_options *o,
                                cq_error *error) {
  for (size_t i = 0; i < v->rows.n; i++)
    if ((v->classes[i] = cq_intern_put(classes, v->rows.column[1][i])) == CQ_INTERN_NONE)
      return cq_fail_memory(error, "classes");
  if (classes->n > 2 && 2 * classes->n > v->rows.n)
    CQ_NOTIFY(o, "%s: %u classes in %zu rows: are these labels, in column 2?", file, classes->n, v->rows.n);
  return CQ_OK;
}

static cq_status find_classes(labeled_vectors *v, const cq_intern *classes, const char *file, cq_error *error) {
  for (size_t i = 0; i < v->rows.n; i++) {
    const cq_slice name = v->rows.column[1][i];
    if ((v->classes[i] = cq_intern_find(classes, name)) == CQ_INTERN_NONE)
      return cq_fail_file(error, CQ_ERR_FORMAT, file, "row %zu has the class '%.*s', which is not in the training data",
                          i + 1, (int)cq_min(name.n, 80), name.data);
  }
  return CQ_OK;
}

/* Leaves out the rows without a label, and the names of the columns. */
static cq_status keep_labeled(cq_rows *rows, const char *file, const cq_eval_options *o, cq_error *error) {
  size_t n = 0, n_missing = 0;
  for (size_t i = 0; i < rows->n; i++) {
    const cq_slice columns[] = {rows->column[0][i], rows->column[1][i]};
    const cq_label_kind kind = cq_tsv_label(columns, 1, i == 0);
    if (kind == CQ_LABEL_SWAPPED)
      return cq_fail_file(error, CQ_ERR_FORMAT, file, "the label is in column 1, expected in column 2");
    n_missing += kind == CQ_LABEL_MISSING;
    if (kind) continue;
    rows->column[0][n] = columns[0], rows->column[1][n++] = cq_slice_trimmed(columns[1]);
  }
  if (n < rows->n)
    CQ_NOTIFY(o, "%s: left out: %zu rows without a label (-1 or -)%s", file, n_missing,
              rows->n - n > n_missing ? ", the names of the columns" : "");
  rows->n = n;
  return n ? CQ_OK : cq_fail_file(error, CQ_ERR_ARGUMENT, file, "no row has a label");
}

static cq_status read_labeled(labeled_vectors *out, cq_eval_options *o, const char *file,
                              const cq_eval_options *options, cq_error *error) {
  *out = (labeled_vectors){0};
  cq_status status = cq_options_take(o, &cq_group_eval, options, error);
  if (!status) status = cq_rows_read(&out->rows, file, 2, o, error);
  if (!status) status = keep_labeled(&out->rows, file, o, error);
  if (!status && !(out->classes = cq_alloc_array(out->rows.n, sizeof *out->classes)))
    status = cq_fail_memory(error, "classes");
  return status;
}

cq_status cq_classifier_train(cq_classifier **out, const cq_encoder *encoder, const char *file,
                              const cq_logistic_options *options, const cq_eval_options *eval_options, cq_context *ctx,
                              cq_error *error) {
  labeled_vectors v;
  cq_eval_options o;
  *out = NULL;
  cq_classifier *c = cq_alloc_zeroed(sizeof *c);
  if (!c) return cq_fail_memory(error, "classifier");
  c->encoder = encoder;
  cq_status status = read_labeled(&v, &o, file, eval_options, error);
  if (!status) status = number_classes(&v, &c->classes, file, &o, error);
  if (!status && c->classes.n < 2) status = cq_fail_file(error, CQ_ERR_ARGUMENT, file, "all rows are of one class");
  if (!status) status = cq_encode_column(&v.vectors, encoder, ctx, v.rows.column[0], v.rows.n, &o, error);
  if (!status)
    status = cq_logistic_train(&c->model, v.vectors, v.classes, v.rows.n, cq_eval_dim(encoder, &o), c->classes.n,
                               options, ctx, error);
  vectors_free(&v);
  if (status)
    cq_classifier_free(c);
  else
    *out = c;
  return status;
}

void cq_classifier_free(cq_classifier *c) {
  if (!c) return;
  cq_intern_free(&c->classes);
  cq_logistic_free(&c->model);
  cq_free(c);
}

size_t cq_classifier_n_classes(const cq_classifier *c) {
  return c->classes.n;
}

bool cq_classifier_converged(const cq_classifier *c) {
  return c->model.converged;
}

cq_status cq_eval_classify(cq_classify_result *out, const cq_classifier *c, const char *file,
                           const cq_eval_options *options, cq_context *ctx, cq_error *error) {
  labeled_vectors v;
  cq_eval_options o;
  cq_status status = read_labeled(&v, &o, file, options, error);
  if (!status) status = find_classes(&v, &c->classes, file, error);
  o.truncate_dim = (int)c->model.dim; /* as it was trained */
  if (!status) status = cq_encode_column(&v.vectors, c->encoder, ctx, v.rows.column[0], v.rows.n, &o, error);
  uint32_t *predicted = status ? NULL : cq_alloc_array(v.rows.n, sizeof *predicted);
  if (!status && !predicted) status = cq_fail_memory(error, "classes");
  for (size_t i = 0; !status && i < v.rows.n; i++)
    predicted[i] = cq_logistic_class(&c->model, v.vectors + i * c->model.dim);
  if (!status) status = cq_classify_score(out, predicted, v.classes, v.rows.n, c->classes.n, error);
  if (!status) out->n_skipped = v.rows.n_skipped;
  cq_free(predicted);
  vectors_free(&v);
  return status;
}
