/* The model card of an extended model: distillation's card, followed by a table of the text and the list of choices,
 * which is kept in WORK/choices until training is done. */
#include "recipe/extend/extending.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

static cq_status choices_path(char out[CQ_EXTEND_PATH], const cq_extending *e, cq_error *error) {
  return cq_path_join(out, CQ_EXTEND_PATH, e->work, "choices", error);
}

cq_status cq_extend_card_keep(const cq_extending *e, cq_error *error) {
  char path[CQ_EXTEND_PATH];
  const cq_builder *told = &e->told;
  cq_status status = told->failed ? cq_fail_memory(error, "choices") : choices_path(path, e, error);
  return status ? status : cq_file_write(path, told->data, told->n, error);
}

static void put_files(cq_builder *out, const char *what, const cq_training_data *files, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const cq_slice name = cq_path_name(files[i].path);
    cq_builder_printf(out, "| %s | %s | %.*s |\n", files[i].label ? files[i].label : "the teacher's", what, (int)name.n,
                      name.data);
  }
}

static void put_sections(cq_builder *out, const cq_extending *e, cq_slice choices) {
  const cq_extend_options *o = &e->o;
  cq_builder_text(out, "\n## Text\n\n| language | what | file |\n|---|---|---|\n");
  put_files(out, "translations", o->to, o->n_to);
  put_files(out, "dictionary", o->dictionaries, o->n_dictionaries);
  put_files(out, "untranslated text", o->text, o->n_text);
  put_files(out, "held-out translations", o->run->dev, o->run->n_dev);
  cq_builder_text(out, "\n## Choices\n\nAs made by `calque extend` or given; in brackets the options that change them."
                       "\n\n");
  cq_builder_bytes(out, choices.data, choices.n);
}

cq_status cq_extend_card_end(cq_builder *out, const cq_extending *e, cq_error *error) {
  char path[CQ_EXTEND_PATH];
  cq_slice choices = {0};
  cq_status status = choices_path(path, e, error);
  if (!status) status = cq_file_read(&choices, path, error);
  if (!status) put_sections(out, e, choices);
  if (!status && out->failed) status = cq_fail_memory(error, "model card");
  cq_free((void *)(uintptr_t)choices.data);
  return status;
}
