/* An autoencoder with one thing changed at a time. */
#include "base/error.h"
#include "base/memory.h"
#include "base/slice.h"
#include "recipe/autoencode/options.h"
#include "recipe/autoencode/trials.h"

#include <stdio.h>
#include <string.h>

/* All epochs at once, or encoders for a third of them first. */
static void at_once(cq_autoencode_options *o) {
  o->together_epochs += o->encoder_epochs + o->decoder_epochs;
  o->encoder_epochs = o->decoder_epochs = 0;
}
static void encoders_first(cq_autoencode_options *o) {
  at_once(o);
  o->encoder_epochs = o->together_epochs / 3;
  o->decoder_epochs = o->together_epochs - o->encoder_epochs;
  o->together_epochs = 0;
}

#define CHANGE(name, statement)                                                                                        \
  static void name(cq_autoencode_options *o) {                                                                         \
    statement;                                                                                                         \
  }
CHANGE(no_contrast, o->contrast = 0)
CHANGE(no_reconstruction, o->reconstruction = 0)
CHANGE(contrast_pairs, o->contrast_by = CQ_AUTOENCODE_PAIRS)
CHANGE(contrast_in_batch, o->contrast_by = CQ_AUTOENCODE_IN_BATCH)
CHANGE(no_distance, o->distance = 0)
CHANGE(distance, o->distance = 1)
CHANGE(no_noise, o->noise = 0)
CHANGE(noise, o->noise = 0.3)
CHANGE(no_dropout, o->encoder_dropout = o->decoder_dropout = 0)
CHANGE(no_word_dropout, o->word_dropout = 0)
CHANGE(word_dropout, o->word_dropout = 0.1)
CHANGE(no_encoder_word_dropout, o->encoder_word_dropout = 0)
CHANGE(encoder_word_dropout, o->encoder_word_dropout = 0.2)
CHANGE(one_layer, o->n_layers = 1)
CHANGE(two_layers, o->n_layers = 2)
CHANGE(one_way, o->bidirectional = false)
CHANGE(both_ways, o->bidirectional = true)
CHANGE(pooling_last, o->pooling = CQ_AUTOENCODE_LAST)
CHANGE(pooling_max, o->pooling = CQ_AUTOENCODE_MAX)
CHANGE(pooling_mean, o->pooling = CQ_AUTOENCODE_MEAN)
CHANGE(no_relu, o->relu = false)
CHANGE(relu, o->relu = true)
CHANGE(any_length, o->unit_length = false)
CHANGE(unit_length, o->unit_length = true)
CHANGE(latent_16, o->latent_dim = 16)
CHANGE(latent_64, o->latent_dim = 64)
CHANGE(latent_256, o->latent_dim = 256)
CHANGE(shared_latent, o->shared_latent = true)
CHANGE(latent_each, o->shared_latent = false)
CHANGE(two_optimizers, o->two_optimizers = true)
CHANGE(one_optimizer, o->two_optimizers = false)
CHANGE(no_adversary, o->adversary = 0)
CHANGE(adversary, o->adversary = 0.1)
CHANGE(states, (o->states_from_encoder = true, o->latent_as_state = o->bidirectional = false))
CHANGE(as_state, (o->latent_as_state = true, o->latent_at_every_step = o->states_from_encoder = false))
CHANGE(at_every_step, (o->latent_at_every_step = true, o->latent_as_state = o->states_from_encoder = false))
CHANGE(as_both, (o->latent_as_state = o->latent_at_every_step = true, o->states_from_encoder = false))
CHANGE(words_hidden, o->words_hidden = true)
CHANGE(words_read, o->words_hidden = false)
CHANGE(feed_other, o->feed = CQ_AUTOENCODE_OTHER)
CHANGE(feed_both, o->feed = CQ_AUTOENCODE_BOTH)
CHANGE(pieces, o->vocabulary = CQ_AUTOENCODE_PIECES)
CHANGE(words, o->vocabulary = CQ_AUTOENCODE_WORDS)

