/* Multilingual knowledge distillation, put together.
 *
 *   files -> pairs -> batches of (source, translation) -> student -> MSE to teacher(source) on both -> AdamW
 *               \-> distinct sources -> teacher, once -> vectors on disk
 *
 * Work in progress lies in OUTPUT.work (work_directory.h).
 *
 * Source: Reimers & Gurevych 2020, section 2. */
#include "calque/distill.h"

#include "base/checksum.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "model/modules.h"
#include "recipe/cached_encoder.h"
#include "recipe/distill_card.h"
#include "recipe/distill_eval.h"
#include "recipe/run_log.h"
#include "recipe/work_directory.h"
#include "train/sampler.h"
#include "train/schedule.h"
#include "train/trainer.h"

#include <math.h>
#include <string.h>

cq_distill_options cq_distill_default_options(void) {
  return (cq_distill_options){
      .max_characters = 250,
      .batch_pairs = 64,
      .accumulate = 1,
      .epochs = 5,
      .learning_rate = 2e-5,
      .weight_decay = 0.01,
      .adam_beta1 = 0.9,
      .adam_beta2 = 0.999,
      .adam_eps =
          1e-8, /* not the paper's 1e-6: a unit-length teacher makes gradients so small that it would damp them */
      .clip_norm = 1,
      .warmup_steps = 0.1,
      .schedule = CQ_SCHEDULE_LINEAR,
      .dropout = -1,
      .dim_match = CQ_DIM_EQUAL,
      .evaluate_every = 1000,
      .checkpoint_every = 1000,
      .best_by = CQ_BEST_TRANSLATION,
      .n_shards = 4,
      .seed = 1,
  };
}

/* What a checkpoint says besides the trainer's state. Fixed-size numbers only: it is stored as it lies. */
typedef struct progress_state {
  uint64_t options_checksum, step, best_step, log_bytes;
  double best_score;
  uint64_t has_best;
} progress_state;

typedef struct run {
  const cq_distill_options *o;
  cq_pool *pool;
  cq_parallel data;
  cq_dev_sets dev;
  cq_cached_encoder teacher;
  cq_encoder *student;
  cq_sampler sampler;
  cq_trainer *trainer;
  cq_schedule_plan plan;
  uint64_t n_steps;
  cq_pair *pairs;
  cq_example *examples;
  cq_work_directory work;
  cq_run_log log;
  progress_state state;
  cq_dev_figures before, now;
  bool has_before, stopped;
  double started, smooth_loss, gradient_norm; /* seconds; a running mean for people; the last update's */
  uint64_t first_step, sentences, truncated;
} run;

/* ---- news ---- */

static bool tell(run *r, const char *phase, uint64_t step, uint64_t n, const char *text) {
  if (!r->o->progress) return true;
  const double elapsed = cq_seconds(CLOCK_MONOTONIC) - r->started;
  const uint64_t done = step - (strcmp(phase, "train") == 0 ? r->first_step : 0);
  cq_distill_progress p = {.phase = phase,
                           .step = step,
                           .n_steps = n,
                           .loss = r->smooth_loss,
                           .gradient_norm = r->gradient_norm,
                           .text = text};
  p.seconds_left = done ? elapsed / (double)done * (double)(n - step) : 0;
  p.sentences_per_second = elapsed > 0 ? (double)r->sentences / elapsed : 0;
  if (r->n_steps) {
    p.learning_rate = r->o->learning_rate * cq_schedule_factor(&r->plan, step ? step : 1);
    p.epoch = (double)step * r->o->batch_pairs * r->o->accumulate / (double)cq_parallel_pairs(&r->data);
  }
  return r->o->progress(r->o->progress_context, &p);
}

static void tell_notice(void *context, const char *text) {
  tell(context, "data", 0, 0, text);
}

static bool tell_teacher(void *context, uint64_t done, uint64_t n) {
  run *r = context;
  r->sentences = done;
  return tell(r, "teacher", done, n, NULL);
}

