/* The Transformer module: a Hugging Face encoder directory. BERT, DistilBERT, RoBERTa and XLM-R, MPNet, ELECTRA,
 * ALBERT, ERNIE and DeBERTa share one stack. They differ in names on disk, positions, token types and dropouts, in the
 * width of the word embeddings, in shared layer parameters, and in the effect of distances on attention. Later models
 * are stacks of nn/block.h, each a row of families/. */
#ifndef MODEL_TRANSFORMER_MODULE_H
#define MODEL_TRANSFORMER_MODULE_H

#include "model/module.h"
#include "nn/disentangled.h"
#include "nn/embedding.h"
#include "nn/relative_bias.h"
#include "nn/stack.h"
#include "nn/transformer.h"

/* A weighted mean of the layers' outputs instead of the last layer's (weighted_layers.c). */
typedef struct cq_layer_mixture {
  const float *weights; /* weights of output `first` (0: embeddings) and later; NULL: the last output */
  int64_t first;
  float sum;
} cq_layer_mixture;

typedef struct cq_transformer {
  cq_module base;
  json_t *config;      /* config.json as read; saved with the current sizes */
  cq_weights *weights; /* the mapped file that parameters borrow from; NULL if none do */
  cq_weights *words;   /* the same for the word embeddings of a language's vocabulary */
  cq_embedding embedding;
  cq_relative_bias relative;     /* table NULL: none */
  cq_distances distances;        /* DeBERTa's; table NULL: none */
  cq_disentangled *disentangled; /* [n_layers]; NULL: an architecture without */
  cq_linear *of_distances;       /* [2 n_layers] separate projections for keys and queries, if they have weights */
  /* [n_layers] with separate parameters: groups of group_size, run `repeats` times; NULL: the stack's blocks */
  cq_transformer_layer *layers;
  cq_stack stack;
  bool is_stack;
  bool any_length;   /* positions are computed: max_seq_length is only the usual length */
  bool has_adapters; /* its file has LoRA adapters for several tasks (lora.h) */
  int64_t n_positions;
  double norm_eps;
  int64_t n_layers, group_size, repeats;
  int64_t dim, n_heads, feed_forward_dim;
  cq_layer_mixture mixture;
} cq_transformer;

/* The number of layers that a token passes through: more than the distinct ones if layers share parameters. */
static inline int64_t cq_transformer_depth(const cq_transformer *t) {
  return t->is_stack ? t->n_layers : t->n_layers * t->repeats;
}

/* The layer that a token passes at each depth, if it is not a stack. */
static inline const cq_transformer_layer *cq_transformer_layer_at(const cq_transformer *t, int64_t depth) {
  return &t->layers[depth / (t->group_size * t->repeats) * t->group_size + depth % t->group_size];
}

/* Sets a stack's dropouts: one rate for embeddings and feed-forward layers, one for attention. */
void cq_transformer_set_dropouts(cq_transformer *t, double rate, double attention);
/* Replaces the model's word embeddings, once read, by those of a language's vocabulary. */
CQ_MUST_USE cq_status cq_transformer_take_language(cq_transformer *t, const char *directory, cq_arena *arena,
                                                   cq_error *error);

/* Replaces the vocabulary: words [vocab_size, dim] is copied; on success, the module takes ownership of the tokenizer,
 * and the config gets its pad id. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_transformer_set_vocabulary(cq_transformer *t, cq_tokenizer *tokenizer, const float *words,
                                                    cq_arena *arena, cq_error *error);
/* Copies the vocabulary's properties from the module's tokenizer into the config. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_transformer_adopt_vocabulary(cq_transformer *t, cq_error *error);

#endif
