/* The classifier of a cross-encoder, in the same files as its transformer: one logit for a pair of texts.
 *
 *   x [n_seqs, dim], pooled -> y = out(norm(activation(dense(x)))) [n_seqs, 1]
 *
 *   model_type                        dense              activation          out
 *   bert, albert                      the pooler         tanh                classifier
 *   roberta, xlm-roberta, camembert,  classifier.dense   tanh; ELECTRA: gelu classifier.out_proj
 *   mpnet, electra
 *   distilbert                        pre_classifier     relu                classifier
 *   deberta-v2                        the pooler         pooler_hidden_act   classifier
 *   modernbert                        head.dense         classifier_activation, then head.norm; classifier */
#include "base/error.h"
#include "base/memory.h"
#include "format/json.h"
#include "model/families/config.h"
#include "model/modules.h"
#include "model/transformer_module.h"
#include "nn/norm.h"

#include <string.h>

static const struct kind {
  const char *model_type, *dense, *out, *norm;
  const char *key, *activation; /* of config.json, and the activation without it */
} kinds[] = {
    {"bert", "bert.pooler.dense", "classifier", NULL, NULL, "tanh"},
    {"albert", "albert.pooler", "classifier", NULL, NULL, "tanh"},
    {"roberta", "classifier.dense", "classifier.out_proj", NULL, NULL, "tanh"},
    {"xlm-roberta", "classifier.dense", "classifier.out_proj", NULL, NULL, "tanh"},
    {"camembert", "classifier.dense", "classifier.out_proj", NULL, NULL, "tanh"},
    {"mpnet", "classifier.dense", "classifier.out_proj", NULL, NULL, "tanh"},
    {"electra", "classifier.dense", "classifier.out_proj", NULL, NULL, "gelu"},
    {"distilbert", "pre_classifier", "classifier", NULL, NULL, "relu"},
    {"deberta-v2", "pooler.dense", "classifier", NULL, "pooler_hidden_act", "gelu"},
    {"modernbert", "head.dense", "classifier", "head.norm", "classifier_activation", "gelu"},
};

typedef struct head {
  cq_module base;
  cq_weights *weights; /* the transformer's file, which the parameters borrow from */
  cq_param params[6];
  cq_linear dense, out;
  cq_norm norm; /* gamma NULL: none */
  cq_activation activation;
} head;

static cq_status take(head *h, cq_param **out, const char *stem, const char *suffix, int64_t rows, int64_t cols,
                      cq_arena *arena, cq_error *error) {
  const char *const names[] = {cq_arena_printf(arena, "%s%s", stem, suffix), NULL};
  if (!names[0]) return cq_fail_memory(error, "tensor names");
  *out = &h->params[h->base.n_params++];
  return cq_weights_take(*out, h->weights, names, rows, cols, arena, error);
}

/* A bias that the file lacks is none: ModernBERT has some by its configuration. */
static cq_status take_linear(head *h, cq_linear *l, const char *stem, int64_t rows, int64_t cols, cq_arena *arena,
                             cq_error *error) {
  const char *bias = cq_arena_printf(arena, "%s.bias", stem);
  if (!bias) return cq_fail_memory(error, "tensor names");
  cq_status status = take(h, &l->weight, stem, ".weight", rows, cols, arena, error);
  if (status || !cq_weights_has(h->weights, bias)) return status;
  return take(h, &l->bias, stem, ".bias", l->weight->rows, 0, arena, error);
}

static cq_status take_norm(head *h, const char *stem, int64_t dim, double eps, cq_arena *arena, cq_error *error) {
  const char *bias = cq_arena_printf(arena, "%s.bias", stem);
  if (!bias) return cq_fail_memory(error, "tensor names");
  h->norm.eps = (float)eps;
  cq_status status = take(h, &h->norm.gamma, stem, ".weight", dim, 0, arena, error);
  if (status || !cq_weights_has(h->weights, bias)) return status;
  return take(h, &h->norm.beta, stem, ".bias", dim, 0, arena, error);
}

