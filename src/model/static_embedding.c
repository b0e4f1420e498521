/* StaticEmbedding: a sentence's vector is the mean of its tokens' rows, without special tokens; only the tokenizer's
 * own truncation limits its length.
 *
 *   tokenizer.json     the directory's own
 *   model.safetensors  embedding.weight [vocab, dim]
 *
 * model2vec's files have other names, and may share rows among tokens (vocabulary quantization):
 *
 *   embeddings [rows, dim], may have 8 bits, without scales
 *   mapping    [vocab] a token's row
 *   weights    [vocab] a token's factor for its row
 *
 * The vectors are the same as sentence-transformers' for such a directory. model2vec's own library leaves out unknown
 * tokens; here, drop_unknown does. A text without tokens gives zeros. */
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "format/json.h"
#include "model/modules.h"
#include "nn/embedding.h"

#include <string.h>

typedef struct static_embedding {
  cq_module base;
  cq_weights *weights; /* NULL for a fresh module */
  cq_param params[2];  /* the table; each token's weight, which is never trained */
  bool drop_unknown;
} static_embedding;

static static_embedding *static_make(cq_arena *arena) {
  static_embedding *m = cq_arena_alloc(arena, sizeof *m);
  if (!m) return NULL;
  *m = (static_embedding){.base = {.type = &cq_static_type, .output_is_sentence = true, .n_params = 1}};
  m->base.params = m->params;
  return m;
}

cq_status cq_static_new(cq_module **out, cq_tokenizer *tokenizer, int64_t dim, const char *path, cq_random *random,
                        cq_arena *arena, cq_error *error) {
  static_embedding *m = static_make(arena);
  if (!m) return cq_fail_memory(error, "a static embedding");
  m->base.path = path;
  m->base.output_dim = dim;
  cq_status status = cq_param_word_table(m->params, "embedding.weight", tokenizer, dim, random, arena, error);
  if (status) return status;
  m->base.tokenizer = tokenizer;
  *out = &m->base;
  return CQ_OK;
}

static void static_free(cq_module *module) {
  cq_weights_close(((static_embedding *)module)->weights);
  cq_tokenizer_free(module->tokenizer);
}

/* Multiplies weights without a mapping into the rows, and drops them. */
static cq_status fold_weights(cq_param *table, const cq_param *weights, cq_arena *arena, cq_error *error) {
  float *made, *rows = cq_arena_array(arena, (size_t)cq_param_floats(table), sizeof *rows);
  const float *value = rows ? cq_param_f32(&made, table) : NULL;
  if (!value) return cq_fail_memory(error, "weighted rows");
  for (int64_t i = 0; i < cq_param_floats(table); i++) rows[i] = value[i] * weights->value[i / table->cols];
  cq_free(made);
  table->value = rows, table->narrow = (cq_narrow_rows){0};
  return CQ_OK;
}

static cq_status take_model2vec(static_embedding *m, cq_arena *arena, cq_error *error) {
  static const char *const plain[] = {"embedding.weight", "embeddings", NULL}, *const shared[] = {"embeddings", NULL},
                           *const weights[] = {"weights", NULL};
  cq_param *table = &m->params[0], *factors = &m->params[1];
  const bool has_mapping = cq_weights_has(m->weights, "mapping"), has_weights = cq_weights_has(m->weights, "weights");
  cq_status status =
      cq_weights_has_numbers(m->weights, "embeddings")
          ? cq_weights_take_numbers(table, m->weights, "embeddings", arena, error)
          : cq_weights_take_narrow(table, m->weights, has_mapping ? shared : plain, -1, -1, arena, error);
  if (!status && !has_mapping) table->name = plain[0];
  if (!status && has_mapping)
    status =
        cq_weights_take_integers(&m->base.row_of, &m->base.n_ids, m->weights, "mapping", table->rows, arena, error);
  if (!status && has_weights)
    status = cq_weights_take(factors, m->weights, weights, has_mapping ? m->base.n_ids : table->rows, 0, arena, error);
  if (status || !has_weights) return status;
  if (!has_mapping) return fold_weights(table, factors, arena, error);
  factors->frozen = true;
  m->base.n_params = 2;
  return CQ_OK;
}

static cq_status static_open(cq_module **out, const cq_module_source *source, cq_error *error) {
  static_embedding *m = static_make(source->arena);
  if (!m) return cq_fail_memory(error, "a static embedding");
  *out = &m->base;
  cq_status status;
  if ((status = cq_weights_open(&m->weights, source->directory, error)) ||
      (status = take_model2vec(m, source->arena, error)) || (status = cq_weights_all_taken(m->weights, NULL, error)) ||
      (status = cq_tokenizer_open_as_it_is(&m->base.tokenizer, source->directory, source->lowercase, error)))
    return status;
  m->params[0].table = true;
  m->base.output_dim = m->params[0].cols;
  const cq_tokenizer_info *info = cq_tokenizer_describe(m->base.tokenizer);
  if (info->truncation <= INT32_MAX) m->base.max_seq_length = (int)info->truncation;
  m->drop_unknown = source->drop_unknown && info->unk_id >= 0;
  return CQ_OK;
}

static cq_status static_save(const cq_module *module, cq_dtype weights, const char *directory, cq_error *error) {
  const static_embedding *m = (const static_embedding *)module;
  cq_status status = cq_weights_save_with(module->params, module->n_params, m->base.row_of ? "mapping" : NULL,
                                          m->base.row_of, module->n_ids, weights, directory, error);
  return status ? status : cq_tokenizer_save(module->tokenizer, directory, 0, error);
}

