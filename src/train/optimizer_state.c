#include "train/optimizer_state.h"

#include <stdio.h>

/* Calls `with` on every section. The last are those of the step that each row of a table has been brought to. */
typedef cq_status (*with_section)(void *file, const char *name, void *bytes, size_t n, cq_error *error);

static cq_status for_all_sections(const cq_optimizer *o, bool parameters, const char *prefix, with_section with,
                                  void *file, cq_error *error) {
  const struct {
    const char *name;
    void *bytes;
  } of_floats[] = {{"parameters", o->params->own}, {"adam.m", o->m}, {"adam.v", o->v}};
  cq_status status = CQ_OK;
  char name[64];
  for (size_t i = parameters ? 0 : 1; !status && i < sizeof of_floats / sizeof *of_floats; i++) {
    snprintf(name, sizeof name, "%s%s", prefix, of_floats[i].name);
    status = with(file, name, of_floats[i].bytes, (size_t)o->n_floats * sizeof(float), error);
  }
  for (size_t i = 0; !status && i < o->params->n; i++) {
    const cq_param *p = o->params->items[i];
    if (!p->table) continue;
    snprintf(name, sizeof name, "%stable.steps.%lld", prefix, (long long)p->offset);
    status = with(file, name, o->row_steps[p->offset], (size_t)p->rows * sizeof(uint32_t), error);
  }
  return status;
}

static cq_status write_section(void *file, const char *name, void *bytes, size_t n, cq_error *error) {
  return cq_checkpoint_writer_section(file, name, bytes, n, error);
}

cq_status cq_optimizer_save(const cq_optimizer *o, const char *prefix, cq_checkpoint_writer *w, cq_error *error) {
  return for_all_sections(o, true, prefix, write_section, w, error);
}

cq_status cq_optimizer_save_moments(const cq_optimizer *o, const char *prefix, cq_checkpoint_writer *w,
                                    cq_error *error) {
  return for_all_sections(o, false, prefix, write_section, w, error);
}

static cq_status read_section(void *file, const char *name, void *bytes, size_t n, cq_error *error) {
  return cq_checkpoint_read(bytes, n, file, name, error);
}

cq_status cq_optimizer_restore(cq_optimizer *o, const char *prefix, const cq_checkpoint *c, cq_error *error) {
  return for_all_sections(o, true, prefix, read_section, (void *)(uintptr_t)c, error);
}

cq_status cq_optimizer_restore_moments(cq_optimizer *o, const char *prefix, const cq_checkpoint *c, cq_error *error) {
  return for_all_sections(o, false, prefix, read_section, (void *)(uintptr_t)c, error);
}
