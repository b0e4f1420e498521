/* XLM-RoBERTa-XL (Goyal et al. 2021): XLM-R with norms before the branches, and without one after the embeddings. */
#include "model/families/family.h"

#include "base/error.h"
#include "format/json.h"

static cq_status plan_positions(cq_plan *plan, const cq_config_source *config, cq_error *error) {
  if (!cq_json_has(config->json, "pad_token_id")) plan->pad_id = 1;
  if (!cq_json_has(config->json, "type_vocab_size")) plan->n_types = 1;
  plan->first_position = plan->pad_id + 1;
  plan->max_length = plan->n_positions - plan->first_position;
  if (plan->max_length < 1)
    return cq_fail_file(error, CQ_ERR_FORMAT, config->path,
                        "max_position_embeddings %lld leaves no position after pad_token_id %lld",
                        (long long)plan->n_positions, (long long)plan->pad_id);
  return CQ_OK;
}

static const char *const fixed[][2] = {
    {"position_embedding_type", "\"absolute\""}, {"is_decoder", "false"}, {NULL, NULL}};
static const char *const ignored[] = {
    "lm_head.", "pooler.", "roberta.pooler.", "embeddings.position_ids", "roberta.embeddings.position_ids", NULL};

const cq_family cq_family_xlm_roberta_xl = {
    .model_type = "xlm-roberta-xl",
    .prefixes = {"roberta."},
    .keys = {CQ_KEYS_OF_BERT, .activation = "hidden_act"},
    .names = {CQ_NAMES_OF_BERT, CQ_ATTENTION_OF_BERT, .positions = "embeddings.position_embeddings",
              .before_attention = "attention.self_attn_layer_norm", .up = "intermediate.dense", .down = "output.dense",
              .before_ffn = "LayerNorm", .last_norm = "encoder.LayerNorm"},
    .biases = CQ_BIAS_ALL,
    .norm_eps = 1e-5,
    .activation = "gelu",
    .max_positions = 514,
    .fixed = fixed,
    .ignored = ignored,
    .plan = plan_positions,
};
