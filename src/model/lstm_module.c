/* LSTM: maps tokens' vectors to tokens' vectors, in one or more layers.
 *
 *   lstm_config.json   {"embedding_dimension" | "word_embedding_dimension", "hidden_dim", "num_layers", "dropout",
 *                       "bidirectional"}
 *   model.safetensors  encoder.{weight_ih, weight_hh, bias_ih, bias_hh}_l<layer>[_reverse]
 *
 * Dropout applies between layers, as in PyTorch; a layer's final states, if requested, are taken before dropout.
 */
#include "nn/lstm.h"

#include "base/error.h"
#include "base/file.h"
#include "format/json.h"
#include "model/modules.h"
#include "nn/norm.h"

#include <math.h>
#include <string.h>

typedef struct lstm {
  cq_module base;
  cq_weights *weights; /* NULL for a fresh module */
  int64_t in, dim, n_layers;
  int n_directions;
  float dropout;
  cq_lstm *layers; /* [n_layers] */
} lstm;

/* --- opening and saving --- */

static void lstm_free(cq_module *module) {
  lstm *l = (lstm *)module;
  for (int64_t i = 0; l->layers && i < l->n_layers; i++) cq_lstm_free(&l->layers[i]);
  cq_weights_close(l->weights);
}

/* Reserves room for everything and connects the layers to their (still empty) parameters, four per direction. */
static lstm *lstm_make(int64_t in, int64_t dim, int64_t n_layers, bool bidirectional, float dropout, cq_arena *arena) {
  lstm *l = cq_arena_alloc(arena, sizeof *l);
  const int n_directions = bidirectional ? 2 : 1;
  const size_t n_params = (size_t)(4 * n_layers) * (size_t)n_directions;
  cq_param *params = cq_arena_array_zeroed(arena, n_params, sizeof *params);
  cq_lstm *layers = cq_arena_array_zeroed(arena, (size_t)n_layers, sizeof *layers);
  if (!l || !params || !layers) return NULL;
  *l = (lstm){.base = {.type = &cq_lstm_type,
                       .output_dim = n_directions * dim,
                       .params = params,
                       .n_params = n_params,
                       .n_pack_parts = (size_t)(n_layers * n_directions)},
              .in = in,
              .dim = dim,
              .n_layers = n_layers,
              .n_directions = n_directions,
              .dropout = dropout,
              .layers = layers};
  for (int64_t i = 0; i < n_layers; i++) {
    layers[i] = (cq_lstm){.n_directions = n_directions, .in = i == 0 ? in : n_directions * dim, .dim = dim};
    for (int d = 0; d < n_directions; d++, params += 4)
      layers[i].direction[d] = (cq_lstm_direction){.input = {.weight = &params[0]},
                                                   .recurrent = {.weight = &params[1]},
                                                   .bias_input = &params[2],
                                                   .bias_recurrent = &params[3]};
  }
  return l;
}

enum { NAME = 64 };

