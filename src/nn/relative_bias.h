/* MPNet's relative position bias: one learned number per head and bucket of distances, added to the attention scores of
 * every layer. Source: Raffel et al. 2020 (T5), section 2.1, bidirectional, 32 buckets to distance 128. */
#ifndef NN_RELATIVE_BIAS_H
#define NN_RELATIVE_BIAS_H

#include "nn/batch.h"
#include "nn/param.h"

typedef struct cq_relative_bias {
  cq_param *table; /* [n_buckets, n_heads] */
} cq_relative_bias;

enum { CQ_RELATIVE_FAR = 128 }; /* all distances from here on are in the last bucket of their side */
/* The bucket of a key `distance` positions after the query (negative: before it). */
int64_t cq_relative_bucket(int64_t distance, int64_t n_buckets);
/* One [n_heads, length, length] matrix per sequence, in the workspace. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_relative_bias_forward(cq_worker *worker, const cq_relative_bias *l, const cq_batch *batch,
                                               const float ***bias, cq_error *error);
/* Zeroed matrices of the same shapes, for attention's backward to add to. */
CQ_MUST_USE cq_status cq_relative_bias_gradients(cq_worker *worker, const cq_relative_bias *l, const cq_batch *batch,
                                                 float ***dbias, cq_error *error);
CQ_MUST_USE cq_status cq_relative_bias_backward(cq_worker *worker, const cq_relative_bias *l, const cq_batch *batch,
                                                cq_gradients *gradients, float *const *dbias, cq_error *error);

#endif
