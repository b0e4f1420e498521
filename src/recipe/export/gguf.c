/* The architecture "bert" of llama.cpp: absolute positions, token types, layers that normalize after the residual; then
 * pooling by the mean, the first or the last token. The program that reads the file normalizes vectors itself. */
#include "recipe/export/gguf.h"

#include "base/error.h"
#include "model/modules.h"
#include "model/transformer_module.h"
#include "recipe/export/onnx_model.h"

enum { VERSION = 3, ALIGNMENT = 32, MAX_TENSORS = 16 }; /* a layer's */

/* ---- what cannot be expressed ---- */

/* Why llama.cpp would compute other vectors; NULL: it does not. */
static const char *reason_of(const cq_transformer *t) {
  const cq_embedding *e = &t->embedding;
  if (t->is_stack) return "its layers are not BERT's";
  if (t->disentangled || t->relative.table) return "its attention depends on distances";
  if (e->projection.weight) return "its embeddings are normalized before they are projected to the layers' width";
  if (e->tasks) return "its embeddings have types of task";
  if (!e->positions || !e->norm.gamma) return "its embeddings are not BERT's";
  if (t->mixture.weights) return "WeightedLayerPooling mixes the outputs of its layers";
  if (t->n_layers && t->layers[0].activation != CQ_GELU && t->layers[0].activation != CQ_GELU_TANH)
    return "its activation is not GELU";
  return NULL;
}

/* llama.cpp's number of a pooling mode; 0: it has no such mode. */
static uint32_t pooling_type(const cq_module *module) {
  static const uint32_t types[CQ_N_POOLING_MODES] = {[CQ_POOL_MEAN] = 1, [CQ_POOL_CLS] = 2, [CQ_POOL_LAST] = 3};
  const cq_pooling_mode *modes;
  return cq_pooling_modes(&modes, module) == 1 && !module->leaves_out_prompt ? types[modes[0]] : 0;
}

static cq_status check_modules(uint32_t *pooling, const cq_encoder *e, cq_error *error) {
  for (size_t i = 0; i < e->n_modules; i++) {
    const cq_module *m = e->modules[i];
    const char *reason = NULL;
    if (i == 0 && !cq_is_transformer(m)) return cq_refuse_module(e, i, "GGUF", NULL, error);
    if (i == 0)
      reason = reason_of((const cq_transformer *)m);
    else if (m->type == &cq_pooling_type && !(*pooling = pooling_type(m)))
      reason = "only one of mean, cls and lasttoken";
    else if (m->type != &cq_pooling_type && m->type != &cq_dropout_type && m->type != &cq_normalize_type)
      return cq_refuse_module(e, i, "GGUF", "llama.cpp computes nothing after pooling", error);
    if (!reason && i + 1 == e->n_modules && e->truncate_dim > 0) reason = "its vectors are truncated (truncate_dim)";
    if (reason) return cq_refuse_module(e, i, "GGUF", reason, error);
  }
  return CQ_OK;
}

/* ---- tensors ---- */

typedef struct tensor {
  char name[64];
  int n_dims;
  cq_stored_weight weight;
} tensor;

typedef struct tensors {
  tensor *items; /* [room] */
  size_t n;
  cq_export_precision precision;
} tensors;

/* Vectors, positions and types stay in f32, as llama.cpp wants them. */
static void add_tensor(tensors *list, const char *name, const char *ending, const cq_param *p, bool is_matrix) {
  static const cq_stored_as kinds[] = {CQ_AS_F32, CQ_AS_F16, CQ_AS_Q8_0};
  tensor *t = &list->items[list->n++];
  cq_stored_as as = is_matrix ? kinds[list->precision] : CQ_AS_F32;
  if (as == CQ_AS_Q8_0 && p->cols % 32) as = CQ_AS_F16;
  snprintf(t->name, sizeof t->name, "%s.%s", name, ending);
  t->n_dims = p->n_dims;
  t->weight = cq_stored_weight_of(p, as, false);
}

static void add_linear(tensors *list, const char *name, const cq_linear *l) {
  add_tensor(list, name, "weight", l->weight, true);
  if (l->bias) add_tensor(list, name, "bias", l->bias, false);
}

static void add_norm(tensors *list, const char *name, const cq_norm *l) {
  add_tensor(list, name, "weight", l->gamma, false);
  if (l->beta) add_tensor(list, name, "bias", l->beta, false);
}

static void add_layer(tensors *list, const cq_transformer_layer *l, int64_t index) {
  const struct {
    const char *name;
    const cq_linear *linear;
    const cq_norm *norm;
  } parts[] = {{"attn_q", &l->attention.query, NULL},
               {"attn_k", &l->attention.key, NULL},
               {"attn_v", &l->attention.value, NULL},
               {"attn_output", &l->attention.output, NULL},
               {"attn_output_norm", NULL, &l->attention_norm},
               {"ffn_up", &l->up, NULL},
               {"ffn_down", &l->down, NULL},
               {"layer_output_norm", NULL, &l->output_norm}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    char name[48];
    snprintf(name, sizeof name, "blk.%lld.%s", (long long)index, parts[i].name);
    if (parts[i].linear) add_linear(list, name, parts[i].linear);
    if (parts[i].norm) add_norm(list, name, parts[i].norm);
  }
}

