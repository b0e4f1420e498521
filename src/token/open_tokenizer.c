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
  return cq_json_open(out, path, PATH_MAX, directory, name, error);
}

/* --- the choice --- */

static cq_status open_any(cq_tokenizer *t, const char *directory, cq_naming *naming, bool as_it_is, cq_error *error) {
  char path[PATH_MAX], second[PATH_MAX];
  bool found = false, also;
  cq_status status = CQ_OK;
  if (!as_it_is) status = cq_tokenizer_class_beside_json(&naming->kind, directory, naming->config, error);
  if (status) return status;
  /* MeCab's words cannot be in a tokenizer.json. */
  if (naming->kind != CQ_CLASS_JAPANESE) status = keep_file(t, path, &found, directory, "tokenizer.json", error);
  if (status) return status;
  if (found) {
    json_t *document;
    status = cq_tokenizer_read_json(&document, t, t->files[t->n_files - 1].bytes, path, error);
    if (status) return status;
    if (!as_it_is) status = cq_tokenizer_apply_class(document, t, naming, error);
    t->class_kind = (int)naming->kind;
    if (!status) status = cq_tokenizer_assemble(t, document, as_it_is ? NULL : naming, path, error);
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
  if (status || found) return status ? status : cq_open_vocab_txt(t, directory, path, naming, error);
  if (naming->kind == CQ_CLASS_JAPANESE)
    return cq_fail_file(error, CQ_ERR_IO, path, "not found, but BertJapaneseTokenizer needs it");
  static const char *const models[] = {"sentencepiece.bpe.model", "spiece.model", "spm.model", "tokenizer.model", NULL};
  for (size_t i = 0; models[i]; i++) {
    status = keep_file(t, path, &found, directory, models[i], error);
    if (status || found) return status ? status : cq_open_sentencepiece(t, directory, path, naming, error);
  }
  status = keep_file(t, path, &found, directory, "vocab.json", error);
  if (status) return status;
  if (found) {
    status = keep_file(t, second, &also, directory, "merges.txt", error);
    if (status) return status;
    if (!also) return cq_fail_file(error, CQ_ERR_IO, second, "not found, but vocab.json needs it");
    return cq_open_vocab_json(t, directory, path, naming, error);
  }
  return cq_fail_file(
      error, CQ_ERR_IO, directory,
      "no tokenizer: none of tokenizer.json, vocab.txt, sentencepiece.bpe.model, spiece.model, spm.model, "
      "tokenizer.model, vocab.json with merges.txt");
}

static cq_status open_directory(cq_tokenizer **out, const char *directory, bool lowercase_override, bool as_it_is,
                                cq_error *error) {
  *out = NULL;
  char path[PATH_MAX], config_path[PATH_MAX];
  json_t *config = NULL, *specials = NULL, *older = NULL, *merged = NULL;
  cq_tokenizer *t = cq_tokenizer_new();
  if (!t) return cq_fail_memory(error, "tokenizer");
  t->lowercase_first = lowercase_override;
  cq_status status = read_beside(t, &config, config_path, directory, "tokenizer_config.json", error);
  if (!status) status = read_beside(t, &specials, path, directory, "special_tokens_map.json", error);
  if (!status) status = read_beside(t, &older, path, directory, "added_tokens.json", error);
  if (!status && !(merged = cq_naming_json(config, specials))) status = cq_fail_memory(error, "special tokens");
  cq_naming naming = {.config = merged, .older = older, .kind = CQ_CLASS_NONE};
  if (!status) status = open_any(t, directory, &naming, as_it_is, error);
  if (!status) status = cq_tokenizer_finish(t, merged, config_path, error);
  json_decref(config);
  json_decref(specials);
  json_decref(older);
  json_decref(merged);
  if (status) {
    cq_tokenizer_free(t);
    return status;
  }
  *out = t;
  return CQ_OK;
}

cq_status cq_tokenizer_open(cq_tokenizer **out, const char *directory, bool lowercase_override, cq_error *error) {
  return open_directory(out, directory, lowercase_override, false, error);
}

cq_status cq_tokenizer_open_as_it_is(cq_tokenizer **out, const char *directory, bool lowercase_override,
                                     cq_error *error) {
  return open_directory(out, directory, lowercase_override, true, error);
}
