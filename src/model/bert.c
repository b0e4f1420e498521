/* BERT-like models: takes the weights by name. */
#include "model/bert.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* Buffers and heads of other tasks, which do not affect the token vectors. */
static const char *const ignored_tensors[] = {"pooler.",
                                              "bert.pooler.",
                                              "roberta.pooler.",
                                              "mpnet.pooler.",
                                              "albert.pooler.",
                                              "ernie.pooler.",
                                              "cls.",
                                              "predictions.",
                                              "sop_classifier.",
                                              "mask_predictions.",
                                              "lm_predictions.",
                                              "deberta.embeddings.position_ids",
                                              "deberta.embeddings.position_embeddings.", /* a biased input's */
                                              "discriminator_predictions.",
                                              "generator_predictions.",
                                              "generator_lm_head.",
                                              "lm_head.",
                                              "vocab_layer_norm.",
                                              "vocab_transform.",
                                              "vocab_projector.",
                                              "embeddings.position_ids",
                                              "bert.embeddings.position_ids",
                                              "roberta.embeddings.position_ids",
                                              "mpnet.embeddings.position_ids",
                                              "distilbert.embeddings.position_ids",
                                              "electra.embeddings.position_ids",
                                              "albert.embeddings.position_ids",
                                              "ernie.embeddings.position_ids",
                                              "embeddings.token_type_ids",
                                              "embeddings.task_type_embeddings.", /* where use_task_id is false */
                                              "ernie.embeddings.task_type_embeddings.",
                                              NULL};

/* ---- taking the weights ---- */

typedef struct taker {
  cq_transformer *t;
  cq_weights *weights;
  cq_arena *arena;
  const cq_bert *a;
  size_t next; /* parameters used so far */
  cq_error *error;
} taker;

/* The tensor "STEM SUFFIX", also under the task prefix; LayerNorms also under their old names. */
static cq_status take_any(taker *k, cq_param **out, const char *stem, const char *suffix, const char *old_suffix,
                          int64_t rows, int64_t cols, bool may_be_narrow) {
  char *names[5] = {cq_arena_printf(k->arena, "%s%s", stem, suffix),
                    cq_arena_printf(k->arena, "%s%s%s", k->a->prefix, stem, suffix)};
  size_t n = 2;
  if (old_suffix) {
    names[n++] = cq_arena_printf(k->arena, "%s%s", stem, old_suffix);
    names[n++] = cq_arena_printf(k->arena, "%s%s%s", k->a->prefix, stem, old_suffix);
  }
  for (size_t i = 0; i < n; i++) {
    if (!names[i]) return cq_fail_memory(k->error, "tensor names");
  }
  cq_param *p = &k->t->base.params[k->next++];
  *out = p;
  return (may_be_narrow ? cq_weights_take_narrow : cq_weights_take)(p, k->weights, (const char *const *)names, rows,
                                                                    cols, k->arena, k->error);
}

static cq_status take_param(taker *k, cq_param **out, const char *stem, const char *suffix, const char *old_suffix,
                            int64_t rows, int64_t cols) {
  return take_any(k, out, stem, suffix, old_suffix, rows, cols, false);
}

/* What is read through cq_param_gather or packed. */
static cq_status take_matrix(taker *k, cq_param **out, const char *stem, int64_t rows, int64_t cols) {
  return take_any(k, out, stem, ".weight", NULL, rows, cols, true);
}

static cq_status take_linear(taker *k, cq_linear *l, const char *stem, int64_t out, int64_t in) {
  cq_status status = take_matrix(k, &l->weight, stem, out, in);
  if (!status) status = take_param(k, &l->bias, stem, ".bias", NULL, out, 0);
  return status;
}

static cq_status take_norm(taker *k, cq_norm *l, const char *stem, int64_t dim, double eps) {
  l->eps = (float)eps;
  cq_status status = take_param(k, &l->gamma, stem, ".weight", ".gamma", dim, 0);
  if (!status) status = take_param(k, &l->beta, stem, ".bias", ".beta", dim, 0);
  return status;
}

