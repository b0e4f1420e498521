/* Making an open encoder of BERT's line smaller: fewer layers, factorized word embeddings. It can be saved afterwards, and
 * not run. */
#ifndef MODEL_RESHAPE_H
#define MODEL_RESHAPE_H

#include "calque/context.h"
#include "model/encoder.h"

/* The option of those who factorize. */
#define CQ_EMBEDDING_DIM_ROW(owner)                                                                                    \
  {                                                                                                                    \
    CQ_INT(owner, "embedding-dim", embedding_dim, CHANGES, 0, 0, 1 << 16, "N",                                         \
           "factorize the word embeddings into N dimensions and a projection (BERT, XLM-R): an ELECTRA"),              \
        .otherwise = "the hidden size"                                                                                 \
  }

/* Keeps these layers [n], which are counted from 0 and given in rising order. Errors: CQ_ERR_ARGUMENT for a layer that is
 * not there; CQ_ERR_UNSUPPORTED for an architecture whose layers share parameters or are not of BERT's line. */
CQ_MUST_USE cq_status cq_encoder_keep_layers(cq_encoder *encoder, const int *layers, size_t n, cq_error *error);

/* Makes the word embeddings [vocab_size, dim] a product [vocab_size, rank] [rank, dim]: an ELECTRA, whose
 * embeddings_project is the second factor.
 *   shares  [vocab_size] of each piece in the text; NULL: all alike
 * Its vectors are the model's as far as rank - 1 principal axes hold the input of the first layer.
 * Errors: CQ_ERR_ARGUMENT for a rank outside [2, dim - 1], as an ELECTRA of rank dim has no projection; CQ_ERR_UNSUPPORTED for other
 * architectures than BERT, RoBERTa and XLM-R. */
CQ_MUST_USE cq_status cq_encoder_factorize(cq_encoder *encoder, int rank, const double *shares, cq_context *ctx,
                                           cq_error *error);

#endif
