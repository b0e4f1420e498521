/* calque mine: mines parallel sentences from two corpora, paraphrases from one, or pairs from files of vectors. */
#include "cli/frame/command.h"
#include "cli/frame/command_ranks.h"
#include "cli/frame/output.h"
#include "cli/frame/report.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct args {
  size_t size;
  const char *output;
  const char *const *languages;
  size_t n_languages;
  int threads;
  bool text, replace;
};

static const cq_option options[] = {
    {CQ_TEXT(struct args, "output", output, CHANGES, "FILE",
             "write the pairs here, in the format of the extension: tab-separated (.tsv, .txt or none), .jsonl, .tmx, "
             ".csv, .po, .xlf, or .moses (one file per language); compressed if .gz or .zst follows"),
     .letter = 'o', .otherwise = "standard output"},
    {CQ_TEXTS(struct args, "languages", languages, n_languages, CHANGES, "A,B",
              "codes of the languages, for all but .tsv and .jsonl"),
     .flags = CQ_OPTION_COMMAS, .otherwise = "x-source,x-target"},
    {CQ_FLAG(struct args, "text", text, CHANGES, "files of ids: add cosine and sentences to each line")},
    CLI_REPLACE(struct args, replace),
    CLI_THREADS(struct args, threads),
};
static const char *const as_arguments[] = {"source", "target", NULL};

static cq_pair_writing writing_of(const struct args *args) {
  const bool named = args->n_languages == 2;
  return (cq_pair_writing){.with_text = args->text,
                           .source_language = named ? args->languages[0] : "x-source",
                           .target_language = named ? args->languages[1] : "x-target"};
}

static int write_pairs(const struct args *args, const cq_mining *m) {
  cq_error error = {0};
  cq_pair_writing how = writing_of(args);
  cq_status status = cq_pair_format_of(&how.format, args->output, &error);
  if (!status) status = cq_mining_write(m, args->output, &how, &error);
  return status ? cli_fail_error(&error) : CLI_OK;
}

/* Checks the output before the work. */
static int check_writable(const char *path) {
  cq_error error = {0};
  cli_output file = {0};
  if (!path || access(path, F_OK) == 0) return CLI_OK; /* what is there, a pipe say, is opened once */
  const cq_status status = cli_output_open(&file, path, &error);
  cli_output_abort(&file);
  return status ? cli_fail_error(&error) : CLI_OK;
}

static bool is_same_file(const char *a, const char *b) {
  struct stat one, other;
  return a && b && stat(a, &one) == 0 && stat(b, &other) == 0 && S_ISREG(one.st_mode) && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

/* A classifier is replaced atomically, so it must be a regular file, and not another input or output of the command. */
static int check_classifier(const cli_call *call, const struct args *args, const cq_mine_options *o) {
  const char *path = o->save_classifier;
  struct stat there;
  if (!path) return CLI_OK;
  if (!*path || strcmp(path, "-") == 0) return cli_usage(call->path, "--save-classifier needs a file's name");
  if ((args->output && strcmp(path, args->output) == 0) || strcmp(path, o->learn_from) == 0)
    return cli_usage(call->path, "--save-classifier would overwrite %s", path);
  if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode)) return cli_fail("%s: not a regular file", path);
  return check_writable(path);
}

static int check_output(const struct args *args, const cq_mine_options *o, const char *path) {
  cq_error error = {0};
  if (is_same_file(path, o->source) || is_same_file(path, o->target) || is_same_file(path, o->learn_from))
    return cli_fail("%s: is read, and would be overwritten", path);
  if (cli_output_check(path, args->replace, &error)) return cli_fail_error(&error);
  return check_writable(path);
}

