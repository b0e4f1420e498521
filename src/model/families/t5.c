/* The encoder of T5 (Raffel et al. 2020) and mT5: sentence-t5, gtr-t5, flan-t5. Pre-norm with RMSNorm, unscaled
 * attention scores with a relative position bias that all layers share, no other biases. Version 1.0 has a plain
 * feed-forward layer, version 1.1 and mT5 a gated one. The decoder's tensors are left out. */
#include "model/families/config.h"
#include "model/families/family.h"

#include "base/error.h"
#include "format/json.h"

#include <string.h>

/* "relu", "gated-gelu": the activation comes after "gated-"; "gated-gelu" means gelu_new. */
static cq_status plan_feed_forward(cq_plan *plan, const cq_config_source *config, const char *projection,
                                   cq_error *error) {
  static const char gated[] = "gated-";
  cq_status status = cq_json_get_string(&projection, config->json, "feed_forward_proj", config->path, error);
  if (status) return status;
  plan->ungated = strncmp(projection, gated, sizeof gated - 1) != 0;
  const char *activation = plan->ungated ? projection : projection + sizeof gated - 1;
  if (!plan->ungated && !strcmp(activation, "gelu")) activation = "gelu_new";
  if (cq_config_activation(&plan->activation, config->json, NULL, activation, config->path, NULL))
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, config->path, "feed_forward_proj '%s' is not supported", projection);
  return CQ_OK;
}

static cq_status plan_bias(cq_plan *plan, const cq_config_source *config, cq_error *error) {
  plan->score_scale = 1;
  return cq_json_get_int(&plan->n_buckets, config->json, "relative_attention_num_buckets", 4, 511, config->path, error);
}

static cq_status plan_t5(cq_plan *plan, const cq_config_source *config, cq_error *error) {
  const cq_status status = plan_feed_forward(plan, config, "relu", error);
  return status ? status : plan_bias(plan, config, error);
}

static cq_status plan_mt5(cq_plan *plan, const cq_config_source *config, cq_error *error) {
  const cq_status status = plan_feed_forward(plan, config, "gated-gelu", error);
  return status ? status : plan_bias(plan, config, error);
}

static const char *const fixed[][2] = {
    {"relative_attention_max_distance", "128"}, {"is_decoder", "false"}, {NULL, NULL}};
static const char *const ignored[] = {"decoder.", "lm_head.", "encoder.embed_tokens.", "classification_head.", NULL};

#define T5                                                                                                             \
  .keys = {.dim = "d_model",                                                                                           \
           .n_layers = "num_layers",                                                                                   \
           .n_heads = "num_heads",                                                                                     \
           .feed_forward = "d_ff",                                                                                     \
           .vocab = "vocab_size",                                                                                      \
           .head_dim = "d_kv",                                                                                         \
           .activation = "dense_act_fn",                                                                               \
           .norm_eps = "layer_norm_epsilon",                                                                           \
           .dropout = "dropout_rate",                                                                                  \
           .attention_dropout = "dropout_rate"},                                                                       \
  .names = {.words = "shared",                                                                                         \
            .layer = "encoder.block.%d.layer.",                                                                        \
            .query = "0.SelfAttention.q",                                                                              \
            .key = "0.SelfAttention.k",                                                                                \
            .value = "0.SelfAttention.v",                                                                              \
            .attention_output = "0.SelfAttention.o",                                                                   \
            .before_attention = "0.layer_norm",                                                                        \
            .gate = "1.DenseReluDense.wi_0",                                                                           \
            .up = "1.DenseReluDense.wi_1",                                                                             \
            .plain_up = "1.DenseReluDense.wi",                                                                         \
            .down = "1.DenseReluDense.wo",                                                                             \
            .before_ffn = "1.layer_norm",                                                                              \
            .relative_bias = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias",                          \
            .last_norm = "encoder.final_layer_norm"},                                                                  \
  .rms = true, .norm_eps = 1e-6, .fixed = fixed, .ignored = ignored

const cq_family cq_family_t5 = {.model_type = "t5", T5, .activation = "relu", .plan = plan_t5};
const cq_family cq_family_mt5 = {.model_type = "mt5", T5, .activation = "gelu_new", .plan = plan_mt5};
