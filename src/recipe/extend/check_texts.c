#include "recipe/extend/check_texts.h"

#include "model/encoder.h"
#include "recipe/train/columns.h"

static cq_status read_dictionaries(cq_parallel *out, const cq_extend_texts *t, cq_error *error) {
  const cq_extend_options *o = t->o;
  const cq_parallel_options options = {.skip_bad = o->skip_bad};
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < o->n_dictionaries; i++) {
    const cq_training_data *given = &o->dictionaries[i];
    status = cq_parallel_add(out, given->path, given->label, given->weight, &options, error);
    if (status) break;
    const cq_parallel_set *set = &out->sets[out->n_sets - 1];
    cq_extend_choose(t->news, "dictionary of %s: %u words, %u translations, %llu malformed skipped (--dictionary)",
                     set->label, set->n_entries, set->n_pairs, (unsigned long long)set->n_bad);
  }
  return status;
}

cq_status cq_extend_check_texts(const cq_extend_texts *t, const cq_parallel *translations, cq_error *error) {
  cq_parallel dictionaries = {0};
  cq_encoder *teacher = NULL;
  cq_status status = read_dictionaries(&dictionaries, t, error);
  if (!status) status = cq_encoder_open(&teacher, t->o->model, NULL, error);
  if (!status) {
    const cq_tokenizer *tokenizer = cq_encoder_text_module(teacher)->tokenizer;
    status = cq_check_columns(translations, tokenizer, cq_extend_notice, t->news, error);
    if (!status) status = cq_check_columns(&dictionaries, tokenizer, cq_extend_notice, t->news, error);
  }
  cq_encoder_free(teacher);
  cq_parallel_free(&dictionaries);
  return status;
}
