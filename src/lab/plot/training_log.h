/* The log of a training run, a JSON object on each line (recipe/run/run_log.h): finding it, and going through it. */
#ifndef LAB_PLOT_TRAINING_LOG_H
#define LAB_PLOT_TRAINING_LOG_H

#include "calque/status.h"

#include <jansson.h>
#include <stdint.h>

/* The log of PATH, to be released with cq_free: of the run that is writing PATH (PATH.work/log.jsonl), of the model PATH
 * (PATH/log.jsonl), or PATH itself. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_log_find(char **out, const char *path, cq_error *error);

typedef struct cq_log_record {
  const char *path, *type; /* type: of the value */
  uint64_t line;
  json_t *value; /* an object */
} cq_log_record;

/* Calls take for each record. A last line that is not JSON is left out: the run is writing it. Errors: CQ_ERR_FORMAT
 * with the line; CQ_ERR_IO, CQ_ERR_MEMORY; those of take. */
CQ_MUST_USE cq_status cq_log_read(const char *path, cq_status (*take)(void *context, const cq_log_record *, cq_error *),
                                  void *context, cq_error *error);
/* CQ_ERR_FORMAT at the record's line, or CQ_ERR_MEMORY, for what json_unpack_ex could not find. */
cq_status cq_log_fail(const cq_log_record *record, const json_error_t *problem, cq_error *error);

#endif
