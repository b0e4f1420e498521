/* An extension under way, shared by its parts. */
#ifndef RECIPE_EXTEND_EXTENDING_H
#define RECIPE_EXTEND_EXTENDING_H

#include "recipe/extend/extend_options.h"
#include "recipe/extend/inputs.h"
#include "recipe/extend/news.h"
#include "recipe/extend/texts.h"
#include "recipe/train/distillation.h"

typedef struct cq_extending {
  cq_extend_options o; /* the caller's, with files for pipes */
  cq_extend_parts parts;
  cq_extend_inputs inputs;
  cq_extend_news news;
  cq_builder told; /* by news */
  cq_builder made; /* notices of the student's making, a line each, as WORK/notices has them */
  cq_context *ctx;
  double started, budget; /* seconds */
  char work[CQ_EXTEND_PATH], identity[CQ_EXTEND_PATH], plan[CQ_EXTEND_PATH];
  char notices[CQ_EXTEND_PATH], student[CQ_EXTEND_PATH], vocabulary[CQ_EXTEND_PATH]; /* as soon as they are made */
  char trained[CQ_EXTEND_PATH]; /* where training writes: the output, or the new language inside it */
  char done[CQ_EXTEND_PATH];    /* exists once training is done: its result */
  const char *language;         /* with a vocabulary of its own; NULL: none has */
  cq_extend_texts texts;
  cq_extend_steps steps;
} cq_extending;

/* --- plan_steps.c --- */

/* The training of the student on the text. */
cq_distill_options cq_extend_distillation(const cq_extending *e, const cq_training_options *run);
/* Chooses and reports the number of steps that fit the time left. The student must exist. */
CQ_MUST_USE cq_status cq_extend_choose_steps(cq_extending *e, cq_error *error);

/* --- extend_card.c: the parts of the model card that distillation does not write --- */

/* Saves the choices reported so far in the work directory, for the card that is written at the end. Errors: CQ_ERR_IO,
 * CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_extend_card_keep(const cq_extending *e, cq_error *error);
/* Appends these parts, with the choices that were kept. Errors: as above. */
CQ_MUST_USE cq_status cq_extend_card_end(cq_builder *out, const cq_extending *e, cq_error *error);

#endif
