/* calque distill: extend a teacher to new languages. The work is cq_distill's; here are its options, what a reader sees
 * while it runs, and stopping: SIGINT and SIGTERM end the run after a checkpoint, and the message says how to go on. */
#include "command.h"
#include "report.h"
#include "stop.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const schedules[] = {"linear", "constant", "cosine", NULL};
static const char *const dim_matches[] = {"equal", "project", "truncate", NULL};
static const char *const bests[] = {"translation", "mse", "sts", "last", NULL};

struct args {
  cq_distill_options o;
  cli_list train, dev, sts;
  int schedule, dim_match, best_by, threads;
  bool json;
};

static void defaults(void *options) {
  struct args *args = options;
  args->o = cq_distill_default_options();
  args->schedule = (int)args->o.schedule, args->dim_match = (int)args->o.dim_match;
  args->best_by = -1; /* by the files given */
}

#define AT(field) .offset = offsetof(struct args, field)
static const cli_option options[] = {
    {.name = "teacher",
     .type = CLI_TEXT,
     .required = true,
     .argument = "MODEL",
     AT(o.teacher),
     .help = "the model that knows the first column's language: a directory, or a name in the local cache"},
    {.name = "student",
     .type = CLI_TEXT,
     .required = true,
     .argument = "MODEL",
     AT(o.student),
     .help = "the model to train, e.g. one that 'calque model new' made"},
    {.name = "output",
     .letter = 'o',
     .type = CLI_TEXT,
     .required = true,
     .argument = "DIR",
     AT(o.output),
     .help = "the trained model; work in progress lives in DIR.work"},
    {.name = "train",
     .type = CLI_LIST,
     .required = true,
     .argument = "[LABEL=]TSV[:WEIGHT]",
     AT(train),
     .help = "parallel text, a source and its translations on a line; a set of weight 2 is drawn from twice as often "
             "(which means --balanced)"},
    {.name = "dev",
     .type = CLI_LIST,
     .argument = "[LABEL=]TSV",
     AT(dev),
     .help = "held-out parallel text, for MSE and translation accuracy"},
    {.name = "sts",
     .type = CLI_LIST,
     .argument = "[LABEL=]TSV",
     AT(sts),
     .help = "judged pairs (sentence, sentence, score), for the rank correlation"},
    {.name = "resume", .type = CLI_FLAG, AT(o.resume), .help = "go on from the last checkpoint in DIR.work"},
    {.name = "replace", .type = CLI_FLAG, AT(o.replace), .help = "overwrite an existing output directory"},
    CLI_SKIP_BAD(struct args, o.skip_bad),
    {.name = "max-characters",
     .type = CLI_INT,
     .argument = "N",
     AT(o.max_characters),
     .help = "leave out sentences of more characters; 0: none"},
    {.name = "max-length",
     .type = CLI_INT,
     .argument = "TOKENS",
     AT(o.max_seq_length),
     .default_text = "the student's",
     .help = "cut the student's sentences after this many tokens"},
    {.name = "max-sentences",
     .type = CLI_INT,
     .argument = "N",
     AT(o.max_sentences),
     .default_text = "all",
     .help = "use the first N entries of each training file"},
    {.name = "no-shuffle", .type = CLI_FLAG, AT(o.no_shuffle), .help = "take batches in the order of the files"},
    {.name = "balanced",
     .type = CLI_FLAG,
     AT(o.balanced),
     .help = "draw from all sets alike (by weight), small ones repeating, instead of shuffling all entries"},
    {.name = "batch",
     .letter = 'b',
     .type = CLI_INT,
     .argument = "PAIRS",
     AT(o.batch_pairs),
     .least = 1,
     .greatest = 1 << 20,
     .help = "pairs in a batch"},
    {.name = "accumulate",
     .type = CLI_INT,
     .argument = "N",
     AT(o.accumulate),
     .least = 1,
     .greatest = 1 << 20,
     .help = "batches summed before an update"},
    {.name = "epochs",
     .letter = 'e',
     .type = CLI_NUMBER,
     .argument = "N",
     AT(o.epochs),
     .help = "passes over the data"},
    {.name = "steps",
     .type = CLI_COUNT,
     .argument = "N",
     AT(o.steps),
     .default_text = "by --epochs",
     .help = "updates in all"},
    {.name = "lr", .type = CLI_NUMBER, .argument = "X", AT(o.learning_rate), .help = "greatest learning rate"},
    {.name = "embedding-lr",
     .type = CLI_NUMBER,
     .argument = "X",
     AT(o.embedding_learning_rate),
     .default_text = "as --lr",
     .help = "the same for the vectors of the vocabulary"},
    {.name = "schedule",
     .type = CLI_CHOICE,
     .argument = "SHAPE",
     AT(schedule),
     .choices = schedules,
     .help = "learning rate after the warm-up"},
    {.name = "warmup",
     .type = CLI_NUMBER,
     .argument = "N",
     AT(o.warmup_steps),
     .help = "steps of rising learning rate; below 1 a share of all"},
    {.name = "weight-decay", .type = CLI_NUMBER, .argument = "X", AT(o.weight_decay), .help = "AdamW's"},
    {.name = "beta1", .type = CLI_NUMBER, .argument = "X", AT(o.adam_beta1), .greatest = 1, .help = "AdamW's"},
    {.name = "beta2", .type = CLI_NUMBER, .argument = "X", AT(o.adam_beta2), .greatest = 1, .help = "AdamW's"},
    {.name = "eps", .type = CLI_NUMBER, .argument = "X", AT(o.adam_eps), .help = "AdamW's"},
    {.name = "clip",
     .type = CLI_NUMBER,
     .argument = "NORM",
     AT(o.clip_norm),
     .help = "scale longer gradients down to this length; 0: never"},
    {.name = "dropout",
     .type = CLI_NUMBER,
     .argument = "P",
     AT(o.dropout),
     .least = -1,
     .greatest = 0.99,
     .default_text = "the student's",
     .help = "share of activations dropped while training"},
    {.name = "dim-match",
     .type = CLI_CHOICE,
     .argument = "WAY",
     AT(dim_match),
     .choices = dim_matches,
     .help = "when student and teacher differ in dimension: refuse, learn a projection, use the teacher's first ones"},
    {.name = "evaluate-every",
     .type = CLI_INT,
     .argument = "STEPS",
     AT(o.evaluate_every),
     .help = "measure on --dev and --sts; 0: only at the end"},
    {.name = "checkpoint-every",
     .type = CLI_INT,
     .argument = "STEPS",
     AT(o.checkpoint_every),
     .least = 1,
     .help = "save all that --resume needs"},
    {.name = "best-by",
     .type = CLI_CHOICE,
     .argument = "MEASURE",
     AT(best_by),
     .choices = bests,
     .default_text = "translation with --dev, else sts with --sts, else last",
     .help = "the figure that decides which model is kept"},
    {.name = "shards",
     .type = CLI_INT,
     .argument = "N",
     AT(o.n_shards),
     .least = 1,
     .greatest = 256,
     .help = "parts that a batch's gradient is summed from; as many threads can work, and results depend on it"},
    {.name = "seed", .type = CLI_COUNT, .argument = "N", AT(o.seed), .help = "of the random numbers"},
    {.name = "cache",
     .type = CLI_TEXT,
     .argument = "DIR",
     AT(o.cache_directory),
     .default_text = "~/.cache/calque",
     .help = "where the teacher's vectors are kept for the next run"},
    {.name = "log",
     .type = CLI_TEXT,
     .argument = "FILE",
     AT(o.log_path),
     .default_text = "DIR/log.jsonl",
     .help = "figures of the run as JSON lines"},
    CLI_JSON(struct args, json),
    CLI_THREADS(struct args, threads),
};
#undef AT

