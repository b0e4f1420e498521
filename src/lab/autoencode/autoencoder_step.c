/* A step in three passes over the shards: encoders forward, decoders forward and backward, encoders backward. See
 * autoencoder_step.h. */
#include "base/error.h"
#include "lab/autoencode/autoencoder_trainer.h"
#include "train/space_loss.h"

#include <math.h>
#include <string.h>

/* --- reading a batch --- */

static cq_status lay_out_batch(cq_autoencoder_trainer *t, cq_error *error) {
  cq_status status = CQ_OK;
  for (int c = 0; !status && c < 2; c++) {
    const bool there = c < n_columns(t);
    status = cq_sequences_fill(&t->columns[c], side_of(t, there ? c : 0)->encoder, t->batch.sentences[c],
                               there ? t->batch.n : 0, t->states_width, NULL, error);
    if (!status) cq_shards_cut(&t->shards, c, &t->columns[c]);
  }
  return status;
}

/* The shard's sentences for one reader. The keys are valid until the next reader's call. */
static cq_batch read_by(const cq_autoencoder_trainer *t, cq_shard *s, cq_reader reader) {
  for (size_t i = 0; i < s->n; i++)
    s->keys[i] = cq_reader_key(cq_sentence_key(t->o.seed, t->n_batches, s->column, s->first + i), reader);
  return s->batch;
}

/* The same for the shard's encoder, with some tokens hidden (never at the ends of a sentence), in the worker's memory.
 * A frozen encoder has no dropout. */
static cq_status read_by_encoder(cq_batch *out, const cq_autoencoder_trainer *t, cq_shard *s) {
  const uint32_t site = UINT32_MAX - 2;
  const uint32_t below = (uint32_t)(t->o.encoder_word_dropout * UINT32_MAX);
  const cq_autoencoder_side *side = side_of(t, s->column);
  *out = s->batch;
  out->keys = NULL;
  if (!trains_encoder(side)) return CQ_OK;
  *out = read_by(t, s, t->reader);
  if (below == 0) return CQ_OK;
  const int32_t unknown = unknown_of(side);
  int32_t *ids = cq_workspace_take(&s->worker.workspace, (size_t)cq_batch_tokens(out) * sizeof *ids);
  if (!ids) return cq_fail_memory(&s->error, "batch");
  for (size_t q = 0; q < s->n; q++) {
    const uint64_t key = cq_dropout_key(s->keys[q], site);
    for (int64_t i = out->starts[q], end = out->starts[q + 1]; i < end; i++) {
      const bool is_end = i == out->starts[q] || i + 1 == end;
      const bool hidden = !is_end && cq_dropout_bits(key, (uint32_t)(i - out->starts[q])) < below;
      ids[i] = hidden ? unknown : out->ids[i];
    }
  }
  out->ids = ids;
  return CQ_OK;
}

/* --- the three passes --- */

static cq_feed feed_of(const cq_autoencoder_trainer *t) {
  return n_columns(t) == 1 ? CQ_FEED_OWN : t->o.feed;
}

static cq_gradients *autoencoder_gradients(cq_autoencoder_trainer *t, const cq_shard *s) {
  return cq_update_gradients(&t->update, s->number, t->shards.first_own);
}

static cq_status encode_shard(void *context, cq_shard *s, int worker) {
  cq_autoencoder_trainer *t = context;
  cq_sequences *column = &t->columns[s->column];
  const cq_autoencoder_side *side = side_of(t, s->column);
  const size_t dim = (size_t)t->dim;
  cq_batch batch;
  cq_tensor y;
  (void)worker;
  if (!trains_encoder(side) && t->reader == CQ_READ_ENCODER_AGAIN) return CQ_OK; /* its vectors are already computed */
  s->sums[0] = 0;
  cq_workspace_release(&s->worker.workspace, (cq_mark){0, 0});
  cq_status status = cq_sequences_batch(&s->batch, &s->keys, column, s->first, s->n, &s->worker, &s->error);
  if (!status) status = read_by_encoder(&batch, t, s);
  if (!status)
    status =
        cq_encoder_forward(&s->worker, side->encoder, &batch, &y, trains_encoder(side) ? &s->tape : NULL, &s->error);
  for (size_t i = 0; !status && i < s->n; i++)
    memcpy(column->vectors + (s->first + i) * dim, cq_f32(y) + (int64_t)i * y.stride, dim * sizeof(float));
  return status;
}

