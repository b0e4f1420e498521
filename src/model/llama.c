/* config.json -> sizes and layers; model.safetensors -> parameters; forward is nn's gated layer.
 *
 *   model_type    biases                  norms                 windows                           scores
 *   llama         attention_bias,         before                none                              1 / sqrt(head_dim)
 *                 mlp_bias
 *   mistral       none                    before                sliding_window, all layers        the same
 *   qwen2         query, key, value       before                use_sliding_window, from          the same
 *                                                               max_window_layers on
 *   qwen3         attention_bias          before; heads         the same                          the same
 *   gemma3_text   attention_bias          around; heads;        layer_types, or all but each      query_pre_attn_scalar
 *                                         gamma + 1             sixth; another theta there
 *
 * Names: embed_tokens, layers.N.*, norm; a checkpoint of a language model prefixes them with "model." and has a
 * lm_head, which is not read. */
#include "model/llama.h"

#include "base/error.h"
#include "base/file.h"
#include "format/json.h"
#include "model/families/config.h"
#include "model/rope.h"
#include "model/transformer.h"
#include "nn/gated_layer.h"

#include <math.h>
#include <string.h>

typedef struct llama {
  cq_module base;
  json_t *config;
  cq_weights *weights;
  cq_param *words;
  float word_scale;      /* of word embeddings; 1: none */
  cq_turns positions[2]; /* of layers that see all, and of those with a window */
  cq_gated_layer *layers;
  cq_rms_norm norm; /* behind the last layer */
  int64_t n_layers, dim, feed_forward, n_positions;
  const struct family *family;
} llama;

/* --- families --- */

typedef enum windows { WINDOW_NEVER, WINDOW_ALWAYS, WINDOW_QWEN, WINDOW_GEMMA } windows;

typedef struct family {
  const char *model_type, *activation_key, *activation;
  bool query_bias;              /* always, and the output has none */
  bool head_norms, around;      /* norms of queries and keys; behind each part as well, all from one */
  int64_t n_kv_heads, head_dim; /* when the config says nothing; 0: n_heads, dim / n_heads */
  double theta;
  windows windows;
} family;

static const family families[CQ_N_LLAMA] = {
    {"llama", "hidden_act", "silu", false, false, false, 0, 0, 1e4, WINDOW_NEVER},
    {"mistral", "hidden_act", "silu", false, false, false, 8, 0, 1e4, WINDOW_ALWAYS},
    {"qwen2", "hidden_act", "silu", true, false, false, 32, 0, 1e4, WINDOW_QWEN},
    {"qwen3", "hidden_act", "silu", false, true, false, 32, 128, 1e4, WINDOW_QWEN},
    {"gemma3_text", "hidden_activation", "gelu_pytorch_tanh", false, true, true, 4, 256, 1e6, WINDOW_GEMMA},
};

static const family *family_of(const char *model_type) {
  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    if (!strcmp(families[i].model_type, model_type)) return &families[i];
  return NULL;
}

const char *cq_llama_name(size_t i) {
  return families[i].model_type;
}

bool cq_llama_knows(const char *model_type) {
  return family_of(model_type) != NULL;
}

/* --- reading config.json --- */

typedef struct sizes {
  int64_t dim, n_layers, n_heads, n_kv_heads, head_dim, feed_forward, n_positions, vocab;
  int64_t window, first_window, every_window;
  double norm_eps, score_scale;
  bool attention_bias, feed_bias, bidirectional, uses_window;
  cq_activation activation;
} sizes;

/* What would change the vectors and is not done here. */
static cq_status refuse_others(const json_t *config, const char *path, cq_error *error) {
  static const char *const softcaps[] = {"attn_logit_softcapping"};
  for (size_t i = 0; i < sizeof softcaps / sizeof *softcaps; i++)
    if (cq_json_has(config, softcaps[i]))
      return cq_unsupported_key(path, softcaps[i], json_object_get(config, softcaps[i]), error);
  const json_t *causal = json_object_get(config, "is_causal");
  return json_is_false(causal) ? cq_unsupported_key(path, "is_causal", causal, error) : CQ_OK;
}

