/* A model that is being extended: what its parts share. */
#ifndef RECIPE_EXTEND_EXTENDING_H
#define RECIPE_EXTEND_EXTENDING_H

#include "calque/distill.h"
#include "calque/extend.h"
#include "calque/student.h"
#include "recipe/extend/inputs.h"
#include "recipe/extend/news.h"
#include "recipe/extend/texts.h"

/* What goes with a kind of student: docs/results has what other values give. */
typedef struct cq_extend_recipe {
  const char *what;
  cq_student_kind kind;
  double learning_rate, embedding_learning_rate;
  double contrast, final_contrast; /* of the latter -1: as the former */
  int hard_negatives;
  double source_share, piece_dropout;
  double weight_decay; /* 0: rows of rare words keep what they began with */
  double max_epochs;   /* more never helped */
} cq_extend_recipe;

const cq_extend_recipe *cq_extend_recipe_of(cq_extend_kind kind);

enum { CQ_EXTEND_EVALUATIONS = 10 }; /* of a run, unless the caller names another number */

typedef struct cq_extending {
  cq_extend_options o; /* the caller's, with files for pipes */
  cq_extend_inputs inputs;
  cq_extend_news news;
  cq_builder told; /* by news */
  const cq_extend_recipe *recipe;
  cq_context *ctx;
  double started, budget; /* seconds */
  char work[CQ_EXTEND_PATH], plan[CQ_EXTEND_PATH], student[CQ_EXTEND_PATH];
  char trained[CQ_EXTEND_PATH]; /* what training writes: the output, or what becomes a language in it */
  const char *language;         /* with a vocabulary of its own; NULL: none has */
  cq_extend_texts texts;
  uint64_t steps;
} cq_extending;

/* --- settings.c: the caller's, or else the recipe's --- */

cq_distill_options cq_extend_distill_options(const cq_extending *e);
cq_training_options cq_extend_run_options(const cq_extending *e); /* but for where, how long and what is measured */
void cq_extend_tell_settings(const cq_extending *e);
CQ_MUST_USE cq_status cq_extend_distill(cq_training_result *result, const cq_extending *e,
                                        const cq_training_options *run, cq_error *error);

/* --- steps.c --- */

/* Chooses as many steps as fit into what is left of the time, and tells; the student is there. */
CQ_MUST_USE cq_status cq_extend_choose_steps(cq_extending *e, cq_error *error);

#endif
