/* Training autoencoders.
 *
 *   text ──▶ a vocabulary of each new language ──▶ fresh encoders and decoders; others come from the model that is joined
 *        ──▶ together ──▶ encoders alone ──▶ decoders alone, on frozen encoders        any of which may be left out
 *   after each epoch of decoders: dev is translated both ways, and the best model is kept
 *
 * A checkpoint holds the state of the stage's trainer and all values of the model; a stage is gone on with from there,
 * so that the model is bit for bit what an uninterrupted run would have given. Work in progress lies in OUTPUT.work
 * (work_directory.h). */
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "recipe/autoencode/autoencoder.h"
#include "recipe/autoencode/data.h"
#include "recipe/autoencode/dev.h"
#include "recipe/autoencode/fresh.h"
#include "recipe/autoencode/options.h"
#include "recipe/autoencode/teacher.h"
#include "recipe/run/run_log.h"
#include "recipe/run/work_directory.h"
#include "train/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_STAGES = 3, MOST_LANGUAGES = 64 };

/* What is trained in one stretch, under one schedule. */
typedef struct stage {
  int number;
  const char *name;
  double epochs;
  bool encoders, decoders;
} stage;

/* What a checkpoint says besides values. Fixed-size numbers only: it is stored as it lies. */
typedef struct progress_state {
  cq_identity options;                      /* everything that must be the same for a run to be gone on with */
  uint64_t stage, step, n_steps, log_bytes; /* step: of the stage; n_steps: of all until now */
  uint64_t n_waited;                        /* epochs of the stage since the best */
  double loss;                              /* a running mean over the stage */
  double dev[CQ_AUTOENCODE_N_MEASURES];     /* of the best model; NaN: there is none yet */
} progress_state;

typedef struct run {
  const cq_autoencode_options *o;
  cq_context *ctx;
  const char *codes[MOST_LANGUAGES]; /* those of the model that is joined, in its order, then the new ones */
  size_t n_codes, n_joined;
  cq_autoencode_data data;
  cq_autoencode_teacher teacher;
  cq_autoencoder model;
  cq_params params[N_STAGES]; /* own the model's values, each what its stage has trained */
  cq_work_directory work;
  cq_run_log log;
  cq_schedule_plan plan; /* of the stage */
  progress_state state;
  cq_checkpoint *resumed; /* of the stage that is gone on with; NULL: none */
  cq_autoencode_progress news;
  double nll[MOST_LANGUAGES];
} run;

/* --- news --- */

static bool tell(run *r, const char *phase, uint64_t step, uint64_t n, const char *text) {
  r->news.phase = phase, r->news.step = step, r->news.n_steps = n, r->news.text = text;
  r->news.languages = r->codes, r->news.n_languages = r->n_codes, r->news.nll = r->nll;
  return !r->o->progress || r->o->progress(r->o->progress_context, &r->news);
}

/* --- languages and their text --- */

static cq_status add_code(run *r, const char *code, cq_error *error) {
  for (size_t i = 0; i < r->n_codes; i++)
    if (!strcmp(r->codes[i], code)) return CQ_OK;
  if (r->n_codes == MOST_LANGUAGES) return cq_fail(error, CQ_ERR_ARGUMENT, "more than %d languages", MOST_LANGUAGES);
  r->codes[r->n_codes++] = code;
  return CQ_OK;
}

/* Nothing is learned of languages that are joined, nor does what is measured of them change. */
static cq_status has_new_language(const run *r, const cq_autoencode_text *text, cq_error *error) {
  for (int s = 0; s < 2; s++)
    for (size_t i = r->n_joined; text->languages[s] && i < r->n_codes; i++)
      if (!strcmp(text->languages[s], r->codes[i])) return CQ_OK;
  return cq_fail_file(error, CQ_ERR_ARGUMENT, text->path, "is of languages that are in the joined model already");
}

