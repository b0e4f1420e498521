/* Appends JSON lines to a run's log; when the run is resumed, truncates the log to the length in the checkpoint. */
#include "recipe/run/run_log.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "format/json.h"

#include <errno.h>
#include <unistd.h>

cq_status cq_run_log_open(cq_run_log *out, const char *path, uint64_t keep, cq_error *error) {
  *out = (cq_run_log){.path = cq_strdup(path)};
  if (!out->path) return cq_fail_memory(error, path);
  out->stream = fopen(path, "ab");
  if (out->stream && fseek(out->stream, 0, SEEK_END) == 0 && (uint64_t)ftell(out->stream) < keep)
    keep = (uint64_t)ftell(out->stream);
  if (!out->stream || ftruncate(fileno(out->stream), (off_t)keep) != 0) {
    cq_status status = cq_fail_errno(error, path, "cannot open"), ignored = cq_run_log_close(out, NULL);
    (void)ignored;
    return status;
  }
  return cq_sync_name(path, error); /* must exist before any checkpoint */
}

cq_status cq_run_log_close(cq_run_log *log, cq_error *error) {
  cq_status status = CQ_OK;
  if (log->stream && fclose(log->stream) != 0) status = cq_fail_errno(error, log->path, "cannot write");
  cq_free(log->path);
  *log = (cq_run_log){0};
  return status;
}

cq_status cq_run_log_write(cq_run_log *log, json_t *record, cq_error *error) {
  if (!record) return cq_fail_memory(error, "log record");
  if (!log->stream) { /* of a rank that writes nothing */
    json_decref(record);
    return CQ_OK;
  }
  char *text = cq_json_dump(record, JSON_COMPACT | JSON_REAL_PRECISION(9));
  json_decref(record);
  if (!text) return cq_fail_memory(error, "log record");
  const bool failed = fputs(text, log->stream) == EOF || fputc('\n', log->stream) == EOF;
  cq_free(text);
  return failed ? cq_fail_errno(error, log->path, "cannot write") : CQ_OK;
}

cq_status cq_run_log_length(uint64_t *out, cq_run_log *log, cq_error *error) {
  if (fflush(log->stream) != 0 || (fsync(fileno(log->stream)) != 0 && errno != EINVAL))
    return cq_fail_errno(error, log->path, "cannot write");
  const long at = ftell(log->stream);
  if (at < 0) return cq_fail_errno(error, log->path, "cannot tell the length of");
  *out = (uint64_t)at;
  return CQ_OK;
}
