/* Opening a model directory.
 *
 *   modules.json                      [{"idx", "name", "path", "type"}]: the stages and the directory of each
 *   config_sentence_transformers.json prompts, similarity
 *   sentence_bert_config.json         max_seq_length, do_lower_case (beside the first module's files)
 *   config.json, model.safetensors, tokenizer files    the Transformer's, in the root
 *   1_Pooling/config.json, 2_Dense/...                 the other stages
 *
 * A directory with only config.json is a plain Hugging Face encoder: a Transformer and mean pooling. A directory in a
 * model's `languages` is that model with another vocabulary (model_language.h). */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "calque/reranker.h"
#include "format/json.h"
#include "model/encoder.h"
#include "model/model_language.h"
#include "model/modules.h"
#include "model/precision.h"
#include "model/router.h"
#include "model/transformer_module.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PATH 4096

/* --- putting together --- */

cq_status cq_encoder_new(cq_encoder **out, cq_error *error) {
  cq_encoder *e = cq_alloc_zeroed(sizeof *e);
  if (!e) return cq_fail_memory(error, "an encoder");
  e->kernels = cq_kernels_best();
  e->include_prompt = true;
  *out = e;
  return CQ_OK;
}

void cq_encoder_free(cq_encoder *e) {
  if (!e) return;
  cq_params_free(&e->params);
  for (size_t i = e->n_modules; i-- > 0;)
    if (e->modules[i]->type->free) e->modules[i]->type->free(e->modules[i]);
  json_decref(e->config);
  cq_free(e->directory);
  cq_free(e->language);
  cq_arena_free(&e->arena);
  cq_free(e);
}

cq_status cq_encoder_append(cq_encoder *e, cq_module *module, cq_error *error) {
  cq_status status = CQ_OK;
  assert(!e->params.own);
  if (e->n_modules == CQ_MAX_MODULES)
    status = cq_fail(error, CQ_ERR_UNSUPPORTED, "more than %d modules", CQ_MAX_MODULES);
  else if (module->type->takes_text != (e->n_modules == 0))
    status = cq_fail(error, CQ_ERR_UNSUPPORTED, "module %zu is a %s, but only the first module takes text",
                     e->n_modules, module->type->name);
  for (size_t i = 0; !status && i < module->n_params; i++)
    status = cq_params_add(&e->params, &module->params[i], error);
  if (status) {
    if (module->type->free) module->type->free(module);
    return status;
  }
  if (e->n_modules == 0) {
    e->max_seq_length = module->max_seq_length;
    if (cq_is_transformer(module) && !((const cq_transformer *)module)->any_length)
      e->max_positions = module->max_seq_length;
  }
  if (module->leaves_out_prompt) e->include_prompt = false;
  e->modules[e->n_modules++] = module;
  cq_params_index(&e->params);
  return CQ_OK;
}

cq_status cq_encoder_append_ending(cq_encoder *e, int64_t dense_dim, bool normalize, cq_random *random,
                                   cq_error *error) {
  cq_module *module;
  cq_status status = CQ_OK;
  if (dense_dim > 0) {
    const char *path = cq_arena_printf(&e->arena, "%zu_Dense", e->n_modules);
    if (!path) return cq_fail_memory(error, "a Dense module");
    status = cq_dense_new(&module, cq_encoder_full_dim(e), dense_dim, CQ_IDENTITY, path, random, &e->arena, error);
    if (!status) status = cq_encoder_append(e, module, error);
  }
  if (!status && normalize) {
    const char *path = cq_arena_printf(&e->arena, "%zu_Normalize", e->n_modules);
    if (!path) return cq_fail_memory(error, "a Normalize module");
    status = cq_normalize_new(&module, cq_encoder_full_dim(e), path, &e->arena, error);
    if (!status) status = cq_encoder_append(e, module, error);
  }
  return status;
}

cq_status cq_encoder_limit(cq_encoder *e, int length, cq_error *error) {
  if (length < 1 || (e->max_positions > 0 && length > e->max_positions))
    return cq_fail(error, CQ_ERR_ARGUMENT, "the maximum sequence length is %d, the model takes 1 to %d", length,
                   e->max_positions);
  e->max_seq_length = e->modules[0]->max_seq_length = length;
  return CQ_OK;
}

