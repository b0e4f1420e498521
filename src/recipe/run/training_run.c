/* The loop of a run: updates, evaluations and checkpoints. Before it begins, several ranks check that they agree. See
 * training_run.h. */
#include "recipe/run/training_run.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "calque/version.h"
#include "tensor/kernels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- getting ready --- */

cq_status cq_run_open(cq_run *r, const cq_run_options *options, const cq_run_task *task, cq_error *error) {
  *r = (cq_run){.o = *options, .task = *task, .started = cq_seconds(CLOCK_MONOTONIC)};
  r->leads = cq_ranks_rank(options->ranks) == 0;
  cq_status status = r->leads ? cq_work_directory_open(&r->work, options->output, options->log_path, options->resume,
                                                       options->replace, error)
                              : cq_work_directory_follow(&r->work, options->output, error);
  cq_messages *messages = cq_ranks_messages(options->ranks);
  if (!status && messages)
    status = cq_tree_exchange_new(&r->exchange, messages, options->narrow_exchange, cq_kernels_best(), error);
  return status ? status : cq_ranks_broadcast(options->ranks, &r->work.under_way, sizeof r->work.under_way, error);
}

void cq_run_close(cq_run *r) {
  cq_status ignored = cq_run_log_close(&r->log, NULL); /* already reported, or closed */
  (void)ignored;
  cq_checkpoint_close(r->resumed);
  cq_work_directory_close(&r->work);
  cq_tree_exchange_free(r->exchange);
}

const cq_exchange *cq_run_exchange(const cq_run *r) {
  return r->exchange ? cq_tree_exchange_of(r->exchange) : &cq_exchange_local;
}

cq_status cq_run_start(cq_run *r, cq_error *error) {
  return r->leads ? cq_work_directory_begin(&r->work, error) : CQ_OK;
}

void cq_run_average(double *mean, double value) {
  *mean = *mean == 0 ? value : 0.98 * *mean + 0.02 * value;
}

double cq_run_learning_rate(const void *run, uint64_t step, bool table) {
  const cq_run *r = run;
  const double peak = table && r->o.table_learning_rate > 0 ? r->o.table_learning_rate : r->o.learning_rate;
  return peak * cq_schedule_factor(&r->plan, step);
}

/* --- state --- */

static cq_status save_clock(cq_run *r, cq_checkpoint_writer *w, cq_error *error) {
  r->clock.left = r->clock.time.deadline - cq_seconds(CLOCK_MONOTONIC);
  const cq_status status = cq_checkpoint_writer_section(w, "clock", &r->clock, sizeof r->clock, error);
  return status ? status : cq_checkpoint_writer_section(w, "schedule", &r->plan, sizeof r->plan, error);
}

static cq_status restore_clock(cq_run *r, cq_error *error) {
  cq_status status = cq_checkpoint_read(&r->clock, sizeof r->clock, r->resumed, "clock", error);
  if (!status) status = cq_checkpoint_read(&r->plan, sizeof r->plan, r->resumed, "schedule", error);
  const double more = r->o.time.budget - r->clock.time.budget;
  r->clock.time = (cq_run_time){cq_seconds(CLOCK_MONOTONIC) + r->clock.left + more, r->o.time.budget};
  r->stage.n_steps = r->plan.n_steps;
  return status;
}

static cq_status save_run(cq_run *r, const cq_run_identity *identity, cq_error *error) {
  cq_status status = r->task.collect ? r->task.collect(r->task.context, error) : CQ_OK;
  if (status || !r->leads) return status;
  const double begun = cq_seconds(CLOCK_MONOTONIC);
  const cq_slice lines = {identity->lines.data, identity->lines.n};
  cq_checkpoint_writer *w;
  status = cq_run_log_length(&r->state.log_bytes, &r->log, error);
  if (!status) status = cq_checkpoint_writer_open(&w, r->work.checkpoint, error);
  if (status) return status;
  status = cq_checkpoint_writer_section(w, "identity", lines.data, lines.n, error);
  if (!status) status = cq_checkpoint_writer_section(w, "run", &r->state, sizeof r->state, error);
  if (!status && r->clock.time.deadline > 0) status = save_clock(r, w, error);
  if (!status) status = r->task.save(r->task.context, w, error);
  if (!status)
    status = cq_checkpoint_writer_commit(w, error);
  else
    cq_checkpoint_writer_abort(w);
  r->saving = cq_seconds(CLOCK_MONOTONIC) - begun;
  return status;
}

