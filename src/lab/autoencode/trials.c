/* Trials of one search or ablation: each is trained once, and its figures are kept in a table. See trials.h. */
#include "lab/autoencode/trials.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "format/json.h"
#include "lab/autoencode/autoencode_options.h"
#include "lab/autoencode/translate_dev.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char title[] = "calque autoencode trials"; /* the first line of trials.txt */

static cq_status trial_path(char out[4096], const cq_trials *t, const char *name, const char *ending, cq_error *error) {
  char file[CQ_TRIAL_NAME + 8];
  snprintf(file, sizeof file, "%s%s", name, ending);
  return cq_path_join(out, 4096, t->base->output, file, error);
}

/* --- what a trial depends on --- */

/* Appends a file's path, size and modification time. */
static cq_status add_file(cq_builder *b, const char *path, cq_error *error) {
  struct stat info;
  if (stat(path, &info) != 0) return cq_fail_errno(error, path, "cannot open");
  cq_builder_printf(b, "|%s %lld %lld.%09ld", path, (long long)info.st_size, (long long)info.st_mtim.tv_sec,
                    info.st_mtim.tv_nsec);
  return CQ_OK;
}

static cq_status add_data(cq_builder *b, const cq_autoencode_options *o, cq_error *error) {
  char joined[4096];
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < o->n_train; i++) status = add_file(b, o->train[i].path, error);
  for (size_t i = 0; !status && i < o->n_dev; i++) status = add_file(b, o->dev[i].path, error);
  if (status || !o->joined) return status;
  status = cq_path_join(joined, sizeof joined, o->joined, "autoencoder.json", error);
  return status ? status : add_file(b, joined, error);
}

static cq_status sum_of_options(char out[CQ_IDENTITY_HEX], const cq_autoencode_options *o, cq_error *error) {
  cq_builder b = {0};
  cq_autoencode_describe(&b, o);
  cq_status status = add_data(&b, o, error);
  if (!status && b.failed) status = cq_fail_memory(error, "options");
  if (!status) cq_identity_hex(out, cq_hash128(b.data, b.n));
  cq_builder_free(&b);
  return status;
}

/* --- records --- */

static cq_status write_trial_record(const cq_trial *trial, const char *path, cq_error *error) {
  json_t *record = json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:b}", "name", trial->name, "values", trial->values,
                             "options", trial->sum, "epochs", trial->epochs, "loss", trial->loss, "seconds",
                             trial->seconds, "failed", trial->failed);
  for (int m = 0; !trial->failed && m < CQ_AUTOENCODE_N_MEASURES; m++)
    cq_json_set(&record, cq_autoencode_measures[m], json_real(trial->dev[m]));
  const cq_status status = record ? cq_json_write(record, path, error) : cq_fail_memory(error, path);
  json_decref(record);
  return status;
}

/* A text that must be there. */
static cq_status get_text(char *out, size_t size, const json_t *record, const char *key, const char *path,
                          cq_error *error) {
  const char *text = NULL;
  const cq_status status = cq_json_get_string(&text, record, key, path, error);
  if (status) return status;
  if (!text || strlen(text) >= size)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "\"%s\" is %s", key, text ? "too long" : "missing");
  snprintf(out, size, "%s", text);
  return CQ_OK;
}

static cq_status read_members(cq_trial *trial, const json_t *record, const char *path, cq_error *error) {
  char name[CQ_TRIAL_NAME];
  cq_status status = get_text(name, sizeof name, record, "name", path, error);
  if (!status && strcmp(name, trial->name) != 0)
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "is a record of '%s'", name);
  if (!status) status = get_text(trial->values, sizeof trial->values, record, "values", path, error);
  if (!status) status = get_text(trial->sum, sizeof trial->sum, record, "options", path, error);
  if (!status) status = cq_json_get_number(&trial->epochs, record, "epochs", path, error);
  if (!status) status = cq_json_get_number(&trial->seconds, record, "seconds", path, error);
  if (!status) status = cq_json_get_number(&trial->loss, record, "loss", path, error);
  if (!status) status = cq_json_get_bool(&trial->failed, record, "failed", path, error);
  for (int m = 0; !status && m < CQ_AUTOENCODE_N_MEASURES; m++) {
    status = cq_json_get_number(&trial->dev[m], record, cq_autoencode_measures[m], path, error);
    if (!status && !trial->failed && isnan(trial->dev[m]))
      status = cq_fail_file(error, CQ_ERR_FORMAT, path, "\"%s\" is missing", cq_autoencode_measures[m]);
  }
  return status;
}

