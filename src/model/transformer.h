/* The Transformer module: a Hugging Face encoder directory. BERT, DistilBERT, RoBERTa and XLM-R, and MPNet are one
 * stack that differs in names on disk, positions, token types and dropouts. Those that came after are stacks of
 * nn/block.h, each a row of families/. */
#ifndef MODEL_TRANSFORMER_H
#define MODEL_TRANSFORMER_H

#include "model/module.h"
#include "nn/embedding.h"
#include "nn/relative_bias.h"
#include "nn/stack.h"
#include "nn/transformer.h"

typedef struct cq_transformer {
  cq_module base;
  json_t *config;      /* config.json as read; saved again with the sizes of today */
  cq_weights *weights; /* the mapping that parameters borrow from; NULL when none do */
  cq_weights *words;   /* the same for the word embeddings of a language's own vocabulary */
  cq_embedding embedding;
  cq_relative_bias relative;    /* table NULL: none */
  cq_transformer_layer *layers; /* NULL: the stack's blocks instead */
  cq_stack stack;
  bool is_stack;
  int64_t n_positions;
  double norm_eps;
  int64_t n_layers, dim, n_heads, feed_forward_dim;
} cq_transformer;

/* Sets the dropouts of a stack: of embeddings and feed-forward layers, and of attention. */
void cq_transformer_set_dropouts(cq_transformer *t, double rate, double attention);
/* Takes the rows of another vocabulary in place of the model's, after those. */
CQ_MUST_USE cq_status cq_transformer_take_language(cq_transformer *t, const char *directory, cq_arena *arena,
                                                   cq_error *error);
/* Sets every dropout of the stack; below 0 leaves the config's. */
void cq_transformer_set_dropout(cq_transformer *t, double rate);

/* Puts another vocabulary under the body: words [vocab_size, dim] is copied; the tokenizer becomes the module's (on
 * success only) and its pad id the config's. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_transformer_set_vocabulary(cq_transformer *t, cq_tokenizer *tokenizer, const float *words,
                                                    cq_arena *arena, cq_error *error);
/* Takes what the module's tokenizer says of the vocabulary into the config. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_transformer_adopt_vocabulary(cq_transformer *t, cq_error *error);

/* --- for the other kinds of Transformer --- */

/* Writes config.json, the weights and the tokenizer. */
CQ_MUST_USE cq_status cq_transformer_write(const cq_module *module, const json_t *config, cq_dtype weights,
                                           const char *directory, cq_error *error);

#endif
