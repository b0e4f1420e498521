/* Opens a tokenizer: finds the file of a directory that defines it, and the reader for that file. */
#include "token/tokenizer_files.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <limits.h>
#include <string.h>

/* --- files --- */

/* Maps directory/name and keeps it for saving; *found false and CQ_OK if there is no such file. */
static cq_status keep_file(cq_tokenizer *t, char path[PATH_MAX], bool *found, const char *directory, const char *name,
                           cq_error *error) {
  cq_status status = cq_path_join(path, PATH_MAX, directory, name, error);
  *found = false;
  if (status || !cq_file_exists(path)) return status;
  cq_mapping mapping;
  status = cq_mapping_open(&mapping, path, error);
  if (!status && (status = cq_mapping_not_pointer(&mapping, path, error))) cq_mapping_close(&mapping);
  if (status) return status;
  char *copy = cq_strdup(name);
  if (!copy || !cq_reserve((void **)&t->files, &t->file_capacity, t->n_files + 1, sizeof *t->files)) {
    cq_free(copy);
    cq_mapping_close(&mapping);
    return cq_fail_memory(error, name);
  }
  t->files[t->n_files++] = (cq_origin_file){copy, {(const char *)mapping.data, mapping.n}, mapping};
  *found = true;
  return CQ_OK;
}

/* A JSON file next to the tokenizer, or NULL. */
static cq_status read_beside(cq_tokenizer *t, json_t **out, char path[PATH_MAX], const char *directory,
                             const char *name, cq_error *error) {
  bool found;
  *out = NULL;
  cq_status status = keep_file(t, path, &found, directory, name, error);
  if (status || !found) return status;
  status = cq_json_read(out, path, error);
  if (!status && !json_is_object(*out)) {
    json_decref(*out);
    *out = NULL;
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "expected an object");
  }
  return status;
}

/* --- the choice --- */

/* Llama's and Gemma's classes add the tokens requested by add_bos_token and add_eos_token, regardless of
 * tokenizer.json. Returns nonzero when out of memory. */
static int apply_ends(json_t *document, const json_t *config, bool gemma) {
  static const char *const switches[] = {"add_bos_token", "add_eos_token"}, *const keys[] = {"bos_token", "eos_token"},
                           *const usual[2][2] = {{"<s>", "</s>"}, {"<bos>", "<eos>"}};
  json_t *single = json_array(), *specials = json_object();
  for (int end = 0; end < 2; end++) {
    const json_t *wish = json_object_get(config, switches[end]);
    const char *text = cq_special_text(config, NULL, keys[end], usual[gemma][end]);
    const json_t *token = cq_find_added_json(json_object_get(document, "added_tokens"), text);
    const json_int_t id = token ? json_integer_value(json_object_get(token, "id")) : -1;
    if (json_is_boolean(wish) ? json_is_true(wish) : end == 0) {
      if (id < 0) { /* not one of the tokens: what the file says */
        json_decref(single);
        json_decref(specials);
        return 0;
      }
      cq_json_push(&single, json_pack("{s:{s:s, s:i}}", "SpecialToken", "id", text, "type_id", 0));
      cq_json_set(&specials, text, json_pack("{s:s, s:[I], s:[s]}", "id", text, "ids", id, "tokens", text));
    }
    if (end == 0) cq_json_push(&single, json_pack("{s:{s:s, s:i}}", "Sequence", "id", "A", "type_id", 0));
  }
  json_t *processor = json_pack("{s:s, s:o, s:[], s:o}", "type", "TemplateProcessing", "single", single, "pair",
                                "special_tokens", specials);
  return json_object_set_new(document, "post_processor", processor);
}

/* On loading, some tokenizer classes override switches of tokenizer.json by tokenizer_config.json, including its
 * defaults: the model was trained with the resulting ids. */
