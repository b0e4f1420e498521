#include "train/autoencoder.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/states.h"
#include "train/optimizer_state.h"
#include "train/pair_batch.h"
#include "train/shared_layer.h"
#include "train/space_loss.h"

#include <math.h>
#include <string.h>

enum { MOST_SIDES = 64 };

/* A shard of one half of the batch: a run of its sentences. Its activations stay from the encoders' forward to their
 * backward, so it has a lane of its own. */
typedef struct shard {
  int half;
  size_t first, n; /* sentences */
  cq_lane lane;
  cq_batch batch;
  int64_t *starts;
  uint64_t *keys; /* [n] of whoever reads the sentences at present */
  cq_tape tape;
  double loss;      /* of the decoder, summed over tokens */
  cq_mark laid_out; /* of the workspace, before any activations */
  cq_status status;
  cq_error error;
} shard;

struct cq_autoencoder_trainer {
  cq_autoencoder_side *sides;
  int n_sides;
  cq_autoencoder_options o;
  cq_pool *pool;
  const cq_kernels *kernels;
  cq_params *params;      /* of all that is not frozen */
  cq_shared_layer shared; /* {0}: none */
  cq_optimizer optimizer;
  cq_discriminator *discriminator; /* NULL: none */
  /* Of two optimisers, the one of the losses between vectors; its params NULL: the other does all. */
  cq_params of_encoders; /* the first of params */
  cq_optimizer between;
  cq_gradients *between_gradients; /* [n_shards] views of the gradients' first */
  shard *shards;                   /* [2 n_shards] */
  cq_gradients *gradients;    /* [n_shards]: of the k-th shards of both languages, which work at the same time where the
                              languages share no parameter */
  cq_half halves[2];          /* the second without sentences when the batch is of one language */
  cq_autoencoder_batch batch; /* at hand */
  cq_reader reader;           /* what encoders are at present */
  int64_t dim;
  int64_t states_width; /* of what any encoder hands over of a sentence; 0: no decoder is trained on it */
  uint64_t n_batches;
};

/* --- making --- */

static bool trains_encoder(const cq_autoencoder_side *side) {
  return !side->encoder_frozen;
}

static bool trains_decoder(const cq_autoencoder_trainer *t, const cq_autoencoder_side *side) {
  return side->decoder && !side->decoder_frozen && t->o.reconstruction > 0;
}

static bool trains_encoders(const cq_autoencoder_trainer *t) {
  bool any = false;
  for (int s = 0; s < t->n_sides; s++) any |= trains_encoder(&t->sides[s]);
  return any;
}

static bool trains_decoders(const cq_autoencoder_trainer *t) {
  bool any = false;
  for (int s = 0; s < t->n_sides; s++) any |= trains_decoder(t, &t->sides[s]);
  return any;
}

/* Whose sentences a half of the batch holds. */
static const cq_autoencoder_side *side_of(const cq_autoencoder_trainer *t, int which) {
  return &t->sides[t->batch.side[which]];
}

static int n_halves(const cq_autoencoder_trainer *t) {
  return t->batch.side[1] < 0 ? 1 : 2;
}

static cq_feed feed_of(const cq_autoencoder_trainer *t) {
  return n_halves(t) == 1 ? CQ_FEED_OWN : t->o.feed;
}

static double weight_between(const cq_autoencoder_options *o) {
  return o->contrast + o->distance + o->distillation + o->adversary;
}

/* A decoder is given its encoder's ids. */
static bool share_vocabulary(const cq_autoencoder_side *side) {
  const cq_tokenizer *read = cq_encoder_text_module(side->encoder)->tokenizer;
  const cq_tokenizer *written = cq_decoder_tokenizer(side->decoder);
  if (!read || side->encoder->max_seq_length == 1) return false;
  const cq_tokenizer_info *a = cq_tokenizer_describe(read), *b = cq_tokenizer_describe(written);
  return a->vocab_size == b->vocab_size && a->cls_id == b->cls_id && a->sep_id == b->sep_id;
}

