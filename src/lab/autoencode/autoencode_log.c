/* Reads the log of autoencode.c, one JSON object per line, first that of the run:
 *
 *   {"type":"run","languages":["fr","it","en"]}
 *   {"type":"step","stage":"together","step":1,"nll":{"fr":8.1,"it":8.3},"contrast":4.2,"distance":1.9,
 *    "distillation":0.8,"discriminator":0.61,"gradient_norm":6.7}   nll of up to two languages; losses between
 *                                                                   vectors if there are any
 *   {"type":"dev","stage":"decoders","epoch":1.0,"ways":{"fr-it":{"bleu":1.2,"chrf":9.5,"meteor":4.1},"it-fr":{...}}}
 *
 * The log counts steps from 1 in each stage; here, they are numbered consecutively. Other types are skipped. */
#include "base/error.h"
#include "base/memory.h"
#include "lab/autoencode/autoencoder.h"
#include "lab/autoencode/translate_dev.h"
#include "lab/plot/training_log.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct reader {
  cq_autoencode_log *log;
  const cq_log_record *record; /* that is read */
  size_t step_room, nll_room, stage_room, way_room, dev_room, score_room;
} reader;

/* An error on the line that is read. */
#define FAIL(...) cq_fail_line(error, CQ_ERR_FORMAT, r->log->path, r->record->line, __VA_ARGS__)

static cq_status fail_record(const reader *r, const json_error_t *problem, cq_error *error) {
  return cq_log_fail(r->record, problem, error);
}

/* n: there is none of that name. */
static size_t name_index(char *const *names, size_t n, const char *name) {
  size_t i = 0;
  while (i < n && strcmp(names[i], name) != 0) i++;
  return i;
}

static cq_status read_run(reader *r, json_t *record, cq_error *error) {
  cq_autoencode_log *log = r->log;
  json_t *codes;
  json_error_t problem;
  if (json_unpack_ex(record, &problem, 0, "{s:o}", "languages", &codes)) return fail_record(r, &problem, error);
  if (log->n_languages > 0) return FAIL("another run begins");
  const size_t n = json_array_size(codes); /* 0 of what is not a list */
  if (n == 0) return FAIL("key 'languages' is not a list of codes");
  if (!(log->languages = cq_alloc_array(n, sizeof *log->languages))) return cq_fail_memory(error, log->path);
  for (; log->n_languages < n; log->n_languages++) {
    const char *code = json_string_value(json_array_get(codes, log->n_languages));
    if (!code || !cq_autoencoder_is_code(code)) return FAIL("a language without code");
    if (name_index(log->languages, log->n_languages, code) < log->n_languages) return FAIL("'%s' appears twice", code);
    if (!(log->languages[log->n_languages] = cq_strdup(code))) return cq_fail_memory(error, log->path);
  }
  return CQ_OK;
}

static cq_status read_nll(double *nll, const reader *r, json_t *of, cq_error *error) {
  const cq_autoencode_log *log = r->log;
  const char *code;
  json_t *value;
  if (!json_is_object(of)) return FAIL("key 'nll' is not an object of languages");
  for (size_t i = 0; i < log->n_languages; i++) nll[i] = NAN;
  json_object_foreach(of, code, value) {
    const size_t i = name_index(log->languages, log->n_languages, code);
    if (i == log->n_languages) return FAIL("'%s' is not a language of the run", code);
    if (!json_is_number(value)) return FAIL("-log p of '%s' is not a number", code);
    nll[i] = json_number_value(value);
  }
  return CQ_OK;
}

static cq_status read_step(reader *r, json_t *record, cq_error *error) {
  cq_autoencode_log *log = r->log;
  cq_autoencode_log_step s = {NAN, NAN, NAN, NAN, NAN};
  const char *stage;
  json_t *nll;
  json_error_t problem;
  if (json_unpack_ex(record, &problem, 0, "{s:s, s:o, s?F, s?F, s?F, s?F, s:F}", "stage", &stage, "nll", &nll,
                     "contrast", &s.contrast, "distance", &s.distance, "distillation", &s.distillation, "discriminator",
                     &s.discriminator, "gradient_norm", &s.gradient_norm))
    return fail_record(r, &problem, error);
  if (log->n_languages == 0) return FAIL("a step before the run that says the languages");
  if (strlen(stage) >= sizeof log->stages->name) return FAIL("'%s' is not the name of a stage", stage);
  if (!cq_reserve((void **)&log->steps, &r->step_room, log->n_steps + 1, sizeof *log->steps) ||
      !cq_reserve((void **)&log->nll, &r->nll_room, (log->n_steps + 1) * log->n_languages, sizeof *log->nll) ||
      !cq_reserve((void **)&log->stages, &r->stage_room, log->n_stages + 1, sizeof *log->stages))
    return cq_fail_memory(error, log->path);
  if (log->n_stages == 0 || strcmp(log->stages[log->n_stages - 1].name, stage) != 0) {
    cq_autoencode_log_stage *new = &log->stages[log->n_stages++];
    snprintf(new->name, sizeof new->name, "%s", stage);
    new->begin = log->n_steps;
  }
  log->steps[log->n_steps] = s;
  return read_nll(log->nll + log->n_steps++ * log->n_languages, r, nll, error);
}