static cq_status open_checkpoint(cq_run *r, const cq_run_identity *identity, cq_error *error) {
  size_t n = 0;
  cq_status status = cq_checkpoint_open(&r->resumed, r->work.checkpoint, error);
  if (status) return status;
  const char *then = cq_checkpoint_find(&n, r->resumed, "identity");
  status = cq_run_identity_compare(identity, then, n, r->work.path, error);
  if (!status) status = cq_checkpoint_read(&r->state, sizeof r->state, r->resumed, "run", error);
  if (!status && r->state.stage >= (uint64_t)r->task.n_stages)
    status = cq_fail_file(error, CQ_ERR_FORMAT, r->work.checkpoint, "is in stage %llu of %d",
                          (unsigned long long)r->state.stage + 1, r->task.n_stages);
  return status;
}

/* All ranks must agree on --shard-tables. */
static cq_status compare_tables(const cq_run *r, cq_error *error) {
  bool shard_tables = r->o.shard_tables;
  cq_status status = cq_ranks_broadcast(r->o.ranks, &shard_tables, sizeof shard_tables, error);
  if (status || shard_tables == r->o.shard_tables) return status;
  return cq_fail(error, CQ_ERR_ARGUMENT, "rank 0 %s, this rank %s",
                 shard_tables ? "shards tables" : "keeps tables whole", shard_tables ? "does not" : "shards them");
}

/* All ranks must be about to do the same. */
static cq_status compare_ranks(const cq_run *r, const cq_run_identity *identity, cq_error *error) {
  static const char version[] = "calque " CQ_VERSION;
  const size_t n_version = sizeof version - 1;
  cq_ranks *ranks = r->o.ranks;
  cq_builder own = {0};
  char *first = NULL;
  size_t n = 0;
  if (cq_ranks_count(ranks) == 1) return CQ_OK;
  cq_builder_text(&own, version);
  cq_builder_bytes(&own, identity->lines.data, identity->lines.n);
  cq_status status = own.failed ? cq_fail_memory(error, "a run's options")
                                : cq_ranks_first_text(&first, &n, ranks, (cq_slice){own.data, own.n}, error);
  if (!status && (n < n_version || memcmp(first, version, n_version) != 0))
    status = cq_fail(error, CQ_ERR_ARGUMENT, "rank 0 has another version of calque than " CQ_VERSION);
  if (!status) status = cq_run_identity_compare(identity, first + n_version, n - n_version, "rank 0", error);
  if (!status) status = compare_tables(r, error);
  cq_free(first);
  cq_builder_free(&own);
  return status ? status : cq_ranks_meet(ranks, NULL, error);
}

/* --- what is not finite --- */

static cq_status fail_limit(const cq_run *r, const char *why, cq_error *error) {
  return cq_fail(error, CQ_ERR_LIMIT, "not finite at step %llu (%s): %s: lower the learning rate",
                 (unsigned long long)r->state.step + 1, r->stage.name, why);
}

/* Checks for NaN and infinity before weights are evaluated, kept or saved: the last update may have diverged. */
static cq_status check_weights(const cq_run *r, cq_error *error) {
  const cq_params *params = r->stage.params;
  for (size_t i = 0; i < params->n; i++) {
    const cq_param *p = params->items[i];
    if (!p->value) continue; /* narrow, which is frozen */
    const int64_t n = cq_param_floats(p);
    double sum = 0; /* of zeros, unless something is not a number */
    for (int64_t j = 0; j < n; j++) sum += (double)p->value[j] * 0;
    if (isnan(sum))
      return cq_fail(error, CQ_ERR_LIMIT, "%s: weights that are not numbers after step %llu (%s)%s", p->name,
                     (unsigned long long)r->state.step, r->stage.name,
                     r->state.n_steps ? ": lower the learning rate" : ": the model is broken");
  }
  return CQ_OK;
}

/* --- stages --- */

static bool tell_run(cq_run *r, const char *text) {
  return r->task.tell(r->task.context, r->stage.name, r->state.step, r->stage.n_steps, text);
}