static cq_status check_side(const cq_autoencoder_trainer *t, const cq_autoencoder_side *s, cq_error *error) {
  if (cq_encoder_dim(s->encoder) != t->dim)
    return cq_fail(error, CQ_ERR_ARGUMENT, "sentence vectors of %lld and of %lld dimensions", (long long)t->dim,
                   (long long)cq_encoder_dim(s->encoder));
  if (!s->decoder) return CQ_OK;
  if (cq_decoder_shape_of(s->decoder)->latent_dim != t->dim)
    return cq_fail(error, CQ_ERR_ARGUMENT, "a decoder of vectors of %lld dimensions, the encoders give %lld",
                   (long long)cq_decoder_shape_of(s->decoder)->latent_dim, (long long)t->dim);
  if (!share_vocabulary(s))
    return cq_fail(error, CQ_ERR_ARGUMENT, "a decoder writes other tokens than its encoder reads");
  /* Whichever languages a decoder learns from, it is to translate from all. */
  cq_status status = CQ_OK;
  for (int from = 0; !status && from < t->n_sides; from++)
    status = cq_states_check(s->decoder, t->sides[from].encoder, error);
  return status;
}

static cq_status check(const cq_autoencoder_trainer *t, cq_error *error) {
  const cq_autoencoder_options *o = &t->o;
  if (o->n_shards < 1 || o->n_shards > 64) return cq_fail(error, CQ_ERR_ARGUMENT, "%d shards", o->n_shards);
  const double weights[] = {o->reconstruction, o->contrast, o->distance, o->distillation, o->adversary};
  double sum = 0;
  bool fine = true;
  for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) fine = fine && weights[i] >= 0, sum += weights[i];
  if (!fine || !(sum > 0))
    return cq_fail(error, CQ_ERR_ARGUMENT, "losses weighted %g, %g, %g, %g and %g: expected none below 0 and one above",
                   o->reconstruction, o->contrast, o->distance, o->distillation, o->adversary);
  if (!(o->temperature > 0) || !(o->margin >= 0) || !(o->noise >= 0) || !(o->word_dropout >= 0 && o->word_dropout < 1))
    return cq_fail(error, CQ_ERR_ARGUMENT, "temperature %g, margin %g, noise %g, word dropout %g", o->temperature,
                   o->margin, o->noise, o->word_dropout);
  if (o->two_optimizers && !(o->contrast_rate >= 0))
    return cq_fail(error, CQ_ERR_ARGUMENT, "vectors contrasted at %g times the learning rate", o->contrast_rate);
  if ((o->adversary > 0 || o->shared_latent) && t->n_sides != 2)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%s is for two languages, here are %d",
                   o->shared_latent ? "a layer that encoders share" : "a discriminator", t->n_sides);
  cq_status status = CQ_OK;
  for (int s = 0; !status && s < t->n_sides; s++) status = check_side(t, &t->sides[s], error);
  if (status || trains_encoders(t) || trains_decoders(t)) return status;
  return cq_fail(error, CQ_ERR_ARGUMENT, "everything is frozen: there is nothing to train");
}

static cq_status find_shared(cq_autoencoder_trainer *t, cq_error *error) {
  if (!t->o.shared_latent || !trains_encoders(t)) return CQ_OK;
  const cq_encoder *const encoders[2] = {t->sides[0].encoder, t->sides[1].encoder};
  if (!trains_encoder(&t->sides[0]) || !trains_encoder(&t->sides[1]))
    return cq_fail(error, CQ_ERR_ARGUMENT, "a layer is shared with an encoder that is frozen");
  return cq_shared_layer_find(&t->shared, encoders, error);
}

static cq_status gather_params(cq_autoencoder_trainer *t, cq_error *error) {
  cq_status status = CQ_OK;
  for (const cq_autoencoder_side *s = t->sides; s < t->sides + t->n_sides; s++) {
    const cq_params *of_encoder = &s->encoder->params;
    for (size_t i = 0; !status && trains_encoder(s) && i < of_encoder->n; i++)
      if (!cq_shared_layer_is_view(&t->shared, of_encoder->items[i]))
        status = cq_params_add(t->params, of_encoder->items[i], error);
  }
  const size_t n_of_encoders = t->params->n;
  for (const cq_autoencoder_side *s = t->sides; s < t->sides + t->n_sides; s++) {
    size_t n = 0;
    cq_param *of_decoder = trains_decoder(t, s) ? cq_decoder_params(&n, s->decoder) : NULL;
    for (size_t i = 0; !status && i < n; i++) status = cq_params_add(t->params, &of_decoder[i], error);
  }
  if (status) return status;
  cq_params_index(t->params);
  status = cq_params_own(t->params, error);
  if (!status) cq_shared_layer_tie(&t->shared);
  t->of_encoders = cq_params_first(t->params, n_of_encoders);
  return status;
}

