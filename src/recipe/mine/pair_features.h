/* Features of a pair, besides the margin, that indicate whether it is a translation: lengths, numbers, and whether the
 * tokens of each sentence have a counterpart in the other.
 *
 * Sources: Gale & Church 1993 for lengths; for tokens, the greedy matching of BERTScore with its IDF weights (Zhang et
 * al. 2020, section 3), here with the model's token embeddings, without running its layers. */
#ifndef RECIPE_MINE_PAIR_FEATURES_H
#define RECIPE_MINE_PAIR_FEATURES_H

#include "calque/mine.h"
#include "model/encoder.h"

enum { CQ_N_PAIR_FEATURES = 13 };
extern const char *const cq_pair_feature_names[CQ_N_PAIR_FEATURES + 1]; /* ends with NULL */

/* The features of mined pairs: *out [n_pairs, CQ_N_PAIR_FEATURES], released with cq_free. encoder: the one used for
 * mining. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_pair_features(float **out, const cq_mining *mining, const cq_encoder *encoder, cq_context *ctx,
                                       cq_error *error);

#endif
