/* BERT-like encoders: config.json -> sizes; model.safetensors -> parameters under one of five naming schemes.
 *
 *   model_type            names                                  positions from   token types
 *   bert                  embeddings.*, encoder.layer.N.*        0                yes
 *   roberta, xlm-roberta,
 *   camembert             the same                               pad + 1 = 2      one
 *   distilbert            transformer.layer.N.*                  0                none
 *   mpnet                 encoder.layer.N.attention.attn.*       pad + 1 = 2      none, but a relative position bias
 *   electra               as bert; its word embeddings may be narrower than its layers
 *   albert                encoder.albert_layer_groups.G.albert_layers.I.*   0     yes; a group's layers run repeatedly
 *   ernie                 as bert                                0                yes, and task types
 *   deberta-v2 (and v3)   encoder.layer.N.attention.self.*_proj  0 or none        some, and disentangled attention
 *
 * A task model's checkpoint prefixes all names with "bert.", "roberta." and so on. */
#ifndef MODEL_BERT_H
#define MODEL_BERT_H

#include "model/distances.h"
#include "model/transformer_module.h"

/* Names of one layer's tensors without ".weight" and ".bias". */
typedef struct cq_bert_names {
  const char *layer; /* printf pattern of the layer's prefix; its two numbers are the group and the layer in it */
  const char *query, *key, *value, *output, *attention_norm, *up, *down, *output_norm;
} cq_bert_names;

typedef struct cq_bert {
  const char *model_type, *prefix;
  const cq_bert_names *names;
  const char *dim, *n_layers, *n_heads, *feed_forward, *activation, *dropout,
      *attention_dropout; /* keys of config.json */
  bool positions_after_pad, token_types, relative_bias, attention_output_dropout;
  double norm_eps;        /* when the config says nothing */
  const char *projection; /* the projection after word embeddings of embedding_size; NULL: the architecture has none */
  bool always_projects;   /* also where embedding_size is hidden_size */
} cq_bert;

/* What config.json says. */
typedef struct cq_bert_sizes {
  int64_t dim, n_layers, n_heads, feed_forward, n_positions, n_types, vocab, pad_id, n_buckets;
  int64_t embedding_dim, n_groups, group_size, n_tasks;
  cq_distance_sizes distances;
  double norm_eps, dropout, attention_dropout;
  cq_activation activation;
} cq_bert_sizes;

/* The architecture of a model_type; NULL: none of these. */
const cq_bert *cq_bert_find(const char *model_type);
/* The i-th model type; NULL: there are no more. */
const char *cq_bert_name(size_t i);
bool cq_bert_is_albert(const cq_bert *a);
bool cq_bert_is_deberta(const cq_bert *a);
bool cq_bert_is_plain(const cq_bert *a); /* BERT, RoBERTa and their like: word, position and type, normalized */
/* The activation if config.json names none. */
const char *cq_bert_activation(const cq_bert *a);
/* Errors: CQ_ERR_FORMAT, CQ_ERR_UNSUPPORTED; the message names the key. */
CQ_MUST_USE cq_status cq_bert_read_sizes(cq_bert_sizes *out, const json_t *config, const cq_bert *a, const char *path,
                                         cq_error *error);

/* A layer's weights that are packed, each on its own. */
enum { CQ_BERT_PARTS = 6 };

/* Fills an empty transformer whose config has been read. Errors: those of cq_module_type's open. */
CQ_MUST_USE cq_status cq_bert_open(cq_transformer *t, const cq_bert *a, const cq_module_source *source,
                                   const char *path, cq_error *error);
void cq_bert_set_dropouts(cq_transformer *t, float hidden, float attention, const cq_bert *a);

#endif
