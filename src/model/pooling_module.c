/* Pooling: a sentence's vector from its tokens' vectors, by one or more concatenated modes.
 *
 *   x [n_tokens, dim] -> y [n_seqs, n_modes * dim]
 *
 * config.json comes in two formats:
 *   old  {"word_embedding_dimension": 384, "pooling_mode_mean_tokens": true, ...}   modes in one fixed order
 *   new  {"embedding_dimension": 384, "pooling_mode": "mean" | ["cls", "max"]}       modes in the list's order
 * All readers know the old format, so we write it, unless it cannot express the order of the modes.
 *
 * A sentence without tokens (or with only prompt tokens that are left out) gets zeros. */
#include "base/error.h"
#include "base/file.h"
#include "format/json.h"
#include "model/modules.h"

#include <string.h>

#define MAX_MODES 8

typedef struct pooling {
  cq_module base;
  int64_t dim;
  cq_pooling_mode modes[MAX_MODES];
  size_t n_modes;
} pooling;

static const struct mode_name {
  const char *old_key, *name;
} mode_names[CQ_N_POOLING_MODES] = {
    [CQ_POOL_CLS] = {"pooling_mode_cls_token", "cls"},
    [CQ_POOL_MAX] = {"pooling_mode_max_tokens", "max"},
    [CQ_POOL_MEAN] = {"pooling_mode_mean_tokens", "mean"},
    [CQ_POOL_MEAN_SQRT] = {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
    [CQ_POOL_WEIGHTED_MEAN] = {"pooling_mode_weightedmean_tokens", "weightedmean"},
    [CQ_POOL_LAST] = {"pooling_mode_lasttoken", "lasttoken"},
};

/* --- opening and saving --- */

static cq_status add_mode_named(pooling *p, const json_t *value, const char *path, cq_error *error) {
  const char *name = json_string_value(value);
  if (!name)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "'pooling_mode' is neither a string nor a list of strings");
  for (int mode = 0; mode < CQ_N_POOLING_MODES; mode++) {
    if (strcmp(name, mode_names[mode].name) != 0) continue;
    if (p->n_modes == MAX_MODES)
      return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "'pooling_mode' lists more than %d modes", MAX_MODES);
    p->modes[p->n_modes++] = (cq_pooling_mode)mode;
    return CQ_OK;
  }
  return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "pooling mode '%s' is not known", name);
}

static cq_status read_modes(pooling *p, const json_t *config, const char *path, cq_error *error) {
  const json_t *listed = json_object_get(config, "pooling_mode");
  cq_status status;
  if (json_is_array(listed)) {
    size_t i;
    const json_t *item;
    json_array_foreach(listed, i, item) if ((status = add_mode_named(p, item, path, error))) return status;
  } else if (listed) {
    if ((status = add_mode_named(p, listed, path, error))) return status;
  } else {
    for (int mode = 0; mode < CQ_N_POOLING_MODES; mode++) {
      bool on = false;
      if ((status = cq_json_get_bool(&on, config, mode_names[mode].old_key, path, error))) return status;
      if (on) p->modes[p->n_modes++] = (cq_pooling_mode)mode;
    }
  }
  if (p->n_modes == 0) p->modes[p->n_modes++] = CQ_POOL_MEAN; /* as sentence-transformers */
  return CQ_OK;
}

/* An unknown key is an error because it may change the vector. */
static cq_status refuse_unknown_keys(json_t *config, const char *path, cq_error *error) {
  static const char *const known[] = {"word_embedding_dimension", "embedding_dimension", "pooling_mode",
                                      "include_prompt"};
  const char *key;
  json_t *value;
  json_object_foreach(config, key, value) {
    bool found = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) found = found || strcmp(key, known[i]) == 0;
    for (int mode = 0; mode < CQ_N_POOLING_MODES; mode++) found = found || strcmp(key, mode_names[mode].old_key) == 0;
    if (!found && !json_is_false(value) && !json_is_null(value))
      return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "key '%s' is not known", key);
  }
  return CQ_OK;
}

/* Makes the module from its settings; cq_pooling_new does so for a directory without a Pooling. */
static pooling *pooling_make(cq_arena *arena, const char *path) {
  pooling *p = cq_arena_alloc(arena, sizeof *p);
  if (!p) return NULL;
  *p = (pooling){.base = {.type = &cq_pooling_type, .path = path, .output_is_sentence = true}};
  return p;
}

