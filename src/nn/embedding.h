/* The transformer's first layer: word + position + type, normalized; if word embeddings are narrower than the layers,
 * they are projected to the layers' width. Later families have only word embeddings, scaled. */
#ifndef NN_EMBEDDING_H
#define NN_EMBEDDING_H

#include "nn/linear.h"
#include "nn/norm.h"

typedef struct cq_embedding {
  cq_param *words;        /* [vocab, embedding_dim], a table */
  cq_param *positions;    /* [n_positions, embedding_dim]; NULL: none */
  cq_param *types;        /* [n_types, embedding_dim]; row 1 is of a pair's second text; NULL: none */
  cq_param *tasks;        /* the same for ERNIE's types of task */
  cq_linear projection;   /* [dim, embedding_dim]; weight NULL: no projection, the widths are equal */
  cq_norm norm;           /* gamma NULL: none */
  float scale;            /* of the words' rows; 0: 1 */
  int64_t first_position; /* the first token's row of positions: 0, or 2 (padding_idx + 1) in RoBERTa models, where
                           * first_position - 1 is the pad token's id; a pad token does not advance the position */
  float dropout;
} cq_embedding;

typedef struct cq_embedding_saved {
  cq_norm_saved norm;
  int32_t *position_ids, *type_ids; /* [n_tokens] */
  cq_tensor x;                      /* [n_tokens, embedding_dim] before the projection */
} cq_embedding_saved;

/* y [n_tokens, dim]. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_embedding_forward(cq_worker *worker, const cq_embedding *l, const cq_batch *batch, cq_tensor y,
                                           uint32_t site, cq_embedding_saved *saved, cq_error *error);
/* dy is overwritten. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_embedding_backward(cq_worker *worker, const cq_embedding *l, const cq_batch *batch,
                                            cq_gradients *gradients, cq_tensor dy, uint32_t site,
                                            const cq_embedding_saved *saved, cq_error *error);

/* Adds the gradient dy of rows ids of a table. */
CQ_MUST_USE cq_status cq_table_backward(cq_worker *worker, const cq_param *table, cq_gradients *gradients, cq_tensor dy,
                                        const int32_t *ids, cq_error *error);

#endif
