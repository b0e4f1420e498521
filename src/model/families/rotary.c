/* rope_scaling of config.json -> frequencies. */
#include "model/families/family.h"

#include "base/error.h"
#include "format/json.h"

#include <math.h>
#include <string.h>

/* What "llama3" does: low frequencies are divided by the factor, high ones stay, between is a ramp. */
typedef struct llama3 {
  double factor, low, high, original;
} llama3;

static double llama3_frequency(const llama3 *s, double frequency) {
  const double turns = s->original * frequency / (2 * 3.14159265358979323846);
  if (turns < s->low) return frequency / s->factor;
  if (turns > s->high) return frequency;
  const double smooth = (turns - s->low) / (s->high - s->low);
  return (1 - smooth) * frequency / s->factor + smooth * frequency;
}

static cq_status read_positive(double *out, const json_t *scaling, const char *key, const char *path, cq_error *error) {
  *out = 0;
  const cq_status status = cq_json_get_number(out, scaling, key, path, error);
  if (status || *out > 0) return status;
  return cq_fail_file(error, CQ_ERR_FORMAT, path, "rope_scaling: key '%s' is missing or not above 0", key);
}

cq_status cq_plan_rotary(cq_plan *plan, const cq_config_source *config, double theta, const json_t *scaling,
                         cq_error *error) {
  const int64_t half = plan->n_turned / 2;
  const char *kind = "default";
  double factor = 1, ntk = 1;
  llama3 bands = {0};
  if (!(theta > 0) || plan->n_turned < 2 || plan->n_turned % 2 || plan->n_turned > plan->head_dim)
    return cq_fail_file(error, CQ_ERR_FORMAT, config->path,
                        "rotary positions of base %g cannot turn %lld of a head's %lld columns", theta,
                        (long long)plan->n_turned, (long long)plan->head_dim);
  if (scaling && !json_is_null(scaling)) {
    cq_status status = cq_json_get_string(&kind, scaling, "type", config->path, error);
    if (!status) status = cq_json_get_string(&kind, scaling, "rope_type", config->path, error);
    if (!status && strcmp(kind, "linear") == 0)
      status = read_positive(&factor, scaling, "factor", config->path, error);
    else if (!status && strcmp(kind, "ntk") == 0) {
      status = read_positive(&ntk, scaling, "factor", config->path, error);
      const json_t *mixed = json_object_get(scaling, "mixed_b");
      if (!status && mixed && !json_is_null(mixed))
        return cq_unsupported_key(config->path, "rope_scaling.mixed_b", mixed, error);
    } else if (!status && strcmp(kind, "llama3") == 0) {
      status = read_positive(&bands.factor, scaling, "factor", config->path, error);
      if (!status) status = read_positive(&bands.low, scaling, "low_freq_factor", config->path, error);
      if (!status) status = read_positive(&bands.high, scaling, "high_freq_factor", config->path, error);
      if (!status)
        status = read_positive(&bands.original, scaling, "original_max_position_embeddings", config->path, error);
      if (!status && !(bands.high > bands.low))
        return cq_fail_file(error, CQ_ERR_FORMAT, config->path,
                            "rope_scaling: high_freq_factor %g is not above low_freq_factor %g", bands.high, bands.low);
    } else if (!status && strcmp(kind, "default") != 0)
      return cq_fail_file(error, CQ_ERR_UNSUPPORTED, config->path,
                          "rope_scaling of type '%s' is not supported (default, linear, ntk and llama3 are)", kind);
    if (status) return status;
  }
  float *frequencies = cq_arena_array(config->arena, (size_t)half, sizeof *frequencies);
  if (!frequencies) return cq_fail_memory(error, "rotary positions");
  const float stretch = (float)pow(ntk, 2.0 / (double)plan->n_turned); /* Source: Su 2023, NTK with a fixed factor */
  for (int64_t j = 0; j < half; j++) {
    /* Each step rounded to single precision, as PyTorch has it. */
    const float exponent = (float)(2 * j) / (float)plan->n_turned;
    const float frequency = 1.0f / (float)pow((double)((float)theta * (float)ntk), (double)exponent) / stretch;
    frequencies[j] = bands.factor > 0 ? (float)llama3_frequency(&bands, (double)frequency) : frequency / (float)factor;
  }
  plan->rotary[plan->n_rotary++] = (cq_rotary){plan->n_turned, frequencies, 1.0f};
  return CQ_OK;
}