/* ---- options ---- */

enum { MOST_EPOCHS = 1000000 };

/* Weights mean something only when sets are drawn from. */
static bool draws_by_weight(const cq_distill_options *o) {
  bool weighted = o->balanced;
  for (size_t i = 0; i < o->n_train; i++) weighted |= o->train[i].weight != 1;
  return weighted;
}

static cq_status check_options(const cq_distill_options *o, cq_error *error) {
  if (!o->teacher || !o->student || !o->output)
    return cq_fail(error, CQ_ERR_ARGUMENT, "a teacher, a student and an output directory are needed");
  if (o->n_train == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "at least one file to train on is needed");
  if (o->batch_pairs < 1 || o->batch_pairs > 1 << 20)
    return cq_fail(error, CQ_ERR_ARGUMENT, "batch_pairs is %d, expected 1 to %d", o->batch_pairs, 1 << 20);
  if (!(o->learning_rate > 0) || o->embedding_learning_rate < 0)
    return cq_fail(error, CQ_ERR_ARGUMENT, "the learning rate is %g, expected more than 0", o->learning_rate);
  if (o->steps == 0 && !(o->epochs > 0 && o->epochs <= MOST_EPOCHS))
    return cq_fail(error, CQ_ERR_ARGUMENT, "%g epochs, expected more than 0 and at most %d, or a number of steps",
                   o->epochs, MOST_EPOCHS);
  if (!(o->adam_beta1 >= 0 && o->adam_beta1 < 1 && o->adam_beta2 >= 0 && o->adam_beta2 < 1 && o->adam_eps > 0))
    return cq_fail(error, CQ_ERR_ARGUMENT,
                   "Adam's beta1, beta2, eps are %g, %g, %g; expected [0, 1), [0, 1), more than 0", o->adam_beta1,
                   o->adam_beta2, o->adam_eps);
  if (o->n_shards < 1 || o->n_shards > CQ_MAX_SHARDS)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%d shards, expected 1 to %d", o->n_shards, CQ_MAX_SHARDS);
  if (o->accumulate < 1)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%d batches to accumulate, expected at least 1", o->accumulate);
  if (o->dropout >= 1) return cq_fail(error, CQ_ERR_ARGUMENT, "the dropout is %g, expected below 1", o->dropout);
  if (!(o->warmup_steps >= 0 && o->warmup_steps < 0x1p53) || o->clip_norm < 0 || o->weight_decay < 0 ||
      o->evaluate_every < 0 || o->checkpoint_every < 0)
    return cq_fail(error, CQ_ERR_ARGUMENT, "warm-up, clipping, weight decay and intervals cannot be negative");
  if (o->no_shuffle && draws_by_weight(o))
    return cq_fail(error, CQ_ERR_ARGUMENT, "file order and balanced drawing, or weights, exclude each other");
  const bool needs_dev = o->best_by == CQ_BEST_TRANSLATION || o->best_by == CQ_BEST_MSE;
  if ((needs_dev && o->n_dev == 0) || (o->best_by == CQ_BEST_STS && o->n_sts == 0))
    return cq_fail(error, CQ_ERR_ARGUMENT, "choosing the best model by %s needs %s files; or keep the last",
                   o->best_by == CQ_BEST_TRANSLATION ? "translation"
                   : o->best_by == CQ_BEST_MSE       ? "MSE"
                                                     : "STS",
                   o->best_by == CQ_BEST_STS ? "STS" : "development");
  return CQ_OK;
}

static uint64_t checksum_rows(const cq_rows *rows, uint64_t sum) {
  for (size_t i = 0; i < rows->n; i++) {
    for (int c = 0; c < 2; c++) sum = cq_checksum(rows->column[c][i].data, rows->column[c][i].n, sum);
    if (rows->gold) sum = cq_checksum(&rows->gold[i], sizeof *rows->gold, sum);
  }
  return sum;
}