static void add_tensors(tensors *list, const cq_transformer *t) {
  const cq_embedding *e = &t->embedding;
  add_tensor(list, "token_embd", "weight", e->words, true);
  add_tensor(list, "position_embd", "weight", e->positions, false);
  cq_stored_weight *positions = &list->items[list->n - 1].weight;
  positions->first = e->first_position, positions->rows -= e->first_position;
  if (e->types) add_tensor(list, "token_types", "weight", e->types, false);
  add_norm(list, "token_embd_norm", &e->norm);
  for (int64_t i = 0; i < cq_transformer_depth(t); i++) add_layer(list, cq_transformer_layer_at(t, i), i);
}

/* ---- the file ---- */

static void put_sizes(cq_gguf *g, const cq_encoder *e, cq_export_precision precision, uint32_t pooling) {
  static const uint32_t file_types[] = {0, 1, 7}; /* llama.cpp's numbers */
  const cq_transformer *t = (const cq_transformer *)e->modules[0];
  cq_gguf_string(g, "general.architecture", "bert");
  cq_gguf_string(g, "general.type", "model");
  cq_gguf_string(g, "general.name", "calque");
  cq_gguf_u32(g, "general.file_type", file_types[precision]);
  cq_gguf_u32(g, "general.quantization_version", 2);
  cq_gguf_u32(g, "bert.context_length", (uint32_t)e->max_seq_length);
  cq_gguf_u32(g, "bert.embedding_length", (uint32_t)t->dim);
  cq_gguf_u32(g, "bert.feed_forward_length", (uint32_t)t->feed_forward_dim);
  cq_gguf_u32(g, "bert.block_count", (uint32_t)cq_transformer_depth(t));
  cq_gguf_u32(g, "bert.attention.head_count", (uint32_t)t->n_heads);
  cq_gguf_f32(g, "bert.attention.layer_norm_epsilon", (float)t->norm_eps);
  cq_gguf_bool(g, "bert.attention.causal", false);
  cq_gguf_u32(g, "bert.pooling_type", pooling);
  if (t->embedding.types) cq_gguf_u32(g, "tokenizer.ggml.token_type_count", (uint32_t)t->embedding.types->rows);
}

static size_t aligned(size_t n) {
  return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static cq_status write_padding(cq_writer *w, size_t n, cq_error *error) {
  static const char zeros[ALIGNMENT];
  return cq_writer_bytes(w, zeros, aligned(n) - n, error);
}

static cq_status write_file(const cq_gguf *g, const tensors *list, const char *path, cq_error *error) {
  static const uint32_t types[] = {[CQ_AS_F32] = 0, [CQ_AS_F16] = 1, [CQ_AS_Q8_0] = 8}; /* ggml's */
  cq_gguf all = {0};
  cq_writer w = {0};
  uint64_t offset = 0;
  cq_gguf_put(&all, "GGUF", 4);
  cq_gguf_put(&all, &(uint32_t){VERSION}, sizeof(uint32_t));
  cq_gguf_put(&all, &(uint64_t){list->n}, sizeof(uint64_t));
  cq_gguf_put(&all, &g->n_values, sizeof g->n_values);
  cq_gguf_put(&all, g->head.data, g->head.n);
  for (size_t i = 0; i < list->n; i++) {
    const tensor *t = &list->items[i];
    cq_gguf_put_string(&all, cq_slice_of(t->name));
    cq_gguf_put(&all, &(uint32_t){(uint32_t)t->n_dims}, sizeof(uint32_t));
    cq_gguf_put(&all, &t->weight.param->cols, sizeof(int64_t));
    if (t->n_dims == 2) cq_gguf_put(&all, &t->weight.rows, sizeof(int64_t));
    cq_gguf_put(&all, &types[t->weight.as], sizeof *types);
    cq_gguf_put(&all, &offset, sizeof offset);
    offset += aligned(cq_stored_weight_bytes(&t->weight));
  }
  cq_status status = all.head.failed || g->head.failed ? cq_fail_memory(error, "a file's head") : CQ_OK;
  if (!status) status = cq_writer_open(&w, path, error);
  if (!status) status = cq_writer_bytes(&w, all.head.data, all.head.n, error);
  if (!status) status = write_padding(&w, all.head.n, error);
  for (size_t i = 0; !status && i < list->n; i++) {
    status = cq_stored_weight_write(&list->items[i].weight, &w, error);
    if (!status) status = write_padding(&w, cq_stored_weight_bytes(&list->items[i].weight), error);
  }
  if (!status) status = cq_writer_commit(&w, error);
  cq_writer_abort(&w);
  cq_builder_free(&all.head);
  return status;
}

cq_status cq_gguf_write(const cq_encoder *e, cq_export_precision precision, const char *path, cq_error *error) {
  cq_gguf g = {0};
  cq_arena arena = {0};
  const char *reason = NULL;
  uint32_t pooling = 0;
  cq_status status = check_modules(&pooling, e, error);
  if (status) return status;
  const cq_transformer *t = (const cq_transformer *)e->modules[0];
  const size_t room = MAX_TENSORS * (1 + (size_t)cq_transformer_depth(t));
  tensors list = {cq_arena_array_zeroed(&arena, room, sizeof *list.items), 0, precision};
  if (!list.items) return cq_fail_memory(error, "tensors");
  add_tensors(&list, t);
  put_sizes(&g, e, precision, pooling);
  status = cq_gguf_put_tokenizer(&g, &reason, e->modules[0], (size_t)t->embedding.words->rows, error);
  if (!status && reason) status = cq_refuse_module(e, 0, "GGUF", reason, error);
  if (!status) status = write_file(&g, &list, path, error);
  cq_builder_free(&g.head);
  cq_arena_free(&arena);
  return status;
}
