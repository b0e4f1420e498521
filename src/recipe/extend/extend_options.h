/* The options of extending a model, checked and complete. */
#ifndef RECIPE_EXTEND_EXTEND_OPTIONS_H
#define RECIPE_EXTEND_EXTEND_OPTIONS_H

#include "base/options.h"
#include "calque/extend.h"

/* The structs that the options point to: the caller's, or the recipe's. */
typedef struct cq_extend_parts {
  cq_student_options student;
  cq_distill_options distill;
  cq_training_options run;
} cq_extend_parts;

/* Copies the options and their parts; *o then points to these. Errors: CQ_ERR_ARGUMENT. */
CQ_MUST_USE cq_status cq_extend_take(cq_extend_options *o, cq_extend_parts *parts, const cq_extend_options *given,
                                     cq_error *error);
/* "90s", "20m", "1.5h" in seconds; false for anything else. */
bool cq_extend_time(double *seconds, const char *text);

#endif
