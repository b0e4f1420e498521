/* Ablation: autoencoders with one setting changed at a time. */
#include "base/error.h"
#include "base/memory.h"
#include "base/slice.h"
#include "lab/autoencode/autoencode_options.h"
#include "lab/autoencode/groups.h"
#include "lab/autoencode/trials.h"

#include <stdio.h>
#include <string.h>

/* Trains for all epochs jointly, or first only the encoders for a third of them. */
static void train_at_once(cq_autoencode_options *o) {
  o->together_epochs += o->encoder_epochs + o->decoder_epochs;
  o->encoder_epochs = o->decoder_epochs = 0;
}
static void encoders_first(cq_autoencode_options *o) {
  train_at_once(o);
  o->encoder_epochs = o->together_epochs / 3;
  o->decoder_epochs = o->together_epochs - o->encoder_epochs;
  o->together_epochs = 0;
}

/* A change is a function, or options as text. */
static const struct {
  const char *name, *options;
  void (*change)(cq_autoencode_options *o);
} ablations[] = {
    {"at-once", NULL, train_at_once},
    {"encoders-first", NULL, encoders_first},
    {"alpha-0", "alpha=0", NULL},
    {"beta-0", "beta=0", NULL},
    {"contrast-pairs", "contrast=pairs", NULL},
    {"contrast-in-batch", "contrast=in-batch", NULL},
    {"distance-0", "distance=0", NULL},
    {"distance-1", "distance=1", NULL},
    {"noise-0", "noise=0", NULL},
    {"noise-0.3", "noise=0.3", NULL},
    {"dropout-0", "encoder-dropout=0 decoder-dropout=0", NULL},
    {"word-dropout-0", "word-dropout=0", NULL},
    {"word-dropout-0.1", "word-dropout=0.1", NULL},
    {"encoder-word-dropout-0", "encoder-word-dropout=0", NULL},
    {"encoder-word-dropout-0.2", "encoder-word-dropout=0.2", NULL},
    {"layers-1", "layers=1", NULL},
    {"layers-2", "layers=2", NULL},
    {"one-way", "bidirectional=no", NULL},
    {"both-ways", "bidirectional=yes", NULL},
    {"pooling-last", "pooling=last", NULL},
    {"pooling-max", "pooling=max", NULL},
    {"pooling-mean", "pooling=mean", NULL},
    {"no-relu", "relu=no", NULL},
    {"relu", "relu=yes", NULL},
    {"any-length", "unit-length=no", NULL},
    {"unit-length", "unit-length=yes", NULL},
    {"latent-16", "latent=16", NULL},
    {"latent-64", "latent=64", NULL},
    {"latent-256", "latent=256", NULL},
    {"shared-latent", "shared-latent=yes", NULL},
    {"latent-each", "shared-latent=no", NULL},
    {"two-optimizers", "two-optimizers=yes", NULL},
    {"one-optimizer", "two-optimizers=no", NULL},
    {"adversary-0", "adversary=0", NULL},
    {"adversary-0.1", "adversary=0.1", NULL},
    {"latent-as-states", "latent-as=encoder-states-every-step bidirectional=no", NULL},
    {"latent-as-state", "latent-as=state", NULL},
    {"latent-as-every-step", "latent-as=every-step", NULL},
    {"latent-as-both", "latent-as=both", NULL},
    {"words-hidden", "words-hidden=yes", NULL},
    {"words-read", "words-hidden=no", NULL},
    {"feed-other", "feed=other", NULL},
    {"feed-both", "feed=both", NULL},
    {"vocabulary-pieces", "vocabulary=pieces", NULL},
    {"vocabulary-words", "vocabulary=words", NULL},
};
enum { N_ABLATIONS = sizeof ablations / sizeof *ablations };

size_t cq_autoencode_ablations(void) {
  return N_ABLATIONS;
}

const char *cq_autoencode_ablation(size_t index) {
  return index < N_ABLATIONS ? ablations[index].name : NULL;
}

static cq_status apply_change(cq_autoencode_options *o, size_t i, cq_error *error) {
  cq_status status = CQ_OK;
  if (ablations[i].change) ablations[i].change(o);
  for (const char *at = ablations[i].options; !status && at && *at;) {
    char name[32], value[32];
    int n = 0;
    sscanf(at, "%31[^=]=%31[^ ] %n", name, value, &n);
    status = cq_group_set(&cq_group_autoencode, o, name, value, error);
    at += n;
  }
  return status;
}