/* Everything that must be the same for a run to be gone on with. */
static cq_status checksum_options(uint64_t *out, const run *r, cq_error *error) {
  const cq_distill_options *o = r->o;
  char student[33], teacher[33];
  cq_builder b = {0};
  cq_status status = cq_encoder_fingerprint(student, r->student, error);
  if (!status) status = cq_encoder_fingerprint(teacher, r->teacher.encoder, error);
  if (status) return status;
  cq_builder_printf(
      &b,
      "%s %s %d %d %d %d %d %d %d %.17g %llu %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %d %.17g %d %d %d %d %llu",
      student, teacher, o->max_characters, o->max_seq_length, o->max_sentences, o->no_shuffle, o->balanced,
      o->batch_pairs, o->accumulate, o->epochs, (unsigned long long)o->steps, o->learning_rate,
      o->embedding_learning_rate, o->weight_decay, o->adam_beta1, o->adam_beta2, o->adam_eps, o->clip_norm,
      o->warmup_steps, (int)o->schedule, o->dropout, (int)o->dim_match, o->evaluate_every, (int)o->best_by, o->n_shards,
      (unsigned long long)o->seed);
  for (size_t i = 0; i < r->data.n_sets; i++)
    cq_builder_printf(&b, "|%s %.17g %u", r->data.sets[i].path, r->data.sets[i].weight, r->data.sets[i].n_pairs);
  uint64_t text = cq_parallel_checksum(&r->data, 0);
  for (size_t i = 0; i < o->n_dev; i++) text = checksum_rows(&r->dev.parallel[i].rows, text);
  for (size_t i = 0; i < o->n_sts; i++) text = checksum_rows(&r->dev.sts[i].rows, text);
  cq_builder_printf(&b, "|%llu %s", (unsigned long long)text, cq_simd_level()); /* another level gives other bits */
  if (b.failed)
    status = cq_fail_memory(error, "options");
  else
    *out = cq_checksum(b.data, b.n, 0);
  cq_builder_free(&b);
  return status;
}

/* ---- data ---- */

static cq_status load_data(run *r, cq_error *error) {
  const cq_distill_options *o = r->o;
  const cq_parallel_options options = {
      .skip_bad = o->skip_bad, .max_characters = o->max_characters, .max_entries = o->max_sentences};
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < o->n_train; i++) {
    status = cq_parallel_add(&r->data, o->train[i].path, o->train[i].label, o->train[i].weight, &options, error);
    if (status) break;
    char text[CQ_PARALLEL_SUMMARY];
    cq_parallel_summary(text, &r->data.sets[r->data.n_sets - 1]);
    if (!tell(r, "data", i + 1, o->n_train, text)) status = cq_fail(error, CQ_ERR_STOPPED, "stopped while reading");
  }
  if (!status) status = cq_dev_sets_read(&r->dev, o, error);
  return status;
}

static cq_status prepare_teacher(run *r, cq_error *error) {
  cq_status status = CQ_OK;
  r->started = cq_seconds(CLOCK_MONOTONIC);
  status = cq_cached_encoder_prepare(&r->teacher, r->data.sources, r->data.n_sources, r->pool, tell_teacher, r, error);
  for (size_t i = 0; !status && i < r->dev.n_parallel; i++)
    status = cq_cached_encoder_prepare(&r->teacher, r->dev.parallel[i].rows.column[0], r->dev.parallel[i].rows.n,
                                       r->pool, NULL, NULL, error);
  return status ? status : cq_cached_encoder_map(&r->teacher, error);
}

/* ---- the student ---- */

