/* Decoders used as encoders: Llama (Touvron et al. 2023) and similar models; EuroBERT (Boizard et al. 2025). Pre-norm with RMSNorm, rotary positions,
 * grouped-query attention (Ainslie et al. 2023), SwiGLU.
 *
 *   model_type    biases                          windows
 *   llama         attention_bias, mlp_bias        none
 *   mistral       none                            sliding_window, all layers
 *   qwen2         query, key, value               use_sliding_window, from max_window_layers on, or layer_types
 *   qwen3         attention_bias                  the same; norms of queries and keys
 *   eurobert      attention_bias, mlp_bias        none; an encoder: attention in both directions
 *
 * A checkpoint of a language model prefixes the names with "model." and has an lm_head, which is not read. */
#include "model/families/family.h"

#include "base/error.h"
#include "format/json.h"

static cq_status plan_mistral(cq_plan *plan, const cq_config_source *config, cq_error *error) {
  int64_t window;
  const cq_status status = cq_plan_window(&window, config, error);
  for (int64_t i = 0; !status && i < plan->n_layers; i++) plan->layers[i].window = window;
  return status;
}

static cq_status plan_qwen(cq_plan *plan, const cq_config_source *config, cq_error *error) {
  int64_t window, first = 28;
  bool used = false;
  cq_status status = cq_plan_window(&window, config, error);
  if (!status) status = cq_json_get_int(&first, config->json, "max_window_layers", 0, INT32_MAX, config->path, error);
  if (!status) status = cq_json_get_bool(&used, config->json, "use_sliding_window", config->path, error);
  for (int64_t i = first; !status && i < plan->n_layers; i++) plan->layers[i].window = used ? window : 0;
  return status ? status : cq_plan_layer_types(plan, config, used ? window : 0, error);
}

static const char *const fixed[][2] = {{"is_causal", "true"}, {"attn_logit_softcapping", "null"}, {NULL, NULL}};
static const char *const ignored[] = {"lm_head.", "model.lm_head.", NULL};

#define LLAMA_KEYS  CQ_KEYS_OF_LLAMA, .activation = "hidden_act"
#define LLAMA_NAMES CQ_NAMES_OF_LLAMA, .before_ffn = "post_attention_layernorm"
#define LLAMA_LIKE                                                                                                     \
  .prefixes = {"model."}, .keys = {LLAMA_KEYS}, .rms = true, .stays_narrow = true, .activation = "silu",               \
  .ignored = ignored, .rotary = {.theta = "rope_theta", .otherwise = 1e4, .is_scaled = true}
#define DECODER LLAMA_LIKE, .causal = true, .norm_eps = 1e-6, .max_positions = 2048, .fixed = fixed

const cq_family cq_family_llama = {
    .model_type = "llama",
    DECODER,
    .names = {LLAMA_NAMES},
    .bias_keys = {{"attention_bias", CQ_BIAS_ATTENTION, false}, {"mlp_bias", CQ_BIAS_FEED_FORWARD, false}}};
const cq_family cq_family_eurobert = {
    .model_type = "eurobert",
    LLAMA_LIKE,
    .names = {LLAMA_NAMES},
    .bias_keys = {{"attention_bias", CQ_BIAS_ATTENTION, false}, {"mlp_bias", CQ_BIAS_FEED_FORWARD, false}},
    .norm_eps = 1e-5,
    .max_positions = 8192};
const cq_family cq_family_mistral = {
    .model_type = "mistral", DECODER, .names = {LLAMA_NAMES}, .n_kv_heads = 8, .plan = plan_mistral};
const cq_family cq_family_qwen2 = {
    .model_type = "qwen2", DECODER, .names = {LLAMA_NAMES}, .biases = CQ_BIAS_QKV, .n_kv_heads = 32, .plan = plan_qwen};
const cq_family cq_family_qwen3 = {.model_type = "qwen3",
                                   DECODER,
                                   .names = {LLAMA_NAMES, .q_norm = "self_attn.q_norm", .k_norm = "self_attn.k_norm"},
                                   .bias_keys = {{"attention_bias", CQ_BIAS_ATTENTION, false}},
                                   .n_kv_heads = 32,
                                   .head_dim = 128,
                                   .plan = plan_qwen};