cq_status cq_tokenizer_apply_class(json_t *document, const json_t *config, cq_error *error) {
  const char *class = json_string_value(json_object_get(config, "tokenizer_class"));
  json_t *normalizer = json_object_get(document, "normalizer"), *splitter = json_object_get(document, "pre_tokenizer");
  const char *normalizer_type = json_string_value(json_object_get(normalizer, "type"));
  const char *splitter_type = json_string_value(json_object_get(splitter, "type"));
  int failed = 0;
  if (!class) return CQ_OK;
  bool bert = !strncmp(class, "BertTok", 7) || !strncmp(class, "DistilBertTok", 13) || !strncmp(class, "MPNetTok", 8);
  if (bert && normalizer_type && !strcmp(normalizer_type, "BertNormalizer")) {
    const json_t *strip = json_object_get(config, "strip_accents");
    bool lower = !json_is_false(json_object_get(config, "do_lower_case"));
    bool cjk = !json_is_false(json_object_get(config, "tokenize_chinese_chars"));
    failed |= json_object_set_new(normalizer, "lowercase", json_boolean(lower));
    failed |= json_object_set_new(normalizer, "handle_chinese_chars", json_boolean(cjk));
    failed |= json_object_set_new(normalizer, "strip_accents",
                                  json_is_boolean(strip) ? json_boolean(json_is_true(strip)) : json_null());
  }
  if (!strncmp(class, "RobertaTok", 10) && splitter_type && !strcmp(splitter_type, "ByteLevel"))
    failed |= json_object_set_new(splitter, "add_prefix_space",
                                  json_boolean(json_is_true(json_object_get(config, "add_prefix_space"))));
  const bool gemma = !strncmp(class, "GemmaTok", 8), llama = !strncmp(class, "LlamaTok", 8);
  const bool says = json_is_boolean(json_object_get(config, "add_bos_token")) ||
                    json_is_boolean(json_object_get(config, "add_eos_token"));
  if ((gemma || llama) && says) failed |= apply_ends(document, config, gemma);
  return failed ? cq_fail_memory(error, "tokenizer.json") : CQ_OK;
}

static cq_status open_any(cq_tokenizer *t, const char *directory, const json_t *config, const json_t *specials,
                          cq_error *error) {
  char path[PATH_MAX], second[PATH_MAX];
  bool found, also;
  cq_status status = read_beside(t, &t->legacy_added, path, directory, "added_tokens.json", error);
  if (status) return status;
  status = keep_file(t, path, &found, directory, "tokenizer.json", error);
  if (status) return status;
  if (found) {
    json_t *document;
    status = cq_tokenizer_read_json(&document, t, t->files[t->n_files - 1].bytes, path, error);
    if (status) return status;
    status = cq_tokenizer_apply_class(document, config, error);
    if (!status) status = cq_tokenizer_assemble(t, document, path, error);
    json_decref(document);
    /* Files for older readers are copied, too. */
    static const char *const beside[] = {"vocab.txt",       "sentencepiece.bpe.model",
                                         "spiece.model",    "spm.model",
                                         "tokenizer.model", "vocab.json",
                                         "merges.txt",      NULL};
    for (size_t i = 0; beside[i] && !status; i++) status = keep_file(t, path, &also, directory, beside[i], error);
    return status;
  }
  status = keep_file(t, path, &found, directory, "vocab.txt", error);
  if (status || found) return status ? status : cq_open_vocab_txt(t, directory, path, config, specials, error);
  static const char *const models[] = {"sentencepiece.bpe.model", "spiece.model", "spm.model", "tokenizer.model", NULL};
  for (size_t i = 0; models[i]; i++) {
    status = keep_file(t, path, &found, directory, models[i], error);
    if (status || found) return status ? status : cq_open_sentencepiece(t, directory, path, config, error);
  }
  status = keep_file(t, path, &found, directory, "vocab.json", error);
  if (status) return status;
  if (found) {
    status = keep_file(t, second, &also, directory, "merges.txt", error);
    if (status) return status;
    if (!also) return cq_fail_file(error, CQ_ERR_IO, second, "not found, but vocab.json needs it");
    return cq_open_vocab_json(t, directory, path, config, specials, error);
  }
  return cq_fail_file(
      error, CQ_ERR_IO, directory,
      "no tokenizer: none of tokenizer.json, vocab.txt, sentencepiece.bpe.model, spiece.model, spm.model, "
      "tokenizer.model, vocab.json with merges.txt");
}

cq_status cq_tokenizer_open(cq_tokenizer **out, const char *directory, bool lowercase_override, cq_error *error) {
  *out = NULL;
  char path[PATH_MAX], config_path[PATH_MAX];
  json_t *config = NULL, *specials = NULL;
  cq_tokenizer *t = cq_tokenizer_new();
  if (!t) return cq_fail_memory(error, "tokenizer");
  t->lowercase_first = lowercase_override;
  cq_status status = read_beside(t, &config, config_path, directory, "tokenizer_config.json", error);
  if (!status) status = read_beside(t, &specials, path, directory, "special_tokens_map.json", error);
  if (!status) status = open_any(t, directory, config, specials, error);
  if (!status) status = cq_tokenizer_finish(t, config, specials, config_path, error);
  json_decref(config);
  json_decref(specials);
  if (status) {
    cq_tokenizer_free(t);
    return status;
  }
  *out = t;
  return CQ_OK;
}
