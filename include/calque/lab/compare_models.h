/** @file Significance of the difference between two models on the same files, by the paired bootstrap over rows.
 *
 *      cq_model_comparison *c;
 *      cq_model_difference d[CQ_MAX_FIGURES];
 *      size_t n;
 *      cq_model_comparison_new(&c, baseline, model, NULL, NULL, NULL, &err);
 *      cq_model_comparison_file(d, &n, c, "test/en-de.tsv.gz", ctx, &err);  // for each file
 *      cq_model_comparison_mean(d, &n, c, &err);
 *      cq_model_comparison_free(c);
 *
 * Outside the promise of a stable ABI: this header may change with any release, and calque/calque.h does not include
 * it.
 *
 * @threads A comparison is for one thread at a time; the models may be shared. */
#ifndef CALQUE_LAB_COMPARE_MODELS_H
#define CALQUE_LAB_COMPARE_MODELS_H

#include "calque/eval.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cq_model_measure {
  CQ_MEASURE_TRANSLATION, /**< cq_eval_translation(): accuracy in both directions, and their mean */
  CQ_MEASURE_STS,         /**< cq_eval_sts(): Spearman's correlation */
  CQ_MEASURE_SEARCH,      /**< cq_eval_search(): hits at 1 and 10, and the mean reciprocal rank */
} cq_model_measure;

typedef struct cq_compare_models_options {
  size_t size;
  int measure;              /**< cq_model_measure */
  uint64_t n_samples, seed; /**< of rows, drawn with replacement */
} cq_compare_models_options;
/** 10,000 samples, seed 0: group "compare-models". */
CQ_DEFAULT_OPTIONS(cq_compare_models_options, cq_compare_models_default_options, compare_models)

/** One figure of a file, or its mean over files. NaN where a correlation is undefined. */
typedef struct cq_model_difference {
  const char *figure;                 /**< as in the JSON of `calque eval`: "mean", "spearman", "mrr" */
  double baseline, model, difference; /**< fractions; difference: model - baseline */
  double low, high;                   /**< the 95 % interval of the difference */
  double p;                           /**< two-sided; at least 2 / (n_samples + 1) */
  size_t n, n_skipped;                /**< rows; malformed lines */
} cq_model_difference;

enum { CQ_MAX_FIGURES = 3 };

typedef struct cq_model_comparison cq_model_comparison;

/** Begins a comparison. A sentence that several files share in the first column is encoded once by each model.
 * @param documents  for search: the model that encodes the first column; NULL: each model its own
 * @param eval       NULL for the defaults; the structs are copied, and their memory is not used
 * @errors CQ_ERR_ARGUMENT for options out of range, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_model_comparison_new(cq_model_comparison **out, const cq_encoder *baseline,
                                                     const cq_encoder *model, const cq_encoder *documents,
                                                     const cq_eval_options *eval,
                                                     const cq_compare_models_options *options, cq_error *error);
/** Compares rerankers by their logits, with CQ_MEASURE_STS. NULL: the encoder that was given, which is NULL otherwise.
 * They must outlive the comparison. @errors CQ_ERR_ARGUMENT for another measure. */
CQ_API CQ_MUST_USE cq_status cq_model_comparison_rerankers(cq_model_comparison *comparison, const cq_reranker *baseline,
                                                           const cq_reranker *model, cq_error *error);
CQ_API void cq_model_comparison_free(cq_model_comparison *comparison); /**< NULL is ignored */

/** Compares the models on a file: out [*n] figures. @errors Those of the measure's function. */
CQ_API CQ_MUST_USE cq_status cq_model_comparison_file(cq_model_difference out[CQ_MAX_FIGURES], size_t *n,
                                                      cq_model_comparison *comparison, const char *file,
                                                      cq_context *ctx, cq_error *error);
/** The means over the files so far: every file counts alike. Files with the same number of rows are taken for parallel:
 * each sample draws the same rows of them. @errors CQ_ERR_ARGUMENT before the first file. */
CQ_API CQ_MUST_USE cq_status cq_model_comparison_mean(cq_model_difference out[CQ_MAX_FIGURES], size_t *n,
                                                      cq_model_comparison *comparison, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