/* Opens what is joined, so that its languages come first. */
static cq_status name_languages(run *r, cq_error *error) {
  const cq_autoencode_options *o = r->o;
  cq_autoencoder *joined = NULL;
  cq_status status = o->joined ? cq_autoencoder_open(&joined, o->joined, error) : CQ_OK;
  if (status) return status;
  if (joined) cq_autoencoder_take(&r->model, joined);
  for (size_t i = 0; !status && i < r->model.n; i++) status = add_code(r, r->model.tongues[i].code, error);
  r->n_joined = r->n_codes;
  for (size_t i = 0; i < o->n_train; i++)
    for (int s = 0; s < 2; s++)
      if (!status && o->train[i].languages[s]) status = add_code(r, o->train[i].languages[s], error);
  const size_t n_known = r->n_codes;
  for (size_t i = 0; i < o->n_dev; i++)
    for (int s = 0; s < 2; s++)
      if (!status) status = add_code(r, o->dev[i].languages[s], error);
  if (!status && r->n_codes > n_known)
    status = cq_fail(error, CQ_ERR_ARGUMENT, "dev has '%s', which there is no text of to train on", r->codes[n_known]);
  if (!status && o->adversary > 0 && r->n_codes != 2)
    status = cq_fail(error, CQ_ERR_ARGUMENT, "a discriminator is for two languages, here are %zu", r->n_codes);
  if (!status && o->shared_latent && r->n_joined > 0)
    status = cq_fail(error, CQ_ERR_ARGUMENT, "a latent layer for all, and a model joined whose layers stay");
  if (!status && r->n_codes == r->n_joined)
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, o->joined, "there is no new language: all of the text's are there");
  for (size_t i = 0; !status && i < o->n_train + o->n_dev; i++)
    status = has_new_language(r, i < o->n_train ? &o->train[i] : &o->dev[i - o->n_train], error);
  return status;
}

static cq_status told(void *context, size_t file, const char *summary, cq_error *error) {
  run *r = context;
  return tell(r, "data", file, r->o->n_train + r->o->n_dev, summary)
             ? CQ_OK
             : cq_fail(error, CQ_ERR_STOPPED, "stopped while reading");
}

static cq_status make_model(run *r, cq_error *error) {
  const int latent_dim = r->n_joined ? cq_encoder_dim(r->model.tongues[0].encoder) : r->o->latent_dim;
  cq_status status = cq_autoencoder_reserve(&r->model, r->n_codes, error);
  while (!status && r->model.n < r->n_codes) {
    const size_t i = r->model.n++;
    status = cq_tongue_new(&r->model.tongues[i], r->codes[i], &r->data, (int)i, latent_dim, r->work.best, r->o, r->ctx,
                           error);
  }
  return status ? status : cq_autoencoder_check(&r->model, error);
}

/* --- dev --- */

/* Tells and logs every way's measures; mean: of all ways. */
static cq_status measure(double mean[CQ_AUTOENCODE_N_MEASURES], run *r, const char *phase, double epoch,
                         cq_error *error) {
  cq_builder line = {0};
  json_t *ways = json_object();
  const double n_ways = 2 * (double)r->data.dev.n;
  cq_status status = ways ? CQ_OK : cq_fail_memory(error, "dev");
  memset(mean, 0, CQ_AUTOENCODE_N_MEASURES * sizeof *mean);
  cq_builder_printf(&line, "epoch %g: BLEU", epoch);
  for (size_t i = 0; i < r->data.dev.n; i++)
    for (int back = 0; !status && back < 2; back++) {
      const cq_text_group *g = &r->data.dev.items[i];
      double of_way[CQ_AUTOENCODE_N_MEASURES];
      char way[128];
      snprintf(way, sizeof way, "%s-%s", r->codes[g->language[back]], r->codes[g->language[1 - back]]);
      status = cq_autoencode_measure_way(of_way, &r->model, r->codes, g, back, r->o->max_tokens, r->ctx, error);
      if (status) break;
      json_t *scores = json_object();
      int failed = json_object_set_new(ways, way, scores);
      for (int m = 0; m < CQ_AUTOENCODE_N_MEASURES; m++) {
        mean[m] += of_way[m] / n_ways;
        if (!failed) failed = json_object_set_new(scores, cq_autoencode_measures[m], json_real(of_way[m]));
      }
      if (failed) status = cq_fail_memory(error, "dev");
      cq_builder_printf(&line, "%s %s %.2f", i + (size_t)back ? "," : "", way, of_way[CQ_AUTOENCODE_BLEU]);
    }
  cq_builder_printf(&line, "; mean %.2f, chrF %.2f, METEOR %.2f", mean[CQ_AUTOENCODE_BLEU], mean[CQ_AUTOENCODE_CHRF],
                    mean[CQ_AUTOENCODE_METEOR]);
  if (!status && line.failed) status = cq_fail_memory(error, "dev");
  if (!status) tell(r, phase, r->news.step, r->news.n_steps, line.data);
  cq_builder_free(&line);
  if (!status)
    return cq_run_log_write(
        &r->log, json_pack("{s:s, s:s, s:f, s:o}", "type", "dev", "stage", phase, "epoch", epoch, "ways", ways), error);
  json_decref(ways);
  return status;
}