typedef struct packing {
  cq_autoencoder_trainer *t;
  bool all, training; /* all: frozen decoders too */
  cq_status status[MOST_SIDES];
  cq_error errors[MOST_SIDES];
} packing;

static void pack_decoder(void *context, size_t i, int worker) {
  (void)worker;
  packing *p = context;
  const cq_autoencoder_side *side = &p->t->sides[i];
  if (side->decoder && (p->all || trains_decoder(p->t, side)))
    p->status[i] = cq_decoder_pack(side->decoder, p->training, &p->errors[i]);
}

static cq_status pack_decoders(cq_autoencoder_trainer *t, bool all, bool training, cq_error *error) {
  packing p = {.t = t, .all = all, .training = training};
  cq_pool_run(t->pool, (size_t)t->n_sides, pack_decoder, &p);
  for (int s = 0; s < t->n_sides; s++) {
    if (!p.status[s]) continue;
    if (error) *error = p.errors[s];
    return p.status[s];
  }
  return CQ_OK;
}

static cq_status pack_encoders(cq_autoencoder_trainer *t, cq_error *error) {
  cq_status status = CQ_OK;
  for (const cq_autoencoder_side *s = t->sides; !status && s < t->sides + t->n_sides; s++)
    if (trains_encoder(s)) status = cq_encoder_pack(s->encoder, t->pool, true, error);
  return status;
}

static cq_status pack(cq_autoencoder_trainer *t, bool all, cq_error *error) {
  cq_status status = pack_encoders(t, error);
  return status ? status : pack_decoders(t, all, true, error);
}

static double contrast_rate(const void *context, uint64_t step, bool table) {
  const cq_autoencoder_options *o = context;
  return o->contrast_rate * o->optimizer.learning_rate(o->optimizer.context, step, table);
}

/* One or two; two where there are both kinds of losses to share out. */
static cq_status make_optimizers(cq_autoencoder_trainer *t, cq_error *error) {
  const bool writing = trains_decoders(t);
  cq_optimizer_options of_all = t->o.optimizer, of_between = of_all;
  of_between.learning_rate = contrast_rate, of_between.context = &t->o;
  if (t->o.two_optimizers && !writing) of_all = of_between;
  cq_status status = cq_optimizer_new(&t->optimizer, t->params, t->kernels, &of_all, error);
  if (status || !t->o.two_optimizers || !writing || !trains_encoders(t) || !(weight_between(&t->o) > 0)) return status;
  of_between.weight_decay = 0;
  t->between_gradients = cq_alloc_array((size_t)t->o.n_shards, sizeof *t->between_gradients);
  if (!t->between_gradients) return cq_fail_memory(error, "trainer");
  for (int i = 0; i < t->o.n_shards; i++)
    t->between_gradients[i] = cq_gradients_first(&t->gradients[i], &t->of_encoders);
  status = cq_optimizer_new(&t->between, &t->of_encoders, t->kernels, &of_between, error);
  if (!status) t->optimizer.before = &t->between;
  return status;
}

static double discriminator_rate(const void *context, uint64_t step, bool table) {
  const cq_autoencoder_options *o = context;
  return o->discriminator_rate * o->optimizer.learning_rate(o->optimizer.context, step, table);
}

static cq_status make_discriminator(cq_autoencoder_trainer *t, cq_error *error) {
  const cq_autoencoder_options *o = &t->o;
  if (o->adversary == 0 || !trains_encoders(t)) return CQ_OK;
  if (!(o->discriminator_rate >= 0))
    return cq_fail(error, CQ_ERR_ARGUMENT, "a discriminator that learns %g times as fast", o->discriminator_rate);
  cq_discriminator_options options = {.dim = t->dim,
                                      .hidden = o->discriminator_hidden,
                                      .adversary_by = o->adversary_by,
                                      .smoothing = o->label_smoothing,
                                      .n_shards = o->n_shards,
                                      .seed = o->seed,
                                      .optimizer = o->optimizer};
  options.optimizer.learning_rate = discriminator_rate;
  options.optimizer.context = o;
  options.optimizer.weight_decay = 0;
  return cq_discriminator_new(&t->discriminator, t->kernels, &options, error);
}

