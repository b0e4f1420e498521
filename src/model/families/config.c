/* Reads the values of config.json that all transformers share. See config.h. */
#include "model/families/config.h"

#include "base/error.h"
#include "format/json.h"

#include <string.h>

cq_status cq_config_activation(cq_activation *out, const json_t *config, const char *key, const char *otherwise,
                               const char *path, cq_error *error) {
  static const struct {
    const char *name;
    cq_activation activation;
  } known[] = {{"gelu", CQ_GELU},           {"gelu_new", CQ_GELU_TANH}, {"gelu_pytorch_tanh", CQ_GELU_TANH},
               {"gelu_fast", CQ_GELU_TANH}, {"relu", CQ_RELU},          {"tanh", CQ_TANH},
               {"silu", CQ_SILU},           {"swish", CQ_SILU}};
  const char *name = otherwise;
  const cq_status status = key ? cq_json_get_string(&name, config, key, path, error) : CQ_OK;
  if (status) return status;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (!strcmp(known[i].name, name)) {
      *out = known[i].activation;
      return CQ_OK;
    }
  }
  return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "activation '%s' of key '%s' is not supported", name, key);
}

cq_status cq_config_integers(const cq_config_integer *wanted, size_t n, const json_t *config, const char *path,
                             cq_error *error) {
  for (const cq_config_integer *w = wanted; w < wanted + n; w++) {
    if (!w->key) continue;
    const cq_status status = cq_json_get_int(w->value, config, w->key, w->min, w->max, path, error);
    if (status) return status;
    if (w->required && !cq_json_has(config, w->key))
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "key '%s' is missing", w->key);
  }
  return CQ_OK;
}

cq_status cq_config_rate(double *out, const json_t *config, const char *key, const char *path, cq_error *error) {
  if (!key) return CQ_OK;
  const cq_status status = cq_json_get_number(out, config, key, path, error);
  if (status || (*out >= 0 && *out < 1)) return status;
  return cq_fail_file(error, CQ_ERR_FORMAT, path, "key '%s' is %g, expected 0 to less than 1", key, *out);
}
