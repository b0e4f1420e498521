/* JinaBERT (Guenther et al. 2023): jina-embeddings-v2. Its configuration has model_type "bert" and ALiBi positions:
 * BERT's names, a fused gated feed-forward layer, and a penalty on distances instead of learned positions. */
#include "model/families/family.h"

#include "base/error.h"
#include "format/json.h"

#include <math.h>
#include <string.h>

/* For a power of two, a geometric sequence that starts at 2^(-8/n); otherwise that of the next lower power of two, then
 * every other value of the next higher one. Source: Press et al. 2022, section 3. */
static void fill_slopes(float *slopes, int64_t n) {
  int64_t power = 1;
  while (power * 2 <= n) power *= 2;
  for (int64_t i = 0; i < n; i++) {
    const double step =
        i < power ? (double)(i + 1) / (double)power : ((double)(i - power) * 2 + 1) / (2 * (double)power);
    slopes[i] = (float)exp2(-8 * step);
  }
}

static cq_status plan_jina(cq_plan *plan, const cq_config_source *config, cq_error *error) {
  const char *kind = "original";
  const cq_status status = cq_json_get_string(&kind, config->json, "feed_forward_type", config->path, error);
  if (status) return status;
  if (strcmp(kind, "geglu") != 0 && strcmp(kind, "reglu") != 0)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, config->path,
                        "feed_forward_type '%s' is not supported (geglu and reglu are)", kind);
  plan->activation = *kind == 'g' ? CQ_GELU : CQ_RELU;
  float *slopes = cq_arena_array(config->arena, (size_t)plan->n_heads, sizeof *slopes);
  if (!slopes) return cq_fail_memory(error, "slopes");
  fill_slopes(slopes, plan->n_heads);
  plan->slopes = slopes;
  return CQ_OK;
}

static const char *const fixed[][2] = {{"is_decoder", "false"}, {NULL, NULL}};
static const char *const ignored[] = {
    "pooler.", "bert.pooler.", "cls.", "embeddings.position_ids", "bert.embeddings.position_ids", NULL};

const cq_family cq_family_jina_v2 = {
    .model_type = "bert",
    .when = {"position_embedding_type", "alibi"},
    .prefixes = {"bert."},
    .keys = {CQ_KEYS_OF_BERT},
    .names = {CQ_NAMES_OF_BERT, CQ_ATTENTION_OF_BERT, .embedding_norm = "embeddings.LayerNorm",
              .after_attention = "attention.output.LayerNorm", .fused_gate = "mlp.gated_layers", .down = "mlp.wo",
              .after_ffn = "mlp.layernorm"},
    .post = true,
    .biases = CQ_BIAS_ATTENTION | CQ_BIAS_DOWN | CQ_BIAS_NORMS,
    .norm_eps = 1e-12,
    .activation = "gelu",
    .max_positions = 8192,
    .fixed = fixed,
    .ignored = ignored,
    .plan = plan_jina,
};
