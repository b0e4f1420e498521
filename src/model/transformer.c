/* BERT's line: config.json -> sizes; model.safetensors -> parameters under one of five naming schemes. Other families
 * are rows in families/. Forward and backward are nn's.
 *
 *   model_type            names                                  positions from   token types
 *   bert                  embeddings.*, encoder.layer.N.*        0                yes
 *   roberta, xlm-roberta,
 *   camembert             the same                               pad + 1 = 2      one
 *   distilbert            transformer.layer.N.*                  0                none
 *   mpnet                 encoder.layer.N.attention.attn.*       pad + 1 = 2      none, but a relative position bias
 *   electra               as bert; its word embeddings may be narrower than its layers
 *   albert                encoder.albert_layer_groups.G.albert_layers.I.*   0     yes; a group's layers run again and again
 *   ernie                 as bert                                0                yes, and types of task
 *   deberta-v2 (and v3)   encoder.layer.N.attention.self.*_proj  0 or none        some, and disentangled attention
 *
 * A checkpoint of a task model prefixes all of them with "bert.", "roberta." and so on. */
#include "model/transformer.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "format/json.h"
#include "model/distances.h"
#include "model/families/config.h"
#include "model/families/family.h"

#include <stdio.h>
#include <string.h>

/* ---- architectures ---- */

/* Names of one layer's tensors without ".weight" and ".bias". */
typedef struct layer_names {
  const char *layer; /* printf pattern of the layer's prefix; two numbers are the group and the layer in it */
  const char *query, *key, *value, *output, *attention_norm, *up, *down, *output_norm;
} layer_names;

static const layer_names bert_names = {"encoder.layer.%d.",    "attention.self.query",   "attention.self.key",
                                       "attention.self.value", "attention.output.dense", "attention.output.LayerNorm",
                                       "intermediate.dense",   "output.dense",           "output.LayerNorm"};
static const layer_names distilbert_names = {
    "transformer.layer.%d.", "attention.q_lin", "attention.k_lin", "attention.v_lin",  "attention.out_lin",
    "sa_layer_norm",         "ffn.lin1",        "ffn.lin2",        "output_layer_norm"};
static const layer_names mpnet_names = {"encoder.layer.%d.",  "attention.attn.q", "attention.attn.k",
                                        "attention.attn.v",   "attention.attn.o", "attention.LayerNorm",
                                        "intermediate.dense", "output.dense",     "output.LayerNorm"};
static const layer_names albert_names = {"encoder.albert_layer_groups.%d.albert_layers.%d.",
                                         "attention.query",
                                         "attention.key",
                                         "attention.value",
                                         "attention.dense",
                                         "attention.LayerNorm",
                                         "ffn",
                                         "ffn_output",
                                         "full_layer_layer_norm"};

static const layer_names deberta_names = {
    "encoder.layer.%d.",      "attention.self.query_proj",  "attention.self.key_proj", "attention.self.value_proj",
    "attention.output.dense", "attention.output.LayerNorm", "intermediate.dense",      "output.dense",
    "output.LayerNorm"};

typedef struct architecture {
  const char *model_type, *prefix;
  const layer_names *names;
  const char *dim, *n_layers, *n_heads, *feed_forward, *activation, *dropout,
      *attention_dropout; /* keys of config.json */
  bool positions_after_pad, token_types, relative_bias, attention_output_dropout;
  double norm_eps;        /* when the config says nothing */
  const char *projection; /* the layer behind word embeddings of embedding_size; NULL: the architecture has none */
  bool always_projects;   /* also where embedding_size is hidden_size */
} architecture;

#define BERT_KEYS                                                                                                      \
  .dim = "hidden_size", .n_layers = "num_hidden_layers", .n_heads = "num_attention_heads",                             \
  .feed_forward = "intermediate_size", .activation = "hidden_act", .dropout = "hidden_dropout_prob",                   \
  .attention_dropout = "attention_probs_dropout_prob", .attention_output_dropout = true
#define BERT_LIKE    .names = &bert_names, BERT_KEYS, .token_types = true, .norm_eps = 1e-12
#define ROBERTA_LIKE .prefix = "roberta.", BERT_LIKE, .positions_after_pad = true

static const architecture architectures[] = {
    {.model_type = "bert", .prefix = "bert.", BERT_LIKE},
    {.model_type = "roberta", ROBERTA_LIKE},
    {.model_type = "xlm-roberta", ROBERTA_LIKE},
    {.model_type = "camembert", ROBERTA_LIKE},
    {.model_type = "mpnet",
     .prefix = "mpnet.",
     .names = &mpnet_names,
     BERT_KEYS,
     .positions_after_pad = true,
     .relative_bias = true,
     .norm_eps = 1e-12},
    {.model_type = "distilbert",
     .prefix = "distilbert.",
     .names = &distilbert_names,
     .dim = "dim",
     .n_layers = "n_layers",
     .n_heads = "n_heads",
     .feed_forward = "hidden_dim",
     .activation = "activation",
     .dropout = "dropout",
     .attention_dropout = "attention_dropout",
     .norm_eps = 1e-12},
    {.model_type = "electra", .prefix = "electra.", BERT_LIKE, .projection = "embeddings_project"},
    {.model_type = "albert",
     .prefix = "albert.",
     .names = &albert_names,
     BERT_KEYS,
     .token_types = true,
     .norm_eps = 1e-12,
     .projection = "encoder.embedding_hidden_mapping_in",
     .always_projects = true},
    {.model_type = "ernie", .prefix = "ernie.", BERT_LIKE},
    {.model_type = "deberta-v2",
     .prefix = "deberta.",
     .names = &deberta_names,
     BERT_KEYS,
     .token_types = true,
     .norm_eps = 1e-7},
};