/* Over all that have one. */
static cq_status read_records(cq_trials *t, cq_error *error) {
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < t->n; i++) {
    char path[4096];
    json_t *record = NULL;
    status = trial_path(path, t, t->items[i].name, ".json", error);
    if (status || !cq_file_exists(path)) continue;
    status = cq_json_read(&record, path, error);
    if (status) break;
    status = read_members(&t->items[i], record, path, error);
    t->items[i].is_done = !status;
    json_decref(record);
  }
  return status;
}

/* --- the directory --- */

static cq_status add_name(cq_trials *t, const char *name, cq_error *error) {
  if (!cq_reserve((void **)&t->items, &t->capacity, t->n + 1, sizeof *t->items)) return cq_fail_memory(error, "trials");
  cq_trial *trial = &t->items[t->n++];
  *trial = (cq_trial){0};
  for (int m = 0; m < CQ_AUTOENCODE_N_MEASURES; m++) trial->dev[m] = NAN;
  snprintf(trial->name, sizeof trial->name, "%s", name);
  return CQ_OK;
}

static cq_status write_names(const cq_trials *t, cq_error *error) {
  char path[4096];
  cq_builder b = {0};
  cq_builder_printf(&b, "%s\n", title);
  for (size_t i = 0; i < t->n; i++) cq_builder_printf(&b, "%s\n", t->items[i].name);
  cq_status status = b.failed ? cq_fail_memory(error, "trials") : trial_path(path, t, "trials", ".txt", error);
  if (!status) status = cq_file_write(path, b.data, b.n, error);
  cq_builder_free(&b);
  return status;
}

static bool is_trial_name(const char *text) {
  const size_t n = strlen(text);
  return n > 0 && n < CQ_TRIAL_NAME && text[0] != '.' && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789.-") == n;
}

/* The lines of trials.txt; these are checked because names become paths that may be removed. */
static cq_status read_trial_lines(cq_trials *t, char *text, const char *path, cq_error *error) {
  cq_status status = CQ_OK;
  uint64_t line = 0;
  while (!status && *text) {
    const size_t n = strcspn(text, "\n");
    char *next = text + n + (text[n] == '\n');
    text[n] = '\0';
    if (line++ == 0 ? strcmp(text, title) != 0 : !is_trial_name(text))
      status = cq_fail_line(error, CQ_ERR_FORMAT, path, line, "expected %s", line == 1 ? title : "a trial's name");
    else if (line > 1)
      status = add_name(t, text, error);
    text = next;
  }
  if (!status && line == 0) status = cq_fail_line(error, CQ_ERR_FORMAT, path, 1, "expected %s", title);
  return status;
}

/* A directory without trials may be used if it is empty. */
static cq_status check_is_empty(const char *path, cq_error *error) {
  cq_status status = CQ_OK;
  DIR *dir = opendir(path);
  if (!dir) return cq_fail_errno(error, path, "cannot open");
  for (struct dirent *entry; !status && (entry = readdir(dir));)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      status = cq_fail_file(error, CQ_ERR_ARGUMENT, path, "holds '%s' and no trials: the directory is in the way",
                            entry->d_name);
  closedir(dir);
  return status;
}