static cq_status check_names(const char *const *only, size_t n, cq_error *error) {
  for (size_t i = 0; i < n; i++) {
    size_t k = 0;
    while (k < N_ABLATIONS && strcmp(ablations[k].name, only[i]) != 0) k++;
    if (k == N_ABLATIONS) return cq_fail(error, CQ_ERR_ARGUMENT, "there is no ablation '%s'", only[i]);
  }
  return CQ_OK;
}

static cq_status are_same_options(bool *out, const cq_autoencode_options *a, const cq_autoencode_options *b,
                                  cq_error *error) {
  cq_builder x = {0}, y = {0};
  cq_autoencode_describe(&x, a);
  cq_autoencode_describe(&y, b);
  const cq_status status = x.failed || y.failed ? cq_fail_memory(error, "options") : CQ_OK;
  if (!status) *out = x.n == y.n && !memcmp(x.data, y.data, x.n);
  cq_builder_free(&x);
  cq_builder_free(&y);
  return status;
}

static void tell_ablation(const cq_autoencode_options *base, const char *name, const char *why) {
  char line[CQ_TRIAL_NAME + 1100]; /* a name and an error's message */
  const cq_autoencode_progress news = {.phase = "ablation", .text = line};
  snprintf(line, sizeof line, "%s%s%s", name, why ? " is left out: " : "", why ? why : "");
  if (base->progress) base->progress(base->progress_context, &news);
}

static cq_status run_and_tell(cq_trials *t, const char *name, const cq_autoencode_options *o, bool keep_model,
                              cq_context *ctx, cq_error *error) {
  const cq_trial *trial;
  tell_ablation(o, name, NULL);
  const cq_status status = cq_trials_run(&trial, t, name, "", o, ctx, error);
  if (!status && !keep_model && trial->is_made) cq_trials_drop_model(t, trial);
  return status;
}

/* Leaves out untrainable changes: encoders alone without their own loss, a discriminator for three languages. */
static cq_status run_change(cq_trials *t, size_t i, bool by_name, bool keep_model, cq_context *ctx, cq_error *error) {
  cq_autoencode_options o = *t->base;
  cq_error why = {0};
  bool same = false;
  cq_status status = apply_change(&o, i, error);
  if (!status) status = are_same_options(&same, &o, t->base, error);
  if (status) return status;
  if (same) {
    if (by_name) tell_ablation(t->base, ablations[i].name, "it changes nothing");
    return CQ_OK;
  }
  status = cq_autoencode_check(&o, &why);
  const bool checked = !status;
  if (checked) status = run_and_tell(t, ablations[i].name, &o, keep_model, ctx, &why);
  if (status == CQ_ERR_ARGUMENT && (!checked || t->refused)) {
    tell_ablation(t->base, ablations[i].name, why.message);
    return CQ_OK;
  }
  if (status && error) *error = why;
  return status;
}

static const cq_option option_rows[] = {
    {CQ_TEXTS(cq_autoencode_ablate_options, "only", only, n_only, CHANGES, "NAME", "make this change"),
     .otherwise = "all"},
    {CQ_FLAG(cq_autoencode_ablate_options, "keep", keep_models, KEEPS, "keep the models")},
};
const cq_option_group cq_group_autoencode_ablate = {.name = "autoencode-ablate",
                                                    CQ_ROWS(cq_autoencode_ablate_options, option_rows)};

cq_status cq_autoencode_ablate(const cq_autoencode_options *base, const cq_autoencode_ablate_options *options,
                               cq_context *ctx, cq_error *error) {
  cq_autoencode_options taken;
  cq_autoencode_ablate_options o;
  cq_trials trials = {0};
  cq_status status = cq_options_take(&taken, &cq_group_autoencode, base, error);
  if (!status) status = cq_options_take(&o, &cq_group_autoencode_ablate, options, error);
  if (!status) status = check_names(o.only, o.n_only, error);
  if (!status) status = cq_trials_begin(&trials, &taken, error);
  if (!status) status = run_and_tell(&trials, "base", &taken, o.keep_models, ctx, error);
  for (size_t i = 0; !status && i < N_ABLATIONS; i++)
    if (!o.n_only || cq_name_index(o.only, o.n_only, ablations[i].name) >= 0)
      status = run_change(&trials, i, o.n_only > 0, o.keep_models, ctx, error);
  cq_trials_free(&trials);
  return status;
}
