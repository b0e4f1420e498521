/* The Transformer module: chooses the reader of a config.json, runs and trains the module, replaces its vocabulary,
 * saves it. bert.c opens BERT-like models, families/ all later ones. Forward and backward are in nn. */
#include "model/transformer_module.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "format/json.h"
#include "model/bert.h"
#include "model/families/family.h"

#include <string.h>

cq_status cq_transformer_take_language(cq_transformer *t, const char *directory, cq_arena *arena, cq_error *error) {
  cq_param *words = t->embedding.words;
  const char *const names[] = {words->name, NULL};
  cq_status status = cq_weights_open(&t->words, directory, error);
  if (!status) status = cq_weights_take_narrow(words, t->words, names, -1, words->cols, arena, error);
  if (!status) status = cq_weights_all_taken(t->words, NULL, error);
  words->table = true;
  return status;
}

/* A block's weights that are packed, each on its own. */
enum { PARTS_PER_BLOCK = 9 };

static const cq_bert *bert_of(const cq_transformer *t) {
  return cq_bert_find(json_string_value(json_object_get(t->config, "model_type")));
}

void cq_transformer_set_dropouts(cq_transformer *t, double rate, double attention) {
  t->embedding.dropout = (float)rate;
  for (int64_t i = 0; i < t->stack.n_blocks; i++) {
    cq_block *b = &t->stack.blocks[i];
    b->attention.dropout = b->attention_output_dropout = (float)attention;
    b->ffn.dropout = (float)rate;
  }
}

static void set_dropout(cq_module *module, double rate) {
  cq_transformer *t = (cq_transformer *)module;
  if (rate >= 0 && t->is_stack)
    cq_transformer_set_dropouts(t, rate, rate);
  else if (rate >= 0)
    cq_bert_set_dropouts(t, (float)rate, (float)rate, bert_of(t));
}

static cq_status open_transformer(cq_module **out, const cq_module_source *source, cq_error *error) {
  char path[4096];
  const char *model_type = NULL;
  cq_transformer *t = cq_arena_alloc(source->arena, sizeof *t);
  if (!t) return cq_fail_memory(error, "transformer");
  *t = (cq_transformer){.base = {.type = &cq_transformer_type}};
  *out = &t->base; /* from here on the caller frees it */
  cq_status status = cq_json_open(&t->config, path, sizeof path, source->directory, "config.json", error);
  if (!status) status = cq_json_get_string(&model_type, t->config, "model_type", path, error);
  if (status) return status;
  if (!model_type) return cq_fail_file(error, CQ_ERR_FORMAT, path, "key 'model_type' is missing");
  const cq_family *family = cq_family_find(t->config);
  const cq_bert *a = cq_bert_find(model_type);
  if (!family && a) return cq_bert_open(t, a, source, path, error);
  if (!family) {
    const char *names[64];
    size_t n = 0;
    for (size_t i = 0; cq_bert_name(i); i++) names[n++] = cq_bert_name(i);
    return cq_family_unknown(model_type, names, n, path, error);
  }
  t->is_stack = true;
  t->base.n_pack_parts = 0;
  status = cq_family_open(t, family, source, path, error);
  t->base.n_pack_parts = (size_t)t->n_layers * PARTS_PER_BLOCK;
  return status;
}

static const cq_family *family_of(const cq_transformer *t) {
  return t->is_stack ? cq_family_find(t->config) : NULL;
}

