/* calque data sample: some rows at random. */
#include "cli/data/data_command.h"

CLI_DATA_RUN(sample, "rows read", "written")

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
