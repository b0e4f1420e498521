/* Parameters, and the gradients that one shard of a batch collects for them. See param.h. */
#include "nn/param.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

static int64_t rounded_to_lines(int64_t n) {
  return (n + 15) / 16 * 16;
}

const float *cq_param_f32(float **made, const cq_param *p) {
  *made = NULL;
  if (p->value) return p->value;
  if ((*made = cq_alloc_array((size_t)cq_param_floats(p), sizeof **made)))
    cq_kernels_best()->gather_narrow(*made, &p->narrow, NULL, p->rows, p->cols);
  return *made;
}

cq_status cq_params_add(cq_params *params, cq_param *param, cq_error *error) {
  if (!cq_reserve((void **)&params->items, &params->capacity, params->n + 1, sizeof *params->items))
    return cq_fail_memory(error, "parameters");
  params->items[params->n++] = param;
  return CQ_OK;
}

void cq_params_index(cq_params *params) {
  params->n_dense = 0;
  params->n_tables = 0;
  for (size_t i = 0; i < params->n; i++) {
    cq_param *p = params->items[i];
    if (p->frozen) continue;
    if (p->table) {
      p->offset = params->n_tables++;
    } else {
      p->offset = params->n_dense;
      params->n_dense += rounded_to_lines(cq_param_floats(p));
    }
  }
}

int64_t cq_params_floats(const cq_params *params) {
  int64_t total = params->n_dense;
  for (size_t i = 0; i < params->n; i++) {
    const cq_param *p = params->items[i];
    total += p->table && !p->frozen ? rounded_to_lines(cq_param_floats(p)) : 0;
  }
  return total;
}

cq_status cq_params_own(cq_params *params, cq_error *error) {
  if (params->own) return CQ_OK;
  cq_params_index(params);
  float *own = cq_alloc_array_zeroed((size_t)cq_params_floats(params), sizeof *own);
  if (!own) return cq_fail_memory(error, "trainable parameters");
  int64_t next_table = params->n_dense;
  for (size_t i = 0; i < params->n; i++) {
    cq_param *p = params->items[i];
    if (p->frozen) continue;
    float *place = own + (p->table ? next_table : p->offset);
    if (p->value)
      memcpy(place, p->value, (size_t)cq_param_floats(p) * sizeof(float));
    else
      cq_kernels_best()->gather_narrow(place, &p->narrow, NULL, p->rows, p->cols);
    if (p->table) next_table += rounded_to_lines(cq_param_floats(p));
    p->value = place;
  }
  params->own = own;
  return CQ_OK;
}

void cq_params_free(cq_params *params) {
  cq_free(params->own);
  cq_free(params->items);
  *params = (cq_params){0};
}

cq_params cq_params_first(const cq_params *params, size_t n) {
  cq_params first = {.items = params->items, .n = n, .own = params->own};
  for (size_t i = 0; i < n; i++) {
    const cq_param *p = params->items[i];
    if (p->frozen) continue;
    if (p->table)
      first.n_tables++;
    else
      first.n_dense += rounded_to_lines(cq_param_floats(p));
  }
  return first;
}

cq_status cq_gradients_new(cq_gradients *out, const cq_params *params, cq_error *error) {
  *out = (cq_gradients){.n_dense = params->n_dense, .n_tables = params->n_tables};
  out->dense = cq_alloc_array_zeroed((size_t)params->n_dense, sizeof *out->dense);
  out->tables = cq_alloc_array_zeroed((size_t)params->n_tables, sizeof *out->tables);
  bool failed = !out->dense || !out->tables;
  for (size_t i = 0; i < params->n && !failed; i++) {
    const cq_param *p = params->items[i];
    if (!p->table || p->frozen) continue;
    cq_table_gradient *t = &out->tables[p->offset];
    t->dim = p->cols;
    t->slot_of = cq_alloc_array_zeroed((size_t)p->rows, sizeof *t->slot_of);
    failed = !t->slot_of;
  }
  if (!failed) return CQ_OK;
  cq_gradients_free(out);
  return cq_fail_memory(error, "gradients");
}

void cq_gradients_free(cq_gradients *g) {
  for (int i = 0; g->tables && i < g->n_tables; i++) {
    cq_free(g->tables[i].slot_of);
    cq_free(g->tables[i].row_of);
    cq_free(g->tables[i].rows);
  }
  cq_free(g->tables);
  cq_free(g->dense);
  *g = (cq_gradients){0};
}

void cq_gradients_clear(cq_gradients *g) {
  memset(g->dense, 0, (size_t)g->n_dense * sizeof *g->dense);
  for (int i = 0; i < g->n_tables; i++) {
    cq_table_gradient *t = &g->tables[i];
    for (size_t slot = 0; slot < t->n; slot++) t->slot_of[t->row_of[slot]] = 0;
    t->n = 0;
  }
}

cq_gradients cq_gradients_first(const cq_gradients *g, const cq_params *first) {
  assert(first->n_dense <= g->n_dense && first->n_tables <= g->n_tables);
  return (cq_gradients){.dense = g->dense, .n_dense = first->n_dense, .tables = g->tables, .n_tables = first->n_tables};
}

void cq_gradients_pass(const cq_gradients *g, const cq_param *const *params, size_t n) {
  int64_t lowest = g->n_dense;
  if (!g->passed) return;
  for (size_t i = 0; i < n; i++) {
    const cq_param *p = params[i];
    if (p && !p->frozen && !p->table && p->offset < lowest) lowest = p->offset;
  }
  g->passed(g->context, lowest);
}

cq_status cq_gradient_slots(int32_t *slots, cq_gradients *g, const cq_param *p, const int32_t *ids, int64_t n,
                            cq_error *error) {
  assert(p->table);
  cq_table_gradient *t = &g->tables[p->offset];
  size_t dim = (size_t)t->dim;
  for (int64_t i = 0; i < n; i++) {
    int32_t *slot = &t->slot_of[ids[i]];
    if (*slot == 0) {
      if (!cq_reserve((void **)&t->row_of, &t->row_capacity, t->n + 1, sizeof *t->row_of) ||
          !cq_reserve((void **)&t->rows, &t->float_capacity, (t->n + 1) * dim, sizeof *t->rows))
        return cq_fail_memory(error, "gradient of a table");
      memset(t->rows + t->n * dim, 0, dim * sizeof *t->rows);
      t->row_of[t->n++] = ids[i];
      *slot = (int32_t)t->n;
    }
    slots[i] = *slot - 1;
  }
  return CQ_OK;
}

cq_status cq_gradients_add_tables(cq_gradients *into, const cq_gradients *from, const cq_kernels *kernels,
                                  cq_error *error) {
  for (int i = 0; i < from->n_tables; i++) {
    const cq_table_gradient *source = &from->tables[i];
    cq_table_gradient *target = &into->tables[i];
    const cq_param place = {.table = true, .offset = i};
    for (size_t s = 0; s < source->n; s++) {
      int32_t slot;
      cq_status status = cq_gradient_slots(&slot, into, &place, &source->row_of[s], 1, error);
      if (status) return status;
      kernels->add(target->rows + slot * source->dim, source->rows + (int64_t)s * source->dim, source->dim);
    }
  }
  return CQ_OK;
}