static void static_describe(const cq_module *module, json_t **object) {
  const static_embedding *m = (const static_embedding *)module;
  cq_json_set(object, "vocab_size", json_integer(m->base.row_of ? module->n_ids : m->params[0].rows));
  if (m->base.row_of) { /* the fingerprint sees no more of it than this */
    char sum[CQ_IDENTITY_HEX];
    cq_identity_hex(sum,
                    cq_hash128_add((cq_identity){0}, m->base.row_of, (size_t)module->n_ids * sizeof *m->base.row_of));
    cq_json_set(object, "rows", json_integer(m->params[0].rows));
    cq_json_set(object, "mapping_checksum", json_string(sum));
  }
  if (m->drop_unknown) cq_json_set(object, "drop_unknown", json_true());
}

static cq_status static_tokenize(cq_ids *out, const cq_module *module, cq_token_memory *memory, cq_slice sentence,
                                 size_t max_length, bool *truncated, cq_error *error) {
  const static_embedding *m = (const static_embedding *)module;
  const size_t before = out->n;
  cq_status status = cq_tokenizer_encode(out, module->tokenizer, memory, sentence, false, max_length, truncated, error);
  if (status || !m->drop_unknown) return status;
  const int32_t unknown = cq_tokenizer_describe(module->tokenizer)->unk_id;
  size_t kept = before;
  for (size_t i = before; i < out->n; i++)
    if (out->ids[i] != unknown) out->ids[kept++] = out->ids[i];
  out->n = kept;
  return CQ_OK;
}

/* *out: a batch's rows in the table, which are its ids, or what they map to, in the worker's workspace. NULL when there
 * are no tokens. False: out of memory. */
static bool find_rows(const int32_t **out, cq_worker *worker, const static_embedding *m, const cq_batch *batch) {
  *out = batch->ids;
  if (!m->base.row_of) return true;
  const int64_t n = cq_batch_tokens(batch);
  int32_t *rows = cq_workspace_take(&worker->workspace, (size_t)n * sizeof *rows);
  for (int64_t i = 0; rows && i < n; i++) rows[i] = m->base.row_of[batch->ids[i]];
  *out = rows;
  return rows != NULL;
}

/* Multiplies the rows of x by their tokens' weights, if there are any. */
static void weigh_rows(cq_worker *worker, const static_embedding *m, const cq_batch *batch, cq_tensor x) {
  if (m->base.n_params < 2) return;
  for (int64_t i = 0; i < x.rows; i++) {
    float *row = cq_f32(x) + i * x.cols;
    worker->kernels->scale(row, row, m->params[1].value[batch->ids[i]], x.cols);
  }
}

static cq_status static_forward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                                cq_tensor *y, void **saved, cq_error *error) {
  const static_embedding *m = (const static_embedding *)module;
  const cq_param *table = &m->params[0];
  const cq_kernels *k = worker->kernels;
  (void)x;
  *y = cq_workspace_f32(&worker->workspace, batch->n_seqs, table->cols);
  if (!y->data) return cq_fail_memory(error, "sentence vectors");
  if (saved) *saved = NULL;
  cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_tensor rows = cq_workspace_f32(&worker->workspace, cq_batch_tokens(batch), table->cols);
  const int32_t *places;
  if (!rows.data || !find_rows(&places, worker, m, batch)) return cq_fail_memory(error, "token vectors");
  cq_param_gather(k, cq_f32(rows), table, places, rows.rows);
  weigh_rows(worker, m, batch, rows);
  for (int64_t s = 0; s < batch->n_seqs; s++) {
    float *row = cq_f32(*y) + s * table->cols;
    int64_t n = cq_batch_length(batch, s);
    if (n > 0)
      k->pool(row, NULL, cq_f32(rows) + batch->starts[s] * table->cols, n, table->cols, CQ_POOL_MEAN);
    else
      memset(row, 0, (size_t)table->cols * sizeof *row);
  }
  cq_workspace_release(&worker->workspace, mark);
  return CQ_OK;
}

static cq_status static_backward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                                 cq_tensor dy, cq_tensor *dx, const void *saved, cq_gradients *gradients,
                                 cq_error *error) {
  const static_embedding *m = (const static_embedding *)module;
  const cq_param *table = &m->params[0];
  (void)x, (void)dx, (void)saved;
  cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_tensor drows = cq_workspace_f32(&worker->workspace, cq_batch_tokens(batch), table->cols);
  const int32_t *places;
  if (!drows.data || !find_rows(&places, worker, m, batch)) return cq_fail_memory(error, "gradient of token vectors");
  memset(drows.data, 0, (size_t)(drows.rows * drows.cols) * sizeof(float));
  for (int64_t s = 0; s < batch->n_seqs; s++) {
    int64_t n = cq_batch_length(batch, s);
    if (n > 0)
      worker->kernels->pool_backward(cq_f32(drows) + batch->starts[s] * table->cols, cq_f32(dy) + s * dy.stride, NULL,
                                     n, table->cols, CQ_POOL_MEAN);
  }
  weigh_rows(worker, m, batch, drows);
  cq_status status = cq_table_backward(worker, table, gradients, drows, places, error);
  cq_workspace_release(&worker->workspace, mark);
  return status;
}

const cq_module_type cq_static_type = {
    .name = "StaticEmbedding",
    .type_name = "sentence_transformers.models.StaticEmbedding",
    .is_static = true,
    .takes_text = true,
    .open = static_open,
    .tokenize = static_tokenize,
    .save = static_save,
    .describe = static_describe,
    .forward = static_forward,
    .backward = static_backward,
    .free = static_free,
};
