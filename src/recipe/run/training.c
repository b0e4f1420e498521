#include "recipe/run/training.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "recipe/run/model_card.h"

#include <math.h>
#include <string.h>

/* ---- news ---- */

bool cq_training_tell(cq_training *r, const char *phase, uint64_t step, uint64_t n, const char *text) {
  if (!r->o->progress) return true;
  const double elapsed = cq_seconds(CLOCK_MONOTONIC) - r->started;
  const uint64_t done = step - (strcmp(phase, "train") == 0 ? r->first_step : 0);
  cq_training_progress p = {.phase = phase,
                            .step = step,
                            .n_steps = n,
                            .loss = r->state.smooth_loss,
                            .gradient_norm = r->gradient_norm,
                            .text = text};
  p.seconds_left = done ? elapsed / (double)done * (double)(n - step) : 0;
  p.sentences_per_second = elapsed > 0 ? (double)r->sentences / elapsed : 0;
  if (r->n_steps) {
    p.learning_rate = r->o->learning_rate * cq_schedule_factor(&r->plan, step ? step : 1);
    p.epoch = (double)step * r->o->batch_pairs * r->o->accumulate / (double)r->n_pairs;
  }
  return r->o->progress(r->o->progress_context, &p);
}

void cq_training_notice(void *training, const char *text) {
  cq_training_tell(training, "data", 0, 0, text);
}

/* ---- options ---- */

static cq_identity include_rows(cq_identity sum, const cq_rows *rows) {
  sum = cq_hash128_add(sum, &rows->n, sizeof rows->n);
  for (size_t i = 0; i < rows->n; i++) {
    for (int c = 0; c < 2; c++) sum = cq_hash128_add(sum, rows->column[c][i].data, rows->column[c][i].n);
    if (rows->gold) sum = cq_hash128_add(sum, &rows->gold[i], sizeof *rows->gold);
  }
  return sum;
}

static cq_status identify_options(cq_identity *out, const cq_training *r, const cq_builder *what, cq_error *error) {
  const cq_training_options *o = r->o;
  char encoder[CQ_IDENTITY_HEX], hex[CQ_IDENTITY_HEX];
  cq_builder b = {0};
  cq_status status = cq_encoder_fingerprint(encoder, r->encoder, error);
  if (status) return status;
  cq_builder_printf(
      &b, "%s %d %d %d %d %d %d %d %.17g %llu %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %d %.17g %d %d %d %llu|",
      encoder, o->max_characters, o->max_seq_length, o->max_sentences, o->no_shuffle, o->balanced, o->batch_pairs,
      o->accumulate, o->epochs, (unsigned long long)o->steps, o->learning_rate, o->embedding_learning_rate,
      o->weight_decay, o->adam_beta1, o->adam_beta2, o->adam_eps, o->clip_norm, o->warmup_steps, (int)o->schedule,
      o->dropout, o->evaluate_every, (int)o->best_by, o->n_shards, (unsigned long long)o->seed);
  cq_builder_bytes(&b, what->data, what->n);
  cq_identity text = {0};
  for (size_t i = 0; i < o->n_dev; i++) text = include_rows(text, &r->dev.parallel[i].rows);
  for (size_t i = 0; i < o->n_sts; i++) text = include_rows(text, &r->dev.sts[i].rows);
  cq_identity_hex(hex, text);
  cq_builder_printf(&b, "|%s %s", hex, cq_simd_level()); /* another level gives other bits */
  if (b.failed || what->failed)
    status = cq_fail_memory(error, "options");
  else
    *out = cq_hash128(b.data, b.n);
  cq_builder_free(&b);
  return status;
}

/* ---- what tasks have in common ---- */

cq_parallel_options cq_training_text_options(const cq_training *r) {
  return (cq_parallel_options){
      .skip_bad = r->o->skip_bad, .max_characters = r->o->max_characters, .max_entries = r->o->max_sentences};
}

