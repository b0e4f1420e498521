/* GTE (Zhang et al. 2024), model_type "new": gte-multilingual-base, gte-base-en-v1.5. Post-norm, rotary positions, a
 * fused gated feed-forward layer whose first half is not activated. */
#include "model/families/family.h"

static const char *const fixed[][2] = {{"position_embedding_type", "\"rope\""},
                                       {"layer_norm_type", "\"layer_norm\""},
                                       {"logn_attention_scale", "false"},
                                       {"logn_attention_clip1", "false"},
                                       {"pack_qkv", "true"},
                                       {"rope_parameters", "null"},
                                       {NULL, NULL}};
static const char *const ignored[] = {
    "pooler.", "new.pooler.", "classifier.", "lm_head.", "embeddings.position_ids", "new.embeddings.position_ids",
    NULL};

const cq_family cq_family_gte = {
    .model_type = "new",
    .prefixes = {"new."},
    .keys = {.dim = "hidden_size",
             .n_layers = "num_hidden_layers",
             .n_heads = "num_attention_heads",
             .feed_forward = "intermediate_size",
             .vocab = "vocab_size",
             .n_positions = "max_position_embeddings",
             .n_types = "type_vocab_size",
             .activation = "hidden_act",
             .norm_eps = "layer_norm_eps",
             .dropout = "hidden_dropout_prob",
             .attention_dropout = "attention_probs_dropout_prob",
             .theta = "rope_theta",
             .rope_scaling = "rope_scaling"},
    .names = {.words = "embeddings.word_embeddings",
              .types = "embeddings.token_type_embeddings",
              .embedding_norm = "embeddings.LayerNorm",
              .layer = "encoder.layer.%d.",
              .fused_qkv = "attention.qkv_proj",
              .attention_output = "attention.o_proj",
              .after_attention = "attn_ln",
              .fused_gate = "mlp.up_gate_proj",
              .down = "mlp.down_proj",
              .after_ffn = "mlp_ln"},
    .post = true,
    .up_first = true,
    .biases = CQ_BIAS_ATTENTION | CQ_BIAS_DOWN | CQ_BIAS_NORMS,
    .norm_eps = 1e-12,
    .theta = 10000,
    .activation = "gelu",
    .max_positions = 8192,
    .fixed = fixed,
    .ignored = ignored,
};