/* Decodes a shard's sentences from the vectors of column `from`, and adds to that column's gradients. */
static cq_status write_from(cq_autoencoder_trainer *t, cq_shard *s, int from, float factor) {
  const int64_t dim = t->dim, n = (int64_t)s->n;
  cq_workspace *w = &s->worker.workspace;
  const cq_mark mark = cq_workspace_mark(w);
  const cq_batch tokens = read_by(t, s, from == s->column ? CQ_READ_DECODER_OF_OWN : CQ_READ_DECODER_OF_OTHER);
  cq_tensor latent = cq_workspace_f32(w, n, dim), dlatent = {0}, dstates = {0};
  if (!latent.data) return cq_fail_memory(&s->error, "sentence vectors");
  memcpy(latent.data, t->columns[from].vectors + s->first * (size_t)dim, (size_t)(n * dim) * sizeof(float));
  for (int64_t i = 0; t->o.noise > 0 && i < n; i++) {
    cq_random random = cq_random_seeded(tokens.keys[i], 7);
    const double deviation = t->o.noise / sqrt((double)dim);
    for (int64_t j = 0; j < dim; j++) cq_f32(latent)[i * dim + j] += (float)(deviation * cq_random_normal(&random));
  }
  if (trains_encoder(side_of(t, from))) {
    dlatent = cq_workspace_f32(w, n, dim);
    if (!dlatent.data) return cq_fail_memory(&s->error, "sentence vectors");
    memset(dlatent.data, 0, (size_t)(n * dim) * sizeof(float));
    dstates = cq_sequences_states(&t->columns[from], s->first, s->n, true);
  }
  const cq_decoder_batch batch = {.tokens = tokens,
                                  .latent = latent,
                                  .states = cq_sequences_states(&t->columns[from], s->first, s->n, false),
                                  .word_dropout = t->o.word_dropout};
  cq_status status = cq_decoder_loss(&s->sums[0], &s->worker, side_of(t, s->column)->decoder, &batch,
                                     autoencoder_gradients(t, s), dlatent, dstates, factor, &s->error);
  float *into = t->columns[from].gradient + s->first * (size_t)dim;
  if (!status && dlatent.data) t->kernels->add(into, cq_f32(dlatent), n * dim);
  cq_workspace_release(w, mark);
  return status;
}

typedef struct decoding {
  cq_autoencoder_trainer *t;
  bool from_other;
} decoding;

static cq_status decode_shard(void *context, cq_shard *s, int worker) {
  const decoding *d = context;
  cq_autoencoder_trainer *t = d->t;
  (void)worker;
  if (!trains_decoder(t, side_of(t, s->column))) return CQ_OK;
  const int64_t n_written = (int64_t)t->columns[s->column].ids.n - (int64_t)t->batch.n;
  const double share = feed_of(t) == CQ_FEED_BOTH ? 0.5 : 1;
  const float factor = (float)(t->o.reconstruction * share / (double)n_written);
  return write_from(t, s, d->from_other ? 1 - s->column : s->column, factor);
}

static cq_status encoder_backward_shard(void *context, cq_shard *s, int worker) {
  cq_autoencoder_trainer *t = context;
  const cq_autoencoder_side *side = side_of(t, s->column);
  cq_batch batch;
  (void)worker;
  if (!trains_encoder(side)) return CQ_OK;
  cq_status status = read_by_encoder(&batch, t, s);
  if (status) return status;
  cq_tensor dy = cq_tensor_f32(t->columns[s->column].gradient + s->first * (size_t)t->dim, (int64_t)s->n, t->dim);
  return cq_encoder_backward(&s->worker, side->encoder, &batch, dy, &s->tape, autoencoder_gradients(t, s), &s->error);
}

/* Whether there is a loss between two languages' vectors, or between a language's and a teacher's. */
static bool has_space_loss(const cq_autoencoder_trainer *t) {
  const bool trained = trains_encoder(side_of(t, 0)) || (n_columns(t) == 2 && trains_encoder(side_of(t, 1)));
  return trained && (n_columns(t) == 2 || (t->o.distillation > 0 && t->batch.targets));
}

