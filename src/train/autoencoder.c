#include "base/error.h"
#include "train/autoencoder_trainer.h"
#include "train/space_loss.h"

#include <math.h>
#include <string.h>

/* --- laying out a batch --- */

static cq_status lay_out(cq_autoencoder_trainer *t, cq_error *error) {
  cq_status status = CQ_OK;
  for (int which = 0; !status && which < 2; which++) {
    cq_half *h = &t->halves[which];
    const bool there = which < n_halves(t);
    size_t at = 0;
    status = cq_half_fill(h, side_of(t, there ? which : 0)->encoder, t->batch.sentences[which], there ? t->batch.n : 0,
                          t->states_width, error);
    for (int k = 0; !status && k < t->o.n_shards; k++) {
      cq_autoencoder_shard *s = &t->shards[which * t->o.n_shards + k];
      cq_workspace_release(&s->lane.workspace, (cq_mark){0, 0});
      s->first = at;
      at = cq_half_end_of_shard(h, k, t->o.n_shards, at);
      s->n = at - s->first;
      s->loss = 0, s->status = CQ_OK;
      s->starts = cq_workspace_take(&s->lane.workspace, (s->n + 1) * sizeof *s->starts);
      s->keys = cq_workspace_take(&s->lane.workspace, (s->n + 1) * sizeof *s->keys);
      s->read =
          cq_workspace_take(&s->lane.workspace, (size_t)(h->starts[at] - h->starts[s->first] + 1) * sizeof *s->read);
      if (!s->starts || !s->keys || !s->read) return cq_fail_memory(error, "batch");
      for (size_t i = 0; i <= s->n; i++) s->starts[i] = h->starts[s->first + i] - h->starts[s->first];
      s->laid_out = cq_workspace_mark(&s->lane.workspace);
      s->batch = (cq_batch){.ids = h->ids.ids + h->starts[s->first],
                            .starts = s->starts,
                            .n_seqs = (int64_t)s->n,
                            .final = cq_half_states(h, s->first, s->n, false),
                            .dfinal = cq_half_states(h, s->first, s->n, true)};
    }
  }
  return status;
}

/* The shard's sentences as somebody reads them. The keys stay until the next one asks. */
static cq_batch read_by(const cq_autoencoder_trainer *t, cq_autoencoder_shard *s, cq_reader reader) {
  cq_batch batch = s->batch;
  for (size_t i = 0; i < s->n; i++)
    s->keys[i] = cq_reader_key(cq_sentence_key(t->o.seed, t->n_batches, s->half, s->first + i), reader);
  batch.keys = s->keys;
  return batch;
}

/* The same as its encoder, which is trained, reads them: some tokens, none at a sentence's ends, are hidden. */
static cq_batch read_by_encoder(const cq_autoencoder_trainer *t, cq_autoencoder_shard *s) {
  const uint32_t site = UINT32_MAX - 2;
  cq_batch batch = read_by(t, s, t->reader);
  const uint32_t least = (uint32_t)(t->o.encoder_word_dropout * UINT32_MAX);
  if (least == 0) return batch;
  const int32_t unknown = unknown_of(side_of(t, s->half));
  for (size_t q = 0; q < s->n; q++) {
    const uint64_t key = cq_dropout_key(s->keys[q], site);
    for (int64_t i = s->starts[q]; i < s->starts[q + 1]; i++) {
      const bool is_end = i == s->starts[q] || i + 1 == s->starts[q + 1];
      const bool hidden = !is_end && cq_dropout_bits(key, (uint32_t)(i - s->starts[q])) < least;
      s->read[i] = hidden ? unknown : s->batch.ids[i];
    }
  }
  batch.ids = s->read;
  return batch;
}

/* --- the three passes --- */

static cq_feed feed_of(const cq_autoencoder_trainer *t) {
  return n_halves(t) == 1 ? CQ_FEED_OWN : t->o.feed;
}

static cq_gradients *gradients_of(cq_autoencoder_trainer *t, size_t i) {
  return &t->gradients[i % (size_t)t->o.n_shards];
}

static void encode_shard(void *context, size_t i, int worker) {
  (void)worker;
  cq_autoencoder_trainer *t = context;
  cq_autoencoder_shard *s = &t->shards[i];
  cq_tensor y;
  if (s->n == 0) return;
  const bool train = trains_encoder(side_of(t, s->half));
  if (!train && t->reader == CQ_READ_ENCODER_AGAIN) return; /* its vectors are there */
  s->loss = 0;
  cq_workspace_release(&s->lane.workspace, s->laid_out);
  const cq_batch batch = train ? read_by_encoder(t, s) : s->batch; /* a frozen encoder has no dropout */
  s->status =
      cq_encoder_forward(&s->lane, side_of(t, s->half)->encoder, &batch, &y, train ? &s->tape : NULL, &s->error);
  for (size_t r = 0; !s->status && r < s->n; r++)
    memcpy(t->halves[s->half].vectors + (s->first + r) * (size_t)t->dim, cq_f32(y) + (int64_t)r * y.stride,
           (size_t)t->dim * sizeof(float));
}