cq_status cq_training_read(cq_parallel *data, cq_training *r, const cq_training_data *files, size_t n,
                           const cq_parallel_options *options, cq_error *error) {
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < n; i++) {
    char text[CQ_PARALLEL_SUMMARY];
    status = cq_parallel_add(data, files[i].path, files[i].label, files[i].weight, options, error);
    if (status) break;
    cq_parallel_summary(text, &data->sets[data->n_sets - 1]);
    if (!cq_training_tell(r, "data", i + 1, n, text)) status = cq_fail(error, CQ_ERR_STOPPED, "stopped while reading");
  }
  return status;
}

cq_status cq_training_sampling(cq_sampling *out, cq_training *r, const cq_training_data *files, size_t n,
                               cq_error *error) {
  const cq_training_options *o = r->o;
  bool weighted = o->balanced;
  for (size_t i = 0; i < n; i++) weighted |= n > 1 && files[i].weight != 1;
  r->by_weight |= weighted;
  if (o->no_shuffle && weighted)
    return cq_fail(error, CQ_ERR_ARGUMENT, "file order and balanced drawing, or weights, exclude each other");
  *out = o->no_shuffle ? CQ_SAMPLE_IN_ORDER : weighted ? CQ_SAMPLE_BALANCED : CQ_SAMPLE_SHUFFLED;
  return CQ_OK;
}

void cq_training_describe_data(cq_builder *what, const cq_parallel *data) {
  for (size_t i = 0; i < data->n_sets; i++)
    cq_builder_printf(what, "|%s %.17g %u", data->sets[i].path, data->sets[i].weight, data->sets[i].n_pairs);
  char hex[CQ_IDENTITY_HEX];
  cq_identity_hex(hex, cq_parallel_identity((cq_identity){0}, data));
  cq_builder_printf(what, "|%s", hex);
}

cq_status cq_training_open_encoder(cq_training *r, const char *name, cq_error *error) {
  cq_encoder_options options = cq_encoder_default_options();
  options.notice = cq_training_notice, options.notice_context = r;
  cq_status status = cq_encoder_open(&r->encoder, name, &options, error);
  if (!status && r->o->max_seq_length > 0) status = cq_encoder_limit(r->encoder, r->o->max_seq_length, error);
  return status;
}

/* ---- getting ready ---- */

cq_status cq_training_open(cq_training *r, const cq_training_options *o, const cq_training_task *task, cq_context *ctx,
                           cq_error *error) {
  *r = (cq_training){.ctx = ctx, .task = *task, .started = cq_seconds(CLOCK_MONOTONIC)};
  r->options = *o;
  r->o = o = &r->options;
  if (o->best_by == CQ_BEST_AUTO)
    r->options.best_by = o->n_dev ? CQ_BEST_TRANSLATION : o->n_sts ? CQ_BEST_STS : CQ_BEST_LAST;
  cq_status status = cq_work_directory_open(&r->work, o->output, o->log_path, o->resume, o->replace, error);
  return status ? status : cq_dev_sets_read(&r->dev, o, error);
}

void cq_training_close(cq_training *r) {
  cq_status ignored = cq_run_log_close(&r->log, NULL); /* already told, or closed */
  (void)ignored;
  cq_work_directory_close(&r->work);
  cq_dev_figures_free(&r->before);
  cq_dev_figures_free(&r->now);
  cq_trainer_free(r->trainer);
  cq_encoder_free(r->encoder);
  cq_dev_sets_free(&r->dev);
}

static double learning_rate(const void *context, uint64_t step, bool table) {
  const cq_training *r = context;
  const double peak = table && r->o->embedding_learning_rate > 0 ? r->o->embedding_learning_rate : r->o->learning_rate;
  return peak * cq_schedule_factor(&r->plan, step);
}

cq_optimizer_options cq_training_optimizer(const cq_training *r) {
  const cq_training_options *o = r->o;
  return (cq_optimizer_options){.beta1 = o->adam_beta1,
                                .beta2 = o->adam_beta2,
                                .eps = o->adam_eps,
                                .weight_decay = o->weight_decay,
                                .clip_norm = o->clip_norm,
                                .learning_rate = learning_rate,
                                .context = r};
}

static bool measures(const cq_training *r) {
  return r->dev.n_parallel + r->dev.n_sts > 0;
}