static cq_status read_names(cq_trials *t, cq_error *error) {
  char path[4096];
  cq_slice text;
  cq_status status = trial_path(path, t, "trials", ".txt", error);
  if (status) return status;
  if (!cq_file_exists(path)) return check_is_empty(t->base->output, error);
  status = cq_file_read(&text, path, error);
  if (status) return status;
  status = read_trial_lines(t, (char *)text.data, path, error);
  cq_free((void *)text.data);
  return status;
}

/* Removes the files of earlier calls, and no others. */
static void remove_trials(cq_trials *t) {
  char path[4096];
  for (size_t i = 0; i < t->n; i++) {
    const char *name = t->items[i].name;
    if (!trial_path(path, t, name, ".json", NULL)) unlink(path);
    if (!trial_path(path, t, name, ".work", NULL)) cq_directory_remove(path);
    if (!trial_path(path, t, name, "", NULL)) cq_directory_remove(path);
  }
  if (!trial_path(path, t, "table", ".md", NULL)) unlink(path);
  t->n = 0;
}

/* Removes files that a killed process was writing or removing. */
static void remove_leftovers(const cq_trials *t) {
  char path[4096];
  for (size_t i = 0; i < t->n; i++) {
    if (!trial_path(path, t, t->items[i].name, ".work", NULL)) cq_remove_leftovers(path);
    if (!trial_path(path, t, t->items[i].name, "", NULL)) cq_remove_leftovers(path);
  }
}

cq_status cq_trials_begin(cq_trials *out, const cq_autoencode_options *base, cq_error *error) {
  char sum[CQ_IDENTITY_HEX];
  *out = (cq_trials){.base = base};
  cq_status status = cq_autoencode_check(base, error);
  if (status) return status;
  if (base->n_dev == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "without dev there is nothing to compare trials by");
  if (cq_file_exists(base->output) && !base->resume && !base->replace)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, base->output, "already exists: resume it, or replace it");
  status = sum_of_options(sum, base, error); /* finds its files before anything is touched */
  if (!status) status = cq_directory_make(base->output, error);
  if (!status) status = cq_directory_lock(&out->lock, base->output, error);
  if (!status) status = read_names(out, error);
  if (!status) remove_leftovers(out);
  if (!status && base->replace && !base->resume) remove_trials(out);
  if (!status) status = read_records(out, error);
  return status ? status : write_names(out, error);
}

void cq_trials_free(cq_trials *t) {
  if (t->lock > 0) close(t->lock);
  cq_free(t->items);
  *t = (cq_trials){0};
}

void cq_trials_drop_model(const cq_trials *t, const cq_trial *trial) {
  char path[4096];
  if (!trial_path(path, t, trial->name, "", NULL)) cq_directory_remove(path);
}

/* --- the table --- */

bool cq_trial_is_better(const cq_trials *t, const cq_trial *a, const cq_trial *b) {
  const double x = a->failed ? -INFINITY : a->dev[t->base->best_by];
  const double y = b->failed ? -INFINITY : b->dev[t->base->best_by];
  return x > y;
}

static void add_trial_row(cq_builder *b, const cq_trial *trial) {
  cq_builder_printf(b, "| %s | %s | %g | ", trial->name, trial->values, trial->epochs);
  if (trial->failed)
    cq_builder_printf(b, "| | | not finite | ");
  else
    cq_builder_printf(b, "%.2f | %.2f | %.2f | %.3f | ", trial->dev[CQ_AUTOENCODE_BLEU], trial->dev[CQ_AUTOENCODE_CHRF],
                      trial->dev[CQ_AUTOENCODE_METEOR], trial->loss);
  cq_builder_printf(b, "%.0f |\n", trial->seconds);
}

