/* A classifier of pairs: the probability that two sentences are translations of each other, by logistic regression on
 * features (pair_features.h), learned from a gold standard. Source: Sánchez-Cartagena et al. 2018 (Bicleaner), but with
 * other features. */
#ifndef RECIPE_MINE_PAIR_CLASSIFIER_H
#define RECIPE_MINE_PAIR_CLASSIFIER_H

#include "recipe/mine/gold_pairs.h"
#include "recipe/mine/pair_features.h"

typedef struct cq_pair_classifier {
  double mean[CQ_N_PAIR_FEATURES], deviation[CQ_N_PAIR_FEATURES], weight[CQ_N_PAIR_FEATURES], intercept;
  cq_margin margin;  /* kind of margin used as the feature `margin` */
  size_t n, n_right; /* training pairs, and how many of them are in gold */
  size_t k;          /* neighbors that the margin was taken over */
  char model[33];    /* fingerprint of the model that mined them */
} cq_pair_classifier;

/* Trains on mined pairs: those in gold are positive, the others negative. features [n_pairs, CQ_N_PAIR_FEATURES];
 * leave_out: bits of the features with weight 0. Errors: CQ_ERR_ARGUMENT if gold has none or all of the pairs;
 * CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_pair_classifier_learn(cq_pair_classifier *out, const cq_mining *mining, const float *features,
                                               const cq_gold_pairs *gold, unsigned leave_out, cq_margin margin,
                                               cq_context *ctx, cq_error *error);

/* Writes and reads a JSON file (docs/formats.md). Errors of reading: CQ_ERR_FORMAT for a file that is not a classifier,
 * has other features, or has impossible numbers; CQ_ERR_ARGUMENT for another margin; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_pair_classifier_write(const cq_pair_classifier *classifier, const char *path, cq_error *error);
CQ_MUST_USE cq_status cq_pair_classifier_read(cq_pair_classifier *out, const char *path, cq_margin margin,
                                              cq_error *error);

/* The probability, from 0 to 1. features [CQ_N_PAIR_FEATURES]. */
double cq_pair_classifier_score(const cq_pair_classifier *classifier, const float *features);

#endif
