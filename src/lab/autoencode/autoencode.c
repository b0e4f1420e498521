/* Training autoencoders.
 *
 *   text ──▶ a vocabulary per new language ──▶ new encoders and decoders; others come from the joined model
 *        ──▶ together ──▶ encoders alone ──▶ decoders alone, on frozen encoders        each stage is optional
 *   after each epoch of decoders: dev is translated in both directions, and the best model is kept
 *
 * Training is a run as in recipe/run/training_run.h. A checkpoint has the state of the stage's trainer and all
 * parameters of the languages that are not joined. */
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "format/json.h"
#include "lab/autoencode/autoencode_options.h"
#include "lab/autoencode/autoencoder.h"
#include "lab/autoencode/fresh_autoencoder.h"
#include "lab/autoencode/groups.h"
#include "lab/autoencode/teacher.h"
#include "lab/autoencode/translate_dev.h"
#include "recipe/run/training_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_STAGES = 3, MAX_LANGUAGES = 64 };

static const struct {
  const char *name;
  bool encoders, decoders; /* what is trained */
} stages[N_STAGES] = {{"together", true, true}, {"encoders", true, false}, {"decoders", false, true}};

typedef struct run {
  const cq_autoencode_options *o;
  cq_context *ctx;
  const char *codes[MAX_LANGUAGES]; /* codes of the joined model's languages, in its order, then of the new ones */
  size_t n_codes, n_joined;
  cq_autoencode_data data;
  cq_autoencode_teacher teacher;
  cq_autoencoder model;
  cq_params params[N_STAGES]; /* own the model's values; each has the parameters trained in its stage */
  cq_run course;
  int stage;        /* the current one */
  uint64_t n_epoch; /* steps of it */
  cq_autoencoder_trainer *trainer;
  double dev[CQ_AUTOENCODE_N_MEASURES]; /* of the best model; NaN: there is none yet */
  cq_autoencode_progress news;
  double nll[MAX_LANGUAGES];
} run;

/* --- news --- */

static bool tell_progress(void *context, const char *phase, uint64_t step, uint64_t n, const char *text) {
  run *r = context;
  const cq_run *c = &r->course;
  if (step > c->first_step && !text)
    r->news.seconds_left =
        (cq_seconds(CLOCK_MONOTONIC) - c->started) / (double)(step - c->first_step) * (double)(n - step);
  r->news.phase = phase, r->news.step = step, r->news.n_steps = n, r->news.text = text;
  r->news.languages = r->codes, r->news.n_languages = r->n_codes, r->news.nll = r->nll;
  return !r->o->progress || r->o->progress(r->o->progress_context, &r->news);
}

/* --- languages and their text --- */

static cq_status add_code(run *r, const char *code, cq_error *error) {
  if (cq_name_index(r->codes, r->n_codes, code) >= 0) return CQ_OK;
  if (r->n_codes == MAX_LANGUAGES) return cq_fail(error, CQ_ERR_ARGUMENT, "more than %d languages", MAX_LANGUAGES);
  r->codes[r->n_codes++] = code;
  return CQ_OK;
}

/* Text in joined languages only is refused: there is nothing to learn from it. */
static cq_status has_new_language(const run *r, const cq_autoencode_text *text, cq_error *error) {
  for (int s = 0; s < 2; s++)
    for (size_t i = r->n_joined; text->languages[s] && i < r->n_codes; i++)
      if (!strcmp(text->languages[s], r->codes[i])) return CQ_OK;
  return cq_fail_file(error, CQ_ERR_ARGUMENT, text->path, "has languages that are in the joined model already");
}