/* Of equals the one with more characters right, as systems of no BLEU at all differ in that; kept: NaN, none yet. */
static bool is_better(const double *dev, const double *kept, cq_autoencode_measure by) {
  if (isnan(kept[by])) return true;
  return dev[by] != kept[by] ? dev[by] > kept[by] : dev[CQ_AUTOENCODE_CHRF] > kept[CQ_AUTOENCODE_CHRF];
}

/* Keeps the model if it is the best so far. */
static cq_status keep_best(run *r, const char *phase, double epoch, cq_error *error) {
  double dev[CQ_AUTOENCODE_N_MEASURES];
  cq_status status = measure(dev, r, phase, epoch, error);
  r->state.n_waited++;
  if (status || !is_better(dev, r->state.dev, r->o->best_by)) return status;
  memcpy(r->state.dev, dev, sizeof dev);
  r->state.n_waited = 0;
  return cq_autoencoder_save(&r->model, r->work.best, true, error);
}

/* --- stages --- */

static double learning_rate(const void *context, uint64_t step, bool table) {
  const run *r = context;
  (void)table;
  return r->o->learning_rate * cq_schedule_factor(&r->plan, step);
}

static cq_autoencoder_options trainer_options(const run *r, const stage *s) {
  const cq_autoencode_options *o = r->o;
  return (cq_autoencoder_options){
      .n_shards = o->n_shards,
      .seed = o->seed,
      .feed = (cq_feed)o->feed,
      .reconstruction = s->decoders ? o->reconstruction : 0,
      .contrast = s->encoders ? o->contrast : 0,
      .distance = s->encoders ? o->distance : 0,
      .distillation = s->encoders && o->teacher ? o->distillation : 0,
      .adversary = s->encoders ? o->adversary : 0,
      .adversary_by = CQ_ADVERSARY_SWAPPED,
      .discriminator_hidden = o->discriminator_hidden,
      .discriminator_rate = 1,
      .label_smoothing = 0.1,
      .two_optimizers = o->two_optimizers,
      .contrast_rate = o->contrast_rate,
      .shared_latent = s->encoders && o->shared_latent,
      .contrast_by = (cq_contrast)o->contrast_by,
      .margin = o->margin,
      .temperature = o->temperature,
      .noise = o->noise,
      .word_dropout = o->word_dropout,
      .encoder_word_dropout = o->encoder_word_dropout,
      .optimizer = {.beta1 = 0.9,
                    .beta2 = 0.999,
                    .eps = 1e-8,
                    .weight_decay = o->weight_decay,
                    .clip_norm = o->clip_norm,
                    .learning_rate = learning_rate,
                    .context = r},
  };
}

static void average(double *mean, double value) {
  *mean = *mean == 0 ? value : 0.98 * *mean + 0.02 * value;
}

