/* The trainings of a search or an ablation, each run once, and their table.
 *
 *   OUTPUT/trials.txt   "calque autoencode trials", then the names of all started trials, one per line, in order
 *
 * It is written before anything else, and a name before its training begins. Only these names' files (NAME.json, NAME,
 * NAME.work) and table.md may be removed. */
#ifndef LAB_AUTOENCODE_TRIALS_H
#define LAB_AUTOENCODE_TRIALS_H

#include "base/hash.h"
#include "calque/lab/autoencode_trials.h"

enum { CQ_TRIAL_NAME = 64, CQ_TRIAL_VALUES = 512 };

typedef struct cq_trial {
  char name[CQ_TRIAL_NAME];
  char values[CQ_TRIAL_VALUES]; /* of what is searched or changed, for the table */
  char sum[CQ_IDENTITY_HEX];    /* of its options and data */
  double dev[CQ_AUTOENCODE_N_MEASURES];
  double loss, epochs, seconds;
  bool failed;  /* its loss was not a number */
  bool is_done; /* it has a record; otherwise only the name is valid */
  bool is_made; /* by this call */
} cq_trial;

typedef struct cq_trials {
  const cq_autoencode_options *base;
  cq_trial *items; /* all that were ever started in the directory */
  size_t n, capacity;
  int lock;     /* held on the directory; 0: not yet */
  bool refused; /* the last run failed with CQ_ERR_ARGUMENT: its options do not allow a model */
} cq_trials;

/* Makes the directory, or opens an existing one with its records; with base.replace, and without resume, removes its
 * trials. Errors: CQ_ERR_ARGUMENT when it exists and base neither resumes nor replaces, when it contains anything other
 * than trials, when another process uses it, or when base has no dev; CQ_ERR_FORMAT for a damaged record; CQ_ERR_IO,
 * also for a missing training or dev file. */
CQ_MUST_USE cq_status cq_trials_begin(cq_trials *out, const cq_autoencode_options *base, cq_error *error);
void cq_trials_free(cq_trials *t); /* legal on {0} */

/* Trains with o, unless this was done before, and adds the result to the trials and their table. The pointer is valid
 * until the next call. Errors: cq_autoencode's, except a loss that is not finite; CQ_ERR_ARGUMENT when the trial had
 * other options or data. */
CQ_MUST_USE cq_status cq_trials_run(const cq_trial **out, cq_trials *t, const char *name, const char *values,
                                    const cq_autoencode_options *o, cq_context *ctx, cq_error *error);
/* Removes a trial's model, if it exists. */
void cq_trials_drop_model(const cq_trials *t, const cq_trial *trial);
/* Whether a is better than b by base's best_by; failed trials are worst. */
bool cq_trial_is_better(const cq_trials *t, const cq_trial *a, const cq_trial *b);

#endif
