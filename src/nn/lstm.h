/* A long short-term memory over whole sequences, in one or both directions.
 *
 * Tokens are stored sentence after sentence, but a recurrent step needs the t-th tokens of all sentences together. So
 * each direction works on a time-major copy: sentences by descending length, step by step those still running.
 *
 *     sentences  a0 a1 a2 | b0 | c0 c1        forward rows   a0 c0 b0 | a1 c1 | a2
 *                                             reverse rows   a2 c1 b0 | a1 c0 | a0
 *
 * The product with the inputs is one large product over all rows; a step then adds the recurrent product of its rows,
 * which are a prefix of the previous step's rows. Source: Hochreiter & Schmidhuber 1997, gates in PyTorch's order and
 * with its two biases.
 *
 * A decoder begins with the final states of an encoder: initial states are passed in, and final states returned.
 * Generation runs step by step, with the same bits as a pass over the whole sequence. */
#ifndef NN_LSTM_H
#define NN_LSTM_H

#include "nn/batch.h"
#include "nn/linear.h"

typedef struct cq_lstm_direction {
  cq_linear input, recurrent;            /* [4 dim, in], [4 dim, dim]; no bias of their own */
  cq_param *bias_input, *bias_recurrent; /* [1, 4 dim] */
  float *bias;                           /* their sum; made by pack */
} cq_lstm_direction;

typedef struct cq_lstm {
  cq_lstm_direction direction[2]; /* forward, reverse */
  int n_directions;
  int64_t in, dim;
} cq_lstm;

/* Packs one direction's weights. */
CQ_MUST_USE cq_status cq_lstm_pack(cq_lstm *l, int direction, const cq_packing *packing, cq_error *error);
void cq_lstm_free(cq_lstm *l);

/* The time-major position of each token; one plan serves all layers of a batch. In the worker's workspace. */
typedef struct cq_lstm_plan {
  int64_t n_tokens, n_seqs, n_steps;
  int64_t *first;    /* [n_steps + 1] first row of each step */
  int32_t *token_of; /* [n_directions, n_tokens] the token of a row */
  int32_t *row_of;   /* [n_tokens, n_directions] a token's row, counted over both directions */
  int32_t *before;   /* [n_tokens - rows of step 0] the previous step's row, for the rows of steps 1 ... */
  int32_t *state_of; /* [n_directions, n_seqs] the sequences by descending length: rows of a state as [.., dim] */
} cq_lstm_plan;

CQ_MUST_USE cq_status cq_lstm_plan_make(cq_lstm_plan *plan, cq_worker *worker, const cq_batch *batch, int n_directions,
                                        cq_error *error);

/* The recurrent state, hidden and cell: [n_seqs, n_directions * dim] each, dense, in the batch's order of sequences.
 * data NULL: zeros as input, not needed as output. */
typedef struct cq_lstm_state {
  cq_tensor hidden, cell;
} cq_lstm_state;

/* Layer l's columns of rows that hold the states of all layers, one row per sequence:
 *
 *     hidden of layer 0 | ... | hidden of layer L - 1 | cell of layer 0 | ... | cell of layer L - 1        2 L dim */
static inline cq_lstm_state cq_lstm_state_of_layer(cq_tensor rows, int64_t n_layers, int64_t l) {
  const int64_t dim = rows.cols / (2 * n_layers);
  return (cq_lstm_state){cq_tensor_columns(rows, l * dim, dim), cq_tensor_columns(rows, (n_layers + l) * dim, dim)};
}
/* Copies a layer's states, columns or dense. */
void cq_lstm_state_copy(cq_lstm_state to, cq_lstm_state from);

typedef struct cq_lstm_saved {
  cq_tensor x[2];      /* inputs in rows */
  cq_tensor gates[2];  /* activated, [n_tokens, 4 dim] */
  cq_tensor cells;     /* [n_directions * n_tokens, dim] */
  cq_tensor hidden;    /* the same */
  cq_lstm_state first; /* the initial states, [n_directions * n_seqs, dim] by descending length; data NULL: zeros */
} cq_lstm_saved;

/* y [n_tokens, n_directions * dim] from x [n_tokens, in], both dense. Each direction begins with `initial` and writes
 * its state after the last token to `final` (for an empty sequence, the initial state). initial NULL: zeros; final
 * NULL: not needed. saved NULL: not training. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_lstm_forward(cq_worker *worker, const cq_lstm *l, const cq_lstm_plan *plan, cq_tensor y,
                                      const cq_lstm_state *final, cq_tensor x, const cq_lstm_state *initial,
                                      cq_lstm_saved *saved, cq_error *error);
/* dx [n_tokens, in] and dinitial (NULL: not needed) are written; dy (data NULL: zeros) and dfinal (NULL: zeros) are
 * only read. */
CQ_MUST_USE cq_status cq_lstm_backward(cq_worker *worker, const cq_lstm *l, const cq_lstm_plan *plan,
                                       cq_gradients *gradients, cq_tensor dx, const cq_lstm_state *dinitial,
                                       cq_tensor dy, const cq_lstm_state *dfinal, const cq_lstm_saved *saved,
                                       cq_error *error);

/* One step of x.rows running sequences: hidden and cell [rows, dim], dense, are replaced by the states after x [rows,
 * in]. One direction only. From any state it is bit-identical to cq_lstm_forward. Errors: CQ_ERR_MEMORY. / */
CQ_MUST_USE cq_status cq_lstm_step(cq_worker *worker, const cq_lstm *l, cq_tensor hidden, cq_tensor cell, cq_tensor x,
                                   cq_error *error);

#endif