static cq_status read_windows(sizes *s, const json_t *config, const family *f, const char *path, cq_error *error) {
  const json_t *given = json_object_get(config, "sliding_window");
  s->window = 4096;
  s->first_window = f->windows == WINDOW_QWEN ? 28 : 0;
  s->every_window = 6;
  s->uses_window = f->windows == WINDOW_ALWAYS || f->windows == WINDOW_GEMMA;
  cq_status status = cq_json_get_int(&s->window, config, "sliding_window", 1, INT32_MAX, path, error);
  if (!status) status = cq_json_get_int(&s->first_window, config, "max_window_layers", 0, INT32_MAX, path, error);
  if (!status) status = cq_json_get_int(&s->every_window, config, "_sliding_window_pattern", 1, 1024, path, error);
  if (!status) status = cq_json_get_int(&s->every_window, config, "sliding_window_pattern", 1, 1024, path, error);
  if (!status && f->windows == WINDOW_QWEN)
    status = cq_json_get_bool(&s->uses_window, config, "use_sliding_window", path, error);
  if (json_is_null(given)) s->uses_window = false;
  if (s->bidirectional) s->window = s->window / 2 + 1; /* half to either side */
  return status;
}

static cq_status read_sizes(sizes *s, const json_t *config, const family *f, const char *path, cq_error *error) {
  const int64_t max = INT32_MAX;
  *s = (sizes){.n_positions = 2048, .norm_eps = 1e-6};
  cq_status status = refuse_others(config, path, error);
  const struct {
    int64_t *value;
    const char *key;
    int64_t min, max;
    bool required;
  } wanted[] = {{&s->dim, "hidden_size", 1, 65536, true},
                {&s->n_layers, "num_hidden_layers", 0, 1024, true},
                {&s->n_heads, "num_attention_heads", 1, 4096, true},
                {&s->feed_forward, "intermediate_size", 1, 1 << 20, true},
                {&s->vocab, "vocab_size", 1, max, true},
                {&s->n_positions, "max_position_embeddings", 1, max, false},
                {&s->n_kv_heads, "num_key_value_heads", 1, 4096, false},
                {&s->head_dim, "head_dim", 2, 4096, false}};
  for (size_t i = 0; !status && i < sizeof wanted / sizeof *wanted; i++) {
    status = cq_json_get_int(wanted[i].value, config, wanted[i].key, wanted[i].min, wanted[i].max, path, error);
    if (!status && wanted[i].required && !cq_json_has(config, wanted[i].key))
      status = cq_fail_file(error, CQ_ERR_FORMAT, path, "key '%s' is missing", wanted[i].key);
  }
  if (status) return status;
  if (!s->n_kv_heads) s->n_kv_heads = f->n_kv_heads ? f->n_kv_heads : s->n_heads;
  if (!s->head_dim) s->head_dim = f->head_dim ? f->head_dim : s->dim / s->n_heads;
  double score_dim = (double)s->head_dim;
  if (f->around) score_dim = 256;
  status = cq_json_get_number(&s->norm_eps, config, "rms_norm_eps", path, error);
  if (!status) status = cq_json_get_bool(&s->attention_bias, config, "attention_bias", path, error);
  if (!status && f->windows == WINDOW_NEVER) status = cq_json_get_bool(&s->feed_bias, config, "mlp_bias", path, error);
  if (!status && f->around) {
    status = cq_json_get_bool(&s->bidirectional, config, "use_bidirectional_attention", path, error);
    if (!status) status = cq_json_get_number(&score_dim, config, "query_pre_attn_scalar", path, error);
  }
  if (!status) status = cq_config_activation(&s->activation, config, f->activation_key, f->activation, path, error);
  if (!status) status = read_windows(s, config, f, path, error);
  if (status) return status;
  s->score_scale = 1 / sqrt(score_dim);
  if (s->n_heads % s->n_kv_heads)
    return cq_fail_file(error, CQ_ERR_FORMAT, path,
                        "num_attention_heads %lld is not a multiple of num_key_value_heads %lld", (long long)s->n_heads,
                        (long long)s->n_kv_heads);
  if (s->head_dim % 2 || s->head_dim < 2)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "head_dim %lld is not even", (long long)s->head_dim);
  if (!(score_dim > 0 && score_dim < 1e9))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "query_pre_attn_scalar is %g, expected above 0", score_dim);
  if (!(s->norm_eps > 0 && s->norm_eps < 1))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "key 'rms_norm_eps' is %g, expected between 0 and 1", s->norm_eps);
  return CQ_OK;
}