static cq_status note_step(run *r, const stage *s, uint64_t step, const cq_autoencoder_batch *batch,
                           const cq_autoencoder_report *report, cq_error *error) {
  const double distillation = report->distillation[0] + report->distillation[1]; /* of both languages */
  const cq_autoencode_options *o = r->o;
  json_t *nll = json_object();
  average(&r->state.loss, (s->decoders ? o->reconstruction * (report->nll[0] + report->nll[1]) : 0) +
                              o->contrast * report->contrast + o->distance * report->distance +
                              o->distillation * distillation + o->adversary * report->discriminator.adversary);
  int failed = 0;
  for (int i = 0; i < 2 && batch->side[i] >= 0; i++) {
    if (!(report->nll[i] > 0)) continue;
    average(&r->nll[batch->side[i]], report->nll[i]);
    failed |= json_object_set_new(nll, r->codes[batch->side[i]], json_real(report->nll[i]));
  }
  json_t *record = json_pack("{s:s, s:s, s:I, s:o, s:f}", "type", "step", "stage", s->name, "step", (json_int_t)step,
                             "nll", nll, "gradient_norm", report->gradient_norm);
  if (batch->side[1] >= 0 && s->encoders) {
    average(&r->news.contrast, report->contrast);
    average(&r->news.distance, report->distance);
    failed |= json_object_set_new(record, "contrast", json_real(report->contrast));
    failed |= json_object_set_new(record, "distance", json_real(report->distance));
    if (o->adversary > 0)
      failed |= json_object_set_new(record, "discriminator", json_real(report->discriminator.accuracy));
  }
  if (batch->targets) failed |= json_object_set_new(record, "distillation", json_real(distillation / 2));
  if (!failed) return cq_run_log_write(&r->log, record, error);
  json_decref(record);
  return cq_fail_memory(error, "log");
}

static cq_status one_step(run *r, cq_autoencoder_trainer *t, const stage *s, uint64_t step, cq_error *error) {
  cq_autoencoder_batch batch;
  cq_autoencoder_report report;
  cq_autoencode_data_draw(&batch, &r->data, r->o->seed, r->state.n_steps, (size_t)r->o->batch_pairs);
  if (s->encoders) cq_autoencode_teacher_set(&batch, &r->teacher);
  cq_error why = {0};
  const cq_status status = cq_autoencoder_step(t, &batch, &report, &why);
  if (status == CQ_ERR_LIMIT)
    return cq_fail(error, status, "%s, step %llu: %s; %s holds the last checkpoint", s->name, (unsigned long long)step,
                   why.message, r->work.path);
  if (status && error) *error = why;
  if (status) return status;
  r->state.n_steps++;
  return note_step(r, s, step, &batch, &report, error);
}

/* --- checkpoints --- */

/* Calls `with` on every parameter of the model, under a name of its own. */
typedef cq_status (*with_param)(void *context, const char *name, cq_param *p, cq_error *error);

static cq_status for_all_params(const run *r, with_param with, void *context, cq_error *error) {
  cq_status status = CQ_OK;
  for (size_t t = 0; t < r->model.n; t++) {
    size_t n[2];
    cq_param *of_decoder = cq_decoder_params(&n[1], r->model.tongues[t].decoder);
    const cq_params *of_encoder = &r->model.tongues[t].encoder->params;
    n[0] = of_encoder->n;
    for (int d = 0; d < 2; d++)
      for (size_t i = 0; !status && i < n[d]; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s.%zu.%zu", d ? "decoder" : "encoder", t, i);
        status = with(context, name, d ? &of_decoder[i] : of_encoder->items[i], error);
      }
  }
  return status;
}

static cq_status write_param(void *context, const char *name, cq_param *p, cq_error *error) {
  return cq_checkpoint_writer_section(context, name, p->value, (size_t)cq_param_floats(p) * sizeof(float), error);
}

static cq_status read_param(void *context, const char *name, cq_param *p, cq_error *error) {
  return cq_checkpoint_read(p->value, (size_t)cq_param_floats(p) * sizeof(float), context, name, error);
}

static cq_status include_param(void *context, const char *name, cq_param *p, cq_error *error) {
  cq_identity *sum = context;
  (void)name, (void)error;
  *sum = cq_hash128_add(*sum, p->value, (size_t)cq_param_floats(p) * sizeof(float));
  return CQ_OK;
}

