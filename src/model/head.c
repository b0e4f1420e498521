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
  const char *model_type, *prefix; /* of the transformer's tensors, and what makes transformers' class of the type */
  const char *class, *dense, *out, *norm;
  const char *key, *activation; /* of config.json, and the activation without it */
} kinds[] = {
    {"bert", "bert.", "Bert", "bert.pooler.dense", "classifier", NULL, NULL, "tanh"},
    {"albert", "albert.", "Albert", "albert.pooler", "classifier", NULL, NULL, "tanh"},
    {"roberta", "roberta.", "Roberta", "classifier.dense", "classifier.out_proj", NULL, NULL, "tanh"},
    {"xlm-roberta", "roberta.", "XLMRoberta", "classifier.dense", "classifier.out_proj", NULL, NULL, "tanh"},
    {"camembert", "roberta.", "Camembert", "classifier.dense", "classifier.out_proj", NULL, NULL, "tanh"},
    {"mpnet", "mpnet.", "MPNet", "classifier.dense", "classifier.out_proj", NULL, NULL, "tanh"},
    {"electra", "electra.", "Electra", "classifier.dense", "classifier.out_proj", NULL, NULL, "gelu"},
    {"distilbert", "distilbert.", "DistilBert", "pre_classifier", "classifier", NULL, NULL, "relu"},
    {"deberta-v2", "deberta.", "DebertaV2", "pooler.dense", "classifier", NULL, "pooler_hidden_act", "gelu"},
    {"modernbert", "model.", "ModernBert", "head.dense", "classifier", "head.norm", "classifier_activation", "gelu"},
};

typedef struct head {
  cq_module base;
  const struct kind *kind;
  cq_weights *weights; /* the transformer's file, which the parameters borrow from; NULL for a new classifier */
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

static cq_status begin_head(head **out, cq_pooling_mode *pooling, const cq_transformer *t, const char *directory,
                            cq_arena *arena, cq_error *error) {
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
                       .n_pack_parts = 2},
              .kind = k};
  *out = h; /* from here on the caller frees it */
  cq_status status = cq_config_activation(&h->activation, t->config, k->key, k->activation, directory, error);
  if (!status && k->norm) status = cq_json_get_string(&how, t->config, "classifier_pooling", directory, error);
  *pooling = strcmp(how, "mean") == 0 ? CQ_POOL_MEAN : CQ_POOL_CLS;
  if (!status && *pooling == CQ_POOL_CLS && strcmp(how, "cls") != 0)
    status = cq_fail_file(error, CQ_ERR_UNSUPPORTED, directory, "classifier_pooling '%s' is not known", how);
  return status;
}

cq_status cq_head_open(cq_module **out, cq_pooling_mode *pooling, const cq_module *transformer, const char *directory,
                       cq_arena *arena, cq_error *error) {
  const cq_transformer *t = (const cq_transformer *)transformer;
  head *h = NULL;
  cq_status status = begin_head(&h, pooling, t, directory, arena, error);
  if (!h) return status;
  *out = &h->base;
  return status ? status : take_weights(h, h->kind, t, directory, arena, error);
}

/* --- a new classifier, and saving --- */

/* BERT's initialization. */
static cq_status add_fresh(head *h, cq_param **out, const char *stem, const char *suffix, int64_t rows, int64_t cols,
                           cq_random *random, cq_arena *arena, cq_error *error) {
  cq_param *p = *out = &h->params[h->base.n_params++];
  *p = (cq_param){.name = cq_arena_printf(arena, "%s%s", stem, suffix),
                  .rows = rows,
                  .cols = cols,
                  .n_dims = random ? 2 : 1,
                  .decay = random != NULL};
  if (!p->name) return cq_fail_memory(error, "tensor names");
  return random ? cq_param_normal(p, 0.02, random, arena, error) : cq_param_constant(p, 0, arena, error);
}

static cq_status describe_head(cq_transformer *t, const struct kind *k, cq_error *error) {
  char class[64];
  snprintf(class, sizeof class, "%sForSequenceClassification", k->class);
  cq_json_update(&t->config, json_pack("{s:[s], s:{s:s}, s:{s:i}}", "architectures", class, "id2label", "0", "LABEL_0",
                                       "label2id", "LABEL_0", 0));
  return t->config ? CQ_OK : cq_fail_memory(error, "config.json");
}

