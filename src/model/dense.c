/* Dense: y = activation(x W^T + b) on sentence vectors.
 *
 *   config.json        {"in_features", "out_features", "bias", "activation_function": "torch.nn.modules.activation.Tanh"}
 *   model.safetensors  linear.weight [out, in], linear.bias [out] */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "format/json.h"
#include "model/modules.h"
#include "nn/linear.h"

#include <math.h>

#include <string.h>

typedef struct dense {
  cq_module base;
  cq_weights *weights; /* the mapped file that the parameters borrow from; NULL for a new module */
  cq_param params[2];
  cq_linear linear;
  const struct activation_name *activation;
} dense;

static const struct activation_name {
  const char *path; /* as PyTorch calls the class */
  cq_activation activation;
} activation_names[] = {
    {"torch.nn.modules.linear.Identity", CQ_IDENTITY},   {"torch.nn.modules.activation.Tanh", CQ_TANH},
    {"torch.nn.modules.activation.ReLU", CQ_RELU},       {"torch.nn.modules.activation.GELU", CQ_GELU},
    {"torch.nn.modules.activation.Sigmoid", CQ_SIGMOID}, {"torch.nn.modules.activation.SiLU", CQ_SILU},
};
#define N_ACTIVATIONS (sizeof activation_names / sizeof *activation_names)

/* --- opening and saving --- */

static const struct activation_name *activation_of(const char *path) {
  const char *last = strrchr(path, '.');
  if (strncmp(path, "torch.", 6) != 0 || !last) return NULL;
  for (size_t i = 0; i < N_ACTIVATIONS; i++)
    if (strcmp(strrchr(activation_names[i].path, '.'), last) == 0) return &activation_names[i];
  return NULL;
}

/* Keys that newer versions write; only their default values are accepted. */
static cq_status check_other_keys(json_t *config, const char *path, cq_error *error) {
  static const char *const known[] = {"in_features", "out_features", "bias", "activation_function"};
  const char *key;
  json_t *value;
  json_object_foreach(config, key, value) {
    bool fine = json_is_null(value);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) fine = fine || strcmp(key, known[i]) == 0;
    if (strcmp(key, "module_input_name") == 0 || strcmp(key, "module_output_name") == 0)
      fine = fine || (json_is_string(value) && strcmp(json_string_value(value), "sentence_embedding") == 0);
    if (strcmp(key, "use_residual") == 0) fine = fine || json_is_false(value);
    if (!fine) return cq_unsupported_key(path, key, value, error);
  }
  return CQ_OK;
}

static dense *dense_make(cq_arena *arena) {
  dense *d = cq_arena_alloc(arena, sizeof *d);
  if (!d) return NULL;
  *d = (dense){.base = {.type = &cq_dense_type, .output_is_sentence = true}};
  d->base.params = d->params;
  d->linear.weight = &d->params[0];
  return d;
}

static void use_bias(dense *d, bool bias) {
  d->base.n_params = bias ? 2 : 1;
  d->base.n_pack_parts = 1;
  d->linear.bias = bias ? &d->params[1] : NULL;
}

cq_status cq_dense_new(cq_module **out, int64_t in, int64_t out_dim, cq_activation activation, const char *path,
                       cq_random *random, cq_arena *arena, cq_error *error) {
  dense *d = dense_make(arena);
  cq_param *weight, *bias;
  if (!d) return cq_fail_memory(error, "a dense module");
  d->base.path = path;
  d->base.output_dim = out_dim;
  use_bias(d, true);
  weight = &d->params[0], bias = &d->params[1];
  *weight = (cq_param){.name = "linear.weight", .rows = out_dim, .cols = in, .n_dims = 2, .decay = true};
  *bias = (cq_param){.name = "linear.bias", .rows = 1, .cols = out_dim, .n_dims = 1};
  cq_status status;
  double bound = 1.0 / sqrt((double)in); /* PyTorch's initialization of a Linear: both uniform in +-1 / sqrt(in) */
  if ((status = cq_param_uniform(weight, bound, random, arena, error)) ||
      (status = cq_param_uniform(bias, bound, random, arena, error)))
    return status;
  for (size_t i = 0; i < N_ACTIVATIONS; i++)
    if (activation_names[i].activation == activation) d->activation = &activation_names[i];
  if (!d->activation) return cq_fail(error, CQ_ERR_ARGUMENT, "a dense module cannot have this activation");
  *out = &d->base;
  return CQ_OK;
}

cq_activation cq_dense_activation(const cq_module *module) {
  return ((const dense *)module)->activation->activation;
}

static void dense_free(cq_module *module) {
  dense *d = (dense *)module;
  cq_linear_free(&d->linear);
  cq_weights_close(d->weights);
}