/* Opens the joined model first, so that its languages get the first numbers. */
static cq_status list_languages(run *r, cq_error *error) {
  const cq_autoencode_options *o = r->o;
  cq_autoencoder *joined = NULL;
  cq_status status = o->joined ? cq_autoencoder_open(&joined, o->joined, error) : CQ_OK;
  if (status) return status;
  if (joined) cq_autoencoder_take(&r->model, joined);
  for (size_t i = 0; !status && i < r->model.n; i++) status = add_code(r, r->model.languages[i].code, error);
  r->n_joined = r->n_codes;
  for (size_t i = 0; i < o->n_train; i++)
    for (int s = 0; s < 2; s++)
      if (!status && o->train[i].languages[s]) status = add_code(r, o->train[i].languages[s], error);
  const size_t n_known = r->n_codes;
  for (size_t i = 0; i < o->n_dev; i++)
    for (int s = 0; s < 2; s++)
      if (!status) status = add_code(r, o->dev[i].languages[s], error);
  if (!status && r->n_codes > n_known)
    status = cq_fail(error, CQ_ERR_ARGUMENT, "dev has '%s', for which there is no text to train on", r->codes[n_known]);
  if (!status && o->adversary > 0 && r->n_codes != 2)
    status = cq_fail(error, CQ_ERR_ARGUMENT, "a discriminator is for two languages, there are %zu", r->n_codes);
  if (!status && o->shared_latent && r->n_joined > 0)
    status = cq_fail(error, CQ_ERR_ARGUMENT, "shared-latent excludes join, whose layers do not change");
  if (!status && r->n_codes == r->n_joined)
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, o->joined, "there is no new language in the text");
  for (size_t i = 0; !status && i < o->n_train + o->n_dev; i++)
    status = has_new_language(r, i < o->n_train ? &o->train[i] : &o->dev[i - o->n_train], error);
  return status;
}

static cq_status tell_read(void *context, size_t file, const char *summary, cq_error *error) {
  run *r = context;
  return tell_progress(r, "data", file, r->o->n_train + r->o->n_dev, summary)
             ? CQ_OK
             : cq_fail(error, CQ_ERR_STOPPED, "stopped while reading");
}

static void tell_vocabulary(run *r, const cq_language *l) {
  const int64_t n = cq_tokenizer_describe(cq_encoder_text_module(l->encoder)->tokenizer)->vocab_size;
  char text[128];
  if (n >= r->o->vocab_size) return;
  snprintf(text, sizeof text, "%.40s: the text makes a vocabulary of %lld, not %d", l->code, (long long)n,
           r->o->vocab_size);
  tell_progress(r, "data", 0, 0, text);
}

static cq_status make_model(run *r, cq_error *error) {
  const int latent_dim = r->n_joined ? cq_encoder_dim(r->model.languages[0].encoder) : r->o->latent_dim;
  cq_status status = cq_autoencoder_reserve(&r->model, r->n_codes, error);
  while (!status && r->model.n < r->n_codes) {
    const size_t i = r->model.n++;
    status = cq_language_new(&r->model.languages[i], r->codes[i], &r->data, (int)i, latent_dim, r->course.work.best,
                             r->o, r->ctx, error);
    if (!status) tell_vocabulary(r, &r->model.languages[i]);
  }
  return status ? status : cq_autoencoder_check(&r->model, error);
}

/* --- dev --- */

/* Prints and logs the measures of every direction; mean: over all directions. */
static cq_status measure_dev(double mean[CQ_AUTOENCODE_N_MEASURES], run *r, const char *phase, double epoch,
                             cq_error *error) {
  cq_builder line = {0};
  json_t *directions = json_object();
  const double n_directions = 2 * (double)r->data.dev.n;
  cq_status status = directions ? CQ_OK : cq_fail_memory(error, "dev");
  memset(mean, 0, CQ_AUTOENCODE_N_MEASURES * sizeof *mean);
  cq_builder_printf(&line, "epoch %g: BLEU", epoch);
  for (size_t i = 0; i < r->data.dev.n; i++)
    for (int back = 0; !status && back < 2; back++) {
      const cq_text_group *g = &r->data.dev.items[i];
      double of_direction[CQ_AUTOENCODE_N_MEASURES];
      char direction[128];
      snprintf(direction, sizeof direction, "%s-%s", r->codes[g->language[back]], r->codes[g->language[1 - back]]);
      status =
          cq_autoencode_measure_direction(of_direction, &r->model, r->codes, g, back, r->o->max_tokens, r->ctx, error);
      if (status) break;
      json_t *scores = json_object();
      int failed = json_object_set_new(directions, direction, scores);
      for (int m = 0; m < CQ_AUTOENCODE_N_MEASURES; m++) {
        mean[m] += of_direction[m] / n_directions;
        if (!failed) failed = json_object_set_new(scores, cq_autoencode_measures[m], json_real(of_direction[m]));
      }
      if (failed) status = cq_fail_memory(error, "dev");
      cq_builder_printf(&line, "%s %s %.2f", i + (size_t)back ? "," : "", direction, of_direction[CQ_AUTOENCODE_BLEU]);
    }
  cq_builder_printf(&line, "; mean %.2f, chrF %.2f, METEOR %.2f", mean[CQ_AUTOENCODE_BLEU], mean[CQ_AUTOENCODE_CHRF],
                    mean[CQ_AUTOENCODE_METEOR]);
  if (!status && line.failed) status = cq_fail_memory(error, "dev");
  if (!status) tell_progress(r, phase, r->news.step, r->news.n_steps, line.data);
  cq_builder_free(&line);
  if (!status)
    return cq_run_log_write(
        &r->course.log,
        json_pack("{s:s, s:s, s:f, s:o}", "type", "dev", "stage", phase, "epoch", epoch, "ways", directions), error);
  json_decref(directions);
  return status;
}

