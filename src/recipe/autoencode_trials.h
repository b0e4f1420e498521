/* Trainings that belong together, each made once, and their table. */
#ifndef RECIPE_AUTOENCODE_TRIALS_H
#define RECIPE_AUTOENCODE_TRIALS_H

#include "calque/autoencode_trials.h"

enum { CQ_TRIAL_NAME = 64 };

typedef struct cq_trial {
  char name[CQ_TRIAL_NAME];
  char values[512]; /* of what is searched or changed, for the table */
  double dev[CQ_AUTOENCODE_N_MEASURES];
  double loss, epochs, seconds;
  bool failed; /* its loss was no number */
} cq_trial;

typedef struct cq_trials {
  const cq_autoencode_options *base;
  cq_trial *items;
  size_t n, capacity;
} cq_trials;

/* Makes the directory, or takes the one that is there. Errors: CQ_ERR_ARGUMENT when it is there and base neither resumes
 * nor replaces, or has no dev; CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_trials_begin(cq_trials *out, const cq_autoencode_options *base, cq_error *error);
void cq_trials_free(cq_trials *t); /* legal on {0} */

/* Trains as o says, unless that was done before, and adds what came of it to the trials. The pointer is good until the
 * next. Errors: cq_autoencode's but a loss that is no number; CQ_ERR_ARGUMENT when the trial was made with other values;
 * CQ_ERR_FORMAT for a damaged record. */
CQ_MUST_USE cq_status cq_trials_run(const cq_trial **out, cq_trials *t, const char *name, const char *values,
                                    const cq_autoencode_options *o, cq_pool *pool, cq_error *error);
/* Removes a trial's model, if it is there. */
void cq_trials_drop_model(const cq_trials *t, const char *name);
/* Writes OUTPUT/table.md, the best first. */
CQ_MUST_USE cq_status cq_trials_table(const cq_trials *t, cq_error *error);
/* Whether a is better than b by base's best_by; of equals the one made first; what has failed is last. */
bool cq_trial_is_better(const cq_trials *t, const cq_trial *a, const cq_trial *b);

#endif