/* A Dense from the student's width to the teacher's; where the student ends with vectors of length 1, it still does. */
static cq_status append_projection(run *r, cq_error *error) {
  cq_encoder *e = r->student;
  cq_module *dense, *normalize = NULL;
  cq_random random = cq_random_seeded(r->o->seed, 0x0de15e);
  const bool normalized = e->modules[e->n_modules - 1]->type == &cq_normalize_type;
  if (normalized) e->n_modules--; /* it has no parameters; a wider one follows */
  char *path = cq_arena_printf(&e->arena, "%zu_Dense", e->n_modules);
  char *end = cq_arena_printf(&e->arena, "%zu_Normalize", e->n_modules + 1);
  if (!path || !end) return cq_fail_memory(error, "projection");
  cq_status status =
      cq_dense_new(&dense, cq_encoder_dim(e), r->teacher.dim, CQ_IDENTITY, path, &random, &e->arena, error);
  if (!status) status = cq_encoder_append(e, dense, error);
  if (!status && normalized) status = cq_normalize_new(&normalize, r->teacher.dim, end, &e->arena, error);
  if (!status && normalized) status = cq_encoder_append(e, normalize, error);
  return status ? status : cq_encoder_pack(e, r->pool, false, error);
}

static cq_status open_student(run *r, cq_error *error) {
  const cq_distill_options *o = r->o;
  const cq_encoder_options options = {.notice = tell_notice, .notice_context = r};
  cq_status status = cq_encoder_open(&r->student, o->student, &options, error);
  if (!status && o->max_seq_length > 0) status = cq_encoder_limit(r->student, o->max_seq_length, error);
  if (status) return status;
  const int dim = cq_encoder_dim(r->student);
  switch (o->dim_match) {
  case CQ_DIM_PROJECT: return dim == r->teacher.dim ? CQ_OK : append_projection(r, error);
  case CQ_DIM_TRUNCATE:
    if (dim <= r->teacher.dim) return CQ_OK;
    break;
  case CQ_DIM_EQUAL:
    if (dim == r->teacher.dim) return CQ_OK;
    break;
  }
  return cq_fail(error, CQ_ERR_ARGUMENT,
                 "the student %s has %d dimensions, the teacher %s %lld: ask for a projection%s", o->student, dim,
                 o->teacher, (long long)r->teacher.dim, dim < r->teacher.dim ? " or truncation" : "");
}

static double learning_rate(const void *context, uint64_t step, bool table) {
  const run *r = context;
  const double peak = table && r->o->embedding_learning_rate > 0 ? r->o->embedding_learning_rate : r->o->learning_rate;
  return peak * cq_schedule_factor(&r->plan, step);
}

static cq_status make_trainer(run *r, cq_error *error) {
  const cq_distill_options *o = r->o;
  const double pairs_per_step = (double)o->batch_pairs * o->accumulate;
  r->n_steps = o->steps ? o->steps : (uint64_t)ceil(o->epochs * (double)cq_parallel_pairs(&r->data) / pairs_per_step);
  const double warmup = o->warmup_steps < 1 ? o->warmup_steps * (double)r->n_steps : o->warmup_steps;
  r->plan = (cq_schedule_plan){o->schedule, r->n_steps, (uint64_t)warmup};
  for (size_t i = 0; o->dropout >= 0 && i < r->student->n_modules; i++)
    if (r->student->modules[i]->type->set_dropout)
      r->student->modules[i]->type->set_dropout(r->student->modules[i], o->dropout);
  const cq_trainer_options options = {
      .n_shards = o->n_shards,
      .accumulate = o->accumulate,
      .seed = o->seed,
      .dropout = o->dropout != 0,
      .optimizer = {.beta1 = o->adam_beta1,
                    .beta2 = o->adam_beta2,
                    .eps = o->adam_eps,
                    .weight_decay = o->weight_decay,
                    .clip_norm = o->clip_norm,
                    .learning_rate = learning_rate,
                    .context = r},
  };
  const cq_sampling sampling = o->no_shuffle        ? CQ_SAMPLE_IN_ORDER
                               : draws_by_weight(o) ? CQ_SAMPLE_BALANCED
                                                    : CQ_SAMPLE_SHUFFLED;
  r->pairs = cq_alloc_array((size_t)o->batch_pairs, sizeof *r->pairs);
  r->examples = cq_alloc_array((size_t)o->batch_pairs, 2 * sizeof *r->examples);
  if (!r->pairs || !r->examples) return cq_fail_memory(error, "batch");
  cq_status status = cq_sampler_new(&r->sampler, &r->data, sampling, o->seed, error);
  return status ? status : cq_trainer_new(&r->trainer, r->student, r->pool, &options, error);
}

