/* Families of encoders that are stacks of nn/block.h. A family is a row: keys of config.json, names of tensors, and the
 * parts of its blocks. A function fills in the plan for what a row cannot express (which layers are local).
 *
 *   config.json ──row's keys, row's plan()──▶ cq_plan ──row's names──▶ parameters, cq_block options
 *
 * Each row is a file of its own in this folder, and one line in family.c's table. */
#ifndef MODEL_FAMILIES_FAMILY_H
#define MODEL_FAMILIES_FAMILY_H

#include "model/transformer_module.h"

/* Keys of config.json. NULL: the family has none. The keys up to vocab are required if they are named. */
typedef struct cq_family_keys {
  const char *dim, *n_layers, *n_heads, *feed_forward, *vocab;
  const char *n_kv_heads, *head_dim, *n_positions, *n_types, *activation, *norm_eps;
  const char *dropout, *attention_dropout;
} cq_family_keys;

/* BERT's, which many later families share. */
#define CQ_KEYS_OF_BERT                                                                                                \
  .dim = "hidden_size", .n_layers = "num_hidden_layers", .n_heads = "num_attention_heads",                             \
  .feed_forward = "intermediate_size", .vocab = "vocab_size", .n_positions = "max_position_embeddings",                \
  .n_types = "type_vocab_size", .norm_eps = "layer_norm_eps", .dropout = "hidden_dropout_prob",                        \
  .attention_dropout = "attention_probs_dropout_prob"

#define CQ_NAMES_OF_BERT                                                                                               \
  .words = "embeddings.word_embeddings", .types = "embeddings.token_type_embeddings", .layer = "encoder.layer.%d."
/* Attention's. */
#define CQ_ATTENTION_OF_BERT                                                                                           \
  .query = "attention.self.query", .key = "attention.self.key", .value = "attention.self.value",                       \
  .attention_output = "attention.output.dense"

/* Llama's. */
#define CQ_KEYS_OF_LLAMA                                                                                               \
  .dim = "hidden_size", .n_layers = "num_hidden_layers", .n_heads = "num_attention_heads",                             \
  .feed_forward = "intermediate_size", .vocab = "vocab_size", .n_kv_heads = "num_key_value_heads",                     \
  .head_dim = "head_dim", .n_positions = "max_position_embeddings", .norm_eps = "rms_norm_eps",                        \
  .attention_dropout = "attention_dropout"
#define CQ_NAMES_OF_LLAMA                                                                                              \
  .words = "embed_tokens", .layer = "layers.%d.", .query = "self_attn.q_proj", .key = "self_attn.k_proj",              \
  .value = "self_attn.v_proj", .attention_output = "self_attn.o_proj", .before_attention = "input_layernorm",          \
  .gate = "mlp.gate_proj", .up = "mlp.up_proj", .down = "mlp.down_proj", .last_norm = "norm"

/* Names of tensors without ".weight" and ".bias". NULL: none. */
typedef struct cq_family_names {
  const char *words, *positions, *types, *embedding_norm;
  const char *layer; /* printf pattern of the layer's prefix, for the names below */
  const char *fused_qkv, *query, *key, *value, *q_norm, *k_norm, *attention_output;
  const char *before_attention, *after_attention;
  const char *fused_gate, *gate, *up, *down;
  const char *plain_up; /* in place of gate and up where the plan is ungated */
  const char *before_ffn, *after_ffn;
  const char *relative_bias, *last_norm; /* of the whole stack */
} cq_family_names;

/* Parts of a model that may have biases, the same in all layers. */
enum {
  CQ_BIAS_QKV = 1,
  CQ_BIAS_ATTENTION_OUTPUT = 2,
  CQ_BIAS_ATTENTION = 3, /* both */
  CQ_BIAS_UP = 4,        /* a feed-forward layer's inputs: up, gate, fused */
  CQ_BIAS_DOWN = 8,
  CQ_BIAS_FEED_FORWARD = 12, /* both */
  CQ_BIAS_LINEARS = 15,
  CQ_BIAS_NORMS = 16,
  CQ_BIAS_ALL = 31
};

/* A boolean of config.json that determines whether these parts have biases. */
typedef struct cq_bias_key {
  const char *key;
  unsigned parts;
  bool otherwise; /* when the config says nothing */
} cq_bias_key;

typedef struct cq_layer_plan {
  int64_t window;     /* as cq_attention's */
  int rotary;         /* from 1; 0: none */
  bool no_first_norm; /* before_attention is left out */
} cq_layer_plan;

/* The contents of config.json. A row's plan() changes the values that the keys have filled in. */
typedef struct cq_plan {
  int64_t dim, n_layers, n_heads, feed_forward, vocab, n_kv_heads, head_dim, n_positions, n_types, pad_id;
  int64_t first_position; /* of learned positions */
  int64_t n_buckets;      /* of a relative bias */
  int64_t max_length;     /* tokens of a sentence; 0: no limit */
  bool any_length;        /* max_length is only the usual one: there is no table of positions */
  cq_activation activation;
  double norm_eps, embedding_scale, score_scale; /* scales: 0 is 1 and 1 / sqrt(head_dim) */
  double dropout, attention_dropout;
  bool causal;
  bool ungated;        /* the feed-forward layer is ungated, in a family with both kinds */
  const float *slopes; /* of ALiBi, in the arena */
  int64_t n_turned;    /* columns of each head that rotary positions turn */
  unsigned biases;     /* parts with biases: a missing bias is an error, and so is a bias of another part */
  cq_rotary rotary[2];
  int n_rotary;
  cq_layer_plan *layers; /* [n_layers] */
} cq_plan;