/* Ties are decided by chrF, which distinguishes even systems with BLEU 0. kept NaN: none yet. */
static bool is_better(const double *dev, const double *kept, cq_autoencode_measure by) {
  if (isnan(kept[by])) return true;
  return dev[by] != kept[by] ? dev[by] > kept[by] : dev[CQ_AUTOENCODE_CHRF] > kept[CQ_AUTOENCODE_CHRF];
}

static cq_status evaluate_dev(bool *better, void *context, cq_error *error) {
  run *r = context;
  double dev[CQ_AUTOENCODE_N_MEASURES];
  cq_status status = cq_autoencoder_settle(r->trainer, error);
  if (!status)
    status = measure_dev(dev, r, stages[r->stage].name, (double)r->course.state.step / (double)r->n_epoch, error);
  *better = !status && is_better(dev, r->dev, r->o->best_by);
  if (*better) memcpy(r->dev, dev, sizeof dev);
  return status;
}

static cq_status keep_model(void *context, const char *directory, cq_error *error) {
  const run *r = context;
  return cq_autoencoder_save(&r->model, directory, true, error);
}

/* --- updates --- */

static cq_autoencoder_options trainer_options(const run *r) {
  const cq_autoencode_options *o = r->o;
  const bool encoders = stages[r->stage].encoders, decoders = stages[r->stage].decoders;
  return (cq_autoencoder_options){
      .n_shards = o->n_shards,
      .exchange = cq_run_exchange(&r->course),
      .seed = o->seed,
      .feed = (cq_feed)o->feed,
      .reconstruction = decoders ? o->reconstruction : 0,
      .contrast = encoders ? o->contrast : 0,
      .distance = encoders ? o->distance : 0,
      .distillation = encoders && o->teacher ? o->distillation : 0,
      .adversary = encoders ? o->adversary : 0,
      .adversary_by = CQ_ADVERSARY_SWAPPED,
      .discriminator_hidden = o->discriminator_hidden,
      .discriminator_rate = 1,
      .label_smoothing = 0.1,
      .two_optimizers = o->two_optimizers,
      .contrast_rate = o->contrast_rate,
      .shared_latent = encoders && o->shared_latent,
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
                    .learning_rate = cq_run_learning_rate,
                    .context = &r->course},
  };
}

/* The objective. */
static double loss_of(const run *r, const cq_autoencoder_report *report) {
  const cq_autoencode_options *o = r->o;
  const double distillation = report->distillation[0] + report->distillation[1]; /* of both languages */
  return (stages[r->stage].decoders ? o->reconstruction * (report->nll[0] + report->nll[1]) : 0) +
         o->contrast * report->contrast + o->distance * report->distance + o->distillation * distillation +
         o->adversary * report->discriminator.adversary;
}

