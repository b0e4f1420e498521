/* calque data corpus: from documents or rows to a corpus, by one configuration. */
#include "cli/data/data_command.h"

#include <stdlib.h>

struct corpus_args {
  size_t size;
  int threads;
  bool print_config;
};

static const cq_option corpus_options[] = {
    {CQ_FLAG(struct corpus_args, "print-config", print_config, KEEPS,
             "print a complete configuration, with each option's default and what it does")},
    CLI_THREADS(struct corpus_args, threads),
};
static const char *const as_arguments[] = {"config", NULL};

static int print_config(void) {
  cq_error error = {0};
  char *text;
  if (cq_corpus_build_config(&text, &error)) return cli_fail_error(&error);
  fputs(text, stdout);
  cq_free(text);
  return CLI_OK;
}

static int run_corpus(const cli_call *call) {
  const struct corpus_args *args = call->options;
  cq_corpus_build_options *o = call->library;
  cq_error error = {0};
  cq_context *ctx = NULL;
  cli_progress line = cli_progress_start();
  if (args->print_config) return print_config();
  if (call->n_arguments == 0) return cli_usage(call->path, "an argument is missing: expected CONFIG");
  o->config = call->arguments[0];
  o->notice = cli_notice, o->progress = cli_progress_watch, o->progress_context = &line;
  int code = cli_check_options(call);
  if (code == CLI_OK) code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK) {
    code = cq_corpus_build(o, ctx, &error) ? CLI_FAILED : CLI_OK;
    cli_progress_clear(&line);
    if (code) cli_fail_error(&error);
  }
  if (code == CLI_OK) cli_note("%s/report.html says what became of the rows", o->output);
  cq_context_free(ctx);
  return code;
}

const cli_command cli_data_corpus = {
    .name = "corpus",
    .summary = "from documents or rows to a corpus for training, by one configuration, with a report",
    CLI_ARGUMENTS("CONFIG", 0, 1),
    .description =
        "Aligns documents, or mines or converts sentences; filters the pairs, drops repetitions, draws rows for dev "
        "and test, and writes a report with samples of all that was dropped. The configuration has a section for each "
        "step, with the options of the step's own command; --print-config prints a complete one. Steps that are done "
        "in the output folder are not done again.",
    .example = "calque data corpus --print-config >corpus.ini\n"
               "calque data corpus corpus.ini -o corpus",
    CLI_GROUP(&cq_group_corpus_build, .left_out = as_arguments),
    CLI_OPTIONS(struct corpus_args, corpus_options),
    .run = run_corpus,
};
