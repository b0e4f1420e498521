#include "recipe/autoencode_trials.h"

#include "base/checksum.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "format/json.h"
#include "recipe/autoencode_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const measures[CQ_AUTOENCODE_N_MEASURES] = {"bleu", "chrf", "meteor"};

/* --- the directory --- */

cq_status cq_trials_begin(cq_trials *out, const cq_autoencode_options *base, cq_error *error) {
  *out = (cq_trials){.base = base};
  const cq_status status = cq_autoencode_check(base, error);
  if (status) return status;
  if (base->n_dev == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "without dev there is nothing to compare trials by");
  if (cq_file_exists(base->output) && !base->resume && !base->replace)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, base->output, "exists already: resume it, or replace it");
  if (base->replace && !base->resume) cq_directory_remove(base->output);
  return cq_is_directory(base->output) ? CQ_OK : cq_directory_make(base->output, error);
}

void cq_trials_free(cq_trials *t) {
  cq_free(t->items);
  *t = (cq_trials){0};
}

static cq_status path_of(char out[4096], const cq_trials *t, const char *name, const char *ending, cq_error *error) {
  char file[CQ_TRIAL_NAME + 8];
  snprintf(file, sizeof file, "%s%s", name, ending);
  return cq_path_join(out, 4096, t->base->output, file, error);
}

void cq_trials_drop_model(const cq_trials *t, const char *name) {
  char path[4096];
  if (!path_of(path, t, name, "", NULL)) cq_directory_remove(path);
}

/* --- records --- */

static cq_status sum_options(char out[24], const cq_autoencode_options *o, cq_error *error) {
  cq_builder b = {0};
  cq_autoencode_describe(&b, o);
  const cq_status status = b.failed ? cq_fail_memory(error, "options") : CQ_OK;
  if (!status) snprintf(out, 24, "%016llx", (unsigned long long)cq_checksum(b.data, b.n, 0));
  cq_builder_free(&b);
  return status;
}

static cq_status write_record(const cq_trial *trial, const char *path, const char *sum, cq_error *error) {
  json_t *record =
      json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:b}", "name", trial->name, "values", trial->values, "options", sum,
                "epochs", trial->epochs, "loss", trial->loss, "seconds", trial->seconds, "failed", trial->failed);
  for (int m = 0; !trial->failed && m < CQ_AUTOENCODE_N_MEASURES; m++)
    json_object_set_new(record, measures[m], json_real(trial->dev[m]));
  const cq_status status = record ? cq_json_write(record, path, error) : cq_fail_memory(error, path);
  json_decref(record);
  return status;
}

static cq_status read_record(cq_trial *trial, const char *path, const char *sum, cq_error *error) {
  json_t *record;
  const char *made_with = "";
  cq_status status = cq_json_read(&record, path, error);
  if (status) return status;
  status = cq_json_get_string(&made_with, record, "options", path, error);
  if (!status && strcmp(made_with, sum) != 0)
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, path, "the trial was made with other options");
  if (!status) status = cq_json_get_number(&trial->seconds, record, "seconds", path, error);
  if (!status) status = cq_json_get_number(&trial->loss, record, "loss", path, error);
  if (!status) status = cq_json_get_bool(&trial->failed, record, "failed", path, error);
  for (int m = 0; !status && m < CQ_AUTOENCODE_N_MEASURES; m++)
    status = cq_json_get_number(&trial->dev[m], record, measures[m], path, error);
  if (!status && !trial->failed && isnan(trial->dev[CQ_AUTOENCODE_BLEU]))
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "\"bleu\" is missing");
  json_decref(record);
  return status;
}

/* --- a trial --- */

