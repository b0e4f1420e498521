/* A model that is being extended: what its parts share. */
#ifndef RECIPE_EXTEND_EXTENDING_H
#define RECIPE_EXTEND_EXTENDING_H

#include "recipe/extend/extend_options.h"
#include "recipe/extend/inputs.h"
#include "recipe/extend/news.h"
#include "recipe/extend/texts.h"

typedef struct cq_extending {
  cq_extend_options o; /* the caller's, with files for pipes */
  cq_extend_parts parts;
  cq_extend_inputs inputs;
  cq_extend_news news;
  cq_builder told; /* by news */
  cq_context *ctx;
  double started, budget; /* seconds */
  char work[CQ_EXTEND_PATH], plan[CQ_EXTEND_PATH], student[CQ_EXTEND_PATH];
  char trained[CQ_EXTEND_PATH]; /* what training writes: the output, or what becomes a language in it */
  const char *language;         /* with a vocabulary of its own; NULL: none has */
  cq_extend_texts texts;
  uint64_t steps;
} cq_extending;

/* --- settings.c --- */

void cq_extend_tell_settings(const cq_extending *e);
/* Trains the student on the text. */
CQ_MUST_USE cq_status cq_extend_distill(cq_training_result *result, const cq_extending *e,
                                        const cq_training_options *run, cq_error *error);

/* --- plan_steps.c --- */

/* Chooses as many steps as fit into what is left of the time, and tells; the student is there. */
CQ_MUST_USE cq_status cq_extend_choose_steps(cq_extending *e, cq_error *error);

#endif