/* ---- state ---- */

static cq_status save_checkpoint(run *r, cq_error *error) {
  cq_checkpoint_writer *w;
  r->state.step = cq_trainer_updates(r->trainer);
  cq_status status = cq_run_log_length(&r->state.log_bytes, &r->log, error);
  if (!status) status = cq_checkpoint_writer_open(&w, r->work.checkpoint, error);
  if (status) return status;
  status = cq_checkpoint_writer_section(w, "distill", &r->state, sizeof r->state, error);
  if (!status) status = cq_trainer_save(r->trainer, w, error);
  if (status) {
    cq_checkpoint_writer_abort(w);
    return status;
  }
  return cq_checkpoint_writer_commit(w, error);
}

static cq_status restore(run *r, cq_error *error) {
  cq_checkpoint *c;
  progress_state found;
  cq_status status = cq_checkpoint_open(&c, r->work.checkpoint, error);
  if (status) return status;
  status = cq_checkpoint_read(&found, sizeof found, c, "distill", error);
  if (!status && found.options_checksum != r->state.options_checksum)
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, r->work.path,
                          "the run under way has other data, models, options or SIMD level");
  if (!status) status = cq_trainer_restore(r->trainer, c, error);
  if (!status) r->state = found;
  cq_checkpoint_close(c);
  return status;
}

static cq_status start_or_resume(run *r, cq_error *error) {
  cq_status status = cq_work_directory_begin(&r->work, error);
  if (!status) status = checksum_options(&r->state.options_checksum, r, error);
  const bool resuming = r->work.under_way;
  if (!status && resuming) status = restore(r, error);
  if (!status) status = cq_run_log_open(&r->log, r->work.log, r->state.log_bytes, error);
  if (!status && resuming) {
    char text[128];
    snprintf(text, sizeof text, "resumed at step %llu of %llu", (unsigned long long)r->state.step,
             (unsigned long long)r->n_steps);
    tell(r, "train", r->state.step, r->n_steps, text);
  }
  return status;
}

/* ---- evaluation ---- */

static double score(const run *r, const cq_dev_figures *f) {
  switch (r->o->best_by) {
  case CQ_BEST_TRANSLATION: return f->mean_translation;
  case CQ_BEST_MSE: return -f->mean_mse;
  case CQ_BEST_STS: return f->mean_sts;
  case CQ_BEST_LAST: return NAN;
  }
  return NAN;
}

static cq_status show_figures(run *r, uint64_t step, cq_error *error) {
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
  if (!status && !tell(r, "evaluate", step, r->n_steps, table.data)) r->stopped = true;
  cq_builder_free(&table);
  return status;
}

/* Measures the student, keeps it when it is the best so far. */
static cq_status evaluate(run *r, uint64_t step, cq_error *error) {
  if (r->dev.n_parallel + r->dev.n_sts == 0) return CQ_OK;
  cq_trainer_settle(r->trainer);
  cq_dev_figures_free(&r->now);
  cq_status status = cq_dev_evaluate(&r->now, &r->dev, r->student, &r->teacher, r->pool, error);
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
  status = cq_encoder_save(r->student, r->work.best, true, NULL, error);
  if (status) return status;
  r->state.has_best = 1;
  r->state.best_score = value;
  r->state.best_step = step;
  return CQ_OK;
}

