/* Nomic BERT (Nussbaum et al. 2024): nomic-embed-text-v1 and v1.5. Post-norm, rotary positions, SwiGLU. Published
 * configurations have GPT-2's keys; those saved by transformers have BERT's. */
#include "model/families/family.h"

#include "base/error.h"
#include "format/json.h"

#include <math.h>
#include <string.h>

static cq_status plan_nomic(cq_plan *plan, const cq_config_source *config, cq_error *error) {
  double theta = 10000, share = 1;
  int64_t trained = 0;
  const char *activation = "swiglu";
  cq_status status = cq_json_get_number(&theta, config->json, "rotary_emb_base", config->path, error);
  if (!status) status = cq_json_get_number(&share, config->json, "rotary_emb_fraction", config->path, error);
  if (!status) status = cq_json_get_string(&activation, config->json, "activation_function", config->path, error);
  if (!status)
    status = cq_json_get_int(&trained, config->json, "max_trained_positions", 1, INT32_MAX, config->path, error);
  if (status) return status;
  if (strcmp(activation, "swiglu") != 0 && strcmp(activation, "geglu") != 0)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, config->path,
                        "activation_function '%s' is not supported (swiglu and geglu are)", activation);
  plan->activation = *activation == 's' ? CQ_SILU : CQ_GELU;
  if (!(share > 0 && share <= 1))
    return cq_fail_file(error, CQ_ERR_FORMAT, config->path, "key 'rotary_emb_fraction' is %g, expected 0 to 1", share);
  plan->n_turned = (int64_t)((double)plan->head_dim * share);
  /* In the published code, a factor stretches positions for longer texts, by the longest of a batch; in transformers, it
   * has no effect. Such texts are truncated unless max_seq_length is larger. */
  double factor = 0;
  status = cq_json_get_number(&factor, config->json, "rotary_scaling_factor", config->path, error);
  if (status) return status;
  if (factor > 0) plan->max_length = trained > 0 ? trained : plan->max_length < 2048 ? plan->max_length : 2048;
  for (int64_t i = 0; i < plan->n_layers; i++) plan->layers[i].rotary = 1;
  return cq_plan_rotary(plan, config, theta, NULL, error);
}

static const char *const fixed[][2] = {{"prenorm", "false"},
                                       {"causal", "false"},
                                       {"parallel_block", "false"},
                                       {"rotary_emb_interleaved", "false"},
                                       {"rotary_emb_scale_base", "0"},
                                       {"scale_attn_weights", "true"},
                                       {"scale_attn_by_inverse_layer_idx", "false"},
                                       {"use_rms_norm", "false"},
                                       {"num_experts", "0"},
                                       {NULL, NULL}};
static const char *const ignored[] = {"cls.", "bert.cls.", "pooler.", "bert.pooler.", NULL};

static const char *const fixed_transformers[][2] = {{"hidden_act", "\"silu\""}, {NULL, NULL}};

#define NOMIC                                                                                                          \
  .model_type = "nomic_bert", .prefixes = {"bert."}, .post = true, .norm_eps = 1e-12, .activation = "silu",            \
  .max_positions = 2048, .ignored = ignored,                                                                           \
  .names = {.words = "embeddings.word_embeddings",                                                                     \
            .types = "embeddings.token_type_embeddings",                                                               \
            .embedding_norm = "emb_ln",                                                                                \
            .layer = "encoder.layers.%d.",                                                                             \
            .fused_qkv = "attn.Wqkv",                                                                                  \
            .attention_output = "attn.out_proj",                                                                       \
            .after_attention = "norm1",                                                                                \
            .gate = "mlp.fc12",                                                                                        \
            .up = "mlp.fc11",                                                                                          \
            .down = "mlp.fc2",                                                                                         \
            .after_ffn = "norm2"}

const cq_family cq_family_nomic = {
    .keys = {.dim = "n_embd",
             .n_layers = "n_layer",
             .n_heads = "n_head",
             .feed_forward = "n_inner",
             .vocab = "vocab_size",
             .n_positions = "n_positions",
             .n_types = "type_vocab_size",
             .norm_eps = "layer_norm_epsilon",
             .dropout = "resid_pdrop",
             .attention_dropout = "attn_pdrop"},
    .biases = CQ_BIAS_NORMS,
    .bias_keys = {{"qkv_proj_bias", CQ_BIAS_ATTENTION, true},
                  {"mlp_fc1_bias", CQ_BIAS_UP, true},
                  {"mlp_fc2_bias", CQ_BIAS_DOWN, true}},
    .fixed = fixed,
    .plan = plan_nomic,
    NOMIC,
};

const cq_family cq_family_nomic_transformers = {
    .when = {"hidden_size"},
    .keys = {CQ_KEYS_OF_BERT, .head_dim = "head_dim"},
    .biases = CQ_BIAS_NORMS,
    .fixed = fixed_transformers,
    .rotary = {NULL, "rope_theta", 1000, true},
    NOMIC,
};