/* Heads of other tasks and buffers, which do not bear on the token vectors. */
static const char *const ignored_tensors[] = {"pooler.",
                                              "bert.pooler.",
                                              "roberta.pooler.",
                                              "mpnet.pooler.",
                                              "albert.pooler.",
                                              "ernie.pooler.",
                                              "cls.",
                                              "predictions.",
                                              "sop_classifier.",
                                              "mask_predictions.",
                                              "lm_predictions.",
                                              "deberta.embeddings.position_ids",
                                              "deberta.embeddings.position_embeddings.", /* a biased input's */
                                              "discriminator_predictions.",
                                              "generator_predictions.",
                                              "generator_lm_head.",
                                              "lm_head.",
                                              "classifier.",
                                              "vocab_layer_norm.",
                                              "vocab_transform.",
                                              "vocab_projector.",
                                              "embeddings.position_ids",
                                              "bert.embeddings.position_ids",
                                              "roberta.embeddings.position_ids",
                                              "mpnet.embeddings.position_ids",
                                              "distilbert.embeddings.position_ids",
                                              "electra.embeddings.position_ids",
                                              "albert.embeddings.position_ids",
                                              "ernie.embeddings.position_ids",
                                              "embeddings.token_type_ids",
                                              "embeddings.task_type_embeddings.", /* where use_task_id is false */
                                              "ernie.embeddings.task_type_embeddings.",
                                              NULL};

static const architecture *architecture_of(const char *model_type) {
  for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++) {
    if (!strcmp(architectures[i].model_type, model_type)) return &architectures[i];
  }
  return NULL;
}

static bool is_deberta(const architecture *a) {
  return a->names == &deberta_names;
}

/* ---- reading config.json ---- */

typedef struct sizes {
  int64_t dim, n_layers, n_heads, feed_forward, n_positions, n_types, vocab, pad_id, n_buckets;
  int64_t embedding_dim, n_groups, group_size, n_tasks;
  cq_distance_sizes distances;
  double norm_eps, dropout, attention_dropout;
  cq_activation activation;
} sizes;

/* What ALBERT, ELECTRA and ERNIE add. */
static cq_status read_more_sizes(sizes *out, const json_t *config, const architecture *a, const char *path,
                                 cq_error *error) {
  cq_status status = CQ_OK;
  bool tasks = false;
  out->embedding_dim = out->dim;
  out->group_size = 1;
  if (a->projection) {
    out->embedding_dim = 128;
    status = cq_json_get_int(&out->embedding_dim, config, "embedding_size", 1, 65536, path, error);
  }
  if (!status && !strcmp(a->model_type, "ernie")) status = cq_json_get_bool(&tasks, config, "use_task_id", path, error);
  if (!status && tasks) {
    out->n_tasks = 3;
    status = cq_json_get_int(&out->n_tasks, config, "task_type_vocab_size", 1, 1024, path, error);
  }
  out->n_groups = out->n_layers;
  if (status || a->names != &albert_names) return status;
  out->n_groups = 1;
  status = cq_json_get_int(&out->n_groups, config, "num_hidden_groups", 1, 1024, path, error);
  if (!status) status = cq_json_get_int(&out->group_size, config, "inner_group_num", 1, 64, path, error);
  if (!status && out->n_layers % out->n_groups)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "num_hidden_groups %lld does not divide num_hidden_layers %lld",
                        (long long)out->n_groups, (long long)out->n_layers);
  return status;
}

static const char *default_activation(const architecture *a) {
  return a->names == &albert_names ? "gelu_new" : "gelu";
}