static cq_status identify_options(cq_identity *out, const run *r, cq_error *error) {
  cq_builder b = {0};
  cq_identity sum = cq_autoencode_data_identity(&r->data);
  char hex[CQ_IDENTITY_HEX];
  cq_status status = for_all_params(r, include_param, &sum, error); /* of what is joined */
  cq_autoencode_describe(&b, r->o);
  cq_identity_hex(hex, sum);
  cq_builder_printf(&b, "%s %s", hex, cq_simd_level()); /* another level gives other bits */
  if (!status && b.failed) status = cq_fail_memory(error, "options");
  if (!status) *out = cq_hash128(b.data, b.n);
  cq_builder_free(&b);
  return status;
}

/* How many batches of each group there were. */
static cq_status write_drawn(cq_checkpoint_writer *w, const run *r, cq_error *error) {
  const cq_text_groups *groups = &r->data.train;
  uint64_t *drawn = cq_alloc_array(groups->n, sizeof *drawn);
  if (!drawn) return cq_fail_memory(error, "a checkpoint");
  for (size_t i = 0; i < groups->n; i++) drawn[i] = groups->items[i].n_drawn;
  const cq_status status = cq_checkpoint_writer_section(w, "drawn", drawn, groups->n * sizeof *drawn, error);
  cq_free(drawn);
  return status;
}

static cq_status read_drawn(run *r, cq_error *error) {
  cq_text_groups *groups = &r->data.train;
  uint64_t *drawn = cq_alloc_array(groups->n, sizeof *drawn);
  if (!drawn) return cq_fail_memory(error, "a checkpoint");
  const cq_status status = cq_checkpoint_read(drawn, groups->n * sizeof *drawn, r->resumed, "drawn", error);
  for (size_t i = 0; !status && i < groups->n; i++) groups->items[i].n_drawn = drawn[i];
  cq_free(drawn);
  return status;
}

static cq_status save_checkpoint(run *r, const stage *s, uint64_t step, cq_autoencoder_trainer *t, cq_error *error) {
  cq_checkpoint_writer *w;
  r->state.stage = (uint64_t)s->number, r->state.step = step;
  cq_status status = cq_run_log_length(&r->state.log_bytes, &r->log, error);
  if (!status) status = cq_checkpoint_writer_open(&w, r->work.checkpoint, error);
  if (status) return status;
  status = cq_checkpoint_writer_section(w, "autoencode", &r->state, sizeof r->state, error);
  if (!status) status = write_drawn(w, r, error);
  if (!status) status = for_all_params(r, write_param, w, error);
  if (!status) status = cq_autoencoder_trainer_save(t, w, error);
  if (!status) return cq_checkpoint_writer_commit(w, error);
  cq_checkpoint_writer_abort(w);
  return status;
}

static cq_status start_or_resume(run *r, cq_error *error) {
  progress_state found;
  r->state = (progress_state){0};
  for (int m = 0; m < CQ_AUTOENCODE_N_MEASURES; m++) r->state.dev[m] = NAN;
  cq_status status = cq_work_directory_begin(&r->work, error);
  if (!status) status = identify_options(&r->state.options, r, error);
  if (!status) status = make_model(r, error);
  if (!status) r->state.options = cq_autoencoder_vocabularies(r->state.options, &r->model);
  if (!status && r->work.under_way) status = cq_checkpoint_open(&r->resumed, r->work.checkpoint, error);
  if (!status && r->resumed) status = cq_checkpoint_read(&found, sizeof found, r->resumed, "autoencode", error);
  if (!status && r->resumed && (!cq_identity_equal(found.options, r->state.options) || found.stage >= N_STAGES))
    status =
        cq_fail_file(error, CQ_ERR_ARGUMENT, r->work.path, "the run under way has other data, options or SIMD level");
  if (!status && r->resumed) status = read_drawn(r, error);
  if (!status && r->resumed) status = for_all_params(r, read_param, r->resumed, error);
  if (!status && r->resumed) r->state = found;
  for (size_t i = 0; !status && r->resumed && i < r->model.n; i++)
    status = cq_encoder_pack(r->model.tongues[i].encoder, r->ctx, false, error);
  if (!status) status = cq_run_log_open(&r->log, r->work.log, r->state.log_bytes, error);
  if (status || r->state.log_bytes > 0) return status;
  json_t *codes = json_array();
  bool failed = !codes;
  for (size_t i = 0; !failed && i < r->n_codes; i++) failed = json_array_append_new(codes, json_string(r->codes[i]));
  if (failed) json_decref(codes);
  if (failed) return cq_fail_memory(error, "log");
  return cq_run_log_write(&r->log, json_pack("{s:s, s:o}", "type", "run", "languages", codes), error);
}

