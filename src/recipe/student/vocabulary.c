/* Replaces a model's tokenizer and word embeddings, for a transformer or any module with a table of words. */
#include "recipe/student/vocabulary.h"

#include "base/error.h"
#include "model/transformer_module.h"

#include <string.h>

cq_param *cq_student_word_table(cq_module *module) {
  if (module->n_ids) return NULL; /* tokens share rows: there is no row of a word to be replaced */
  for (size_t i = 0; i < module->n_params; i++)
    if (module->params[i].table) return &module->params[i];
  return NULL;
}

cq_status cq_student_put_vocabulary(cq_encoder *e, cq_tokenizer *tokenizer, const float *rows, cq_error *error) {
  cq_module *m = e->modules[0];
  cq_param *table = cq_student_word_table(m);
  if (m->type->has_body) return cq_transformer_set_vocabulary((cq_transformer *)m, tokenizer, rows, &e->arena, error);
  const size_t n = (size_t)cq_tokenizer_describe(tokenizer)->vocab_size * (size_t)table->cols;
  float *copy = cq_arena_array(&e->arena, n, sizeof *copy);
  if (!copy) return cq_fail_memory(error, "word embeddings");
  memcpy(copy, rows, n * sizeof *copy);
  table->value = copy, table->narrow = (cq_narrow_rows){0};
  table->rows = cq_tokenizer_describe(tokenizer)->vocab_size;
  cq_tokenizer_free(m->tokenizer);
  m->tokenizer = tokenizer;
  return CQ_OK;
}
