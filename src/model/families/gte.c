/* GTE (Zhang et al. 2024): gte-multilingual-base, gte-base-en-v1.5. Post-norm, rotary positions, a fused gated
 * feed-forward layer; its first half is not activated. model_type is "new" as published, "gte" from transformers. */
#include "model/families/family.h"

static const char *const fixed[][2] = {{"position_embedding_type", "\"rope\""},
                                       {"layer_norm_type", "\"layer_norm\""},
                                       {"logn_attention_scale", "false"},
                                       {"logn_attention_clip1", "false"},
                                       {"pack_qkv", "true"},
                                       {NULL, NULL}};
static const char *const ignored[] = {
    "pooler.", "new.pooler.", "lm_head.", "embeddings.position_ids", "new.embeddings.position_ids", NULL};

#define GTE                                                                                                            \
  .prefixes = {"new."}, .post = true, .up_first = true, .biases = CQ_BIAS_ATTENTION | CQ_BIAS_DOWN | CQ_BIAS_NORMS,    \
  .norm_eps = 1e-12, .activation = "gelu", .max_positions = 8192, .fixed = fixed, .ignored = ignored,                  \
  .keys = {CQ_KEYS_OF_BERT, .activation = "hidden_act"},                                                               \
  .names = {CQ_NAMES_OF_BERT,                                                                                          \
            .embedding_norm = "embeddings.LayerNorm",                                                                  \
            .fused_qkv = "attention.qkv_proj",                                                                         \
            .attention_output = "attention.o_proj",                                                                    \
            .after_attention = "attn_ln",                                                                              \
            .fused_gate = "mlp.up_gate_proj",                                                                          \
            .down = "mlp.down_proj",                                                                                   \
            .after_ffn = "mlp_ln"}

const cq_family cq_family_gte = {.model_type = "new", .rotary = {NULL, "rope_theta", 10000, true}, GTE};
const cq_family cq_family_gte_transformers = {.model_type = "gte", .rotary = {NULL, "rope_theta", 160000, true}, GTE};
