/* Training autoencoders.
 *
 *   pairs ──▶ a vocabulary of each language ──▶ fresh encoders and decoders
 *         ──▶ together ──▶ encoders alone ──▶ decoders alone, on frozen encoders        any of which may be left out
 *   after each epoch of decoders: dev is translated both ways, and the best model is kept
 *
 * A checkpoint holds the state of the stage's trainer and all values of the model; a stage is gone on with from there,
 * so that the model is bit for bit what an uninterrupted run would have given. Work in progress lies in OUTPUT.work
 * (work_directory.h). */
#include "base/checksum.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "calque/mt.h"
#include "model/modules.h"
#include "recipe/autoencode_options.h"
#include "recipe/autoencoder.h"
#include "recipe/run_log.h"
#include "recipe/work_directory.h"
#include "train/autoencoder.h"
#include "train/sampler.h"
#include "train/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_STAGES = 3 };

/* What is trained in one stretch, under one schedule. */
typedef struct stage {
  int number;
  const char *name;
  double epochs;
  bool encoders, decoders;
} stage;

/* What a checkpoint says besides values. Fixed-size numbers only: it is stored as it lies. */
typedef struct progress_state {
  uint64_t options_checksum, stage, step, n_steps, log_bytes; /* step: of the stage; n_steps: of all until now */
  double best, bleu[2];
} progress_state;

typedef struct run {
  const cq_autoencode_options *o;
  cq_pool *pool;
  cq_parallel data, dev;
  cq_sampler sampler;
  cq_autoencoder model;
  cq_params params[N_STAGES]; /* own the model's values, each what its stage has trained */
  cq_work_directory work;
  cq_run_log log;
  cq_pair *pairs;         /* [batch_pairs] */
  cq_slice *sentences[2]; /* [batch_pairs] */
  cq_schedule_plan plan;  /* of the stage */
  progress_state state;
  cq_checkpoint *resumed; /* of the stage that is gone on with; NULL: none */
  cq_autoencode_progress news;
} run;

/* --- news --- */

static bool tell(run *r, const char *phase, uint64_t step, uint64_t n, const char *text) {
  r->news.phase = phase, r->news.step = step, r->news.n_steps = n, r->news.text = text;
  return !r->o->progress || r->o->progress(r->o->progress_context, &r->news);
}

/* --- data --- */

/* Reads a file, the i-th of all, and tells what was left out of it. */
static cq_status load(run *r, cq_parallel *data, const char *path, size_t i, cq_error *error) {
  const cq_autoencode_options *o = r->o;
  const cq_parallel_options options = {.skip_bad = o->skip_bad, .max_characters = o->max_characters};
  char text[CQ_PARALLEL_SUMMARY];
  cq_status status = cq_parallel_add(data, path, NULL, 1, &options, error);
  if (status) return status;
  cq_parallel_summary(text, &data->sets[data->n_sets - 1]);
  return tell(r, "data", i, o->n_train + (o->dev != NULL), text)
             ? CQ_OK
             : cq_fail(error, CQ_ERR_STOPPED, "stopped while reading");
}

static cq_status load_data(run *r, cq_error *error) {
  const cq_autoencode_options *o = r->o;
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < o->n_train; i++) status = load(r, &r->data, o->train[i], i + 1, error);
  if (!status && o->dev) status = load(r, &r->dev, o->dev, o->n_train + 1, error);
  if (!status) status = cq_sampler_new(&r->sampler, &r->data, CQ_SAMPLE_SHUFFLED, o->seed, error);
  const size_t n = (size_t)o->batch_pairs;
  r->pairs = cq_alloc_array(n, sizeof *r->pairs);
  for (int s = 0; s < 2; s++) r->sentences[s] = cq_alloc_array(n, sizeof *r->sentences[s]);
  if (!status && (!r->pairs || !r->sentences[0] || !r->sentences[1])) status = cq_fail_memory(error, "batch");
  return status;
}

/* --- a fresh model --- */

typedef struct column {
  const cq_slice *sentences;
  size_t n, at;
} column;

