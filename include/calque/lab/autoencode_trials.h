/* Many trainings of autoencoders under one roof: searching for good values, and changing one thing at a time.
 *
 *   OUTPUT/trials.txt  the names of all trials that were begun
 *   OUTPUT/NAME.json   a trial's values and what came of them; a trial that has one is not made again
 *   OUTPUT/NAME        its model, where models are kept
 *   OUTPUT/table.md    all trials of the directory, by whichever call, the best first
 *
 * A directory is resumed when base.resume is set: a trial of other options, or of text files that have changed
 * since, is then CQ_ERR_ARGUMENT. base.replace removes the trials that it holds, and nothing else. One that holds other
 * things and no trials is not taken: CQ_ERR_ARGUMENT.
 *
 * Threads: of all threads and processes one call at a time works on a directory; another is CQ_ERR_ARGUMENT. */
#ifndef CALQUE_LAB_AUTOENCODE_TRIALS_H
#define CALQUE_LAB_AUTOENCODE_TRIALS_H

#include "calque/lab/autoencode.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A value that can be searched, by the name of its option, and its usual range: 0 to 0 for what is searched only where a
 * range is given. */
typedef struct cq_autoencode_range {
  const char *name;
  double low, high;
} cq_autoencode_range;

CQ_API size_t cq_autoencode_search_values(void);                                /* how many values can be searched */
CQ_API void cq_autoencode_search_value(cq_autoencode_range *out, size_t index); /* a NULL name beyond the last */

/* Random search (Bergstra & Bengio 2012), by successive halving when there are several rungs (Jamieson & Talwalkar
 * 2016): rung k of R trains the best n / eta^k trials anew, for the share eta^(k + 1 - R) of base's epochs. Values and
 * order depend on the seed alone. */
typedef struct cq_autoencode_search_options {
  size_t size;
  int n_trials, n_rungs;
  double eta;
  /* "lr=1e-4:1e-2", instead of, or besides, the usual ranges, which are Dore's table 5's but for alpha and beta. Numbers
   * drawn have four digits; all that have a usual range, save layers, are drawn by their logarithm, as temperature. Both
   * ends may be drawn; equal: all trials have this value. */
  const char *const *ranges;
  size_t n_ranges;
  const char *const *fixed; /* names of what is not searched, but as base has it; a range given for one goes before */
  size_t n_fixed;
  bool keep_models; /* of the last rung; otherwise, of what this call makes, its best alone */
} cq_autoencode_search_options;
/* 27 trials, 3 rungs, eta 3: group "autoencode-search". */
CQ_DEFAULT_OPTIONS(cq_autoencode_search_options, cq_autoencode_search_default_options, autoencode_search)

/* base: everything but what is searched; its output is the directory, its dev must be there, base.best_by chooses. A
 * trial whose loss is no number has failed, and the search goes on. Errors: cq_autoencode's; CQ_ERR_ARGUMENT. */
CQ_API CQ_MUST_USE cq_status cq_autoencode_search(const cq_autoencode_options *base,
                                                  const cq_autoencode_search_options *options, cq_context *ctx,
                                                  cq_error *error);

CQ_API size_t cq_autoencode_ablations(void);             /* how many changes there are */
CQ_API const char *cq_autoencode_ablation(size_t index); /* its name: "alpha-0"; NULL beyond the last */
typedef struct cq_autoencode_ablate_options {
  size_t size;
  const char *const *only; /* names of the changes wanted; none: all */
  size_t n_only;
  bool keep_models;
} cq_autoencode_ablate_options;
/* All changes, no models kept: group "autoencode-ablate". */
CQ_DEFAULT_OPTIONS(cq_autoencode_ablate_options, cq_autoencode_ablate_default_options, autoencode_ablate)

/* Trains base, and base with each change by itself. Left out are those that change nothing, and those that cannot be
 * made here, which base.progress is told with the reason. Errors: as above; CQ_ERR_ARGUMENT for an unknown name. */
CQ_API CQ_MUST_USE cq_status cq_autoencode_ablate(const cq_autoencode_options *base,
                                                  const cq_autoencode_ablate_options *options, cq_context *ctx,
                                                  cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
