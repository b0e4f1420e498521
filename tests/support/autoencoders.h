/* Two tiny autoencoders and a batch of pairs for tests of their training. Wants make_test_directory as the group's
 * set-up. */
#ifndef SUPPORT_AUTOENCODERS_H
#define SUPPORT_AUTOENCODERS_H

#include "support/decoders.h"

#include "base/error.h"
#include "base/hash.h"
#include "lab/autoencode/autoencoder_step.h"
#include "model/modules.h"

enum { N = 7, DIM = 4, N_LETTERS = 6 };

static const char *const texts[2][N] = {
    {"a b c", "d", "b a", "f e d c b a", "c c", "", "a f"},
    {"c b", "e e d", "a", "b", "a b c d e f a b", "d a", "f f"},
};
static const cq_slice *batch_of(int side) {
  static _Thread_local cq_slice slices[2][N];
  for (int i = 0; i < N; i++) slices[side][i] = cq_slice_of(texts[side][i]);
  return slices[side];
}

/* What a teacher might say: [N, DIM]. */
static inline const float *targets_of(void) {
  static _Thread_local float targets[N * DIM];
  for (int i = 0; i < N * DIM; i++) targets[i] = (float)(i * 7 % 11) * 0.2f - 1;
  return targets;
}

/* --- tiny models --- */

typedef struct problem {
  cq_autoencoder_side sides[2];
  cq_params params;
  cq_autoencoder_trainer *trainer;
  double rate; /* of learning */
} problem;

static inline double rate_of(const void *context, uint64_t step, bool table) {
  (void)step, (void)table;
  return *(const double *)context;
}

static inline void add(cq_encoder *e, cq_module *m) {
  assert_int_equal(cq_encoder_append(e, m, NULL), CQ_OK);
}

/* Everything is smooth: differences across the kink of a maximum or of a ReLU are off. dense_dim 0: no Dense module. */
static inline cq_encoder *make_encoder_of(uint64_t seed, int64_t hidden, int64_t dense_dim, bool unit_length,
                                          double dropout) {
  cq_encoder *e;
  cq_module *m;
  cq_random random = cq_random_seeded(seed, 1);
  const int64_t embedding = 5 + (int64_t)(seed % 2); /* two encoders are not alike in what they do not share */
  assert_int_equal(cq_encoder_new(&e, NULL), CQ_OK);
  assert_int_equal(cq_word_embeddings_new(&m, letters_tokenizer(N_LETTERS), embedding, 8, "0_WordEmbeddings", &random,
                                          &e->arena, NULL),
                   CQ_OK);
  add(e, m);
  assert_int_equal(cq_lstm_module_new(&m, embedding, hidden, 2, true, dropout, "1_LSTM", &random, &e->arena, NULL),
                   CQ_OK);
  add(e, m);
  assert_int_equal(cq_pooling_new(&m, 2 * hidden, CQ_POOL_MEAN, "2_Pooling", &e->arena, NULL), CQ_OK);
  add(e, m);
  if (dense_dim) {
    assert_int_equal(cq_dense_new(&m, 2 * hidden, dense_dim, CQ_IDENTITY, "3_Dense", &random, &e->arena, NULL), CQ_OK);
    add(e, m);
  }
  if (unit_length) {
    assert_int_equal(cq_normalize_new(&m, DIM, "4_Normalize", &e->arena, NULL), CQ_OK);
    add(e, m);
  }
  for (size_t i = 0; i < e->params.n; i++) /* vectors apart from one another, gradients of a size */
    for (int64_t j = 0; j < cq_param_floats(e->params.items[i]); j++)
      e->params.items[i]->value[j] = (float)(cq_random_normal(&random) * 0.6);
  assert_int_equal(cq_encoder_pack(e, NULL, true, NULL), CQ_OK);
  return e;
}

static inline cq_encoder *make_encoder(uint64_t seed, bool unit_length, double dropout) {
  return make_encoder_of(seed, 6, DIM, unit_length, dropout);
}

typedef struct variant {
  const char *name;
  cq_feed feed;
  cq_contrast contrast_by;
  double reconstruction, contrast, distance, distillation, adversary, margin;
  cq_adversary adversary_by;
  bool unit_length;
} variant;

static inline cq_autoencoder_options options_of(const variant *v, const problem *p) {
  return (cq_autoencoder_options){.n_shards = 3,
                                  .seed = 9,
                                  .feed = v->feed,
                                  .reconstruction = v->reconstruction,
                                  .contrast = v->contrast,
                                  .distance = v->distance,
                                  .distillation = v->distillation,
                                  .adversary = v->adversary,
                                  .adversary_by = v->adversary_by,
                                  .discriminator_hidden = 5,
                                  .label_smoothing = 0.1,
                                  .contrast_by = v->contrast_by,
                                  .margin = v->margin,
                                  .temperature = 0.5,
                                  .optimizer = {.eps = 1e-8, .learning_rate = rate_of, .context = &p->rate}};
}

static inline void make_sides(problem *p, bool unit_length, double dropout) {
  const cq_decoder_shape shape = {.embedding_dim = 4,
                                  .hidden_dim = 5,
                                  .n_layers = 2,
                                  .latent_dim = DIM,
                                  .latent_at_every_step = true,
                                  .latent_as_state = true,
                                  .dropout = dropout};
  *p = (problem){0};
  for (int s = 0; s < 2; s++)
    p->sides[s] = (cq_autoencoder_side){.encoder = make_encoder(40 + (uint64_t)s, unit_length, dropout),
                                        .decoder = make_decoder(&shape, N_LETTERS, 0.5, 50 + (uint64_t)s)};
}

