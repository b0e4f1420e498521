/* Making a sentence encoder of a model that understands one language, from what people say of pairs of sentences:
 *
 *   labelled  sentence, sentence, label: entailment, contradiction, ...   softmax over a layer on (u, v, |u - v|)
 *   scored    sentence, sentence, score                                   (cos(u, v) - score)^2
 *   ranked    sentence, what is like it[, what is not]                    each finds its own among the batch's
 *
 * The first two are the recipe of Reimers & Gurevych 2019, section 3 (labels of NLI, then scores of STS); the third is
 * that of Henderson et al. 2017, section 4.4.
 *
 *   cq_finetune_options o = cq_finetune_default_options();
 *   o.model = "body", o.ranked = &file, o.n_ranked = 1, o.run.batch_pairs = 64, o.run.output = "encoder";
 *   cq_finetune(NULL, &o, ctx, &err); */
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
 * In a batch of ranked pairs a text that also belongs to a sentence is no wrong answer to it: texts that are equal to
 * its own, and those of sentences equal to it. Activations of a whole batch are kept in memory; run.accumulate adds up
 * gradients, but nothing to find one's own among. */
typedef struct cq_finetune_options {
  const char *model; /* directory or cached name */
  const cq_training_data *labelled, *scored, *ranked;
  size_t n_labelled, n_scored, n_ranked; /* files */
  double greatest_score;                 /* scored: from 0 to this; it stands for a cosine of 1 */
  double temperature;                    /* ranked: cosines are divided by it */
  bool both_ways;                        /* ranked: what is like a sentence is to find that, too */
  cq_training_options run;
} cq_finetune_options;
/* One epoch of batches of 16, scores to 5, a temperature of 0.05. */
CQ_API cq_finetune_options cq_finetune_default_options(void);

/* Runs to the end. result may be NULL. Errors: CQ_ERR_ARGUMENT, CQ_ERR_FORMAT (file and line), CQ_ERR_IO,
 * CQ_ERR_STOPPED, CQ_ERR_LIMIT when the loss is no number any more, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_finetune(cq_training_result *result, const cq_finetune_options *options,
                                         cq_context *ctx, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
