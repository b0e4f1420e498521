/* Scores mined pairs by a classifier, which is learned from a gold standard or read from a file: the step of mining
 * between choosing pairs by margin and applying thresholds. */
#ifndef RECIPE_MINE_CLASSIFY_PAIRS_H
#define RECIPE_MINE_CLASSIFY_PAIRS_H

#include "recipe/mine/gold_pairs.h"
#include "recipe/mine/pair_classifier.h"

bool cq_classifies_pairs(const cq_mine_options *options);

typedef struct cq_classifying {
  cq_encoder *encoder; /* whose token embeddings are compared */
  char model[33];      /* its fingerprint */
  cq_gold_pairs gold;
  cq_pair_classifier classifier;
} cq_classifying;

/* Reads the files before the long search. Errors: those of opening the model, and of reading gold and classifier.
 * Release with cq_classifying_close, even after an error. */
CQ_MUST_USE cq_status cq_classifying_open(cq_classifying *out, const cq_mining *mining, const cq_mine_options *options,
                                          cq_error *error);
void cq_classifying_close(cq_classifying *classifying);

/* Trains and saves the classifier if requested; scores and sorts the pairs, and drops those that fall below the
 * threshold or min_precision. Errors: those of training and writing. */
CQ_MUST_USE cq_status cq_classify_pairs(cq_mining *mining, cq_classifying *classifying, const cq_mine_options *options,
                                        cq_context *ctx, cq_error *error);

#endif