cq_status cq_pooling_new(cq_module **out, int64_t dim, cq_pooling_mode mode, const char *path, cq_arena *arena,
                         cq_error *error) {
  pooling *p = pooling_make(arena, path);
  if (!p) return cq_fail_memory(error, "pooling");
  p->dim = p->base.output_dim = dim;
  p->modes[p->n_modes++] = mode;
  *out = &p->base;
  return CQ_OK;
}

static cq_status pooling_open(cq_module **out, const cq_module_source *source, cq_error *error) {
  char path[4096];
  json_t *config = NULL;
  bool include_prompt = true;
  int64_t dim = source->input_dim;
  pooling *p = pooling_make(source->arena, NULL);
  if (!p) return cq_fail_memory(error, "pooling");
  cq_status status = cq_json_open(&config, path, sizeof path, source->directory, "config.json", error);
  if (!status) status = refuse_unknown_keys(config, path, error);
  if (!status) status = read_modes(p, config, path, error);
  if (!status) status = cq_json_get_bool(&include_prompt, config, "include_prompt", path, error);
  if (!status) status = cq_json_get_int(&dim, config, "word_embedding_dimension", 1, INT32_MAX, path, error);
  if (!status) status = cq_json_get_int(&dim, config, "embedding_dimension", 1, INT32_MAX, path, error);
  json_decref(config);
  if (status) return status;
  if (source->input_is_sentence || dim != source->input_dim)
    return cq_fail_file(error, CQ_ERR_FORMAT, path,
                        source->input_is_sentence
                            ? "pooling %lld dimensions of tokens, but the module before gives sentence vectors (%lld)"
                            : "pooling expects %lld dimensions, the module before gives %lld",
                        (long long)dim, (long long)source->input_dim);
  p->dim = dim;
  p->base.output_dim = dim * (int64_t)p->n_modes;
  p->base.leaves_out_prompt = !include_prompt;
  *out = &p->base;
  return CQ_OK;
}

size_t cq_pooling_modes(const cq_pooling_mode **modes, const cq_module *module) {
  const pooling *p = (const pooling *)module;
  *modes = p->modes;
  return p->n_modes;
}

static bool in_fixed_order(const pooling *p) {
  for (size_t i = 1; i < p->n_modes; i++)
    if (p->modes[i] <= p->modes[i - 1]) return false;
  return true;
}

static json_t *mode_list(const pooling *p) {
  json_t *list = json_array();
  for (size_t i = 0; i < p->n_modes; i++) cq_json_push(&list, json_string(mode_names[p->modes[i]].name));
  return list;
}

static cq_status pooling_save(const cq_module *module, cq_dtype weights, const char *directory, cq_error *error) {
  const pooling *p = (const pooling *)module;
  (void)weights;
  const bool is_old = in_fixed_order(p);
  json_t *config = json_object();
  cq_json_set(&config, is_old ? "word_embedding_dimension" : "embedding_dimension", json_integer(p->dim));
  for (int mode = 0; is_old && mode < CQ_N_POOLING_MODES; mode++) {
    bool on = false;
    for (size_t i = 0; i < p->n_modes; i++) on = on || (int)p->modes[i] == mode;
    cq_json_set(&config, mode_names[mode].old_key, json_boolean(on));
  }
  if (!is_old) cq_json_set(&config, "pooling_mode", mode_list(p));
  cq_json_set(&config, "include_prompt", json_boolean(!p->base.leaves_out_prompt));
  return cq_json_save(config, directory, "config.json", error);
}

static void pooling_describe(const cq_module *module, json_t **object) {
  const pooling *p = (const pooling *)module;
  cq_json_set(object, "modes", mode_list(p));
  cq_json_set(object, "include_prompt", json_boolean(!p->base.leaves_out_prompt));
}

/* --- running --- */

typedef struct pooling_saved {
  int32_t *argmax; /* [n_seqs, dim]; filled if max pooling is one of the modes */
} pooling_saved;

/* Rows [first, first + n) of a sequence are pooled; `skipped` rows of the sequence come before them. */
typedef struct span {
  int64_t first, n, skipped;
} span;

static span span_of(const pooling *p, const cq_batch *batch, int64_t s) {
  int64_t length = cq_batch_length(batch, s), skip = 0;
  if (p->base.leaves_out_prompt && batch->skip) skip = batch->skip[s] < length ? batch->skip[s] : length;
  return (span){batch->starts[s] + skip, length - skip, skip};
}