cq_param *cq_encoder_word_table(const int32_t **row_of, const cq_encoder *e) {
  const cq_module *text = cq_encoder_text_module(e);
  if (row_of) *row_of = text->row_of;
  for (size_t i = 0; i < text->n_params && (row_of || !text->n_ids); i++)
    if (text->params[i].table) return &text->params[i];
  return NULL;
}

cq_status cq_encoder_put_vocabulary(cq_encoder *e, cq_tokenizer *tokenizer, const float *rows, cq_error *error) {
  cq_module *m = e->modules[0];
  cq_param *table = cq_encoder_word_table(NULL, e);
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

/* --- the small configuration files --- */

/* Reads directory/name if it exists; it must hold an object. Otherwise *out stays NULL. */
static cq_status read_if_there(json_t **out, char path[MAX_PATH], const char *directory, const char *name,
                               cq_error *error) {
  const cq_status status = cq_path_join(path, MAX_PATH, directory, name, error);
  return status || !cq_file_exists(path) ? status : cq_json_open(out, path, MAX_PATH, directory, name, error);
}

cq_status cq_unsupported_key(const char *path, const char *key, const json_t *value, cq_error *error) {
  char *text = cq_json_dump(value, JSON_COMPACT | JSON_ENCODE_ANY);
  cq_status status = cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "key '%s' with value %.200s is not supported", key,
                                  text ? text : "?");
  cq_free(text);
  return status;
}

static bool is_text(const json_t *value, const char *text) {
  return json_is_string(value) && strcmp(json_string_value(value), text) == 0;
}

/* A value that changes nothing: null, false, an empty list or object. */
static bool is_void(const json_t *value) {
  return json_is_null(value) || json_is_false(value) || (json_is_object(value) && json_object_size(value) == 0) ||
         (json_is_array(value) && json_array_size(value) == 0);
}

/* sentence_bert_config.json of any version. *length 0: not given. */
static cq_status read_sentence_config(int64_t *length, bool *lowercase, const char *directory, bool of_pairs,
                                      cq_error *error) {
  static const char *const names[] = {"sentence_bert_config.json",       "sentence_roberta_config.json",
                                      "sentence_distilbert_config.json", "sentence_camembert_config.json",
                                      "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
                                      "sentence_xlnet_config.json"};
  char path[MAX_PATH];
  json_t *config = NULL, *value;
  const char *key;
  cq_status status = CQ_OK;
  for (size_t i = 0; i < sizeof names / sizeof *names && !status && !config; i++)
    status = read_if_there(&config, path, directory, names[i], error);
  if (!status) status = cq_json_get_int(length, config, "max_seq_length", 1, INT32_MAX, path, error);
  if (!status) status = cq_json_get_bool(lowercase, config, "do_lower_case", path, error);
  json_object_foreach(config, key, value) {
    if (status) break;
    bool fine = is_void(value) || strcmp(key, "max_seq_length") == 0 || strcmp(key, "do_lower_case") == 0;
    if (strcmp(key, "transformer_task") == 0)
      fine = fine || is_text(value, of_pairs ? "sequence-classification" : "feature-extraction");
    if (strcmp(key, "module_output_name") == 0) fine = fine || is_text(value, of_pairs ? "scores" : "token_embeddings");
    if (strcmp(key, "modality_config") == 0) {
      const json_t *text = json_object_get(value, "text");
      fine = fine || (json_object_size(value) == 1 && is_text(json_object_get(text, "method"), "forward") &&
                      is_text(json_object_get(text, "method_output_name"), of_pairs ? "logits" : "last_hidden_state"));
    }
    if (strcmp(key, "model_args") == 0) /* as save_model.c writes it */
      fine = fine || (json_object_size(value) == 1 && json_is_false(json_object_get(value, "add_pooling_layer")));
    if (!fine) status = cq_unsupported_key(path, key, value, error);
  }
  json_decref(config);
  return status;
}