static cq_status take_layer(taker *k, cq_transformer_layer *l, int index, const cq_bert_sizes *s) {
  const cq_bert_names *names = k->a->names;
  const char *const stems[] = {names->query,          names->key, names->value, names->output,
                               names->attention_norm, names->up,  names->down,  names->output_norm};
  char *full[8];
  for (int i = 0; i < 8; i++) {
    char prefix[64];
    snprintf(prefix, sizeof prefix, names->layer, index / (int)s->group_size, index % (int)s->group_size);
    full[i] = cq_arena_printf(k->arena, "%s%s", prefix, stems[i]);
    if (!full[i]) return cq_fail_memory(k->error, "tensor names");
  }
  cq_status status = take_linear(k, &l->attention.query, full[0], s->dim, s->dim);
  if (!status) status = take_linear(k, &l->attention.key, full[1], s->dim, s->dim);
  if (!status) status = take_linear(k, &l->attention.value, full[2], s->dim, s->dim);
  if (!status) status = take_linear(k, &l->attention.output, full[3], s->dim, s->dim);
  if (!status) status = take_norm(k, &l->attention_norm, full[4], s->dim, s->norm_eps);
  if (!status) status = take_linear(k, &l->up, full[5], s->feed_forward, s->dim);
  if (!status) status = take_linear(k, &l->down, full[6], s->dim, s->feed_forward);
  if (!status) status = take_norm(k, &l->output_norm, full[7], s->dim, s->norm_eps);
  l->attention.n_heads = s->n_heads;
  l->activation = s->activation;
  return status;
}

static cq_status take_embedding(taker *k, cq_embedding *e, const cq_bert_sizes *s) {
  const int64_t dim = s->embedding_dim;
  cq_status status = take_matrix(k, &e->words, "embeddings.word_embeddings", s->vocab, dim);
  if (status) return status;
  e->words->table = true;
  if (!cq_bert_is_deberta(k->a) || s->distances.positions_in_input)
    status = take_param(k, &e->positions, "embeddings.position_embeddings", ".weight", NULL, s->n_positions, dim);
  if (!status && s->n_types > 0)
    status = take_param(k, &e->types, "embeddings.token_type_embeddings", ".weight", NULL, s->n_types, dim);
  if (!status && s->n_tasks > 0)
    status = take_param(k, &e->tasks, "embeddings.task_type_embeddings", ".weight", NULL, s->n_tasks, dim);
  if (!status) status = take_norm(k, &e->norm, "embeddings.LayerNorm", dim, s->norm_eps);
  if (!status && k->a->projection && (k->a->always_projects || dim != s->dim))
    status = take_linear(k, &e->projection, k->a->projection, s->dim, dim);
  return status;
}

/* The embeddings of distances, and each layer's projections of them. */
static cq_status take_distances(taker *k, cq_transformer *t, const cq_bert_sizes *s) {
  const cq_distance_sizes *d = &s->distances;
  const size_t n = (size_t)t->n_layers;
  cq_status status = CQ_OK;
  t->disentangled = cq_arena_array(k->arena, n, sizeof *t->disentangled);
  t->of_distances = cq_arena_array_zeroed(k->arena, 2 * n, sizeof *t->of_distances);
  if (!t->disentangled || !t->of_distances) return cq_fail_memory(k->error, "transformer");
  t->distances.span = d->span;
  t->distances.max = d->max;
  if (d->relative)
    status = take_param(k, &t->distances.table, "encoder.rel_embeddings", ".weight", NULL, 2 * d->span, s->dim);
  if (!status && d->relative && d->normed)
    status = take_norm(k, &t->distances.norm, "encoder.LayerNorm", s->dim, s->norm_eps);
  for (size_t i = 0; !status && i < n; i++) {
    cq_attention *attention = &t->layers[i].attention;
    cq_linear *own = &t->of_distances[2 * i];
    char stem[96];
    if (d->relative && !d->shared && d->c2p) {
      snprintf(stem, sizeof stem, "encoder.layer.%zu.attention.self.pos_key_proj", i);
      status = take_linear(k, &own[0], stem, s->dim, s->dim);
    }
    if (!status && d->relative && !d->shared && d->p2c) {
      snprintf(stem, sizeof stem, "encoder.layer.%zu.attention.self.pos_query_proj", i);
      status = take_linear(k, &own[1], stem, s->dim, s->dim);
    }
    t->disentangled[i] = (cq_disentangled){.distances = &t->distances,
                                           .key = !d->relative || !d->c2p ? NULL
                                                  : d->shared             ? &attention->key
                                                                          : &own[0],
                                           .query = !d->relative || !d->p2c ? NULL
                                                    : d->shared             ? &attention->query
                                                                            : &own[1],
                                           .n_terms = 1 + d->c2p + d->p2c};
    attention->disentangled = &t->disentangled[i];
  }
  return status;
}