static const struct {
  const char *name;
  void (*change)(cq_autoencode_options *o);
} ablations[] = {
    {"at-once", at_once},
    {"encoders-first", encoders_first},
    {"alpha-0", no_contrast},
    {"beta-0", no_reconstruction},
    {"contrast-pairs", contrast_pairs},
    {"contrast-in-batch", contrast_in_batch},
    {"distance-0", no_distance},
    {"distance-1", distance},
    {"noise-0", no_noise},
    {"noise-0.3", noise},
    {"dropout-0", no_dropout},
    {"word-dropout-0", no_word_dropout},
    {"word-dropout-0.1", word_dropout},
    {"encoder-word-dropout-0", no_encoder_word_dropout},
    {"encoder-word-dropout-0.2", encoder_word_dropout},
    {"layers-1", one_layer},
    {"layers-2", two_layers},
    {"one-way", one_way},
    {"both-ways", both_ways},
    {"pooling-last", pooling_last},
    {"pooling-max", pooling_max},
    {"pooling-mean", pooling_mean},
    {"no-relu", no_relu},
    {"relu", relu},
    {"any-length", any_length},
    {"unit-length", unit_length},
    {"latent-16", latent_16},
    {"latent-64", latent_64},
    {"latent-256", latent_256},
    {"shared-latent", shared_latent},
    {"latent-each", latent_each},
    {"two-optimizers", two_optimizers},
    {"one-optimizer", one_optimizer},
    {"adversary-0", no_adversary},
    {"adversary-0.1", adversary},
    {"latent-as-states", states},
    {"latent-as-state", as_state},
    {"latent-as-every-step", at_every_step},
    {"latent-as-both", as_both},
    {"words-hidden", words_hidden},
    {"words-read", words_read},
    {"feed-other", feed_other},
    {"feed-both", feed_both},
    {"vocabulary-pieces", pieces},
    {"vocabulary-words", words},
};
enum { N_ABLATIONS = sizeof ablations / sizeof *ablations };

size_t cq_autoencode_ablations(void) {
  return N_ABLATIONS;
}

const char *cq_autoencode_ablation(size_t index) {
  return index < N_ABLATIONS ? ablations[index].name : NULL;
}

static bool is_among(const char *name, const char *const *names, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!strcmp(names[i], name)) return true;
  return false;
}

static cq_status check_names(const char *const *only, size_t n, cq_error *error) {
  for (size_t i = 0; i < n; i++) {
    size_t k = 0;
    while (k < N_ABLATIONS && strcmp(ablations[k].name, only[i]) != 0) k++;
    if (k == N_ABLATIONS) return cq_fail(error, CQ_ERR_ARGUMENT, "there is no ablation '%s'", only[i]);
  }
  return CQ_OK;
}

static cq_status is_same(bool *out, const cq_autoencode_options *a, const cq_autoencode_options *b, cq_error *error) {
  cq_builder x = {0}, y = {0};
  cq_autoencode_describe(&x, a);
  cq_autoencode_describe(&y, b);
  const cq_status status = x.failed || y.failed ? cq_fail_memory(error, "options") : CQ_OK;
  if (!status) *out = x.n == y.n && !memcmp(x.data, y.data, x.n);
  cq_builder_free(&x);
  cq_builder_free(&y);
  return status;
}

static void tell(const cq_autoencode_options *base, const char *name, const char *why) {
  char line[CQ_TRIAL_NAME + 1100]; /* a name and an error's message */
  const cq_autoencode_progress news = {.phase = "ablation", .text = line};
  snprintf(line, sizeof line, "%s%s%s", name, why ? " is left out: " : "", why ? why : "");
  if (base->progress) base->progress(base->progress_context, &news);
}

static cq_status run(cq_trials *t, const char *name, const cq_autoencode_options *o, bool keep_model, cq_context *ctx,
                     cq_error *error) {
  const cq_trial *trial;
  tell(o, name, NULL);
  const cq_status status = cq_trials_run(&trial, t, name, "", o, ctx, error);
  if (!status && !keep_model && trial->is_made) cq_trials_drop_model(t, trial);
  return status;
}

/* Leaves out a change that nothing can be trained with: encoders alone with no loss of theirs, a discriminator for
 * three languages. */
static cq_status run_change(cq_trials *t, size_t i, bool by_name, bool keep_model, cq_context *ctx, cq_error *error) {
  cq_autoencode_options o = *t->base;
  cq_error why = {0};
  bool same = false;
  ablations[i].change(&o);
  cq_status status = is_same(&same, &o, t->base, error);
  if (status) return status;
  if (same) {
    if (by_name) tell(t->base, ablations[i].name, "it changes nothing");
    return CQ_OK;
  }
  status = cq_autoencode_check(&o, &why);
  const bool checked = !status;
  if (checked) status = run(t, ablations[i].name, &o, keep_model, ctx, &why);
  if (status == CQ_ERR_ARGUMENT && (!checked || t->refused)) {
    tell(t->base, ablations[i].name, why.message);
    return CQ_OK;
  }
  if (status && error) *error = why;
  return status;
}

cq_status cq_autoencode_ablate(const cq_autoencode_options *base, const char *const *only, size_t n_only,
                               bool keep_models, cq_context *ctx, cq_error *error) {
  cq_trials trials = {0};
  cq_status status = check_names(only, n_only, error);
  if (!status) status = cq_trials_begin(&trials, base, error);
  if (!status) status = run(&trials, "base", base, keep_models, ctx, error);
  for (size_t i = 0; !status && i < N_ABLATIONS; i++)
    if (!n_only || is_among(ablations[i].name, only, n_only))
      status = run_change(&trials, i, n_only > 0, keep_models, ctx, error);
  cq_trials_free(&trials);
  return status;
}
