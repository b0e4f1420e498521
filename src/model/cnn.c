/* CNN: convolutions of several widths over tokens' vectors, with concatenated outputs.
 *
 *   cnn_config.json    {"in_embedding_dimension" | "in_word_embedding_dimension", "out_channels", "kernel_sizes",
 *                       "stride_sizes"}
 *   model.safetensors  convs.<i>.weight [out, in, width], convs.<i>.bias [out]
 *
 *   y[t, o] = bias[o] + sum over c, d of weight[o, c, d] x[t + d - (width - 1) / 2, c],   zeros outside of the sentence
 *
 * This is a linear layer on windows of the sentence, [n_tokens, in * width]. Other sentences in the batch have no
 * influence: the result equals that of sentence-transformers for a batch without padding. */
#include "base/error.h"
#include "base/file.h"
#include "format/json.h"
#include "model/module.h"
#include "nn/linear.h"

#include <string.h>

enum { MAX_CONVOLUTIONS = 64, MAX_WIDTH = 255 };

typedef struct cnn {
  cq_module base;
  cq_weights *weights;
  int64_t in, out;
  int64_t widths[MAX_CONVOLUTIONS];
  int64_t n;
  cq_linear *layers; /* [n] */
} cnn;

/* --- opening and saving --- */

static void cnn_free(cq_module *module) {
  cnn *c = (cnn *)module;
  for (int64_t i = 0; c->layers && i < c->n; i++) cq_linear_free(&c->layers[i]);
  cq_weights_close(c->weights);
}

/* Widths are odd and strides 1: anything else changes the number of tokens. */
static cq_status read_widths(cnn *c, const json_t *config, const char *path, cq_error *error) {
  const json_t *sizes = json_object_get(config, "kernel_sizes"), *strides = json_object_get(config, "stride_sizes");
  static const int64_t usual[] = {1, 3, 5}; /* as sentence-transformers */
  if (sizes && (!json_is_array(sizes) || json_array_size(sizes) == 0 || json_array_size(sizes) > MAX_CONVOLUTIONS))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "'kernel_sizes' is not a list of 1 to %d numbers",
                        MAX_CONVOLUTIONS);
  c->n = sizes ? (int64_t)json_array_size(sizes) : 3;
  if (strides && !json_is_null(strides) && (!json_is_array(strides) || (int64_t)json_array_size(strides) < c->n))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "'stride_sizes' does not have a number for each of 'kernel_sizes'");
  for (int64_t i = 0; i < c->n; i++) {
    const json_t *size = json_array_get(sizes, (size_t)i), *stride = json_array_get(strides, (size_t)i);
    c->widths[i] = sizes ? json_integer_value(size) : usual[i];
    if (c->widths[i] < 1 || c->widths[i] > MAX_WIDTH)
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "kernel size %lld of 'kernel_sizes', expected 1 to %d",
                          (long long)c->widths[i], MAX_WIDTH);
    if (c->widths[i] % 2 == 0)
      return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path,
                          "kernel size %lld of 'kernel_sizes': only odd ones give a vector for each token",
                          (long long)c->widths[i]);
    if (stride && json_integer_value(stride) != 1) return cq_unsupported_key(path, "stride_sizes", strides, error);
  }
  return CQ_OK;
}

static cq_status take_layers(cnn *c, cq_arena *arena, cq_error *error) {
  c->layers = cq_arena_array_zeroed(arena, (size_t)c->n, sizeof *c->layers);
  c->base.params = cq_arena_array_zeroed(arena, (size_t)c->n, 2 * sizeof *c->base.params);
  if (!c->layers || !c->base.params) return cq_fail_memory(error, "a CNN");
  c->base.n_params = 2 * (size_t)c->n;
  c->base.n_pack_parts = (size_t)c->n;
  for (int64_t i = 0; i < c->n; i++) {
    char weight[64], bias[64];
    c->layers[i] = (cq_linear){.weight = &c->base.params[2 * i], .bias = &c->base.params[2 * i + 1]};
    snprintf(weight, sizeof weight, "convs.%lld.weight", (long long)i);
    snprintf(bias, sizeof bias, "convs.%lld.bias", (long long)i);
    cq_status status =
        cq_weights_take_windows(c->layers[i].weight, c->weights, weight, c->out, c->in, c->widths[i], arena, error);
    if (!status)
      status =
          cq_weights_take(c->layers[i].bias, c->weights, (const char *const[]){bias, NULL}, c->out, 0, arena, error);
    if (status) return status;
  }
  return cq_weights_all_taken(c->weights, NULL, error);
}

static cq_status cnn_open(cq_module **out, const cq_module_source *source, cq_error *error) {
  char path[4096];
  json_t *config = NULL;
  cnn *c = cq_arena_alloc(source->arena, sizeof *c);
  if (!c) return cq_fail_memory(error, "a CNN");
  *c = (cnn){.base = {.type = &cq_cnn_type}, .out = 256 /* as sentence-transformers */};
  *out = &c->base;
  cq_status status = cq_json_open(&config, path, sizeof path, source->directory, "cnn_config.json", error);
  if (!status) status = cq_json_get_int(&c->in, config, "in_word_embedding_dimension", 1, 1 << 20, path, error);
  if (!status) status = cq_json_get_int(&c->in, config, "in_embedding_dimension", 1, 1 << 20, path, error);
  if (!status) status = cq_json_get_int(&c->out, config, "out_channels", 1, 1 << 20, path, error);
  if (!status) status = read_widths(c, config, path, error);
  json_decref(config);
  if (status) return status;
  if (source->input_is_sentence || c->in != source->input_dim)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "expects tokens of %lld dimensions, the module before gives %lld",
                        (long long)c->in, (long long)source->input_dim);
  c->base.output_dim = c->n * c->out;
  status = cq_weights_open(&c->weights, source->directory, error);
  return status ? status : take_layers(c, source->arena, error);
}