void cq_bert_set_dropouts(cq_transformer *t, float hidden, float attention, const cq_bert *a) {
  t->embedding.dropout = hidden;
  for (int64_t i = 0; i < t->n_layers; i++) {
    t->layers[i].attention.dropout = attention;
    t->layers[i].attention_output_dropout = a->attention_output_dropout ? hidden : 0;
    t->layers[i].output_dropout = cq_bert_is_albert(a) ? 0 : hidden; /* as the original */
  }
}

cq_status cq_bert_open(cq_transformer *t, const cq_bert *a, const cq_module_source *source, const char *path,
                       cq_error *error) {
  cq_bert_sizes s;
  cq_status status = cq_bert_read_sizes(&s, t->config, a, path, error);
  if (status) return status;
  t->dim = s.dim;
  t->n_layers = s.n_groups * s.group_size;
  t->group_size = s.group_size;
  t->repeats = s.n_groups > 0 ? s.n_layers / s.n_groups : 1;
  t->n_heads = s.n_heads;
  t->feed_forward_dim = s.feed_forward;
  t->n_positions = s.n_positions;
  t->norm_eps = s.norm_eps;
  t->layers = cq_arena_array_zeroed(source->arena, (size_t)t->n_layers, sizeof *t->layers);
  const size_t max_params = (size_t)t->n_layers * 20 + 9;
  t->base.params = cq_arena_array_zeroed(source->arena, max_params, sizeof *t->base.params);
  if (!t->layers || !t->base.params) return cq_fail_memory(error, "transformer");

  status = cq_weights_open(&t->weights, source->directory, error);
  if (status) return status;
  taker k = {.t = t, .weights = t->weights, .arena = source->arena, .a = a, .error = error};
  status = take_embedding(&k, &t->embedding, &s);
  if (!status && source->language) status = cq_transformer_take_language(t, source->language, source->arena, error);
  for (int i = 0; !status && i < t->n_layers; i++) status = take_layer(&k, &t->layers[i], i, &s);
  if (!status && a->relative_bias)
    status =
        take_param(&k, &t->relative.table, "encoder.relative_attention_bias", ".weight", NULL, s.n_buckets, s.n_heads);
  if (!status && cq_bert_is_deberta(a)) status = take_distances(&k, t, &s);
  if (!status) cq_weights_leave_heads(t->weights, source);
  if (!status) status = cq_weights_all_taken(t->weights, ignored_tensors, error);
  if (status) return status;
  t->base.n_params = k.next;
  t->base.n_pack_parts = (size_t)t->n_layers * CQ_BERT_PARTS + 1;
  if (t->of_distances) t->base.n_pack_parts += 2 * (size_t)t->n_layers;
  if (cq_bert_is_deberta(a)) t->base.not_trained = "disentangled attention (model_type 'deberta-v2')";
  t->embedding.first_position = a->positions_after_pad ? s.pad_id + 1 : 0;
  cq_bert_set_dropouts(t, (float)s.dropout, (float)s.attention_dropout, a);
  t->base.output_dim = s.dim;
  t->base.add_special = true;
  t->base.max_seq_length = (int)(s.n_positions - t->embedding.first_position);
  return CQ_OK;
}
