/* A file that a command writes: when committed, it appears atomically. */
#ifndef CLI_FRAME_OUTPUT_H
#define CLI_FRAME_OUTPUT_H

#include "base/file.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct cli_output {
  FILE *stream;
  char *path;
  cq_writer writer; /* {0}: a device, a pipe or a link is written directly */
} cli_output;

/* Refuses to overwrite a regular file that is not empty, unless `replace` is set: CQ_ERR_ARGUMENT. path may be NULL, a
 * device or a pipe. */
CQ_MUST_USE cq_status cli_output_check(const char *path, bool replace, cq_error *error);
#define CLI_REPLACE(owner, field)                                                                                      \
  { CQ_FLAG(owner, "replace", field, KEEPS, "overwrite an existing --output") }

CQ_MUST_USE cq_status cli_output_open(cli_output *out, const char *path, cq_error *error);
CQ_MUST_USE cq_status cli_output_commit(cli_output *out, cq_error *error);
void cli_output_abort(cli_output *out); /* legal on {0} and after a commit */
/* After a write that failed: fills the error from errno. */
cq_status cli_output_fail(const cli_output *out, cq_error *error);
/* A text as a file; path NULL: to standard output. */
CQ_MUST_USE cq_status cli_output_text(const char *path, const char *text, cq_error *error);

#endif
