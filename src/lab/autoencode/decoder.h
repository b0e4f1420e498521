/* From a sentence vector back to text: an LSTM that writes token by token.
 *
 *   z [latent_dim] --linear, tanh--> first states of all layers                      latent_as_state
 *                    last states of all layers of an encoder's LSTM, unchanged       states_from_encoder
 *   <s> w1 w2 ... --embedding--> [token, z] --LSTM x n_layers--> linear --softmax--> w1 w2 ... </s>
 *                                        \-- latent_at_every_step
 *
 * A decoder's directory has decoder_config.json, model.safetensors and the tokenizer's files. Source: Sutskever et al.
 * 2014 (the first state), Cho et al. 2014 (the vector with every token). */
#ifndef LAB_AUTOENCODE_DECODER_H
#define LAB_AUTOENCODE_DECODER_H

#include "nn/batch.h"
#include "nn/lstm.h"
#include "token/tokenizer.h"

typedef struct cq_decoder_shape {
  int64_t embedding_dim, hidden_dim, n_layers, latent_dim;
  /* At least one of them, and not both of the last two. */
  bool latent_at_every_step, latent_as_state, states_from_encoder;
  bool words_hidden; /* every input token is <unk>: sentences are written only from their vectors */
  double dropout;    /* of the inputs of every layer, including the output layer */
} cq_decoder_shape;

typedef struct cq_decoder cq_decoder;

/* A new decoder, not yet packed; on success it takes ownership of the tokenizer. Errors: CQ_ERR_ARGUMENT,
 * CQ_ERR_UNSUPPORTED for a vocabulary without a beginning, end or unknown token, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_decoder_new(cq_decoder **out, cq_tokenizer *tokenizer, const cq_decoder_shape *shape,
                                     cq_random *random, cq_error *error);
/* Opens a decoder, packed for writing. Errors: CQ_ERR_IO; CQ_ERR_FORMAT, naming the file, if decoder_config.json lacks
 * a key, or weights do not match it or the vocabulary; CQ_ERR_UNSUPPORTED for a vocabulary without a beginning, end or
 * unknown token; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_decoder_open(cq_decoder **out, const char *directory, cq_error *error);
/* Into an existing directory. */
CQ_MUST_USE cq_status cq_decoder_save(const cq_decoder *decoder, const char *directory, cq_error *error);
void cq_decoder_free(cq_decoder *decoder);

const cq_decoder_shape *cq_decoder_shape_of(const cq_decoder *decoder);
const cq_tokenizer *cq_decoder_tokenizer(const cq_decoder *decoder);
/* All parameters, for training: see cq_params_add. The first is the table of words. */
cq_param *cq_decoder_params(size_t *n, cq_decoder *decoder);
/* Packs all weights: call it for a new decoder and after every update. training: for training and writing; otherwise
 * only for writing, which keeps weights packed for training. Greedy writing after packing for training is slower, and
 * may differ if two tokens are equally probable except for rounding. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_decoder_pack(cq_decoder *decoder, bool training, cq_error *error);

/* --- training --- */

/* Sentences to be written, one a row of the vectors. */
typedef struct cq_decoder_batch {
  cq_batch tokens;     /* each between <s> and, unless truncated, </s>: at least two; keys NULL: no dropout */
  cq_tensor latent;    /* [n_seqs, latent_dim] */
  cq_tensor states;    /* [n_seqs, 2 n_layers hidden_dim], see lab/autoencode/states.h; only with states_from_encoder */
  double word_dropout; /* share of the input tokens that become <unk>, so that the decoder must rely on the vector */
} cq_decoder_batch;

/* Adds the sum of -log p over all output tokens to *loss. With gradients, adds factor times the parameters' gradients,
 * that of the vectors to dlatent [n_seqs, latent_dim], and that of given states to dstates, which has their shape and
 * is dense (data NULL: not needed). Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_decoder_loss(double *loss, cq_worker *worker, const cq_decoder *decoder,
                                      const cq_decoder_batch *batch, cq_gradients *gradients, cq_tensor dlatent,
                                      cq_tensor dstates, float factor, cq_error *error);

/* --- writing --- */

/* The states of n sentences being written, [n_layers][n, hidden_dim] each. */
typedef struct cq_decoder_state {
  int64_t n;
  float *hidden, *cells;
} cq_decoder_state;

/* Initial states, in the worker's workspace, from latent [n, latent_dim] or from given states, as in a batch. */
CQ_MUST_USE cq_status cq_decoder_begin(cq_decoder_state *out, cq_worker *worker, const cq_decoder *decoder,
                                       cq_tensor latent, cq_tensor states, cq_error *error);
/* One step: log_p [n, vocabulary] of the token after ids [n]. */
CQ_MUST_USE cq_status cq_decoder_step(cq_tensor log_p, cq_worker *worker, const cq_decoder *decoder,
                                      cq_decoder_state *state, const int32_t *ids, cq_tensor latent, cq_error *error);
/* The same, but only best [n], the most probable next token (the first on a tie); may alias ids. */
CQ_MUST_USE cq_status cq_decoder_step_greedy(int32_t *best, cq_worker *worker, const cq_decoder *decoder,
                                             cq_decoder_state *state, const int32_t *ids, cq_tensor latent,
                                             cq_error *error);

#endif
