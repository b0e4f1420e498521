/* The regression that weighs evidence: weights of each reason, made as bench/score.sh --train makes them (in 60 rounds, not
 * 100), from text with noise in languages other than those that it is measured on. Each reason has the same share of the text that it was trained on. */
#ifndef RECIPE_SCORE_SCORE_MODEL_H
#define RECIPE_SCORE_SCORE_MODEL_H

#include "recipe/score/evidence.h"

enum { CQ_N_SCORED = CQ_SCORE_EMPTY }; /* reasons that the regression knows */

/* Per reason: the weights of cq_evidence, and the intercept. */
extern const double cq_score_weights[CQ_N_SCORED][CQ_N_EVIDENCE + 1];

#endif
