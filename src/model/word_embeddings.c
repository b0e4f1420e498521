/* WordEmbeddings: a table of vectors as the input of an LSTM, with the tokenizer that finds its rows.
 *
 *   wordembedding_config.json  {"tokenizer_class", "update_embeddings", "max_seq_length"}
 *   model.safetensors          emb_layer.weight [vocab, dim]
 *   ...TransformersTokenizerWrapper: a Hugging Face tokenizer's files, with special tokens
 *   ...WhitespaceTokenizer:          whitespacetokenizer_config.json
 *
 * Ids are simply truncated at max_seq_length: here, a truncated sentence loses its closing special token. */
#include "base/error.h"
#include "base/file.h"
#include "format/json.h"
#include "model/modules.h"
#include "model/whitespace.h"
#include "nn/embedding.h"

#include <string.h>

typedef struct word_embeddings {
  cq_module base;
  cq_weights *weights;  /* NULL for a fresh module */
  cq_whitespace *words; /* instead of base.tokenizer */
  bool frozen;          /* update_embeddings false: training does not change the table */
  cq_param table;
} word_embeddings;

#define TOKENIZERS "sentence_transformers.models.tokenizer."
#define WRAPPER    "sentence_transformers.sentence_transformer.modules.tokenizer.word.TransformersTokenizerWrapper"

static word_embeddings *word_embeddings_make(cq_arena *arena) {
  word_embeddings *m = cq_arena_alloc(arena, sizeof *m);
  if (!m) return NULL;
  *m = (word_embeddings){.base = {.type = &cq_word_embeddings_type, .n_params = 1, .add_special = true}};
  m->base.params = &m->table;
  return m;
}

cq_status cq_word_embeddings_new(cq_module **out, cq_tokenizer *tokenizer, int64_t dim, int max_seq_length,
                                 const char *path, cq_random *random, cq_arena *arena, cq_error *error) {
  word_embeddings *m = word_embeddings_make(arena);
  if (!m) return cq_fail_memory(error, "word embeddings");
  m->base.path = path;
  m->base.output_dim = dim;
  m->base.max_seq_length = max_seq_length;
  cq_status status = cq_param_word_table(&m->table, "emb_layer.weight", tokenizer, dim, random, arena, error);
  if (status) return status;
  m->base.tokenizer = tokenizer;
  *out = &m->base;
  return CQ_OK;
}

static void word_embeddings_free(cq_module *module) {
  word_embeddings *m = (word_embeddings *)module;
  cq_weights_close(m->weights);
  cq_whitespace_free(m->words);
  cq_tokenizer_free(m->base.tokenizer);
}

static cq_status open_tokenizer(word_embeddings *m, const char *class, const char *directory, const char *path,
                                cq_error *error) {
  const char *last = class ? strrchr(class, '.') : NULL;
  if (last && strncmp(class, "sentence_transformers.", 22) == 0) {
    if (strcmp(last, ".TransformersTokenizerWrapper") == 0)
      return cq_tokenizer_open(&m->base.tokenizer, directory, false, error);
    if (strcmp(last, ".WhitespaceTokenizer") == 0) return cq_whitespace_open(&m->words, directory, error);
  }
  if (!class) return cq_fail_file(error, CQ_ERR_FORMAT, path, "key 'tokenizer_class' is missing");
  return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "tokenizer_class '%s' is not known", class);
}

static cq_status word_embeddings_open(cq_module **out, const cq_module_source *source, cq_error *error) {
  static const char *const names[] = {"emb_layer.weight", NULL};
  char path[4096];
  json_t *config = NULL;
  const char *class = NULL;
  bool update = true;
  int64_t length = 1000000; /* sentence-transformers' default */
  word_embeddings *m = word_embeddings_make(source->arena);
  if (!m) return cq_fail_memory(error, "word embeddings");
  *out = &m->base;
  cq_status status = cq_json_open(&config, path, sizeof path, source->directory, "wordembedding_config.json", error);
  if (!status) status = cq_json_get_string(&class, config, "tokenizer_class", path, error);
  if (!status) status = cq_json_get_bool(&update, config, "update_embeddings", path, error);
  if (!status) status = cq_json_get_int(&length, config, "max_seq_length", 1, INT32_MAX, path, error);
  if (!status) status = open_tokenizer(m, class, source->directory, path, error);
  if (!status) status = cq_weights_open(&m->weights, source->directory, error);
  if (!status) status = cq_weights_take_narrow(&m->table, m->weights, names, -1, -1, source->arena, error);
  if (!status) status = cq_weights_all_taken(m->weights, NULL, error);
  if (!status && m->words && cq_whitespace_size(m->words) > m->table.rows)
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "the tokenizer knows %lld words, emb_layer.weight has %lld rows",
                          (long long)cq_whitespace_size(m->words), (long long)m->table.rows);
  json_decref(config);
  if (status) return status;
  m->frozen = !update;
  m->table.table = true;
  m->table.decay = update;
  m->base.output_dim = m->table.cols;
  m->base.max_seq_length = (int)length;
  return CQ_OK;
}