static cq_status note_update(run *r, const cq_autoencoder_batch *batch, const cq_autoencoder_report *report,
                             cq_error *error) {
  json_t *nll = json_object();
  for (int i = 0; i < 2 && batch->side[i] >= 0; i++) {
    if (!(report->nll[i] > 0)) continue;
    cq_run_average(&r->nll[batch->side[i]], report->nll[i]);
    cq_json_set(&nll, r->codes[batch->side[i]], json_real(report->nll[i]));
  }
  json_t *record = json_pack("{s:s, s:s, s:I, s:o, s:f}", "type", "step", "stage", stages[r->stage].name, "step",
                             (json_int_t)r->course.state.step + 1, "nll", nll, "gradient_norm", report->gradient_norm);
  if (batch->side[1] >= 0 && stages[r->stage].encoders) {
    cq_run_average(&r->news.contrast, report->contrast);
    cq_run_average(&r->news.distance, report->distance);
    cq_json_set(&record, "contrast", json_real(report->contrast));
    cq_json_set(&record, "distance", json_real(report->distance));
    if (r->o->adversary > 0) cq_json_set(&record, "discriminator", json_real(report->discriminator.accuracy));
  }
  if (batch->targets)
    cq_json_set(&record, "distillation", json_real((report->distillation[0] + report->distillation[1]) / 2));
  return cq_run_log_write(&r->course.log, record, error);
}

static cq_status autoencode_update(double *loss, void *context, cq_error *error) {
  run *r = context;
  cq_autoencoder_batch batch;
  cq_autoencoder_report report;
  cq_autoencode_data_draw(&batch, &r->data, r->o->seed, r->course.state.n_steps, (size_t)r->o->batch_pairs);
  if (stages[r->stage].encoders) cq_autoencode_teacher_set(&batch, &r->teacher);
  cq_status status = cq_autoencoder_step(r->trainer, &batch, &report, error);
  if (status) return status;
  *loss = loss_of(r, &report);
  return note_update(r, &batch, &report, error);
}

/* --- checkpoints --- */

/* For every parameter of some languages: adds it to the sum; if sum is NULL, saves it to w; if w is NULL, restores it
 * from c. */
static cq_status pass_params(const run *r, size_t first, size_t end, cq_identity *sum, cq_checkpoint_writer *w,
                             const cq_checkpoint *c, cq_error *error) {
  cq_status status = CQ_OK;
  for (size_t t = first; t < end; t++) {
    size_t n[2];
    cq_param *of_decoder = cq_decoder_params(&n[1], r->model.languages[t].decoder);
    const cq_params *of_encoder = &r->model.languages[t].encoder->params;
    n[0] = of_encoder->n;
    for (int d = 0; d < 2; d++)
      for (size_t i = 0; !status && i < n[d]; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s.%zu.%zu", d ? "decoder" : "encoder", t, i);
        cq_param *p = d ? &of_decoder[i] : of_encoder->items[i];
        const size_t n_bytes = (size_t)cq_param_floats(p) * sizeof(float);
        if (sum)
          *sum = cq_hash128_add(*sum, p->value, n_bytes);
        else
          status = cq_checkpoint_pass(w, c, name, p->value, n_bytes, error);
      }
  }
  return status;
}

/* Saves or restores everything except the stage's trainer, which continues from these values. */
static cq_status pass_state(run *r, cq_checkpoint_writer *w, const cq_checkpoint *c, cq_error *error) {
  const size_t n_drawn = r->data.train.n * sizeof *r->data.drawn;
  cq_status status = cq_checkpoint_pass(w, c, "dev", r->dev, sizeof r->dev, error);
  if (!status) status = cq_checkpoint_pass(w, c, "drawn", r->data.drawn, n_drawn, error);
  return status ? status : pass_params(r, r->n_joined, r->n_codes, NULL, w, c, error);
}

static cq_status save_state(void *context, cq_checkpoint_writer *w, cq_error *error) {
  run *r = context;
  cq_status status = pass_state(r, w, NULL, error);
  return status ? status : cq_autoencoder_trainer_save(r->trainer, w, error);
}

static cq_status restore_state(run *r, const cq_checkpoint *from, cq_error *error) {
  cq_status status = pass_state(r, NULL, from, error);
  for (size_t i = r->n_joined; !status && i < r->n_codes; i++)
    status = cq_encoder_pack(r->model.languages[i].encoder, r->ctx, false, error);
  return status;
}

static void identify_text(cq_run_identity *id, const run *r, const cq_text_groups *groups) {
  for (size_t i = 0; i < groups->n; i++)
    for (size_t k = 0; k < groups->items[i].text.n_sets; k++) {
      const cq_text_group *g = &groups->items[i];
      const cq_parallel_set *set = &g->text.sets[k];
      char name[512];
      snprintf(name, sizeof name, "%s,%s", r->codes[g->language[0]],
               g->language[1] < 0 ? "" : r->codes[g->language[1]]);
      cq_run_identity_text(id, groups == &r->data.dev ? "dev" : "train", name);
      cq_run_identity_file(id, set->path, cq_parallel_identity(&g->text, set));
    }
}