static cq_status take_weights(head *h, const struct kind *k, const cq_transformer *t, const char *directory,
                              cq_arena *arena, cq_error *error) {
  char name[64];
  cq_status status = cq_weights_open(&h->weights, directory, error);
  if (status) return status;
  snprintf(name, sizeof name, "%s.weight", k->out);
  if (!cq_weights_has(h->weights, name))
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, directory,
                        "no classifier (tensor '%s'), which a reranker needs; is this an embedding model?", name);
  status = take_linear(h, &h->out, k->out, -1, t->dim, arena, error);
  if (!status && h->out.weight->rows != 1)
    status = cq_fail_file(error, CQ_ERR_UNSUPPORTED, directory, "the classifier has %lld labels, a reranker has 1",
                          (long long)h->out.weight->rows);
  if (!status) status = take_linear(h, &h->dense, k->dense, t->dim, t->dim, arena, error);
  if (!status && k->norm) status = take_norm(h, k->norm, t->dim, t->norm_eps, arena, error);
  return status;
}

cq_status cq_head_open(cq_module **out, cq_pooling_mode *pooling, const cq_module *transformer, const char *directory,
                       cq_arena *arena, cq_error *error) {
  const cq_transformer *t = (const cq_transformer *)transformer;
  const char *type = json_string_value(json_object_get(t->config, "model_type")), *how = "cls";
  const struct kind *k = kinds, *end = kinds + sizeof kinds / sizeof *kinds;
  while (k < end && strcmp(k->model_type, type) != 0) k++;
  if (k == end)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, directory, "rerankers of model_type '%s' are not supported", type);
  head *h = cq_arena_alloc(arena, sizeof *h);
  if (!h) return cq_fail_memory(error, "a classifier");
  *h = (head){.base = {.type = &cq_head_type,
                       .path = "",
                       .output_dim = 1,
                       .output_is_sentence = true,
                       .params = h->params,
                       .n_pack_parts = 2}};
  *out = &h->base; /* from here on the caller frees it */
  cq_status status = cq_config_activation(&h->activation, t->config, k->key, k->activation, directory, error);
  if (!status && k->norm) status = cq_json_get_string(&how, t->config, "classifier_pooling", directory, error);
  *pooling = strcmp(how, "mean") == 0 ? CQ_POOL_MEAN : CQ_POOL_CLS;
  if (!status && *pooling == CQ_POOL_CLS && strcmp(how, "cls") != 0)
    status = cq_fail_file(error, CQ_ERR_UNSUPPORTED, directory, "classifier_pooling '%s' is not known", how);
  return status ? status : take_weights(h, k, t, directory, arena, error);
}

/* A row a pair, always computed in f32, as Dense is. */
static cq_status head_pack(cq_module *module, size_t part, const cq_packing *packing, cq_error *error) {
  const cq_packing exact = {packing->kernels, CQ_PRECISION_F32, packing->training};
  head *h = (head *)module;
  return cq_linear_pack(part ? &h->out : &h->dense, &exact, error);
}

static cq_status head_forward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                              cq_tensor *y, void **saved, cq_error *error) {
  const head *h = (const head *)module;
  const cq_tensor hidden = cq_workspace_f32(&worker->workspace, x.rows, x.cols), none = {0};
  (void)batch, (void)saved;
  *y = cq_workspace_f32(&worker->workspace, x.rows, 1);
  if (!hidden.data || !y->data) return cq_fail_memory(error, "logits");
  cq_status status = cq_linear_forward(worker, &h->dense, hidden, x, h->activation, none, error);
  if (!status && h->norm.gamma) status = cq_norm_forward(worker, &h->norm, hidden, hidden, none, NULL, error);
  return status ? status : cq_linear_forward(worker, &h->out, *y, hidden, CQ_IDENTITY, none, error);
}

static void free_head(cq_module *module) {
  head *h = (head *)module;
  cq_linear_free(&h->dense);
  cq_linear_free(&h->out);
  cq_weights_close(h->weights);
}

const cq_module_type cq_head_type = {
    .name = "Classifier",
    .pack = head_pack,
    .forward = head_forward,
    .free = free_head,
};