cq_status cq_autoencoder_trainer_new(cq_autoencoder_trainer **out, cq_params *params, const cq_autoencoder_side *sides,
                                     int n_sides, cq_pool *pool, const cq_autoencoder_options *options,
                                     cq_error *error) {
  *out = NULL;
  if (n_sides < 1 || n_sides > MOST_SIDES)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%d languages, expected 1 to %d", n_sides, MOST_SIDES);
  cq_autoencoder_trainer *t = cq_alloc_zeroed(sizeof *t);
  if (!t) return cq_fail_memory(error, "trainer");
  t->sides = cq_alloc_array((size_t)n_sides, sizeof *t->sides);
  if (!t->sides) {
    cq_free(t);
    return cq_fail_memory(error, "trainer");
  }
  memcpy(t->sides, sides, (size_t)n_sides * sizeof *sides);
  t->n_sides = n_sides;
  t->o = *options;
  t->params = params;
  t->pool = pool;
  t->kernels = sides[0].encoder->kernels;
  t->dim = cq_encoder_dim(sides[0].encoder);
  cq_status status = check(t, error);
  for (const cq_autoencoder_side *s = t->sides; !status && s < t->sides + n_sides; s++)
    if (trains_decoder(t, s) && cq_decoder_states_width(s->decoder) > 0)
      t->states_width = cq_decoder_states_width(s->decoder);
  if (!status) status = make_discriminator(t, error); /* what may refuse comes before anything is taken over */
  const size_t n_shards = 2 * (size_t)options->n_shards;
  if (!status) {
    t->shards = cq_alloc_array_zeroed(n_shards, sizeof *t->shards);
    t->gradients = cq_alloc_array_zeroed((size_t)options->n_shards, sizeof *t->gradients);
    if (!t->shards || !t->gradients) status = cq_fail_memory(error, "trainer");
  }
  if (!status) status = find_shared(t, error);
  if (!status) status = gather_params(t, error);
  if (!status) status = pack(t, true, error);
  for (size_t i = 0; !status && i < n_shards; i++) {
    t->shards[i].lane.kernels = t->kernels;
    t->shards[i].half = (int)(i / (size_t)options->n_shards);
  }
  for (int i = 0; !status && i < options->n_shards; i++) status = cq_gradients_new(&t->gradients[i], t->params, error);
  if (!status) status = make_optimizers(t, error);
  if (status)
    cq_autoencoder_trainer_free(t);
  else
    *out = t;
  return status;
}

void cq_autoencoder_trainer_free(cq_autoencoder_trainer *t) {
  if (!t) return;
  cq_discriminator_free(t->discriminator);
  if (t->optimizer.params) cq_optimizer_free(&t->optimizer);
  if (t->between.params) cq_optimizer_free(&t->between);
  for (int i = 0; t->gradients && i < t->o.n_shards; i++) cq_gradients_free(&t->gradients[i]);
  for (int i = 0; t->shards && i < 2 * t->o.n_shards; i++) cq_workspace_free(&t->shards[i].lane.workspace);
  for (int s = 0; s < 2; s++) cq_half_free(&t->halves[s]);
  cq_free(t->shards);
  cq_free(t->gradients);
  cq_free(t->between_gradients);
  cq_free(t->sides);
  cq_free(t);
}

uint64_t cq_autoencoder_updates(const cq_autoencoder_trainer *t) {
  return t->optimizer.step;
}

/* --- laying out a batch --- */

/* What the encoder of half `which` hands over of a shard's sentences, or its gradient; data NULL: nothing. */
static cq_tensor states_of(const cq_autoencoder_trainer *t, int which, const shard *s, bool gradient) {
  const size_t row = (gradient ? t->batch.n : 0) + s->first;
  if (t->states_width == 0) return (cq_tensor){0};
  return cq_tensor_f32(t->halves[which].states + row * (size_t)t->states_width, (int64_t)s->n, t->states_width);
}