static cq_status read_sizes(sizes *out, const json_t *config, const architecture *a, const char *path,
                            cq_error *error) {
  const int64_t max = INT32_MAX;
  const bool distil = a->names == &distilbert_names;
  const char *position_kind = "absolute";
  bool decoder = false;
  *out = (sizes){.n_positions = 512,
                 .n_types = a->token_types && !is_deberta(a) ? 2 : 0,
                 .pad_id = a->positions_after_pad ? 1 : 0,
                 .n_buckets = 32,
                 .norm_eps = a->norm_eps,
                 .dropout = 0.1,
                 .attention_dropout = 0.1};
  const struct {
    int64_t *value;
    const char *key;
    int64_t min, max;
    bool required;
  } wanted[] = {{&out->dim, a->dim, 1, 65536, true},
                {&out->n_layers, a->n_layers, 0, 1024, true},
                {&out->n_heads, a->n_heads, 1, 4096, true},
                {&out->feed_forward, a->feed_forward, 1, 1 << 20, true},
                {&out->vocab, "vocab_size", 1, max, true},
                {&out->n_positions, "max_position_embeddings", 1, max, false},
                {&out->n_types, "type_vocab_size", 0, 1024, false},
                {&out->pad_id, "pad_token_id", 0, max, false},
                {&out->n_buckets, "relative_attention_num_buckets", 4, 511, false} /* the far ones end at 128 */};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    cq_status status =
        cq_json_get_int(wanted[i].value, config, wanted[i].key, wanted[i].min, wanted[i].max, path, error);
    if (status) return status;
    if (wanted[i].required && !cq_json_has(config, wanted[i].key))
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "key '%s' is missing", wanted[i].key);
  }
  if (!a->token_types) out->n_types = 0;
  cq_status status = read_more_sizes(out, config, a, path, error);
  if (!status && is_deberta(a)) {
    status = cq_distance_sizes_read(&out->distances, config, out->dim, out->n_positions, path, error);
  }
  if (!status) status = cq_json_get_number(&out->norm_eps, config, "layer_norm_eps", path, error);
  if (!status) status = cq_json_get_number(&out->dropout, config, a->dropout, path, error);
  if (!status) status = cq_json_get_number(&out->attention_dropout, config, a->attention_dropout, path, error);
  if (!status)
    status = cq_config_activation(&out->activation, config, a->activation, default_activation(a), path, error);
  if (!status) status = cq_json_get_string(&position_kind, config, "position_embedding_type", path, error);
  if (!status) status = cq_json_get_bool(&decoder, config, "is_decoder", path, error);
  if (status) return status;
  if (distil) out->norm_eps = a->norm_eps; /* fixed in the original */
  if (strcmp(position_kind, "absolute") != 0)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "position_embedding_type '%s' is not supported",
                        position_kind);
  if (decoder)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "is_decoder is not supported: an encoder is expected");
  const double rates[] = {out->dropout, out->attention_dropout};
  for (int i = 0; i < 2; i++) {
    if (!(rates[i] >= 0 && rates[i] < 1))
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "key '%s' is %g, expected 0 to less than 1",
                          i ? a->attention_dropout : a->dropout, rates[i]);
  }
  if (!(out->norm_eps > 0 && out->norm_eps < 1))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "key 'layer_norm_eps' is %g, expected between 0 and 1",
                        out->norm_eps);
  if (a->positions_after_pad && out->n_positions <= out->pad_id + 1)
    return cq_fail_file(error, CQ_ERR_FORMAT, path,
                        "max_position_embeddings %lld leaves no position behind pad_token_id %lld",
                        (long long)out->n_positions, (long long)out->pad_id);
  if (out->dim % out->n_heads)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "%s %lld is not a multiple of %s %lld", a->dim, (long long)out->dim,
                        a->n_heads, (long long)out->n_heads);
  return CQ_OK;
}

/* A layer's weights that are packed, each on its own. */
enum { PARTS_PER_LAYER = 6, PARTS_PER_BLOCK = 9 };

/* ---- taking the weights ---- */

typedef struct taker {
  cq_transformer *t;
  cq_weights *weights;
  cq_arena *arena;
  const architecture *a;
  size_t next; /* parameters used so far */
  cq_error *error;
} taker;

/* The tensor "STEM SUFFIX", also under the task prefix; LayerNorm's under their old names too. */
static cq_status take_any(taker *k, cq_param **out, const char *stem, const char *suffix, const char *old_suffix,
                          int64_t rows, int64_t cols, bool may_be_narrow) {
  char *names[5] = {cq_arena_printf(k->arena, "%s%s", stem, suffix),
                    cq_arena_printf(k->arena, "%s%s%s", k->a->prefix, stem, suffix)};
  size_t n = 2;
  if (old_suffix) {
    names[n++] = cq_arena_printf(k->arena, "%s%s", stem, old_suffix);
    names[n++] = cq_arena_printf(k->arena, "%s%s%s", k->a->prefix, stem, old_suffix);
  }
  for (size_t i = 0; i < n; i++) {
    if (!names[i]) return cq_fail_memory(k->error, "tensor names");
  }
  cq_param *p = &k->t->base.params[k->next++];
  *out = p;
  return (may_be_narrow ? cq_weights_take_narrow : cq_weights_take)(p, k->weights, (const char *const *)names, rows,
                                                                    cols, k->arena, k->error);
}

static cq_status take_param(taker *k, cq_param **out, const char *stem, const char *suffix, const char *old_suffix,
                            int64_t rows, int64_t cols) {
  return take_any(k, out, stem, suffix, old_suffix, rows, cols, false);
}

/* What is read through cq_param_gather or packed. */
static cq_status take_matrix(taker *k, cq_param **out, const char *stem, int64_t rows, int64_t cols) {
  return take_any(k, out, stem, ".weight", NULL, rows, cols, true);
}