static cq_status word_embeddings_save(const cq_module *module, cq_dtype weights, const char *directory,
                                      cq_error *error) {
  const word_embeddings *m = (const word_embeddings *)module;
  json_t *config =
      json_pack("{s:s, s:b, s:I}", "tokenizer_class", m->words ? TOKENIZERS "WhitespaceTokenizer" : WRAPPER,
                "update_embeddings", !m->frozen, "max_seq_length", (json_int_t)m->base.max_seq_length);
  cq_status status = cq_json_save(config, directory, "wordembedding_config.json", error);
  if (!status) status = cq_weights_save(module->params, 1, weights, directory, error);
  if (status) return status;
  return m->words ? cq_whitespace_save(m->words, directory, error)
                  : cq_tokenizer_save(m->base.tokenizer, directory, m->base.max_seq_length, error);
}

static void word_embeddings_describe(const cq_module *module, json_t **object) {
  const word_embeddings *m = (const word_embeddings *)module;
  cq_json_set(object, "vocab_size", json_integer(m->table.rows));
  cq_json_set(object, "tokenizer", json_string(m->words ? "whitespace" : "subword"));
  cq_json_set(object, "update_embeddings", json_boolean(!m->frozen));
  if (!m->words) return;
  char sum[CQ_IDENTITY_HEX]; /* the words have no tokenizer that could be compared */
  cq_identity_hex(sum, cq_whitespace_identity(m->words));
  cq_json_set(object, "words_checksum", json_string(sum));
}

static cq_status word_embeddings_tokenize(cq_ids *out, const cq_module *module, cq_token_memory *memory,
                                          cq_slice sentence, size_t max_length, bool *truncated, cq_error *error) {
  const word_embeddings *m = (const word_embeddings *)module;
  const size_t before = out->n;
  cq_status status = m->words ? cq_whitespace_encode(out, m->words, sentence, error)
                              : cq_tokenizer_encode(out, m->base.tokenizer, memory, sentence, true, 0, NULL, error);
  if (status) return status;
  const bool too_long = max_length > 0 && out->n - before > max_length;
  if (too_long) out->n = before + max_length;
  if (truncated) *truncated = too_long;
  return CQ_OK;
}

static cq_status word_embeddings_forward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                                         cq_tensor *y, void **saved, cq_error *error) {
  const cq_param *table = &((const word_embeddings *)module)->table;
  (void)x;
  *y = cq_workspace_f32(&worker->workspace, cq_batch_tokens(batch), table->cols);
  if (!y->data) return cq_fail_memory(error, "token vectors");
  if (saved) *saved = NULL;
  cq_param_gather(worker->kernels, cq_f32(*y), table, batch->ids, y->rows);
  return CQ_OK;
}

static cq_status word_embeddings_backward(cq_worker *worker, const cq_module *module, const cq_batch *batch,
                                          cq_tensor x, cq_tensor dy, cq_tensor *dx, const void *saved,
                                          cq_gradients *gradients, cq_error *error) {
  const word_embeddings *m = (const word_embeddings *)module;
  (void)x, (void)dx, (void)saved;
  return m->frozen ? CQ_OK : cq_table_backward(worker, &m->table, gradients, dy, batch->ids, error);
}

const cq_module_type cq_word_embeddings_type = {
    .name = "WordEmbeddings",
    .type_name = "sentence_transformers.models.WordEmbeddings",
    .takes_text = true,
    .open = word_embeddings_open,
    .tokenize = word_embeddings_tokenize,
    .save = word_embeddings_save,
    .describe = word_embeddings_describe,
    .forward = word_embeddings_forward,
    .backward = word_embeddings_backward,
    .free = word_embeddings_free,
};
