/* config.json and a family's row -> plan -> parameters and blocks. */
#include "model/families/config.h"
#include "model/families/family.h"

#include "base/error.h"
#include "format/json.h"
#include "model/lora.h"

#include <stdio.h>
#include <string.h>

/* ---- the plan ---- */

static cq_status check_fixed(const cq_family *family, const cq_config_source *config, cq_error *error) {
  for (size_t i = 0; family->fixed && family->fixed[i][0]; i++) {
    const json_t *value = json_object_get(config->json, family->fixed[i][0]);
    if (!value || json_is_null(value)) continue;
    json_t *wanted;
    cq_status status = cq_json_load(&wanted, (cq_slice){family->fixed[i][1], strlen(family->fixed[i][1])},
                                    JSON_DECODE_ANY, &(json_error_t){0});
    if (status) return cq_fail_memory(error, "a configuration");
    const bool same = json_equal(value, wanted) || (json_is_number(value) && json_is_number(wanted) &&
                                                    json_number_value(value) >= json_number_value(wanted) &&
                                                    json_number_value(value) <= json_number_value(wanted));
    json_decref(wanted);
    if (!same) return cq_unsupported_key(config->path, family->fixed[i][0], value, error);
  }
  return CQ_OK;
}

static cq_status read_keys(cq_plan *plan, const cq_family *f, const cq_config_source *config, cq_error *error) {
  const json_t *json = config->json;
  const char *path = config->path;
  const cq_family_keys *k = &f->keys;
  const int64_t max = INT32_MAX;
  const cq_config_integer wanted[] = {{&plan->dim, k->dim, 1, 65536, true},
                                      {&plan->n_layers, k->n_layers, 0, 1024, true},
                                      {&plan->n_heads, k->n_heads, 1, 4096, true},
                                      {&plan->feed_forward, k->feed_forward, 1, 1 << 20, true},
                                      {&plan->vocab, k->vocab, 1, max, true},
                                      {&plan->n_kv_heads, k->n_kv_heads, 1, 4096, false},
                                      {&plan->head_dim, k->head_dim, 1, 65536, false},
                                      {&plan->n_positions, k->n_positions, 1, max, false},
                                      {&plan->n_types, k->n_types, 0, 1024, false}};
  cq_status status = cq_config_integers(wanted, sizeof wanted / sizeof *wanted, json, path, error);
  if (!status && f->names.positions) status = cq_json_get_int(&plan->pad_id, json, "pad_token_id", 0, max, path, error);
  if (!status && k->norm_eps) status = cq_json_get_number(&plan->norm_eps, json, k->norm_eps, path, error);
  if (!status) status = cq_config_rate(&plan->dropout, json, k->dropout, path, error);
  if (!status) status = cq_config_rate(&plan->attention_dropout, json, k->attention_dropout, path, error);
  if (!status) status = cq_config_activation(&plan->activation, json, k->activation, f->activation, path, error);
  if (status) return status;
  if (!(plan->norm_eps > 0 && plan->norm_eps < 1))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "key '%s' is %g, expected between 0 and 1", k->norm_eps,
                        plan->norm_eps);
  if (plan->head_dim == 0 && plan->dim % plan->n_heads)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "%s %lld is not a multiple of %s %lld", k->dim,
                        (long long)plan->dim, k->n_heads, (long long)plan->n_heads);
  if (plan->head_dim == 0) plan->head_dim = plan->dim / plan->n_heads;
  if (plan->n_kv_heads == 0) plan->n_kv_heads = plan->n_heads;
  if (plan->n_heads % plan->n_kv_heads)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "%s %lld is not a multiple of %s %lld", k->n_heads,
                        (long long)plan->n_heads, k->n_kv_heads, (long long)plan->n_kv_heads);
  return CQ_OK;
}

