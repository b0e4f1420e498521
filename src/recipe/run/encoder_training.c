/* The common part of all trainings of an encoder: reading data, the steps, averaging of weights, evaluation, keeping
 * the best model, log and model card. See encoder_training.h. */
#include "recipe/run/encoder_training.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "recipe/run/model_card.h"
#include "recipe/run/training_options.h"

#include <math.h>
#include <string.h>

/* ---- news ---- */

bool cq_training_tell(void *training, const char *phase, uint64_t step, uint64_t n, const char *text) {
  const cq_training *r = training;
  if (!r->o->progress) return true;
  const double elapsed = cq_seconds(CLOCK_MONOTONIC) - r->started;
  const uint64_t done = step - (strcmp(phase, "train") == 0 ? r->run.first_step : 0);
  cq_training_progress p = {.phase = phase,
                            .step = step,
                            .n_steps = n,
                            .loss = r->run.state.loss,
                            .gradient_norm = r->gradient_norm,
                            .text = text};
  p.seconds_left = done ? elapsed / (double)done * (double)(n - step) : 0;
  p.sentences_per_second = elapsed > 0 ? (double)r->sentences / elapsed : 0;
  if (r->n_steps) {
    p.learning_rate = cq_run_learning_rate(&r->run, step ? step : 1, false);
    p.epoch = (double)step * r->o->batch_pairs * r->o->accumulate / (double)r->n_pairs;
  }
  return r->o->progress(r->o->progress_context, &p);
}

void cq_training_notice(void *training, const char *text) {
  cq_training_tell(training, "data", 0, 0, text);
}

/* ---- what must stay the same in a resumed run ---- */

static cq_identity identity_of_rows(const cq_rows *rows) {
  cq_identity sum = {0};
  for (size_t i = 0; i < rows->n; i++) {
    for (int c = 0; c < 2; c++) sum = cq_hash128_add(sum, rows->column[c][i].data, rows->column[c][i].n);
    if (rows->gold) sum = cq_hash128_add(sum, &rows->gold[i], sizeof *rows->gold);
  }
  return sum;
}

void cq_training_identify_data(cq_run_identity *out, const char *kind, const cq_parallel *data) {
  char name[64];
  snprintf(name, sizeof name, "%s files", kind);
  cq_run_identity_count(out, name, data->n_sets);
  for (size_t i = 0; i < data->n_sets; i++) {
    const cq_parallel_set *set = &data->sets[i];
    cq_run_identity_number(out, "weight of a file", set->weight);
    cq_run_identity_file(out, set->path, cq_parallel_identity(data, set));
  }
}

