#include "train/optimizer_state.h"

#include <stdio.h>

/* Which step each row of a table has been brought to. */
static void table_section(char name[32], const cq_param *p) {
  snprintf(name, 32, "table.steps.%lld", (long long)p->offset);
}

cq_status cq_optimizer_save(const cq_optimizer *o, cq_checkpoint_writer *w, cq_error *error) {
  const cq_params *params = o->params;
  const size_t n_bytes = (size_t)o->n_floats * sizeof(float);
  cq_status status = cq_checkpoint_writer_section(w, "parameters", params->own, n_bytes, error);
  if (!status) status = cq_checkpoint_writer_section(w, "adam.m", o->m, n_bytes, error);
  if (!status) status = cq_checkpoint_writer_section(w, "adam.v", o->v, n_bytes, error);
  for (size_t i = 0; !status && i < params->n; i++) {
    const cq_param *p = params->items[i];
    char name[32];
    if (!p->table) continue;
    table_section(name, p);
    status = cq_checkpoint_writer_section(w, name, o->row_steps[p->offset], (size_t)p->rows * sizeof(uint32_t), error);
  }
  return status;
}

cq_status cq_optimizer_restore(cq_optimizer *o, const cq_checkpoint *c, cq_error *error) {
  const cq_params *params = o->params;
  const size_t n_bytes = (size_t)o->n_floats * sizeof(float);
  cq_status status = cq_checkpoint_read(params->own, n_bytes, c, "parameters", error);
  if (!status) status = cq_checkpoint_read(o->m, n_bytes, c, "adam.m", error);
  if (!status) status = cq_checkpoint_read(o->v, n_bytes, c, "adam.v", error);
  for (size_t i = 0; !status && i < params->n; i++) {
    const cq_param *p = params->items[i];
    char name[32];
    if (!p->table) continue;
    table_section(name, p);
    status = cq_checkpoint_read(o->row_steps[p->offset], (size_t)p->rows * sizeof(uint32_t), c, name, error);
  }
  return status;
}