cq_status cq_head_new(cq_module **out, cq_pooling_mode *pooling, cq_module *transformer, const char *directory,
                      cq_random *random, cq_arena *arena, cq_error *error) {
  cq_transformer *t = (cq_transformer *)transformer;
  head *h = NULL;
  cq_status status = begin_head(&h, pooling, t, directory, arena, error);
  if (!h) return status;
  *out = &h->base;
  if (status) return status;
  const struct kind *k = h->kind;
  if (k->norm)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, directory, "a new classifier for model_type '%s' is not supported",
                        k->model_type);
  status = add_fresh(h, &h->out.weight, k->out, ".weight", 1, t->dim, random, arena, error);
  if (!status) status = add_fresh(h, &h->out.bias, k->out, ".bias", 1, 1, NULL, arena, error);
  if (!status) status = add_fresh(h, &h->dense.weight, k->dense, ".weight", t->dim, t->dim, random, arena, error);
  if (!status) status = add_fresh(h, &h->dense.bias, k->dense, ".bias", 1, t->dim, NULL, arena, error);
  return status ? status : describe_head(t, k, error);
}

cq_status cq_head_save(const cq_module *module, const cq_module *transformer, cq_dtype weights, const char *directory,
                       cq_error *error) {
  const head *h = (const head *)module;
  const size_t n = transformer->n_params;
  cq_arena arena = {0};
  cq_param *all = cq_alloc_array(n + module->n_params, sizeof *all);
  bool ok = all != NULL;
  for (size_t i = 0; ok && i < n; i++) {
    const cq_param *p = &transformer->params[i];
    const bool has_prefix = strncmp(p->name, h->kind->prefix, strlen(h->kind->prefix)) == 0;
    all[i] = *p;
    all[i].name = cq_arena_printf(&arena, "%s%s", has_prefix ? "" : h->kind->prefix, p->name);
    ok = all[i].name != NULL;
  }
  for (size_t i = 0; ok && i < module->n_params; i++) all[n + i] = module->params[i];
  const cq_status status = ok ? cq_weights_save(all, n + module->n_params, weights, directory, error)
                              : cq_fail_memory(error, "the list of tensors");
  cq_free(all);
  cq_arena_free(&arena);
  return status;
}

/* --- running --- */

/* A row a pair, always computed in f32, as Dense is. */
static cq_status head_pack(cq_module *module, size_t part, const cq_packing *packing, cq_error *error) {
  const cq_packing exact = {packing->kernels, CQ_PRECISION_F32, packing->training};
  head *h = (head *)module;
  return cq_linear_pack(part ? &h->out : &h->dense, &exact, error);
}

/* Kept for backward: dense's value before the activation; what out reads; the norm's own. */
typedef struct head_saved {
  cq_tensor before, hidden;
  cq_norm_saved norm;
} head_saved;

static cq_status head_forward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                              cq_tensor *y, void **saved, cq_error *error) {
  const head *h = (const head *)module;
  const cq_tensor hidden = cq_workspace_f32(&worker->workspace, x.rows, x.cols), none = {0};
  cq_tensor before = none;
  head_saved *s = NULL;
  (void)batch;
  *y = cq_workspace_f32(&worker->workspace, x.rows, 1);
  if (saved) {
    *saved = s = cq_workspace_take(&worker->workspace, sizeof *s);
    before = cq_workspace_f32(&worker->workspace, x.rows, x.cols);
    if (!s || !before.data) return cq_fail_memory(error, "logits");
    *s = (head_saved){.before = before, .hidden = hidden};
  }
  if (!hidden.data || !y->data) return cq_fail_memory(error, "logits");
  cq_status status = cq_linear_forward(worker, &h->dense, hidden, x, h->activation, before, error);
  if (!status && h->norm.gamma)
    status = cq_norm_forward(worker, &h->norm, hidden, hidden, none, s ? &s->norm : NULL, error);
  return status ? status : cq_linear_forward(worker, &h->out, *y, hidden, CQ_IDENTITY, none, error);
}

static cq_status head_backward(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                               cq_tensor dy, cq_tensor *dx, const void *saved, cq_gradients *gradients,
                               cq_error *error) {
  const head *h = (const head *)module;
  const head_saved *s = saved;
  const cq_tensor dhidden = cq_workspace_f32(&worker->workspace, x.rows, x.cols);
  (void)batch;
  if (!dhidden.data) return cq_fail_memory(error, "gradient of a classifier");
  cq_status status = cq_linear_backward(worker, &h->out, gradients, dhidden, false, dy, s->hidden, error);
  if (status) return status;
  if (h->norm.gamma) cq_norm_backward(worker, &h->norm, gradients, dhidden, dhidden, &s->norm);
  float *d = cq_f32(dhidden);
  worker->kernels->activate_backward(d, d, cq_f32(s->before), x.rows * x.cols, h->activation);
  return cq_linear_backward(worker, &h->dense, gradients, *dx, false, dhidden, x, error);
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
    .backward = head_backward,
    .free = free_head,
};