static json_t *cnn_config(const cnn *c) {
  json_t *sizes = json_array(), *strides = json_array();
  for (int64_t i = 0; i < c->n; i++) {
    cq_json_push(&sizes, json_integer(c->widths[i]));
    cq_json_push(&strides, json_integer(1));
  }
  return json_pack("{s:I, s:I, s:o, s:o}", "in_word_embedding_dimension", (json_int_t)c->in, "out_channels",
                   (json_int_t)c->out, "kernel_sizes", sizes, "stride_sizes", strides);
}

static cq_status cnn_save(const cq_module *module, cq_dtype weights, const char *directory, cq_error *error) {
  const cnn *c = (const cnn *)module;
  cq_status status = cq_json_save(cnn_config(c), directory, "cnn_config.json", error);
  return status ? status : cq_weights_save(module->params, module->n_params, weights, directory, error);
}

static void cnn_describe(const cq_module *module, json_t **object) {
  cq_json_update(object, cnn_config((const cnn *)module));
}

static cq_status cnn_pack(cq_module *module, size_t part, const cq_packing *packing, cq_error *error) {
  const cq_packing exact = {packing->kernels, CQ_PRECISION_F32, packing->training};
  return cq_linear_pack(&((cnn *)module)->layers[part], &exact, error);
}

/* --- running --- */

/* windows[t, c * width + d] = x[t + d - (width - 1) / 2, c] within each sentence; adjoint: x += what windows hold. */
static void move_windows(cq_tensor windows, cq_tensor x, const cq_batch *batch, int64_t width, bool adjoint) {
  const int64_t reach = (width - 1) / 2;
  for (int64_t s = 0; s < batch->n_seqs; s++) {
    for (int64_t t = batch->starts[s]; t < batch->starts[s + 1]; t++) {
      float *window = cq_f32(windows) + t * windows.stride;
      for (int64_t d = 0; d < width; d++) {
        const int64_t from = t + d - reach;
        const bool inside = from >= batch->starts[s] && from < batch->starts[s + 1];
        float *row = cq_f32(x) + from * x.stride;
        for (int64_t c = 0; c < x.cols; c++) {
          if (!adjoint)
            window[c * width + d] = inside ? row[c] : 0;
          else if (inside)
            row[c] += window[c * width + d];
        }
      }
    }
  }
}

static cq_status cnn_forward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                             cq_tensor *y, void **saved, cq_error *error) {
  const cnn *c = (const cnn *)module;
  cq_workspace *w = &worker->workspace;
  cq_tensor *kept = NULL; /* [n] windows */
  *y = cq_workspace_f32(w, x.rows, c->base.output_dim);
  if (saved) *saved = kept = cq_workspace_take(w, (size_t)c->n * sizeof *kept);
  if (!y->data || (saved && !kept)) return cq_fail_memory(error, "token vectors");
  for (int64_t i = 0; i < c->n; i++) {
    const cq_mark mark = cq_workspace_mark(w);
    cq_tensor windows = cq_workspace_f32(w, x.rows, c->in * c->widths[i]);
    if (!windows.data) return cq_fail_memory(error, "windows of tokens");
    move_windows(windows, x, batch, c->widths[i], false);
    cq_status status = cq_linear_forward(worker, &c->layers[i], cq_tensor_columns(*y, i * c->out, c->out), windows,
                                         CQ_IDENTITY, (cq_tensor){0}, error);
    if (status) return status;
    if (kept)
      kept[i] = windows;
    else
      cq_workspace_release(w, mark);
  }
  return CQ_OK;
}

static cq_status cnn_backward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                              cq_tensor dy, cq_tensor *dx, const void *saved, cq_gradients *gradients,
                              cq_error *error) {
  const cnn *c = (const cnn *)module;
  const cq_tensor *kept = saved;
  if (dx->data) memset(dx->data, 0, (size_t)(x.rows * x.cols) * sizeof(float));
  for (int64_t i = 0; i < c->n; i++) {
    const cq_mark mark = cq_workspace_mark(&worker->workspace);
    cq_tensor dwindows = {0};
    if (dx->data) {
      dwindows = cq_workspace_f32(&worker->workspace, x.rows, c->in * c->widths[i]);
      if (!dwindows.data) return cq_fail_memory(error, "gradient of windows of tokens");
    }
    cq_status status = cq_linear_backward(worker, &c->layers[i], gradients, dwindows, false,
                                          cq_tensor_columns(dy, i * c->out, c->out), kept[i], error);
    if (status) return status;
    if (dx->data) move_windows(dwindows, *dx, batch, c->widths[i], true);
    cq_workspace_release(&worker->workspace, mark);
  }
  return CQ_OK;
}

const cq_module_type cq_cnn_type = {
    .name = "CNN",
    .type_name = "sentence_transformers.models.CNN",
    .open = cnn_open,
    .save = cnn_save,
    .describe = cnn_describe,
    .pack = cnn_pack,
    .forward = cnn_forward,
    .backward = cnn_backward,
    .free = cnn_free,
};
