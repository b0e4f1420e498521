/* BERT-like encoders: the table of architectures, and config.json -> sizes. */
#include "base/error.h"
#include "format/json.h"
#include "model/bert.h"
#include "model/families/config.h"

#include <string.h>

/* ---- architectures ---- */

static const cq_bert_names bert_names = {"encoder.layer.%d.",    "attention.self.query",   "attention.self.key",
                                         "attention.self.value", "attention.output.dense", "attention.output.LayerNorm",
                                         "intermediate.dense",   "output.dense",           "output.LayerNorm"};
static const cq_bert_names distilbert_names = {
    "transformer.layer.%d.", "attention.q_lin", "attention.k_lin", "attention.v_lin",  "attention.out_lin",
    "sa_layer_norm",         "ffn.lin1",        "ffn.lin2",        "output_layer_norm"};
static const cq_bert_names mpnet_names = {"encoder.layer.%d.",  "attention.attn.q", "attention.attn.k",
                                          "attention.attn.v",   "attention.attn.o", "attention.LayerNorm",
                                          "intermediate.dense", "output.dense",     "output.LayerNorm"};
static const cq_bert_names albert_names = {"encoder.albert_layer_groups.%d.albert_layers.%d.",
                                           "attention.query",
                                           "attention.key",
                                           "attention.value",
                                           "attention.dense",
                                           "attention.LayerNorm",
                                           "ffn",
                                           "ffn_output",
                                           "full_layer_layer_norm"};

static const cq_bert_names deberta_names = {
    "encoder.layer.%d.",      "attention.self.query_proj",  "attention.self.key_proj", "attention.self.value_proj",
    "attention.output.dense", "attention.output.LayerNorm", "intermediate.dense",      "output.dense",
    "output.LayerNorm"};

#define BERT_KEYS                                                                                                      \
  .dim = "hidden_size", .n_layers = "num_hidden_layers", .n_heads = "num_attention_heads",                             \
  .feed_forward = "intermediate_size", .activation = "hidden_act", .dropout = "hidden_dropout_prob",                   \
  .attention_dropout = "attention_probs_dropout_prob", .attention_output_dropout = true
#define BERT_LIKE    .names = &bert_names, BERT_KEYS, .token_types = true, .norm_eps = 1e-12
#define ROBERTA_LIKE .prefix = "roberta.", BERT_LIKE, .positions_after_pad = true

static const cq_bert architectures[] = {
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

const cq_bert *cq_bert_find(const char *model_type) {
  for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++) {
    if (!strcmp(architectures[i].model_type, model_type)) return &architectures[i];
  }
  return NULL;
}

const char *cq_bert_name(size_t i) {
  return i < sizeof architectures / sizeof *architectures ? architectures[i].model_type : NULL;
}

bool cq_bert_is_albert(const cq_bert *a) {
  return a->names == &albert_names;
}

bool cq_bert_is_deberta(const cq_bert *a) {
  return a->names == &deberta_names;
}

bool cq_bert_is_plain(const cq_bert *a) {
  return a->names == &bert_names && !a->projection && strcmp(a->model_type, "ernie") != 0;
}

/* ---- reading config.json ---- */

/* What ALBERT, ELECTRA and ERNIE add. */
static cq_status read_more_sizes(cq_bert_sizes *out, const json_t *config, const cq_bert *a, const char *path,
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
  if (status || !cq_bert_is_albert(a)) return status;
  out->n_groups = 1;
  status = cq_json_get_int(&out->n_groups, config, "num_hidden_groups", 1, 1024, path, error);
  if (!status) status = cq_json_get_int(&out->group_size, config, "inner_group_num", 1, 64, path, error);
  if (!status && out->n_layers % out->n_groups)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "num_hidden_groups %lld does not divide num_hidden_layers %lld",
                        (long long)out->n_groups, (long long)out->n_layers);
  return status;
}

