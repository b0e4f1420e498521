/* Fine-tuning: a sentence encoder from a model that understands one language, by pairs of sentences:
 *
 *   nli      sentence, sentence, label: entailment, contradiction, ...   softmax over a layer on (u, v, |u - v|)
 *   scored   sentence, sentence, score                                   (cos(u, v) - score)^2
 *   pairs    sentence, its match[, a hard negative]                      contrastive loss (InfoNCE) over in-batch negatives
 *
 * What sentence-transformers calls SoftmaxLoss, CosineSimilarityLoss and MultipleNegativesRankingLoss. The first two are
 * the recipe of Reimers & Gurevych 2019, section 3 (labels of NLI, then scores of STS); the third is that of Henderson et
 * al. 2017, section 4.4.
 *
 *   cq_training_options run = cq_finetune_default_training();
 *   run.batch_pairs = 64, run.output = "encoder";
 *   cq_finetune_options o = cq_finetune_default_options();
 *   o.model = "body", o.pairs = &file, o.n_pairs = 1, o.run = &run;
 *   cq_finetune(NULL, &o, ctx, &err);
 *
 * Threads: several runs may work at once, each with an output directory of its own. */
#ifndef CALQUE_FINETUNE_H
#define CALQUE_FINETUNE_H

#include "calque/context.h"
#include "calque/training.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Files of one kind make batches of their own. With several kinds each has as many of the batches as its share of all
 * pairs, dealt evenly over the run; weights, and run.balanced, are among the files of one kind.
 *
 * In a batch of pairs a text that also belongs to a sentence is no negative of it: texts that are equal to its own, and
 * those of sentences equal to it. Activations of a whole batch are kept in memory; run.accumulate adds up gradients, but
 * no in-batch negatives. */
typedef struct cq_finetune_options {
  size_t size;
  const char *model; /* directory or cached name */
  const cq_training_data *nli, *scored, *pairs;
  size_t n_nli, n_scored, n_pairs; /* files */
  double max_score;                /* scored: from 0 to this, which stands for a cosine of 1 */
  double temperature;              /* pairs: cosines are divided by it */
  bool symmetric;                  /* pairs: the second is to find the first, too */
  const cq_training_options *run;  /* its output is needed */
} cq_finetune_options;
/* Scores to 5, a temperature of 0.05: group "finetune", with "training" within it. */
CQ_DEFAULT_OPTIONS(cq_finetune_options, cq_finetune_default_options, finetune)
/* A training's, but one epoch of batches of 16. */
CQ_DEFAULT_PART(cq_training_options, cq_finetune_default_training, finetune, training)

/* Runs to the end. result may be NULL. Errors: CQ_ERR_ARGUMENT, CQ_ERR_FORMAT (file and line), CQ_ERR_IO,
 * CQ_ERR_STOPPED, CQ_ERR_LIMIT when the loss is no number any more, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_finetune(cq_training_result *result, const cq_finetune_options *options,
                                         cq_context *ctx, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
