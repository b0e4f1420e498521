/* Normalize: scales each sentence vector to length 1. Its directory is often empty, and often missing for that
 * reason. */
#include "base/error.h"
#include "base/file.h"
#include "format/json.h"
#include "model/modules.h"

#include <string.h>

cq_status cq_normalize_new(cq_module **out, int64_t dim, const char *path, cq_arena *arena, cq_error *error) {
  cq_module *m = cq_arena_alloc(arena, sizeof *m);
  if (!m) return cq_fail_memory(error, "a normalize module");
  *m = (cq_module){.type = &cq_normalize_type, .path = path, .output_dim = dim, .output_is_sentence = true};
  *out = m;
  return CQ_OK;
}

static cq_status check_config(const char *path, cq_error *error) {
  json_t *config = NULL, *value;
  const char *key;
  cq_status status = cq_json_read(&config, path, error);
  if (status) return status;
  json_object_foreach(config, key, value) {
    bool name = strcmp(key, "module_input_name") == 0 || strcmp(key, "module_output_name") == 0;
    if (name && json_is_string(value) && strcmp(json_string_value(value), "sentence_embedding") == 0) continue;
    if (json_is_null(value)) continue;
    status = cq_fail_file(error, CQ_ERR_UNSUPPORTED, path,
                          name ? "'%s' is not \"sentence_embedding\"" : "key '%s' is not known", key);
    break;
  }
  json_decref(config);
  return status;
}

static cq_status normalize_open(cq_module **out, const cq_module_source *source, cq_error *error) {
  char path[4096];
  cq_status status = cq_path_join(path, sizeof path, source->directory, "config.json", error);
  if (status) return status;
  if (cq_file_exists(path) && (status = check_config(path, error))) return status;
  if (!source->input_is_sentence)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, source->directory, "Normalize on tokens, before any pooling");
  return cq_normalize_new(out, source->input_dim, NULL, source->arena, error);
}

typedef struct normalize_saved {
  cq_tensor y;
  float *length; /* [n_seqs] */
} normalize_saved;

static cq_status normalize_forward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                                   cq_tensor *y, void **saved, cq_error *error) {
  (void)module, (void)batch;
  assert(cq_is_dense(x));
  normalize_saved *keep = NULL;
  *y = cq_workspace_f32(&worker->workspace, x.rows, x.cols);
  if (!y->data) return cq_fail_memory(error, "sentence vectors");
  if (saved) {
    *saved = keep = cq_workspace_take(&worker->workspace, sizeof *keep);
    if (!keep) return cq_fail_memory(error, "a normalize module's tape");
    *keep = (normalize_saved){*y, cq_workspace_take(&worker->workspace, (size_t)x.rows * sizeof(float))};
    if (!keep->length) return cq_fail_memory(error, "a normalize module's tape");
  }
  worker->kernels->normalize(cq_f32(*y), keep ? keep->length : NULL, cq_f32(x), x.rows, x.cols);
  return CQ_OK;
}

static cq_status normalize_backward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                                    cq_tensor dy, cq_tensor *dx, const void *saved, cq_gradients *gradients,
                                    cq_error *error) {
  const normalize_saved *keep = saved;
  (void)module, (void)batch, (void)x, (void)gradients, (void)error;
  assert(cq_is_dense(dy) && (!dx->data || cq_is_dense(*dx)));
  if (dx->data)
    worker->kernels->normalize_backward(cq_f32(*dx), cq_f32(dy), cq_f32(keep->y), keep->length, dy.rows, dy.cols);
  return CQ_OK;
}

const cq_module_type cq_normalize_type = {
    .name = "Normalize",
    .type_name = "sentence_transformers.models.Normalize",
    .has_unit_length = true,
    .open = normalize_open,
    .forward = normalize_forward,
    .backward = normalize_backward,
};
