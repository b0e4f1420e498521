/* The frequencies of rotary positions, from config.json:
 *
 *   "rope_theta": 10000, "rope_scaling": {"rope_type": "llama3", "factor": 8, ...} up to transformers 4
 *   "rope_parameters": {"rope_theta": 10000, "rope_type": "default", ...}          since 5, or one such object for each
 *                                                                                  of "layer_types"
 *
 * Kinds: default, linear (Chen et al. 2023), ntk (Su 2023, with a fixed factor), llama3 (Llama Team 2024), yarn (Peng
 * et al. 2023). */
#include "model/families/family.h"

#include "base/error.h"
#include "format/json.h"

#include <math.h>
#include <string.h>

#define TWO_PI 6.283185307179586

typedef struct scaling {
  const json_t *json; /* the object with the kind's numbers */
  const char *path;
  float *frequencies; /* [n_turned / 2], being made */
  float magnitude;
  double theta;
  int64_t n_turned, n_positions;
  cq_error *error;
} scaling;

/* Reads a number of the object; fallback below 0: it is required. */
static cq_status read_number(double *out, const scaling *s, const char *key, double fallback) {
  *out = fallback;
  if (fallback < 0 && !cq_json_has(s->json, key))
    return cq_fail_file(s->error, CQ_ERR_FORMAT, s->path, "rope_scaling: key '%s' is missing", key);
  const cq_status status = cq_json_get_number(out, s->json, key, s->path, s->error);
  if (status || (*out > 0 && *out < 1e12)) return status;
  return cq_fail_file(s->error, CQ_ERR_FORMAT, s->path, "rope_scaling: key '%s' is %g, expected above 0", key, *out);
}

/* Each step is rounded to single precision, as in PyTorch. */
static void fill_frequencies(scaling *s, float theta) {
  for (int64_t j = 0; j < s->n_turned / 2; j++) {
    const float exponent = (float)(2 * j) / (float)s->n_turned;
    s->frequencies[j] = 1.0f / (float)pow((double)theta, (double)exponent);
  }
}

static cq_status scale_default(scaling *s) {
  (void)s;
  return CQ_OK;
}

static cq_status scale_linear(scaling *s) {
  double factor;
  const cq_status status = read_number(&factor, s, "factor", -1);
  for (int64_t j = 0; !status && j < s->n_turned / 2; j++) s->frequencies[j] /= (float)factor;
  return status;
}

static cq_status scale_ntk(scaling *s) {
  double factor;
  const json_t *mixed = json_object_get(s->json, "mixed_b");
  const cq_status status = read_number(&factor, s, "factor", -1);
  if (status) return status;
  if (mixed && !json_is_null(mixed)) return cq_unsupported_key(s->path, "rope_scaling.mixed_b", mixed, s->error);
  const float stretch = (float)pow(factor, 2.0 / (double)s->n_turned);
  fill_frequencies(s, (float)s->theta * (float)factor);
  for (int64_t j = 0; j < s->n_turned / 2; j++) s->frequencies[j] /= stretch;
  return CQ_OK;
}

/* Low frequencies are divided by the factor, high ones stay, and those between are interpolated linearly. */
static cq_status scale_llama3(scaling *s) {
  double factor, low, high, length;
  cq_status status = read_number(&factor, s, "factor", -1);
  if (!status) status = read_number(&low, s, "low_freq_factor", -1);
  if (!status) status = read_number(&high, s, "high_freq_factor", -1);
  if (!status) status = read_number(&length, s, "original_max_position_embeddings", -1);
  if (!status && high <= low)
    return cq_fail_file(s->error, CQ_ERR_FORMAT, s->path,
                        "rope_scaling: high_freq_factor %g is not above low_freq_factor %g", high, low);
  for (int64_t j = 0; !status && j < s->n_turned / 2; j++) {
    const double frequency = (double)s->frequencies[j], n_turns = length * frequency / TWO_PI;
    double share = (n_turns - low) / (high - low); /* of what stays */
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    s->frequencies[j] = (float)((1 - share) * frequency / factor + share * frequency);
  }
  return status;
}

/* The pair of columns that rotates `n_turns` times over `length` positions. */
static double pair_of_turns(const scaling *s, double n_turns, double length) {
  return (double)s->n_turned * log(length / (n_turns * TWO_PI)) / (2 * log(s->theta));
}

static double magnitude_of(double factor, double by) {
  return factor <= 1 ? 1 : 0.1 * by * log(factor) + 1;
}