static cq_status read_biases(cq_plan *plan, const cq_family *f, const cq_config_source *config, cq_error *error) {
  plan->biases = f->biases;
  for (size_t i = 0; i < sizeof f->bias_keys / sizeof *f->bias_keys && f->bias_keys[i].key; i++) {
    bool there = f->bias_keys[i].otherwise;
    const cq_status status = cq_json_get_bool(&there, config->json, f->bias_keys[i].key, config->path, error);
    if (status) return status;
    if (there) plan->biases |= f->bias_keys[i].parts;
  }
  return CQ_OK;
}

static cq_status make_plan(cq_plan *plan, const cq_family *f, const cq_config_source *config, cq_error *error) {
  *plan = (cq_plan){.n_positions = f->max_positions,
                    .n_kv_heads = f->n_kv_heads,
                    .head_dim = f->head_dim,
                    .norm_eps = f->norm_eps,
                    .causal = f->causal,
                    .n_buckets = 32};
  cq_status status = check_fixed(f, config, error);
  if (!status) status = read_keys(plan, f, config, error);
  if (!status) status = read_biases(plan, f, config, error);
  if (status) return status;
  plan->max_length = plan->n_positions;
  plan->any_length = !f->names.positions;
  plan->n_turned = plan->head_dim;
  plan->layers = cq_arena_array_zeroed(config->arena, (size_t)plan->n_layers, sizeof *plan->layers);
  if (!plan->layers) return cq_fail_memory(error, "a plan of layers");
  if (f->rotary.theta) {
    status = cq_plan_rotary_read(plan, config, &f->rotary, error);
    for (int64_t i = 0; i < plan->n_layers; i++) plan->layers[i].rotary = 1;
  }
  return status || !f->plan ? status : f->plan(plan, config, error);
}

/* ---- taking the weights ---- */

typedef struct taker {
  cq_transformer *t;
  const cq_family *family;
  const cq_plan *plan;
  cq_arena *arena;
  cq_lora lora;
  bool is_table; /* what is taken are tables of embeddings */
  size_t next;   /* parameters used so far */
  cq_error *error;
} taker;

enum { MAX_PREFIXES = 4, PARAMS_PER_LAYER = 32 };

/* "LAYER STEM SUFFIX" without a prefix, then with each prefix; if weights have adapters, also the original weights'
 * names. NULL: out of memory. */
static const char **names_of(const taker *k, const char *layer, const char *stem, const char *suffix) {
  const bool is_adapted = k->lora.n_tasks > 0 && !strcmp(suffix, ".weight");
  const char **names = cq_arena_array(k->arena, 2 * (MAX_PREFIXES + 1) + 1, sizeof *names);
  size_t n = 0;
  if (!names) return NULL;
  for (int kind = 0; kind <= is_adapted; kind++)
    for (int i = -1; i < MAX_PREFIXES && (i < 0 || k->family->prefixes[i]); i++) {
      names[n] = cq_arena_printf(k->arena, "%s%s%s%s", i < 0 ? "" : k->family->prefixes[i], layer, stem,
                                 kind ? CQ_LORA_ORIGINAL : suffix);
      if (!names[n++]) return NULL;
    }
  names[n] = NULL;
  return names;
}

static cq_status take(taker *k, cq_param **out, const char *layer, const char *stem, const char *suffix, int64_t rows,
                      int64_t cols, bool may_be_narrow) {
  const char **names = names_of(k, layer, stem, suffix);
  if (!names) return cq_fail_memory(k->error, "tensor names");
  cq_param *p = *out = &k->t->base.params[k->next++];
  const cq_status status = (may_be_narrow ? cq_weights_take_narrow : cq_weights_take)(p, k->t->weights, names, rows,
                                                                                      cols, k->arena, k->error);
  return status ? status : cq_lora_add(p, k->t->weights, names, &k->lora, k->is_table, k->arena, k->error);
}

/* stem NULL: nothing. part: CQ_BIAS_*. */
static cq_status take_linear(taker *k, cq_linear *l, const char *layer, const char *stem, int64_t out, int64_t in,
                             unsigned part) {
  if (!stem) return CQ_OK;
  l->stays_narrow = k->family->stays_narrow;
  const cq_status status = take(k, &l->weight, layer, stem, ".weight", out, in, true);
  if (status || !(k->plan->biases & part)) return status;
  return take(k, &l->bias, layer, stem, ".bias", out, 0, false);
}