/* Computes the losses between the languages, and adds their gradients to both columns. */
static cq_status align_vectors(cq_autoencoder_trainer *t, cq_autoencoder_report *report, cq_error *error) {
  const cq_autoencoder_options *o = &t->o;
  cq_space space = {.n = (int64_t)t->batch.n, .dim = t->dim};
  for (int s = 0; s < n_columns(t); s++) {
    space.vectors[s] = t->columns[s].vectors, space.gradients[s] = t->columns[s].gradient;
  }
  if (!has_space_loss(t)) return CQ_OK;
  for (int s = 0; s < n_columns(t) && o->distillation > 0 && t->batch.targets; s++)
    report->distillation[s] = cq_space_distillation(&space, s, t->batch.targets, o->distillation);
  if (n_columns(t) == 1) return CQ_OK;
  if (o->distance > 0) report->distance = cq_space_distance(&space, o->distance);
  if (o->contrast > 0 && o->contrast_by == CQ_CONTRAST_PAIRS)
    report->contrast = cq_space_pairs(&space, o->margin, o->contrast);
  cq_status status = CQ_OK;
  if (o->contrast > 0 && o->contrast_by == CQ_CONTRAST_IN_BATCH)
    status = cq_space_in_batch(&report->contrast, &space, o->temperature, o->contrast, &t->shards.items[0].worker,
                               t->ctx, error);
  if (status || !t->discriminator) return status;
  const int first = t->batch.side[0]; /* its labels are languages, not columns */
  const cq_space by_side = {{space.vectors[first], space.vectors[1 - first]},
                            {space.gradients[first], space.gradients[1 - first]},
                            space.n,
                            space.dim};
  return cq_discriminator_forward(t->discriminator, &report->discriminator, &by_side, o->adversary, t->ctx, error);
}

/* --- a step --- */

/* Updates the table rows that a column's sentences use, and the row of the hidden token. */
static cq_status catch_up_table(cq_autoencoder_trainer *t, const cq_param *table, const cq_sequences *c,
                                int32_t unknown, cq_error *error) {
  cq_status status = cq_optimizer_catch_up(&t->update.optimizer, table, c->ids.ids, (int64_t)c->ids.n, t->ctx, error);
  if (!status && unknown >= 0) status = cq_optimizer_catch_up(&t->update.optimizer, table, &unknown, 1, t->ctx, error);
  return status;
}

static cq_status catch_up_tables(cq_autoencoder_trainer *t, cq_error *error) {
  cq_status status = CQ_OK;
  for (int i = 0; i < n_columns(t); i++) {
    const cq_sequences *c = &t->columns[i];
    const cq_autoencoder_side *s = side_of(t, i);
    const cq_params *of_encoder = &s->encoder->params;
    for (size_t k = 0; !status && trains_encoder(s) && k < of_encoder->n; k++)
      if (of_encoder->items[k]->table) status = catch_up_table(t, of_encoder->items[k], c, unknown_of(s), error);
    if (status || !trains_decoder(t, s)) continue;
    size_t n;
    const cq_param *table = cq_decoder_params(&n, s->decoder);
    status = catch_up_table(t, table, c, cq_tokenizer_describe(cq_decoder_tokenizer(s->decoder))->unk_id, error);
  }
  return status;
}

/* One pass over the batch, and an update by some of its losses. */
typedef struct turn {
  cq_update *update;
  bool between, writing; /* the losses: between vectors, -log p */
  double *norm;          /* of the gradient */
} turn;

static cq_status encode_batch(cq_autoencoder_trainer *t, cq_error *error) {
  cq_status status = cq_shards_run(&t->shards, CQ_ALL_COLUMNS, encode_shard, t, t->ctx, error);
  for (int i = 0; !status && i < n_columns(t); i++) {
    cq_sequences *c = &t->columns[i];
    memset(c->gradient, 0, c->n * (size_t)t->dim * sizeof *c->gradient);
    status = cq_shards_share(&t->shards, i, c->vectors, t->dim, error);
    if (!status) status = cq_shards_share(&t->shards, i, c->states, t->states_width, error);
  }
  return status;
}

/* Runs decoders of one kind at a time, so that only one shard at a time adds to each column's gradients. */
static cq_status decode_batch(cq_autoencoder_trainer *t, cq_error *error) {
  decoding own = {t, false}, other = {t, true};
  const cq_exchange *e = t->shards.exchange;
  const cq_feed feed = feed_of(t);
  cq_status status = CQ_OK;
  /* The losses between vectors already have the gradients of all ranks. */
  for (int i = 0; i < n_columns(t); i++) cq_shards_keep_own(&t->shards, i, t->columns[i].gradient, t->dim);
  if (feed != CQ_FEED_OTHER) status = cq_shards_run(&t->shards, CQ_ALL_COLUMNS, decode_shard, &own, t->ctx, error);
  if (!status && feed != CQ_FEED_OWN)
    status = cq_shards_run(&t->shards, CQ_ALL_COLUMNS, decode_shard, &other, t->ctx, error);
  for (int i = 0; !status && i < n_columns(t); i++) {
    const cq_sequences *c = &t->columns[i];
    const int64_t n = (int64_t)c->n;
    status = e->sum_dense(e->context, c->gradient, n * t->dim, error);
    if (!status) status = e->sum_dense(e->context, c->states + n * t->states_width, n * t->states_width, error);
  }
  return status;
}