cq_status cq_training_begin(cq_training *r, uint64_t n_pairs, cq_error *error) {
  const cq_training_options *o = r->o;
  cq_status status = CQ_OK;
  /* The untrained encoder, for the card's "before"; of a resumed run too, whose weights are not restored yet. */
  if (measures(r)) {
    status = cq_dev_evaluate(&r->before, &r->dev, r->encoder, r->teacher, r->ctx, error);
    r->has_before = !status;
  }
  if (status) return status;
  const double pairs_per_step = (double)o->batch_pairs * o->accumulate;
  r->n_pairs = n_pairs;
  r->n_steps = o->steps ? o->steps : (uint64_t)ceil(o->epochs * (double)n_pairs / pairs_per_step);
  const double warmup = o->warmup_steps < 1 ? o->warmup_steps * (double)r->n_steps : o->warmup_steps;
  r->plan = (cq_schedule_plan){o->schedule, r->n_steps, (uint64_t)warmup};
  for (size_t i = 0; o->dropout >= 0 && i < r->encoder->n_modules; i++)
    if (r->encoder->modules[i]->type->set_dropout)
      r->encoder->modules[i]->type->set_dropout(r->encoder->modules[i], o->dropout);
  const cq_trainer_options options = {
      .n_shards = o->n_shards,
      .accumulate = o->accumulate,
      .seed = o->seed,
      .dropout = o->dropout != 0,
      .optimizer = cq_training_optimizer(r),
  };
  return cq_trainer_new(&r->trainer, r->encoder, r->ctx, &options, error);
}

/* ---- state ---- */

static cq_status save_checkpoint(cq_training *r, cq_error *error) {
  cq_checkpoint_writer *w;
  r->state.step = cq_trainer_updates(r->trainer);
  cq_status status = cq_run_log_length(&r->state.log_bytes, &r->log, error);
  if (!status) status = cq_checkpoint_writer_open(&w, r->work.checkpoint, error);
  if (status) return status;
  status = cq_checkpoint_writer_section(w, r->task.name, &r->state, sizeof r->state, error);
  if (!status) status = cq_trainer_save(r->trainer, w, error);
  if (!status && r->task.save) status = r->task.save(r->task.context, w, error);
  if (status) {
    cq_checkpoint_writer_abort(w);
    return status;
  }
  return cq_checkpoint_writer_commit(w, error);
}

static cq_status restore(cq_training *r, cq_error *error) {
  cq_checkpoint *c;
  cq_training_state found;
  cq_status status = cq_checkpoint_open(&c, r->work.checkpoint, error);
  if (status) return status;
  status = cq_checkpoint_read(&found, sizeof found, c, r->task.name, error);
  if (!status && !cq_identity_equal(found.options, r->state.options))
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, r->work.path,
                          "the run under way has other data, models, options or SIMD level");
  if (!status) status = cq_trainer_restore(r->trainer, c, error);
  if (!status && r->task.restore) status = r->task.restore(r->task.context, c, error);
  if (!status) r->state = found;
  cq_checkpoint_close(c);
  return status;
}

static cq_status start_or_resume(cq_training *r, const cq_builder *what, cq_error *error) {
  cq_status status = cq_work_directory_begin(&r->work, error);
  if (!status) status = identify_options(&r->state.options, r, what, error);
  const bool resuming = r->work.under_way;
  if (!status && resuming) status = restore(r, error);
  if (!status) status = cq_run_log_open(&r->log, r->work.log, r->state.log_bytes, error);
  if (!status && resuming) {
    char text[128];
    snprintf(text, sizeof text, "resumed at step %llu of %llu", (unsigned long long)r->state.step,
             (unsigned long long)r->n_steps);
    cq_training_tell(r, "train", r->state.step, r->n_steps, text);
  }
  return status;
}

/* ---- evaluation ---- */

static double score(const cq_training *r, const cq_dev_figures *f) {
  switch (r->o->best_by) {
  case CQ_BEST_TRANSLATION: return f->mean_translation;
  case CQ_BEST_MSE: return -f->mean_mse;
  case CQ_BEST_STS: return f->mean_sts;
  case CQ_BEST_AUTO:
  case CQ_BEST_LAST: break;
  }
  return NAN;
}