/* config_sentence_transformers.json: prompts and similarity. The strings stay in e->config. */
static cq_status read_model_config(cq_encoder *e, cq_error *error) {
  char path[MAX_PATH];
  const char *kind = NULL, *key;
  json_t *prompt;
  cq_status status = read_if_there(&e->config, path, e->directory, "config_sentence_transformers.json", error);
  if (status || !e->config) return status;
  if ((status = cq_json_get_string(&e->default_prompt_name, e->config, "default_prompt_name", path, error)) ||
      (status = cq_json_get_string(&e->similarity, e->config, "similarity_fn_name", path, error)) ||
      (status = cq_json_get_string(&kind, e->config, "model_type", path, error)))
    return status;
  if (kind && strcmp(kind, e->of_pairs ? "CrossEncoder" : "SentenceTransformer") != 0)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "model_type '%s' is %s", kind,
                        !strcmp(kind, "CrossEncoder")          ? "a cross-encoder, which gives no vectors"
                        : !strcmp(kind, "SentenceTransformer") ? "an embedding model, expected a reranker"
                                                               : "not known");
  if ((status = cq_json_get_int(&e->truncate_dim, e->config, "truncate_dim", 1, INT32_MAX, path, error)) ||
      (status = cq_json_get_number(&e->good_match, e->config, "good_match", path, error)))
    return status;
  json_t *prompts = json_object_get(e->config, "prompts");
  if (prompts && !json_is_null(prompts)) {
    if (!json_is_object(prompts)) return cq_fail_file(error, CQ_ERR_FORMAT, path, "'prompts' is not an object");
    json_object_foreach(prompts, key, prompt) if (!json_is_string(prompt)) return cq_fail_file(
        error, CQ_ERR_FORMAT, path, "prompt '%s' is not a string", key);
    e->prompts = prompts;
  }
  if (e->default_prompt_name && !json_object_get(e->prompts, e->default_prompt_name))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "default_prompt_name '%s' is not among the prompts",
                        e->default_prompt_name);
  return CQ_OK;
}

/* --- the modules --- */

/* Every id that the tokenizer may produce must be a row of the module's table. */
static cq_status check_table_rows(const cq_module *module, const char *directory, cq_error *error) {
  cq_status status = CQ_OK;
  for (size_t i = 0; i < module->n_params && !status; i++) {
    const cq_param *p = &module->params[i];
    if (p->table)
      status = cq_tokenizer_limit(module->tokenizer, module->n_ids ? module->n_ids : p->rows, directory,
                                  module->n_ids ? "mapping" : p->name, error);
  }
  return status;
}

static cq_status open_module(cq_encoder *e, const cq_module_type *type, const char *path,
                             const cq_encoder_options *options, cq_error *error) {
  char directory[MAX_PATH];
  const char *from = e->language ? e->language : directory; /* tokenizer and word embeddings */
  int64_t length = 0;
  cq_module *before = e->n_modules > 0 ? e->modules[e->n_modules - 1] : NULL;
  cq_module_source source = {.root = e->directory,
                             .directory = directory,
                             .language = e->language,
                             .task = options->task,
                             .arena = &e->arena,
                             .notice = options->notice,
                             .notice_context = options->notice_context,
                             .drop_unknown = options->drop_unknown,
                             .before = before,
                             .input_dim = before ? before->output_dim : 0,
                             .input_is_sentence = before && before->output_is_sentence};
  cq_module *module = NULL;
  cq_status status = CQ_OK;
  if (options->drop_unknown && type->takes_text && !type->is_static)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, e->directory,
                        "drop-unknown is for a StaticEmbedding, the model begins with a %s", type->name);
  if (e->language && type->takes_text && !type->has_body)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, e->language,
                        "the model is a %s, which has no layers that a language's word embeddings could use",
                        type->name);
  if (*path)
    status = cq_path_join(directory, sizeof directory, e->directory, path, error);
  else if (snprintf(directory, sizeof directory, "%s", e->directory) >= (int)sizeof directory)
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, e->directory, "the path is too long");
  if (!status && type->has_body)
    status = read_sentence_config(&length, &source.lowercase, directory, e->of_pairs, error);
  if (!status) status = type->open(&module, &source, error);
  if (!status) {
    if (e->language) source.lowercase = false; /* case folding is decided by the language's tokenizer */
    module->lowercase = source.lowercase;
    module->path = cq_arena_strdup(&e->arena, path);
    if (!module->path) status = cq_fail_memory(error, "a module");
  }
  if (!status && type->takes_text && !type->tokenize)
    status = cq_tokenizer_open(&module->tokenizer, from, source.lowercase, error);
  if (!status && module->tokenizer) status = check_table_rows(module, from, error);
  if (!status && e->language && type->has_body)
    status = cq_transformer_adopt_vocabulary((cq_transformer *)module, error);
  if (status) {
    if (module && module->type->free) module->type->free(module);
    return status;
  }
  if ((status = cq_encoder_append(e, module, error)) || before) return status;
  if (type->has_body) e->has_routes = ((cq_transformer *)module)->has_adapters;
  if (options->max_seq_length > 0) return cq_encoder_limit(e, options->max_seq_length, error);
  if (!type->has_body) return CQ_OK;

  /* The length comes from the configuration, else from the tokenizer, which never exceeds the number of positions. A
   * configuration's may, where positions are computed. */
  int64_t most = e->max_positions;
  if (length == 0) {
    length = cq_tokenizer_describe(module->tokenizer)->model_max_length;
    most = module->max_seq_length;
  }
  if (most > 0 && (length == 0 || length > most)) length = most;
  if (length > INT32_MAX) length = 0;
  e->max_seq_length = module->max_seq_length = (int)length;
  return CQ_OK;
}

