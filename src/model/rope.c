#include "model/rope.h"

#include "base/error.h"

#include <math.h>
#include <string.h>

#define TWO_PI 6.283185307179586

typedef struct rope {
  cq_rotary *out;
  float *inverse; /* [half] its frequencies, being made */
  int64_t half;
  const json_t *json; /* the object with the kind's numbers */
  double theta;
  int64_t head_dim, n_positions;
  const char *path;
  cq_error *error;
} rope;

/* A number of the object; fallback below 0: it has to be there. */
static cq_status read_number(double *out, const rope *r, const char *key, double fallback) {
  *out = fallback;
  if (fallback < 0 && !cq_json_has(r->json, key))
    return cq_fail_file(r->error, CQ_ERR_FORMAT, r->path, "rope_scaling: key '%s' is missing", key);
  cq_status status = cq_json_get_number(out, r->json, key, r->path, r->error);
  if (!status && !(*out > 0 && *out < 1e12))
    status =
        cq_fail_file(r->error, CQ_ERR_FORMAT, r->path, "rope_scaling: key '%s' is %g, expected above 0", key, *out);
  return status;
}

static cq_status scale_default(const rope *r) {
  (void)r;
  return CQ_OK;
}

static cq_status scale_linear(const rope *r) {
  double factor;
  cq_status status = read_number(&factor, r, "factor", -1);
  for (int64_t i = 0; !status && i < r->half; i++) r->inverse[i] /= (float)factor;
  return status;
}

/* Long waves are stretched, short ones stay, and between the two there is a ramp. */
static cq_status scale_llama3(const rope *r) {
  double factor, low, high, length;
  cq_status status = read_number(&factor, r, "factor", -1);
  if (!status) status = read_number(&low, r, "low_freq_factor", -1);
  if (!status) status = read_number(&high, r, "high_freq_factor", -1);
  if (!status) status = read_number(&length, r, "original_max_position_embeddings", -1);
  if (!status && high <= low)
    status = cq_fail_file(r->error, CQ_ERR_FORMAT, r->path,
                          "rope_scaling: high_freq_factor %g is not above low_freq_factor %g", high, low);
  for (int64_t i = 0; !status && i < r->half; i++) {
    const double inverse = r->inverse[i], n_waves = length * inverse / TWO_PI;
    double share = (n_waves - low) / (high - low); /* of what stays */
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    r->inverse[i] = (float)((1 - share) * inverse / factor + share * inverse);
  }
  return status;
}

/* The pair of dimensions that turns `n_turns` times over `length` positions. */
static double pair_of_turns(const rope *r, double n_turns, double length) {
  return (double)r->head_dim * log(length / (n_turns * TWO_PI)) / (2 * log(r->theta));
}

static double scale_of(double factor, double by) {
  return factor <= 1 ? 1 : 0.1 * by * log(factor) + 1;
}

static cq_status scale_yarn(const rope *r) {
  double factor, fast, slow, length, attention = 0, by = 0, by_all = 0;
  bool truncate = true;
  cq_status status = read_number(&factor, r, "factor", -1);
  if (!status) status = read_number(&fast, r, "beta_fast", 32);
  if (!status) status = read_number(&slow, r, "beta_slow", 1);
  if (!status) status = read_number(&length, r, "original_max_position_embeddings", (double)r->n_positions);
  if (!status) status = cq_json_get_number(&attention, r->json, "attention_factor", r->path, r->error);
  if (!status) status = cq_json_get_number(&by, r->json, "mscale", r->path, r->error);
  if (!status) status = cq_json_get_number(&by_all, r->json, "mscale_all_dim", r->path, r->error);
  if (!status) status = cq_json_get_bool(&truncate, r->json, "truncate", r->path, r->error);
  if (status) return status;
  double low = pair_of_turns(r, fast, length), high = pair_of_turns(r, slow, length);
  if (truncate) low = floor(low), high = ceil(high);
  low = fmax(low, 0);
  high = fmin(high, (double)(r->head_dim - 1));
  if (low == high) high += 0.001;
  for (int64_t i = 0; i < r->half; i++) {
    const double inverse = r->inverse[i];
    double share = ((double)i - low) / (high - low); /* of what is stretched */
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    r->inverse[i] = (float)(share * inverse / factor + (1 - share) * inverse);
  }
  r->out->magnitude = (float)(attention > 0          ? attention
                              : by > 0 && by_all > 0 ? scale_of(factor, by) / scale_of(factor, by_all)
                                                     : scale_of(factor, 1));
  return CQ_OK;
}

static const struct {
  const char *name;
  cq_status (*scale)(const rope *r);
} kinds[] = {{"default", scale_default}, {"linear", scale_linear}, {"llama3", scale_llama3}, {"yarn", scale_yarn}};

/* The object with theta and the kind, and the key of theta in config.json itself. */
static const json_t *find_object(const json_t *config, const cq_rope_wish *wish) {
  const json_t *parameters = json_object_get(config, "rope_parameters");
  const json_t *own = wish->layer_type ? json_object_get(parameters, wish->layer_type) : NULL;
  if (own) return own;
  if (parameters && !json_is_null(parameters)) return parameters;
  return wish->scaled ? json_object_get(config, "rope_scaling") : NULL;
}

cq_status cq_rope_read(cq_rotary *out, const json_t *config, const cq_rope_wish *wish, cq_arena *arena,
                       const char *path, cq_error *error) {
  rope r = {.out = out,
            .json = find_object(config, wish),
            .theta = wish->theta,
            .head_dim = wish->head_dim,
            .n_positions = wish->n_positions,
            .path = path,
            .error = error};
  const char *kind = "default";
  double partial = 1;
  if (r.json && !json_is_null(r.json) && !json_is_object(r.json))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "the rotary positions' parameters are not an object");
  cq_status status = cq_json_get_number(&r.theta, config, wish->theta_key, path, error);
  if (!status) status = cq_json_get_number(&r.theta, r.json, "rope_theta", path, error);
  if (!status) status = cq_json_get_number(&partial, config, "partial_rotary_factor", path, error);
  if (!status) status = cq_json_get_number(&partial, r.json, "partial_rotary_factor", path, error);
  if (!status) status = cq_json_get_string(&kind, r.json, "type", path, error); /* its old name */
  if (!status) status = cq_json_get_string(&kind, r.json, "rope_type", path, error);
  if (status) return status;
  if (!(r.theta > 1 && r.theta < 1e12))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "rope_theta is %g, expected above 1", r.theta);
  if (partial != 1)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "partial_rotary_factor %g is not supported (1 is)", partial);
  r.half = wish->head_dim / 2;
  r.inverse = cq_arena_array(arena, (size_t)r.half, sizeof(float));
  *out = (cq_rotary){.n_turned = wish->head_dim, .frequencies = r.inverse, .magnitude = 1};
  if (!r.inverse) return cq_fail_memory(error, "rotary positions");
  for (int64_t i = 0; i < r.half; i++) r.inverse[i] = 1 / powf((float)r.theta, (float)(2 * i) / (float)wish->head_dim);
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    if (!strcmp(kind, kinds[k].name)) return kinds[k].scale(&r);
  return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path,
                      "rope_type '%s' is not supported (default, linear, llama3 and yarn are)", kind);
}
