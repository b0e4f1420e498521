/* calque data filter: drops rows that cannot be translations. */
#include "cli/data/data_command.h"

CLI_DATA_RUN(filter, "rows read", "written")

const cli_command cli_data_filter = {
    .name = "filter",
    .summary = "drop rows that cannot be translations: by length, script, language, identical sides",
    CLI_ARGUMENTS("[FILE...]", 0, -1),
    .description = "Drops rows that are unlikely to be translations. Files are read one after the other; without "
                   "files, standard input is read. A side's script is that of most of its letters; a side without "
                   "letters passes. --other-language identifies languages, as calque data language does.",
    .example = "calque data filter --languages en,ru en-ru.tsv.gz -o clean.tsv.gz",
    CLI_GROUP(&cq_group_corpus_filter, .left_out = cli_data_inputs_taken),
    .run = run_filter,
};