static cq_status take_linear(taker *k, cq_linear *l, const char *stem, int64_t out, int64_t in) {
  cq_status status = take_matrix(k, &l->weight, stem, out, in);
  if (!status) status = take_param(k, &l->bias, stem, ".bias", NULL, out, 0);
  return status;
}

static cq_status take_norm(taker *k, cq_norm *l, const char *stem, int64_t dim, double eps) {
  l->eps = (float)eps;
  cq_status status = take_param(k, &l->gamma, stem, ".weight", ".gamma", dim, 0);
  if (!status) status = take_param(k, &l->beta, stem, ".bias", ".beta", dim, 0);
  return status;
}

static cq_status take_layer(taker *k, cq_transformer_layer *l, int index, const sizes *s) {
  const layer_names *names = k->a->names;
  const char *const stems[] = {names->query,          names->key, names->value, names->output,
                               names->attention_norm, names->up,  names->down,  names->output_norm};
  char *full[8];
  for (int i = 0; i < 8; i++) {
    char prefix[64];
    snprintf(prefix, sizeof prefix, names->layer, index / (int)s->group_size, index % (int)s->group_size);
    full[i] = cq_arena_printf(k->arena, "%s%s", prefix, stems[i]);
    if (!full[i]) return cq_fail_memory(k->error, "tensor names");
  }
  cq_status status = take_linear(k, &l->attention.query, full[0], s->dim, s->dim);
  if (!status) status = take_linear(k, &l->attention.key, full[1], s->dim, s->dim);
  if (!status) status = take_linear(k, &l->attention.value, full[2], s->dim, s->dim);
  if (!status) status = take_linear(k, &l->attention.output, full[3], s->dim, s->dim);
  if (!status) status = take_norm(k, &l->attention_norm, full[4], s->dim, s->norm_eps);
  if (!status) status = take_linear(k, &l->up, full[5], s->feed_forward, s->dim);
  if (!status) status = take_linear(k, &l->down, full[6], s->dim, s->feed_forward);
  if (!status) status = take_norm(k, &l->output_norm, full[7], s->dim, s->norm_eps);
  l->attention.n_heads = s->n_heads;
  l->activation = s->activation;
  return status;
}

static cq_status take_embedding(taker *k, cq_embedding *e, const sizes *s) {
  const int64_t dim = s->embedding_dim;
  cq_status status = take_matrix(k, &e->words, "embeddings.word_embeddings", s->vocab, dim);
  if (status) return status;
  e->words->table = true;
  if (!is_deberta(k->a) || s->distances.positions_in_input)
    status = take_param(k, &e->positions, "embeddings.position_embeddings", ".weight", NULL, s->n_positions, dim);
  if (!status && s->n_types > 0)
    status = take_param(k, &e->types, "embeddings.token_type_embeddings", ".weight", NULL, s->n_types, dim);
  if (!status && s->n_tasks > 0)
    status = take_param(k, &e->tasks, "embeddings.task_type_embeddings", ".weight", NULL, s->n_tasks, dim);
  if (!status) status = take_norm(k, &e->norm, "embeddings.LayerNorm", dim, s->norm_eps);
  if (!status && k->a->projection && (k->a->always_projects || dim != s->dim))
    status = take_linear(k, &e->projection, k->a->projection, s->dim, dim);
  return status;
}

/* The vectors of distances, and what each layer makes of them. */
static cq_status take_distances(taker *k, cq_transformer *t, const sizes *s) {
  const cq_distance_sizes *d = &s->distances;
  const size_t n = (size_t)t->n_layers;
  cq_status status = CQ_OK;
  t->disentangled = cq_arena_array(k->arena, n, sizeof *t->disentangled);
  t->of_distances = cq_arena_array(k->arena, 2 * n, sizeof *t->of_distances);
  if (!t->disentangled || !t->of_distances) return cq_fail_memory(k->error, "transformer");
  memset(t->of_distances, 0, 2 * n * sizeof *t->of_distances);
  t->distances.span = d->span;
  t->distances.max = d->max;
  if (d->relative)
    status = take_param(k, &t->distances.table, "encoder.rel_embeddings", ".weight", NULL, 2 * d->span, s->dim);
  if (!status && d->relative && d->normed)
    status = take_norm(k, &t->distances.norm, "encoder.LayerNorm", s->dim, s->norm_eps);
  for (size_t i = 0; !status && i < n; i++) {
    cq_attention *attention = &t->layers[i].attention;
    cq_linear *own = &t->of_distances[2 * i];
    char stem[96];
    if (d->relative && !d->shared && d->c2p) {
      snprintf(stem, sizeof stem, "encoder.layer.%zu.attention.self.pos_key_proj", i);
      status = take_linear(k, &own[0], stem, s->dim, s->dim);
    }
    if (!status && d->relative && !d->shared && d->p2c) {
      snprintf(stem, sizeof stem, "encoder.layer.%zu.attention.self.pos_query_proj", i);
      status = take_linear(k, &own[1], stem, s->dim, s->dim);
    }
    t->disentangled[i] = (cq_disentangled){.distances = &t->distances,
                                           .key = !d->relative || !d->c2p ? NULL
                                                  : d->shared             ? &attention->key
                                                                          : &own[0],
                                           .query = !d->relative || !d->p2c ? NULL
                                                    : d->shared             ? &attention->query
                                                                            : &own[1],
                                           .n_terms = 1 + d->c2p + d->p2c};
    attention->disentangled = &t->disentangled[i];
  }
  return status;
}