/* Adds everything that must not change in a resumed run. */
static cq_status identify_run(cq_run_identity *id, const run *r, cq_error *error) {
  cq_identity joined = {0};
  char teacher[CQ_IDENTITY_HEX];
  cq_run_identity_begin(id, "autoencode train", &cq_group_autoencode, r->o);
  identify_text(id, r, &r->data.train);
  identify_text(id, r, &r->data.dev);
  cq_run_identity_contents(id, "vocabulary", cq_autoencoder_vocabularies((cq_identity){0}, &r->model));
  cq_status status = pass_params(r, 0, r->n_joined, &joined, NULL, NULL, error);
  cq_run_identity_contents(id, "model joined", joined);
  if (status || !r->o->teacher) return status;
  status = cq_encoder_fingerprint(teacher, r->teacher.encoder.encoder, error);
  if (!status) cq_run_identity_fingerprint(id, "teacher", teacher);
  if (!status) cq_run_identity_precision(id, "teacher's precision", r->teacher.encoder.encoder);
  return status;
}

static cq_status log_languages(run *r, cq_error *error) {
  json_t *codes = json_array();
  bool failed = !codes;
  for (size_t i = 0; !failed && i < r->n_codes; i++) failed = json_array_append_new(codes, json_string(r->codes[i]));
  if (failed) json_decref(codes);
  if (failed) return cq_fail_memory(error, "log");
  return cq_run_log_write(&r->course.log, json_pack("{s:s, s:o}", "type", "run", "languages", codes), error);
}

/* --- stages --- */

/* The data of a stage, and the parameters it trains. */
static cq_status set_up_sides(cq_autoencoder_side *sides, run *r, cq_error *error) {
  const bool encoders = stages[r->stage].encoders, decoders = stages[r->stage].decoders;
  for (size_t i = 0; i < r->n_codes; i++)
    sides[i] = (cq_autoencoder_side){.encoder = r->model.languages[i].encoder,
                                     .decoder = decoders ? r->model.languages[i].decoder : NULL,
                                     .encoder_frozen = !encoders || i < r->n_joined,
                                     .decoder_frozen = i < r->n_joined};
  bool any = false;
  for (cq_text_group *g = r->data.train.items; g < r->data.train.items + r->data.train.n; g++) {
    const bool alone = g->language[1] < 0;
    const bool is_new = g->language[0] >= (int)r->n_joined || g->language[1] >= (int)r->n_joined;
    g->in_use = is_new && (decoders || !alone);
    any |= g->in_use;
  }
  return any ? CQ_OK : cq_fail(error, CQ_ERR_ARGUMENT, "there are no translations to train encoders alone on");
}

static cq_status make_trainer(run *r, const cq_checkpoint *from, cq_error *error) {
  cq_autoencoder_side sides[MAX_LANGUAGES];
  cq_status status = set_up_sides(sides, r, error);
  if (status) return status;
  const cq_autoencoder_options options = trainer_options(r);
  status =
      cq_autoencoder_trainer_new(&r->trainer, &r->params[r->stage], sides, (int)r->n_codes, r->ctx, &options, error);
  return status || !from ? status : cq_autoencoder_trainer_restore(r->trainer, from, error);
}

static cq_status begin_autoencode_stage(cq_run_stage *out, void *context, int number, const cq_checkpoint *from,
                                        cq_error *error) {
  run *r = context;
  const cq_autoencode_options *o = r->o;
  const double epochs[N_STAGES] = {o->together_epochs, o->encoder_epochs, o->decoder_epochs};
  const uint64_t batch = (uint64_t)o->batch_pairs;
  cq_status status = CQ_OK;
  if (epochs[number] == 0) return CQ_OK;
  r->stage = number;
  r->news = (cq_autoencode_progress){0};
  memset(r->nll, 0, sizeof r->nll);
  if (from)
    status = restore_state(r, from, error);
  else if (r->course.state.log_bytes == 0)
    status = log_languages(r, error);
  if (!status && o->teacher && !r->teacher.is_ready)
    status = cq_autoencode_teacher_prepare(&r->teacher, &r->data, r->ctx, error);
  if (!status) status = make_trainer(r, from, error);
  r->n_epoch = (cq_autoencode_data_pairs(&r->data) + batch - 1) / batch;
  const uint64_t n_steps = (uint64_t)ceil(epochs[number] * (double)r->n_epoch);
  *out = (cq_run_stage){.name = stages[number].name,
                        .n_steps = n_steps,
                        .n_warmup = (uint64_t)(o->warmup * (double)n_steps),
                        .evaluates = stages[number].decoders && o->n_dev > 0,
                        .evaluate_every = r->n_epoch,
                        .params = &r->params[number]};
  return status;
}