/* A module's folder may not lead out of the model's. */
static bool path_stays_inside(const char *path) {
  if (*path == '/') return false;
  for (const char *part = path; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
    if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0')) return false;
  return true;
}

static cq_status open_router(cq_encoder *e, const char *path, const cq_encoder_options *options, cq_error *error) {
  char directory[MAX_PATH], below[MAX_PATH];
  json_t *list = NULL;
  const json_t *item;
  const char *route;
  size_t i;
  e->has_routes = true;
  cq_status status = cq_path_join(directory, sizeof directory, e->directory, path, error);
  if (!status) status = cq_router_open(&list, &route, directory, options->task, error);
  if (status) return status;
  json_array_foreach(list, i, item) {
    const char *id = json_string_value(json_object_get(item, "path")),
               *type_name = json_string_value(json_object_get(item, "type"));
    const cq_module_type *type = cq_module_type_find(type_name);
    if (!path_stays_inside(id))
      status = cq_fail_file(error, CQ_ERR_FORMAT, directory, "module '%s' lies outside of the directory", id);
    else if (!type)
      status = cq_module_type_unknown(type_name, directory, error);
    else if (snprintf(below, sizeof below, "%s%s%s", path, *path ? "/" : "", id) >= (int)sizeof below)
      status = cq_fail_file(error, CQ_ERR_ARGUMENT, directory, "the path is too long");
    if (!status && type) status = open_module(e, type, below, options, error);
    if (status) break;
  }
  if (!status && options->notice && !options->task) {
    char text[MAX_PATH + 160];
    snprintf(text, sizeof text, "%s: a model with a route for each task, taking '%s'", e->directory, route);
    options->notice(options->notice_context, text);
  }
  json_decref(list);
  return status;
}

/* kwargs ["task"] of jina-embeddings-v3's own module: the task is an argument, as it is for our modules on opening. */
static bool is_task_argument(const char *type, const json_t *extra) {
  return !strcmp(type, "custom_st.Transformer") && json_array_size(extra) == 1 &&
         is_text(json_array_get(extra, 0), "task");
}

static cq_status open_listed(cq_encoder *e, const json_t *list, const char *list_path,
                             const cq_encoder_options *options, cq_error *error) {
  size_t i;
  const json_t *item;
  if (!json_is_array(list) || json_array_size(list) == 0)
    return cq_fail_file(error, CQ_ERR_FORMAT, list_path, "expected a list of modules");
  json_array_foreach(list, i, item) {
    const char *path = "", *type_name = NULL;
    cq_status status;
    if (!json_is_object(item)) return cq_fail_file(error, CQ_ERR_FORMAT, list_path, "module %zu is not an object", i);
    if ((status = cq_json_get_string(&path, item, "path", list_path, error)) ||
        (status = cq_json_get_string(&type_name, item, "type", list_path, error)))
      return status;
    if (!type_name) return cq_fail_file(error, CQ_ERR_FORMAT, list_path, "module %zu has no type", i);
    if (!path_stays_inside(path))
      return cq_fail_file(error, CQ_ERR_FORMAT, list_path, "module %zu lies outside of the directory: '%s'", i, path);
    const json_t *extra = json_object_get(item, "kwargs");
    if (extra && !is_void(extra) && !is_task_argument(type_name, extra))
      return cq_unsupported_key(list_path, "kwargs", extra, error);
    if (cq_is_router(type_name)) {
      if ((status = open_router(e, path, options, error))) return status;
      continue;
    }
    const cq_module_type *type = cq_module_type_find(type_name);
    if (!type) return cq_module_type_unknown(type_name, list_path, error);
    if ((status = open_module(e, type, path, options, error))) return status;
  }
  if (!e->modules[e->n_modules - 1]->output_is_sentence)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, list_path, "no module turns the tokens into a sentence vector");
  return CQ_OK;
}

