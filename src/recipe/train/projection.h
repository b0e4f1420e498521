/* The linear map with which a student of another space begins. */
#ifndef RECIPE_TRAIN_PROJECTION_H
#define RECIPE_TRAIN_PROJECTION_H

#include "model/encoder.h"

/* Appends a Dense to the encoder: the map from its vectors of n texts to `targets`, [n] vectors [dim], by ridge
 * regression. An encoder that normalizes does so afterwards, too. Errors: those of encoding, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_projection_append(cq_encoder *e, const cq_slice *texts, const float *const *targets, size_t n,
                                           size_t dim, cq_context *ctx, cq_error *error);

#endif