static cq_status identify_training(cq_run_identity *id, const cq_training *r, cq_error *error) {
  const cq_training_options *o = r->o;
  char encoder[CQ_IDENTITY_HEX];
  cq_status status = cq_encoder_fingerprint(encoder, r->encoder, error);
  if (status) return status;
  cq_run_identity_begin(id, r->task.name, &cq_group_training, o);
  status = r->task.identify(r->task.context, id, error);
  cq_run_identity_fingerprint(id, "model to begin from", encoder);
  cq_run_identity_precision(id, "precision in use", r->encoder);
  cq_run_identity_count(id, "dev files", o->n_dev);
  for (size_t i = 0; i < o->n_dev; i++)
    cq_run_identity_file(id, o->dev[i].path, identity_of_rows(&r->dev.parallel[i].rows));
  cq_run_identity_count(id, "sts files", o->n_sts);
  for (size_t i = 0; i < o->n_sts; i++) cq_run_identity_file(id, o->sts[i].path, identity_of_rows(&r->dev.sts[i].rows));
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

cq_status cq_training_open_encoder(cq_training *r, const char *name, cq_error *error) {
  cq_encoder_options options = cq_encoder_default_options();
  options.notice = cq_training_notice, options.notice_context = r;
  options.precision = r->o->precision == CQ_TRAINING_BF16 ? CQ_PRECISION_BF16 : CQ_PRECISION_F32;
  cq_status status = cq_encoder_open_any(&r->encoder, name, &options, error);
  if (!status && r->o->max_seq_length > 0) status = cq_encoder_limit(r->encoder, r->o->max_seq_length, error);
  if (!status && r->o->freeze_body) cq_encoder_freeze_body(r->encoder);
  return status;
}

/* ---- stages: there is one ---- */

cq_optimizer_options cq_training_optimizer(const cq_training *r) {
  const cq_training_options *o = r->o;
  return (cq_optimizer_options){.beta1 = o->adam_beta1,
                                .beta2 = o->adam_beta2,
                                .eps = o->adam_eps,
                                .weight_decay = o->weight_decay,
                                .clip_norm = o->clip_norm,
                                .learning_rate = cq_run_learning_rate,
                                .context = &r->run};
}

/* A run ends at the second evaluation with hardly any difference between vectors, because a collapsed model does not
 * recover. New weights may start like this and still recover, so they are exempt. */
enum { MAX_COLLAPSED = 2 };

static uint64_t steps_of_epochs(const cq_training_options *o, uint64_t n_pairs) {
  return (uint64_t)ceil(o->epochs * (double)n_pairs / ((double)o->batch_pairs * o->accumulate));
}

static bool has_dev_sets(const cq_training *r) {
  return r->dev.n_parallel + r->dev.n_sts > 0;
}

/* Whether a step's weights are averaged: true if fewer than `average` evaluations follow this one. Step 0 is the start. */
static bool is_averaged(const cq_training *r, uint64_t step) {
  const uint64_t every = (uint64_t)r->o->evaluate_every, end = r->n_steps;
  if (!r->average.params || step == end) return r->average.params;
  if (every == 0 || step % every != 0) return false;
  const uint64_t n_later = end / every - step / every + (end % every != 0);
  return n_later < (uint64_t)r->o->average;
}

static cq_status begin_training(cq_run_stage *out, void *context, int number, const cq_checkpoint *from,
                                cq_error *error) {
  cq_training *r = context;
  const cq_training_options *o = r->o;
  const double warmup = o->warmup_steps < 1 ? o->warmup_steps * (double)r->n_steps : o->warmup_steps;
  (void)number;
  *out = (cq_run_stage){.name = "train",
                        .n_steps = r->n_steps,
                        .n_warmup = (uint64_t)warmup,
                        .evaluates = has_dev_sets(r),
                        .evaluates_first = has_dev_sets(r),
                        .evaluate_every = r->spreads ? 0 : (uint64_t)o->evaluate_every,
                        .most_steps = steps_of_epochs(o, r->n_pairs),
                        .spreads = r->spreads,
                        .params = &r->encoder->params};
  for (size_t i = 0; o->dropout >= 0 && i < r->encoder->n_modules; i++)
    if (r->encoder->modules[i]->type->set_dropout)
      r->encoder->modules[i]->type->set_dropout(r->encoder->modules[i], o->dropout);
  const cq_trainer_options options = {
      .n_shards = o->n_shards,
      .accumulate = o->accumulate,
      .seed = o->seed,
      .dropout = o->dropout != 0,
      .exchange = cq_run_exchange(&r->run),
      .shard_tables = o->shard_tables,
      .optimizer = cq_training_optimizer(r),
  };
  cq_status status = cq_trainer_new(&r->trainer, r->encoder, r->ctx, &options, error);
  if (!status && o->average > 1) status = cq_average_new(&r->average, &r->encoder->params, error);
  if (!status && !from && is_averaged(r, 0)) cq_average_add(&r->average, r->ctx);
  if (!status && from) status = cq_checkpoint_read(&r->measured, sizeof r->measured, from, "measured", error);
  if (!status && from) status = cq_trainer_restore(r->trainer, from, error);
  if (!status && from && r->average.params) status = cq_average_restore(&r->average, from, error);
  if (!status && from && r->task.restore) status = r->task.restore(r->task.context, from, error);
  r->started = cq_seconds(CLOCK_MONOTONIC);
  r->sentences = 0;
  r->run.over = r->measured.n_collapsed >= MAX_COLLAPSED;
  return status;
}

static cq_status collect_training(void *context, cq_error *error) {
  return cq_trainer_collect(((cq_training *)context)->trainer, error);
}

static cq_status save_training(void *context, cq_checkpoint_writer *w, cq_error *error) {
  cq_training *r = context;
  cq_status status = cq_checkpoint_writer_section(w, "measured", &r->measured, sizeof r->measured, error);
  if (!status) status = cq_trainer_save(r->trainer, w, error);
  if (!status && r->average.params) status = cq_average_save(&r->average, w, error);
  return status || !r->task.save ? status : r->task.save(r->task.context, w, error);
}

/* One update, accumulated batches and all. */
static cq_status update_encoder(double *loss, void *context, cq_error *error) {
  cq_training *r = context;
  const cq_messages *m = cq_ranks_messages(r->o->ranks);
  const uint64_t sent = m ? m->n_sent : 0, received = m ? m->n_received : 0;
  cq_step_report report = {0};
  const double begun = cq_seconds(CLOCK_MONOTONIC);
  const uint64_t step = r->run.state.step + 1;
  for (int i = 0; i < r->o->accumulate; i++) {
    cq_status status = r->task.batch(r->task.context, &report, error);
    if (status) return status;
    *loss += report.loss / r->o->accumulate;
    r->truncated += report.n_truncated;
    r->sentences += report.n_sentences;
  }
  r->gradient_norm = report.gradient_norm;
  if (m) {
    r->exchanged.n_updates++, r->exchanged.n_gradients += (uint64_t)report.n_gradients;
    r->exchanged.sent += m->n_sent - sent, r->exchanged.received += m->n_received - received;
  }
  if (is_averaged(r, step)) {
    const cq_status status = cq_trainer_settle(r->trainer, error);
    if (status) return status;
    cq_average_add(&r->average, r->ctx);
  }
  return cq_run_log_write(&r->run.log,
                          json_pack("{s:s, s:I, s:s*, s:f, s:f, s:f, s:f}", "type", "step", "step", (json_int_t)step,
                                    "kind", r->kind, "loss", *loss, "learning_rate",
                                    cq_run_learning_rate(&r->run, step, false), "gradient_norm", report.gradient_norm,
                                    "seconds", cq_seconds(CLOCK_MONOTONIC) - begun),
                          error);
}

static bool has_average(const cq_training *r) {
  return r->average.n > 1;
}

/* Swaps the encoder's weights with their mean, or back. */
static cq_status swap_average(cq_training *r, cq_error *error) {
  cq_average_swap(&r->average, r->ctx);
  return cq_encoder_pack(r->encoder, r->ctx, true, error);
}

/* Reports the bytes that rank 0 exchanged in a step, and the size of the gradients, which is the minimum. */
static void tell_exchanged(cq_training *r) {
  const double n = (double)r->exchanged.n_updates, mb = 1e-6 / n;
  const int n_bytes = r->o->exchange == CQ_TRAINING_BF16 ? 2 : 4;
  char text[200];
  if (r->exchanged.n_updates == 0) return;
  snprintf(
      text, sizeof text,
      "%d ranks: rank 0 has sent %.2f MB and received %.2f MB a step; dense gradients and touched rows are %.2f MB",
      cq_ranks_count(r->o->ranks), (double)r->exchanged.sent * mb, (double)r->exchanged.received * mb,
      (double)r->exchanged.n_gradients * n_bytes * mb);
  cq_training_tell(r, "train", r->run.state.step, r->run.stage.n_steps, text);
}

static cq_status end_training(void *context, cq_error *error) {
  cq_training *r = context;
  const cq_status status = cq_trainer_settle(r->trainer, error);
  if (status) return status;
  tell_exchanged(r);
  if (r->truncated) {
    char text[160];
    snprintf(text, sizeof text,
             "%llu of %llu sentences drawn were longer than the model's %d tokens and were truncated",
             (unsigned long long)r->truncated, (unsigned long long)r->sentences, r->encoder->max_seq_length);
    cq_training_tell(r, "train", r->run.state.step, r->run.stage.n_steps, text);
  }
  if (r->run.state.has_best || !has_average(r)) return CQ_OK;
  r->measured.averaged = r->average.n;
  return swap_average(r, error);
}

/* ---- evaluation ---- */

static double dev_score(const cq_training *r, const cq_dev_figures *f) {
  switch (r->o->best_by) {
  case CQ_BEST_TRANSLATION: return f->mean_translation;
  case CQ_BEST_MSE: return -f->mean_mse;
  case CQ_BEST_STS: return f->mean_sts;
  case CQ_BEST_AUTO:
  case CQ_BEST_LAST: break;
  }
  return NAN;
}

/* As in the table: accuracy and correlation times 100, the MSE without its sign. */
static double shown_score(const cq_training *r, double score) {
  return r->o->best_by == CQ_BEST_MSE ? -score : 100 * score;
}

static size_t held_out_pairs(const cq_training *r) {
  size_t n = 0;
  for (size_t i = 0; i < r->dev.n_parallel; i++) n += r->dev.parallel[i].rows.n;
  return n;
}

/* Whether an accuracy differs from the highest by more than its standard error. */
static bool is_lower(const cq_training *r, double score, double highest) {
  const double error = sqrt(fmax(0, highest * (1 - highest)) / (double)held_out_pairs(r));
  return score < highest - error;
}

/* Whether the current model replaces the kept one. If two accuracies differ by less than their standard error, the
 * lower MSE wins; otherwise, noise would pick a mid-run model, trained at a still-high learning rate. A model that is
 * less accurate than the initial one is never kept. */
static bool is_better(const cq_training *r, double score, double mse, bool has_kept) {
  const double kept = r->measured.best_score, highest = fmax(score, r->measured.highest);
  if (isnan(score) || !has_kept) return !isnan(score);
  if (r->o->best_by != CQ_BEST_TRANSLATION || isnan(mse)) return score > kept;
  if (is_lower(r, score, highest) || (r->has_before && score < r->before.mean_translation)) return false;
  return is_lower(r, kept, highest) || mse < r->measured.best_mse;
}

/* Remarks on the run, derived from the figures. */
static void put_remarks(cq_builder *out, const cq_training *r, uint64_t step, double score, bool is_kept) {
  const double best = r->measured.best_score;
  if (step > 0 && r->now.collapsed)
    cq_builder_printf(
        out,
        "COLLAPSE: the student's vectors of %s hardly differ (mean variance %.4f, the teacher's %.4f, x 100);\n"
        "a lower learning rate or a longer warm-up usually helps\n",
        r->now.collapsed, r->now.student_variance, r->now.teacher_variance);
  if (r->run.over)
    cq_builder_printf(out, "the run ends here, with the best model so far: that after step %llu\n",
                      (unsigned long long)r->run.state.best_step);
  else if (r->run.state.has_best && score < best && is_kept)
    cq_builder_printf(
        out, "as accurate as after step %llu (%.2f) as far as the held-out pairs can tell, and its MSE is lower\n",
        (unsigned long long)r->run.state.best_step, shown_score(r, best));
  else if (r->run.state.has_best && score < best)
    cq_builder_printf(out, "%s than after step %llu: %.2f, not %.2f\n", r->run.state.best_step == 0 ? "WORSE" : "worse",
                      (unsigned long long)r->run.state.best_step, shown_score(r, score), shown_score(r, best));
}

static cq_status show_figures(cq_training *r, uint64_t step, uint64_t averaged, double score, bool is_kept,
                              cq_error *error) {
  cq_builder table = {0};
  cq_builder_printf(&table, "step %llu", (unsigned long long)step);
  if (averaged) cq_builder_printf(&table, ", mean of the last %llu evaluations' weights", (unsigned long long)averaged);
  cq_builder_char(&table, '\n');
  cq_dev_table(&table, &r->dev, NULL, &r->now, false);
  put_remarks(&table, r, step, averaged ? NAN : score, is_kept); /* a mean may be worse */
  cq_status status = table.failed ? cq_fail_memory(error, "table") : CQ_OK;
  if (!status && !cq_training_tell(r, "evaluate", step, r->run.stage.n_steps, table.data)) r->run.stopped = true;
  cq_builder_free(&table);
  return status;
}

/* Evaluates the encoder's current weights. averaged: the number of weights in the mean; 0: not a mean. */
static cq_status measure_encoder(bool *better, cq_training *r, uint64_t averaged, cq_error *error) {
  const uint64_t step = r->run.state.step;
  cq_dev_figures_free(&r->now);
  cq_status status = cq_dev_evaluate(&r->now, &r->dev, r->encoder, r->teacher, r->ctx, error);
  if (!status) {
    json_t *figures = cq_dev_json(&r->dev, &r->now), *n = averaged ? json_integer((json_int_t)averaged) : NULL;
    status = cq_run_log_write(&r->run.log,
                              json_pack("{s:s, s:I, s:o*, s:b, s:o}", "type", averaged ? "average" : "evaluate", "step",
                                        (json_int_t)step, "averaged", n, "collapsed",
                                        step > 0 && r->now.collapsed != NULL, "figures", figures),
                              error);
  }
  const double score = status ? NAN : dev_score(r, &r->now), mse = r->now.has_mse ? r->now.mean_mse : NAN;
  const bool has_kept = r->run.state.has_best || *better, is_best = is_better(r, score, mse, has_kept);
  const bool collapsed = !status && step > 0 && !averaged && r->now.collapsed && !r->before.collapsed;
  if (collapsed) r->run.over = ++r->measured.n_collapsed >= MAX_COLLAPSED;
  if (!status) status = show_figures(r, step, averaged, score, is_best, error);
  if (!isnan(score) && (!has_kept || score > r->measured.highest)) r->measured.highest = score;
  if (is_best) *better = true, r->keeps_average = averaged > 0;
  if (is_best) r->measured.best_score = score, r->measured.best_mse = mse, r->measured.averaged = averaged;
  return status;
}

static cq_status evaluate_encoder(bool *better, void *context, cq_error *error) {
  cq_training *r = context;
  *better = false;
  cq_status status = cq_trainer_settle(r->trainer, error);
  if (!status) status = measure_encoder(better, r, 0, error);
  if (status || !has_average(r) || r->run.over) return status;
  status = swap_average(r, error);
  if (!status) status = measure_encoder(better, r, r->average.n, error);
  const cq_status back = swap_average(r, status ? NULL : error);
  return status ? status : back;
}

static cq_status keep_encoder(void *context, const char *directory, cq_error *error) {
  cq_training *r = context;
  if (r->keeps_average) cq_average_swap(&r->average, r->ctx);
  const cq_status status = cq_encoder_save(r->encoder, directory, true, NULL, error);
  if (r->keeps_average) cq_average_swap(&r->average, r->ctx);
  return status;
}

/* ---- the end ---- */

static cq_status show_change(cq_training *r, uint64_t step, cq_error *error) {
  cq_builder text = {0};
  cq_builder_printf(&text, "before training -> kept model (step %llu", (unsigned long long)step);
  if (r->measured.averaged)
    cq_builder_printf(&text, ", mean of %llu evaluations' weights", (unsigned long long)r->measured.averaged);
  cq_builder_text(&text, ")\n");
  cq_dev_change(&text, &r->dev, &r->before, &r->now);
  cq_dev_risen(&text, &r->dev, &r->before, &r->now);
  const cq_status status = text.failed ? cq_fail_memory(error, "table") : CQ_OK;
  if (!status) cq_training_tell(r, "evaluate", r->run.stage.n_steps, r->run.stage.n_steps, text.data);
  cq_builder_free(&text);
  return status;
}

static cq_training_result result_of(const cq_training *r) {
  const cq_run_state *end = &r->run.state;
  return (cq_training_result){.steps = end->step,
                              .best_step = end->has_best ? end->best_step : end->step,
                              .final_loss = end->loss,
                              .best_score = end->has_best ? r->measured.best_score : NAN,
                              .collapsed = r->run.over,
                              .averaged = r->measured.averaged};
}

/* Writes the kept model with its card. */
static cq_status finish_training(void *context, const char *best, cq_error *error) {
  cq_training *r = context;
  cq_encoder *kept = NULL;
  cq_builder card = {0};
  cq_status status = best ? cq_encoder_open_any(&kept, best, NULL, error) : CQ_OK;
  const cq_encoder *model = best ? kept : r->encoder;
  if (!status && has_dev_sets(r)) {
    cq_dev_figures_free(&r->now);
    status = cq_dev_evaluate(&r->now, &r->dev, model, r->teacher, r->ctx, error);
  }
  const uint64_t step = best ? r->run.state.best_step : r->run.state.step;
  if (!status && r->has_before && step > 0) status = show_change(r, step, error);
  if (!status) {
    cq_model_card_write(&card, r, step);
    cq_builder_bytes(&card, r->task.card_end.data, r->task.card_end.n);
    status = card.failed ? cq_fail_memory(error, "model card") : CQ_OK;
  }
  if (!status) status = cq_encoder_save(model, r->o->output, r->o->replace || r->run.work.under_way, card.data, error);
  const cq_training_result result = result_of(r);
  if (!status && r->task.done) status = cq_file_write(r->task.done, &result, sizeof result, error);
  cq_builder_free(&card);
  cq_encoder_free(kept);
  return status;
}

/* ---- the whole ---- */

cq_status cq_training_open(cq_training *r, const cq_training_options *o, const cq_training_task *task, cq_context *ctx,
                           cq_error *error) {
  const cq_run_options options = {.output = o->output,
                                  .log_path = o->log_path,
                                  .resume = o->resume,
                                  .replace = o->replace,
                                  .checkpoint_every = o->checkpoint_every,
                                  .schedule = o->schedule,
                                  .learning_rate = o->learning_rate,
                                  .table_learning_rate = o->embedding_learning_rate,
                                  .ranks = o->ranks,
                                  .narrow_exchange = o->exchange == CQ_TRAINING_BF16,
                                  .shard_tables = o->shard_tables};
  const cq_run_task stages = {.n_stages = 1,
                              .begin = begin_training,
                              .update = update_encoder,
                              .evaluate = evaluate_encoder,
                              .keep = keep_encoder,
                              .end = end_training,
                              .finish = finish_training,
                              .collect = collect_training,
                              .save = save_training,
                              .tell = cq_training_tell,
                              .context = r};
  *r = (cq_training){.ctx = ctx, .task = *task, .started = cq_seconds(CLOCK_MONOTONIC)};
  r->options = *o;
  r->o = o = &r->options;
  if (o->best_by == CQ_BEST_AUTO)
    r->options.best_by = o->n_dev ? CQ_BEST_TRANSLATION : o->n_sts ? CQ_BEST_STS : CQ_BEST_LAST;
  cq_status status = cq_group_check(&cq_group_training, o, error); /* without a struct of its own, too */
  if (!status) status = cq_run_open(&r->run, &options, &stages, error);
  return status ? status : cq_dev_sets_read(&r->dev, o, error);
}

void cq_training_close(cq_training *r) {
  cq_run_close(&r->run);
  cq_dev_figures_free(&r->before);
  cq_dev_figures_free(&r->now);
  cq_trainer_free(r->trainer);
  cq_average_free(&r->average);
  cq_encoder_free(r->encoder);
  cq_dev_sets_free(&r->dev);
}

uint64_t cq_training_steps(const cq_training *r, uint64_t n_pairs) {
  return r->o->steps ? r->o->steps : steps_of_epochs(r->o, n_pairs);
}

static int a_tenth(uint64_t n_steps) {
  return (int)(n_steps >= 10 ? n_steps / 10 : 1);
}

cq_status cq_training_run(cq_training *r, uint64_t n_pairs, cq_training_result *result, cq_error *error) {
  cq_run_identity identity = {0};
  r->n_pairs = n_pairs;
  r->n_steps = cq_training_steps(r, n_pairs);
  cq_status status = identify_training(&identity, r, error);
  if (r->o->average <= 1) r->run.o.time = r->task.time; /* else it must be known which evaluations are the last */
  r->spreads = r->run.o.time.deadline > 0 && r->o->evaluate_every < 0;
  if (r->o->evaluate_every < 0) r->options.evaluate_every = a_tenth(r->n_steps);
  if (r->o->checkpoint_every < 0) r->run.o.checkpoint_every = r->spreads ? 0 : a_tenth(r->n_steps);
  /* Evaluates the untrained encoder for the card's "before", also on resuming, before weights are restored. */
  if (!status && has_dev_sets(r)) {
    status = cq_dev_evaluate(&r->before, &r->dev, r->encoder, r->teacher, r->ctx, error);
    r->has_before = !status;
  }
  if (!status) status = cq_run_start(&r->run, error);
  if (!status) status = cq_run_all(&r->run, &identity, error);
  if (!status && result) *result = result_of(r);
  cq_run_identity_free(&identity);
  return status;
}