static cq_status scale_yarn(scaling *s) {
  double factor, fast, slow, length, attention = 0, by = 0, by_all = 0;
  bool truncate = true;
  cq_status status = read_number(&factor, s, "factor", -1);
  if (!status) status = read_number(&fast, s, "beta_fast", 32);
  if (!status) status = read_number(&slow, s, "beta_slow", 1);
  if (!status) status = read_number(&length, s, "original_max_position_embeddings", (double)s->n_positions);
  if (!status) status = cq_json_get_number(&attention, s->json, "attention_factor", s->path, s->error);
  if (!status) status = cq_json_get_number(&by, s->json, "mscale", s->path, s->error);
  if (!status) status = cq_json_get_number(&by_all, s->json, "mscale_all_dim", s->path, s->error);
  if (!status) status = cq_json_get_bool(&truncate, s->json, "truncate", s->path, s->error);
  if (status) return status;
  double low = pair_of_turns(s, fast, length), high = pair_of_turns(s, slow, length);
  if (truncate) low = floor(low), high = ceil(high);
  low = fmax(low, 0);
  high = fmin(high, (double)(s->n_turned - 1));
  if (low == high) high += 0.001;
  for (int64_t j = 0; j < s->n_turned / 2; j++) {
    const double frequency = (double)s->frequencies[j];
    double share = ((double)j - low) / (high - low); /* of what is stretched */
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    s->frequencies[j] = (float)(share * frequency / factor + (1 - share) * frequency);
  }
  s->magnitude = (float)(attention > 0          ? attention
                         : by > 0 && by_all > 0 ? magnitude_of(factor, by) / magnitude_of(factor, by_all)
                                                : magnitude_of(factor, 1));
  return CQ_OK;
}

static const struct {
  const char *name;
  cq_status (*scale)(scaling *s);
} kinds[] = {{"default", scale_default},
             {"linear", scale_linear},
             {"ntk", scale_ntk},
             {"llama3", scale_llama3},
             {"yarn", scale_yarn}};

cq_status cq_plan_rotary(cq_plan *plan, const cq_config_source *config, double theta, const json_t *json,
                         cq_error *error) {
  const char *kind = "default";
  if (!(theta > 0) || plan->n_turned < 2 || plan->n_turned % 2 || plan->n_turned > plan->head_dim)
    return cq_fail_file(error, CQ_ERR_FORMAT, config->path,
                        "rotary positions of base %g cannot turn %lld of a head's %lld columns", theta,
                        (long long)plan->n_turned, (long long)plan->head_dim);
  if (json && !json_is_null(json) && !json_is_object(json))
    return cq_fail_file(error, CQ_ERR_FORMAT, config->path, "the rotary positions' parameters are not an object");
  cq_status status = cq_json_get_string(&kind, json, "type", config->path, error); /* its old name */
  if (!status) status = cq_json_get_string(&kind, json, "rope_type", config->path, error);
  if (status) return status;
  float *frequencies = cq_arena_array(config->arena, (size_t)plan->n_turned / 2, sizeof *frequencies);
  if (!frequencies) return cq_fail_memory(error, "rotary positions");
  scaling s = {json, config->path, frequencies, 1, theta, plan->n_turned, plan->n_positions, error};
  fill_frequencies(&s, (float)theta);
  size_t k = 0;
  while (k < sizeof kinds / sizeof *kinds && strcmp(kind, kinds[k].name) != 0) k++;
  if (k == sizeof kinds / sizeof *kinds)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, config->path,
                        "rope_type '%s' is not supported (default, linear, ntk, llama3 and yarn are)", kind);
  status = kinds[k].scale(&s);
  if (!status) plan->rotary[plan->n_rotary++] = (cq_rotary){plan->n_turned, frequencies, s.magnitude};
  return status;
}

/* The object with theta and the kind. */
static const json_t *find_object(const json_t *config, const cq_rotary_keys *keys) {
  const json_t *parameters = json_object_get(config, "rope_parameters");
  const json_t *own = keys->layer_type ? json_object_get(parameters, keys->layer_type) : NULL;
  if (own) return own;
  if (parameters && !json_is_null(parameters)) return parameters;
  return keys->is_scaled ? json_object_get(config, "rope_scaling") : NULL;
}

cq_status cq_plan_rotary_read(cq_plan *plan, const cq_config_source *config, const cq_rotary_keys *keys,
                              cq_error *error) {
  const json_t *json = find_object(config->json, keys);
  double theta = keys->otherwise, partial = 1;
  if (json && !json_is_null(json) && !json_is_object(json))
    return cq_fail_file(error, CQ_ERR_FORMAT, config->path, "the rotary positions' parameters are not an object");
  cq_status status = cq_json_get_number(&theta, config->json, keys->theta, config->path, error);
  if (!status) status = cq_json_get_number(&theta, json, "rope_theta", config->path, error);
  if (!status) status = cq_json_get_number(&partial, config->json, "partial_rotary_factor", config->path, error);
  if (!status) status = cq_json_get_number(&partial, json, "partial_rotary_factor", config->path, error);
  if (status) return status;
  if (plan->head_dim % 2)
    return cq_fail_file(error, CQ_ERR_FORMAT, config->path, "head_dim %lld is not even", (long long)plan->head_dim);
  if (!(theta > 1 && theta < 1e12))
    return cq_fail_file(error, CQ_ERR_FORMAT, config->path, "rope_theta is %g, expected above 1", theta);
  if (partial != 1)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, config->path, "partial_rotary_factor %g is not supported (1 is)",
                        partial);
  return cq_plan_rotary(plan, config, theta, json, error);
}
