/* ModernBERT (Warner et al. 2024): gte-modernbert, ettin, granite-embedding. Pre-norm, rotary positions, a gated
 * feed-forward layer; every n-th layer sees the whole sentence, the others a window, with another base. */
#include "model/families/family.h"

#include "base/error.h"
#include "format/json.h"

static cq_status plan_modernbert(cq_plan *plan, const cq_config_source *config, cq_error *error) {
  int64_t every = 3, local = 128;
  double global_theta = 160000, local_theta = -1;
  cq_status status = cq_json_get_int(&every, config->json, "global_attn_every_n_layers", 1, 1024, config->path, error);
  if (!status) status = cq_json_get_int(&local, config->json, "local_attention", 1, INT32_MAX, config->path, error);
  if (!status) status = cq_json_get_number(&global_theta, config->json, "global_rope_theta", config->path, error);
  if (!status) status = cq_json_get_number(&local_theta, config->json, "local_rope_theta", config->path, error);
  if (status) return status;
  if (!cq_json_has(config->json, "local_rope_theta")) local_theta = global_theta;
  const json_t *scaling = json_object_get(config->json, "rope_scaling");
  status = cq_plan_rotary(plan, config, global_theta, scaling, error);
  if (!status) status = cq_plan_rotary(plan, config, local_theta, scaling, error);
  if (status) return status;
  for (int64_t i = 0; i < plan->n_layers; i++) {
    const bool is_local = i % every != 0;
    plan->layers[i] =
        (cq_layer_plan){.window = is_local ? local / 2 + 1 : 0, .rotary = is_local ? 2 : 1, .no_first_norm = i == 0};
  }
  return CQ_OK;
}

/* Newer configurations say the two kinds of layers and their bases there. */
static const char *const fixed[][2] = {{"rope_parameters", "null"}, {"layer_types", "null"}, {NULL, NULL}};
static const char *const ignored[] = {"head.", "decoder.", "classifier.", NULL};

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
    .fixed = fixed,
    .ignored = ignored,
    .plan = plan_modernbert,
};