/* --- the loop --- */

static bool waits_too_long(const run *r) {
  return r->o->patience > 0 && r->state.n_waited >= (uint64_t)r->o->patience;
}

static cq_status train_on(run *r, const stage *s, cq_autoencoder_trainer *t, uint64_t n_epoch, cq_error *error) {
  const uint64_t n_steps = r->plan.n_steps, first = cq_autoencoder_updates(t);
  const double started = cq_seconds(CLOCK_MONOTONIC);
  cq_status status = CQ_OK;
  for (uint64_t step = first + 1; !status && step <= n_steps && !waits_too_long(r); step++) {
    const bool ends_epoch = step % n_epoch == 0 || step == n_steps;
    status = one_step(r, t, s, step, error);
    if (status) break;
    const double per_step = (cq_seconds(CLOCK_MONOTONIC) - started) / (double)(step - first);
    r->news.seconds_left = per_step * (double)(n_steps - step);
    const bool stop = !tell(r, s->name, step, n_steps, NULL);
    if (s->decoders && ends_epoch && r->o->n_dev) {
      status = cq_autoencoder_settle(t, error);
      if (!status) status = keep_best(r, s->name, (double)step / (double)n_epoch, error);
    }
    if (!status && (stop || step == n_steps || waits_too_long(r) || cq_is_due(step, r->o->checkpoint_every)))
      status = save_checkpoint(r, s, step, t, error);
    if (!status && stop)
      status = cq_fail(error, CQ_ERR_STOPPED, "stopped at step %llu of %llu (%s); resume to go on",
                       (unsigned long long)step, (unsigned long long)n_steps, s->name);
  }
  return status ? status : cq_autoencoder_settle(t, error);
}

/* What a stage learns from, and what it trains. */
static cq_status set_up(cq_autoencoder_side *sides, run *r, const stage *s, cq_error *error) {
  for (size_t i = 0; i < r->n_codes; i++)
    sides[i] = (cq_autoencoder_side){.encoder = r->model.tongues[i].encoder,
                                     .decoder = s->decoders ? r->model.tongues[i].decoder : NULL,
                                     .encoder_frozen = !s->encoders || i < r->n_joined,
                                     .decoder_frozen = i < r->n_joined};
  bool any = false;
  for (cq_text_group *g = r->data.train.items; g < r->data.train.items + r->data.train.n; g++) {
    const bool alone = g->language[1] < 0;
    const bool is_new = g->language[0] >= (int)r->n_joined || g->language[1] >= (int)r->n_joined;
    g->in_use = is_new && (s->decoders || !alone);
    any |= g->in_use;
  }
  return any ? CQ_OK : cq_fail(error, CQ_ERR_ARGUMENT, "there are no translations to train encoders alone on");
}