/* What plan() reads from. */
typedef struct cq_config_source {
  const json_t *json;
  const char *path; /* of config.json, for errors */
  cq_arena *arena;
  const cq_module_source *module;
} cq_config_source;

/* The keys of a rotation in config.json, in the old format and the new one (see rotary_config.c). */
typedef struct cq_rotary_keys {
  const char *layer_type; /* picks one of the objects of rope_parameters; NULL: all layers are the same */
  const char *theta;      /* key of the base in config.json itself */
  double otherwise;       /* the base if there is none */
  bool is_scaled;         /* rope_scaling is of these layers */
} cq_rotary_keys;

typedef struct cq_family cq_family;
struct cq_family {
  const char *model_type;
  const char *when[2];     /* only if this key has this string or, with NULL, exists; both NULL: always */
  const char *prefixes[4]; /* prefixes of tensor names in checkpoints of task models */
  cq_family_keys keys;
  cq_family_names names;
  bool rms, post, causal;       /* norms are RMSNorm; norms follow the residual sum; attention is causal */
  bool stays_narrow;            /* as cq_linear's */
  float norm_offset;            /* RMSNorm multiplies by this + weight */
  bool up_first;                /* as cq_feed_forward's */
  double norm_eps;              /* when the config says nothing */
  int64_t n_kv_heads, head_dim; /* the same; 0: n_heads, dim / n_heads */
  cq_rotary_keys rotary;        /* one rotation for all layers; theta NULL: none, or several by plan() */
  const char *activation;
  unsigned biases;          /* parts that always have them */
  cq_bias_key bias_keys[3]; /* parts that have biases if config.json says so; key NULL ends the list */
  int64_t max_positions;    /* when the config says nothing; 0: no limit */
  /* Keys that would change the vectors with any other value: {key, the JSON text of the one supported value}. */
  const char *const (*fixed)[2];
  const char *const *ignored; /* beginnings of names: heads of other tasks, buffers */
  CQ_MUST_USE cq_status (*plan)(cq_plan *plan, const cq_config_source *config,
                                cq_error *error); /* NULL: nothing more */
};

extern const cq_family cq_family_eurobert, cq_family_gemma3, cq_family_gte, cq_family_gte_transformers,
    cq_family_jina_v2, cq_family_jina_v3, cq_family_jina_v3_transformers, cq_family_llama, cq_family_mistral,
    cq_family_modernbert, cq_family_mt5, cq_family_nomic, cq_family_nomic_transformers, cq_family_qwen2,
    cq_family_qwen3, cq_family_t5, cq_family_xlm_roberta_xl;

/* The family of a config.json; NULL: unknown. */
const cq_family *cq_family_find(const json_t *config);
/* CQ_ERR_UNSUPPORTED for an unknown model_type: lists the known ones and the one with the closest name.
 *   others  [n] model types outside the families */
CQ_MUST_USE cq_status cq_family_unknown(const char *model_type, const char *const *others, size_t n, const char *path,
                                        cq_error *error);

/* Fills in an empty transformer whose config has been read. Errors: as cq_module_type's open. */
CQ_MUST_USE cq_status cq_family_open(cq_transformer *t, const cq_family *family, const cq_module_source *source,
                                     const char *path, cq_error *error);

/* --- for rows' plan() --- */

/* Adds a rotation of the plan's n_turned columns with the base theta; scaling is config.json's rope_scaling, NULL for
 * none. Layers refer to it by its index, the value of plan->n_rotary before the call. Errors: CQ_ERR_UNSUPPORTED for an
 * unknown scaling. */
CQ_MUST_USE cq_status cq_plan_rotary(cq_plan *plan, const cq_config_source *config, double theta, const json_t *scaling,
                                     cq_error *error);

/* Adds the rotation, as cq_plan_rotary does. All columns of a head are rotated. */
CQ_MUST_USE cq_status cq_plan_rotary_read(cq_plan *plan, const cq_config_source *config, const cq_rotary_keys *keys,
                                          cq_error *error);
/* sliding_window; 4096 if config.json lacks it; 0 (none) if it is null. */
CQ_MUST_USE cq_status cq_plan_window(int64_t *out, const cq_config_source *config, cq_error *error);
/* If config.json has layer_types, they decide which layers have the window. Errors: CQ_ERR_UNSUPPORTED for another
 * type, CQ_ERR_FORMAT for fewer entries than layers. */
CQ_MUST_USE cq_status cq_plan_layer_types(cq_plan *plan, const cq_config_source *config, int64_t window,
                                          cq_error *error);

#endif
