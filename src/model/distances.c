/* Reads DeBERTa's distance settings from config.json. See distances.h. */
#include "model/distances.h"

#include "base/error.h"
#include "format/json.h"

#include <string.h>

static cq_status read_term(cq_distance_sizes *out, const char *text, size_t n, const char *path, cq_error *error) {
  while (n > 0 && *text == ' ') text++, n--;
  while (n > 0 && text[n - 1] == ' ') n--;
  if (n == 3 && !strncmp(text, "c2p", 3))
    out->c2p = true;
  else if (n == 3 && !strncmp(text, "p2c", 3))
    out->p2c = true;
  else
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "pos_att_type '%.*s' is not supported (c2p and p2c are)",
                        (int)n, text);
  return CQ_OK;
}

/* ["p2c", "c2p"], or "p2c|c2p" in older files. */
static cq_status read_terms(cq_distance_sizes *out, const json_t *config, const char *path, cq_error *error) {
  const json_t *terms = json_object_get(config, "pos_att_type");
  cq_status status = CQ_OK;
  if (json_is_string(terms)) {
    for (const char *at = json_string_value(terms); !status && at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
      status = read_term(out, at, strcspn(at, "|"), path, error);
    return status;
  }
  if (terms && !json_is_null(terms) && !json_is_array(terms))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "key 'pos_att_type' is not a list");
  for (size_t i = 0; !status && i < json_array_size(terms); i++) {
    const char *term = json_string_value(json_array_get(terms, i));
    if (!term) return cq_fail_file(error, CQ_ERR_FORMAT, path, "item %zu of 'pos_att_type' is not a string", i + 1);
    status = read_term(out, term, strlen(term), path, error);
  }
  return status;
}

cq_status cq_distance_sizes_read(cq_distance_sizes *out, const json_t *config, int64_t dim, int64_t n_positions,
                                 const char *path, cq_error *error) {
  int64_t n_buckets = -1, max = -1, kernel = 0, embedding_dim = dim;
  const char *norm = "none";
  *out = (cq_distance_sizes){.positions_in_input = true};
  cq_status status = cq_json_get_bool(&out->relative, config, "relative_attention", path, error);
  if (!status) status = cq_json_get_bool(&out->shared, config, "share_att_key", path, error);
  if (!status) status = cq_json_get_bool(&out->positions_in_input, config, "position_biased_input", path, error);
  if (!status) status = cq_json_get_int(&n_buckets, config, "position_buckets", -1, 1 << 20, path, error);
  if (!status) status = cq_json_get_int(&max, config, "max_relative_positions", -1, 1 << 20, path, error);
  if (!status) status = cq_json_get_int(&kernel, config, "conv_kernel_size", 0, INT32_MAX, path, error);
  if (!status) status = cq_json_get_int(&embedding_dim, config, "embedding_size", 1, INT32_MAX, path, error);
  if (!status) status = cq_json_get_string(&norm, config, "norm_rel_ebd", path, error);
  if (!status) status = read_terms(out, config, path, error);
  if (status) return status;
  if (kernel > 0)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "conv_kernel_size %lld: a convolution is not supported",
                        (long long)kernel);
  if (embedding_dim != dim)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "embedding_size %lld other than hidden_size %lld",
                        (long long)embedding_dim, (long long)dim);
  if (max < 1) max = n_positions;
  out->normed = strstr(norm, "layer_norm") != NULL;
  out->span = n_buckets > 0 ? n_buckets : max;
  out->max = n_buckets > 0 ? max : 0;
  if (out->relative && n_buckets > 0 && (n_buckets < 4 || max <= n_buckets / 2 + 1))
    return cq_fail_file(error, CQ_ERR_FORMAT, path,
                        "position_buckets %lld, expected at least 4 and less than twice max_relative_positions %lld",
                        (long long)n_buckets, (long long)max);
  return CQ_OK;
}