static cq_status describe_vocabulary(cq_transformer *t, int64_t n_rows, const cq_tokenizer *tokenizer,
                                     cq_error *error) {
  const cq_tokenizer_info *info = cq_tokenizer_describe(tokenizer);
  const cq_family *family = family_of(t);
  cq_json_set(&t->config, "vocab_size", json_integer(n_rows));
  if (family && family->causal) {
    cq_json_set(&t->config, "pad_token_id", info->pad_id < 0 ? json_null() : json_integer(info->pad_id));
    json_object_del(t->config, "bos_token_id"); /* of the old vocabulary; needed only to write text */
    json_object_del(t->config, "eos_token_id");
  } else {
    /* first_position stays: RoBERTa's positions begin after the pad id for which the position table was made. */
    if (t->embedding.first_position == 0 || info->pad_id + 1 == t->embedding.first_position)
      cq_json_set(&t->config, "pad_token_id", json_integer(info->pad_id));
    if (info->cls_id >= 0) cq_json_set(&t->config, "bos_token_id", json_integer(info->cls_id));
    if (info->sep_id >= 0) cq_json_set(&t->config, "eos_token_id", json_integer(info->sep_id));
    if (info->cls_id >= 0 && json_object_get(t->config, "cls_token_id"))
      cq_json_set(&t->config, "cls_token_id", json_integer(info->cls_id));
    if (info->sep_id >= 0 && json_object_get(t->config, "sep_token_id"))
      cq_json_set(&t->config, "sep_token_id", json_integer(info->sep_id));
  }
  return t->config ? CQ_OK : cq_fail_memory(error, "config.json");
}

cq_status cq_transformer_adopt_vocabulary(cq_transformer *t, cq_error *error) {
  return describe_vocabulary(t, t->embedding.words->rows, t->base.tokenizer, error);
}

cq_status cq_transformer_set_vocabulary(cq_transformer *t, cq_tokenizer *tokenizer, const float *words, cq_arena *arena,
                                        cq_error *error) {
  const cq_tokenizer_info *info = cq_tokenizer_describe(tokenizer);
  cq_param *p = t->embedding.words;
  float *copy = cq_arena_array(arena, (size_t)info->vocab_size, (size_t)p->cols * sizeof *copy);
  if (!copy) return cq_fail_memory(error, "word embeddings");
  memcpy(copy, words, (size_t)(info->vocab_size * p->cols) * sizeof *copy);
  cq_status status = describe_vocabulary(t, info->vocab_size, tokenizer, error);
  if (status) return status;
  p->rows = info->vocab_size;
  p->value = copy, p->narrow = (cq_narrow_rows){0};
  cq_tokenizer_free(t->base.tokenizer);
  t->base.tokenizer = tokenizer;
  t->base.lowercase = false;
  return CQ_OK;
}

static cq_status save_transformer(const cq_module *module, cq_dtype weights, const char *directory, cq_error *error) {
  json_t *config = cq_json_copy(((const cq_transformer *)module)->config);
  const char *torch_name = weights == CQ_BF16 ? "bfloat16" : weights == CQ_F16 ? "float16" : "float32";
  if (weights != CQ_F32 || json_object_get(config, "torch_dtype"))
    cq_json_set(&config, "torch_dtype", json_string(torch_name));
  if (json_object_get(config, "dtype")) cq_json_set(&config, "dtype", json_string(torch_name));
  cq_status status = cq_json_save(config, directory, "config.json", error);
  if (!status) status = cq_weights_save(module->params, module->n_params, weights, directory, error);
  if (!status) status = cq_tokenizer_save(module->tokenizer, directory, module->max_seq_length, error);
  return status;
}

typedef struct tape {
  cq_embedding_saved embedding;
  const float **bias;
  cq_transformer_saved *layers;
  cq_stack_saved stack;
} tape;

/* Adds the weighted output of a layer to the mixture, if there is one; index 0 is the embeddings' output. */
static void add_to_mixture(cq_worker *worker, const cq_transformer *t, cq_tensor mixture, cq_tensor scaled,
                           cq_tensor output, int64_t index) {
  const cq_layer_mixture *m = &t->mixture;
  if (!mixture.data || index < m->first) return;
  const int64_t n = output.rows * output.cols;
  worker->kernels->scale(cq_f32(scaled), cq_f32(output), m->weights[index - m->first] / m->sum, n);
  worker->kernels->add(cq_f32(mixture), cq_f32(scaled), n);
}