cq_status cq_transformer_take_language(cq_transformer *t, const char *directory, cq_arena *arena, cq_error *error) {
  cq_param *words = t->embedding.words;
  const char *const names[] = {words->name, NULL};
  cq_status status = cq_weights_open(&t->words, directory, error);
  if (!status) status = cq_weights_take_narrow(words, t->words, names, -1, words->cols, arena, error);
  if (!status) status = cq_weights_all_taken(t->words, NULL, error);
  words->table = true;
  return status;
}

static void set_dropouts(cq_transformer *t, float hidden, float attention, const architecture *a) {
  t->embedding.dropout = hidden;
  for (int64_t i = 0; i < t->n_layers; i++) {
    t->layers[i].attention.dropout = attention;
    t->layers[i].attention_output_dropout = a->attention_output_dropout ? hidden : 0;
    t->layers[i].output_dropout = a->names == &albert_names ? 0 : hidden; /* as the original */
  }
}

static const architecture *architecture_of_transformer(const cq_transformer *t) {
  return architecture_of(json_string_value(json_object_get(t->config, "model_type")));
}

void cq_transformer_set_dropouts(cq_transformer *t, double rate, double attention) {
  t->embedding.dropout = (float)rate;
  for (int64_t i = 0; i < t->stack.n_blocks; i++) {
    cq_block *b = &t->stack.blocks[i];
    b->attention.dropout = b->attention_output_dropout = (float)attention;
    b->ffn.dropout = (float)rate;
  }
}

void cq_transformer_set_dropout(cq_transformer *t, double rate) {
  if (rate >= 0 && t->is_stack)
    cq_transformer_set_dropouts(t, rate, rate);
  else if (rate >= 0)
    set_dropouts(t, (float)rate, (float)rate, architecture_of_transformer(t));
}

static void set_dropout(cq_module *module, double rate) {
  cq_transformer_set_dropout((cq_transformer *)module, rate);
}

/* BERT's line. */
static cq_status open_layers(cq_transformer *t, const architecture *a, const cq_module_source *source, const char *path,
                             cq_error *error) {
  sizes s;
  cq_status status = read_sizes(&s, t->config, a, path, error);
  if (status) return status;
  t->dim = s.dim;
  t->n_layers = s.n_groups * s.group_size;
  t->group_size = s.group_size;
  t->repeats = s.n_groups > 0 ? s.n_layers / s.n_groups : 1;
  t->n_heads = s.n_heads;
  t->feed_forward_dim = s.feed_forward;
  t->n_positions = s.n_positions;
  t->norm_eps = s.norm_eps;
  t->layers = cq_arena_array(source->arena, (size_t)t->n_layers, sizeof *t->layers);
  if (t->layers) memset(t->layers, 0, (size_t)t->n_layers * sizeof *t->layers);
  const size_t max_params = (size_t)t->n_layers * 20 + 9;
  t->base.params = cq_arena_array(source->arena, max_params, sizeof *t->base.params);
  if (!t->layers || !t->base.params) return cq_fail_memory(error, "transformer");
  memset(t->base.params, 0, max_params * sizeof *t->base.params);

  status = cq_weights_open(&t->weights, source->directory, error);
  if (status) return status;
  taker k = {.t = t, .weights = t->weights, .arena = source->arena, .a = a, .error = error};
  status = take_embedding(&k, &t->embedding, &s);
  if (!status && source->language) status = cq_transformer_take_language(t, source->language, source->arena, error);
  for (int i = 0; !status && i < t->n_layers; i++) status = take_layer(&k, &t->layers[i], i, &s);
  if (!status && a->relative_bias)
    status =
        take_param(&k, &t->relative.table, "encoder.relative_attention_bias", ".weight", NULL, s.n_buckets, s.n_heads);
  if (!status && is_deberta(a)) status = take_distances(&k, t, &s);
  if (!status) status = cq_weights_all_taken(t->weights, ignored_tensors, error);
  if (status) return status;
  t->base.n_params = k.next;
  t->base.n_pack_parts = (size_t)t->n_layers * PARTS_PER_LAYER + 1;
  if (t->of_distances) t->base.n_pack_parts += 2 * (size_t)t->n_layers;
  if (is_deberta(a)) t->base.not_trained = "disentangled attention (model_type 'deberta-v2')";
  t->embedding.first_position = a->positions_after_pad ? s.pad_id + 1 : 0;
  set_dropouts(t, (float)s.dropout, (float)s.attention_dropout, a);
  t->base.output_dim = s.dim;
  t->base.add_special = true;
  t->base.max_seq_length = (int)(s.n_positions - t->embedding.first_position);
  return CQ_OK;
}