static cq_status show_figures(cq_training *r, uint64_t step, cq_error *error) {
  cq_builder table = {0};
  cq_builder_printf(&table, "step %llu\n", (unsigned long long)step);
  cq_dev_table(&table, &r->dev, NULL, &r->now, false);
  if (step > 0 && r->now.collapsed)
    cq_builder_printf(
        &table,
        "COLLAPSE: the student's vectors of %s hardly differ (mean variance %.4f, the teacher's %.4f, x 100);\n"
        "a lower learning rate or a longer warm-up usually mends it\n",
        r->now.collapsed, r->now.student_variance, r->now.teacher_variance);
  cq_status status = table.failed ? cq_fail_memory(error, "table") : CQ_OK;
  if (!status && !cq_training_tell(r, "evaluate", step, r->n_steps, table.data)) r->stopped = true;
  cq_builder_free(&table);
  return status;
}

/* Measures the encoder, keeps it when it is the best so far. */
static cq_status evaluate(cq_training *r, uint64_t step, cq_error *error) {
  if (!measures(r)) return CQ_OK;
  cq_trainer_settle(r->trainer);
  cq_dev_figures_free(&r->now);
  cq_status status = cq_dev_evaluate(&r->now, &r->dev, r->encoder, r->teacher, r->ctx, error);
  if (!status) {
    json_t *figures = cq_dev_json(&r->dev, &r->now);
    status = cq_run_log_write(&r->log,
                              json_pack("{s:s, s:I, s:b, s:o}", "type", "evaluate", "step", (json_int_t)step,
                                        "collapsed", step > 0 && r->now.collapsed != NULL, "figures", figures),
                              error);
  }
  if (!status) status = show_figures(r, step, error);
  const double value = status ? NAN : score(r, &r->now);
  if (status || step == 0 || !(value == value) || (r->state.has_best && value <= r->state.best_score)) return status;
  status = cq_encoder_save(r->encoder, r->work.best, true, NULL, error);
  if (status) return status;
  r->state.has_best = 1;
  r->state.best_score = value;
  r->state.best_step = step;
  return CQ_OK;
}

/* ---- the loop ---- */

/* One update, accumulated batches and all. */
static cq_status one_step(cq_training *r, cq_error *error) {
  cq_step_report report = {0};
  double loss = 0;
  const double begun = cq_seconds(CLOCK_MONOTONIC);
  const uint64_t step = cq_trainer_updates(r->trainer) + 1;
  for (int i = 0; i < r->o->accumulate; i++) {
    cq_error why = {0};
    cq_status status = r->task.batch(r->task.context, &report, &why);
    if (status == CQ_ERR_LIMIT)
      return cq_fail(error, status, "not finite at step %llu: %s: lower the learning rate, and remove %s",
                     (unsigned long long)step, why.message, r->work.path);
    if (status && error) *error = why;
    if (status) return status;
    loss += report.loss / r->o->accumulate;
    r->truncated += report.n_truncated;
    r->sentences += report.n_sentences;
  }
  r->gradient_norm = report.gradient_norm;
  r->state.smooth_loss = r->state.smooth_loss > 0 ? 0.98 * r->state.smooth_loss + 0.02 * loss : loss;
  return cq_run_log_write(&r->log,
                          json_pack("{s:s, s:I, s:s*, s:f, s:f, s:f, s:f}", "type", "step", "step", (json_int_t)step,
                                    "kind", r->kind, "loss", loss, "learning_rate", learning_rate(r, step, false),
                                    "gradient_norm", report.gradient_norm, "seconds",
                                    cq_seconds(CLOCK_MONOTONIC) - begun),
                          error);
}

