/* calque data sample: some rows at random. */
#include "cli/data/data_command.h"

static int run_sample(const cli_call *call) {
  cq_corpus_sample_options *o = call->library;
  cli_data_run run = cli_data_start();
  CLI_DATA_INPUTS(o, call);
  CLI_DATA_WATCH(o, &run);
  const int code = cli_check_options(call);
  return code ? code : cli_data_report(&run, cq_corpus_sample(&run.counts, o, &run.error));
}

const cli_command cli_data_sample = {
    .name = "sample",
    .summary = "take a random sample of the rows, in their order",
    CLI_ARGUMENTS("[FILE...]", 0, -1),
    .description = "Draws rows at random, each with the same probability. Files are read one after the other; without "
                   "files, standard input is read.",
    .example = "calque data sample --rows 50000 en-de.tsv.gz -o 50k.tsv.gz",
    CLI_GROUP(&cq_group_corpus_sample, .left_out = cli_data_inputs_taken),
    .run = run_sample,
};