/* Writes OUTPUT/table.md: all finished trials, best first; on a tie, the one started first. */
static cq_status write_table(const cq_trials *t, cq_error *error) {
  char path[4096];
  cq_builder b = {0};
  bool *written = cq_alloc_array_zeroed(t->n, sizeof *written);
  cq_status status = written ? trial_path(path, t, "table", ".md", error) : cq_fail_memory(error, "table of trials");
  cq_builder_printf(&b, "| trial | values | epochs | BLEU | chrF | METEOR | loss | seconds |\n"
                        "|---|---|---:|---:|---:|---:|---:|---:|\n");
  for (size_t k = 0; !status && k < t->n; k++) {
    const cq_trial *best = NULL;
    for (size_t i = 0; i < t->n; i++)
      if (t->items[i].is_done && !written[i] && (!best || cq_trial_is_better(t, &t->items[i], best)))
        best = &t->items[i];
    if (!best) break;
    written[best - t->items] = true;
    add_trial_row(&b, best);
  }
  if (!status && b.failed) status = cq_fail_memory(error, "table of trials");
  if (!status) status = cq_file_write(path, b.data, b.n, error);
  cq_builder_free(&b);
  cq_free(written);
  return status;
}

/* --- a trial --- */

static cq_status make_trial(cq_trial *trial, cq_trials *t, const cq_autoencode_options *o, cq_context *ctx,
                            cq_error *error) {
  char output[4096], work[4096], checkpoint[4096];
  cq_autoencode_result result;
  cq_autoencode_options here = *o;
  cq_status status = trial_path(output, t, trial->name, "", error);
  if (!status) status = trial_path(work, t, trial->name, ".work", error);
  if (!status) status = cq_path_join(checkpoint, sizeof checkpoint, work, "checkpoint", error);
  if (status) return status;
  const bool had_work = cq_file_exists(work), had_checkpoint = cq_file_exists(checkpoint);
  here.output = output, here.resume = here.replace = true;
  const double begun = cq_seconds(CLOCK_MONOTONIC);
  status = cq_autoencode(&result, &here, ctx, error);
  trial->seconds = cq_seconds(CLOCK_MONOTONIC) - begun;
  if (status == CQ_ERR_LIMIT) {
    trial->failed = true;
    cq_directory_remove(work);
    return CQ_OK;
  }
  /* The options were valid before, so the checkpoint must be from another run. */
  t->refused = status == CQ_ERR_ARGUMENT && !had_checkpoint;
  if (t->refused && !had_work) cq_directory_remove(work);
  if (!status) memcpy(trial->dev, result.dev, sizeof result.dev), trial->loss = result.loss;
  return status;
}

static cq_status make_and_record(cq_trial *trial, cq_trials *t, const char *values, const cq_autoencode_options *o,
                                 cq_context *ctx, const char *path, cq_error *error) {
  snprintf(trial->values, sizeof trial->values, "%s", values);
  trial->epochs = o->together_epochs + o->encoder_epochs + o->decoder_epochs;
  cq_status status = sum_of_options(trial->sum, o, error);
  if (!status) status = make_trial(trial, t, o, ctx, error);
  if (!status) status = write_trial_record(trial, path, error);
  trial->is_done = trial->is_made = !status;
  return status;
}

cq_status cq_trials_run(const cq_trial **out, cq_trials *t, const char *name, const char *values,
                        const cq_autoencode_options *o, cq_context *ctx, cq_error *error) {
  char path[4096], sum[CQ_IDENTITY_HEX];
  size_t at = 0;
  *out = NULL;
  t->refused = false;
  while (at < t->n && strcmp(t->items[at].name, name) != 0) at++;
  cq_status status = trial_path(path, t, name, ".json", error);
  if (!status && at == t->n) {
    status = add_name(t, name, error);
    if (!status) status = write_names(t, error);
  }
  if (status) return status;
  cq_trial *trial = &t->items[at];
  if (!trial->is_done) {
    status = make_and_record(trial, t, values, o, ctx, path, error);
  } else {
    status = sum_of_options(sum, o, error);
    if (!status && strcmp(trial->sum, sum) != 0)
      status = cq_fail_file(error, CQ_ERR_ARGUMENT, path, "the trial was made with other options or data");
  }
  if (status) return status;
  *out = trial;
  return write_table(t, error);
}
