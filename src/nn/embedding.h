/* The transformer's first layer: word + position + type, normalised. Later families have words alone, scaled. */
#ifndef NN_EMBEDDING_H
#define NN_EMBEDDING_H

#include "nn/norm.h"

typedef struct cq_embedding {
  cq_param *words;        /* [vocab, dim], a table */
  cq_param *positions;    /* [n_positions, dim]; NULL: none */
  cq_param *types;        /* [n_types, dim], of which row 0 is used; NULL: none */
  cq_norm norm;           /* gamma NULL: none */
  float scale;            /* of the words' rows; 0: 1 */
  int64_t first_position; /* the first token's row of positions: 0, or 2 (padding_idx + 1) in RoBERTa's line */
  float dropout;
} cq_embedding;

typedef struct cq_embedding_saved {
  cq_norm_saved norm;
  int32_t *position_ids, *type_ids; /* [n_tokens] */
} cq_embedding_saved;

/* y [n_tokens, dim]. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_embedding_forward(cq_worker *worker, const cq_embedding *l, const cq_batch *batch, cq_tensor y,
                                           uint32_t site, cq_embedding_saved *saved, cq_error *error);
/* dy is overwritten. */
CQ_MUST_USE cq_status cq_embedding_backward(cq_worker *worker, const cq_embedding *l, const cq_batch *batch,
                                            cq_gradients *gradients, cq_tensor dy, uint32_t site,
                                            const cq_embedding_saved *saved, cq_error *error);

/* Adds the gradient dy of rows ids of a table. */
CQ_MUST_USE cq_status cq_table_backward(cq_worker *worker, const cq_param *table, cq_gradients *gradients, cq_tensor dy,
                                        const int32_t *ids, cq_error *error);

#endif