static cq_status run_stage(run *r, const stage *s, cq_error *error) {
  cq_autoencoder_side sides[MOST_LANGUAGES];
  cq_status status = set_up(sides, r, s, error);
  if (status) return status;
  const uint64_t batch = (uint64_t)r->o->batch_pairs,
                 n_epoch = (cq_autoencode_data_pairs(&r->data) + batch - 1) / batch;
  const uint64_t n_steps = (uint64_t)ceil(s->epochs * (double)n_epoch);
  r->plan = (cq_schedule_plan){r->o->schedule, n_steps, (uint64_t)(r->o->warmup * (double)n_steps)};
  r->news = (cq_autoencode_progress){0};
  memset(r->nll, 0, sizeof r->nll);
  if (!r->resumed) r->state.n_waited = 0, r->state.loss = 0;
  const cq_autoencoder_options options = trainer_options(r, s);
  cq_autoencoder_trainer *t;
  status = cq_autoencoder_trainer_new(&t, &r->params[s->number], sides, (int)r->n_codes, r->ctx, &options, error);
  if (!status && r->resumed) {
    status = cq_autoencoder_trainer_restore(t, r->resumed, error);
    cq_checkpoint_close(r->resumed);
    r->resumed = NULL;
  }
  if (!status) status = train_on(r, s, t, n_epoch, error);
  cq_autoencoder_trainer_free(t);
  return status;
}

static cq_status train(run *r, cq_error *error) {
  const stage stages[N_STAGES] = {{0, "together", r->o->together_epochs, true, true},
                                  {1, "encoders", r->o->encoder_epochs, true, false},
                                  {2, "decoders", r->o->decoder_epochs, false, true}};
  cq_status status = CQ_OK;
  for (int i = (int)r->state.stage; !status && i < N_STAGES; i++)
    if (stages[i].epochs > 0) status = run_stage(r, &stages[i], error);
  return status;
}

/* --- the whole --- */

static cq_status finish(run *r, cq_error *error) {
  cq_autoencoder *best = NULL;
  cq_status status = !isnan(r->state.dev[0]) ? cq_autoencoder_open(&best, r->work.best, error) : CQ_OK;
  if (!status)
    status = cq_autoencoder_save(best ? best : &r->model, r->o->output, r->o->replace || r->work.under_way, error);
  cq_autoencoder_free(best);
  return status;
}

static void release(run *r) {
  const cq_status ignored = cq_run_log_close(&r->log, NULL); /* already told, or closed */
  (void)ignored;
  cq_checkpoint_close(r->resumed);
  cq_work_directory_close(&r->work);
  cq_autoencoder_release(&r->model); /* before the values that its parameters point to */
  for (int i = 0; i < N_STAGES; i++) cq_params_free(&r->params[i]);
  cq_autoencode_teacher_close(&r->teacher);
  cq_autoencode_data_free(&r->data);
  cq_free(r);
}

cq_status cq_autoencode(cq_autoencode_result *result, const cq_autoencode_options *options, cq_context *ctx,
                        cq_error *error) {
  cq_autoencode_options taken;
  const cq_autoencode_options *o = &taken;
  cq_status status = cq_options_take(&taken, &cq_group_autoencode, options, error);
  if (status) return status;
  run *r = cq_alloc_zeroed(sizeof *r);
  if (!r) return cq_fail_memory(error, "autoencoders");
  r->o = o, r->ctx = ctx;
  status = cq_work_directory_open(&r->work, o->output, NULL, o->resume, o->replace, error);
  if (!status) status = name_languages(r, error);
  if (!status) status = cq_autoencode_data_load(&r->data, o, r->codes, r->n_codes, told, r, error);
  if (!status) status = start_or_resume(r, error);
  if (!status && o->teacher)
    status = cq_autoencode_teacher_open(&r->teacher, o, &r->data, r->codes, r->n_codes,
                                        cq_encoder_dim(r->model.tongues[0].encoder), ctx, error);
  if (!status) status = train(r, error);
  if (!status) status = finish(r, error);
  if (!status) status = cq_run_log_close(&r->log, error);
  if (!status) status = cq_work_directory_finish(&r->work, o->output, true, error);
  if (!status && result) {
    *result = (cq_autoencode_result){
        .n_pairs = cq_autoencode_data_pairs(&r->data), .n_steps = r->state.n_steps, .loss = r->state.loss};
    memcpy(result->dev, r->state.dev, sizeof result->dev);
  }
  release(r);
  return status;
}
