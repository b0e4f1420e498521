/* The Transformer module: a Hugging Face encoder directory. BERT, DistilBERT, RoBERTa and XLM-R, MPNet, ELECTRA,
 * ALBERT, ERNIE and DeBERTa are one stack that differs in names on disk, positions, token types and dropouts, in the
 * width of the word embeddings, in layers that share their parameters, and in what distances do to attention. Those
 * that came after are stacks of nn/block.h, each a row of families/. */
#ifndef MODEL_TRANSFORMER_MODULE_H
#define MODEL_TRANSFORMER_MODULE_H

#include "model/module.h"
#include "nn/disentangled.h"
#include "nn/embedding.h"
#include "nn/relative_bias.h"
#include "nn/stack.h"
#include "nn/transformer.h"

/* A weighted mean of the layers' outputs instead of the last one's (weighted_layers.c). */
typedef struct cq_layer_mixture {
  const float *weights; /* weights of output `first` (0: the embeddings') and later ones; NULL: only the last layer's */
  int64_t first;
  float sum;
} cq_layer_mixture;

typedef struct cq_transformer {
  cq_module base;
  json_t *config;      /* config.json as read; saved again with the current sizes */
  cq_weights *weights; /* the mapping that parameters borrow from; NULL when none do */
  cq_weights *words;   /* the same for the word embeddings of a language's own vocabulary */
  cq_embedding embedding;
  cq_relative_bias relative;     /* table NULL: none */
  cq_distances distances;        /* DeBERTa's; table NULL: none */
  cq_disentangled *disentangled; /* [n_layers]; NULL: an architecture without */
  cq_linear *of_distances; /* [2 n_layers] projections of their own for keys and queries, where they have weights */
  /* [n_layers] with parameters of their own: groups of group_size, run `repeats` times; NULL: the stack's blocks */
  cq_transformer_layer *layers;
  cq_stack stack;
  bool is_stack;
  bool has_adapters; /* its file has LoRA adapters for several tasks (lora.h) */
  int64_t n_positions;
  double norm_eps;
  int64_t n_layers, group_size, repeats;
  int64_t dim, n_heads, feed_forward_dim;
  cq_layer_mixture mixture;
} cq_transformer;

/* How many layers a token passes: more than the distinct ones if they share parameters. */
static inline int64_t cq_transformer_depth(const cq_transformer *t) {
  return t->is_stack ? t->n_layers : t->n_layers * t->repeats;
}

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