/* model2vec's own configuration: whether vectors are scaled to length 1. *is_one: the file is one. */
static cq_status read_model2vec_config(bool *is_one, bool *normalize, const char *path, cq_error *error) {
  json_t *config;
  cq_status status = cq_json_read(&config, path, error);
  if (status) return status;
  *is_one = is_text(json_object_get(config, "model_type"), "model2vec");
  if (*is_one) status = cq_json_get_bool(normalize, config, "normalize", path, error);
  json_decref(config);
  return status;
}

static cq_status open_model2vec(cq_encoder *e, bool normalize, const cq_encoder_options *options, cq_error *error) {
  cq_module *module;
  cq_status status = open_module(e, &cq_static_type, "", options, error);
  if (status || !normalize) return status;
  status = cq_normalize_new(&module, e->modules[0]->output_dim, "1_Normalize", &e->arena, error);
  return status ? status : cq_encoder_append(e, module, error);
}

static cq_status open_plain(cq_encoder *e, const char *list_path, const cq_encoder_options *options, cq_error *error) {
  char path[MAX_PATH];
  cq_module *pooling;
  bool is_model2vec = false, normalize = false;
  cq_status status = cq_path_join(path, sizeof path, e->directory, "config.json", error);
  if (status) return status;
  if (!cq_file_exists(path))
    return cq_fail_file(error, CQ_ERR_IO, list_path,
                        "not found, and no config.json next to it: this is not a model directory");
  status = read_model2vec_config(&is_model2vec, &normalize, path, error);
  if (status || is_model2vec) return status ? status : open_model2vec(e, normalize, options, error);
  if ((status = open_module(e, &cq_transformer_type, "", options, error)) ||
      (status = cq_pooling_new(&pooling, e->modules[0]->output_dim, CQ_POOL_MEAN, "1_Pooling", &e->arena, error)) ||
      (status = cq_encoder_append(e, pooling, error)))
    return status;
  if (options->notice) {
    char text[MAX_PATH + 64];
    snprintf(text, sizeof text, "%s: no modules.json, taking the mean of the tokens", e->directory);
    options->notice(options->notice_context, text);
  }
  return CQ_OK;
}

/* The activation of sentence-transformers 6 goes where older ones have it, too, so that a saved model keeps it. */
static cq_status keep_activation(const cq_encoder *e, cq_error *error) {
  json_t *config = ((const cq_transformer *)e->modules[0])->config, *name = json_object_get(e->config, "activation_fn");
  if (!name || json_object_get(config, "sentence_transformers")) return CQ_OK;
  return json_object_set_new(config, "sentence_transformers", json_pack("{s:O}", "activation_fn", name))
             ? cq_fail_memory(error, "config.json")
             : CQ_OK;
}

static cq_status append_head(cq_encoder *e, cq_module *head, cq_pooling_mode mode, cq_error *error) {
  cq_module *pooling;
  cq_status status = cq_pooling_new(&pooling, e->modules[0]->output_dim, mode, "1_Pooling", &e->arena, error);
  if (!status) status = cq_encoder_append(e, pooling, error);
  if (!status) return cq_encoder_append(e, head, error);
  head->type->free(head);
  return status;
}

/* A cross-encoder: a transformer with a classifier, alone in modules.json if there is one (since sentence-transformers
 * 6). */