static cq_status take_norm(taker *k, cq_norm *l, const char *layer, const char *stem, int64_t dim) {
  if (!stem) return CQ_OK;
  *l = (cq_norm){.eps = (float)k->plan->norm_eps, .rms = k->family->rms, .offset = k->family->norm_offset};
  const cq_status status = take(k, &l->gamma, layer, stem, ".weight", dim, 0, false);
  if (status || l->rms || !(k->plan->biases & CQ_BIAS_NORMS)) return status;
  return take(k, &l->beta, layer, stem, ".bias", dim, 0, false);
}

static cq_status take_attention(taker *k, cq_attention *l, const char *layer) {
  const cq_family_names *names = &k->family->names;
  const cq_plan *plan = k->plan;
  const int64_t query = plan->n_heads * plan->head_dim, key = plan->n_kv_heads * plan->head_dim;
  cq_status status = take_linear(k, &l->fused, layer, names->fused_qkv, query + 2 * key, plan->dim, CQ_BIAS_QKV);
  if (!status) status = take_linear(k, &l->query, layer, names->query, query, plan->dim, CQ_BIAS_QKV);
  if (!status) status = take_linear(k, &l->key, layer, names->key, key, plan->dim, CQ_BIAS_QKV);
  if (!status) status = take_linear(k, &l->value, layer, names->value, key, plan->dim, CQ_BIAS_QKV);
  if (!status) status = take_norm(k, &l->q_norm, layer, names->q_norm, plan->head_dim);
  if (!status) status = take_norm(k, &l->k_norm, layer, names->k_norm, plan->head_dim);
  if (!status)
    status = take_linear(k, &l->output, layer, names->attention_output, plan->dim, query, CQ_BIAS_ATTENTION_OUTPUT);
  l->n_heads = plan->n_heads;
  l->n_kv_heads = plan->n_kv_heads;
  l->head_dim = plan->head_dim;
  l->scale = (float)plan->score_scale;
  l->causal = plan->causal;
  l->slopes = plan->slopes;
  return status;
}

static cq_status take_feed_forward(taker *k, cq_feed_forward *l, const char *layer) {
  const cq_family_names *names = &k->family->names;
  const int64_t dim = k->plan->dim, ffn = k->plan->feed_forward;
  const bool plain = k->plan->ungated;
  cq_status status = take_linear(k, &l->fused, layer, names->fused_gate, 2 * ffn, dim, CQ_BIAS_UP);
  if (!status) status = take_linear(k, &l->gate, layer, plain ? NULL : names->gate, ffn, dim, CQ_BIAS_UP);
  if (!status) status = take_linear(k, &l->up, layer, plain ? names->plain_up : names->up, ffn, dim, CQ_BIAS_UP);
  if (!status) status = take_linear(k, &l->down, layer, names->down, dim, ffn, CQ_BIAS_DOWN);
  l->dim = ffn;
  l->activation = k->plan->activation;
  l->up_first = k->family->up_first;
  return status;
}

static cq_status take_block(taker *k, cq_block *b, int index) {
  const cq_family_names *names = &k->family->names;
  const cq_layer_plan *layer = &k->plan->layers[index];
  const int64_t dim = k->plan->dim;
  char prefix[64];
  snprintf(prefix, sizeof prefix, names->layer, index);
  cq_status status = CQ_OK;
  if (!layer->no_first_norm) status = take_norm(k, &b->before_attention, prefix, names->before_attention, dim);
  if (!status) status = take_attention(k, &b->attention, prefix);
  if (!status) status = take_norm(k, &b->after_attention, prefix, names->after_attention, dim);
  if (!status) status = take_norm(k, &b->before_ffn, prefix, names->before_ffn, dim);
  if (!status) status = take_feed_forward(k, &b->ffn, prefix);
  if (!status) status = take_norm(k, &b->after_ffn, prefix, names->after_ffn, dim);
  b->post = k->family->post;
  b->rotary = layer->rotary;
  b->attention.window = layer->window;
  b->attention.n_turned = layer->rotary > 0 ? k->plan->n_turned : 0;
  return status;
}