static cq_status compute_turn(cq_autoencoder_trainer *t, const turn *u, cq_autoencoder_report *report,
                              cq_error *error) {
  double sums[CQ_SHARD_SUMS];
  cq_status status = encode_batch(t, error);
  if (!status && u->between) status = align_vectors(t, report, error);
  if (!status && u->writing && t->o.reconstruction > 0) status = decode_batch(t, error);
  /* One language after the other if both add to the gradients of a shared layer. */
  const bool shared = t->shared.n > 0;
  if (!status)
    status = cq_shards_run(&t->shards, shared ? 0 : CQ_ALL_COLUMNS, encoder_backward_shard, t, t->ctx, error);
  if (!status && shared) status = cq_shards_run(&t->shards, 1, encoder_backward_shard, t, t->ctx, error);
  for (int i = 0; !status && i < n_columns(t); i++) {
    const double n_runs = feed_of(t) == CQ_FEED_BOTH ? 2 : 1;
    status = cq_shards_sum(sums, &t->shards, i, error);
    report->nll[i] = sums[0] / n_runs / ((double)t->columns[i].ids.n - (double)t->batch.n);
  }
  return status;
}

static cq_status check_finite_losses(const cq_autoencoder_trainer *t, const cq_autoencoder_report *r, cq_error *error) {
  const double distillation = r->distillation[0] + r->distillation[1],
               loss = r->nll[0] + r->nll[1] + r->contrast + r->distance + distillation + r->discriminator.loss;
  if (isfinite(loss)) return CQ_OK;
  return cq_fail(
      error, CQ_ERR_LIMIT,
      "batch %llu: the loss is %g: -log p %g and %g, contrast %g, distance %g, distillation %g, discriminator %g",
      (unsigned long long)t->n_batches + 1, loss, r->nll[0], r->nll[1], r->contrast, r->distance, distillation,
      r->discriminator.loss);
}

static cq_status take_turn(cq_autoencoder_trainer *t, const turn *u, cq_autoencoder_report *report, cq_error *error) {
  cq_status status = compute_turn(t, u, report, error);
  if (!status) status = check_finite_losses(t, report, error);
  if (status) {
    cq_update_clear(&t->update, t->ctx);
    return status;
  }
  status = cq_update_apply(u->norm, u->update, 1, t->ctx, error);
  if (status || !u->between || !t->discriminator || n_columns(t) == 1 || !has_space_loss(t)) return status;
  return cq_discriminator_update(t->discriminator, t->ctx, error);
}

/* The first of two updates. In a batch without its losses, the discriminator is not updated, but momentum still moves
 * the encoders, including hidden words, which may be visible in the second pass. */
static cq_status take_first_turn(cq_autoencoder_trainer *t, cq_autoencoder_report *report, cq_error *error) {
  const turn first = {&t->alignment, true, false, &report->space_gradient_norm};
  cq_status status = has_space_loss(t) ? take_turn(t, &first, report, error)
                                       : cq_update_apply(first.norm, first.update, 1, t->ctx, error);
  return status ? status : catch_up_tables(t, error);
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
  status = lay_out_batch(t, error);
  report->n_tokens = t->columns[0].ids.n + t->columns[1].ids.n;
  if (!status) status = catch_up_tables(t, error);
  const bool two = t->alignment.name;
  const turn last = {&t->update, !two, true, &report->gradient_norm};
  t->reader = CQ_READ_ENCODER;
  if (!status && two) {
    status = take_first_turn(t, report, error);
    if (has_space_loss(t)) t->reader = CQ_READ_ENCODER_AGAIN;
  }
  if (!status) status = take_turn(t, &last, report, error);
  t->n_batches++;
  return status;
}

cq_status cq_autoencoder_settle(cq_autoencoder_trainer *t, cq_error *error) {
  cq_optimizer_flush(&t->update.optimizer, t->ctx);
  cq_status status = cq_autoencoder_pack_encoders(t, error);
  if (!status) status = cq_autoencoder_pack_decoders(t, true, true, error);
  return status ? status : cq_autoencoder_pack_decoders(t, true, false, error);
}
