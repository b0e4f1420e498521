/* calque data dedup: removes repeated rows and rows of a test set. */
#include "cli/data/data_command.h"

CLI_DATA_RUN(dedup, "rows read", "written")

const cli_command cli_data_dedup = {
    .name = "dedup",
    .summary = "drop rows that repeat earlier ones, or share a sentence with a test set",
    CLI_ARGUMENTS("[FILE...]", 0, -1),
    .description = "Drops repeated rows, and keeps the first of each. Files are read one after the other; without "
                   "files, standard input is read. Memory grows by about 20 bytes a row.",
    .example = "calque data dedup train-*.tsv.gz --against test.tsv.gz --against dev.tsv.gz -o train.tsv.gz",
    CLI_GROUP(&cq_group_corpus_dedup, .left_out = cli_data_inputs_taken),
    .run = run_dedup,
};