static cq_status lay_out(cq_autoencoder_trainer *t, cq_error *error) {
  cq_status status = CQ_OK;
  for (int which = 0; !status && which < 2; which++) {
    cq_half *h = &t->halves[which];
    size_t at = 0;
    cq_half_empty(h);
    if (which < n_halves(t))
      status =
          cq_half_fill(h, side_of(t, which)->encoder, t->batch.sentences[which], t->batch.n, t->states_width, error);
    for (int k = 0; !status && k < t->o.n_shards; k++) {
      shard *s = &t->shards[which * t->o.n_shards + k];
      cq_workspace_release(&s->lane.workspace, (cq_mark){0, 0});
      s->first = at;
      at = cq_half_end_of_shard(h, k, t->o.n_shards, at);
      s->n = at - s->first;
      s->loss = 0, s->status = CQ_OK;
      if (s->n == 0) continue;
      s->starts = cq_workspace_take(&s->lane.workspace, (s->n + 1) * sizeof *s->starts);
      s->keys = cq_workspace_take(&s->lane.workspace, (s->n + 1) * sizeof *s->keys);
      if (!s->starts || !s->keys) return cq_fail_memory(error, "batch");
      for (size_t i = 0; i <= s->n; i++) s->starts[i] = h->starts[s->first + i] - h->starts[s->first];
      s->laid_out = cq_workspace_mark(&s->lane.workspace);
      s->batch = (cq_batch){.ids = h->ids.ids + h->starts[s->first],
                            .starts = s->starts,
                            .n_seqs = (int64_t)s->n,
                            .final = states_of(t, which, s, false),
                            .dfinal = states_of(t, which, s, true)};
    }
  }
  return status;
}

/* The shard's sentences as somebody reads them. The keys stay until the next one asks. */
static cq_batch read_by(const cq_autoencoder_trainer *t, shard *s, cq_reader reader) {
  cq_batch batch = s->batch;
  for (size_t i = 0; i < s->n; i++)
    s->keys[i] = cq_reader_key(cq_sentence_key(t->o.seed, t->n_batches, s->half, s->first + i), reader);
  batch.keys = s->keys;
  return batch;
}

/* --- the three passes --- */

static cq_gradients *gradients_of(cq_autoencoder_trainer *t, size_t i) {
  return &t->gradients[i % (size_t)t->o.n_shards];
}

static void encode_shard(void *context, size_t i, int worker) {
  (void)worker;
  cq_autoencoder_trainer *t = context;
  shard *s = &t->shards[i];
  if (s->n == 0) return;
  const cq_autoencoder_side *side = side_of(t, s->half);
  const bool train = trains_encoder(side);
  const cq_batch batch = train ? read_by(t, s, t->reader) : s->batch; /* a frozen encoder has no dropout */
  cq_tensor y;
  if (!train && t->reader == CQ_READ_ENCODER_AGAIN) return; /* its vectors are there */
  s->loss = 0;
  cq_workspace_release(&s->lane.workspace, s->laid_out);
  s->status = cq_encoder_forward(&s->lane, side->encoder, &batch, &y, train ? &s->tape : NULL, &s->error);
  for (size_t r = 0; !s->status && r < s->n; r++)
    memcpy(t->halves[s->half].vectors + (s->first + r) * (size_t)t->dim, cq_f32(y) + (int64_t)r * y.stride,
           (size_t)t->dim * sizeof(float));
}

/* A shard's sentences written from the vectors of half `from`, whose gradients are added to it. */
static cq_status write_from(cq_autoencoder_trainer *t, shard *s, cq_gradients *gradients, int from, float factor) {
  const int64_t dim = t->dim, n = (int64_t)s->n;
  cq_workspace *w = &s->lane.workspace;
  const cq_mark mark = cq_workspace_mark(w);
  const cq_batch tokens = read_by(t, s, from == s->half ? CQ_READ_DECODER_OF_OWN : CQ_READ_DECODER_OF_OTHER);
  cq_tensor latent = cq_workspace_f32(w, n, dim), dlatent = {0}, dstates = {0};
  if (!latent.data) return cq_fail_memory(&s->error, "sentence vectors");
  memcpy(latent.data, t->halves[from].vectors + s->first * (size_t)dim, (size_t)(n * dim) * sizeof(float));
  for (int64_t i = 0; t->o.noise > 0 && i < n; i++) {
    cq_random random = cq_random_seeded(tokens.keys[i], 7);
    const double deviation = t->o.noise / sqrt((double)dim);
    for (int64_t j = 0; j < dim; j++) cq_f32(latent)[i * dim + j] += (float)(deviation * cq_random_normal(&random));
  }
  if (trains_encoder(side_of(t, from))) {
    dlatent = cq_workspace_f32(w, n, dim);
    if (!dlatent.data) return cq_fail_memory(&s->error, "sentence vectors");
    memset(dlatent.data, 0, (size_t)(n * dim) * sizeof(float));
    dstates = states_of(t, from, s, true);
  }
  const cq_decoder_batch batch = {
      .tokens = tokens, .latent = latent, .states = states_of(t, from, s, false), .word_dropout = t->o.word_dropout};
  cq_status status = cq_decoder_loss(&s->loss, &s->lane, side_of(t, s->half)->decoder, &batch, gradients, dlatent,
                                     dstates, factor, &s->error);
  float *into = t->halves[from].gradient + s->first * (size_t)dim;
  if (!status && dlatent.data) t->kernels->add(into, cq_f32(dlatent), n * dim);
  cq_workspace_release(w, mark);
  return status;
}

