/* calque data pivot: two corpora that have a language in common. */
#include "cli/data/data.h"

#include <stdlib.h>

struct pivot_args {
  cli_data_flow flow;
  const char *on;
  int match;
  uint64_t most;
  double memory;
};

static void pivot_defaults(void *options) {
  *(struct pivot_args *)options = (struct pivot_args){.on = "1,1", .memory = 1};
}

static const cq_option pivot_options[] = {
    {.name = "on",
     .type = CQ_OPTION_TEXT,
     .argument = "A,B",
     .offset = offsetof(struct pivot_args, on),
     .help = "the columns of the language that both have"},
    CLI_DATA_MATCH(struct pivot_args, match),
    {.name = "most",
     .type = CQ_OPTION_COUNT,
     .argument = "N",
     .offset = offsetof(struct pivot_args, most),
     .otherwise = "all",
     .help = "partners of a row: a sentence that each file has often gives many"},
    {.name = "memory",
     .type = CQ_OPTION_NUMBER,
     .argument = "GIB",
     .offset = offsetof(struct pivot_args, memory),
     .min = 0.001,
     .max = 1e6,
     .help = "what SECOND may take, about; a larger one is split on disk, in $TMPDIR"},
};

static int run_pivot(const cli_call *call) {
  const struct pivot_args *args = call->options;
  cq_corpus_counts counts;
  cq_error error = {0};
  cli_progress progress;
  cq_corpus_pivot_options o = {.inputs = {call->arguments[0], call->arguments[1]},
                               .match = (cq_corpus_match)args->match,
                               .most = args->most,
                               .memory_gb = args->memory};
  const char **columns;
  char *copy;
  size_t n;
  int code = cli_data_split(&columns, &n, &copy, args->on);
  if (code == CLI_OK && n != 2) code = cli_usage(call->path, "--on is '%s', expected two numbers", args->on);
  for (size_t i = 0; i < 2 && code == CLI_OK; i++) {
    uint64_t number;
    if (!cli_parse_count(&number, columns[i]) || number == 0)
      code = cli_usage(call->path, "--on is '%s', expected two numbers", args->on);
    else
      o.on[i] = number;
  }
  free(columns);
  free(copy);
  if (code) return code;
  o.flow = cli_data_flow_of(&args->flow, &progress);
  const cq_status status = cq_corpus_pivot(&counts, &o, &error);
  return cli_data_report(status, &counts, &progress, &error);
}

const cli_command cli_data_pivot = {
    .name = "pivot",
    .summary = "join two corpora that have a language in common",
    .arguments = "FIRST SECOND",
    .min_arguments = 2,
    .max_arguments = 2,
    .description =
        "From English-French and English-Italian comes French-Italian: rows with the same English are joined, "
        "and their other columns written, the first file's and then the second's. Every row of the one "
        "meets every row of the other that has the sentence.",
    .example = "calque data pivot en-fr.tsv.gz en-it.tsv.gz --match normalised -o fr-it.tsv.gz",
    CLI_OPTIONS(struct pivot_args, pivot_options),
    CLI_DATA_FLOW_OPTIONS,
    .defaults = pivot_defaults,
    .run = run_pivot,
};