static void describe_transformer(const cq_module *module, json_t **object) {
  const cq_transformer *t = (const cq_transformer *)module;
  const cq_family *family = family_of(t);
  const cq_bert *a = family ? NULL : bert_of(t);
  const char *key = family ? family->keys.activation : a->activation;
  const char *activation = key ? json_string_value(json_object_get(t->config, key)) : NULL;
  cq_json_update(
      object,
      json_pack("{s:O?, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:f, s:I}", "architecture",
                json_object_get(t->config, "model_type"), "vocab_size", (json_int_t)t->embedding.words->rows,
                "n_layers", (json_int_t)(t->is_stack ? t->n_layers : cq_transformer_depth(t) / t->group_size), "dim",
                (json_int_t)t->dim, "n_heads", (json_int_t)t->n_heads, "feed_forward_dim",
                (json_int_t)t->feed_forward_dim, "n_positions", (json_int_t)t->n_positions, "activation",
                activation ? activation
                : family   ? family->activation
                           : cq_bert_activation(a),
                "layer_norm_eps", (double)t->norm_eps, "first_position", (json_int_t)t->embedding.first_position));
  if (!t->is_stack || t->n_layers == 0) return;
  const cq_attention *attention = &t->stack.blocks[0].attention;
  cq_json_set(object, "n_key_value_heads", json_integer(attention->n_kv_heads));
  cq_json_set(object, "head_dim", json_integer(attention->head_dim));
  cq_json_set(object, "causal", json_boolean(attention->causal));
}

/* Weights that are packed separately: the layers', the embedding projection, and the projections of distances. */
static cq_linear *part_of(cq_transformer *t, size_t part) {
  if (t->is_stack) {
    cq_block *b = &t->stack.blocks[part / PARTS_PER_BLOCK];
    cq_linear *const weights[PARTS_PER_BLOCK] = {&b->attention.fused, &b->attention.query,  &b->attention.key,
                                                 &b->attention.value, &b->attention.output, &b->ffn.fused,
                                                 &b->ffn.gate,        &b->ffn.up,           &b->ffn.down};
    return weights[part % PARTS_PER_BLOCK];
  }
  const size_t n_in_layers = (size_t)t->n_layers * CQ_BERT_PARTS;
  if (part == n_in_layers) return &t->embedding.projection;
  if (part > n_in_layers) return &t->of_distances[part - n_in_layers - 1];
  cq_transformer_layer *l = &t->layers[part / CQ_BERT_PARTS];
  cq_linear *const weights[CQ_BERT_PARTS] = {
      &l->attention.query, &l->attention.key, &l->attention.value, &l->attention.output, &l->up, &l->down};
  return weights[part % CQ_BERT_PARTS];
}

static cq_status pack_transformer(cq_module *module, size_t part, const cq_packing *packing, cq_error *error) {
  const cq_transformer *t = (const cq_transformer *)module;
  cq_linear *l = part_of((cq_transformer *)module, part);
  const cq_status status = l->weight ? cq_linear_pack(l, packing, error) : CQ_OK;
  if (!packing->training && t->weights) cq_weights_release_pages(t->weights);
  return status;
}

/* ---- forward and backward ---- */

enum { SITES_PER_LAYER = 3 };