/* ---- progress ---- */

typedef struct watcher {
  cli_progress line;
  char phase[24];
  bool stop_told;
} watcher;

static bool watch(void *context, const cq_distill_progress *p) {
  watcher *w = context;
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

/* Takes "[LABEL=]TSV[:WEIGHT]" apart; the text that path and label point into is *copy, to be freed. A file of exactly
 * that name is meant as it stands. */
static bool parse_data(cq_distill_data *out, char **copy, const char *argument, bool weighted) {
  *out = (cq_distill_data){.weight = 1};
  if (!(*copy = strdup(argument))) return false;
  out->path = *copy;
  if (access(argument, F_OK) == 0) return true;
  char *colon = strrchr(*copy, ':');
  double weight;
  if (weighted && colon && cli_parse_number(&weight, colon + 1)) {
    *colon = '\0';
    out->weight = weight;
  }
  const char *equals = cli_label_end(*copy);
  if (equals) {
    (*copy)[equals - *copy] = '\0';
    out->label = *copy, out->path = equals + 1;
  }
  return true;
}

static cq_distill_data *parse_list(const cli_list *list, char **copies, bool weighted) {
  cq_distill_data *data = calloc(list->n + 1, sizeof *data);
  for (size_t i = 0; data && i < list->n; i++)
    if (!parse_data(&data[i], &copies[i], list->items[i], weighted)) {
      free(data);
      return NULL;
    }
  return data;
}

/* ---- the command ---- */

static void report(const struct args *args, const cq_distill_result *r) {
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

static int run(const cli_call *call) {
  const struct args *args = call->options;
  cq_distill_options o = args->o;
  cq_distill_result result = {0};
  cq_error error = {0};
  cq_pool *pool = NULL;
  watcher w = {.line = cli_progress_start()};
  size_t n = args->train.n + args->dev.n + args->sts.n;
  char **copies = calloc(n + 1, sizeof *copies);
  cq_distill_data *train = NULL, *dev = NULL, *sts = NULL;
  int code = CLI_FAILED;
  if (copies) {
    train = parse_list(&args->train, copies, true);
    dev = parse_list(&args->dev, copies + args->train.n, false);
    sts = parse_list(&args->sts, copies + args->train.n + args->dev.n, false);
  }
  if (!train || !dev || !sts) {
    cli_fail("out of memory");
    goto done;
  }
  for (size_t i = 0; i < args->train.n; i++)
    if (!(train[i].weight > 0)) {
      code = cli_usage(call->path, "--train %s: the weight must be above 0", args->train.items[i]);
      goto done;
    }
  o.train = train, o.dev = dev, o.sts = sts;
  o.n_train = args->train.n, o.n_dev = args->dev.n, o.n_sts = args->sts.n;
  o.schedule = (cq_schedule)args->schedule, o.dim_match = (cq_dim_match)args->dim_match;
  if (args->best_by >= 0)
    o.best_by = (cq_best_by)args->best_by;
  else
    o.best_by = o.n_dev ? CQ_BEST_TRANSLATION : o.n_sts ? CQ_BEST_STS : CQ_BEST_LAST;
  o.progress = watch, o.progress_context = &w;
  cli_stop_catch();
  cq_status status = cq_pool_open(&pool, args->threads, &error);
  if (!status) status = cq_distill(&o, pool, &result, &error);
  cli_progress_clear(&w.line);
  if (!status) {
    report(args, &result);
    code = CLI_OK;
  } else {
    cli_fail_error(&error);
    if (status == CQ_ERR_STOPPED) cli_stop_tell_resume(call, args->o.resume);
  }
done:
  cq_pool_free(pool);
  for (size_t i = 0; copies && i < n; i++) free(copies[i]);
  free(copies);
  free(train);
  free(dev);
  free(sts);
  return code;
}

const cli_command cli_distill = {
    .name = "distill",
    .summary = "train a student to give translations its teacher's vectors",
    .description =
        "Extends a sentence-embedding model to new languages: the student learns to give a sentence and its "
        "translations "
        "the vector that the teacher gives the sentence (Reimers & Gurevych 2020). Ctrl-C stops after a checkpoint; "
        "--resume goes on to exactly the model that an uninterrupted run would have given.",
    .example = "calque distill --teacher all-MiniLM-L6-v2 --student student \\\n"
               "    --train de=train/en-de.tsv.gz --train ru=train/en-ru.tsv.gz:0.5 \\\n"
               "    --dev de=dev/en-de.tsv.gz --dev ru=dev/en-ru.tsv.gz --output multilingual",
    CLI_OPTIONS(struct args, options),
    .defaults = defaults,
    .run = run,
};