static cq_status open_classifier(cq_encoder *e, const json_t *list, const char *list_path,
                                 const cq_encoder_options *options, cq_error *error) {
  cq_encoder_options quiet = *options; /* its classifier is not a head of another task */
  cq_module *head = NULL;
  cq_pooling_mode mode = CQ_POOL_CLS;
  char path[MAX_PATH];
  cq_status status = cq_path_join(path, sizeof path, e->directory, "config.json", error);
  if (!status && list && json_array_size(list) != 1)
    status = cq_fail_file(error, CQ_ERR_UNSUPPORTED, list_path, "an embedding model, expected a reranker");
  if (!status && !list && !cq_file_exists(path))
    status = cq_fail_file(error, CQ_ERR_IO, path, "not found: this is not the directory of a reranker");
  quiet.notice = NULL;
  if (!status) status = open_module(e, &cq_transformer_type, "", &quiet, error);
  if (!status) status = cq_head_open(&head, &mode, e->modules[0], e->directory, &e->arena, error);
  if (!status) status = keep_activation(e, error);
  if (!status) return append_head(e, head, mode, error);
  if (head) head->type->free(head);
  return status;
}

cq_status cq_encoder_new_pairs(cq_encoder **out, const char *name, const cq_encoder_options *options, cq_random *random,
                               cq_error *error) {
  cq_encoder_options opening = options ? *options : cq_encoder_default_options();
  cq_encoder *e = NULL;
  cq_module *head = NULL;
  cq_pooling_mode mode;
  char directory[MAX_PATH];
  cq_status status = cq_model_resolve(directory, sizeof directory, name, error);
  if (status || (status = cq_encoder_new(&e, error))) return status;
  if (!(e->directory = cq_strdup(directory))) status = cq_fail_memory(error, "an encoder");
  if (!status) status = open_module(e, &cq_transformer_type, "", &opening, error);
  e->of_pairs = true;
  if (!status) status = cq_head_new(&head, &mode, e->modules[0], directory, random, &e->arena, error);
  if (!status)
    status = append_head(e, head, mode, error);
  else if (head)
    head->type->free(head);
  if (!status) status = cq_encoder_pack(e, NULL, false, error);
  if (status)
    cq_encoder_free(e);
  else
    *out = e;
  return status;
}

/* --- precision --- */

const char *const cq_precision_names[] = CQ_PRECISION_NAMES;

const char *cq_precision_name(cq_precision precision) {
  return cq_precision_names[precision];
}

cq_precision cq_encoder_precision(const cq_encoder *encoder) {
  return encoder->precision;
}

static bool is_quantized(const cq_encoder *e) {
  for (size_t i = 0; i < e->params.n; i++)
    if (!e->params.items[i]->value && e->params.items[i]->narrow.scales) return true;
  return false;
}

/* The requested precision, if the processor supports it. */
static cq_status choose_precision(cq_encoder *e, const cq_encoder_options *options, cq_error *error) {
  const char *wish = getenv("CALQUE_PRECISION");
  cq_precision wanted = options->precision;
  if (wanted == CQ_PRECISION_DEFAULT && (!wish || !*wish))
    wanted = is_quantized(e) ? CQ_PRECISION_INT8 : CQ_PRECISION_F32;
  if (wanted == CQ_PRECISION_DEFAULT) {
    for (cq_precision p = CQ_PRECISION_F32; p <= CQ_PRECISION_INT8; p++)
      if (strcmp(wish, cq_precision_names[p]) == 0) wanted = p;
    if (wanted == CQ_PRECISION_DEFAULT)
      return cq_fail(error, CQ_ERR_ARGUMENT, "CALQUE_PRECISION is '%s', expected f32, bf16 or int8", wish);
  }
  e->precision = cq_products_of(e->kernels, wanted)->precision;
  if (e->precision != wanted && options->notice) {
    char text[160];
    snprintf(text, sizeof text, "no products in %s at this processor's level, %s: %s is used",
             cq_precision_names[wanted], e->kernels->name, cq_precision_names[e->precision]);
    options->notice(options->notice_context, text);
  }
  return CQ_OK;
}

/* --- opening --- */

static bool has_adapters(const cq_encoder *e) {
  return e->modules[0]->type->has_body && ((const cq_transformer *)e->modules[0])->has_adapters;
}

