/* The caller's files, which are read several times: a pipe is first copied to a file in the work directory. */
#include "recipe/extend/inputs.h"

#include "base/error.h"
#include "base/file.h"
#include "base/input.h"
#include "base/memory.h"
#include "recipe/extend/texts.h"
#include "train/parallel.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A missing file is left to its reader, which reports the usual error. */
static bool is_pipe(const char *path) {
  struct stat info;
  return !strcmp(path, "-") || (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode));
}

static cq_status write_all(cq_writer *w, cq_input *in, cq_error *error) {
  char bytes[65536];
  size_t n = 0;
  cq_status status;
  while (!(status = cq_input_read(&n, in, bytes, sizeof bytes, error)) && n)
    if ((status = cq_writer_bytes(w, bytes, n, error))) break;
  return status ? status : cq_writer_commit(w, error);
}

static cq_status write_pipe(const char *pipe, const char *path, cq_error *error) {
  cq_input *in = NULL;
  cq_writer w = {0};
  cq_status status = cq_input_open(&in, pipe, error);
  if (!status) status = cq_writer_open(&w, path, error);
  if (!status) status = write_all(&w, in, error);
  cq_writer_abort(&w);
  cq_input_close(in);
  return status;
}

static cq_status replace_pipe(cq_extend_inputs *in, size_t i, const char *work, cq_error *error) {
  char path[CQ_EXTEND_PATH], name[32];
  snprintf(name, sizeof name, "input-%zu", i + 1);
  cq_status status = cq_path_join(path, sizeof path, work, name, error);
  if (!status && !cq_file_exists(path)) status = write_pipe(in->files[i].path, path, error);
  if (!status && !(in->paths[i] = cq_strdup(path))) status = cq_fail_memory(error, path);
  if (!status) in->files[i].path = in->paths[i];
  return status;
}

static void add_files(cq_extend_inputs *in, const cq_training_data **files, size_t n) {
  if (n == 0) return;
  memcpy(&in->files[in->n], *files, n * sizeof **files);
  *files = &in->files[in->n];
  in->n += n;
}

/* Labels files [first, first + n) by their paths. */
static cq_status label_files(cq_extend_inputs *in, size_t first, size_t n, cq_error *error) {
  cq_status status = CQ_OK;
  for (size_t i = first; !status && i < first + n; i++) {
    char label[CQ_EXTEND_PATH];
    if (in->files[i].label) continue;
    status = cq_parallel_label(label, sizeof label, in->files[i].path, error);
    if (!status && !(in->labels[i] = cq_strdup(label))) status = cq_fail_memory(error, label);
    in->files[i].label = in->labels[i];
  }
  return status;
}

cq_status cq_extend_inputs_open(cq_extend_inputs *in, cq_extend_options *o, cq_extend_parts *parts, const char *work,
                                cq_error *error) {
  cq_training_options *run = &parts->run;
  cq_distill_options *d = &parts->distill;
  const size_t n_before = o->n_to + o->n_dictionaries + o->n_text;
  const size_t n = n_before + run->n_dev + run->n_sts + d->n_source_text;
  *in = (cq_extend_inputs){.files = cq_alloc_array(n, sizeof *in->files),
                           .paths = cq_alloc_array_zeroed(n, sizeof *in->paths),
                           .labels = cq_alloc_array_zeroed(n, sizeof *in->labels)};
  if (!in->files || !in->paths || !in->labels) return cq_fail_memory(error, "files");
  add_files(in, &o->to, o->n_to);
  add_files(in, &o->dictionaries, o->n_dictionaries);
  add_files(in, &o->text, o->n_text);
  add_files(in, &run->dev, run->n_dev);
  add_files(in, &run->sts, run->n_sts);
  add_files(in, &d->source_text, d->n_source_text);
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < in->n; i++)
    if (is_pipe(in->files[i].path)) status = replace_pipe(in, i, work, error);
  if (!status) status = label_files(in, 0, o->n_to, error);
  return status ? status : label_files(in, n_before, run->n_dev, error);
}

void cq_extend_inputs_close(cq_extend_inputs *in) {
  for (size_t i = 0; i < in->n; i++) cq_free(in->paths[i]), cq_free(in->labels[i]);
  cq_free(in->files);
  cq_free(in->paths);
  cq_free(in->labels);
  *in = (cq_extend_inputs){0};
}