/* A shard's sentences written from the vectors of half `from`, whose gradients are added to it. */
static cq_status write_from(cq_autoencoder_trainer *t, cq_autoencoder_shard *s, cq_gradients *gradients, int from,
                            float factor) {
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
    dstates = cq_half_states(&t->halves[from], s->first, s->n, true);
  }
  const cq_decoder_batch batch = {.tokens = tokens,
                                  .latent = latent,
                                  .states = cq_half_states(&t->halves[from], s->first, s->n, false),
                                  .word_dropout = t->o.word_dropout};
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
  cq_autoencoder_shard *s = &t->shards[i];
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
  cq_autoencoder_shard *s = &t->shards[i];
  if (s->n == 0 || s->status || !trains_encoder(side_of(t, s->half))) return;
  const cq_batch batch = read_by_encoder(t, s);
  cq_tensor dy = cq_tensor_f32(t->halves[s->half].gradient + s->first * (size_t)t->dim, (int64_t)s->n, t->dim);
  s->status =
      cq_encoder_backward(&s->lane, side_of(t, s->half)->encoder, &batch, dy, &s->tape, gradients_of(t, i), &s->error);
}

/* A loss between two languages' vectors, or between one's and a teacher's. */
static bool aligns(const cq_autoencoder_trainer *t) {
  const bool trained = trains_encoder(side_of(t, 0)) || (n_halves(t) == 2 && trains_encoder(side_of(t, 1)));
  return trained && (n_halves(t) == 2 || (t->o.distillation > 0 && t->batch.targets));
}

/* The losses between the languages, and their gradients into both halves. */
static cq_status align(cq_autoencoder_trainer *t, cq_autoencoder_report *report, cq_error *error) {
  const cq_autoencoder_options *o = &t->o;
  cq_space space = {.n = (int64_t)t->batch.n, .dim = t->dim};
  for (int s = 0; s < n_halves(t); s++) {
    space.vectors[s] = t->halves[s].vectors, space.gradients[s] = t->halves[s].gradient;
  }
  if (!aligns(t)) return CQ_OK;
  for (int s = 0; s < n_halves(t) && o->distillation > 0 && t->batch.targets; s++)
    report->distillation[s] = cq_space_distillation(&space, s, t->batch.targets, o->distillation);
  if (n_halves(t) == 1) return CQ_OK;
  if (o->distance > 0) report->distance = cq_space_distance(&space, o->distance);
  if (o->contrast > 0 && o->contrast_by == CQ_CONTRAST_PAIRS)
    report->contrast = cq_space_pairs(&space, o->margin, o->contrast);
  cq_status status = CQ_OK;
  if (o->contrast > 0 && o->contrast_by == CQ_CONTRAST_IN_BATCH)
    status =
        cq_space_in_batch(&report->contrast, &space, o->temperature, o->contrast, &t->shards[0].lane, t->ctx, error);
  if (status || !t->discriminator) return status;
  const int first = t->batch.side[0]; /* it knows languages, whichever half they are */
  const cq_space by_side = {{space.vectors[first], space.vectors[1 - first]},
                            {space.gradients[first], space.gradients[1 - first]},
                            space.n,
                            space.dim};
  return cq_discriminator_judge(t->discriminator, &report->discriminator, &by_side, o->adversary, t->ctx, error);
}

/* --- a step --- */

/* The rows of a table that a half's sentences are read by, and the one of what is hidden from the reader. */
static cq_status catch_up_table(cq_autoencoder_trainer *t, const cq_param *table, const cq_half *h, int32_t unknown,
                                cq_error *error) {
  cq_status status = cq_optimizer_catch_up(&t->optimizer, table, h->ids.ids, (int64_t)h->ids.n, t->ctx, error);
  if (!status && unknown >= 0) status = cq_optimizer_catch_up(&t->optimizer, table, &unknown, 1, t->ctx, error);
  return status;
}

