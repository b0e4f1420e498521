/* Opens, adds and saves a language's embeddings and tokenizer next to a model's files. See model_language.h. */
#include "model/model_language.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "format/json.h"
#include "model/transformer_module.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* --- which directory is a language's --- */

static bool is_model(const char *directory) {
  static const char *const markers[] = {"modules.json", "config.json"};
  char path[PATH_MAX];
  for (size_t i = 0; i < sizeof markers / sizeof *markers; i++)
    if (cq_path_join(path, sizeof path, directory, markers[i], NULL) == CQ_OK && cq_file_exists(path)) return true;
  return false;
}

/* As the path is spelled. */
static bool model_of_path(char *out, size_t out_size, const char *path) {
  char languages[PATH_MAX];
  if (!cq_path_parent(languages, sizeof languages, path) ||
      !cq_slice_equal(cq_path_name(languages), cq_slice_of(CQ_LANGUAGE_FOLDER)) ||
      !cq_path_parent(out, out_size, languages))
    return false;
  out[cq_path_length(out)] = '\0';
  return is_model(out);
}

bool cq_language_model(char *out, size_t out_size, const char *directory) {
  char full[PATH_MAX];
  if (is_model(directory)) return false;
  if (model_of_path(out, out_size, directory)) return true;
  return realpath(directory, full) && model_of_path(out, out_size, full); /* "tr", "." */
}

bool cq_language_is_name(const char *name) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  return name && *name && *name != '-' && strlen(name) <= 64 && name[strspn(name, letters)] == '\0';
}

/* --- those of a model --- */

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static cq_status read_names(char ***names, size_t *n, const char *directory, cq_error *error) {
  char path[PATH_MAX];
  size_t capacity = 0;
  cq_status status = CQ_OK;
  DIR *dir = opendir(directory);
  *names = NULL, *n = 0;
  if (!dir) return cq_fail_errno(error, directory, "cannot open");
  for (struct dirent *entry; !status && (entry = readdir(dir));) {
    if (!cq_language_is_name(entry->d_name)) continue;
    status = cq_path_join(path, sizeof path, directory, entry->d_name, error);
    if (status || !cq_is_directory(path)) continue;
    if (!cq_reserve((void **)names, &capacity, *n + 1, sizeof **names) || !((*names)[*n] = cq_strdup(entry->d_name)))
      status = cq_fail_memory(error, "languages");
    else
      ++*n;
  }
  closedir(dir);
  if (!status && *n) qsort(*names, *n, sizeof **names, compare_names);
  return status;
}

cq_status cq_language_list(json_t **out, const char *model, cq_error *error) {
  char path[PATH_MAX];
  char **names;
  size_t n;
  *out = NULL;
  cq_status status = cq_path_join(path, sizeof path, model, CQ_LANGUAGE_FOLDER, error);
  if (status || !cq_is_directory(path)) return status;
  status = read_names(&names, &n, path, error);
  if (!status && n > 0) *out = json_array();
  for (size_t i = 0; i < n; i++) {
    if (!status) cq_json_push(out, json_string(names[i]));
    cq_free(names[i]);
  }
  cq_free(names);
  return !status && n > 0 && !*out ? cq_fail_memory(error, "languages") : status;
}

/* --- writing --- */

cq_status cq_language_write(const cq_encoder *e, cq_dtype weights, const char *directory, cq_error *error) {
  const cq_module *m = e->modules[0];
  if (!m->type->has_body)
    return cq_fail(error, CQ_ERR_UNSUPPORTED, "a %s has no layers that a language's word embeddings could use",
                   m->type->name);
  cq_status status = cq_weights_save(((const cq_transformer *)m)->embedding.words, 1, weights, directory, error);
  return status ? status : cq_tokenizer_save(m->tokenizer, directory, m->max_seq_length, error);
}

/* NAME is a name of cq_language_list. */
static cq_status write_one(const char *model, const char *name, cq_dtype weights, const char *directory,
                           cq_error *error) {
  static const char *const beside[] = {"README.md", "log.jsonl"};
  char from[PATH_MAX], to[PATH_MAX], languages[PATH_MAX], source[PATH_MAX], target[PATH_MAX];
  cq_encoder_options opening = cq_encoder_default_options();
  cq_encoder *e = NULL;
  opening.precision = CQ_PRECISION_F32;
  cq_status status = cq_path_join(languages, sizeof languages, model, CQ_LANGUAGE_FOLDER, error);
  if (!status) status = cq_path_join(from, sizeof from, languages, name, error);
  if (!status) status = cq_path_join(to, sizeof to, directory, name, error);
  if (!status) status = cq_directory_make(to, error);
  if (!status) status = cq_encoder_open(&e, from, &opening, error);
  if (!status) status = cq_language_write(e, weights, to, error);
  for (size_t i = 0; !status && i < sizeof beside / sizeof *beside; i++) {
    status = cq_path_join(source, sizeof source, from, beside[i], error);
    if (!status) status = cq_path_join(target, sizeof target, to, beside[i], error);
    if (!status && cq_file_exists(source)) status = cq_file_copy(source, target, error);
  }
  cq_encoder_free(e);
  return status;
}

cq_status cq_languages_write(const cq_encoder *model, cq_dtype weights, const char *directory, cq_error *error) {
  char languages[PATH_MAX];
  json_t *names = NULL, *name;
  size_t i;
  cq_status status = CQ_OK;
  if (!model->directory || model->language) return CQ_OK;
  status = cq_language_list(&names, model->directory, error);
  if (status || !names) return status;
  status = cq_path_join(languages, sizeof languages, directory, CQ_LANGUAGE_FOLDER, error);
  if (!status) status = cq_directory_make(languages, error);
  json_array_foreach(names, i, name) {
    if (!status) status = write_one(model->directory, json_string_value(name), weights, languages, error);
  }
  json_decref(names);
  return status;
}
