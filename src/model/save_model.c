/* Writes a model directory in sentence-transformers' layout (see directory.c). */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "calque/version.h"
#include "format/json.h"
#include "model/encoder.h"
#include "model/modules.h"
#include "model/transformer_module.h"

#include <string.h>

#define MAX_PATH 4096

/* The path of a module: a Transformer's files are in the root, where every other tool expects them. */
static void module_path(char *out, size_t size, const cq_encoder *e, size_t index) {
  if (index == 0 && cq_is_transformer(e->modules[0]))
    out[0] = '\0';
  else
    snprintf(out, size, "%zu_%s", index, e->modules[index]->type->name);
}

/* transformers' classes that have a pooler, which is not saved here: without the argument they report its weights as missing. */
static const char *const with_poolers[] = {"bert",   "roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "mpnet",
                                           "albert", "ernie",   NULL};

static cq_status write_transformer_config(const cq_encoder *e, const char *directory, cq_error *error) {
  const cq_module *m = e->modules[0];
  const char *type = json_string_value(json_object_get(((const cq_transformer *)m)->config, "model_type"));
  json_t *config =
      json_pack("{s:I, s:b}", "max_seq_length", (json_int_t)e->max_seq_length, "do_lower_case", m->lowercase);
  for (size_t i = 0; type && with_poolers[i]; i++) {
    if (!strcmp(type, with_poolers[i])) cq_json_set(&config, "model_args", json_pack("{s:b}", "add_pooling_layer", 0));
  }
  return cq_json_save(config, directory, "sentence_bert_config.json", error);
}

static cq_status write_modules(const cq_encoder *e, cq_dtype weights, const char *directory, cq_error *error) {
  json_t *list = json_array();
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < e->n_modules; i++) {
    const cq_module *m = e->modules[i];
    char name[64], number[24], path[MAX_PATH];
    module_path(name, sizeof name, e, i);
    snprintf(number, sizeof number, "%zu", i);
    cq_json_push(&list, json_pack("{s:I, s:s, s:s, s:s}", "idx", (json_int_t)i, "name", number, "path", name, "type",
                                  m->type->type_name));
    if (name[0])
      status = cq_path_join(path, sizeof path, directory, name, error);
    else
      snprintf(path, sizeof path, "%s", directory);
    if (!status) status = cq_directory_make(path, error);
    if (!status && m->type->save) status = m->type->save(m, weights, path, error);
    if (!status && i == 0 && name[0] == '\0') status = write_transformer_config(e, path, error);
  }
  if (status) {
    json_decref(list);
    return status;
  }
  return cq_json_save(list, directory, "modules.json", error);
}

static cq_status write_model_config(const cq_encoder *e, const char *directory, cq_error *error) {
  json_t *prompts = e->prompts ? cq_json_deep_copy(e->prompts) : json_object();
  json_t *config = json_pack("{s:{s:s}, s:o, s:s?, s:s?}", "__version__", "calque", CQ_VERSION, "prompts", prompts,
                             "default_prompt_name", e->default_prompt_name, "similarity_fn_name", e->similarity);
  if (e->truncate_dim) cq_json_set(&config, "truncate_dim", json_integer(e->truncate_dim));
  if (e->good_match > 0) cq_json_set(&config, "good_match", json_real(e->good_match));
  return cq_json_save(config, directory, "config_sentence_transformers.json", error);
}

/* transformers' layout, which all versions of sentence-transformers read: both modules in the root's files. */
static cq_status write_reranker(const cq_encoder *e, cq_dtype weights, const char *directory, cq_error *error) {
  const cq_module *m = e->modules[0];
  cq_status status = m->type->save(m, weights, directory, error);
  if (!status && m->lowercase) status = write_transformer_config(e, directory, error);
  return status ? status : cq_head_save(e->modules[e->n_modules - 1], m, weights, directory, error);
}

cq_status cq_encoder_write(const cq_encoder *e, cq_dtype weights, const char *directory, const char *card,
                           cq_error *error) {
  char path[MAX_PATH];
  cq_status status =
      e->of_pairs ? write_reranker(e, weights, directory, error) : write_modules(e, weights, directory, error);
  if (!status && !e->of_pairs) status = write_model_config(e, directory, error);
  if (!status && card && !(status = cq_path_join(path, sizeof path, directory, "README.md", error)))
    status = cq_file_write(path, card, strlen(card), error);
  return status;
}

cq_status cq_encoder_save(const cq_encoder *e, const char *directory, bool replace, const char *card, cq_error *error) {
  cq_directory_writer w = {0};
  cq_status status = cq_directory_writer_open(&w, directory, replace, error);
  if (status) return status;
  status = cq_encoder_write(e, CQ_F32, w.temporary, card, error);
  if (!status) status = cq_directory_writer_commit(&w, error);
  cq_directory_writer_abort(&w);
  return status;
}