/* The name and the size of the i-th parameter; a vector has no columns. */
static void describe_param(char name[NAME], int64_t *rows, int64_t *cols, const lstm *l, size_t i) {
  static const char *const kinds[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
  const size_t kind = i % 4, direction = i / 4 % (size_t)l->n_directions, layer = i / 4 / (size_t)l->n_directions;
  snprintf(name, NAME, "encoder.%s_l%zu%s", kinds[kind], layer, direction == 1 ? "_reverse" : "");
  *rows = 4 * l->dim;
  *cols = kind == 0 ? l->layers[layer].in : kind == 1 ? l->dim : 0;
}

cq_status cq_lstm_module_new(cq_module **out, int64_t in, int64_t dim, int64_t n_layers, bool bidirectional,
                             double dropout, const char *path, cq_random *random, cq_arena *arena, cq_error *error) {
  lstm *l = lstm_make(in, dim, n_layers, bidirectional, (float)dropout, arena);
  if (!l) return cq_fail_memory(error, "an LSTM");
  l->base.path = path;
  for (size_t i = 0; i < l->base.n_params; i++) {
    char name[NAME];
    int64_t rows, cols;
    cq_param *p = &l->base.params[i];
    describe_param(name, &rows, &cols, l, i);
    *p = (cq_param){.name = cq_arena_strdup(arena, name),
                    .rows = cols ? rows : 1,
                    .cols = cols ? cols : rows,
                    .n_dims = cols ? 2 : 1,
                    .decay = cols != 0};
    if (!p->name) return cq_fail_memory(error, "an LSTM");
    /* PyTorch's start: all uniform in +-1 / sqrt(dim). */
    cq_status status = cq_param_uniform(p, 1.0 / sqrt((double)dim), random, arena, error);
    if (status) return status;
  }
  *out = &l->base;
  return CQ_OK;
}

cq_lstm_sizes cq_lstm_module_sizes(const cq_module *module) {
  const lstm *l = (const lstm *)module;
  return (cq_lstm_sizes){l->n_layers, l->dim, l->n_directions};
}

static cq_status lstm_take_params(lstm *l, cq_arena *arena, cq_error *error) {
  for (size_t i = 0; i < l->base.n_params; i++) {
    char name[NAME];
    int64_t rows, cols;
    describe_param(name, &rows, &cols, l, i);
    cq_status status =
        cq_weights_take(&l->base.params[i], l->weights, (const char *const[]){name, NULL}, rows, cols, arena, error);
    if (status) return status;
  }
  return cq_weights_all_taken(l->weights, NULL, error);
}

static cq_status lstm_open(cq_module **out, const cq_module_source *source, cq_error *error) {
  char path[4096];
  json_t *config;
  int64_t in = 0, dim = 0, n_layers = 1;
  double dropout = 0;
  bool bidirectional = true;
  cq_status status = cq_json_open(&config, path, sizeof path, source->directory, "lstm_config.json", error);
  if (!status) status = cq_json_get_int(&in, config, "word_embedding_dimension", 1, 1 << 20, path, error);
  if (!status) status = cq_json_get_int(&in, config, "embedding_dimension", 1, 1 << 20, path, error);
  if (!status) status = cq_json_get_int(&dim, config, "hidden_dim", 1, 1 << 20, path, error);
  if (!status) status = cq_json_get_int(&n_layers, config, "num_layers", 1, 1 << 10, path, error);
  if (!status) status = cq_json_get_number(&dropout, config, "dropout", path, error);
  if (!status) status = cq_json_get_bool(&bidirectional, config, "bidirectional", path, error);
  json_decref(config);
  if (status) return status;
  if (in == 0 || dim == 0 || dropout < 0 || dropout >= 1)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "embedding_dimension %lld, hidden_dim %lld, dropout %g",
                        (long long)in, (long long)dim, dropout);
  if (source->input_is_sentence || in != source->input_dim)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "expects tokens of %lld dimensions, the module before gives %lld",
                        (long long)in, (long long)source->input_dim);
  lstm *l = lstm_make(in, dim, n_layers, bidirectional, (float)dropout, source->arena);
  if (!l) return cq_fail_memory(error, "an LSTM");
  *out = &l->base;
  status = cq_weights_open(&l->weights, source->directory, error);
  return status ? status : lstm_take_params(l, source->arena, error);
}

static json_t *lstm_config(const lstm *l) {
  return json_pack("{s:I, s:I, s:I, s:f, s:b}", "embedding_dimension", (json_int_t)l->in, "hidden_dim",
                   (json_int_t)l->dim, "num_layers", (json_int_t)l->n_layers, "dropout", (double)l->dropout,
                   "bidirectional", l->n_directions == 2);
}

static cq_status lstm_save(const cq_module *module, cq_dtype weights, const char *directory, cq_error *error) {
  const lstm *l = (const lstm *)module;
  cq_status status = cq_json_save(lstm_config(l), directory, "lstm_config.json", error);
  return status ? status : cq_weights_save(l->base.params, l->base.n_params, weights, directory, error);
}

static void lstm_describe(const cq_module *module, json_t **object) {
  cq_json_update(object, lstm_config((const lstm *)module));
}

static cq_status lstm_pack(cq_module *module, size_t part, const cq_packing *packing, cq_error *error) {
  lstm *l = (lstm *)module;
  const int n = l->n_directions;
  return cq_lstm_pack(&l->layers[(int)part / n], (int)part % n, packing, error);
}