static cq_status open_transformer(cq_module **out, const cq_module_source *source, cq_error *error) {
  char path[4096];
  const char *model_type = NULL;
  cq_transformer *t = cq_arena_alloc(source->arena, sizeof *t);
  if (!t) return cq_fail_memory(error, "transformer");
  *t = (cq_transformer){.base = {.type = &cq_transformer_type}};
  *out = &t->base; /* from here on the caller frees it */
  cq_status status = cq_path_join(path, sizeof path, source->directory, "config.json", error);
  if (!status) status = cq_json_read(&t->config, path, error);
  if (!status) status = cq_json_get_string(&model_type, t->config, "model_type", path, error);
  if (status) return status;
  if (!model_type) return cq_fail_file(error, CQ_ERR_FORMAT, path, "key 'model_type' is missing");
  const cq_family *family = cq_family_find(t->config);
  const architecture *a = architecture_of(model_type);
  if (!family && a) return open_layers(t, a, source, path, error);
  if (!family) {
    const char *names[64];
    size_t n = 0;
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++) names[n++] = architectures[i].model_type;
    return cq_family_unknown(model_type, names, n, path, error);
  }
  t->is_stack = true;
  t->base.n_pack_parts = 0;
  status = cq_family_open(t, family, source, path, error);
  t->base.n_pack_parts = (size_t)t->n_layers * PARTS_PER_BLOCK;
  return status;
}

static const cq_family *family_of(const cq_transformer *t) {
  return t->is_stack ? cq_family_find(t->config) : NULL;
}

static cq_status describe_vocabulary(cq_transformer *t, int64_t n_rows, const cq_tokenizer *tokenizer,
                                     cq_error *error) {
  const cq_tokenizer_info *info = cq_tokenizer_describe(tokenizer);
  const cq_family *family = family_of(t);
  int failed = json_object_set_new(t->config, "vocab_size", json_integer(n_rows));
  if (family && family->causal) {
    failed |=
        json_object_set_new(t->config, "pad_token_id", info->pad_id < 0 ? json_null() : json_integer(info->pad_id));
    json_object_del(t->config, "bos_token_id"); /* of the old vocabulary; only what writes text wants them */
    json_object_del(t->config, "eos_token_id");
    return failed ? cq_fail_memory(error, "config.json") : CQ_OK;
  }
  /* first_position stays: RoBERTa's positions begin behind the pad id that the table of positions was made for. */
  if (t->embedding.first_position == 0 || info->pad_id + 1 == t->embedding.first_position)
    failed |= json_object_set_new(t->config, "pad_token_id", json_integer(info->pad_id));
  if (info->cls_id >= 0) failed |= json_object_set_new(t->config, "bos_token_id", json_integer(info->cls_id));
  if (info->sep_id >= 0) failed |= json_object_set_new(t->config, "eos_token_id", json_integer(info->sep_id));
  if (info->cls_id >= 0 && json_object_get(t->config, "cls_token_id"))
    failed |= json_object_set_new(t->config, "cls_token_id", json_integer(info->cls_id));
  if (info->sep_id >= 0 && json_object_get(t->config, "sep_token_id"))
    failed |= json_object_set_new(t->config, "sep_token_id", json_integer(info->sep_id));
  return failed ? cq_fail_memory(error, "config.json") : CQ_OK;
}

cq_status cq_transformer_adopt_vocabulary(cq_transformer *t, cq_error *error) {
  return describe_vocabulary(t, t->embedding.words->rows, t->base.tokenizer, error);
}

cq_status cq_transformer_set_vocabulary(cq_transformer *t, cq_tokenizer *tokenizer, const float *words, cq_arena *arena,
                                        cq_error *error) {
  const cq_tokenizer_info *info = cq_tokenizer_describe(tokenizer);
  cq_param *p = t->embedding.words;
  float *copy = cq_arena_array(arena, (size_t)info->vocab_size, (size_t)p->cols * sizeof *copy);
  if (!copy) return cq_fail_memory(error, "word embeddings");
  memcpy(copy, words, (size_t)(info->vocab_size * p->cols) * sizeof *copy);
  cq_status status = describe_vocabulary(t, info->vocab_size, tokenizer, error);
  if (status) return status;
  p->rows = info->vocab_size;
  p->value = copy, p->narrow = (cq_narrow_rows){0};
  cq_tokenizer_free(t->base.tokenizer);
  t->base.tokenizer = tokenizer;
  t->base.lowercase = false;
  return CQ_OK;
}

cq_status cq_transformer_write(const cq_module *module, const json_t *of, cq_dtype weights, const char *directory,
                               cq_error *error) {
  json_t *config = cq_json_copy(of);
  const char *torch_name = weights == CQ_BF16 ? "bfloat16" : weights == CQ_F16 ? "float16" : "float32";
  if (weights != CQ_F32 || json_object_get(config, "torch_dtype"))
    cq_json_set(&config, "torch_dtype", json_string(torch_name));
  if (json_object_get(config, "dtype")) cq_json_set(&config, "dtype", json_string(torch_name));
  cq_status status = cq_json_save(config, directory, "config.json", error);
  if (!status) status = cq_weights_save(module->params, module->n_params, weights, directory, error);
  if (!status) status = cq_tokenizer_save(module->tokenizer, directory, module->max_seq_length, error);
  return status;
}

