/* Reports choices and findings to the caller. */
#ifndef RECIPE_EXTEND_NEWS_H
#define RECIPE_EXTEND_NEWS_H

#include "base/slice.h"
#include "calque/training.h"

#include <stdbool.h>

typedef struct cq_extend_news {
  cq_training_progress_fn progress; /* NULL: no reports */
  void *context;
  cq_builder *told; /* every line so far, as a list */
  char part[24];    /* of the student's making, which began at this time */
  double part_began;
} cq_extend_news;

/* Reports a line in the phase "choice"; text NULL: only a heartbeat. Returns false to stop. */
bool cq_extend_tell(const cq_extend_news *news, const char *text);
void cq_extend_choose(const cq_extend_news *news, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool cq_extend_progress(void *news, const char *part, uint64_t done, uint64_t n); /* a cq_student_progress_fn */
void cq_extend_notice(void *news, const char *text);                              /* a cq_notice_fn */

#endif
