/* Many trainings of autoencoders under one roof: searching for good values, and changing one thing at a time.
 *
 *   OUTPUT/NAME.json   a trial's values and what came of them; a trial that has one is not made again
 *   OUTPUT/NAME        its model, where models are kept
 *   OUTPUT/table.md    all trials, the best first
 *
 * A directory is gone on with when base.resume is set: trials whose values are others are then CQ_ERR_ARGUMENT. */
#ifndef CALQUE_AUTOENCODE_TRIALS_H
#define CALQUE_AUTOENCODE_TRIALS_H

#include "calque/autoencode.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a value is searched: by the name that the program's option has. */
typedef struct cq_autoencode_range {
  const char *name; /* "lr", "batch", "embedding", "hidden", "latent", "layers", "encoder-dropout", "decoder-dropout",
                       "alpha", "beta", "distance", "margin", "temperature", "noise", "word-dropout" */
  double low, high; /* both may be drawn; equal: the value is not searched */
} cq_autoencode_range;

/* Random search (Bergstra & Bengio 2012), by successive halving when there are several rungs (Jamieson & Talwalkar
 * 2016): rung k of R trains the best n / eta^k trials anew, for the share eta^(k + 1 - R) of base's epochs. Values and
 * order depend on the seed alone. */
typedef struct cq_autoencode_search_options {
  int n_trials, n_rungs;
  double eta;
  /* Instead of, or besides, the usual: batch 16 to 128, lr 1e-4 to 0.1, embedding 50 to 150, hidden 64 to 256, latent
   * 16 to 64, layers 1 to 3, both dropouts 0.1 to 0.3, alpha and beta 0.5 to 2 (Dore's table 5, but for the last two);
   * drawn by their logarithm, as temperature. */
  const cq_autoencode_range *ranges;
  size_t n_ranges;
  bool keep_models; /* of the last rung; otherwise of its best alone */
} cq_autoencode_search_options;
CQ_API cq_autoencode_search_options cq_autoencode_search_default_options(void); /* 27 trials, 3 rungs, 3 */

/* base: everything but what is searched; its output is the directory, its dev must be there, base.best_by chooses. A
 * trial whose loss is no number has failed, and the search goes on. Errors: cq_autoencode's; CQ_ERR_ARGUMENT. */
CQ_API CQ_MUST_USE cq_status cq_autoencode_search(const cq_autoencode_options *base,
                                                  const cq_autoencode_search_options *options, cq_pool *pool,
                                                  cq_error *error);

CQ_API size_t cq_autoencode_ablations(void);             /* how many changes there are */
CQ_API const char *cq_autoencode_ablation(size_t index); /* its name: "contrast-0" */
/* Trains base, and base with each change by itself; those that change nothing are left out. only [n_only]: names of the
 * changes wanted; 0: all. Errors: as above; CQ_ERR_ARGUMENT for a name that there is not. */
CQ_API CQ_MUST_USE cq_status cq_autoencode_ablate(const cq_autoencode_options *base, const char *const *only,
                                                  size_t n_only, bool keep_models, cq_pool *pool, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
