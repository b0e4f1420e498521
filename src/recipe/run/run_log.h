/* The log of a run: one JSON object per line, appended during the run. Its length is part of every checkpoint; a
 * resumed run truncates the log to that length, so it looks like the log of an uninterrupted run. */
#ifndef RECIPE_RUN_RUN_LOG_H
#define RECIPE_RUN_RUN_LOG_H

#include "calque/status.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cq_run_log {
  FILE *stream;
  char *path;
} cq_run_log;

/* Opens a log for appending after the first `keep` bytes and removes the rest. A shorter log (edited by hand, for
 * example) is continued at its end. */
CQ_MUST_USE cq_status cq_run_log_open(cq_run_log *out, const char *path, uint64_t keep, cq_error *error);
/* Reports write errors such as a full disk, which may appear only now. A closed log may be closed again. */
CQ_MUST_USE cq_status cq_run_log_close(cq_run_log *log, cq_error *error);
/* Writes one record and releases it; NULL (json_pack failed) is CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_run_log_write(cq_run_log *log, json_t *record, cq_error *error);
/* Syncs the log and returns its length. */
CQ_MUST_USE cq_status cq_run_log_length(uint64_t *out, cq_run_log *log, cq_error *error);

#endif
