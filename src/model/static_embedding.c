/* StaticEmbedding: a sentence is the mean of its tokens' rows, without special tokens and without a longest length.
 *
 *   tokenizer.json     the directory's own
 *   model.safetensors  embedding.weight [vocab, dim]  ("embeddings" in model2vec's files)
 *
 * No tokens: zeros. */
#include "base/error.h"
#include "model/modules.h"
#include "nn/embedding.h"

#include <string.h>

typedef struct static_embedding {
  cq_module base;
  cq_weights *weights; /* NULL for a fresh module */
  cq_param table;
} static_embedding;

static static_embedding *static_make(cq_arena *arena) {
  static_embedding *m = cq_arena_alloc(arena, sizeof *m);
  if (!m) return NULL;
  *m = (static_embedding){.base = {.type = &cq_static_type, .output_is_sentence = true, .n_params = 1}};
  m->base.params = &m->table;
  return m;
}

cq_status cq_static_new(cq_module **out, cq_tokenizer *tokenizer, int64_t dim, const char *path, cq_random *random,
                        cq_arena *arena, cq_error *error) {
  static_embedding *m = static_make(arena);
  if (!m) return cq_fail_memory(error, "a static embedding");
  m->base.path = path;
  m->base.output_dim = dim;
  m->table = (cq_param){.name = "embedding.weight",
                        .rows = cq_tokenizer_describe(tokenizer)->vocab_size,
                        .cols = dim,
                        .n_dims = 2,
                        .decay = true,
                        .table = true};
  cq_status status = cq_param_normal(&m->table, 1.0, random, arena, error); /* PyTorch's start of an EmbeddingBag */
  if (status) return status;
  m->base.tokenizer = tokenizer;
  *out = &m->base;
  return CQ_OK;
}

static void static_free(cq_module *module) {
  cq_weights_close(((static_embedding *)module)->weights);
  cq_tokenizer_free(module->tokenizer);
}

static cq_status static_open(cq_module **out, const cq_module_source *source, cq_error *error) {
  static const char *const names[] = {"embedding.weight", "embeddings", NULL};
  static_embedding *m = static_make(source->arena);
  if (!m) return cq_fail_memory(error, "a static embedding");
  *out = &m->base;
  cq_status status;
  if ((status = cq_weights_open(&m->weights, source->directory, error)) ||
      (status = cq_weights_take_narrow(&m->table, m->weights, names, -1, -1, source->arena, error)) ||
      (status = cq_weights_all_taken(m->weights, NULL, error)))
    return status;
  m->table.table = true;
  m->base.output_dim = m->table.cols;
  return CQ_OK;
}

static cq_status static_save(const cq_module *module, cq_dtype weights, const char *directory, cq_error *error) {
  cq_status status = cq_weights_save(module->params, 1, weights, directory, error);
  return status ? status : cq_tokenizer_save(module->tokenizer, directory, 0, error);
}

static cq_status static_describe(const cq_module *module, json_t *object, cq_error *error) {
  bool ok = json_object_set_new(object, "vocab_size", json_integer(module->params[0].rows)) == 0;
  return ok ? CQ_OK : cq_fail_memory(error, "a description");
}

static cq_status static_forward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                                cq_tensor *y, void **saved, cq_error *error) {
  const cq_param *table = &((const static_embedding *)module)->table;
  const cq_kernels *k = worker->kernels;
  (void)x;
  *y = cq_workspace_f32(&worker->workspace, batch->n_seqs, table->cols);
  if (!y->data) return cq_fail_memory(error, "sentence vectors");
  if (saved) *saved = NULL;
  cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_tensor rows = cq_workspace_f32(&worker->workspace, cq_batch_tokens(batch), table->cols);
  if (!rows.data) return cq_fail_memory(error, "token vectors");
  cq_param_gather(k, cq_f32(rows), table, batch->ids, rows.rows);
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
  const cq_param *table = &((const static_embedding *)module)->table;
  (void)x, (void)dx, (void)saved;
  cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_tensor drows = cq_workspace_f32(&worker->workspace, cq_batch_tokens(batch), table->cols);
  if (!drows.data) return cq_fail_memory(error, "gradient of token vectors");
  memset(drows.data, 0, (size_t)(drows.rows * drows.cols) * sizeof(float));
  for (int64_t s = 0; s < batch->n_seqs; s++) {
    int64_t n = cq_batch_length(batch, s);
    if (n > 0)
      worker->kernels->pool_backward(cq_f32(drows) + batch->starts[s] * table->cols, cq_f32(dy) + s * dy.stride, NULL,
                                     n, table->cols, CQ_POOL_MEAN);
  }
  cq_status status = cq_table_backward(worker, table, gradients, drows, batch->ids, error);
  cq_workspace_release(&worker->workspace, mark);
  return status;
}

const cq_module_type cq_static_type = {
    .name = "StaticEmbedding",
    .type_name = "sentence_transformers.models.StaticEmbedding",
    .takes_text = true,
    .open = static_open,
    .save = static_save,
    .describe = static_describe,
    .forward = static_forward,
    .backward = static_backward,
    .free = static_free,
};