/* The last update may have been one too many. What is kept, measured or saved has gone through here. */
static cq_status check_weights(const cq_training *r, cq_error *error) {
  const cq_params *params = &r->encoder->params;
  for (size_t i = 0; i < params->n; i++) {
    const cq_param *p = params->items[i];
    const int64_t n = cq_param_floats(p);
    double sum = 0; /* of zeros, unless something is no number */
    for (int64_t j = 0; j < n; j++) sum += (double)p->value[j] * 0;
    if (isnan(sum))
      return cq_fail(error, CQ_ERR_LIMIT, "%s: weights that are no numbers after step %llu%s", p->name,
                     (unsigned long long)cq_trainer_updates(r->trainer),
                     cq_trainer_updates(r->trainer) ? ": lower the learning rate, and remove what is left of this run"
                                                    : ": the model is broken");
  }
  return CQ_OK;
}

static cq_status train(cq_training *r, cq_error *error) {
  cq_status status = CQ_OK;
  r->started = cq_seconds(CLOCK_MONOTONIC);
  r->sentences = 0;
  r->first_step = cq_trainer_updates(r->trainer);
  status = check_weights(r, error);
  if (!status && r->first_step == 0) status = evaluate(r, 0, error);
  while (!status && !r->stopped && cq_trainer_updates(r->trainer) < r->n_steps) {
    status = one_step(r, error);
    if (status) break;
    const uint64_t step = cq_trainer_updates(r->trainer);
    const bool last = step == r->n_steps;
    if (!cq_training_tell(r, "train", step, r->n_steps, NULL)) r->stopped = true;
    const bool measured = last || cq_is_due(step, r->o->evaluate_every);
    const bool saved = last || r->stopped || cq_is_due(step, r->o->checkpoint_every);
    if (measured || saved) status = check_weights(r, error);
    if (!status && measured) status = evaluate(r, step, error);
    if (!status && saved) status = save_checkpoint(r, error);
  }
  if (r->truncated) {
    char text[160];
    snprintf(text, sizeof text, "%llu of %llu sentences drawn were longer than the model's %d tokens and cut",
             (unsigned long long)r->truncated, (unsigned long long)r->sentences, r->encoder->max_seq_length);
    cq_training_tell(r, "train", cq_trainer_updates(r->trainer), r->n_steps, text);
  }
  if (!status && r->stopped && cq_trainer_updates(r->trainer) < r->n_steps)
    status = cq_fail(error, CQ_ERR_STOPPED, "stopped at step %llu of %llu; resume to go on",
                     (unsigned long long)cq_trainer_updates(r->trainer), (unsigned long long)r->n_steps);
  return status;
}

/* ---- the end ---- */

/* The kept model under its card; the work directory goes when all is in place. */
static cq_status finish(cq_training *r, cq_error *error) {
  cq_encoder *kept = NULL;
  cq_builder card = {0};
  cq_trainer_settle(r->trainer);
  const bool best = r->o->best_by != CQ_BEST_LAST && r->state.has_best;
  cq_status status = best ? cq_encoder_open(&kept, r->work.best, NULL, error) : CQ_OK;
  const cq_encoder *model = best ? kept : r->encoder;
  if (!status && measures(r)) {
    cq_dev_figures_free(&r->now);
    status = cq_dev_evaluate(&r->now, &r->dev, model, r->teacher, r->ctx, error);
  }
  if (!status) {
    cq_model_card_write(&card, r, best ? r->state.best_step : r->n_steps);
    status = card.failed ? cq_fail_memory(error, "model card") : CQ_OK;
  }
  if (!status) status = cq_encoder_save(model, r->o->output, r->o->replace || r->work.under_way, card.data, error);
  cq_builder_free(&card);
  cq_encoder_free(kept);
  return status;
}

cq_status cq_training_run(cq_training *r, const cq_builder *what, cq_training_result *result, cq_error *error) {
  cq_status status = start_or_resume(r, what, error);
  if (!status) status = train(r, error);
  if (!status) status = finish(r, error);
  if (!status && result)
    *result = (cq_training_result){r->n_steps, r->state.has_best ? r->state.best_step : r->n_steps,
                                   r->state.smooth_loss, r->state.has_best ? r->state.best_score : NAN};
  if (!status) status = cq_run_log_close(&r->log, error);
  return status ? status : cq_work_directory_finish(&r->work, r->o->output, !r->o->log_path, error);
}
