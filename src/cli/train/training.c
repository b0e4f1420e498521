/* A command that trains runs until it is done or stopped: SIGINT and SIGTERM end it after a checkpoint, and the message
 * says how to go on. */
#include "cli/train/training.h"
#include "cli/frame/stop.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const bests[] = {"translation", "mse", "sts", "last", NULL}; /* in cq_best_by's order */

void cli_training_defaults(cli_training_args *args, const cq_training_options *o) {
  args->o = *o;
  args->schedule = (int)o->schedule;
  args->best_by = -1; /* by the files given */
}

#define AT(field) .offset = offsetof(cli_training_args, field)
const cq_option cli_training_options[CLI_TRAINING_N_OPTIONS] = {
    {.name = "output",
     .letter = 'o',
     .type = CQ_OPTION_TEXT,
     .flags = CQ_OPTION_REQUIRED,
     .argument = "DIR",
     AT(o.output),
     .help = "the trained model; work in progress lives in DIR.work"},
    {.name = "dev",
     .type = CQ_OPTION_TEXTS,
     .count_offset = offsetof(cli_training_args, dev.n),
     .argument = "[LABEL=]TSV",
     AT(dev),
     .help = "held-out pairs, a sentence and its translation or paraphrase: which of them find each other (and, in a "
             "distillation, MSE)"},
    {.name = "sts",
     .type = CQ_OPTION_TEXTS,
     .count_offset = offsetof(cli_training_args, sts.n),
     .argument = "[LABEL=]TSV",
     AT(sts),
     .help = "judged pairs (sentence, sentence, score), for the rank correlation"},
    {.name = "resume", .type = CQ_OPTION_FLAG, AT(o.resume), .help = "go on from the last checkpoint in DIR.work"},
    {.name = "replace", .type = CQ_OPTION_FLAG, AT(o.replace), .help = "overwrite an existing output directory"},
    CLI_SKIP_BAD(cli_training_args, o.skip_bad),
    {.name = "max-characters",
     .type = CQ_OPTION_INT,
     .argument = "N",
     AT(o.max_characters),
     .help = "leave out sentences of more characters; 0: none"},
    {.name = "max-length",
     .type = CQ_OPTION_INT,
     .argument = "TOKENS",
     AT(o.max_seq_length),
     .otherwise = "the model's",
     .help = "cut sentences after this many tokens"},
    {.name = "max-sentences",
     .type = CQ_OPTION_INT,
     .argument = "N",
     AT(o.max_sentences),
     .otherwise = "all",
     .help = "use the first N entries of each training file"},
    {.name = "no-shuffle", .type = CQ_OPTION_FLAG, AT(o.no_shuffle), .help = "take batches in the order of the files"},
    {.name = "balanced",
     .type = CQ_OPTION_FLAG,
     AT(o.balanced),
     .help = "draw from all sets alike (by weight), small ones repeating, instead of shuffling all entries"},
    {.name = "batch",
     .letter = 'b',
     .type = CQ_OPTION_INT,
     .argument = "PAIRS",
     AT(o.batch_pairs),
     .min = 1,
     .max = 1 << 20,
     .help = "pairs in a batch"},
    {.name = "accumulate",
     .type = CQ_OPTION_INT,
     .argument = "N",
     AT(o.accumulate),
     .min = 1,
     .max = 1 << 20,
     .help = "batches summed before an update"},
    {.name = "epochs",
     .letter = 'e',
     .type = CQ_OPTION_NUMBER,
     .argument = "N",
     AT(o.epochs),
     .help = "passes over the data"},
    {.name = "steps",
     .type = CQ_OPTION_COUNT,
     .argument = "N",
     AT(o.steps),
     .otherwise = "by --epochs",
     .help = "updates in all"},
    {.name = "lr", .type = CQ_OPTION_NUMBER, .argument = "X", AT(o.learning_rate), .help = "greatest learning rate"},
    {.name = "embedding-lr",
     .type = CQ_OPTION_NUMBER,
     .argument = "X",
     AT(o.embedding_learning_rate),
     .otherwise = "as --lr",
     .help = "the same for the vectors of the vocabulary"},
    {.name = "schedule",
     .type = CQ_OPTION_CHOICE,
     .argument = "SHAPE",
     AT(schedule),
     .choices = cq_schedule_names,
     .help = "learning rate after the warm-up"},
    {.name = "warmup",
     .type = CQ_OPTION_NUMBER,
     .argument = "N",
     AT(o.warmup_steps),
     .help = "steps of rising learning rate; below 1 a share of all"},
    {.name = "weight-decay", .type = CQ_OPTION_NUMBER, .argument = "X", AT(o.weight_decay), .help = "AdamW's"},
    {.name = "beta1", .type = CQ_OPTION_NUMBER, .argument = "X", AT(o.adam_beta1), .max = 1, .help = "AdamW's"},
    {.name = "beta2", .type = CQ_OPTION_NUMBER, .argument = "X", AT(o.adam_beta2), .max = 1, .help = "AdamW's"},
    {.name = "eps", .type = CQ_OPTION_NUMBER, .argument = "X", AT(o.adam_eps), .help = "AdamW's"},
    {.name = "clip",
     .type = CQ_OPTION_NUMBER,
     .argument = "NORM",
     AT(o.clip_norm),
     .help = "scale longer gradients down to this length; 0: never"},
    {.name = "dropout",
     .type = CQ_OPTION_NUMBER,
     .argument = "P",
     AT(o.dropout),
     .min = -1,
     .max = 0.99,
     .otherwise = "the model's",
     .help = "share of activations dropped while training"},
    {.name = "evaluate-every",
     .type = CQ_OPTION_INT,
     .argument = "STEPS",
     AT(o.evaluate_every),
     .help = "measure on --dev and --sts; 0: only at the end"},
    {.name = "checkpoint-every",
     .type = CQ_OPTION_INT,
     .argument = "STEPS",
     AT(o.checkpoint_every),
     .min = 1,
     .help = "save all that --resume needs"},
    {.name = "best-by",
     .type = CQ_OPTION_CHOICE,
     .argument = "MEASURE",
     AT(best_by),
     .choices = bests,
     .otherwise = "translation with --dev, else sts with --sts, else last",
     .help = "the figure that decides which model is kept; mse in a distillation"},
    {.name = "shards",
     .type = CQ_OPTION_INT,
     .argument = "N",
     AT(o.n_shards),
     .min = 1,
     .max = 256,
     .help = "parts that a batch's gradient is summed from; as many threads can work, and results depend on it"},
    {.name = "seed", .type = CQ_OPTION_COUNT, .argument = "N", AT(o.seed), .help = "of the random numbers"},
    {.name = "log",
     .type = CQ_OPTION_TEXT,
     .argument = "FILE",
     AT(o.log_path),
     .otherwise = "DIR/log.jsonl",
     .help = "figures of the run as JSON lines"},
    CLI_JSON(cli_training_args, json),
    CLI_THREADS(cli_training_args, threads),
};
#undef AT