static bool next_sentence(void *context, cq_slice *sentence) {
  column *c = context;
  if (c->at == c->n) return false;
  *sentence = c->sentences[c->at++];
  return true;
}

/* The same vocabulary twice: for the encoder and for the decoder. */
static cq_status make_vocabulary(cq_tokenizer *out[2], const run *r, int side, cq_error *error) {
  column c = {side ? r->data.targets : r->data.sources, side ? r->data.n_targets : r->data.n_sources, 0};
  const cq_sentencepiece_training training = {.vocab_size = r->o->vocab_size, .character_coverage = 0.9995};
  cq_directory_writer w = {0};
  cq_status status = cq_tokenizer_train_sentencepiece(&out[0], next_sentence, &c, &training, error);
  if (!status) status = cq_directory_writer_open(&w, r->work.best, true, error);
  if (status) return status;
  status = cq_tokenizer_save(out[0], w.temporary, 0, error);
  if (!status) status = cq_tokenizer_open(&out[1], w.temporary, false, error);
  cq_directory_writer_abort(&w);
  return status;
}

static cq_status append(cq_encoder *e, cq_status status, cq_module *module, cq_error *error) {
  return status ? status : cq_encoder_append(e, module, error);
}

/* words -> LSTM -> pooling -> linear [-> length one] */
static cq_status fill_encoder(cq_encoder *e, cq_tokenizer **tokenizer, const cq_autoencode_options *o,
                              cq_random *random, cq_error *error) {
  static const cq_pooling_mode modes[] = {CQ_POOL_LAST, CQ_POOL_MAX, CQ_POOL_MEAN};
  const int64_t wide = (o->bidirectional ? 2 : 1) * o->hidden_dim;
  const double dropout = o->n_layers > 1 ? o->encoder_dropout : 0;
  cq_module *m = NULL;
  cq_status status = cq_word_embeddings_new(&m, *tokenizer, o->embedding_dim, o->max_tokens, "0_WordEmbeddings", random,
                                            &e->arena, error);
  if (!status) *tokenizer = NULL;
  status = append(e, status, m, error);
  if (!status)
    status = cq_lstm_module_new(&m, o->embedding_dim, o->hidden_dim, o->n_layers, o->bidirectional, dropout, "1_LSTM",
                                random, &e->arena, error);
  status = append(e, status, m, error);
  if (!status) status = cq_pooling_new(&m, wide, modes[o->pooling], "2_Pooling", &e->arena, error);
  status = append(e, status, m, error);
  if (!status)
    status =
        cq_dense_new(&m, wide, o->latent_dim, o->relu ? CQ_RELU : CQ_IDENTITY, "3_Dense", random, &e->arena, error);
  status = append(e, status, m, error);
  if (status || !o->unit_length) return status;
  status = cq_normalize_new(&m, o->latent_dim, "4_Normalize", &e->arena, error);
  return append(e, status, m, error);
}

static cq_status make_tongue(cq_tongue *t, const run *r, int side, cq_error *error) {
  const cq_autoencode_options *o = r->o;
  cq_random random = cq_random_seeded(o->seed, 100 + (uint64_t)side);
  cq_tokenizer *vocabulary[2] = {NULL, NULL};
  const cq_decoder_shape shape = {.embedding_dim = o->embedding_dim,
                                  .hidden_dim = o->hidden_dim,
                                  .n_layers = o->n_layers,
                                  .latent_dim = o->latent_dim,
                                  .latent_at_every_step = o->latent_at_every_step,
                                  .latent_as_state = o->latent_as_state,
                                  .dropout = o->decoder_dropout};
  cq_status status = make_vocabulary(vocabulary, r, side, error);
  t->code = cq_strdup(o->languages[side]);
  if (!status && !t->code) status = cq_fail_memory(error, "autoencoders");
  if (!status) status = cq_encoder_new(&t->encoder, error);
  if (!status) status = fill_encoder(t->encoder, &vocabulary[0], o, &random, error);
  if (!status) status = cq_encoder_pack(t->encoder, r->pool, false, error);
  if (!status) status = cq_decoder_new(&t->decoder, vocabulary[1], &shape, &random, error);
  if (!status) vocabulary[1] = NULL;
  cq_tokenizer_free(vocabulary[0]);
  cq_tokenizer_free(vocabulary[1]);
  return status;
}