/* Whether layer i has a window: layer_types says so, or the family's rule. */
static cq_status has_window(bool *out, const json_t *config, const sizes *s, const family *f, int64_t i,
                            const char *path, cq_error *error) {
  const json_t *types = json_object_get(config, "layer_types");
  *out = s->uses_window;
  if (f->windows == WINDOW_NEVER || f->windows == WINDOW_ALWAYS) return CQ_OK;
  if (!json_is_array(types)) {
    *out = s->uses_window && (f->windows == WINDOW_GEMMA ? (i + 1) % s->every_window != 0 : i >= s->first_window);
    return CQ_OK;
  }
  const char *type = json_string_value(json_array_get(types, (size_t)i));
  if (!type) return cq_fail_file(error, CQ_ERR_FORMAT, path, "layer_types has no string for layer %lld", (long long)i);
  *out = s->uses_window && !strcmp(type, "sliding_attention");
  if (*out || !strcmp(type, "full_attention") || !strcmp(type, "sliding_attention")) return CQ_OK;
  return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path,
                      "layer_types: '%s' is not supported (full_attention and sliding_attention are)", type);
}

/* --- taking the weights --- */

typedef struct taker {
  llama *l;
  cq_arena *arena;
  const sizes *s;
  size_t next; /* parameters used so far */
  cq_error *error;
} taker;

static cq_status take(taker *k, cq_param **out, int64_t layer, const char *stem, const char *suffix, int64_t rows,
                      int64_t cols) {
  char *plain = layer < 0 ? cq_arena_printf(k->arena, "%s%s", stem, suffix)
                          : cq_arena_printf(k->arena, "layers.%lld.%s%s", (long long)layer, stem, suffix);
  char *prefixed = plain ? cq_arena_printf(k->arena, "model.%s", plain) : NULL;
  if (!prefixed) return cq_fail_memory(k->error, "tensor names");
  const char *const names[] = {plain, prefixed, NULL};
  cq_param *p = &k->l->base.params[k->next++];
  *out = p;
  return (cols ? cq_weights_take_narrow : cq_weights_take)(p, k->l->weights, names, rows, cols, k->arena, k->error);
}

static cq_status take_linear(taker *k, cq_linear *l, int64_t layer, const char *stem, int64_t out, int64_t in,
                             bool bias) {
  l->stays_narrow = true;
  cq_status status = take(k, &l->weight, layer, stem, ".weight", out, in);
  return status || !bias ? status : take(k, &l->bias, layer, stem, ".bias", out, 0);
}

static cq_status take_norm(taker *k, cq_rms_norm *n, int64_t layer, const char *stem, int64_t dim) {
  n->eps = (float)k->s->norm_eps;
  n->from_one = k->l->family->around;
  return take(k, &n->gamma, layer, stem, ".weight", dim, 0);
}

static cq_status take_layer(taker *k, cq_gated_layer *l, int64_t i) {
  const sizes *s = k->s;
  const family *f = k->l->family;
  const int64_t of_q = s->n_heads * s->head_dim, of_k = s->n_kv_heads * s->head_dim;
  const bool bias = s->attention_bias || f->query_bias, out_bias = s->attention_bias && !f->query_bias;
  const struct {
    cq_linear *l;
    const char *stem;
    int64_t out, in;
    bool bias;
  } linears[] = {{&l->query, "self_attn.q_proj", of_q, s->dim, bias},
                 {&l->key, "self_attn.k_proj", of_k, s->dim, bias},
                 {&l->value, "self_attn.v_proj", of_k, s->dim, bias},
                 {&l->output, "self_attn.o_proj", s->dim, of_q, out_bias},
                 {&l->gate, "mlp.gate_proj", s->feed_forward, s->dim, s->feed_bias},
                 {&l->up, "mlp.up_proj", s->feed_forward, s->dim, s->feed_bias},
                 {&l->down, "mlp.down_proj", s->dim, s->feed_forward, s->feed_bias}};
  const struct {
    cq_rms_norm *norm;
    const char *stem;
    int64_t dim;
    bool there;
  } norms[] = {{&l->attention_norm, "input_layernorm", s->dim, true},
               {&l->feed_norm, f->around ? "pre_feedforward_layernorm" : "post_attention_layernorm", s->dim, true},
               {&l->after_attention, "post_attention_layernorm", s->dim, f->around},
               {&l->after_feed, "post_feedforward_layernorm", s->dim, f->around},
               {&l->query_norm, "self_attn.q_norm", s->head_dim, f->head_norms},
               {&l->key_norm, "self_attn.k_norm", s->head_dim, f->head_norms}};
  cq_status status = CQ_OK;
  for (size_t j = 0; !status && j < sizeof linears / sizeof *linears; j++)
    status = take_linear(k, linears[j].l, i, linears[j].stem, linears[j].out, linears[j].in, linears[j].bias);
  for (size_t j = 0; !status && j < sizeof norms / sizeof *norms; j++)
    if (norms[j].there) status = take_norm(k, norms[j].norm, i, norms[j].stem, norms[j].dim);
  l->activation = s->activation;
  l->n_heads = s->n_heads;
  l->n_kv_heads = s->n_kv_heads;
  l->head_dim = s->head_dim;
  l->scale = (float)s->score_scale;
  l->causal = !s->bidirectional;
  return status;
}