static cq_status dense_open(cq_module **out, const cq_module_source *source, cq_error *error) {
  static const char *const weight_names[] = {"linear.weight", NULL}, *const bias_names[] = {"linear.bias", NULL};
  char path[4096];
  json_t *config;
  int64_t in = 0, n_out = 0;
  bool bias = true;
  const char *activation = NULL;
  dense *d = dense_make(source->arena);
  if (!d) return cq_fail_memory(error, "a dense module");
  *out = &d->base;
  cq_status status = cq_json_open(&config, path, sizeof path, source->directory, "config.json", error);
  if (!status) status = check_other_keys(config, path, error);
  if (!status) status = cq_json_get_int(&in, config, "in_features", 1, INT32_MAX, path, error);
  if (!status) status = cq_json_get_int(&n_out, config, "out_features", 1, INT32_MAX, path, error);
  if (!status) status = cq_json_get_bool(&bias, config, "bias", path, error);
  if (!status) status = cq_json_get_string(&activation, config, "activation_function", path, error);
  if (!status && (!source->input_is_sentence || in != source->input_dim || n_out == 0))
    status = cq_fail_file(error, CQ_ERR_FORMAT, path,
                          "maps %lld dimensions of a sentence vector to %lld, the module before gives %lld of a %s",
                          (long long)in, (long long)n_out, (long long)source->input_dim,
                          source->input_is_sentence ? "sentence vector" : "token");
  if (!status && !activation) {
    activation = "torch.nn.modules.activation.Tanh"; /* as sentence-transformers */
    if (source->notice) source->notice(source->notice_context, "a Dense module names no activation_function: Tanh");
  }
  if (!status && !(d->activation = activation_of(activation)))
    status = cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "activation_function '%s' is not known", activation);
  json_decref(config);
  if (status) return status;
  use_bias(d, bias);
  d->base.output_dim = n_out;
  status = cq_weights_open(&d->weights, source->directory, error);
  if (!status)
    status = cq_weights_take_narrow(&d->params[0], d->weights, weight_names, n_out, in, source->arena, error);
  if (!status && bias) status = cq_weights_take(&d->params[1], d->weights, bias_names, n_out, 0, source->arena, error);
  return status ? status : cq_weights_all_taken(d->weights, NULL, error);
}

static cq_status dense_save(const cq_module *module, cq_dtype weights, const char *directory, cq_error *error) {
  const dense *d = (const dense *)module;
  json_t *config = json_pack("{s:I, s:I, s:b, s:s}", "in_features", (json_int_t)d->params[0].cols, "out_features",
                             (json_int_t)d->params[0].rows, "bias", d->linear.bias != NULL, "activation_function",
                             d->activation->path);
  cq_status status = cq_json_save(config, directory, "config.json", error);
  return status ? status : cq_weights_save(d->params, d->base.n_params, weights, directory, error);
}

static void dense_describe(const cq_module *module, json_t **object) {
  const dense *d = (const dense *)module;
  cq_json_set(object, "in_features", json_integer(d->params[0].cols));
  cq_json_set(object, "out_features", json_integer(d->params[0].rows));
  cq_json_set(object, "bias", json_boolean(d->linear.bias != NULL));
  cq_json_set(object, "activation", json_string(strrchr(d->activation->path, '.') + 1));
}

/* A row a sentence, always computed in f32, however it is stored. */
static cq_status dense_pack(cq_module *module, size_t part, const cq_packing *packing, cq_error *error) {
  const cq_packing exact = {packing->kernels, CQ_PRECISION_F32, packing->training};
  (void)part;
  return cq_linear_pack(&((dense *)module)->linear, &exact, error);
}

/* --- running --- */

static cq_status dense_forward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                               cq_tensor *y, void **saved, cq_error *error) {
  const dense *d = (const dense *)module;
  cq_tensor before = {0};
  (void)batch;
  *y = cq_workspace_f32(&worker->workspace, x.rows, d->base.output_dim);
  if (saved && d->activation->activation != CQ_IDENTITY) {
    before = cq_workspace_f32(&worker->workspace, x.rows, d->base.output_dim);
    if (!before.data) return cq_fail_memory(error, "a dense module's tape");
  }
  if (!y->data) return cq_fail_memory(error, "sentence vectors");
  if (saved) *saved = before.data;
  return cq_linear_forward(worker, &d->linear, *y, x, d->activation->activation, before, error);
}

static cq_status dense_backward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                                cq_tensor dy, cq_tensor *dx, const void *saved, cq_gradients *gradients,
                                cq_error *error) {
  const dense *d = (const dense *)module;
  (void)batch;
  assert(cq_is_dense(dy));
  if (saved)
    worker->kernels->activate_backward(cq_f32(dy), cq_f32(dy), saved, dy.rows * dy.cols, d->activation->activation);
  return cq_linear_backward(worker, &d->linear, gradients, *dx, false, dy, x, error);
}

const cq_module_type cq_dense_type = {
    .name = "Dense",
    .type_name = "sentence_transformers.models.Dense",
    .is_projection = true,
    .open = dense_open,
    .save = dense_save,
    .describe = dense_describe,
    .pack = dense_pack,
    .forward = dense_forward,
    .backward = dense_backward,
    .free = dense_free,
};