static void lstm_set_dropout(cq_module *module, double rate) {
  ((lstm *)module)->dropout = (float)rate;
}

/* --- running --- */

typedef struct lstm_tape {
  cq_lstm_plan plan;
  cq_lstm_saved *layers; /* [n_layers] */
} lstm_tape;

/* Room for one layer's part of `states`, which has the batch's rows; data NULL if there are none. */
static cq_status make_state_room(cq_lstm_state *out, cq_worker *worker, const lstm *l, cq_tensor states,
                                 cq_error *error) {
  *out = (cq_lstm_state){{0}, {0}};
  if (!states.data) return CQ_OK;
  assert(l->n_directions == 1 && states.cols == 2 * l->n_layers * l->dim);
  out->hidden = cq_workspace_f32(&worker->workspace, states.rows, l->dim);
  out->cell = cq_workspace_f32(&worker->workspace, states.rows, l->dim);
  return out->hidden.data && out->cell.data ? CQ_OK : cq_fail_memory(error, "an LSTM's states");
}

static cq_status lstm_forward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                              cq_tensor *y, void **saved, cq_error *error) {
  const lstm *l = (const lstm *)module;
  cq_workspace *w = &worker->workspace;
  lstm_tape *tape = cq_workspace_take(w, sizeof *tape);
  if (!tape) return cq_fail_memory(error, "an LSTM");
  *tape = (lstm_tape){0};
  if (saved) {
    *saved = tape;
    tape->layers = cq_workspace_take(w, (size_t)l->n_layers * sizeof *tape->layers);
    if (!tape->layers) return cq_fail_memory(error, "an LSTM");
  }
  cq_lstm_state last;
  cq_status status = make_state_room(&last, worker, l, batch->final, error);
  if (!status) status = cq_lstm_plan_make(&tape->plan, worker, batch, l->n_directions, error);
  for (int64_t i = 0; !status && i < l->n_layers; i++) {
    *y = cq_workspace_f32(w, x.rows, l->base.output_dim);
    if (!y->data) return cq_fail_memory(error, "an LSTM");
    status =
        cq_lstm_forward(worker, &l->layers[i], &tape->plan, *y, &last, x, NULL, saved ? &tape->layers[i] : NULL, error);
    if (!status && last.hidden.data) cq_lstm_state_copy(cq_lstm_state_of_layer(batch->final, l->n_layers, i), last);
    if (i + 1 < l->n_layers) cq_dropout_apply(worker, batch, *y, l->dropout, (uint32_t)i);
    x = *y;
  }
  return status;
}

static cq_status lstm_backward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                               cq_tensor dy, cq_tensor *dx, const void *saved, cq_gradients *gradients,
                               cq_error *error) {
  const lstm *l = (const lstm *)module;
  const lstm_tape *tape = saved;
  cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_lstm_state dlast;
  cq_status status = make_state_room(&dlast, worker, l, batch->dfinal, error);
  for (int64_t i = l->n_layers; !status && i-- > 0;) {
    if (i + 1 < l->n_layers) cq_dropout_apply(worker, batch, dy, l->dropout, (uint32_t)i);
    cq_tensor below = i == 0 && dx->data ? *dx : cq_workspace_f32(&worker->workspace, x.rows, l->layers[i].in);
    if (dlast.hidden.data) cq_lstm_state_copy(dlast, cq_lstm_state_of_layer(batch->dfinal, l->n_layers, i));
    status = below.data ? cq_lstm_backward(worker, &l->layers[i], &tape->plan, gradients, below, NULL, dy, &dlast,
                                           &tape->layers[i], error)
                        : cq_fail_memory(error, "an LSTM's gradient");
    dy = below;
  }
  cq_workspace_release(&worker->workspace, mark);
  return status;
}

const cq_module_type cq_lstm_type = {
    .name = "LSTM",
    .type_name = "sentence_transformers.models.LSTM",
    .has_states = true,
    .open = lstm_open,
    .save = lstm_save,
    .describe = lstm_describe,
    .pack = lstm_pack,
    .set_dropout = lstm_set_dropout,
    .forward = lstm_forward,
    .backward = lstm_backward,
    .free = lstm_free,
};