/* --- the module --- */

enum { PARTS_PER_LAYER = 7, PARAMS_PER_LAYER = 20 };

static cq_status read_positions(llama *l, const sizes *s, cq_arena *arena, const char *path, cq_error *error) {
  const bool two = l->family->windows == WINDOW_GEMMA;
  cq_rope_wish wish = {.layer_type = two ? "full_attention" : NULL,
                       .theta_key = "rope_theta",
                       .theta = l->family->theta,
                       .scaled = true,
                       .head_dim = s->head_dim,
                       .n_positions = s->n_positions};
  cq_status status = cq_rope_read(&l->positions[0], l->config, &wish, arena, path, error);
  l->positions[1] = l->positions[0];
  if (status || !two) return status;
  wish.layer_type = "sliding_attention";
  wish.theta_key = "rope_local_base_freq";
  wish.theta = 1e4;
  wish.scaled = false;
  return cq_rope_read(&l->positions[1], l->config, &wish, arena, path, error);
}

/* Behind this the caller frees the module. */
static cq_status open_llama(llama *l, const cq_module_source *source, const char *path, cq_error *error) {
  static const char *const ignored[] = {"lm_head.", "model.lm_head.", NULL};
  sizes s;
  cq_status status = read_sizes(&s, l->config, l->family, path, error);
  if (!status) status = read_positions(l, &s, source->arena, path, error);
  if (status) return status;
  if (source->language)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, source->language,
                        "a language's word embeddings under a model of type %s are not supported",
                        l->family->model_type);
  l->n_layers = s.n_layers;
  l->dim = s.dim;
  l->feed_forward = s.feed_forward;
  l->n_positions = s.n_positions;
  l->word_scale = l->family->around ? sqrtf((float)s.dim) : 1;
  const size_t n_params = (size_t)s.n_layers * PARAMS_PER_LAYER + 2;
  l->layers = cq_arena_array(source->arena, (size_t)s.n_layers, sizeof *l->layers);
  l->base.params = cq_arena_array(source->arena, n_params, sizeof *l->base.params);
  if (!l->layers || !l->base.params) {
    l->layers = NULL;
    return cq_fail_memory(error, "transformer");
  }
  memset(l->layers, 0, (size_t)s.n_layers * sizeof *l->layers);
  memset(l->base.params, 0, n_params * sizeof *l->base.params);
  if ((status = cq_weights_open(&l->weights, source->directory, error))) return status;
  taker k = {l, source->arena, &s, 0, error};
  status = take(&k, &l->words, -1, "embed_tokens", ".weight", s.vocab, s.dim);
  if (!status) l->words->table = true;
  for (int64_t i = 0; !status && i < s.n_layers; i++) {
    bool window = false;
    status = has_window(&window, l->config, &s, l->family, i, path, error);
    if (!status) status = take_layer(&k, &l->layers[i], i);
    l->layers[i].window = window ? s.window : 0;
  }
  if (!status) status = take_norm(&k, &l->norm, -1, "norm", s.dim);
  if (!status) status = cq_weights_all_taken(l->weights, ignored, error);
  l->base.n_params = k.next;
  l->base.n_pack_parts = (size_t)l->n_layers * PARTS_PER_LAYER;
  l->base.output_dim = s.dim;
  l->base.add_special = true;
  l->base.max_seq_length = (int)s.n_positions;
  return status;
}

cq_status cq_llama_open(cq_module **out, const cq_module_source *source, json_t *config, const char *path,
                        cq_error *error) {
  llama *l = cq_arena_alloc(source->arena, sizeof *l);
  if (!l) {
    json_decref(config);
    return cq_fail_memory(error, "transformer");
  }
  *l = (llama){.base = {.type = &cq_llama_type},
               .config = config,
               .family = family_of(json_string_value(json_object_get(config, "model_type")))};
  *out = &l->base;
  return open_llama(l, source, path, error);
}

cq_status cq_llama_adopt_vocabulary(cq_module *module, cq_error *error) {
  const llama *l = (const llama *)module;
  const cq_tokenizer_info *info = cq_tokenizer_describe(module->tokenizer);
  int failed = json_object_set_new(l->config, "vocab_size", json_integer(l->words->rows));
  failed |= json_object_set_new(l->config, "pad_token_id", info->pad_id < 0 ? json_null() : json_integer(info->pad_id));
  json_object_del(l->config, "bos_token_id"); /* of the old vocabulary; only what writes text wants them */
  json_object_del(l->config, "eos_token_id");
  return failed ? cq_fail_memory(error, "config.json") : CQ_OK;
}