static cq_status make(cq_trial *trial, const cq_trials *t, const cq_autoencode_options *o, cq_pool *pool,
                      cq_error *error) {
  char output[4096];
  cq_autoencode_result result;
  cq_autoencode_options here = *o;
  cq_status status = path_of(output, t, trial->name, "", error);
  here.output = output, here.resume = here.replace = true;
  const double begun = cq_seconds(CLOCK_MONOTONIC);
  if (!status) status = cq_autoencode(&here, pool, &result, error);
  trial->seconds = cq_seconds(CLOCK_MONOTONIC) - begun;
  if (status == CQ_ERR_LIMIT) {
    trial->failed = true;
    status = path_of(output, t, trial->name, ".work", error);
    if (!status) cq_directory_remove(output);
    return status;
  }
  if (!status) memcpy(trial->dev, result.dev, sizeof result.dev), trial->loss = result.loss;
  return status;
}

cq_status cq_trials_run(const cq_trial **out, cq_trials *t, const char *name, const char *values,
                        const cq_autoencode_options *o, cq_pool *pool, cq_error *error) {
  char path[4096], sum[24];
  *out = NULL;
  if (!cq_reserve((void **)&t->items, &t->capacity, t->n + 1, sizeof *t->items)) return cq_fail_memory(error, "trials");
  cq_trial *trial = &t->items[t->n];
  *trial = (cq_trial){.epochs = o->together_epochs + o->encoder_epochs + o->decoder_epochs};
  for (int m = 0; m < CQ_AUTOENCODE_N_MEASURES; m++) trial->dev[m] = NAN;
  snprintf(trial->name, sizeof trial->name, "%s", name);
  snprintf(trial->values, sizeof trial->values, "%s", values);
  cq_status status = path_of(path, t, name, ".json", error);
  if (!status) status = sum_options(sum, o, error);
  if (status) return status;
  if (cq_file_exists(path)) {
    status = read_record(trial, path, sum, error);
  } else {
    status = make(trial, t, o, pool, error);
    if (!status) status = write_record(trial, path, sum, error);
  }
  if (status) return status;
  *out = &t->items[t->n++];
  return cq_trials_table(t, error);
}

/* --- the table --- */

bool cq_trial_is_better(const cq_trials *t, const cq_trial *a, const cq_trial *b) {
  const double x = a->failed ? -INFINITY : a->dev[t->base->best_by];
  const double y = b->failed ? -INFINITY : b->dev[t->base->best_by];
  return x != y ? x > y : a < b;
}

static void add_row(cq_builder *b, const cq_trial *trial) {
  cq_builder_printf(b, "| %s | %s | %g | ", trial->name, trial->values, trial->epochs);
  if (trial->failed)
    cq_builder_printf(b, "| | | not finite | ");
  else
    cq_builder_printf(b, "%.2f | %.2f | %.2f | %.3f | ", trial->dev[CQ_AUTOENCODE_BLEU], trial->dev[CQ_AUTOENCODE_CHRF],
                      trial->dev[CQ_AUTOENCODE_METEOR], trial->loss);
  cq_builder_printf(b, "%.0f |\n", trial->seconds);
}

cq_status cq_trials_table(const cq_trials *t, cq_error *error) {
  char path[4096];
  cq_builder b = {0};
  bool *done = cq_alloc_array_zeroed(t->n, sizeof *done);
  cq_status status = done ? path_of(path, t, "table", ".md", error) : cq_fail_memory(error, "table of trials");
  cq_builder_printf(&b, "| trial | values | epochs | BLEU | chrF | METEOR | loss | seconds |\n"
                        "|---|---|---:|---:|---:|---:|---:|---:|\n");
  for (size_t k = 0; !status && k < t->n; k++) {
    const cq_trial *best = NULL;
    for (size_t i = 0; i < t->n; i++)
      if (!done[i] && (!best || cq_trial_is_better(t, &t->items[i], best))) best = &t->items[i];
    done[best - t->items] = true;
    add_row(&b, best);
  }
  if (!status && b.failed) status = cq_fail_memory(error, "table of trials");
  if (!status) status = cq_file_write(path, b.data, b.n, error);
  cq_builder_free(&b);
  cq_free(done);
  return status;
}