/* A weighted mean with weights from k + 1 on instead of 1, because tokens that are left out still count as positions:
 *   sum (k + i + 1) x_i / sum (k + i + 1) = share * weighted mean + (1 - share) * mean,
 *   share = sum (i + 1) / sum (k + i + 1). */
static double share_of_weighted(span r) {
  double n = (double)r.n, own = n * (n + 1) / 2;
  return own / (own + (double)r.skipped * n);
}

static cq_status pooling_forward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                                 cq_tensor *y, void **saved, cq_error *error) {
  const pooling *p = (const pooling *)module;
  const cq_kernels *k = worker->kernels;
  const int64_t dim = p->dim, width = p->base.output_dim;
  assert(cq_is_dense(x) && x.cols == dim && x.rows == cq_batch_tokens(batch));
  *y = cq_workspace_f32(&worker->workspace, batch->n_seqs, width);
  float *other = cq_workspace_take(&worker->workspace, (size_t)dim * sizeof(float));
  pooling_saved *keep = NULL;
  if (saved) {
    *saved = keep = cq_workspace_take(&worker->workspace, sizeof *keep);
    if (!keep) return cq_fail_memory(error, "pooling");
    keep->argmax = cq_workspace_take(&worker->workspace, (size_t)(batch->n_seqs * dim) * sizeof(int32_t));
    if (!keep->argmax) return cq_fail_memory(error, "pooling");
  }
  if (!y->data || !other) return cq_fail_memory(error, "sentence vectors");
  for (int64_t s = 0; s < batch->n_seqs; s++) {
    span r = span_of(p, batch, s);
    const float *rows = cq_f32(x) + r.first * dim;
    for (size_t m = 0; m < p->n_modes; m++) {
      float *row = cq_f32(*y) + s * width + (int64_t)m * dim;
      if (r.n == 0) {
        memset(row, 0, (size_t)dim * sizeof *row);
        continue;
      }
      k->pool(row, keep ? keep->argmax + s * dim : NULL, rows, r.n, dim, p->modes[m]);
      if (p->modes[m] == CQ_POOL_WEIGHTED_MEAN && r.skipped > 0) {
        double share = share_of_weighted(r);
        k->pool(other, NULL, rows, r.n, dim, CQ_POOL_MEAN);
        k->scale(row, row, (float)share, dim);
        k->scale(other, other, (float)(1 - share), dim);
        k->add(row, other, dim);
      }
    }
  }
  return CQ_OK;
}

static cq_status pooling_backward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                                  cq_tensor dy, cq_tensor *dx, const void *saved, cq_gradients *gradients,
                                  cq_error *error) {
  const pooling *p = (const pooling *)module;
  const pooling_saved *keep = saved;
  const cq_kernels *k = worker->kernels;
  const int64_t dim = p->dim;
  (void)x, (void)gradients;
  if (!dx->data) return CQ_OK;
  assert(cq_is_dense(*dx));
  cq_mark mark = cq_workspace_mark(&worker->workspace);
  float *scaled = cq_workspace_take(&worker->workspace, (size_t)dim * sizeof(float));
  if (!scaled) return cq_fail_memory(error, "pooling");
  memset(dx->data, 0, (size_t)(dx->rows * dim) * sizeof(float));
  for (int64_t s = 0; s < batch->n_seqs; s++) {
    span r = span_of(p, batch, s);
    if (r.n == 0) continue;
    float *rows = cq_f32(*dx) + r.first * dim;
    for (size_t m = 0; m < p->n_modes; m++) {
      const float *row = cq_f32(dy) + s * dy.stride + (int64_t)m * dim;
      if (p->modes[m] == CQ_POOL_WEIGHTED_MEAN && r.skipped > 0) {
        double share = share_of_weighted(r);
        k->scale(scaled, row, (float)(1 - share), dim);
        k->pool_backward(rows, scaled, NULL, r.n, dim, CQ_POOL_MEAN);
        k->scale(scaled, row, (float)share, dim);
        row = scaled;
      }
      k->pool_backward(rows, row, keep->argmax + s * dim, r.n, dim, p->modes[m]);
    }
  }
  cq_workspace_release(&worker->workspace, mark);
  return CQ_OK;
}

const cq_module_type cq_pooling_type = {
    .name = "Pooling",
    .type_name = "sentence_transformers.models.Pooling",
    .open = pooling_open,
    .save = pooling_save,
    .describe = pooling_describe,
    .forward = pooling_forward,
    .backward = pooling_backward,
};
