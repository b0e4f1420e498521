/** @file Fine-tuning: makes a sentence encoder from a pretrained model, with pairs of sentences:
 *
 *      nli      sentence, sentence, label: entailment, contradiction, ...   softmax over a layer on (u, v, |u - v|)
 *      scored   sentence, sentence, score                                   (cos(u, v) - score)^2
 *      pairs    sentence, match[, hard negative]                            InfoNCE over in-batch negatives
 *      scored   query, passage, score, for a reranker                       cross-entropy of logit and score
 *
 * These are SoftmaxLoss, CosineSimilarityLoss and MultipleNegativesRankingLoss in sentence-transformers. The first two
 * are the recipe of Reimers & Gurevych 2019, section 3 (labels of NLI, then scores of STS); the third is that of
 * Henderson et al. 2017, section 4.4.
 *
 *      cq_training_options run = cq_finetune_default_training();
 *      run.batch_pairs = 64, run.output = "encoder";
 *      cq_finetune_options o = cq_finetune_default_options();
 *      o.model = "body", o.pairs = &file, o.n_pairs = 1, o.run = &run;
 *      cq_finetune(NULL, &o, ctx, &err);
 *
 * @threads Several runs may work at once, each with its own output directory. */
#ifndef CALQUE_FINETUNE_H
#define CALQUE_FINETUNE_H

#include "calque/context.h"
#include "calque/training.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A batch has pairs of only one kind. With several kinds, each kind's share of the batches equals its share of all
 * pairs, spread evenly over the run; weights and run.balanced apply among the files of one kind.
 *
 * In `pairs`, texts equal to a sentence's own match, and matches of equal sentences, are not used as negatives.
 * Activations of a whole batch are kept in memory; run.accumulate sums gradients without adding in-batch negatives. */
typedef struct cq_finetune_options {
  size_t size;
  const char *model; /**< directory or cached name */
  const cq_training_data *nli, *scored, *pairs;
  size_t n_nli, n_scored, n_pairs; /**< files */
  double max_score;                /**< scored: scores are from 0 to this, a cosine of 1 */
  double temperature;              /**< pairs: cosines are divided by it */
  bool symmetric;                  /**< pairs: both directions */
  const cq_training_options *run;  /**< its output is required */
} cq_finetune_options;
/** Scores to 5, a temperature of 0.05: group "finetune", with "training" within it. */
CQ_DEFAULT_OPTIONS(cq_finetune_options, cq_finetune_default_options, finetune)
/** The defaults of a training, except one epoch of batches of 16. */
CQ_DEFAULT_PART(cq_training_options, cq_finetune_default_training, finetune, training)

/** Trains to the end. result may be NULL. @errors CQ_ERR_ARGUMENT, CQ_ERR_FORMAT (file and line), CQ_ERR_IO,
 * CQ_ERR_STOPPED, CQ_ERR_LIMIT when the loss is not finite, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_finetune(cq_training_result *result, const cq_finetune_options *options,
                                         cq_context *ctx, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