typedef struct decoding {
  cq_autoencoder_trainer *t;
  bool from_other;
} decoding;

static void decode_shard(void *context, size_t i, int worker) {
  (void)worker;
  const decoding *d = context;
  cq_autoencoder_trainer *t = d->t;
  shard *s = &t->shards[i];
  if (s->n == 0 || s->status || !trains_decoder(t, side_of(t, s->half))) return;
  const int64_t n_written = (int64_t)t->halves[s->half].ids.n - (int64_t)t->batch.n;
  const double share = feed_of(t) == CQ_FEED_BOTH ? 0.5 : 1;
  const float factor = (float)(t->o.reconstruction * share / (double)n_written);
  s->status = write_from(t, s, gradients_of(t, i), d->from_other ? 1 - s->half : s->half, factor);
}

typedef struct learning {
  cq_autoencoder_trainer *t;
  size_t first; /* shard */
} learning;

static void backward_shard(void *context, size_t item, int worker) {
  (void)worker;
  const learning *l = context;
  cq_autoencoder_trainer *t = l->t;
  const size_t i = l->first + item;
  shard *s = &t->shards[i];
  if (s->n == 0 || s->status || !trains_encoder(side_of(t, s->half))) return;
  const cq_batch batch = read_by(t, s, t->reader);
  cq_tensor dy = cq_tensor_f32(t->halves[s->half].gradient + s->first * (size_t)t->dim, (int64_t)s->n, t->dim);
  s->status =
      cq_encoder_backward(&s->lane, side_of(t, s->half)->encoder, &batch, dy, &s->tape, gradients_of(t, i), &s->error);
}

/* The losses between the languages, and their gradients into both halves. */
static cq_status align(cq_autoencoder_trainer *t, cq_autoencoder_report *report, cq_error *error) {
  const cq_autoencoder_options *o = &t->o;
  const cq_space space = {.vectors = {t->halves[0].vectors, t->halves[1].vectors},
                          .gradients = {t->halves[0].gradient, t->halves[1].gradient},
                          .n = (int64_t)t->batch.n,
                          .dim = t->dim};
  if (!trains_encoder(side_of(t, 0)) && !trains_encoder(side_of(t, 1))) return CQ_OK;
  if (o->distance > 0) report->distance = cq_space_distance(&space, o->distance);
  for (int s = 0; s < 2 && o->distillation > 0 && t->batch.targets; s++)
    report->distillation[s] = cq_space_distillation(&space, s, t->batch.targets, o->distillation);
  if (o->contrast > 0 && o->contrast_by == CQ_CONTRAST_PAIRS)
    report->contrast = cq_space_pairs(&space, o->margin, o->contrast);
  cq_status status = CQ_OK;
  if (o->contrast > 0 && o->contrast_by == CQ_CONTRAST_IN_BATCH)
    status =
        cq_space_in_batch(&report->contrast, &space, o->temperature, o->contrast, &t->shards[0].lane, t->pool, error);
  if (status || !t->discriminator) return status;
  return cq_discriminator_judge(t->discriminator, &report->discriminator, &space, o->adversary, t->pool, error);
}

/* --- a step --- */