static inline void start(problem *p, const cq_autoencoder_options *o, cq_context *ctx) {
  cq_error error = {0};
  if (cq_autoencoder_trainer_new(&p->trainer, &p->params, p->sides, 2, ctx, o, &error)) fail_msg("%s", error.message);
}

static inline void tear_down(problem *p) {
  cq_autoencoder_trainer_free(p->trainer);
  for (int s = 0; s < 2; s++) {
    cq_encoder_free(p->sides[s].encoder);
    cq_decoder_free(p->sides[s].decoder);
  }
  cq_params_free(&p->params);
}

static inline cq_autoencoder_batch pairs_of(size_t n) {
  return (cq_autoencoder_batch){
      .side = {0, 1}, .sentences = {batch_of(0), batch_of(1)}, .n = n, .targets = targets_of()};
}

static inline cq_autoencoder_report step(problem *p, size_t n) {
  const cq_autoencoder_batch batch = pairs_of(n);
  cq_autoencoder_report report;
  cq_error error = {0};
  if (cq_autoencoder_step(p->trainer, &batch, &report, &error)) fail_msg("%s", error.message);
  return report;
}

/* --- kinds of training --- */

static const variant variants[] = {
    {.name = "own", .feed = CQ_FEED_OWN, .reconstruction = 1.3},
    {.name = "other", .feed = CQ_FEED_OTHER, .reconstruction = 0.7},
    {.name = "both", .feed = CQ_FEED_BOTH, .reconstruction = 1.1},
    {.name = "distance", .distance = 0.8},
    {.name = "distance of unit vectors", .distance = 1.2, .unit_length = true},
    {.name = "pairs, some too near", .contrast_by = CQ_CONTRAST_PAIRS, .contrast = 0.9, .margin = 1.5},
    {.name = "pairs, all too near", .contrast_by = CQ_CONTRAST_PAIRS, .contrast = 0.9, .margin = 20},
    {.name = "pairs, none too near", .contrast_by = CQ_CONTRAST_PAIRS, .contrast = 2, .margin = 0},
    {.name = "in batch", .contrast_by = CQ_CONTRAST_IN_BATCH, .contrast = 1.7},
    {.name = "in batch of unit vectors", .contrast_by = CQ_CONTRAST_IN_BATCH, .contrast = 1, .unit_length = true},
    {.name = "distillation", .distillation = 0.6},
    {.name = "adversary", .adversary = 2},
    {.name = "adversary by swapped labels", .adversary = 1.5, .adversary_by = CQ_ADVERSARY_SWAPPED},
    {.name = "all with pairs",
     .feed = CQ_FEED_BOTH,
     .reconstruction = 1,
     .contrast_by = CQ_CONTRAST_PAIRS,
     .contrast = 1.4,
     .margin = 3,
     .distance = 0.5},
    {.name = "all in batch",
     .feed = CQ_FEED_OTHER,
     .reconstruction = 1,
     .contrast_by = CQ_CONTRAST_IN_BATCH,
     .contrast = 1.4,
     .distance = 0.5,
     .distillation = 0.3,
     .adversary = 0.4,
     .unit_length = true},
};
enum { N_VARIANTS = sizeof variants / sizeof *variants };

/* The loss that is made less. */
static inline double total(const variant *v, const cq_autoencoder_report *r) {
  return v->reconstruction * (r->nll[0] + r->nll[1]) + v->contrast * r->contrast + v->distance * r->distance +
         v->distillation * (r->distillation[0] + r->distillation[1]) + v->adversary * r->discriminator.adversary;
}

/* Everything at once, and all that is random. */
static inline cq_autoencoder_options noisy_options(const problem *p) {
  cq_autoencoder_options o = options_of(&variants[N_VARIANTS - 1], p);
  o.discriminator_rate = 2;
  o.feed = CQ_FEED_BOTH;
  o.noise = 0.3, o.word_dropout = 0.3, o.encoder_word_dropout = 0.2;
  o.optimizer = (cq_optimizer_options){.beta1 = 0.9,
                                       .beta2 = 0.999,
                                       .eps = 1e-8,
                                       .weight_decay = 0.01,
                                       .clip_norm = 1,
                                       .learning_rate = rate_of,
                                       .context = &p->rate};
  return o;
}

/* --- parameters --- */

static inline uint64_t hash_of(const problem *p) {
  uint64_t hash = 0;
  for (size_t i = 0; i < p->params.n; i++)
    hash = cq_mix(hash) ^ cq_hash64(p->params.items[i]->value, (size_t)cq_param_floats(p->params.items[i]) * 4, 0);
  return hash;
}

static inline float *values_of(const cq_params *params) {
  size_t n = 0;
  for (size_t i = 0; i < params->n; i++) n += (size_t)cq_param_floats(params->items[i]);
  float *values = malloc(n * sizeof *values), *at = values;
  for (size_t i = 0; i < params->n; at += cq_param_floats(params->items[i++]))
    memcpy(at, params->items[i]->value, (size_t)cq_param_floats(params->items[i]) * sizeof *at);
  return values;
}

#endif