static cq_status update_run(cq_run *r, cq_error *error) {
  const double begun = cq_seconds(CLOCK_MONOTONIC);
  cq_error why = {0};
  double loss = 0;
  const cq_status status = r->task.update(&loss, r->task.context, &why);
  if (status == CQ_ERR_LIMIT) return fail_limit(r, why.message, error);
  if (status && error) *error = why;
  if (status) return status;
  r->state.step++, r->state.n_steps++;
  cq_run_average(&r->state.loss, loss);
  cq_run_clock_step(&r->clock, cq_seconds(CLOCK_MONOTONIC) - begun);
  if (!tell_run(r, NULL)) r->stopped = true;
  return CQ_OK;
}

/* A single-stage run that has kept a model ends with that model. Ranks may disagree on this, which is an error. */
static cq_status end_with_best(cq_run *r, cq_status status, const cq_error *why, cq_error *error) {
  char text[600];
  if (status == CQ_ERR_LIMIT && r->state.has_best && r->task.n_stages == 1 && cq_ranks_count(r->o.ranks) == 1) {
    cq_snprintf(text, sizeof text, "%s; the run ends here, with the best model so far: that after step %llu",
                why->message, (unsigned long long)r->state.best_step);
    r->over = true;
    tell_run(r, text);
    return CQ_OK;
  }
  if (status == CQ_ERR_LIMIT)
    return cq_fail(error, status, "%s; what is left of the run is in %s", why->message, r->work.path);
  if (status && error) *error = *why;
  return status;
}

static cq_status evaluate_run(cq_run *r, cq_error *error) {
  bool better = false;
  cq_status status = r->task.evaluate(&better, r->task.context, error);
  r->state.n_waited++;
  if (status || !better) return status;
  if (!r->leads) { /* rank 0 decides, from the same figures */
    r->state.has_best = 1, r->state.best_step = r->state.n_steps, r->state.n_waited = 0;
    return CQ_OK;
  }
  r->state.has_best = 1, r->state.best_step = r->state.n_steps, r->state.n_waited = 0;
  return r->task.keep(r->task.context, r->work.best, error);
}

static bool is_over(const cq_run *r) {
  const bool waits_too_long = r->o.patience > 0 && r->state.n_waited >= (uint64_t)r->o.patience;
  return r->state.step >= r->stage.n_steps || waits_too_long || r->over;
}

/* Evaluates, and informs all ranks if one of them has to stop. */
static cq_status evaluate_and_meet(cq_run *r, cq_error *error) {
  const cq_status status = evaluate_run(r, error);
  return status ? status : cq_ranks_meet(r->o.ranks, &r->stopped, error);
}

/* Moves the end of the stage to where the time will be over. Rank 0 decides. */
static cq_status follow_clock(cq_run *r, cq_error *error) {
  cq_run_clock_plan(&r->clock, r->state.step, r->stage.n_steps, cq_seconds(CLOCK_MONOTONIC));
  const cq_status status = cq_ranks_broadcast(r->o.ranks, &r->clock.next, sizeof r->clock.next, error);
  if (status || r->clock.next.end == r->stage.n_steps) return status;
  r->stage.n_steps = r->clock.next.end;
  cq_schedule_move_end(&r->plan, r->state.step, r->stage.n_steps);
  return CQ_OK;
}

/* Enters a pause that has begun at this time. */
static cq_status note_pause(cq_run *r, double begun, cq_error *error) {
  if (r->clock.time.deadline == 0) return CQ_OK;
  cq_run_clock_pause(&r->clock, r->state.step, cq_seconds(CLOCK_MONOTONIC) - begun + r->saving);
  return follow_clock(r, error);
}

/* Evaluates and saves if one is due after an update. */
static cq_status pause_run(cq_run *r, const cq_run_identity *identity, cq_error *error) {
  const uint64_t step = r->state.step, every = r->stage.evaluate_every;
  const double begun = cq_seconds(CLOCK_MONOTONIC);
  const bool last = step >= r->stage.n_steps, spread = r->stage.spreads && step >= r->clock.next.pause;
  const bool measures = r->stage.evaluates && (last || spread || (every > 0 && step % every == 0));
  const bool saves = last || spread || r->stopped || cq_is_due(step, r->o.checkpoint_every);
  cq_status status = measures || saves ? check_weights(r, error) : CQ_OK;
  if (!status && measures) status = evaluate_and_meet(r, error);
  if (!status && (measures || spread) && !last) status = note_pause(r, begun, error); /* before the state is saved */
  return status || !(saves || r->stopped || is_over(r)) ? status : save_run(r, identity, error);
}