static cq_status catch_up(cq_autoencoder_trainer *t, cq_error *error) {
  cq_status status = CQ_OK;
  for (int which = 0; which < n_halves(t); which++) {
    const cq_half *h = &t->halves[which];
    const cq_autoencoder_side *s = side_of(t, which);
    const cq_params *of_encoder = &s->encoder->params;
    for (size_t i = 0; !status && trains_encoder(s) && i < of_encoder->n; i++)
      if (of_encoder->items[i]->table)
        status =
            cq_optimizer_catch_up(&t->optimizer, of_encoder->items[i], h->ids.ids, (int64_t)h->ids.n, t->pool, error);
    if (status || !trains_decoder(t, s)) continue;
    size_t n;
    const cq_param *table = cq_decoder_params(&n, s->decoder);
    const int32_t unknown = cq_tokenizer_describe(cq_decoder_tokenizer(s->decoder))->unk_id;
    status = cq_optimizer_catch_up(&t->optimizer, table, h->ids.ids, (int64_t)h->ids.n, t->pool, error);
    if (!status) status = cq_optimizer_catch_up(&t->optimizer, table, &unknown, 1, t->pool, error);
  }
  return status;
}

static cq_status first_failure(const cq_autoencoder_trainer *t, cq_error *error) {
  for (int i = 0; i < 2 * t->o.n_shards; i++)
    if (t->shards[i].status) {
      if (error) *error = t->shards[i].error;
      return t->shards[i].status;
    }
  return CQ_OK;
}

/* One pass over the batch, and an update by some of its losses. */
typedef struct update {
  cq_optimizer *optimizer;
  cq_gradients *gradients; /* [n_shards] of its parameters */
  bool between, writing;   /* the losses: between vectors, -log p */
  double *norm;            /* of the gradient */
} update;

static cq_status compute(cq_autoencoder_trainer *t, const update *u, cq_autoencoder_report *report, cq_error *error) {
  const size_t n_shards = 2 * (size_t)t->o.n_shards;
  decoding own = {t, false}, other = {t, true};
  cq_pool_run(t->pool, n_shards, encode_shard, t);
  cq_status status = first_failure(t, error);
  for (int s = 0; s < n_halves(t); s++) memset(t->halves[s].gradient, 0, t->batch.n * (size_t)t->dim * sizeof(float));
  if (!status && u->between && n_halves(t) == 2) status = align(t, report, error);
  if (status) return status;
  /* Decoders of one kind at a time, so that each half's gradients are added to by one shard at a time. */
  const bool writing = u->writing && t->o.reconstruction > 0;
  if (writing && feed_of(t) != CQ_FEED_OTHER) cq_pool_run(t->pool, n_shards, decode_shard, &own);
  if (writing && feed_of(t) != CQ_FEED_OWN) cq_pool_run(t->pool, n_shards, decode_shard, &other);
  /* One language after the other where both add to the gradients of a shared layer. */
  learning all = {t, 0}, second = {t, n_shards / 2};
  cq_pool_run(t->pool, t->shared.n ? n_shards / 2 : n_shards, backward_shard, &all);
  if (t->shared.n) cq_pool_run(t->pool, n_shards / 2, backward_shard, &second);
  status = first_failure(t, error);
  for (int s = 0; !status && s < n_halves(t); s++) {
    double sum = 0;
    for (int k = 0; k < t->o.n_shards; k++) sum += t->shards[s * t->o.n_shards + k].loss;
    const double n_runs = feed_of(t) == CQ_FEED_BOTH ? 2 : 1;
    report->nll[s] = sum / n_runs / ((double)t->halves[s].ids.n - (double)t->batch.n);
  }
  return status;
}

static cq_status check_losses(const cq_autoencoder_trainer *t, const cq_autoencoder_report *r, cq_error *error) {
  const double distillation = r->distillation[0] + r->distillation[1],
               loss = r->nll[0] + r->nll[1] + r->contrast + r->distance + distillation + r->discriminator.loss;
  if (isfinite(loss)) return CQ_OK;
  return cq_fail(
      error, CQ_ERR_LIMIT,
      "batch %llu: the loss is %g: -log p %g and %g, contrast %g, distance %g, distillation %g, discriminator %g",
      (unsigned long long)t->n_batches + 1, loss, r->nll[0], r->nll[1], r->contrast, r->distance, distillation,
      r->discriminator.loss);
}

static void clear_gradients(void *context, size_t item, int worker) {
  (void)worker;
  cq_gradients *gradients = context;
  cq_gradients_clear(&gradients[item]);
}

