/* Dropout on sentence vectors: no effect outside training.
 *
 *   config.json  {"dropout": 0.2} */
#include "base/error.h"
#include "base/file.h"
#include "format/json.h"
#include "model/module.h"

typedef struct dropout {
  cq_module base;
  double rate, saved_rate; /* in training; in the file */
} dropout;

enum { SITE = 1 << 24 }; /* after those of all other modules */

static cq_status dropout_open(cq_module **out, const cq_module_source *source, cq_error *error) {
  char path[4096];
  json_t *config = NULL;
  dropout *d = cq_arena_alloc(source->arena, sizeof *d);
  if (!d) return cq_fail_memory(error, "a dropout module");
  *d = (dropout){.base = {.type = &cq_dropout_type, .output_dim = source->input_dim, .output_is_sentence = true},
                 .saved_rate = 0.2 /* as sentence-transformers */};
  cq_status status = cq_json_open(&config, path, sizeof path, source->directory, "config.json", error);
  if (!status) status = cq_json_get_number(&d->saved_rate, config, "dropout", path, error);
  json_decref(config);
  if (status) return status;
  if (!(d->saved_rate >= 0 && d->saved_rate < 1))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "key 'dropout' is %g, expected 0 to less than 1", d->saved_rate);
  if (!source->input_is_sentence)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "Dropout on tokens, before any pooling");
  d->rate = d->saved_rate;
  *out = &d->base;
  return CQ_OK;
}

static cq_status dropout_save(const cq_module *module, cq_dtype weights, const char *directory, cq_error *error) {
  (void)weights;
  return cq_json_save(json_pack("{s:f}", "dropout", ((const dropout *)module)->saved_rate), directory, "config.json",
                      error);
}

static void dropout_describe(const cq_module *module, json_t **object) {
  cq_json_set(object, "dropout", json_real(((const dropout *)module)->saved_rate));
}

static void dropout_set(cq_module *module, double rate) {
  if (rate >= 0) ((dropout *)module)->rate = rate;
}

/* Applies dropout to rows of sentence vectors in place, both forward and backward. */
static void drop_rows(cq_worker *worker, const dropout *d, const cq_batch *batch, cq_tensor x) {
  for (int64_t s = 0; s < x.rows; s++) {
    const cq_dropout how = {(float)d->rate, cq_dropout_key(batch->keys[s], SITE)};
    worker->kernels->dropout(cq_f32(x) + s * x.stride, x.cols, how);
  }
}

static cq_status dropout_forward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                                 cq_tensor *y, void **saved, cq_error *error) {
  const dropout *d = (const dropout *)module;
  assert(cq_is_dense(x));
  if (saved) *saved = NULL;
  *y = x;
  if (!batch->keys || d->rate <= 0) return CQ_OK;
  *y = cq_workspace_f32(&worker->workspace, x.rows, x.cols);
  if (!y->data) return cq_fail_memory(error, "sentence vectors");
  worker->kernels->scale(cq_f32(*y), cq_f32(x), 1.0f, x.rows * x.cols);
  drop_rows(worker, d, batch, *y);
  return CQ_OK;
}

static cq_status dropout_backward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                                  cq_tensor dy, cq_tensor *dx, const void *saved, cq_gradients *gradients,
                                  cq_error *error) {
  const dropout *d = (const dropout *)module;
  (void)x, (void)saved, (void)gradients, (void)error;
  assert(cq_is_dense(dy) && cq_is_dense(*dx));
  worker->kernels->scale(cq_f32(*dx), cq_f32(dy), 1.0f, dy.rows * dy.cols);
  if (batch->keys && d->rate > 0) drop_rows(worker, d, batch, *dx);
  return CQ_OK;
}

const cq_module_type cq_dropout_type = {
    .name = "Dropout",
    .type_name = "sentence_transformers.models.Dropout",
    .open = dropout_open,
    .save = dropout_save,
    .describe = dropout_describe,
    .set_dropout = dropout_set,
    .forward = dropout_forward,
    .backward = dropout_backward,
};
