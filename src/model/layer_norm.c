/* LayerNorm on sentence vectors.
 *
 *   config.json        {"dimension": 384}
 *   model.safetensors  norm.weight, norm.bias [dim] */
#include "base/error.h"
#include "base/file.h"
#include "format/json.h"
#include "model/modules.h"
#include "nn/norm.h"

typedef struct layer_norm {
  cq_module base;
  cq_weights *weights;
  cq_param params[2];
  cq_norm norm;
} layer_norm;

static void layer_norm_free(cq_module *module) {
  cq_weights_close(((layer_norm *)module)->weights);
}

static cq_status layer_norm_open(cq_module **out, const cq_module_source *source, cq_error *error) {
  static const char *const gamma[] = {"norm.weight", NULL}, *const beta[] = {"norm.bias", NULL};
  char path[4096];
  json_t *config = NULL;
  int64_t dim = 0;
  layer_norm *l = cq_arena_alloc(source->arena, sizeof *l);
  if (!l) return cq_fail_memory(error, "a layer norm");
  *l = (layer_norm){.base = {.type = &cq_layer_norm_type, .output_is_sentence = true, .n_params = 2}};
  l->base.params = l->params;
  l->norm = (cq_norm){.gamma = &l->params[0], .beta = &l->params[1], .eps = CQ_LAYER_NORM_EPS};
  *out = &l->base;
  cq_status status = cq_json_open(&config, path, sizeof path, source->directory, "config.json", error);
  if (!status) status = cq_json_get_int(&dim, config, "dimension", 1, INT32_MAX, path, error);
  json_decref(config);
  if (status) return status;
  if (!source->input_is_sentence)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "LayerNorm on tokens, before any pooling");
  if (dim != source->input_dim)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "dimension is %lld, the module before gives %lld", (long long)dim,
                        (long long)source->input_dim);
  l->base.output_dim = dim;
  status = cq_weights_open(&l->weights, source->directory, error);
  if (!status) status = cq_weights_take(&l->params[0], l->weights, gamma, dim, 0, source->arena, error);
  if (!status) status = cq_weights_take(&l->params[1], l->weights, beta, dim, 0, source->arena, error);
  return status ? status : cq_weights_all_taken(l->weights, NULL, error);
}

static cq_status layer_norm_save(const cq_module *module, cq_dtype weights, const char *directory, cq_error *error) {
  cq_status status =
      cq_json_save(json_pack("{s:I}", "dimension", (json_int_t)module->output_dim), directory, "config.json", error);
  return status ? status : cq_weights_save(module->params, module->n_params, weights, directory, error);
}

static cq_status layer_norm_forward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                                    cq_tensor *y, void **saved, cq_error *error) {
  cq_norm_saved *keep = NULL;
  (void)batch;
  *y = cq_workspace_f32(&worker->workspace, x.rows, x.cols);
  if (saved) *saved = keep = cq_workspace_take(&worker->workspace, sizeof *keep);
  if (!y->data || (saved && !keep)) return cq_fail_memory(error, "sentence vectors");
  return cq_norm_forward(worker, &((const layer_norm *)module)->norm, *y, x, (cq_tensor){0}, keep, error);
}

static cq_status layer_norm_backward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                                     cq_tensor dy, cq_tensor *dx, const void *saved, cq_gradients *gradients,
                                     cq_error *error) {
  (void)batch, (void)x, (void)error;
  assert(cq_is_dense(dy) && cq_is_dense(*dx));
  cq_norm_backward(worker, &((const layer_norm *)module)->norm, gradients, *dx, dy, saved);
  return CQ_OK;
}

const cq_module_type cq_layer_norm_type = {
    .name = "LayerNorm",
    .type_name = "sentence_transformers.models.LayerNorm",
    .open = layer_norm_open,
    .save = layer_norm_save,
    .forward = layer_norm_forward,
    .backward = layer_norm_backward,
    .free = layer_norm_free,
};