static cq_status make_model(run *r, cq_error *error) {
  r->model.tongues = cq_alloc_array_zeroed(2, sizeof *r->model.tongues);
  if (!r->model.tongues) return cq_fail_memory(error, "autoencoders");
  cq_status status = CQ_OK;
  for (r->model.n = 0; !status && r->model.n < 2; r->model.n++)
    status = make_tongue(&r->model.tongues[r->model.n], r, (int)r->model.n, error);
  return status;
}

/* --- dev --- */

static cq_status measure_way(double *bleu, run *r, int to, cq_error *error) {
  const cq_parallel *dev = &r->dev;
  const size_t n = dev->n_entries;
  const cq_translate_options greedy = {.beam = 1, .max_tokens = r->o->max_tokens, .length_penalty = 1};
  cq_slice *sources = cq_alloc_array(n, sizeof *sources), *references = cq_alloc_array(n, sizeof *references),
           *hypotheses = cq_alloc_array(n, sizeof *hypotheses);
  char **out = cq_alloc_array_zeroed(n, sizeof *out);
  cq_bleu_result result;
  cq_status status = sources && references && hypotheses && out ? CQ_OK : cq_fail_memory(error, "dev sentences");
  for (size_t i = 0; !status && i < n; i++) {
    const cq_slice source = dev->sources[dev->entries[i].source], target = dev->targets[dev->entries[i].first_target];
    sources[i] = to == 1 ? source : target;
    references[i] = to == 1 ? target : source;
  }
  if (!status)
    status = cq_autoencoder_translate(out, &r->model, r->o->languages[1 - to], r->o->languages[to], sources, n, &greedy,
                                      r->pool, error);
  for (size_t i = 0; !status && i < n; i++) hypotheses[i] = cq_slice_of(out[i]);
  const cq_mt_texts texts = {hypotheses, (const cq_slice *const[]){references}, n, 1};
  if (!status) status = cq_bleu(&result, NULL, &texts, NULL, error);
  if (!status) *bleu = result.score;
  for (size_t i = 0; out && i < n; i++) free(out[i]);
  cq_free(sources);
  cq_free(references);
  cq_free(hypotheses);
  cq_free(out);
  return status;
}

