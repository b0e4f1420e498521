/* WeightedLayerPooling: a token's vector is a weighted mean of the outputs of a Transformer's layers.
 *
 *   config.json        {"embedding_dimension" | "word_embedding_dimension", "layer_start", "num_hidden_layers"}
 *   model.safetensors  layer_weights [num_hidden_layers + 1 - layer_start]: for embeddings (0) and layers (1...)
 *
 * The Transformer before it computes the mean layer by layer, so that not all outputs must be kept. For encoding only;
 * there is no gradient. */
#include "base/error.h"
#include "base/file.h"
#include "format/json.h"
#include "model/module.h"
#include "model/transformer_module.h"

typedef struct weighted_layers {
  cq_module base;
  cq_weights *weights;
  cq_param param;
  int64_t layer_start, n_layers;
} weighted_layers;

static void weighted_layers_free(cq_module *module) {
  cq_weights_close(((weighted_layers *)module)->weights);
}

static cq_status read_config(weighted_layers *l, int64_t *dim, char *path, size_t size, const char *directory,
                             cq_error *error) {
  json_t *config;
  cq_status status = cq_json_open(&config, path, size, directory, "config.json", error);
  if (status) return status;
  l->layer_start = 4, l->n_layers = 12; /* as sentence-transformers */
  status = cq_json_get_int(dim, config, "word_embedding_dimension", 1, INT32_MAX, path, error);
  if (!status) status = cq_json_get_int(dim, config, "embedding_dimension", 1, INT32_MAX, path, error);
  if (!status) status = cq_json_get_int(&l->n_layers, config, "num_hidden_layers", 0, 1 << 20, path, error);
  if (!status) status = cq_json_get_int(&l->layer_start, config, "layer_start", 0, l->n_layers, path, error);
  json_decref(config);
  return status;
}

static cq_status weighted_layers_open(cq_module **out, const cq_module_source *source, cq_error *error) {
  static const char *const names[] = {"layer_weights", NULL};
  char path[4096];
  int64_t dim = 0;
  weighted_layers *l = cq_arena_alloc(source->arena, sizeof *l);
  if (!l) return cq_fail_memory(error, "a pooling of layers");
  *l = (weighted_layers){.base = {.type = &cq_weighted_layers_type, .n_params = 1}};
  l->base.params = &l->param;
  *out = &l->base;
  cq_status status = read_config(l, &dim, path, sizeof path, source->directory, error);
  if (status) return status;
  if (!source->before || !source->before->type->has_body)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "WeightedLayerPooling anywhere but after a Transformer");
  cq_transformer *t = (cq_transformer *)source->before;
  if (!json_is_true(json_object_get(t->config, "output_hidden_states")))
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path,
                        "the Transformer's config.json does not say \"output_hidden_states\": true, without which "
                        "sentence-transformers leaves this module out");
  if (t->is_stack)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path,
                        "WeightedLayerPooling is read after BERT-like models, not after model_type '%s'",
                        json_string_value(json_object_get(t->config, "model_type")));
  if (dim != t->dim || l->n_layers != cq_transformer_depth(t))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "%lld layers of %lld dimensions, the Transformer has %lld of %lld",
                        (long long)l->n_layers, (long long)dim, (long long)cq_transformer_depth(t), (long long)t->dim);
  l->base.output_dim = dim;
  status = cq_weights_open(&l->weights, source->directory, error);
  if (!status)
    status = cq_weights_take(&l->param, l->weights, names, l->n_layers + 1 - l->layer_start, 0, source->arena, error);
  if (!status) status = cq_weights_all_taken(l->weights, NULL, error);
  if (status) return status;
  l->param.frozen = true;
  double sum = 0;
  for (int64_t i = 0; i < l->param.cols; i++) sum += (double)l->param.value[i];
  if (sum == 0) return cq_fail_file(error, CQ_ERR_FORMAT, path, "the layers' weights sum to 0");
  t->mixture = (cq_layer_mixture){.weights = l->param.value, .first = l->layer_start, .sum = (float)sum};
  return CQ_OK;
}

static cq_status weighted_layers_save(const cq_module *module, cq_dtype weights, const char *directory,
                                      cq_error *error) {
  const weighted_layers *l = (const weighted_layers *)module;
  json_t *config = json_pack("{s:I, s:I, s:I}", "word_embedding_dimension", (json_int_t)module->output_dim,
                             "layer_start", (json_int_t)l->layer_start, "num_hidden_layers", (json_int_t)l->n_layers);
  cq_status status = cq_json_save(config, directory, "config.json", error);
  return status ? status : cq_weights_save(module->params, 1, weights, directory, error);
}

static void weighted_layers_describe(const cq_module *module, json_t **object) {
  cq_json_set(object, "layer_start", json_integer(((const weighted_layers *)module)->layer_start));
}

/* The Transformer has done it. */
static cq_status weighted_layers_forward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                                         cq_tensor *y, void **saved, cq_error *error) {
  (void)worker, (void)module, (void)batch, (void)saved, (void)error;
  *y = x;
  return CQ_OK;
}

const cq_module_type cq_weighted_layers_type = {
    .name = "WeightedLayerPooling",
    .type_name = "sentence_transformers.models.WeightedLayerPooling",
    .open = weighted_layers_open,
    .save = weighted_layers_save,
    .describe = weighted_layers_describe,
    .forward = weighted_layers_forward,
    .free = weighted_layers_free,
};
