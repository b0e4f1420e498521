/* Makes modules without files: for a plain Hugging Face directory, and for new students. Each module and its parameters
 * are made in the arena; `path` is the path for modules.json ("1_Pooling") and is borrowed. */
#ifndef MODEL_MODULES_H
#define MODEL_MODULES_H

#include "base/random.h"
#include "model/module.h"

CQ_MUST_USE cq_status cq_pooling_new(cq_module **out, int64_t dim, cq_pooling_mode mode, const char *path,
                                     cq_arena *arena, cq_error *error);
/* Weight and bias initialized like PyTorch's Linear: uniform in +-1 / sqrt(in). */
CQ_MUST_USE cq_status cq_dense_new(cq_module **out, int64_t in, int64_t out_dim, cq_activation activation,
                                   const char *path, cq_random *random, cq_arena *arena, cq_error *error);
CQ_MUST_USE cq_status cq_normalize_new(cq_module **out, int64_t dim, const char *path, cq_arena *arena,
                                       cq_error *error);

/* The classifier in the files of an open transformer (head.c), and the pooling that it needs. */
CQ_MUST_USE cq_status cq_head_open(cq_module **out, cq_pooling_mode *pooling, const cq_module *transformer,
                                   const char *directory, cq_arena *arena, cq_error *error);

/* A new one, drawn from random, for an open transformer, whose config.json then names it. Errors: CQ_ERR_UNSUPPORTED. */
CQ_MUST_USE cq_status cq_head_new(cq_module **out, cq_pooling_mode *pooling, cq_module *transformer,
                                  const char *directory, cq_random *random, cq_arena *arena, cq_error *error);
/* Writes both modules' weights into one file. */
CQ_MUST_USE cq_status cq_head_save(const cq_module *head, const cq_module *transformer, cq_dtype weights,
                                   const char *directory, cq_error *error);

/* The module takes ownership of the tokenizer on success. Rows are drawn from N(0, 1), like PyTorch's EmbeddingBag. */
CQ_MUST_USE cq_status cq_static_new(cq_module **out, cq_tokenizer *tokenizer, int64_t dim, const char *path,
                                    cq_random *random, cq_arena *arena, cq_error *error);
/* The same for the first stage of a BiLSTM; max_seq_length counts special tokens. */
CQ_MUST_USE cq_status cq_word_embeddings_new(cq_module **out, cq_tokenizer *tokenizer, int64_t dim, int max_seq_length,
                                             const char *path, cq_random *random, cq_arena *arena, cq_error *error);
/* All parameters uniform in +-1 / sqrt(dim), like PyTorch's LSTM. */
CQ_MUST_USE cq_status cq_lstm_module_new(cq_module **out, int64_t in, int64_t dim, int64_t n_layers, bool bidirectional,
                                         double dropout, const char *path, cq_random *random, cq_arena *arena,
                                         cq_error *error);

/* A Pooling's modes in their order: [the result]. */
size_t cq_pooling_modes(const cq_pooling_mode **modes, const cq_module *module);
/* What follows a Dense module's product; params[0] is its weight, params[1], if there is one, its bias. */
cq_activation cq_dense_activation(const cq_module *module);

#define CQ_LAYER_NORM_EPS 1e-5f /* of a LayerNorm module: PyTorch's, which no file says */

/* The parts of an LSTM module. */
typedef struct cq_lstm_sizes {
  int64_t n_layers, dim;
  int n_directions;
} cq_lstm_sizes;
cq_lstm_sizes cq_lstm_module_sizes(const cq_module *module);

/* --- values for new parameters: memory from the arena --- */

CQ_MUST_USE cq_status cq_param_uniform(cq_param *p, double bound, cq_random *random, cq_arena *arena, cq_error *error);
CQ_MUST_USE cq_status cq_param_normal(cq_param *p, double deviation, cq_random *random, cq_arena *arena,
                                      cq_error *error);
/* A table of word embeddings, drawn as PyTorch draws those of an Embedding and an EmbeddingBag. */
CQ_MUST_USE cq_status cq_param_word_table(cq_param *p, const char *name, const cq_tokenizer *tokenizer, int64_t dim,
                                          cq_random *random, cq_arena *arena, cq_error *error);
CQ_MUST_USE cq_status cq_param_constant(cq_param *p, float value, cq_arena *arena, cq_error *error);

#endif
