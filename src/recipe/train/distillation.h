/* Distillation as a part of a larger task. */
#ifndef RECIPE_TRAIN_DISTILLATION_H
#define RECIPE_TRAIN_DISTILLATION_H

#include "base/slice.h"
#include "calque/distill.h"
#include "recipe/run/run_clock.h"

/* What a larger task adds to the run's end. */
typedef struct cq_distillation_end {
  cq_run_time time;
  cq_slice card;    /* the last part of the model card */
  const char *done; /* a file that gets the result, as a memory image, once the model is in place; NULL: none */
} cq_distillation_end;

/* cq_distill; end NULL: nothing is added. */
CQ_MUST_USE cq_status cq_distill_part(cq_training_result *result, const cq_distill_options *options,
                                      const cq_distillation_end *end, cq_context *ctx, cq_error *error);

#endif