/* The untrained student, for the card's "before"; of a resumed run too, which has not restored its weights yet. */
static cq_status measure_before(run *r, cq_error *error) {
  if (r->dev.n_parallel + r->dev.n_sts == 0) return CQ_OK;
  cq_status status = cq_dev_evaluate(&r->before, &r->dev, r->student, &r->teacher, r->pool, error);
  r->has_before = !status;
  return status;
}

/* ---- the loop ---- */

static void fill_examples(run *r) {
  const size_t n = (size_t)r->o->batch_pairs;
  cq_sampler_draw(r->pairs, &r->sampler, cq_trainer_batches(r->trainer), n);
  for (size_t i = 0; i < n; i++) {
    const cq_slice source = r->data.sources[r->pairs[i].source];
    const float *target = cq_cached_encoder_vector(&r->teacher, source);
    r->examples[i] = (cq_example){source, target};
    r->examples[n + i] = (cq_example){r->data.targets[r->pairs[i].target], target};
  }
}

/* One update, accumulated batches and all. */
static cq_status one_step(run *r, cq_error *error) {
  cq_step_report report = {0};
  double loss = 0;
  const double begun = cq_seconds(CLOCK_MONOTONIC);
  for (int i = 0; i < r->o->accumulate; i++) {
    fill_examples(r);
    cq_status status = cq_trainer_step(r->trainer, r->examples, 2 * (size_t)r->o->batch_pairs, &report, error);
    if (status) return status;
    loss += report.loss / r->o->accumulate;
    r->truncated += report.n_truncated;
    r->sentences += 2 * (uint64_t)r->o->batch_pairs;
  }
  if (!isfinite(loss) || !isfinite(report.gradient_norm))
    return cq_fail(error, CQ_ERR_LIMIT, "the loss or its gradient is not finite at step %llu: lower the learning rate",
                   (unsigned long long)cq_trainer_updates(r->trainer));
  r->gradient_norm = report.gradient_norm;
  r->smooth_loss = r->smooth_loss > 0 ? 0.98 * r->smooth_loss + 0.02 * loss : loss;
  const uint64_t step = cq_trainer_updates(r->trainer);
  return cq_run_log_write(&r->log,
                          json_pack("{s:s, s:I, s:f, s:f, s:f, s:f}", "type", "step", "step", (json_int_t)step, "loss",
                                    loss, "learning_rate", learning_rate(r, step, false), "gradient_norm",
                                    report.gradient_norm, "seconds", cq_seconds(CLOCK_MONOTONIC) - begun),
                          error);
}

static bool due(uint64_t step, int every) {
  return every > 0 && step % (uint64_t)every == 0;
}

static cq_status train(run *r, cq_error *error) {
  cq_status status = CQ_OK;
  r->started = cq_seconds(CLOCK_MONOTONIC);
  r->sentences = 0;
  r->first_step = cq_trainer_updates(r->trainer);
  if (r->first_step == 0) status = evaluate(r, 0, error);
  while (!status && !r->stopped && cq_trainer_updates(r->trainer) < r->n_steps) {
    status = one_step(r, error);
    if (status) break;
    const uint64_t step = cq_trainer_updates(r->trainer);
    const bool last = step == r->n_steps;
    if (!tell(r, "train", step, r->n_steps, NULL)) r->stopped = true;
    if (last || due(step, r->o->evaluate_every)) status = evaluate(r, step, error);
    if (!status && (last || r->stopped || due(step, r->o->checkpoint_every))) status = save_checkpoint(r, error);
  }
  if (r->truncated) {
    char text[160];
    snprintf(text, sizeof text, "%llu of %llu sentences drawn were longer than the student's %d tokens and cut",
             (unsigned long long)r->truncated, (unsigned long long)r->sentences, r->student->max_seq_length);
    tell(r, "train", cq_trainer_updates(r->trainer), r->n_steps, text);
  }
  if (!status && r->stopped && cq_trainer_updates(r->trainer) < r->n_steps)
    status = cq_fail(error, CQ_ERR_STOPPED, "stopped at step %llu of %llu; resume to go on",
                     (unsigned long long)cq_trainer_updates(r->trainer), (unsigned long long)r->n_steps);
  return status;
}