static cq_status catch_up(cq_autoencoder_trainer *t, cq_error *error) {
  cq_status status = CQ_OK;
  for (int which = 0; which < n_halves(t); which++) {
    const cq_half *h = &t->halves[which];
    const cq_autoencoder_side *s = side_of(t, which);
    const cq_params *of_encoder = &s->encoder->params;
    for (size_t i = 0; !status && trains_encoder(s) && i < of_encoder->n; i++)
      if (of_encoder->items[i]->table) status = catch_up_table(t, of_encoder->items[i], h, unknown_of(s), error);
    if (status || !trains_decoder(t, s)) continue;
    size_t n;
    const cq_param *table = cq_decoder_params(&n, s->decoder);
    status = catch_up_table(t, table, h, cq_tokenizer_describe(cq_decoder_tokenizer(s->decoder))->unk_id, error);
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
  cq_context_run(t->ctx, n_shards, encode_shard, t);
  cq_status status = first_failure(t, error);
  for (int s = 0; s < n_halves(t); s++) memset(t->halves[s].gradient, 0, t->batch.n * (size_t)t->dim * sizeof(float));
  if (!status && u->between) status = align(t, report, error);
  if (status) return status;
  /* Decoders of one kind at a time, so that each half's gradients are added to by one shard at a time. */
  const bool writing = u->writing && t->o.reconstruction > 0;
  if (writing && feed_of(t) != CQ_FEED_OTHER) cq_context_run(t->ctx, n_shards, decode_shard, &own);
  if (writing && feed_of(t) != CQ_FEED_OWN) cq_context_run(t->ctx, n_shards, decode_shard, &other);
  /* One language after the other where both add to the gradients of a shared layer. */
  learning all = {t, 0}, second = {t, n_shards / 2};
  cq_context_run(t->ctx, t->shared.n ? n_shards / 2 : n_shards, backward_shard, &all);
  if (t->shared.n) cq_context_run(t->ctx, n_shards / 2, backward_shard, &second);
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
  if (!status) status = cq_gradients_reduce(u->gradients, t->o.n_shards, t->kernels, t->ctx, error);
  if (!status) cq_optimizer_update(u->optimizer, &u->gradients[0], 1, t->ctx, u->norm);
  if (!status && !isfinite(*u->norm))
    status = cq_fail(error, CQ_ERR_LIMIT, "batch %llu: the gradient's length is %g",
                     (unsigned long long)t->n_batches + 1, *u->norm);
  if (!status && u->between && t->discriminator && n_halves(t) == 2 && aligns(t))
    status = cq_discriminator_learn(t->discriminator, t->ctx, error);
  cq_context_run(t->ctx, (size_t)t->o.n_shards, clear_gradients, u->gradients);
  return status;
}

/* The first of two updates. A batch without its losses is none to the discriminator, but momentum goes on. */
static cq_status make_first(cq_autoencoder_trainer *t, cq_autoencoder_report *report, cq_error *error) {
  const update first = {&t->between, t->between_gradients, true, false, &report->space_gradient_norm};
  cq_status status = CQ_OK;
  if (aligns(t)) {
    status = make(t, &first, report, error);
  } else {
    cq_optimizer_update(&t->between, &t->between_gradients[0], 1, t->ctx, NULL);
    status = catch_up(t, error);
  }
  return status ? status : cq_autoencoder_pack_encoders(t, error);
}

static cq_status check_batch(const cq_autoencoder_trainer *t, const cq_autoencoder_batch *batch, cq_error *error) {
  const int a = batch->side[0], b = batch->side[1];
  if (batch->n == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "an empty batch");
  if (a < 0 || a >= t->n_sides || b < -1 || b >= t->n_sides || a == b)
    return cq_fail(error, CQ_ERR_ARGUMENT, "a batch of languages %d and %d of %d", a, b, t->n_sides);
  for (int s = 0; s < (b < 0 ? 1 : 2); s++) {
    const cq_autoencoder_side *side = &t->sides[batch->side[s]];
    const bool aligned = b >= 0 || (t->o.distillation > 0 && batch->targets);
    if (trains_decoder(t, side) || (trains_encoder(side) && aligned)) return CQ_OK;
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
  const update last = {&t->optimizer, t->gradients, !two, true, &report->gradient_norm};
  t->reader = CQ_READ_ENCODER;
  if (!status && two) {
    const bool aligned = aligns(t);
    status = make_first(t, report, error);
    if (aligned) t->reader = CQ_READ_ENCODER_AGAIN;
  }
  if (!status) status = make(t, &last, report, error);
  t->n_batches++;
  return status ? status : cq_autoencoder_pack(t, false, error);
}

cq_status cq_autoencoder_settle(cq_autoencoder_trainer *t, cq_error *error) {
  cq_optimizer_flush(&t->optimizer, t->ctx);
  cq_status status = cq_autoencoder_pack(t, true, error);
  return status ? status : cq_autoencoder_pack_decoders(t, true, false, error);
}
