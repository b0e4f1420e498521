/* ModernBERT (Warner et al. 2024): gte-modernbert, ettin, granite-embedding. Pre-norm, rotary positions, a gated
 * feed-forward layer; every n-th layer attends to the whole sentence, others to a window, with another rotary base. */
#include "model/families/family.h"

#include "format/json.h"

/* layer_types, if present, lists the layers with global attention; otherwise it is every n-th, from the first on. */
static cq_status plan_modernbert(cq_plan *plan, const cq_config_source *config, cq_error *error) {
  int64_t every = 3, local = 128;
  const json_t *json = config->json;
  const cq_rotary_keys global = {"full_attention", "global_rope_theta", 160000, true};
  cq_rotary_keys of_window = {"sliding_attention", "local_rope_theta", 10000, true};
  cq_status status = cq_json_get_int(&every, json, "global_attn_every_n_layers", 1, 1024, config->path, error);
  if (!status) status = cq_json_get_int(&local, json, "local_attention", 1, INT32_MAX, config->path, error);
  if (!status && json_is_null(json_object_get(json, "local_rope_theta"))) { /* said to be the global one */
    of_window.otherwise = global.otherwise;
    status = cq_json_get_number(&of_window.otherwise, json, global.theta, config->path, error);
  }
  if (!status) status = cq_plan_rotary_read(plan, config, &global, error);
  if (!status) status = cq_plan_rotary_read(plan, config, &of_window, error);
  if (status) return status;
  for (int64_t i = 0; i < plan->n_layers; i++)
    plan->layers[i] = (cq_layer_plan){.window = i % every != 0 ? local / 2 + 1 : 0, .no_first_norm = i == 0};
  status = cq_plan_layer_types(plan, config, local / 2 + 1, error);
  for (int64_t i = 0; i < plan->n_layers; i++) plan->layers[i].rotary = plan->layers[i].window > 0 ? 2 : 1;
  return status;
}

static const char *const ignored[] = {"head.", "decoder.", NULL};

const cq_family cq_family_modernbert = {
    .model_type = "modernbert",
    .prefixes = {"model."},
    .keys = {.dim = "hidden_size",
             .n_layers = "num_hidden_layers",
             .n_heads = "num_attention_heads",
             .feed_forward = "intermediate_size",
             .vocab = "vocab_size",
             .n_positions = "max_position_embeddings",
             .activation = "hidden_activation",
             .norm_eps = "norm_eps",
             .dropout = "mlp_dropout",
             .attention_dropout = "attention_dropout"},
    .names = {.words = "embeddings.tok_embeddings",
              .embedding_norm = "embeddings.norm",
              .layer = "layers.%d.",
              .fused_qkv = "attn.Wqkv",
              .attention_output = "attn.Wo",
              .before_attention = "attn_norm",
              .fused_gate = "mlp.Wi",
              .down = "mlp.Wo",
              .before_ffn = "mlp_norm",
              .last_norm = "final_norm"},
    .bias_keys = {{"attention_bias", CQ_BIAS_ATTENTION, false},
                  {"mlp_bias", CQ_BIAS_FEED_FORWARD, false},
                  {"norm_bias", CQ_BIAS_NORMS, false}},
    .norm_eps = 1e-5,
    .activation = "gelu",
    .max_positions = 8192,
    .ignored = ignored,
    .plan = plan_modernbert,
};
