/* The plan of an extension, a file of its work directory: what a resumed run needs of the choices, and what it must have in
 * common with the run that made them. */
#ifndef RECIPE_EXTEND_PLAN_H
#define RECIPE_EXTEND_PLAN_H

#include "base/options.h"
#include "recipe/extend/texts.h"

/* Writes the steps, the files' weights, and the caller's options and files. */
CQ_MUST_USE cq_status cq_extend_plan_write(const char *path, uint64_t steps, const cq_extend_texts *texts,
                                           cq_error *error);
/* Reads the steps, and the weights into texts->train. Errors: CQ_ERR_ARGUMENT where options or the contents of files are
 * others than those of the plan, which the message names (steps: unless the caller leaves them to be chosen);
 * CQ_ERR_FORMAT for what is no plan. */
CQ_MUST_USE cq_status cq_extend_plan_read(uint64_t *steps, cq_extend_texts *texts, const char *path, cq_error *error);

#endif
