/** @file Series of autoencoder trainings: hyperparameter search and ablations.
 *
 *      OUTPUT/trials.txt  the names of all started trials
 *      OUTPUT/NAME.json   a trial's values and results; a trial with this file is not repeated
 *      OUTPUT/NAME        its model, if models are kept
 *      OUTPUT/table.md    all trials in the directory, best first
 *
 * base.resume resumes a directory: a trial with other options or changed text files is CQ_ERR_ARGUMENT. base.replace
 * removes only its trials. A directory with other files and no trials is CQ_ERR_ARGUMENT.
 *
 * @threads A directory belongs to one call at a time, over all threads and processes; a second one is
 * CQ_ERR_ARGUMENT. */
#ifndef CALQUE_LAB_AUTOENCODE_TRIALS_H
#define CALQUE_LAB_AUTOENCODE_TRIALS_H

#include "calque/lab/autoencode.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A searchable value, by the name of its option, with its usual range; 0 to 0: searched only if a range is given. */
typedef struct cq_autoencode_range {
  const char *name;
  double low, high;
} cq_autoencode_range;

CQ_API size_t cq_autoencode_search_values(void);                                /**< how many there are */
CQ_API void cq_autoencode_search_value(cq_autoencode_range *out, size_t index); /**< name NULL beyond the last */

/** Random search (Bergstra & Bengio 2012), with successive halving if there are several rungs (Jamieson & Talwalkar
 * 2016): rung k of R trains the best n / eta^k trials again, for the share eta^(k + 1 - R) of base's epochs. Values and
 * order depend only on the seed. */
typedef struct cq_autoencode_search_options {
  size_t size;
  int n_trials, n_rungs;
  double eta;
  /** "lr=1e-4:1e-2", replacing or in addition to the usual ranges, which are from Dore's table 5, except for alpha and
   * beta. Numbers have four digits; temperature, and all values with a usual range except layers, are drawn on a
   * logarithmic scale. Both ends are included; if they are equal, all trials have this value. */
  const char *const *ranges;
  size_t n_ranges;
  const char *const *fixed; /**< names of values that keep base's value, unless a range is given */
  size_t n_fixed;
  bool keep_models; /**< keep all models of the last rung; otherwise, only the best of this call */
} cq_autoencode_search_options;
/** 27 trials, 3 rungs, eta 3: group "autoencode-search". */
CQ_DEFAULT_OPTIONS(cq_autoencode_search_options, cq_autoencode_search_default_options, autoencode_search)

/** Runs a search. base has the other options: its output is the directory, dev is required, and best_by selects the
 * best. A trial whose loss is not finite has failed; the search continues. @errors Those of cq_autoencode();
 * CQ_ERR_ARGUMENT. */
CQ_API CQ_MUST_USE cq_status cq_autoencode_search(const cq_autoencode_options *base,
                                                  const cq_autoencode_search_options *options, cq_context *ctx,
                                                  cq_error *error);

CQ_API size_t cq_autoencode_ablations(void);             /**< how many there are */
CQ_API const char *cq_autoencode_ablation(size_t index); /**< its name: "alpha-0"; NULL beyond the last */
typedef struct cq_autoencode_ablate_options {
  size_t size;
  const char *const *only; /**< names of changes; none: all */
  size_t n_only;
  bool keep_models;
} cq_autoencode_ablate_options;
/** All changes, no models kept: group "autoencode-ablate". */
CQ_DEFAULT_OPTIONS(cq_autoencode_ablate_options, cq_autoencode_ablate_default_options, autoencode_ablate)

/** Trains base, and base with each single change. Changes that are impossible or have no effect are left out;
 * base.progress receives the reason. @errors As above; CQ_ERR_ARGUMENT for an unknown name. */
CQ_API CQ_MUST_USE cq_status cq_autoencode_ablate(const cq_autoencode_options *base,
                                                  const cq_autoencode_ablate_options *options, cq_context *ctx,
                                                  cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
