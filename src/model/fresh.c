/* First values of parameters that no file holds. */
#include "base/error.h"
#include "model/modules.h"

static cq_status allocate_param(cq_param *p, cq_arena *arena, cq_error *error) {
  p->value = cq_arena_array(arena, (size_t)cq_param_floats(p), sizeof *p->value);
  return p->value ? CQ_OK : cq_fail_memory(error, p->name);
}

cq_status cq_param_uniform(cq_param *p, double bound, cq_random *random, cq_arena *arena, cq_error *error) {
  cq_status status = allocate_param(p, arena, error);
  for (int64_t i = 0; !status && i < cq_param_floats(p); i++)
    p->value[i] = (float)((2 * cq_random_uniform(random) - 1) * bound);
  return status;
}

cq_status cq_param_normal(cq_param *p, double deviation, cq_random *random, cq_arena *arena, cq_error *error) {
  cq_status status = allocate_param(p, arena, error);
  for (int64_t i = 0; !status && i < cq_param_floats(p); i++)
    p->value[i] = (float)(cq_random_normal(random) * deviation);
  return status;
}

cq_status cq_param_word_table(cq_param *p, const char *name, const cq_tokenizer *tokenizer, int64_t dim,
                              cq_random *random, cq_arena *arena, cq_error *error) {
  const int64_t rows = cq_tokenizer_describe(tokenizer)->vocab_size;
  *p = (cq_param){.name = name, .rows = rows, .cols = dim, .n_dims = 2, .decay = true, .table = true};
  return cq_param_normal(p, 1.0, random, arena, error);
}

cq_status cq_param_constant(cq_param *p, float value, cq_arena *arena, cq_error *error) {
  cq_status status = allocate_param(p, arena, error);
  for (int64_t i = 0; !status && i < cq_param_floats(p); i++) p->value[i] = value;
  return status;
}