static cq_status save_transformer(const cq_module *module, cq_dtype weights, const char *directory, cq_error *error) {
  return cq_transformer_write(module, ((const cq_transformer *)module)->config, weights, directory, error);
}

/* The layer that x passes at each depth. */
static const cq_transformer_layer *layer_at(const cq_transformer *t, int64_t depth) {
  return &t->layers[depth / (t->group_size * t->repeats) * t->group_size + depth % t->group_size];
}

typedef struct tape {
  cq_embedding_saved embedding;
  const float **bias;
  cq_transformer_saved *layers;
  cq_stack_saved stack;
} tape;

/* Adds the share of a layer's output to the mixture, when there is one; index 0 is the embeddings'. */
static void add_to_mixture(cq_worker *worker, const cq_transformer *t, cq_tensor mixture, cq_tensor scaled,
                           cq_tensor output, int64_t index) {
  const cq_layer_mixture *m = &t->mixture;
  if (!mixture.data || index < m->first) return;
  const int64_t n = output.rows * output.cols;
  worker->kernels->scale(cq_f32(scaled), cq_f32(output), m->weights[index - m->first] / m->sum, n);
  worker->kernels->add(cq_f32(mixture), cq_f32(scaled), n);
}

static cq_status describe_transformer(const cq_module *module, json_t *object, cq_error *error) {
  const cq_transformer *t = (const cq_transformer *)module;
  const cq_family *family = family_of(t);
  const architecture *a = family ? NULL : architecture_of_transformer(t);
  const char *key = family ? family->keys.activation : a->activation;
  const char *activation = key ? json_string_value(json_object_get(t->config, key)) : NULL;
  json_t *more =
      json_pack("{s:O?, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:f, s:I}", "architecture",
                json_object_get(t->config, "model_type"), "vocab_size", (json_int_t)t->embedding.words->rows,
                "n_layers", (json_int_t)(t->is_stack ? t->n_layers : cq_transformer_depth(t) / t->group_size), "dim",
                (json_int_t)t->dim, "n_heads", (json_int_t)t->n_heads, "feed_forward_dim",
                (json_int_t)t->feed_forward_dim, "n_positions", (json_int_t)t->n_positions, "activation",
                activation ? activation
                : family   ? family->activation
                           : default_activation(a),
                "layer_norm_eps", (double)t->norm_eps, "first_position", (json_int_t)t->embedding.first_position);
  if (!more || json_object_update(object, more) != 0) {
    json_decref(more);
    return cq_fail_memory(error, "description");
  }
  json_decref(more);
  if (t->is_stack && t->n_layers > 0) {
    const cq_attention *attention = &t->stack.blocks[0].attention;
    const int failed = json_object_set_new(object, "n_key_value_heads", json_integer(attention->n_kv_heads)) |
                       json_object_set_new(object, "head_dim", json_integer(attention->head_dim)) |
                       json_object_set_new(object, "causal", json_boolean(attention->causal));
    if (failed) return cq_fail_memory(error, "description");
  }
  return CQ_OK;
}

/* What is packed on its own: the layers' weights, the embedding's projection, and those of distances. */
static cq_linear *part_of(cq_transformer *t, size_t part) {
  if (t->is_stack) {
    cq_block *b = &t->stack.blocks[part / PARTS_PER_BLOCK];
    cq_linear *const weights[PARTS_PER_BLOCK] = {&b->attention.fused, &b->attention.query,  &b->attention.key,
                                                 &b->attention.value, &b->attention.output, &b->ffn.fused,
                                                 &b->ffn.gate,        &b->ffn.up,           &b->ffn.down};
    return weights[part % PARTS_PER_BLOCK];
  }
  const size_t n_in_layers = (size_t)t->n_layers * PARTS_PER_LAYER;
  if (part == n_in_layers) return &t->embedding.projection;
  if (part > n_in_layers) return &t->of_distances[part - n_in_layers - 1];
  cq_transformer_layer *l = &t->layers[part / PARTS_PER_LAYER];
  cq_linear *const weights[PARTS_PER_LAYER] = {
      &l->attention.query, &l->attention.key, &l->attention.value, &l->attention.output, &l->up, &l->down};
  return weights[part % PARTS_PER_LAYER];
}

static cq_status pack_transformer(cq_module *module, size_t part, const cq_packing *packing, cq_error *error) {
  const cq_transformer *t = (const cq_transformer *)module;
  cq_linear *l = part_of((cq_transformer *)module, part);
  const cq_status status = l->weight ? cq_linear_pack(l, packing, error) : CQ_OK;
  if (!packing->training && t->weights) cq_weights_release_pages(t->weights);
  return status;
}

/* ---- forward and backward ---- */

enum { SITES_PER_LAYER = 3 };

