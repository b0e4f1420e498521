/* A language with its own vocabulary: the model is copied, and the trained vocabulary goes to
 * OUTPUT/languages/LANGUAGE. See extend_language.h. */
#include "recipe/extend/extend_language.h"

#include "base/error.h"
#include "base/file.h"
#include "model/model_language.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { LANGUAGE_PATH = 4200 };

/* --- which language --- */

static cq_status take_label(const char **language, const cq_training_data *file, cq_error *error) {
  if (!file->label)
    return cq_fail(error, CQ_ERR_ARGUMENT, "own-vocabulary: %s: which language's? LANGUAGE=FILE", file->path);
  if (*language && strcmp(*language, file->label) != 0)
    return cq_fail(error, CQ_ERR_ARGUMENT, "own-vocabulary: %s: '%s' and '%s', expected one language at a time",
                   file->path, file->label, *language);
  *language = file->label;
  return CQ_OK;
}

cq_status cq_extend_language(const char **out, const cq_extend_options *o, cq_error *error) {
  cq_status status = CQ_OK;
  *out = NULL;
  if (o->kind != CQ_EXTEND_BODY)
    return cq_fail(error, CQ_ERR_ARGUMENT,
                   "own-vocabulary: a static student is its word embeddings: it has no layers to share (kind body)");
  for (size_t i = 0; !status && i < o->n_to; i++) status = take_label(out, &o->to[i], error);
  for (size_t i = 0; !status && i < o->n_dictionaries; i++) status = take_label(out, &o->dictionaries[i], error);
  for (size_t i = 0; !status && i < o->n_text; i++)
    if (o->text[i].label) status = take_label(out, &o->text[i], error);
  if (!status && !cq_language_is_name(*out))
    status = cq_fail(error, CQ_ERR_ARGUMENT,
                     "own-vocabulary: '%s' becomes a directory's name: letters, digits, - and _ are expected", *out);
  return status;
}

/* --- the model --- */

/* DIRECTORY/languages/LANGUAGE */
static cq_status language_path(char out[LANGUAGE_PATH], const char *directory, const char *language, cq_error *error) {
  char languages[LANGUAGE_PATH];
  const cq_status status = cq_path_join(languages, sizeof languages, directory, CQ_LANGUAGE_FOLDER, error);
  return status ? status : cq_path_join(out, LANGUAGE_PATH, languages, language, error);
}

static cq_status check_model(const cq_encoder *e, const char *model, cq_error *error) {
  const char *type = e->modules[0]->type->name;
  if (e->language)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, model, "is a language of %s: extend that model instead",
                        e->directory);
  if (!e->modules[0]->type->has_body)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, model,
                        "is a %s, which has no layers that a language's word embeddings could use", type);
  return CQ_OK;
}

/* Up from the directory to the root. */
static bool lies_in(const char *directory, const char *model) {
  char path[LANGUAGE_PATH];
  struct stat of_model, here, above;
  size_t n = (size_t)snprintf(path, sizeof path, "%s", directory);
  if (stat(model, &of_model) != 0 || stat(path, &here) != 0) return false;
  for (; n + 4 < sizeof path; here = above) {
    if (here.st_dev == of_model.st_dev && here.st_ino == of_model.st_ino) return true;
    n += (size_t)snprintf(path + n, sizeof path - n, "/..");
    if (stat(path, &above) != 0 || (above.st_dev == here.st_dev && above.st_ino == here.st_ino)) return false;
  }
  return false;
}

cq_status cq_extend_language_check(const cq_extend_options *o, const char *language, const char *work,
                                   cq_error *error) {
  char model[LANGUAGE_PATH], path[LANGUAGE_PATH];
  cq_encoder *e = NULL;
  cq_status status = cq_encoder_open(&e, o->model, NULL, error);
  if (!status) status = check_model(e, o->model, error);
  cq_encoder_free(e);
  if (!status) status = cq_model_resolve(model, sizeof model, o->model, error);
  if (!status) status = language_path(path, model, language, error);
  if (status) return status;
  if (!o->run->replace && cq_file_exists(path))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, path, "already exists (--replace trains it again in the output)");
  if (lies_in(work, model))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, o->run->output, "lies in the model %s, which is copied to it", model);
  return CQ_OK;
}

/* --- the output --- */

static cq_status copy_if_there(const char *from, const char *to, const char *name, cq_error *error) {
  char source[LANGUAGE_PATH], target[LANGUAGE_PATH];
  cq_status status = cq_path_join(source, sizeof source, from, name, error);
  if (!status) status = cq_path_join(target, sizeof target, to, name, error);
  return status || !cq_file_exists(source) ? status : cq_file_copy(source, target, error);
}

static cq_status write_output(const char *directory, const char *model, const char *language, const char *trained,
                              cq_error *error) {
  char path[LANGUAGE_PATH];
  cq_encoder *e = NULL;
  cq_status status = cq_directory_copy(model, directory, error);
  if (!status) status = language_path(path, directory, language, error);
  if (status) return status;
  cq_directory_remove(path); /* the one that is replaced */
  status = cq_directory_make(path, error);
  if (!status) status = cq_encoder_open(&e, trained, NULL, error);
  if (!status) status = cq_language_write(e, CQ_F32, path, error);
  if (!status) status = copy_if_there(trained, path, "README.md", error);
  if (!status) status = copy_if_there(trained, path, "log.jsonl", error);
  cq_encoder_free(e);
  return status;
}

cq_status cq_extend_language_save(const cq_extend_options *o, const char *language, const char *trained, bool replace,
                                  cq_error *error) {
  char model[LANGUAGE_PATH];
  cq_directory_writer w = {0};
  cq_status status = cq_model_resolve(model, sizeof model, o->model, error);
  if (!status) status = cq_directory_writer_open(&w, o->run->output, replace, error);
  if (!status) status = write_output(w.temporary, model, language, trained, error);
  if (!status) status = cq_directory_writer_commit(&w, error);
  cq_directory_writer_abort(&w);
  return status;
}