/* A model with one task's weights keeps only that task's prompt, as its default: saved, it is a model for that task. */
static cq_status keep_prompt(cq_encoder *e, cq_error *error) {
  const char *name = e->task_prompt_name;
  json_t *kept = json_object();
  if (name) cq_json_set(&kept, name, json_incref(json_object_get(e->prompts, name)));
  if (!kept || (e->config && json_object_set_new(e->config, "prompts", kept))) return cq_fail_memory(error, "prompts");
  if (!e->config) json_decref(kept);
  e->prompts = e->config ? json_object_get(e->config, "prompts") : NULL;
  e->task_prompt_name = e->default_prompt_name =
      name && e->prompts ? json_object_iter_key(json_object_iter(e->prompts)) : NULL;
  return CQ_OK;
}

/* Task-specific modules and weights are already chosen. Models that have them may define other tasks than "query" and
 * "document". */
static cq_status choose_task(cq_encoder *e, const char *task, cq_error *error) {
  if (!e->has_routes && strcmp(task, "query") != 0 && strcmp(task, "document") != 0)
    return cq_fail(error, CQ_ERR_ARGUMENT, "the task is '%s', expected query or document", task);
  e->task_prompt_name = cq_task_prompt(e->prompts, task);
  return has_adapters(e) ? keep_prompt(e, error) : CQ_OK;
}

static bool normalizes_text(const cq_encoder *e) {
  const cq_tokenizer *tokenizer = cq_encoder_text_module(e)->tokenizer;
  return tokenizer && cq_tokenizer_describe(tokenizer)->normalizes;
}

bool cq_encoder_start_composing(cq_encoder *e) {
  const bool starts = !e->compose && !normalizes_text(e);
  e->compose |= starts;
  return starts;
}

static cq_status choose_form(cq_encoder *e, bool compose, cq_error *error) {
  if (compose) cq_encoder_start_composing(e);
  if (e->compose || normalizes_text(e) || !e->notice) return CQ_OK;
  e->decomposed = cq_arena_alloc(&e->arena, sizeof *e->decomposed);
  if (!e->decomposed) return cq_fail_memory(error, "an encoder");
  atomic_init(e->decomposed, CQ_FORM_NOT_SEEN);
  return CQ_OK;
}

#define O cq_encoder_options
static const cq_option option_rows[] = {
    {CQ_INT(O, "max-length", max_seq_length, CHANGES, 0, 0, 0, "TOKENS",
            "truncate sentences to this maximum sequence length, special tokens included"),
     .otherwise = "the model's"},
    CQ_PRECISION_ROW(O, precision),
    {CQ_TEXT(
        O, "task", task, CHANGES, "NAME",
        "encode for this task ('query', 'document' or one of the model's own), with its prompt, route or weights")},
    {CQ_FLAG(O, "drop-unknown", drop_unknown, CHANGES,
             "leave out unknown tokens, as model2vec's own library does (static models)")},
    CQ_COMPOSE_ROW(O),
};
#undef O

const cq_option_group cq_group_encoder = {
    .name = "encoder", CQ_ROWS(cq_encoder_options, option_rows), CQ_FIELDS(CQ_CALLBACK(cq_encoder_options, notice))};

/* A file of an installed model is missing or damaged: adds the remedy to the error. */
static void add_remedy(cq_error *error, cq_status status, const char *shipped) {
  if (!error || (status != CQ_ERR_IO && status != CQ_ERR_FORMAT && status != CQ_ERR_UNSUPPORTED)) return;
  const size_t n = strlen(error->message);
  snprintf(error->message + n, sizeof error->message - n,
           "; the installed model %s is damaged: reinstall calque, or choose another model (--model)", shipped);
}

/* transformers takes a configuration without labels as one of two. */
static cq_status is_reranker(bool *is, const char *directory, const json_t *list, cq_error *error) {
  char path[MAX_PATH];
  json_t *config = NULL;
  const cq_status status = read_if_there(&config, path, directory, "config.json", error);
  const char *class = json_string_value(json_array_get(json_object_get(config, "architectures"), 0));
  *is = class && strstr(class, "ForSequenceClassification") &&
        json_object_size(json_object_get(config, "id2label")) == 1 && (!list || json_array_size(list) == 1);
  json_decref(config);
  return status;
}

