/* A training command runs until it is done or stopped: SIGINT and SIGTERM end it after a checkpoint, and the message
 * explains how to resume. */
#include "cli/train/training_command.h"
#include "base/utf8.h"
#include "cli/frame/command_ranks.h"
#include "cli/frame/stop.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const cq_option cli_training_options[CLI_TRAINING_N_OPTIONS] = {
    CLI_JSON(cli_training_args, json),
    CLI_THREADS(cli_training_args, threads),
};

/* ---- progress ---- */

static bool watch_training(void *context, const cq_training_progress *p) {
  cli_training *w = context;
  char remark[160] = "", left[24];
  bool training = !strcmp(p->phase, "train");
  bool new_phase = strncmp(w->phase, p->phase, sizeof w->phase - 1) != 0;
  snprintf(w->phase, sizeof w->phase, "%s", p->phase);
  if (p->text && !cli_is_quiet()) {
    size_t n = strlen(p->text);
    cli_progress_clear(&w->line);
    cq_print_text(stderr, (cq_slice){p->text, n});
    if (n == 0 || p->text[n - 1] != '\n') fputc('\n', stderr);
  }
  cli_duration(left, p->seconds_left);
  if (training)
    snprintf(remark, sizeof remark, "epoch %.2f  loss %.6f  %.0f sentences/s  %s left", p->epoch, p->loss,
             p->sentences_per_second, left);
  else if (p->sentences_per_second > 0)
    snprintf(remark, sizeof remark, "%.0f sentences/s  %s left", p->sentences_per_second, left);
  else if (p->seconds_left > 0)
    snprintf(remark, sizeof remark, "%s left", left);
  if (!p->text && (training || p->n_steps)) {
    bool last = p->n_steps && p->step >= p->n_steps;
    cli_progress_draw(&w->line, p->phase, p->step, p->n_steps, remark,
                      (new_phase && w->line.terminal) || (training && last));
  }
  if (cli_stop_asked() && !w->stop_told) {
    cli_progress_clear(&w->line);
    cli_note("stopping after a checkpoint; press Ctrl-C again to stop at once");
    w->stop_told = true;
  }
  return !cli_stop_asked();
}

/* Progress callback of ranks other than 0: silent. */
static bool watch_rank(void *context, const cq_training_progress *p) {
  (void)context, (void)p;
  return true;
}

/* ---- the call ---- */

static int join_ranks(cli_training *t, cq_training_options *own) {
  const int code = cli_ranks_open(&t->ranks);
  if (code) return code;
  own->ranks = t->ranks;
  if (cq_ranks_rank(t->ranks) > 0) own->progress = watch_rank;
  return CLI_OK;
}

int cli_training_begin(cli_training *t, const cli_call *call, const cq_training_options *run) {
  const cli_training_args *args = call->options;
  cq_training_options *own = (cq_training_options *)(uintptr_t)run; /* the call's */
  *t = (cli_training){.call = call, .run = run, .line = cli_progress_start()};
  const int code = cli_check_options(call);
  if (code) return code;
  own->progress = watch_training, own->progress_context = t;
  cli_stop_catch();
  const int opened = cli_open_context(&t->ctx, args->threads);
  return opened ? opened : join_ranks(t, own);
}

static void report_training(const cli_training *t, const cq_training_result *r) {
  const cli_training_args *args = t->call->options;
  if (args->json) {
    cli_json_text(stdout, "{\"output\": ", cq_slice_of(t->run->output));
    printf(", \"steps\": %" PRIu64 ", \"best_step\": %" PRIu64, r->steps, r->best_step);
    if (isfinite(r->final_loss)) printf(", \"final_loss\": %.9g", r->final_loss);
    if (isfinite(r->best_score)) printf(", \"best_score\": %.9g", r->best_score);
    if (r->averaged) printf(", \"averaged\": %" PRIu64, r->averaged);
    printf(", \"collapsed\": %s}\n", r->collapsed ? "true" : "false");
  } else {
    char mean[80] = "";
    if (r->averaged) snprintf(mean, sizeof mean, ", the mean of %" PRIu64 " evaluations' weights", r->averaged);
    cli_note("%" PRIu64 " steps, last loss %.6f; wrote %s (the model after step %" PRIu64 "%s)", r->steps,
             r->final_loss, t->run->output, r->best_step, mean);
  }
}

int cli_training_verdict(const cq_training_result *result) {
  const bool in_vain = result->steps > 0 && result->best_step == 0;
  if (in_vain) cli_note("no step made the model better: the initial model was written");
  if (result->collapsed) cli_note("the run ended early because training broke the model");
  return in_vain || result->collapsed ? CLI_NO_BETTER : CLI_OK;
}

int cli_training_done(cli_training *t, cq_status status, const cq_training_result *result, const cq_error *error) {
  cli_progress_clear(&t->line);
  if (status && t->ranks && status != CQ_ERR_STOPPED) {
    cli_ranks_close(t->ranks, cli_fail_error(error));
    t->ranks = NULL;
    return CLI_FAILED;
  }
  if (cq_ranks_rank(t->ranks) > 0) return status ? CLI_FAILED : CLI_OK;
  if (!status) {
    report_training(t, result);
    return cli_training_verdict(result);
  }
  cli_fail_error(error);
  if (status == CQ_ERR_STOPPED) cli_stop_tell_resume(t->call, t->run->resume, cq_ranks_count(t->ranks));
  return CLI_FAILED;
}

void cli_training_end(cli_training *t) {
  cli_ranks_close(t->ranks, CLI_OK);
  cq_context_free(t->ctx);
}