static cq_status make(cq_autoencoder_trainer *t, const update *u, cq_autoencoder_report *report, cq_error *error) {
  cq_status status = compute(t, u, report, error);
  if (!status) status = check_losses(t, report, error);
  if (!status) status = cq_gradients_reduce(u->gradients, t->o.n_shards, t->kernels, t->pool, error);
  if (!status) cq_optimizer_update(u->optimizer, &u->gradients[0], 1, t->pool, u->norm);
  if (!status && !isfinite(*u->norm))
    status = cq_fail(error, CQ_ERR_LIMIT, "batch %llu: the gradient's length is %g",
                     (unsigned long long)t->n_batches + 1, *u->norm);
  if (!status && u->between && n_halves(t) == 2 && t->discriminator)
    status = cq_discriminator_learn(t->discriminator, t->pool, error);
  cq_pool_run(t->pool, (size_t)t->o.n_shards, clear_gradients, u->gradients);
  return status;
}

static cq_status check_batch(const cq_autoencoder_trainer *t, const cq_autoencoder_batch *batch, cq_error *error) {
  const int a = batch->side[0], b = batch->side[1];
  if (batch->n == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "an empty batch");
  if (a < 0 || a >= t->n_sides || b < -1 || b >= t->n_sides || a == b)
    return cq_fail(error, CQ_ERR_ARGUMENT, "a batch of languages %d and %d of %d", a, b, t->n_sides);
  if (b < 0 && t->between.params)
    return cq_fail(error, CQ_ERR_ARGUMENT, "a batch of one language, and an optimiser of losses between two");
  for (int s = 0; s < (b < 0 ? 1 : 2); s++) {
    const cq_autoencoder_side *side = &t->sides[batch->side[s]];
    if (trains_decoder(t, side) || (trains_encoder(side) && b >= 0)) return CQ_OK;
  }
  return cq_fail(error, CQ_ERR_ARGUMENT, "a batch that nothing is trained on");
}

cq_status cq_autoencoder_step(cq_autoencoder_trainer *t, const cq_autoencoder_batch *batch,
                              cq_autoencoder_report *report, cq_error *error) {
  *report = (cq_autoencoder_report){0};
  cq_status status = check_batch(t, batch, error);
  if (status) return status;
  t->batch = *batch;
  status = lay_out(t, error);
  report->n_tokens = t->halves[0].ids.n + t->halves[1].ids.n;
  if (!status) status = catch_up(t, error);
  const bool two = t->between.params != NULL;
  const update first = {&t->between, t->between_gradients, true, false, &report->space_gradient_norm},
               last = {&t->optimizer, t->gradients, !two, true, &report->gradient_norm};
  t->reader = CQ_READ_ENCODER;
  if (!status && two) {
    status = make(t, &first, report, error);
    if (!status) status = pack_encoders(t, error);
    t->reader = CQ_READ_ENCODER_AGAIN;
  }
  if (!status) status = make(t, &last, report, error);
  t->n_batches++;
  return status ? status : pack(t, false, error);
}

cq_status cq_autoencoder_settle(cq_autoencoder_trainer *t, cq_error *error) {
  cq_optimizer_flush(&t->optimizer, t->pool);
  cq_status status = pack(t, true, error);
  return status ? status : pack_decoders(t, true, false, error);
}

/* --- state --- */

cq_status cq_autoencoder_trainer_save(cq_autoencoder_trainer *t, cq_checkpoint_writer *w, cq_error *error) {
  const uint64_t counts[3] = {t->n_batches, t->optimizer.step, t->between.step};
  cq_status status = cq_checkpoint_writer_section(w, "counts", counts, sizeof counts, error);
  if (!status) status = cq_optimizer_save(&t->optimizer, "", w, error);
  if (!status && t->between.params) status = cq_optimizer_save_moments(&t->between, "between.", w, error);
  return status || !t->discriminator ? status : cq_discriminator_save(t->discriminator, w, error);
}

cq_status cq_autoencoder_trainer_restore(cq_autoencoder_trainer *t, const cq_checkpoint *c, cq_error *error) {
  uint64_t counts[3];
  cq_status status = cq_checkpoint_read(counts, sizeof counts, c, "counts", error);
  if (!status) status = cq_optimizer_restore(&t->optimizer, "", c, error);
  if (!status && t->between.params) status = cq_optimizer_restore_moments(&t->between, "between.", c, error);
  if (!status && t->discriminator) status = cq_discriminator_restore(t->discriminator, c, error);
  if (status) return status;
  t->n_batches = counts[0];
  t->optimizer.step = counts[1], t->between.step = counts[2];
  return pack(t, true, error);
}