/* ---- progress ---- */

static bool watch(void *context, const cq_training_progress *p) {
  cli_training *w = context;
  char remark[160] = "", left[24];
  bool training = !strcmp(p->phase, "train");
  bool new_phase = strncmp(w->phase, p->phase, sizeof w->phase - 1) != 0;
  snprintf(w->phase, sizeof w->phase, "%s", p->phase);
  if (p->text) {
    size_t n = strlen(p->text);
    cli_progress_clear(&w->line);
    fprintf(stderr, "%s%s", p->text, n && p->text[n - 1] == '\n' ? "" : "\n");
  }
  if (training) {
    cli_duration(left, p->seconds_left);
    snprintf(remark, sizeof remark, "epoch %.2f  loss %.6f  %.0f sentences/s  %s left", p->epoch, p->loss,
             p->sentences_per_second, left);
  } else if (p->sentences_per_second > 0) {
    cli_duration(left, p->seconds_left);
    snprintf(remark, sizeof remark, "%.0f sentences/s  %s left", p->sentences_per_second, left);
  }
  if (!p->text && (training || p->n_steps)) {
    bool last = p->n_steps && p->step >= p->n_steps;
    cli_progress_draw(&w->line, p->phase, p->step, p->n_steps, remark,
                      (new_phase && w->line.terminal) || (training && last));
  }
  if (cli_stop_asked() && !w->stop_told) {
    cli_progress_clear(&w->line);
    cli_note("stopping after a checkpoint; once more to stop at once");
    w->stop_told = true;
  }
  return !cli_stop_asked();
}

