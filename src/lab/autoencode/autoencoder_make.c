/* Makes an autoencoder trainer, packs its trained weights, and saves its state. */
#include "base/error.h"
#include "base/memory.h"
#include "lab/autoencode/autoencoder_trainer.h"
#include "lab/autoencode/states.h"

#include <string.h>

enum { MAX_SIDES = CQ_MAX_SHARING };

/* --- making --- */

static bool trains_decoders(const cq_autoencoder_trainer *t) {
  for (int s = 0; s < t->n_sides; s++)
    if (trains_decoder(t, &t->sides[s])) return true;
  return false;
}

static bool trains_encoders(const cq_autoencoder_trainer *t) {
  for (int s = 0; s < t->n_sides; s++)
    if (trains_encoder(&t->sides[s])) return true;
  return false;
}

/* A decoder is given its encoder's ids. */
static bool share_vocabulary(const cq_autoencoder_side *side) {
  const cq_tokenizer *read = cq_encoder_text_module(side->encoder)->tokenizer;
  const cq_tokenizer *written = cq_decoder_tokenizer(side->decoder);
  if (!read || side->encoder->max_seq_length == 1) return false;
  const cq_tokenizer_info *a = cq_tokenizer_describe(read), *b = cq_tokenizer_describe(written);
  return a->vocab_size == b->vocab_size && a->cls_id == b->cls_id && a->sep_id == b->sep_id;
}

static cq_status check_trainer_options(const cq_autoencoder_trainer *t, cq_error *error) {
  const cq_autoencoder_options *o = &t->o;
  const double weights[] = {o->reconstruction, o->contrast, o->distance, o->distillation, o->adversary};
  double sum = 0;
  bool fine = true;
  for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) fine = fine && weights[i] >= 0, sum += weights[i];
  if (!fine || !(sum > 0))
    return cq_fail(error, CQ_ERR_ARGUMENT, "losses weighted %g, %g, %g, %g and %g: expected none below 0 and one above",
                   o->reconstruction, o->contrast, o->distance, o->distillation, o->adversary);
  if (o->two_optimizers && !(o->contrast_rate >= 0))
    return cq_fail(error, CQ_ERR_ARGUMENT, "vectors contrasted at %g times the learning rate", o->contrast_rate);
  if (o->adversary > 0 && t->n_sides != 2)
    return cq_fail(error, CQ_ERR_ARGUMENT, "a discriminator of %d languages, expected 2", t->n_sides);
  if (!(o->temperature > 0) || !(o->margin >= 0) || !(o->noise >= 0) ||
      !(o->word_dropout >= 0 && o->word_dropout < 1) || !(o->encoder_word_dropout >= 0 && o->encoder_word_dropout < 1))
    return cq_fail(error, CQ_ERR_ARGUMENT, "temperature %g, margin %g, noise %g, word dropout %g and %g",
                   o->temperature, o->margin, o->noise, o->word_dropout, o->encoder_word_dropout);
  bool any = false;
  for (const cq_autoencoder_side *s = t->sides; s < t->sides + t->n_sides; s++) {
    any |= trains_encoder(s) || trains_decoder(t, s);
    if (cq_encoder_full_dim(s->encoder) != t->dim)
      return cq_fail(error, CQ_ERR_ARGUMENT, "sentence vectors of %lld and of %lld dimensions", (long long)t->dim,
                     (long long)cq_encoder_full_dim(s->encoder));
    if (s->decoder && cq_decoder_shape_of(s->decoder)->latent_dim != t->dim)
      return cq_fail(error, CQ_ERR_ARGUMENT, "a decoder of vectors of %lld dimensions, the encoders give %lld",
                     (long long)cq_decoder_shape_of(s->decoder)->latent_dim, (long long)t->dim);
    if (o->encoder_word_dropout > 0 && unknown_of(s) < 0)
      return cq_fail(error, CQ_ERR_ARGUMENT, "words are to be hidden from an encoder that has no <unk>");
    if (s->decoder && !share_vocabulary(s))
      return cq_fail(error, CQ_ERR_ARGUMENT, "a decoder writes other tokens than its encoder reads");
    /* A decoder must accept vectors from all languages, whichever it learns from. */
    for (int from = 0; s->decoder && from < t->n_sides; from++) {
      const cq_status status = cq_states_check(s->decoder, t->sides[from].encoder, error);
      if (status) return status;
    }
  }
  return any ? CQ_OK : cq_fail(error, CQ_ERR_ARGUMENT, "everything is frozen: there is nothing to train");
}

static cq_status find_shared(cq_autoencoder_trainer *t, cq_error *error) {
  const cq_encoder *encoders[MAX_SIDES];
  if (!t->o.shared_latent || !trains_encoders(t)) return CQ_OK;
  for (int s = 0; s < t->n_sides; s++) {
    if (!trains_encoder(&t->sides[s]))
      return cq_fail(error, CQ_ERR_ARGUMENT, "a layer is shared with an encoder that is frozen");
    encoders[s] = t->sides[s].encoder;
  }
  return cq_shared_layer_find(&t->shared, encoders, t->n_sides, error);
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
  if (!status) status = cq_params_own(t->params, error);
  if (status) return status;
  cq_shared_layer_tie(&t->shared);
  t->of_encoders = cq_params_first(t->params, n_of_encoders);
  return CQ_OK;
}

typedef struct packing {
  cq_autoencoder_trainer *t;
  bool all, training; /* all: frozen decoders too */
  cq_status status[MAX_SIDES];
  cq_error errors[MAX_SIDES];
} packing;