const char *cq_bert_activation(const cq_bert *a) {
  return cq_bert_is_albert(a) ? "gelu_new" : "gelu";
}

static cq_status read_integers(cq_bert_sizes *out, const json_t *config, const cq_bert *a, const char *path,
                               cq_error *error) {
  const int64_t max = INT32_MAX;
  const cq_config_integer wanted[] = {
      {&out->dim, a->dim, 1, 65536, true},
      {&out->n_layers, a->n_layers, 0, 1024, true},
      {&out->n_heads, a->n_heads, 1, 4096, true},
      {&out->feed_forward, a->feed_forward, 1, 1 << 20, true},
      {&out->vocab, "vocab_size", 1, max, true},
      {&out->n_positions, "max_position_embeddings", 1, max, false},
      {&out->n_types, "type_vocab_size", 0, 1024, false},
      {&out->pad_id, "pad_token_id", 0, max, false},
      {&out->n_buckets, "relative_attention_num_buckets", 4, 511, false} /* the far ones end at 128 */};
  return cq_config_integers(wanted, sizeof wanted / sizeof *wanted, config, path, error);
}

static cq_status check_sizes(const cq_bert_sizes *out, const cq_bert *a, const char *path, cq_error *error) {
  if (!(out->norm_eps > 0 && out->norm_eps < 1))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "key 'layer_norm_eps' is %g, expected between 0 and 1",
                        out->norm_eps);
  if (a->positions_after_pad && out->n_positions <= out->pad_id + 1)
    return cq_fail_file(error, CQ_ERR_FORMAT, path,
                        "max_position_embeddings %lld leaves no position after pad_token_id %lld",
                        (long long)out->n_positions, (long long)out->pad_id);
  if (out->dim % out->n_heads)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "%s %lld is not a multiple of %s %lld", a->dim, (long long)out->dim,
                        a->n_heads, (long long)out->n_heads);
  return CQ_OK;
}

cq_status cq_bert_read_sizes(cq_bert_sizes *out, const json_t *config, const cq_bert *a, const char *path,
                             cq_error *error) {
  const bool distil = a->names == &distilbert_names;
  const char *position_kind = "absolute";
  bool decoder = false;
  *out = (cq_bert_sizes){.n_positions = 512,
                         .n_types = a->token_types && !cq_bert_is_deberta(a) ? 2 : 0,
                         .pad_id = a->positions_after_pad ? 1 : 0,
                         .n_buckets = 32,
                         .norm_eps = a->norm_eps,
                         .dropout = 0.1,
                         .attention_dropout = 0.1};
  cq_status status = read_integers(out, config, a, path, error);
  if (status) return status;
  if (!a->token_types) out->n_types = 0;
  status = read_more_sizes(out, config, a, path, error);
  if (!status && cq_bert_is_deberta(a)) {
    status = cq_distance_sizes_read(&out->distances, config, out->dim, out->n_positions, path, error);
  }
  if (!status) status = cq_json_get_number(&out->norm_eps, config, "layer_norm_eps", path, error);
  if (!status) status = cq_config_rate(&out->dropout, config, a->dropout, path, error);
  if (!status) status = cq_config_rate(&out->attention_dropout, config, a->attention_dropout, path, error);
  if (!status)
    status = cq_config_activation(&out->activation, config, a->activation, cq_bert_activation(a), path, error);
  if (!status) status = cq_json_get_string(&position_kind, config, "position_embedding_type", path, error);
  if (!status) status = cq_json_get_bool(&decoder, config, "is_decoder", path, error);
  if (status) return status;
  if (distil) out->norm_eps = a->norm_eps; /* fixed in the original */
  if (strcmp(position_kind, "absolute") != 0)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "position_embedding_type '%s' is not supported",
                        position_kind);
  if (decoder)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "is_decoder is not supported: an encoder is expected");
  return check_sizes(out, a, path, error);
}