/* ---- the end ---- */

/* The kept model under its card; the work directory goes when all is in place. */
static cq_status finish(run *r, cq_error *error) {
  cq_encoder *kept = NULL;
  cq_builder card = {0};
  cq_trainer_settle(r->trainer);
  const bool best = r->o->best_by != CQ_BEST_LAST && r->state.has_best;
  cq_status status = best ? cq_encoder_open(&kept, r->work.best, NULL, error) : CQ_OK;
  const cq_encoder *model = best ? kept : r->student;
  if (!status && r->dev.n_parallel + r->dev.n_sts > 0) {
    cq_dev_figures_free(&r->now);
    status = cq_dev_evaluate(&r->now, &r->dev, model, &r->teacher, r->pool, error);
  }
  if (!status) {
    const cq_distill_card facts = {r->o,
                                   &r->data,
                                   &r->dev,
                                   r->has_before ? &r->before : NULL,
                                   &r->now,
                                   r->n_steps,
                                   best ? r->state.best_step : r->n_steps,
                                   draws_by_weight(r->o)};
    cq_distill_card_write(&card, &facts);
    status = card.failed ? cq_fail_memory(error, "model card") : CQ_OK;
  }
  if (!status) status = cq_encoder_save(model, r->o->output, r->o->replace || r->work.under_way, card.data, error);
  cq_builder_free(&card);
  cq_encoder_free(kept);
  return status;
}

static void release(run *r) {
  cq_status ignored = cq_run_log_close(&r->log, NULL); /* already told, or closed */
  cq_work_directory_close(&r->work);
  (void)ignored;
  cq_dev_figures_free(&r->before);
  cq_dev_figures_free(&r->now);
  cq_trainer_free(r->trainer);
  cq_sampler_free(&r->sampler);
  cq_encoder_free(r->student);
  cq_cached_encoder_close(&r->teacher);
  cq_dev_sets_free(&r->dev);
  cq_parallel_free(&r->data);
  cq_free(r->pairs);
  cq_free(r->examples);
}

cq_status cq_distill(const cq_distill_options *options, cq_pool *pool, cq_distill_result *result, cq_error *error) {
  cq_status status = check_options(options, error);
  if (status) return status;
  run *r = cq_alloc_zeroed(sizeof *r);
  if (!r) return cq_fail_memory(error, "distillation");
  r->o = options;
  r->pool = pool;
  r->started = cq_seconds(CLOCK_MONOTONIC);
  status =
      cq_work_directory_open(&r->work, options->output, options->log_path, options->resume, options->replace, error);
  if (!status) status = load_data(r, error);
  if (!status)
    status = cq_cached_encoder_open(&r->teacher, options->teacher, options->cache_directory, tell_notice, r, error);
  if (!status) status = open_student(r, error);
  if (!status) status = prepare_teacher(r, error);
  if (!status) status = measure_before(r, error);
  if (!status) status = make_trainer(r, error);
  if (!status) status = start_or_resume(r, error);
  if (!status) status = train(r, error);
  if (!status) status = finish(r, error);
  if (!status && result)
    *result = (cq_distill_result){r->n_steps, r->state.has_best ? r->state.best_step : r->n_steps, r->smooth_loss,
                                  r->state.has_best ? r->state.best_score : NAN};
  if (!status) status = cq_run_log_close(&r->log, error);
  if (!status) status = cq_work_directory_finish(&r->work, options->output, !options->log_path, error);
  release(r);
  cq_free(r);
  return status;
}