static cq_status refuse_reranker(const cq_encoder *e, const char *name, const json_t *list, cq_error *error) {
  bool is;
  const cq_status status = is_reranker(&is, e->directory, list, error);
  if (status || !is) return status;
  return cq_fail(error, CQ_ERR_UNSUPPORTED,
                 "%s is a reranker: it gives logits for pairs of texts, and no vectors. 'calque search --rerank' and "
                 "'calque serve --rerank' order documents by it, 'calque eval sts' measures it, and it opens as a "
                 "cq_reranker (Python: CrossEncoder)",
                 name);
}

static cq_status open_encoder(cq_encoder **out, const char *name, bool of_pairs, const cq_encoder_options *options,
                              cq_error *error) {
  cq_encoder_options taken;
  char directory[MAX_PATH], path[MAX_PATH];
  const char *shipped = cq_model_shipped(name);
  cq_encoder *e = NULL;
  json_t *list = NULL;
  cq_status status = cq_options_take(&taken, &cq_group_encoder, options, error);
  if (!status) status = cq_model_resolve(directory, sizeof directory, name, error);
  if (status || (status = cq_encoder_new(&e, error))) return status;
  e->notice = taken.notice, e->notice_context = taken.notice_context, e->of_pairs = of_pairs;
  const bool is_language = cq_language_model(path, sizeof path, directory);
  if (is_language && !(e->language = cq_strdup(directory))) status = cq_fail_memory(error, "an encoder");
  if (is_language) memcpy(directory, path, strlen(path) + 1);
  if (!status && !(e->directory = cq_strdup(directory))) status = cq_fail_memory(error, "an encoder");
  if (!status) status = cq_path_join(path, sizeof path, directory, "adapter_config.json", error);
  if (!status && cq_file_exists(path))
    status = cq_fail_file(error, CQ_ERR_UNSUPPORTED, path,
                          "an adapter to another model, which would have to be merged first");
  if (!status) status = cq_path_join(path, sizeof path, directory, "modules.json", error);
  const bool is_listed = !status && (cq_file_exists(path) || shipped);
  if (is_listed) status = cq_json_read(&list, path, error);
  if (!status && !of_pairs) status = refuse_reranker(e, name, list, error);
  if (!status) status = read_model_config(e, error);
  if (!status)
    status = of_pairs    ? open_classifier(e, list, path, &taken, error)
             : is_listed ? open_listed(e, list, path, &taken, error)
                         : open_plain(e, path, &taken, error);
  if (!status && taken.task) status = choose_task(e, taken.task, error);
  if (!status) status = choose_form(e, taken.compose, error);
  if (!status) status = choose_precision(e, &taken, error);
  if (!status) status = cq_encoder_pack(e, NULL, false, error);
  json_decref(list);
  if (status && shipped) add_remedy(error, status, shipped);
  if (status)
    cq_encoder_free(e);
  else
    *out = e;
  return status;
}

cq_status cq_encoder_open(cq_encoder **out, const char *name, const cq_encoder_options *options, cq_error *error) {
  return open_encoder(out, name, false, options, error);
}

cq_status cq_encoder_open_pairs(cq_encoder **out, const char *name, const cq_encoder_options *options,
                                cq_error *error) {
  return open_encoder(out, name, true, options, error);
}

cq_status cq_model_is_reranker(bool *is, const char *name, cq_error *error) {
  char directory[MAX_PATH], path[MAX_PATH];
  json_t *list = NULL;
  *is = false;
  cq_status status = cq_model_resolve(directory, sizeof directory, name, error);
  if (!status) status = cq_path_join(path, sizeof path, directory, "modules.json", error);
  if (!status && cq_file_exists(path)) status = cq_json_read(&list, path, error);
  if (!status) status = is_reranker(is, directory, list, error);
  json_decref(list);
  return status;
}

cq_status cq_encoder_open_any(cq_encoder **out, const char *name, const cq_encoder_options *options, cq_error *error) {
  bool of_pairs;
  const cq_status status = cq_model_is_reranker(&of_pairs, name, error);
  return status ? status : open_encoder(out, name, of_pairs, options, error);
}
