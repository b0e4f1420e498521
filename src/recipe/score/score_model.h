/* The network that weighs evidence: a hidden layer (tanh), then reasons' logits. Its weights are those that
 * bench/score.sh --train prints, learned from text with noise in languages other than those that it is measured on.
 * Each reason has the same share of the text that it was trained on. */
#ifndef RECIPE_SCORE_SCORE_MODEL_H
#define RECIPE_SCORE_SCORE_MODEL_H

#include "recipe/score/evidence.h"

enum { CQ_N_SCORED = CQ_SCORE_EMPTY }; /* reasons that the network knows */
enum { CQ_N_SCORE_HIDDEN = 32 };

/* Per unit: the weights of cq_evidence, and the intercept. */
extern const float cq_score_hidden[CQ_N_SCORE_HIDDEN][CQ_N_EVIDENCE + 1];
/* Per reason: the weights of the units, and the intercept. */
extern const float cq_score_output[CQ_N_SCORED][CQ_N_SCORE_HIDDEN + 1];

#endif
