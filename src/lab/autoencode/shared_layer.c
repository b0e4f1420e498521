/* A latent layer shared by several encoders, and the sum of its gradients. See shared_layer.h. */
#include "lab/autoencode/shared_layer.h"

#include "base/error.h"

static const cq_module *last_dense(const cq_encoder *e) {
  for (size_t i = e->n_modules; i-- > 0;)
    if (e->modules[i]->type->is_projection) return e->modules[i];
  return NULL;
}

static cq_status check_shapes(const cq_module *first, const cq_module *other, int number, cq_error *error) {
  if (first->n_params != other->n_params)
    return cq_fail(error, CQ_ERR_ARGUMENT, "a shared layer: encoders 1 and %d do not both have its bias", number);
  for (size_t i = 0; i < first->n_params; i++) {
    const cq_param *a = &first->params[i], *b = &other->params[i];
    if (a->rows != b->rows || a->cols != b->cols)
      return cq_fail(error, CQ_ERR_ARGUMENT,
                     "a shared layer: %s is %lld x %lld in encoder 1, %lld x %lld in encoder %d", a->name,
                     (long long)a->rows, (long long)a->cols, (long long)b->rows, (long long)b->cols, number);
  }
  return CQ_OK;
}

cq_status cq_shared_layer_find(cq_shared_layer *out, const cq_encoder *const *encoders, int n_encoders,
                               cq_error *error) {
  cq_shared_layer l = {.n_encoders = n_encoders};
  const cq_module *first = last_dense(encoders[0]);
  *out = (cq_shared_layer){0};
  assert(n_encoders >= 1 && n_encoders <= CQ_MAX_SHARING);
  for (int e = 0; e < n_encoders; e++) {
    const cq_module *m = last_dense(encoders[e]);
    if (!m) return cq_fail(error, CQ_ERR_ARGUMENT, "encoder %d has no Dense module to share", e + 1);
    const cq_status status = check_shapes(first, m, e + 1, error);
    if (status) return status;
    l.params[e] = m->params;
  }
  l.n = first->n_params;
  *out = l;
  return CQ_OK;
}

bool cq_shared_layer_is_view(const cq_shared_layer *l, const cq_param *p) {
  for (int e = 1; e < l->n_encoders; e++)
    for (size_t i = 0; i < l->n; i++)
      if (p == &l->params[e][i]) return true;
  return false;
}

void cq_shared_layer_tie(const cq_shared_layer *l) {
  for (int e = 1; e < l->n_encoders; e++)
    for (size_t i = 0; i < l->n; i++) {
      l->params[e][i].value = l->params[0][i].value;
      l->params[e][i].offset = l->params[0][i].offset;
    }
}
