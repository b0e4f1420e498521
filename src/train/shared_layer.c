#include "train/shared_layer.h"

#include "base/error.h"

static const cq_module *last_dense(const cq_encoder *e) {
  for (size_t i = e->n_modules; i-- > 0;)
    if (e->modules[i]->type == &cq_dense_type) return e->modules[i];
  return NULL;
}

cq_status cq_shared_layer_find(cq_shared_layer *out, const cq_encoder *const encoders[2], cq_error *error) {
  const cq_module *modules[2];
  *out = (cq_shared_layer){0};
  for (int s = 0; s < 2; s++)
    if (!(modules[s] = last_dense(encoders[s])))
      return cq_fail(error, CQ_ERR_ARGUMENT, "encoder %d has no Dense module to share", s + 1);
  if (modules[0]->n_params != modules[1]->n_params)
    return cq_fail(error, CQ_ERR_ARGUMENT, "a shared layer with a bias in one encoder and without in the other");
  for (size_t i = 0; i < modules[0]->n_params; i++) {
    const cq_param *a = &modules[0]->params[i], *b = &modules[1]->params[i];
    if (a->rows != b->rows || a->cols != b->cols)
      return cq_fail(error, CQ_ERR_ARGUMENT,
                     "a shared layer whose %s is %lld x %lld in one encoder, %lld x %lld in the other", a->name,
                     (long long)a->rows, (long long)a->cols, (long long)b->rows, (long long)b->cols);
  }
  *out = (cq_shared_layer){{modules[0]->params, modules[1]->params}, modules[0]->n_params};
  return CQ_OK;
}

bool cq_shared_layer_is_view(const cq_shared_layer *l, const cq_param *p) {
  for (size_t i = 0; i < l->n; i++)
    if (p == &l->params[1][i]) return true;
  return false;
}

void cq_shared_layer_tie(const cq_shared_layer *l) {
  for (size_t i = 0; i < l->n; i++) {
    l->params[1][i].value = l->params[0][i].value;
    l->params[1][i].offset = l->params[0][i].offset;
  }
}
