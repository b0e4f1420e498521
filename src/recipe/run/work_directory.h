/* A run's work directory, next to its output:
 *
 *   OUTPUT.work/checkpoint   the whole state; replaced atomically
 *   OUTPUT.work/best/        the best model so far, in the output's own layout
 *   OUTPUT.work/log.jsonl    a record per step and per evaluation
 *
 * It is removed by a rename at the end of the run, so that a killed run leaves it complete or gone. Only one run uses
 * it at a time. */
#ifndef RECIPE_RUN_WORK_DIRECTORY_H
#define RECIPE_RUN_WORK_DIRECTORY_H

#include "calque/status.h"

#include <stdbool.h>

#define CQ_WORK_PATH 4096

typedef struct cq_work_directory {
  char path[CQ_WORK_PATH], checkpoint[CQ_WORK_PATH], best[CQ_WORK_PATH], log[CQ_WORK_PATH];
  bool under_way; /* there is a checkpoint to resume from */
  int lock;       /* lock on the directory while a run uses it; 0: not yet */
} cq_work_directory;

/* Checks the output in advance. Errors: CQ_ERR_ARGUMENT when it cannot name a new directory, or exists and contains
 * something other than a model; CQ_ERR_IO when its parent is not writable. */
CQ_MUST_USE cq_status cq_work_directory_check_output(const char *output, cq_error *error);

/* Sets the paths and checks existing files; cq_work_directory_begin makes the directory when it is first needed.
 *   log_path  the caller's path for the log; NULL: inside
 * Errors: as cq_work_directory_check_output; CQ_ERR_ARGUMENT when the output exists and neither replace nor an
 * unfinished run allows that, when there is an unfinished run and resume is false, when the directory has files that
 * are not a run's, when log_path is another run's log and replace is false. */
CQ_MUST_USE cq_status cq_work_directory_open(cq_work_directory *out, const char *output, const char *log_path,
                                             bool resume, bool replace, cq_error *error);

/* Sets only the paths, for a rank that writes nothing. Errors: CQ_ERR_ARGUMENT. */
CQ_MUST_USE cq_status cq_work_directory_follow(cq_work_directory *out, const char *output, cq_error *error);

/* Makes the directory and locks it for this process. Errors: CQ_ERR_ARGUMENT when another process uses it, or has used
 * it in the meantime; CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_work_directory_begin(cq_work_directory *w, cq_error *error);
void cq_work_directory_close(cq_work_directory *w); /* gives it up; legal on {0} */

/* Puts the log next to the model (unless log_path is set) and removes the directory. */
CQ_MUST_USE cq_status cq_work_directory_finish(const cq_work_directory *w, const char *output, bool log_inside,
                                               cq_error *error);

#endif