static cq_status take_embedding(taker *k, cq_embedding *e, const char *language) {
  const cq_family_names *names = &k->family->names;
  const cq_plan *plan = k->plan;
  k->is_table = true;
  cq_status status = take(k, &e->words, "", names->words, ".weight", plan->vocab, plan->dim, true);
  if (!status && names->positions)
    status = take(k, &e->positions, "", names->positions, ".weight", plan->n_positions, plan->dim, false);
  if (!status && names->types && plan->n_types > 0)
    status = take(k, &e->types, "", names->types, ".weight", plan->n_types, plan->dim, false);
  k->is_table = false;
  if (!status) status = take_norm(k, &e->norm, "", names->embedding_norm, plan->dim);
  if (status) return status;
  e->scale = (float)plan->embedding_scale;
  e->first_position = plan->first_position;
  e->words->table = true;
  return language ? cq_transformer_take_language(k->t, language, k->arena, k->error) : CQ_OK;
}

/* ---- opening ---- */

cq_status cq_family_open(cq_transformer *t, const cq_family *family, const cq_module_source *source, const char *path,
                         cq_error *error) {
  cq_plan plan;
  const cq_config_source config = {t->config, path, source->arena, source};
  cq_status status = make_plan(&plan, family, &config, error);
  if (status) return status;
  const size_t max_params = (size_t)plan.n_layers * PARAMS_PER_LAYER + 8;
  t->dim = plan.dim;
  t->n_layers = plan.n_layers;
  t->n_heads = plan.n_heads;
  t->feed_forward_dim = plan.feed_forward;
  t->n_positions = plan.n_positions;
  t->any_length = plan.any_length;
  t->norm_eps = plan.norm_eps;
  t->stack.blocks = cq_arena_array_zeroed(source->arena, (size_t)plan.n_layers, sizeof *t->stack.blocks);
  t->base.params = cq_arena_array_zeroed(source->arena, max_params, sizeof *t->base.params);
  if (!t->stack.blocks || !t->base.params) return cq_fail_memory(error, "transformer");
  t->stack.n_blocks = plan.n_layers;
  memcpy(t->stack.rotary, plan.rotary, sizeof plan.rotary);
  t->stack.n_rotary = plan.n_rotary;

  status = cq_weights_open(&t->weights, source->directory, error);
  if (status) return status;
  taker k = {.t = t, .family = family, .plan = &plan, .arena = source->arena, .error = error};
  status = cq_lora_read(&k.lora, t->config, source->task, path, error);
  t->has_adapters = k.lora.n_tasks > 0;
  if (!status) status = take_embedding(&k, &t->embedding, source->language);
  for (int i = 0; !status && i < plan.n_layers; i++) status = take_block(&k, &t->stack.blocks[i], i);
  if (!status && family->names.relative_bias)
    status = take(&k, &t->stack.relative.table, "", family->names.relative_bias, ".weight", plan.n_buckets,
                  plan.n_heads, false);
  if (!status) status = take_norm(&k, &t->stack.last_norm, "", family->names.last_norm, plan.dim);
  if (!status) cq_weights_leave_heads(t->weights, source);
  if (!status) status = cq_weights_all_taken(t->weights, family->ignored, error);
  if (status) return status;
  if (t->has_adapters && (status = cq_lora_strip_config(t->config, error))) return status;
  t->base.n_params = k.next;
  cq_transformer_set_dropouts(t, plan.dropout, plan.attention_dropout);
  t->base.output_dim = plan.dim;
  t->base.add_special = true;
  t->base.max_seq_length = (int)plan.max_length;
  return CQ_OK;
}
