/* calque data dedup: no row twice, none of a test set. */
#include "cli/data/data.h"

static const char *const repeats[] = {"row", "any", "first", "second", NULL}; /* in cq_corpus_repeats's order */

struct dedup_args {
  cli_data_flow flow;
  int match, repeats;
  cli_list against;
};

static void dedup_defaults(void *options) {
  *(struct dedup_args *)options = (struct dedup_args){.match = CQ_CORPUS_NORMALISED};
}

static const cq_option dedup_options[] = {
    {.name = "against",
     .letter = 'a',
     .type = CQ_OPTION_TEXTS,
     .count_offset = offsetof(struct dedup_args, against.n),
     .argument = "FILE",
     .offset = offsetof(struct dedup_args, against),
     .help = "leave out rows that have a sentence of this file in any column: a test set's"},
    {.name = "by",
     .type = CQ_OPTION_CHOICE,
     .argument = "WHAT",
     .offset = offsetof(struct dedup_args, repeats),
     .choices = repeats,
     .help = "what must have been there before: the row as a whole, any of its sides, its first or second"},
    CLI_DATA_MATCH(struct dedup_args, match),
};

static int run_dedup(const cli_call *call) {
  const struct dedup_args *args = call->options;
  cq_corpus_counts counts;
  cq_error error = {0};
  cli_progress progress;
  cq_corpus_dedup_options o = {CLI_DATA_INPUTS(call), .held_out = args->against.items, .n_held_out = args->against.n,
                               .match = (cq_corpus_match)args->match, .repeats = (cq_corpus_repeats)args->repeats};
  o.flow = cli_data_flow_of(&args->flow, &progress);
  const cq_status status = cq_corpus_dedup(&counts, &o, &error);
  return cli_data_report(status, &counts, &progress, &error);
}

const cli_command cli_data_dedup = {
    .name = "dedup",
    .summary = "leave out rows that repeat earlier ones, or share a sentence with a test set",
    .arguments = "[FILE...]",
    .min_arguments = 0,
    .max_arguments = -1,
    .description = "Of rows that repeat one another the first is kept. Files are taken one after the other; none is "
                   "standard input. Memory grows by about 20 bytes a row.",
    .example = "calque data dedup train-*.tsv.gz --against test.tsv.gz --against dev.tsv.gz -o train.tsv.gz",
    CLI_OPTIONS(struct dedup_args, dedup_options),
    CLI_DATA_FLOW_OPTIONS,
    .defaults = dedup_defaults,
    .run = run_dedup,
};