static cq_status save_llama(const cq_module *module, cq_dtype weights, const char *directory, cq_error *error) {
  return cq_transformer_write(module, ((const llama *)module)->config, weights, directory, error);
}

static cq_status describe_llama(const cq_module *module, json_t *object, cq_error *error) {
  const llama *l = (const llama *)module;
  const char *activation = json_string_value(json_object_get(l->config, l->family->activation_key));
  json_t *more =
      json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:s, s:f}", "architecture", l->family->model_type, "vocab_size",
                (json_int_t)l->words->rows, "n_layers", (json_int_t)l->n_layers, "dim", (json_int_t)l->dim,
                "feed_forward_dim", (json_int_t)l->feed_forward, "n_positions", (json_int_t)l->n_positions,
                "activation", activation ? activation : l->family->activation, "rms_norm_eps", (double)l->norm.eps);
  if (l->n_layers) {
    const cq_gated_layer *layer = &l->layers[0];
    cq_json_set(&more, "n_heads", json_integer(layer->n_heads));
    cq_json_set(&more, "n_key_value_heads", json_integer(layer->n_kv_heads));
    cq_json_set(&more, "head_dim", json_integer(layer->head_dim));
    cq_json_set(&more, "causal", json_boolean(layer->causal));
  }
  const bool fine = more && json_object_update(object, more) == 0;
  json_decref(more);
  return fine ? CQ_OK : cq_fail_memory(error, "description");
}

static cq_status pack_llama(cq_module *module, size_t part, const cq_packing *packing, cq_error *error) {
  const llama *l = (const llama *)module;
  cq_gated_layer *g = &l->layers[part / PARTS_PER_LAYER];
  cq_linear *const all[PARTS_PER_LAYER] = {&g->query, &g->key, &g->value, &g->output, &g->gate, &g->up, &g->down};
  const cq_status status = cq_linear_pack(all[part % PARTS_PER_LAYER], packing, error);
  cq_weights_release_pages(l->weights);
  return status;
}

static cq_status llama_forward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                               cq_tensor *y, void **saved, cq_error *error) {
  const llama *l = (const llama *)module;
  cq_workspace *w = &worker->workspace;
  const int64_t n = cq_batch_tokens(batch);
  int64_t longest = 0;
  (void)x;
  assert(!saved);
  *y = cq_workspace_f32(w, n, l->dim);
  if (!y->data) return cq_fail_memory(error, "transformer");
  const cq_mark mark = cq_workspace_mark(w);
  for (int64_t s = 0; s < batch->n_seqs; s++)
    longest = cq_batch_length(batch, s) > longest ? cq_batch_length(batch, s) : longest;
  float *tables[2];
  for (int i = 0; i < 2; i++) {
    tables[i] = cq_workspace_take(w, (size_t)(longest * 2 * l->positions[i].half) * sizeof(float));
    if (!tables[i]) return cq_fail_memory(error, "transformer");
    cq_turns_table(tables[i], &l->positions[i], longest);
  }
  cq_param_gather(worker->kernels, cq_f32(*y), l->words, batch->ids, n);
  if (l->word_scale != 1) worker->kernels->scale(cq_f32(*y), cq_f32(*y), l->word_scale, n * l->dim);
  for (int64_t i = 0; i < l->n_layers; i++) {
    const cq_status status = cq_gated_forward(worker, &l->layers[i], batch, *y, tables[l->layers[i].window > 0], error);
    if (status) return status;
  }
  cq_rms_norm_forward(worker->kernels, &l->norm, *y, *y);
  cq_workspace_release(w, mark);
  return CQ_OK;
}

static void free_llama(cq_module *module) {
  llama *l = (llama *)module;
  for (int64_t i = 0; l->layers && i < l->n_layers; i++) cq_gated_free(&l->layers[i]);
  cq_weights_close(l->weights);
  cq_tokenizer_free(l->base.tokenizer);
  json_decref(l->config);
}

const cq_module_type cq_llama_type = {
    .name = "Transformer",
    .type_name = "sentence_transformers.models.Transformer",
    .takes_text = true,
    .save = save_llama,
    .describe = describe_llama,
    .pack = pack_llama,
    .forward = llama_forward,
    .free = free_llama,
};
