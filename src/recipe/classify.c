/* A classifier on a frozen encoder: rows of a file -> vectors -> logistic regression -> classes of another file's rows. */
#include "calque/classify.h"

#include "base/error.h"
#include "base/intern.h"
#include "base/memory.h"
#include "recipe/evaluate.h"

struct cq_classifier {
  const cq_encoder *encoder;
  cq_intern classes; /* names, as they came in training */
  cq_logistic model;
};

typedef struct labelled_vectors {
  cq_rows rows;
  float *vectors;    /* [n, dim] */
  uint32_t *classes; /* [n] */
} labelled_vectors;

static void vectors_free(labelled_vectors *v) {
  cq_rows_free(&v->rows);
  cq_free(v->vectors);
  cq_free(v->classes);
}

/* Names of classes get numbers; those that are not known when nothing may be added are an error. */
static cq_status number_classes(labelled_vectors *v, cq_intern *classes, bool add, const char *file, cq_error *error) {
  v->classes = cq_alloc_array(v->rows.n, sizeof *v->classes);
  if (!v->classes) return cq_fail_memory(error, "classes");
  for (size_t i = 0; i < v->rows.n; i++) {
    const cq_slice name = v->rows.column[1][i];
    v->classes[i] = add ? cq_intern_put(classes, name) : cq_intern_find(classes, name);
    if (v->classes[i] != CQ_INTERN_NONE) continue;
    if (add) return cq_fail_memory(error, "classes");
    return cq_fail_file(error, CQ_ERR_FORMAT, file, "row %zu is of class '%.*s', of which there was none to learn from",
                        i + 1, (int)cq_smaller(name.n, 80), name.data);
  }
  return CQ_OK;
}

static cq_status read_vectors(labelled_vectors *out, const cq_encoder *encoder, cq_intern *classes, bool add,
                              cq_pool *pool, const char *file, const cq_eval_options *options, cq_error *error) {
  *out = (labelled_vectors){0};
  cq_status status = cq_rows_read(&out->rows, file, 2, options, error);
  if (!status) status = number_classes(out, classes, add, file, error);
  if (!status)
    status = cq_encode_column(&out->vectors, encoder, pool, out->rows.column[0], out->rows.n,
                              options ? options->prompt : NULL, error);
  return status;
}

cq_status cq_classifier_train(cq_classifier **out, const cq_encoder *encoder, cq_pool *pool, const char *file,
                              const cq_logistic_options *options, const cq_eval_options *eval_options,
                              cq_error *error) {
  labelled_vectors v = {0};
  *out = NULL;
  cq_classifier *c = cq_alloc_zeroed(sizeof *c);
  if (!c) return cq_fail_memory(error, "classifier");
  c->encoder = encoder;
  cq_status status = read_vectors(&v, encoder, &c->classes, true, pool, file, eval_options, error);
  if (!status && c->classes.n < 2) status = cq_fail_file(error, CQ_ERR_ARGUMENT, file, "all rows are of one class");
  if (!status)
    status = cq_logistic_train(&c->model, v.vectors, v.classes, v.rows.n, (size_t)cq_encoder_dim(encoder), c->classes.n,
                               options, pool, error);
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

cq_status cq_eval_classify(cq_classify_result *out, const cq_classifier *c, cq_pool *pool, const char *file,
                           const cq_eval_options *options, cq_error *error) {
  labelled_vectors v;
  cq_intern known = c->classes; /* only looked into */
  cq_status status = read_vectors(&v, c->encoder, &known, false, pool, file, options, error);
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