/* A resumed run may have another time. If it is over, the weights are evaluated as after a last step. */
static cq_status resume_clock(cq_run *r, const cq_run_identity *identity, cq_error *error) {
  if (r->clock.time.deadline == 0 || is_over(r)) return CQ_OK;
  const cq_status status = follow_clock(r, error);
  return status || !is_over(r) ? status : pause_run(r, identity, error);
}

static cq_status do_steps(cq_run *r, const cq_run_identity *identity, cq_error *error) {
  const double begun = cq_seconds(CLOCK_MONOTONIC);
  cq_status status = check_weights(r, error);
  if (!status && r->stage.evaluates_first && r->state.step == 0) status = evaluate_and_meet(r, error);
  if (!status) status = r->state.step == 0 ? note_pause(r, begun, error) : resume_clock(r, identity, error);
  while (!status && !r->stopped && !is_over(r)) {
    status = update_run(r, error);
    if (!status) status = cq_ranks_meet(r->o.ranks, &r->stopped, error);
    if (!status && cq_run_clock_is_due(&r->clock, r->state.step)) status = follow_clock(r, error);
    if (!status) status = pause_run(r, identity, error);
  }
  return status;
}

static cq_status train_stage(cq_run *r, const cq_run_identity *identity, cq_error *error) {
  cq_error why = {0};
  const cq_status status = do_steps(r, identity, &why);
  return end_with_best(r, status, &why, error);
}

static cq_status begin_run_stage(cq_run *r, int number, cq_error *error) {
  r->stage = (cq_run_stage){0};
  r->over = false;
  if (!r->resumed) r->state.stage = (uint64_t)number, r->state.step = r->state.n_waited = 0;
  cq_status status = r->task.begin(&r->stage, r->task.context, number, r->resumed, error);
  r->plan = (cq_schedule_plan){.decay = r->o.schedule, .n_steps = r->stage.n_steps, .n_warmup = r->stage.n_warmup};
  r->clock = (cq_run_clock){.time = r->o.time, .most = r->stage.most_steps};
  if (!status && r->resumed && r->clock.time.deadline > 0) status = restore_clock(r, error);
  r->started = cq_seconds(CLOCK_MONOTONIC);
  r->first_step = r->state.step;
  if (!r->resumed && r->stage.n_steps > 0) r->state.loss = 0; /* a stage without steps has no loss */
  if (!status && r->resumed) {
    char text[96];
    snprintf(text, sizeof text, "resumed at step %llu of %llu", (unsigned long long)r->state.step,
             (unsigned long long)r->stage.n_steps);
    tell_run(r, text);
  }
  cq_checkpoint_close(r->resumed);
  r->resumed = NULL;
  return status;
}

static cq_status run_stage(cq_run *r, int number, const cq_run_identity *identity, cq_error *error) {
  cq_status status = begin_run_stage(r, number, error);
  if (status || r->stage.n_steps == 0) return status;
  status = train_stage(r, identity, error);
  if (!status) status = r->task.end(r->task.context, error);
  if (status || !r->stopped || (is_over(r) && number + 1 == r->task.n_stages)) return status;
  return cq_fail(error, CQ_ERR_STOPPED, "stopped at step %llu of %llu (%s); resume to continue",
                 (unsigned long long)r->state.step, (unsigned long long)r->stage.n_steps, r->stage.name);
}

cq_status cq_run_all(cq_run *r, const cq_run_identity *identity, cq_error *error) {
  cq_status status = identity->lines.failed ? cq_fail_memory(error, "a run's options") : CQ_OK;
  if (!status) status = compare_ranks(r, identity, error);
  if (!status && r->work.under_way) status = open_checkpoint(r, identity, error);
  if (!status && r->leads) status = cq_run_log_open(&r->log, r->work.log, r->state.log_bytes, error);
  for (int i = (int)r->state.stage; !status && i < r->task.n_stages; i++) status = run_stage(r, i, identity, error);
  if (status || !r->leads) return status;
  if (!status) status = r->task.finish(r->task.context, r->state.has_best ? r->work.best : NULL, error);
  if (!status) status = cq_run_log_close(&r->log, error);
  return status ? status : cq_work_directory_finish(&r->work, r->o.output, !r->o.log_path, error);
}
