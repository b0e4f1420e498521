/* calque data sample: some rows at random. */
#include "cli/data/data.h"

struct sample_args {
  cli_data_flow flow;
  uint64_t n, seed;
  double share;
};

static void sample_defaults(void *options) {
  *(struct sample_args *)options = (struct sample_args){.seed = 1};
}

static const cq_option sample_options[] = {
    {.name = "rows",
     .letter = 'n',
     .type = CQ_OPTION_COUNT,
     .argument = "N",
     .offset = offsetof(struct sample_args, n),
     .min = 1,
     .otherwise = "",
     .help = "so many, held in memory; all if there are fewer"},
    {.name = "share",
     .type = CQ_OPTION_NUMBER,
     .argument = "X",
     .offset = offsetof(struct sample_args, share),
     .max = 1,
     .otherwise = "",
     .help = "or each row with this chance"},
    {.name = "seed",
     .type = CQ_OPTION_COUNT,
     .argument = "N",
     .offset = offsetof(struct sample_args, seed),
     .help = "of what is drawn"},
};

static int run_sample(const cli_call *call) {
  const struct sample_args *args = call->options;
  cq_corpus_counts counts;
  cq_error error = {0};
  cli_progress progress;
  cq_corpus_sample_options o = {CLI_DATA_INPUTS(call), .n = args->n, .share = args->share, .seed = args->seed};
  if ((args->n > 0) == (args->share > 0)) return cli_usage(call->path, "expected either --rows or --share");
  o.flow = cli_data_flow_of(&args->flow, &progress);
  const cq_status status = cq_corpus_sample(&counts, &o, &error);
  return cli_data_report(status, &counts, &progress, &error);
}

const cli_command cli_data_sample = {
    .name = "sample",
    .summary = "some rows at random, in their order",
    .arguments = "[FILE...]",
    .min_arguments = 0,
    .max_arguments = -1,
    .description = "Every row has the same chance. Files are taken one after the other; none is standard input.",
    .example = "calque data sample --rows 50000 en-de.tsv.gz -o 50k.tsv.gz",
    CLI_OPTIONS(struct sample_args, sample_options),
    CLI_DATA_FLOW_OPTIONS,
    .defaults = sample_defaults,
    .run = run_sample,
};