static cq_status transformer_forward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                                     cq_tensor *y, void **saved, cq_error *error) {
  const cq_transformer *t = (const cq_transformer *)module;
  cq_workspace *w = &worker->workspace;
  const int64_t n = cq_batch_tokens(batch), depth = cq_transformer_depth(t);
  tape *record = NULL;
  (void)x;
  if (saved) {
    *saved = record = cq_workspace_take(w, sizeof *record);
    if (record && !t->is_stack) record->layers = cq_workspace_take(w, (size_t)depth * sizeof *record->layers);
    if (!record || (!t->is_stack && !record->layers)) return cq_fail_memory(error, "transformer");
  }
  if (t->is_stack) {
    if (record) record->bias = NULL;
    *y = cq_workspace_f32(w, n, t->dim);
    if (!y->data) return cq_fail_memory(error, "transformer");
    cq_status status =
        cq_embedding_forward(worker, &t->embedding, batch, *y, 0, record ? &record->embedding : NULL, error);
    return status ? status : cq_stack_forward(worker, &t->stack, batch, y, 1, record ? &record->stack : NULL, error);
  }
  /* Two buffers alternate as input and output; in training, every layer's input is kept instead. */
  cq_tensor now = cq_workspace_f32(w, n, t->dim), next = cq_workspace_f32(w, n, t->dim);
  if (!now.data || !next.data) return cq_fail_memory(error, "transformer");
  cq_tensor mixture = {0}, scaled = {0};
  if (t->mixture.weights) {
    mixture = cq_workspace_f32(w, n, t->dim), scaled = cq_workspace_f32(w, n, t->dim);
    if (!mixture.data || !scaled.data) return cq_fail_memory(error, "transformer");
    memset(mixture.data, 0, (size_t)(n * t->dim) * sizeof(float));
  }
  cq_mark mark = cq_workspace_mark(w);
  const float **bias = NULL;
  cq_status status = CQ_OK;
  if (t->relative.table) status = cq_relative_bias_forward(worker, &t->relative, batch, &bias, error);
  if (!status)
    status = cq_embedding_forward(worker, &t->embedding, batch, now, 0, record ? &record->embedding : NULL, error);
  if (!status) add_to_mixture(worker, t, mixture, scaled, now, 0);
  for (int64_t i = 0; !status && i < depth; i++) {
    status = cq_transformer_forward(worker, cq_transformer_layer_at(t, i), batch, next, now, bias,
                                    (uint32_t)(1 + i * SITES_PER_LAYER), record ? &record->layers[i] : NULL, error);
    cq_tensor before = now;
    now = next;
    if (!status) add_to_mixture(worker, t, mixture, scaled, now, i + 1);
    next = record && i + 1 < depth ? cq_workspace_f32(w, n, t->dim) : before;
    if (!next.data) return cq_fail_memory(error, "transformer");
  }
  if (record)
    record->bias = bias;
  else
    cq_workspace_release(w, mark);
  *y = mixture.data ? mixture : now;
  return status;
}

static cq_status transformer_backward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                                      cq_tensor dy, cq_tensor *dx, const void *saved, cq_gradients *gradients,
                                      cq_error *error) {
  const cq_transformer *t = (const cq_transformer *)module;
  const tape *record = saved;
  cq_mark mark = cq_workspace_mark(&worker->workspace);
  float **dbias = NULL;
  cq_status status = CQ_OK;
  (void)x, (void)dx;
  if (t->is_stack) status = cq_stack_backward(worker, &t->stack, batch, gradients, dy, 1, &record->stack, error);
  if (record->bias && !t->relative.table->frozen)
    status = cq_relative_bias_gradients(worker, &t->relative, batch, &dbias, error);
  for (int64_t i = t->is_stack ? 0 : cq_transformer_depth(t); !status && i-- > 0;) {
    status = cq_transformer_backward(worker, cq_transformer_layer_at(t, i), batch, gradients, dy, record->bias, dbias,
                                     (uint32_t)(1 + i * SITES_PER_LAYER), &record->layers[i], error);
    if (!status && !dbias && t->repeats == 1) cq_transformer_pass(cq_transformer_layer_at(t, i), gradients);
  }
  if (!status && dbias) status = cq_relative_bias_backward(worker, &t->relative, batch, gradients, dbias, error);
  if (!status)
    status = cq_embedding_backward(worker, &t->embedding, batch, gradients, dy, 0, &record->embedding, error);
  cq_workspace_release(&worker->workspace, mark);
  return status;
}

static void free_transformer(cq_module *module) {
  cq_transformer *t = (cq_transformer *)module;
  for (int64_t i = 0; t->layers && i < t->n_layers; i++) cq_transformer_free(&t->layers[i]);
  cq_linear_free(&t->embedding.projection);
  for (int64_t i = 0; t->of_distances && i < 2 * t->n_layers; i++) cq_linear_free(&t->of_distances[i]);
  cq_stack_free(&t->stack);
  cq_weights_close(t->weights);
  cq_weights_close(t->words);
  cq_tokenizer_free(t->base.tokenizer);
  json_decref(t->config);
}

const cq_module_type cq_transformer_type = {
    .name = "Transformer",
    .type_name = "sentence_transformers.models.Transformer",
    .has_body = true,
    .takes_text = true,
    .open = open_transformer,
    .save = save_transformer,
    .describe = describe_transformer,
    .pack = pack_transformer,
    .set_dropout = set_dropout,
    .forward = transformer_forward,
    .backward = transformer_backward,
    .free = free_transformer,
};
