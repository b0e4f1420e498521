/* Reading what autoencode.c logs, a JSON object a line:
 *
 *   {"type":"run","languages":["fr","it"]}
 *   {"type":"step","stage":"encoders","step":1,"nll":[0.0,0.0],"contrast":4.2,"distance":1.9,"gradient_norm":6.7}
 *   {"type":"dev","stage":"decoders","epoch":1.0,"bleu":[0.5,0.5]}
 *
 * Steps are counted anew in each stage; here they are counted through. Lines of other types are passed over. */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "calque/autoencode.h"
#include "calque/lines.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

typedef struct reader {
  cq_autoencode_log *log;
  cq_lines *lines;
  size_t step_room, stage_room, dev_room;
} reader;

static cq_status fail_record(const reader *r, const json_error_t *problem, cq_error *error) {
  if (json_error_code(problem) == json_error_out_of_memory) return cq_fail_memory(error, r->log->path);
  return cq_fail_line(error, CQ_ERR_FORMAT, r->log->path, cq_lines_number(r->lines),
                      "%s: is this the log of a training of autoencoders?", problem->text);
}

static cq_status read_run(reader *r, json_t *record, cq_error *error) {
  const char *codes[2];
  json_error_t problem;
  if (json_unpack_ex(record, &problem, 0, "{s:[s,s]}", "languages", &codes[0], &codes[1]))
    return fail_record(r, &problem, error);
  for (int i = 0; i < 2; i++) {
    cq_free(r->log->languages[i]);
    if (!(r->log->languages[i] = cq_strdup(codes[i]))) return cq_fail_memory(error, r->log->path);
  }
  return CQ_OK;
}

static cq_status read_step(reader *r, json_t *record, cq_error *error) {
  cq_autoencode_log *log = r->log;
  cq_autoencode_log_step s;
  const char *stage;
  json_error_t problem;
  if (json_unpack_ex(record, &problem, 0, "{s:s, s:[F,F], s:F, s:F, s:F}", "stage", &stage, "nll", &s.nll[0], &s.nll[1],
                     "contrast", &s.contrast, "distance", &s.distance, "gradient_norm", &s.gradient_norm))
    return fail_record(r, &problem, error);
  if (strlen(stage) >= sizeof log->stages->name)
    return cq_fail_line(error, CQ_ERR_FORMAT, log->path, cq_lines_number(r->lines), "'%s' is no stage's name", stage);
  if (!cq_reserve((void **)&log->steps, &r->step_room, log->n_steps + 1, sizeof *log->steps) ||
      !cq_reserve((void **)&log->stages, &r->stage_room, log->n_stages + 1, sizeof *log->stages))
    return cq_fail_memory(error, log->path);
  if (log->n_stages == 0 || strcmp(log->stages[log->n_stages - 1].name, stage) != 0) {
    cq_autoencode_log_stage *new = &log->stages[log->n_stages++];
    snprintf(new->name, sizeof new->name, "%s", stage);
    new->begin = log->n_steps;
  }
  log->steps[log->n_steps++] = s;
  return CQ_OK;
}

static cq_status read_dev(reader *r, json_t *record, cq_error *error) {
  cq_autoencode_log *log = r->log;
  cq_autoencode_log_dev d = {.n_steps = log->n_steps};
  json_error_t problem;
  if (json_unpack_ex(record, &problem, 0, "{s:[F,F]}", "bleu", &d.bleu[0], &d.bleu[1]))
    return fail_record(r, &problem, error);
  if (!cq_reserve((void **)&log->devs, &r->dev_room, log->n_devs + 1, sizeof *log->devs))
    return cq_fail_memory(error, log->path);
  log->devs[log->n_devs++] = d;
  return CQ_OK;
}

static cq_status read_record(reader *r, json_t *record, cq_error *error) {
  const char *type;
  json_error_t problem;
  if (json_unpack_ex(record, &problem, 0, "{s:s}", "type", &type)) return fail_record(r, &problem, error);
  return !strcmp(type, "step")  ? read_step(r, record, error)
         : !strcmp(type, "dev") ? read_dev(r, record, error)
         : !strcmp(type, "run") ? read_run(r, record, error)
                                : CQ_OK;
}

static cq_status read_lines(reader *r, cq_error *error) {
  cq_error broken = {0}; /* a line that is no JSON: forgiven to the last one */
  for (;;) {
    cq_slice line;
    cq_status status = cq_lines_next(&line, r->lines, error);
    if (status || !line.data) return status;
    if (broken.status) {
      if (error) *error = broken;
      return broken.status;
    }
    json_error_t problem;
    json_t *record = json_loadb(line.data, line.n, 0, &problem);
    if (record) {
      status = read_record(r, record, error);
      json_decref(record);
    } else if (json_error_code(&problem) == json_error_out_of_memory) {
      status = cq_fail_memory(error, r->log->path);
    } else {
      (void)fail_record(r, &problem, &broken);
    }
    if (status) return status;
  }
}

/* The log that a path stands for. */
static cq_status name_log(char **out, const char *path, cq_error *error) {
  size_t n = strlen(path);
  while (n > 1 && path[n - 1] == '/') n--;
  const size_t size = n + sizeof ".work/log.jsonl";
  char *name = cq_alloc(size);
  if (!name) return cq_fail_memory(error, path);
  snprintf(name, size, "%.*s.work/log.jsonl", (int)n, path);
  if (!cq_file_exists(name)) snprintf(name, size, "%.*s%s", (int)n, path, cq_is_directory(path) ? "/log.jsonl" : "");
  *out = name;
  return CQ_OK;
}

cq_status cq_autoencode_log_read(cq_autoencode_log *out, const char *path, cq_error *error) {
  reader r = {.log = out};
  *out = (cq_autoencode_log){0};
  cq_status status = name_log(&out->path, path, error);
  if (!status) status = cq_lines_open(&r.lines, out->path, error);
  if (!status) status = read_lines(&r, error);
  cq_lines_close(r.lines);
  if (!status && out->n_steps == 0) status = cq_fail_file(error, CQ_ERR_FORMAT, out->path, "no step is logged in it");
  if (status) cq_autoencode_log_free(out);
  return status;
}

void cq_autoencode_log_free(cq_autoencode_log *log) {
  cq_free(log->path);
  for (int i = 0; i < 2; i++) cq_free(log->languages[i]);
  cq_free(log->steps);
  cq_free(log->stages);
  cq_free(log->devs);
  *log = (cq_autoencode_log){0};
}
