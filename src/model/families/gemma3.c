/* Gemma 3 (Gemma Team 2025): EmbeddingGemma. Norms on both sides of each branch, and of queries and keys, stored minus
 * 1; scaled word embeddings; most layers attend to a window, with another rotary base. Causal or not, by
 * config.json. */
#include "model/families/family.h"

#include "base/error.h"
#include "format/json.h"

#include <math.h>

static cq_status plan_windows(cq_plan *plan, const cq_config_source *config, bool bidirectional, cq_error *error) {
  int64_t window, every = 6;
  cq_status status = cq_plan_window(&window, config, error);
  const char *const keys[] = {"_sliding_window_pattern", "sliding_window_pattern"};
  for (int i = 0; !status && i < 2; i++)
    status = cq_json_get_int(&every, config->json, keys[i], 1, 1024, config->path, error);
  if (status) return status;
  if (bidirectional && window > 0) window = window / 2 + 1; /* half to either side */
  for (int64_t i = 0; i < plan->n_layers; i++) plan->layers[i].window = (i + 1) % every != 0 ? window : 0;
  return cq_plan_layer_types(plan, config, window, error);
}

static cq_status plan_gemma(cq_plan *plan, const cq_config_source *config, cq_error *error) {
  static const cq_rotary_keys keys[] = {
      {.layer_type = "full_attention", .theta = "rope_theta", .otherwise = 1e6, .is_scaled = true},
      {.layer_type = "sliding_attention", .theta = "rope_local_base_freq", .otherwise = 1e4}};
  bool bidirectional = false;
  double score_dim = 256;
  cq_status status = cq_json_get_bool(&bidirectional, config->json, "use_bidirectional_attention", config->path, error);
  if (!status) status = cq_json_get_number(&score_dim, config->json, "query_pre_attn_scalar", config->path, error);
  if (!status && !(score_dim > 0 && score_dim < 1e9))
    return cq_fail_file(error, CQ_ERR_FORMAT, config->path, "query_pre_attn_scalar is %g, expected above 0", score_dim);
  if (!status) status = plan_windows(plan, config, bidirectional, error);
  for (int i = 0; !status && i < 2; i++) status = cq_plan_rotary_read(plan, config, &keys[i], error);
  for (int64_t i = 0; !status && i < plan->n_layers; i++) plan->layers[i].rotary = plan->layers[i].window > 0 ? 2 : 1;
  plan->causal = !bidirectional;
  plan->score_scale = 1 / sqrt(score_dim);
  plan->embedding_scale = sqrt((double)plan->dim);
  return status;
}

static const char *const fixed[][2] = {{"is_causal", "true"}, {"attn_logit_softcapping", "null"}, {NULL, NULL}};
static const char *const ignored[] = {"lm_head.", "model.lm_head.", NULL};

const cq_family cq_family_gemma3 = {
    .model_type = "gemma3_text",
    .prefixes = {"model."},
    .keys = {CQ_KEYS_OF_LLAMA, .activation = "hidden_activation"},
    .names = {CQ_NAMES_OF_LLAMA, .q_norm = "self_attn.q_norm", .k_norm = "self_attn.k_norm",
              .after_attention = "post_attention_layernorm", .before_ffn = "pre_feedforward_layernorm",
              .after_ffn = "post_feedforward_layernorm"},
    .rms = true,
    .norm_offset = 1,
    .causal = true,
    .stays_narrow = true,
    .n_kv_heads = 4,
    .head_dim = 256,
    .bias_keys = {{"attention_bias", CQ_BIAS_ATTENTION, false}},
    .norm_eps = 1e-6,
    .activation = "gelu_pytorch_tanh",
    .max_positions = 2048,
    .fixed = fixed,
    .ignored = ignored,
    .plan = plan_gemma,
};