static cq_status transformer_forward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                                     cq_tensor *y, void **saved, cq_error *error) {
  const cq_transformer *t = (const cq_transformer *)module;
  cq_workspace *w = &worker->workspace;
  const int64_t n = cq_batch_tokens(batch), depth = cq_transformer_depth(t);
  tape *record = NULL;
  (void)x;
  if (saved) {
    *saved = record = cq_workspace_take(w, sizeof *record);
    if (record && !t->is_stack) record->layers = cq_workspace_take(w, (size_t)depth * sizeof *record->layers);
    if (!record || (!t->is_stack && !record->layers)) return cq_fail_memory(error, "transformer");
  }
  if (t->is_stack) {
    if (record) record->bias = NULL;
    *y = cq_workspace_f32(w, n, t->dim);
    if (!y->data) return cq_fail_memory(error, "transformer");
    cq_status status =
        cq_embedding_forward(worker, &t->embedding, batch, *y, 0, record ? &record->embedding : NULL, error);
    return status ? status : cq_stack_forward(worker, &t->stack, batch, y, 1, record ? &record->stack : NULL, error);
  }
  /* Two buffers take turns as input and output; when training every layer's input is kept instead. */
  cq_tensor now = cq_workspace_f32(w, n, t->dim), next = cq_workspace_f32(w, n, t->dim);
  if (!now.data || !next.data) return cq_fail_memory(error, "transformer");
  cq_tensor mixture = {0}, scaled = {0};
  if (t->mixture.weights) {
    mixture = cq_workspace_f32(w, n, t->dim), scaled = cq_workspace_f32(w, n, t->dim);
    if (!mixture.data || !scaled.data) return cq_fail_memory(error, "transformer");
    memset(mixture.data, 0, (size_t)(n * t->dim) * sizeof(float));
  }
  cq_mark mark = cq_workspace_mark(w);
  const float **bias = NULL;
  cq_status status = CQ_OK;
  if (t->relative.table) status = cq_relative_bias_forward(worker, &t->relative, batch, &bias, error);
  if (!status)
    status = cq_embedding_forward(worker, &t->embedding, batch, now, 0, record ? &record->embedding : NULL, error);
  if (!status) add_to_mixture(worker, t, mixture, scaled, now, 0);
  for (int64_t i = 0; !status && i < depth; i++) {
    status = cq_transformer_forward(worker, layer_at(t, i), batch, next, now, bias, (uint32_t)(1 + i * SITES_PER_LAYER),
                                    record ? &record->layers[i] : NULL, error);
    cq_tensor before = now;
    now = next;
    if (!status) add_to_mixture(worker, t, mixture, scaled, now, i + 1);
    next = record && i + 1 < depth ? cq_workspace_f32(w, n, t->dim) : before;
    if (!next.data) return cq_fail_memory(error, "transformer");
  }
  if (record)
    record->bias = bias;
  else
    cq_workspace_release(w, mark);
  *y = mixture.data ? mixture : now;
  return status;
}

static cq_status transformer_backward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                                      cq_tensor dy, cq_tensor *dx, const void *saved, cq_gradients *gradients,
                                      cq_error *error) {
  const cq_transformer *t = (const cq_transformer *)module;
  const tape *record = saved;
  cq_mark mark = cq_workspace_mark(&worker->workspace);
  float **dbias = NULL;
  cq_status status = CQ_OK;
  (void)x, (void)dx;
  if (t->is_stack) status = cq_stack_backward(worker, &t->stack, batch, gradients, dy, 1, &record->stack, error);
  if (record->bias && !t->relative.table->frozen)
    status = cq_relative_bias_gradients(worker, &t->relative, batch, &dbias, error);
  for (int64_t i = t->is_stack ? 0 : cq_transformer_depth(t); !status && i-- > 0;)
    status = cq_transformer_backward(worker, layer_at(t, i), batch, gradients, dy, record->bias, dbias,
                                     (uint32_t)(1 + i * SITES_PER_LAYER), &record->layers[i], error);
  if (!status && dbias) status = cq_relative_bias_backward(worker, &t->relative, batch, gradients, dbias, error);
  if (!status)
    status = cq_embedding_backward(worker, &t->embedding, batch, gradients, dy, 0, &record->embedding, error);
  cq_workspace_release(&worker->workspace, mark);
  return status;
}

static void free_transformer(cq_module *module) {
  cq_transformer *t = (cq_transformer *)module;
  for (int64_t i = 0; t->layers && i < t->n_layers; i++) cq_transformer_free(&t->layers[i]);
  cq_linear_free(&t->embedding.projection);
  for (int64_t i = 0; t->of_distances && i < 2 * t->n_layers; i++) cq_linear_free(&t->of_distances[i]);
  cq_stack_free(&t->stack);
  cq_weights_close(t->weights);
  cq_weights_close(t->words);
  cq_tokenizer_free(t->base.tokenizer);
  json_decref(t->config);
}

const cq_module_type cq_transformer_type = {
    .name = "Transformer",
    .type_name = "sentence_transformers.models.Transformer",
    .takes_text = true,
    .open = open_transformer,
    .save = save_transformer,
    .describe = describe_transformer,
    .pack = pack_transformer,
    .set_dropout = set_dropout,
    .forward = transformer_forward,
    .backward = transformer_backward,
    .free = free_transformer,
};