static void pack_decoder(void *context, size_t i, int worker) {
  (void)worker;
  packing *p = context;
  const cq_autoencoder_side *side = &p->t->sides[i];
  if (side->decoder && (p->all || trains_decoder(p->t, side)))
    p->status[i] = cq_decoder_pack(side->decoder, p->training, &p->errors[i]);
}

cq_status cq_autoencoder_pack_decoders(cq_autoencoder_trainer *t, bool all, bool training, cq_error *error) {
  packing p = {.t = t, .all = all, .training = training};
  cq_context_run(t->ctx, (size_t)t->n_sides, pack_decoder, &p);
  for (int s = 0; s < t->n_sides; s++) {
    if (!p.status[s]) continue;
    if (error) *error = p.errors[s];
    return p.status[s];
  }
  return CQ_OK;
}

cq_status cq_autoencoder_pack_encoders(cq_autoencoder_trainer *t, cq_error *error) {
  cq_status status = CQ_OK;
  for (const cq_autoencoder_side *s = t->sides; !status && s < t->sides + t->n_sides; s++)
    if (trains_encoder(s)) status = cq_encoder_pack(s->encoder, t->ctx, true, error);
  return status;
}

static cq_status pack_encoders(void *owner, cq_context *ctx, cq_error *error) {
  (void)ctx;
  return cq_autoencoder_pack_encoders(owner, error);
}

static cq_status pack_trained(void *owner, cq_context *ctx, cq_error *error) {
  cq_status status = pack_encoders(owner, ctx, error);
  return status ? status : cq_autoencoder_pack_decoders(owner, false, true, error);
}

static double contrast_rate(const void *context, uint64_t step, bool table) {
  const cq_autoencoder_options *o = context;
  return o->contrast_rate * o->optimizer.learning_rate(o->optimizer.context, step, table);
}

/* Makes one update or two; two if there are losses of both kinds to divide between them. */
static cq_status make_updates(cq_autoencoder_trainer *t, cq_error *error) {
  const cq_autoencoder_options *o = &t->o;
  const bool writing = trains_decoders(t), between = o->contrast + o->distance + o->distillation + o->adversary > 0;
  cq_optimizer_options of_all = o->optimizer, of_between = of_all;
  of_between.learning_rate = contrast_rate, of_between.context = o;
  if (o->two_optimizers && !writing) of_all = of_between;
  cq_status status =
      cq_update_new(&t->update, "", t->params, t->kernels, o->n_shards, o->exchange, &of_all, pack_trained, t, error);
  if (status || !o->two_optimizers || !writing || !trains_encoders(t) || !between) return status;
  of_between.weight_decay = 0;
  return cq_update_new_before(&t->alignment, "alignment", &t->update, &t->of_encoders, &of_between, pack_encoders, t,
                              error);
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
                                     int n_sides, cq_context *ctx, const cq_autoencoder_options *options,
                                     cq_error *error) {
  *out = NULL;
  if (n_sides < 1 || n_sides > MAX_SIDES)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%d languages, expected 1 to %d", n_sides, MAX_SIDES);
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
  t->ctx = ctx;
  t->kernels = sides[0].encoder->kernels;
  t->dim = cq_encoder_full_dim(sides[0].encoder);
  /* Everything that may fail comes before taking ownership. */
  cq_status status = check_trainer_options(t, error);
  if (!status) status = cq_shards_new(&t->shards, options->n_shards, 2, t->kernels, options->exchange, error);
  if (!status) status = make_discriminator(t, error);
  for (const cq_autoencoder_side *s = t->sides; !status && s < t->sides + n_sides; s++)
    if (trains_decoder(t, s) && cq_decoder_states_width(s->decoder) > 0)
      t->states_width = cq_decoder_states_width(s->decoder);
  if (!status) status = find_shared(t, error);
  if (!status) status = gather_params(t, error);
  if (!status) status = cq_autoencoder_pack_encoders(t, error);
  if (!status) status = cq_autoencoder_pack_decoders(t, true, true, error);
  if (!status) status = make_updates(t, error);
  if (status)
    cq_autoencoder_trainer_free(t);
  else
    *out = t;
  return status;
}

void cq_autoencoder_trainer_free(cq_autoencoder_trainer *t) {
  if (!t) return;
  cq_discriminator_free(t->discriminator);
  cq_update_free(&t->alignment);
  cq_update_free(&t->update);
  cq_shards_free(&t->shards);
  for (int c = 0; c < 2; c++) cq_sequences_free(&t->columns[c]);
  cq_free(t->sides);
  cq_free(t);
}

uint64_t cq_autoencoder_updates(const cq_autoencoder_trainer *t) {
  return t->update.optimizer.step;
}

/* --- state --- */

cq_status cq_autoencoder_trainer_save(cq_autoencoder_trainer *t, cq_checkpoint_writer *w, cq_error *error) {
  cq_status status = cq_checkpoint_writer_section(w, "batches", &t->n_batches, sizeof t->n_batches, error);
  if (!status) status = cq_update_save(&t->update, w, error);
  if (!status && t->alignment.name) status = cq_update_save(&t->alignment, w, error);
  return status || !t->discriminator ? status : cq_discriminator_save(t->discriminator, w, error);
}

cq_status cq_autoencoder_trainer_restore(cq_autoencoder_trainer *t, const cq_checkpoint *c, cq_error *error) {
  cq_status status = cq_checkpoint_read(&t->n_batches, sizeof t->n_batches, c, "batches", error);
  if (!status) status = cq_update_restore(&t->update, c, t->ctx, error);
  if (!status && t->alignment.name) status = cq_update_restore(&t->alignment, c, t->ctx, error);
  return status || !t->discriminator ? status : cq_discriminator_restore(t->discriminator, c, error);
}
