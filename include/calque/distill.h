/** @file Multilingual knowledge distillation: a student learns to give a sentence and its translations the teacher's
 * vector of the source. The loss is the mean over the batch of `(M(s) - M'(s))^2 + (M(s) - M'(t))^2`.
 * @source Reimers & Gurevych 2020, section 2, equation 1.
 *
 *      cq_training_options run = cq_training_default_options();
 *      run.output = "multilingual", run.dev = dev, run.n_dev = 2;
 *      cq_distill_options o = cq_distill_default_options();
 *      o.teacher = "all-MiniLM-L6-v2", o.student = "student-dir", o.train = sets, o.n_train = 2, o.run = &run;
 *      cq_distill(NULL, &o, ctx, &err);
 *
 * @threads Several runs may work at once, each with its own output directory; they share the cache of vectors. */
#ifndef CALQUE_DISTILL_H
#define CALQUE_DISTILL_H

#include "calque/context.h"
#include "calque/training.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cq_dim_match {
  CQ_DIM_EQUAL, /**< student and teacher have the same dimension (otherwise CQ_ERR_ARGUMENT) */
  /** a learned Dense module is appended to the student if they differ; it begins as the linear map from the student's
   * vectors to the teacher's (ridge regression) */
  CQ_DIM_PROJECT,
  CQ_DIM_TRUNCATE, /**< the teacher's first dimensions are the target */
  CQ_DIM_FIT       /**< as CQ_DIM_PROJECT, also if they agree: for a student from another vector space */
} cq_dim_match;
typedef struct cq_distill_options {
  size_t size;
  const char *teacher, *student; /**< directories or cached names */
  const cq_training_data *train; /**< two or more columns, the first in a language the teacher knows */
  size_t n_train;
  cq_dim_match dim_match;
  /** Weight of a contrastive loss with the teacher's similarities as soft labels (Hu et al. 2024, arXiv 2405.16155),
   * added to the squared distance; 0: none */
  double contrast;
  double temperature;             /**< of that loss */
  const char *cache_directory;    /**< teacher vectors; NULL: $XDG_CACHE_HOME/calque or ~/.cache/calque */
  const cq_training_options *run; /**< its output is required */
  double source_share;            /**< share of a batch's sources trained on, besides all translations */
  double augment;                 /**< share of the text written in another case, without accents or full stop */
  double piece_dropout;           /**< subword regularization: share of pieces left out when translations are split */
  /** Hard negatives for the contrastive loss, besides in-batch ones: this many nearest other sources of each sentence
   * (LASER3-CO, arXiv 2210.05033); near misses made by rules for English (xsim++, arXiv 2306.12907) */
  size_t hard_negatives;
  bool near_misses;
  /** Matryoshka (Kusupati et al. 2022, arXiv 2205.13147): the contrastive loss is also computed on these numbers of the
   * student's first dimensions; each below the student's own */
  const int *matryoshka;
  size_t n_matryoshka;
  /** Sentences in the teacher's language without translations, one per line, with or without `train`. Their target is
   * the teacher's vector (LEAF, arXiv 2509.12539) */
  const cq_training_data *source_text;
  size_t n_source_text;
  double final_contrast; /**< final value of `contrast`, reached as the learning rate falls; below 0: constant */
} cq_distill_options;
/** Group "distill", with "training" within it. */
CQ_DEFAULT_OPTIONS(cq_distill_options, cq_distill_default_options, distill)

/** Trains to the end. @errors CQ_ERR_ARGUMENT, CQ_ERR_FORMAT (file and line), CQ_ERR_IO, CQ_ERR_STOPPED,
 * CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_distill(cq_training_result *result, const cq_distill_options *options, cq_context *ctx,
                                        cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