/* ---- the data sets ---- */

/* Takes "[LABEL=]TSV[:WEIGHT]" apart. A file of exactly that name is meant as it stands. */
static void parse_data(cq_training_data *out, char *copy, bool weighted) {
  *out = (cq_training_data){.path = copy, .weight = 1};
  if (access(copy, F_OK) == 0) return;
  char *colon = strrchr(copy, ':');
  double weight;
  if (weighted && colon && cli_parse_number(&weight, colon + 1)) {
    *colon = '\0';
    out->weight = weight;
  }
  const char *equals = cli_label_end(copy);
  if (equals) {
    copy[equals - copy] = '\0';
    out->label = copy, out->path = equals + 1;
  }
}

/* A block of all arguments' copies lies behind the array. */
static cq_training_data *parse_list(const cli_list *list, bool weighted) {
  size_t bytes = 0;
  for (size_t i = 0; i < list->n; i++) bytes += strlen(list->items[i]) + 1;
  cq_training_data *data = malloc((list->n + 1) * sizeof *data + bytes);
  char *copy = (char *)(data + list->n + 1);
  for (size_t i = 0; data && i < list->n; i++) {
    const size_t n = strlen(list->items[i]) + 1;
    memcpy(copy, list->items[i], n);
    parse_data(&data[i], copy, weighted);
    copy += n;
  }
  if (!data) cli_fail("out of memory");
  return data;
}

int cli_training_data(cq_training_data **out, const cli_call *call, const char *option, const cli_list *list) {
  *out = parse_list(list, true);
  if (!*out) return CLI_FAILED;
  for (size_t i = 0; i < list->n; i++)
    if (!((*out)[i].weight > 0))
      return cli_usage(call->path, "--%s %s: the weight must be above 0", option, list->items[i]);
  return CLI_OK;
}

/* ---- the call ---- */

int cli_training_begin(cli_training *t, const cli_call *call) {
  const cli_training_args *args = call->options;
  *t = (cli_training){.call = call, .o = args->o, .line = cli_progress_start()};
  t->dev = parse_list(&args->dev, false);
  t->sts = parse_list(&args->sts, false);
  if (!t->dev || !t->sts) return CLI_FAILED;
  t->o.dev = t->dev, t->o.sts = t->sts;
  t->o.n_dev = args->dev.n, t->o.n_sts = args->sts.n;
  t->o.schedule = (cq_schedule)args->schedule;
  if (args->best_by >= 0)
    t->o.best_by = (cq_best_by)args->best_by;
  else
    t->o.best_by = t->o.n_dev ? CQ_BEST_TRANSLATION : t->o.n_sts ? CQ_BEST_STS : CQ_BEST_LAST;
  t->o.progress = watch, t->o.progress_context = t;
  cli_stop_catch();
  return cli_open_context(&t->ctx, args->threads);
}

static void report(const cli_training_args *args, const cq_training_result *r) {
  if (args->json) {
    printf("{\"output\": ");
    cli_json_text(stdout, args->o.output, strlen(args->o.output));
    printf(", \"steps\": %" PRIu64 ", \"best_step\": %" PRIu64, r->steps, r->best_step);
    if (isfinite(r->final_loss)) printf(", \"final_loss\": %.9g", r->final_loss);
    if (isfinite(r->best_score)) printf(", \"best_score\": %.9g", r->best_score);
    printf("}\n");
  } else {
    cli_note("%" PRIu64 " steps, last loss %.6f; wrote %s (the model after step %" PRIu64 ")", r->steps, r->final_loss,
             args->o.output, r->best_step);
  }
}

int cli_training_done(cli_training *t, cq_status status, const cq_training_result *result, const cq_error *error) {
  cli_progress_clear(&t->line);
  if (!status) {
    report(t->call->options, result);
    return CLI_OK;
  }
  cli_fail_error(error);
  if (status == CQ_ERR_STOPPED) cli_stop_tell_resume(t->call, t->o.resume);
  return CLI_FAILED;
}

void cli_training_end(cli_training *t) {
  cq_context_free(t->ctx);
  free(t->dev);
  free(t->sts);
}