/* The first evaluation on dev defines the directions. */
static cq_status add_way(reader *r, const char *name, cq_error *error) {
  cq_autoencode_log *log = r->log;
  if (!cq_reserve((void **)&log->ways, &r->way_room, log->n_ways + 1, sizeof *log->ways) ||
      !(log->ways[log->n_ways] = cq_strdup(name)))
    return cq_fail_memory(error, log->path);
  log->n_ways++;
  return CQ_OK;
}

static cq_status read_scores(double scores[CQ_AUTOENCODE_N_MEASURES], const reader *r, json_t *of, cq_error *error) {
  json_error_t problem;
  for (int m = 0; m < CQ_AUTOENCODE_N_MEASURES; m++)
    if (json_unpack_ex(of, &problem, 0, "{s:F}", cq_autoencode_measures[m], &scores[m]))
      return fail_record(r, &problem, error);
  return CQ_OK;
}

static cq_status read_dev(reader *r, json_t *record, cq_error *error) {
  cq_autoencode_log *log = r->log;
  const char *name;
  json_t *ways, *of;
  json_error_t problem;
  cq_status status = CQ_OK;
  if (json_unpack_ex(record, &problem, 0, "{s:o}", "ways", &ways)) return fail_record(r, &problem, error);
  if (json_object_size(ways) == 0) return FAIL("key 'ways' is not an object"); /* 0 of what is none */
  json_object_foreach(ways, name, of) {
    if (!status && log->n_devs == 0) status = add_way(r, name, error);
  }
  if (status) return status;
  if (json_object_size(ways) != log->n_ways)
    return FAIL("dev has %zu ways, %zu before", json_object_size(ways), log->n_ways);
  const size_t n_scores = log->n_ways * CQ_AUTOENCODE_N_MEASURES;
  if (!cq_reserve((void **)&log->devs, &r->dev_room, log->n_devs + 1, sizeof *log->devs) ||
      !cq_reserve((void **)&log->scores, &r->score_room, (log->n_devs + 1) * n_scores, sizeof *log->scores))
    return cq_fail_memory(error, log->path);
  json_object_foreach(ways, name, of) {
    const size_t way = name_index(log->ways, log->n_ways, name);
    if (way == log->n_ways) return FAIL("dev has the way '%s', not so before", name);
    status = read_scores(log->scores + log->n_devs * n_scores + way * CQ_AUTOENCODE_N_MEASURES, r, of, error);
    if (status) return status;
  }
  log->devs[log->n_devs++].n_steps = log->n_steps;
  return CQ_OK;
}

static cq_status read_log_record(void *context, const cq_log_record *record, cq_error *error) {
  reader *r = context;
  r->record = record;
  return !strcmp(record->type, "step")  ? read_step(r, record->value, error)
         : !strcmp(record->type, "dev") ? read_dev(r, record->value, error)
         : !strcmp(record->type, "run") ? read_run(r, record->value, error)
                                        : CQ_OK;
}

cq_status cq_autoencode_log_read(cq_autoencode_log *out, const char *path, cq_error *error) {
  reader r = {.log = out};
  *out = (cq_autoencode_log){0};
  cq_status status = cq_log_find(&out->path, path, error);
  if (!status) status = cq_log_read(out->path, read_log_record, &r, error);
  if (!status && out->n_steps == 0) status = cq_fail_file(error, CQ_ERR_FORMAT, out->path, "no step is logged in it");
  if (status) cq_autoencode_log_free(out);
  return status;
}

void cq_autoencode_log_free(cq_autoencode_log *log) {
  cq_free(log->path);
  for (size_t i = 0; i < log->n_languages; i++) cq_free(log->languages[i]);
  for (size_t i = 0; i < log->n_ways; i++) cq_free(log->ways[i]);
  cq_free(log->languages);
  cq_free(log->ways);
  cq_free(log->steps);
  cq_free(log->nll);
  cq_free(log->stages);
  cq_free(log->devs);
  cq_free(log->scores);
  *log = (cq_autoencode_log){0};
}
