/* Which layers of a decoder use a sliding window: sliding_window and layer_types of config.json. */
#include "model/families/family.h"

#include "base/error.h"
#include "format/json.h"

#include <string.h>

cq_status cq_plan_window(int64_t *out, const cq_config_source *config, cq_error *error) {
  *out = json_is_null(json_object_get(config->json, "sliding_window")) ? 0 : 4096;
  return cq_json_get_int(out, config->json, "sliding_window", 1, INT32_MAX, config->path, error);
}

cq_status cq_plan_layer_types(cq_plan *plan, const cq_config_source *config, int64_t window, cq_error *error) {
  const json_t *types = json_object_get(config->json, "layer_types");
  for (int64_t i = 0; json_is_array(types) && i < plan->n_layers; i++) {
    const char *type = json_string_value(json_array_get(types, (size_t)i));
    if (!type)
      return cq_fail_file(error, CQ_ERR_FORMAT, config->path, "layer_types has no string for layer %lld", (long long)i);
    const bool is_local = strcmp(type, "sliding_attention") == 0;
    if (!is_local && strcmp(type, "full_attention") != 0)
      return cq_fail_file(error, CQ_ERR_UNSUPPORTED, config->path,
                          "layer_types: '%s' is not supported (full_attention and sliding_attention are)", type);
    plan->layers[i].window = is_local ? window : 0;
  }
  return CQ_OK;
}