static cq_status end_autoencode_stage(void *context, cq_error *error) {
  run *r = context;
  cq_status status = cq_autoencoder_settle(r->trainer, error);
  cq_autoencoder_trainer_free(r->trainer);
  r->trainer = NULL;
  return status;
}

/* --- the whole --- */

static cq_status finish_model(void *context, const char *directory, cq_error *error) {
  const run *r = context;
  cq_autoencoder *best = NULL;
  cq_status status = directory ? cq_autoencoder_open(&best, directory, error) : CQ_OK;
  if (!status)
    status =
        cq_autoencoder_save(best ? best : &r->model, r->o->output, r->o->replace || r->course.work.under_way, error);
  cq_autoencoder_free(best);
  return status;
}

static void release_run(run *r) {
  cq_run_close(&r->course);
  cq_autoencoder_trainer_free(r->trainer);
  cq_autoencoder_release(&r->model); /* before the values that its parameters point to */
  for (int i = 0; i < N_STAGES; i++) cq_params_free(&r->params[i]);
  cq_autoencode_teacher_close(&r->teacher);
  cq_autoencode_data_free(&r->data);
  cq_free(r);
}

static cq_status open_run(run *r, cq_error *error) {
  const cq_autoencode_options *o = r->o;
  const cq_run_options options = {.output = o->output,
                                  .resume = o->resume,
                                  .replace = o->replace,
                                  .checkpoint_every = o->checkpoint_every,
                                  .patience = o->patience,
                                  .schedule = o->schedule,
                                  .learning_rate = o->learning_rate,
                                  .ranks = o->ranks};
  const cq_run_task task = {.n_stages = N_STAGES,
                            .begin = begin_autoencode_stage,
                            .update = autoencode_update,
                            .evaluate = evaluate_dev,
                            .keep = keep_model,
                            .end = end_autoencode_stage,
                            .finish = finish_model,
                            .save = save_state,
                            .tell = tell_progress,
                            .context = r};
  for (int m = 0; m < CQ_AUTOENCODE_N_MEASURES; m++) r->dev[m] = NAN;
  return cq_run_open(&r->course, &options, &task, error);
}

cq_status cq_autoencode(cq_autoencode_result *result, const cq_autoencode_options *options, cq_context *ctx,
                        cq_error *error) {
  cq_autoencode_options taken;
  const cq_autoencode_options *o = &taken;
  cq_run_identity identity = {0};
  cq_status status = cq_options_take(&taken, &cq_group_autoencode, options, error);
  if (status) return status;
  run *r = cq_alloc_zeroed(sizeof *r);
  if (!r) return cq_fail_memory(error, "autoencoders");
  r->o = o, r->ctx = ctx;
  status = open_run(r, error);
  if (!status) status = list_languages(r, error);
  if (!status) status = cq_autoencode_data_load(&r->data, o, r->codes, r->n_codes, tell_read, r, error);
  if (!status) status = cq_run_start(&r->course, error);
  if (!status) status = make_model(r, error);
  if (!status && o->teacher)
    status = cq_autoencode_teacher_open(&r->teacher, o, &r->data, r->codes, r->n_codes,
                                        cq_encoder_dim(r->model.languages[0].encoder), error);
  if (!status) status = identify_run(&identity, r, error);
  if (!status) status = cq_run_all(&r->course, &identity, error);
  if (!status && result) {
    *result = (cq_autoencode_result){.n_pairs = cq_autoencode_data_pairs(&r->data),
                                     .n_steps = r->course.state.n_steps,
                                     .loss = r->course.state.loss};
    memcpy(result->dev, r->dev, sizeof result->dev);
  }
  cq_run_identity_free(&identity);
  release_run(r);
  return status;
}
