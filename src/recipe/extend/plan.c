/* Two files of an extension's work directory. `identity`, written first, has what must be the same in a resumed run
 * (recipe/run/identity.h). `plan`, written when everything is prepared, has the choices that a resumed run needs:
 *
 *   calque extend 5
 *   steps 300            of the caller's; 0: those of the time
 *   planned 300
 *   weight 0x1.8p-1      of each training file */
#include "recipe/extend/texts.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "calque/encoder.h"
#include "model/encoder.h"
#include "recipe/run/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the identity --- */

static cq_status identify_model(cq_run_identity *id, const char *model, cq_error *error) {
  cq_encoder *encoder;
  char fingerprint[33];
  cq_status status = cq_encoder_open_any(&encoder, model, NULL, error);
  if (status) return status;
  status = cq_encoder_fingerprint(fingerprint, encoder, error);
  if (!status) cq_run_identity_fingerprint(id, "model", fingerprint);
  cq_encoder_free(encoder);
  return status;
}

static cq_status identify_files(cq_run_identity *id, const char *option, const cq_training_data *files, size_t n,
                                cq_error *error) {
  char name[64];
  snprintf(name, sizeof name, "number of %s files", option);
  cq_run_identity_count(id, name, n);
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < n; i++) {
    cq_mapping text;
    snprintf(name, sizeof name, "%s file %zu with the label", option, i + 1);
    cq_run_identity_text(id, name, files[i].label);
    snprintf(name, sizeof name, "%s file %zu with the weight", option, i + 1);
    cq_run_identity_number(id, name, files[i].weight);
    status = cq_mapping_open(&text, files[i].path, error);
    if (status) break;
    cq_run_identity_file(id, files[i].path, cq_hash128(text.data, text.n));
    cq_mapping_close(&text);
  }
  return status;
}

/* Everything except the steps, which may be automatic, and the names of models, whose contents count instead. */
static cq_status identify(cq_run_identity *id, const cq_extend_options *o, cq_error *error) {
  cq_training_options run = *o->run;
  cq_distill_options distill = *o->distill;
  cq_student_options student = *o->student;
  run.steps = 0, distill.teacher = distill.student = student.from = NULL, student.skip_bad = false;
  cq_run_identity_options(id, &cq_group_extend, o);
  cq_run_identity_options(id, &cq_group_training, &run);
  cq_run_identity_options(id, &cq_group_distill, &distill);
  cq_run_identity_options(id, &cq_group_student, &student);
  cq_status status = identify_model(id, o->model, error);
  if (!status) status = identify_files(id, "to", o->to, o->n_to, error);
  if (!status) status = identify_files(id, "dictionary", o->dictionaries, o->n_dictionaries, error);
  if (!status) status = identify_files(id, "text", o->text, o->n_text, error);
  if (!status) status = identify_files(id, "dev", run.dev, run.n_dev, error);
  if (!status) status = identify_files(id, "sts", run.sts, run.n_sts, error);
  return status ? status : identify_files(id, "source-text", distill.source_text, distill.n_source_text, error);
}

cq_status cq_extend_identity_write(const char *path, const cq_extend_options *o, cq_error *error) {
  cq_run_identity id = {0};
  cq_status status = identify(&id, o, error);
  if (!status && id.lines.failed) status = cq_fail_memory(error, path);
  if (!status) status = cq_file_write(path, id.lines.data, id.lines.n, error);
  cq_run_identity_free(&id);
  return status;
}

cq_status cq_extend_identity_compare(const char *path, const cq_extend_texts *texts, cq_error *error) {
  cq_run_identity id = {0};
  cq_slice then;
  cq_status status = cq_file_read(&then, path, error);
  if (status) return status;
  if (texts->o->time && !texts->o->run->steps) id.free = "time"; /* the schedule follows the clock */
  status = identify(&id, texts->o, error);
  if (!status) status = cq_run_identity_compare(&id, then.data, then.n, texts->work, error);
  cq_run_identity_free(&id);
  cq_free((void *)(uintptr_t)then.data);
  return status;
}

/* --- the plan --- */

static const char head[] = "calque extend 5\nsteps ";

cq_status cq_extend_plan_write(const char *path, cq_extend_steps steps, const cq_extend_texts *texts, cq_error *error) {
  cq_builder text = {0};
  cq_builder_printf(&text, "%s%llu\nplanned %llu\n", head, (unsigned long long)steps.given,
                    (unsigned long long)steps.planned);
  for (size_t i = 0; i < texts->n; i++) cq_builder_printf(&text, "weight %a\n", texts->train[i].weight);
  const cq_status status = text.failed ? cq_fail_memory(error, path) : cq_file_write(path, text.data, text.n, error);
  cq_builder_free(&text);
  return status;
}

/* Parses the choices, with a weight for each file; false if they are malformed. */
static bool parse_choices(cq_extend_steps *steps, cq_extend_texts *texts, const char *at) {
  char *end;
  steps->given = strtoull(at, &end, 10);
  if (strncmp(end, "\nplanned ", 9) != 0) return false;
  steps->planned = strtoull(end + 9, &end, 10);
  for (size_t i = 0; i < texts->n; i++) {
    if (strncmp(end, "\nweight ", 8) != 0) return false;
    texts->train[i].weight = cq_strtod(end + 8, &end);
  }
  return steps->planned > 0 && strcmp(end, "\n") == 0;
}

cq_status cq_extend_plan_read(cq_extend_steps *steps, cq_extend_texts *texts, const char *path, cq_error *error) {
  cq_slice text;
  cq_status status = cq_file_read(&text, path, error);
  if (status) return status;
  if (strncmp(text.data, head, sizeof head - 1) != 0)
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "is not the plan of a run");
  else if (!parse_choices(steps, texts, text.data + sizeof head - 1))
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "is not the plan of a run with %zu files", texts->n);
  else if (texts->o->run->steps && texts->o->run->steps != steps->planned)
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, texts->work, "the run under way has steps %llu, not %llu",
                          (unsigned long long)steps->planned, (unsigned long long)texts->o->run->steps);
  cq_free((void *)(uintptr_t)text.data);
  return status;
}
