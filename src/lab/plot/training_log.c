/* Goes through the log of a training run. See training_log.h. */
#include "lab/plot/training_log.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "calque/lines.h"
#include "format/json.h"

#include <stdio.h>

cq_status cq_log_find(char **out, const char *path, cq_error *error) {
  const size_t n = cq_path_length(path);
  const size_t size = n + sizeof ".work/log.jsonl";
  char *name = cq_alloc(size);
  if (!name) return cq_fail_memory(error, path);
  snprintf(name, size, "%.*s.work/log.jsonl", (int)n, path);
  if (!cq_file_exists(name)) snprintf(name, size, "%.*s%s", (int)n, path, cq_is_directory(path) ? "/log.jsonl" : "");
  *out = name;
  return CQ_OK;
}

cq_status cq_log_fail(const cq_log_record *record, const json_error_t *problem, cq_error *error) {
  if (json_error_code(problem) == json_error_out_of_memory) return cq_fail_memory(error, record->path);
  return cq_fail_line(error, CQ_ERR_FORMAT, record->path, record->line, "%s: is this the log of a training run?",
                      problem->text);
}

static cq_status read_line(cq_log_record *record, cq_slice line, cq_error *error) {
  json_error_t problem;
  cq_status status = cq_json_load(&record->value, line, JSON_REJECT_DUPLICATES, &problem);
  if (status == CQ_ERR_MEMORY) return cq_fail_memory(error, record->path);
  return status ? cq_log_fail(record, &problem, error) : CQ_OK;
}

static cq_status read_records(cq_lines *lines, const char *path,
                              cq_status (*take)(void *, const cq_log_record *, cq_error *), void *context,
                              cq_error *error) {
  cq_error broken = {0}; /* a line that is not JSON: allowed only at the end */
  for (;;) {
    cq_slice line;
    cq_status status = cq_lines_next(&line, lines, error);
    if (status || !line.data) return status;
    if (broken.status) {
      if (error) *error = broken;
      return broken.status;
    }
    cq_log_record record = {.path = path, .line = cq_lines_number(lines)};
    status = read_line(&record, line, &broken);
    if (status == CQ_ERR_FORMAT) continue;
    json_error_t problem;
    if (status && error)
      *error = broken;
    else if (!status && json_unpack_ex(record.value, &problem, 0, "{s:s}", "type", &record.type))
      status = cq_log_fail(&record, &problem, error);
    if (!status) status = take(context, &record, error);
    json_decref(record.value);
    if (status) return status;
  }
}

cq_status cq_log_read(const char *path, cq_status (*take)(void *context, const cq_log_record *, cq_error *),
                      void *context, cq_error *error) {
  cq_lines *lines;
  cq_status status = cq_lines_open(&lines, path, error);
  if (status) return status;
  status = read_records(lines, path, take, context, error);
  cq_lines_close(lines);
  return status;
}
