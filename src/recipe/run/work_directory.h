/* The directory a run works in, beside its output:
 *
 *   OUTPUT.work/checkpoint   the whole state; replaced atomically
 *   OUTPUT.work/best/        the best model so far, in the output's own layout
 *   OUTPUT.work/log.jsonl    a record a step and an evaluation
 *
 * It disappears in one rename when the run is over, so that a kill leaves it whole or gone. One run works in it at a
 * time. */
#ifndef RECIPE_RUN_WORK_DIRECTORY_H
#define RECIPE_RUN_WORK_DIRECTORY_H

#include "calque/status.h"

#include <stdbool.h>

#define CQ_WORK_PATH 4096

typedef struct cq_work_directory {
  char path[CQ_WORK_PATH], checkpoint[CQ_WORK_PATH], best[CQ_WORK_PATH], log[CQ_WORK_PATH];
  bool under_way; /* there is a checkpoint to resume from */
  int lock;       /* held on the directory while a run works in it; 0: not yet */
} cq_work_directory;

/* Checks the output before the work. Errors: CQ_ERR_ARGUMENT when it is not a name for a new directory, or exists and
 * holds something other than a model; CQ_ERR_IO when its parent cannot be written to. */
CQ_MUST_USE cq_status cq_work_directory_check_output(const char *output, cq_error *error);

/* Names the paths and checks what is there; the directory itself is made by cq_work_directory_begin once there is
 * something to put in.
 *   log_path  the caller's place for the log; NULL: inside
 * Errors: as cq_work_directory_check_output; CQ_ERR_ARGUMENT when the output exists and neither replace nor a run under
 * way allows that, when a run is under way and resume is false, when the directory holds files that are not a run's,
 * when there is text at log_path that is neither this run's nor to be replaced. */
CQ_MUST_USE cq_status cq_work_directory_open(cq_work_directory *out, const char *output, const char *log_path,
                                             bool resume, bool replace, cq_error *error);

/* The paths alone, for one of several processes of a run that writes nothing. Errors: CQ_ERR_ARGUMENT. */
CQ_MUST_USE cq_status cq_work_directory_follow(cq_work_directory *out, const char *output, cq_error *error);

/* Makes the directory and takes it for this process. Errors: CQ_ERR_ARGUMENT when another process works in it, or has
 * in the meantime; CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_work_directory_begin(cq_work_directory *w, cq_error *error);
void cq_work_directory_close(cq_work_directory *w); /* gives it up; legal on {0} */

/* Puts the log beside the model (unless it lies at log_path) and removes the directory. */
CQ_MUST_USE cq_status cq_work_directory_finish(const cq_work_directory *w, const char *output, bool log_inside,
                                               cq_error *error);

#endif