/* Keeps the model if it is the best so far. */
static cq_status measure(run *r, const char *phase, double epoch, cq_error *error) {
  double bleu[2] = {NAN, NAN};
  char line[160];
  cq_status status = CQ_OK;
  for (int to = 0; !status && to < 2; to++) status = measure_way(&bleu[to], r, to, error);
  if (status) return status;
  cq_snprintf(line, sizeof line, "epoch %g: BLEU %s-%s %.2f, %s-%s %.2f", epoch, r->o->languages[0], r->o->languages[1],
              bleu[1], r->o->languages[1], r->o->languages[0], bleu[0]);
  tell(r, phase, r->news.step, r->news.n_steps, line);
  status = cq_run_log_write(
      &r->log,
      json_pack("{s:s, s:s, s:f, s:[f,f]}", "type", "dev", "stage", phase, "epoch", epoch, "bleu", bleu[1], bleu[0]),
      error);
  if (status || !(bleu[0] + bleu[1] > r->state.best)) return status;
  status = cq_autoencoder_save(&r->model, r->work.best, true, error);
  r->state.best = bleu[0] + bleu[1];
  r->state.bleu[0] = bleu[1], r->state.bleu[1] = bleu[0];
  return status;
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
      .contrast_by = (cq_contrast)o->contrast_by,
      .margin = o->margin,
      .temperature = o->temperature,
      .noise = o->noise,
      .word_dropout = o->word_dropout,
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

static cq_status one_step(run *r, cq_autoencoder_trainer *t, const stage *s, uint64_t step, cq_error *error) {
  const size_t n = (size_t)r->o->batch_pairs;
  cq_autoencoder_report report;
  cq_sampler_draw(r->pairs, &r->sampler, r->state.n_steps, n);
  for (size_t i = 0; i < n; i++) {
    r->sentences[0][i] = r->data.sources[r->pairs[i].source];
    r->sentences[1][i] = r->data.targets[r->pairs[i].target];
  }
  const cq_slice *const sentences[2] = {r->sentences[0], r->sentences[1]};
  cq_status status = cq_autoencoder_step(t, sentences, NULL, n, &report, error);
  if (status) return status;
  r->state.n_steps++;
  for (int i = 0; i < 2; i++) average(&r->news.nll[i], report.nll[i]);
  average(&r->news.contrast, report.contrast);
  average(&r->news.distance, report.distance);
  return cq_run_log_write(&r->log,
                          json_pack("{s:s, s:s, s:I, s:[f,f], s:f, s:f, s:f}", "type", "step", "stage", s->name, "step",
                                    (json_int_t)step, "nll", report.nll[0], report.nll[1], "contrast", report.contrast,
                                    "distance", report.distance, "gradient_norm", report.gradient_norm),
                          error);
}

/* --- checkpoints --- */

/* Everything that must be the same for a run to be gone on with. */
static cq_status checksum_options(uint64_t *out, const run *r, cq_error *error) {
  cq_builder b = {0};
  const uint64_t text = cq_parallel_checksum(&r->dev, cq_parallel_checksum(&r->data, 0));
  cq_autoencode_describe(&b, r->o);
  cq_builder_printf(&b, "%llu %s", (unsigned long long)text, cq_simd_level()); /* another level gives other bits */
  const cq_status status = b.failed ? cq_fail_memory(error, "options") : CQ_OK;
  if (!status) *out = cq_checksum(b.data, b.n, 0);
  cq_builder_free(&b);
  return status;
}

/* Calls `with` on every parameter of the model, under a name of its own. */
typedef cq_status (*with_param)(void *context, const char *name, cq_param *p, cq_error *error);

static cq_status for_all_params(run *r, with_param with, void *context, cq_error *error) {
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

static cq_status save_checkpoint(run *r, const stage *s, uint64_t step, cq_autoencoder_trainer *t, cq_error *error) {
  cq_checkpoint_writer *w;
  r->state.stage = (uint64_t)s->number, r->state.step = step;
  cq_status status = cq_run_log_length(&r->state.log_bytes, &r->log, error);
  if (!status) status = cq_checkpoint_writer_open(&w, r->work.checkpoint, error);
  if (status) return status;
  status = cq_checkpoint_writer_section(w, "autoencode", &r->state, sizeof r->state, error);
  if (!status) status = for_all_params(r, write_param, w, error);
  if (!status) status = cq_autoencoder_trainer_save(t, w, error);
  if (!status) return cq_checkpoint_writer_commit(w, error);
  cq_checkpoint_writer_abort(w);
  return status;
}

static cq_status start_or_resume(run *r, cq_error *error) {
  progress_state found;
  r->state = (progress_state){.best = -INFINITY, .bleu = {NAN, NAN}};
  cq_status status = cq_work_directory_begin(&r->work, error);
  if (!status) status = checksum_options(&r->state.options_checksum, r, error);
  if (!status) status = make_model(r, error);
  if (!status && r->work.under_way) status = cq_checkpoint_open(&r->resumed, r->work.checkpoint, error);
  if (!status && r->resumed) status = cq_checkpoint_read(&found, sizeof found, r->resumed, "autoencode", error);
  if (!status && r->resumed && (found.options_checksum != r->state.options_checksum || found.stage >= N_STAGES))
    status =
        cq_fail_file(error, CQ_ERR_ARGUMENT, r->work.path, "the run under way has other data, options or SIMD level");
  if (!status && r->resumed) status = for_all_params(r, read_param, r->resumed, error);
  if (!status && r->resumed) r->state = found;
  for (size_t i = 0; !status && r->resumed && i < r->model.n; i++)
    status = cq_encoder_pack(r->model.tongues[i].encoder, r->pool, false, error);
  return status ? status : cq_run_log_open(&r->log, r->work.log, r->state.log_bytes, error);
}

/* --- the loop --- */

static bool is_due(uint64_t step, int every) {
  return every > 0 && step % (uint64_t)every == 0;
}

static cq_status train_on(run *r, const stage *s, cq_autoencoder_trainer *t, uint64_t n_epoch, cq_error *error) {
  const uint64_t n_steps = r->plan.n_steps, first = cq_autoencoder_updates(t);
  const double started = cq_seconds(CLOCK_MONOTONIC);
  cq_status status = CQ_OK;
  for (uint64_t step = first + 1; !status && step <= n_steps; step++) {
    const bool ends_epoch = step % n_epoch == 0 || step == n_steps;
    status = one_step(r, t, s, step, error);
    if (status) break;
    const double per_step = (cq_seconds(CLOCK_MONOTONIC) - started) / (double)(step - first);
    r->news.seconds_left = per_step * (double)(n_steps - step);
    const bool stop = !tell(r, s->name, step, n_steps, NULL);
    if (s->decoders && ends_epoch && r->o->dev) {
      status = cq_autoencoder_settle(t, error);
      if (!status) status = measure(r, s->name, (double)step / (double)n_epoch, error);
    }
    if (!status && (stop || step == n_steps || is_due(step, r->o->checkpoint_every)))
      status = save_checkpoint(r, s, step, t, error);
    if (!status && stop)
      status = cq_fail(error, CQ_ERR_STOPPED, "stopped at step %llu of %llu (%s); resume to go on",
                       (unsigned long long)step, (unsigned long long)n_steps, s->name);
  }
  return status ? status : cq_autoencoder_settle(t, error);
}

static cq_status run_stage(run *r, const stage *s, cq_error *error) {
  const uint64_t batch = (uint64_t)r->o->batch_pairs, n_epoch = (cq_parallel_pairs(&r->data) + batch - 1) / batch;
  const uint64_t n_steps = (uint64_t)ceil(s->epochs * (double)n_epoch);
  cq_autoencoder_side sides[2];
  for (int i = 0; i < 2; i++)
    sides[i] = (cq_autoencoder_side){.encoder = r->model.tongues[i].encoder,
                                     .decoder = s->decoders ? r->model.tongues[i].decoder : NULL,
                                     .encoder_frozen = !s->encoders};
  r->plan = (cq_schedule_plan){CQ_DECAY_LINEAR, n_steps, (uint64_t)(r->o->warmup * (double)n_steps)};
  r->news = (cq_autoencode_progress){0};
  const cq_autoencoder_options options = trainer_options(r, s);
  cq_autoencoder_trainer *t;
  cq_status status = cq_autoencoder_trainer_new(&t, &r->params[s->number], sides, r->pool, &options, error);
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
  cq_status status = r->state.best > -INFINITY ? cq_autoencoder_open(&best, r->work.best, error) : CQ_OK;
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
  cq_sampler_free(&r->sampler);
  cq_parallel_free(&r->data);
  cq_parallel_free(&r->dev);
  cq_free(r->pairs);
  for (int s = 0; s < 2; s++) cq_free(r->sentences[s]);
  cq_free(r);
}

cq_status cq_autoencode(const cq_autoencode_options *o, cq_pool *pool, cq_autoencode_result *result, cq_error *error) {
  cq_status status = cq_autoencode_check(o, error);
  if (status) return status;
  run *r = cq_alloc_zeroed(sizeof *r);
  if (!r) return cq_fail_memory(error, "autoencoders");
  r->o = o, r->pool = pool;
  status = cq_work_directory_open(&r->work, o->output, NULL, o->resume, o->replace, error);
  if (!status) status = load_data(r, error);
  if (!status) status = start_or_resume(r, error);
  if (!status) status = train(r, error);
  if (!status) status = finish(r, error);
  if (!status) status = cq_run_log_close(&r->log, error);
  if (!status) status = cq_work_directory_finish(&r->work, o->output, true, error);
  if (!status && result)
    *result =
        (cq_autoencode_result){cq_parallel_pairs(&r->data), r->state.n_steps, {r->state.bleu[0], r->state.bleu[1]}};
  release(r);
  return status;
}