static int check_outputs(const cli_call *call, const struct args *args, const cq_mine_options *o) {
  cq_error error = {0};
  cq_pair_writing how = writing_of(args);
  if (cq_pair_format_of(&how.format, args->output, &error)) return cli_fail_error(&error);
  if (how.format == CQ_PAIRS_MOSES && args->n_languages != 2)
    return cli_usage(call->path, "--languages is needed for .moses: two codes, as in de,en");
  if (how.format >= CQ_PAIRS_TMX && !o->model)
    return cli_fail("%s: needs sentences, and a --model to encode them", args->output);
  const int last = how.format == CQ_PAIRS_MOSES ? CQ_TARGET : CQ_SOURCE;
  int code = CLI_OK;
  for (int side = CQ_SOURCE; code == CLI_OK && args->output && side <= last; side++) {
    char path[4096];
    if (cq_pair_path(path, sizeof path, args->output, (cq_side)side, &how, &error)) return cli_fail_error(&error);
    code = check_output(args, o, path);
  }
  return code == CLI_OK ? check_classifier(call, args, o) : code;
}

static int run_mine(const cli_call *call) {
  const struct args *args = call->options;
  cq_mine_options *o = call->library;
  cq_error error = {0};
  cq_context *ctx = NULL;
  cq_mining *mining = NULL;
  cq_ranks *ranks = NULL;
  cli_progress line = cli_progress_start();
  o->source = call->arguments[0], o->target = call->n_arguments == 2 ? call->arguments[1] : NULL;
  o->notice = cli_notice, o->progress = cli_progress_watch, o->progress_context = &line;
  int code = cli_check_options(call);
  if (code == CLI_OK && args->text && !o->model)
    code = cli_usage(call->path, "--text needs sentences, and a --model to encode them");
  if (code == CLI_OK && args->n_languages != 0 && args->n_languages != 2)
    code = cli_usage(call->path, "--languages needs two codes, as in de,en");
  if (code == CLI_OK) code = cli_ranks_open(&ranks);
  const bool leads = cq_ranks_rank(ranks) == 0;
  o->ranks = ranks;
  if (code == CLI_OK && leads) code = check_outputs(call, args, o);
  if (code == CLI_OK) code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK) {
    code = cq_mine(&mining, o, ctx, &error) ? CLI_FAILED : CLI_OK;
    cli_progress_clear(&line);
    if (code) cli_fail_error(&error);
  }
  if (code == CLI_OK && leads && o->gold) {
    const cq_f1_point *p = cq_mining_tuned(mining);
    cli_note("threshold %.6g: precision %.2f, recall %.2f, F1 %.2f (%zu pairs, %zu of them right)", p->threshold,
             100 * p->precision, 100 * p->recall, 100 * p->f1, p->n_taken, p->n_correct);
  }
  size_t n_pairs = 1;
  if (code == CLI_OK && leads) code = write_pairs(args, mining);
  if (code == CLI_OK && leads) (void)cq_mining_pairs(&n_pairs, mining);
  if (n_pairs == 0) cli_note("no pairs: none meets the conditions (thresholds, --drop)");
  cq_mining_free(mining);
  cq_context_free(ctx);
  cli_ranks_close(ranks, code);
  return code;
}

const cli_command cli_mine = {
    .name = "mine",
    .summary = "bitext mining: find translations in two corpora, or paraphrases in one",
    CLI_ARGUMENTS("SOURCE [TARGET]", 1, 2),
    .description =
        "Bitext mining: finds sentences of two files that are translations of one another, by margin-based scoring "
        "(Artetxe & Schwenk 2019): the cosine relative to those of the nearest neighbors, which corrects for hubs. "
        "Prints lines of score, source and target, best first. Files hold one sentence per line, or an id, a tab and a "
        "sentence (then ids are printed); plain or compressed. Without --model they hold vectors, and row numbers are "
        "printed. With one file, finds pairs within it: paraphrase mining. The nearest neighbors are "
        "exact, unless --approximate is given.",
    .example = "calque mine --model multilingual news.de.gz news.en.gz --min-precision 0.8 -o pairs.tsv.gz\n"
               "calque mine --model multilingual dev.de dev.en --learn-from dev.gold --save-classifier pairs.json",
    CLI_GROUP(&cq_group_mine, .left_out = as_arguments),
    CLI_OPTIONS(struct args, options),
    .takes_ranks = true,
    .run = run_mine,
};
