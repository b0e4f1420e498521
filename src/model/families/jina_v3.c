/* jina-embeddings-v3 (Sturua et al. 2024): XLM-RoBERTa with rotary positions, and a LoRA adapter of all weights for
 * each task (model/lora.h). Post-norm, plain feed-forward layers. The published model has XLM-RoBERTa's model_type; the
 * version saved by transformers, without adapters, has its own. */
#include "model/families/family.h"

static const char *const fixed[][2] = {{"use_reg_tokens", "false"}, {"rotary_emb_interleaved", "false"}, {NULL, NULL}};
static const char *const ignored[] = {"pooler.", "roberta.pooler.", "lm_head.", NULL};

#define JINA_V3                                                                                                        \
  .prefixes = {"roberta."}, .post = true, .biases = CQ_BIAS_ALL, .norm_eps = 1e-5, .activation = "gelu",               \
  .max_positions = 8194, .fixed = fixed, .ignored = ignored, .keys = {CQ_KEYS_OF_BERT, .activation = "hidden_act"},    \
  .names = {.words = "embeddings.word_embeddings",                                                                     \
            .types = "embeddings.token_type_embeddings",                                                               \
            .embedding_norm = "emb_ln",                                                                                \
            .layer = "encoder.layers.%d.",                                                                             \
            .fused_qkv = "mixer.Wqkv",                                                                                 \
            .attention_output = "mixer.out_proj",                                                                      \
            .after_attention = "norm1",                                                                                \
            .up = "mlp.fc1",                                                                                           \
            .down = "mlp.fc2",                                                                                         \
            .after_ffn = "norm2"}

const cq_family cq_family_jina_v3 = {
    .model_type = "xlm-roberta",
    .when = {"position_embedding_type", "rotary"},
    .rotary = {NULL, "rotary_emb_base", 10000, false},
    JINA_V3,
};

const cq_family cq_family_jina_v3_transformers = {
    .model_type = "jina_embeddings_v3",
    .rotary = {NULL, "rope_theta", 20000, true},
    JINA_V3,
};
