/* calque data gloss: translates sentences word by word. */
#include "cli/data/data_command.h"

CLI_DATA_RUN(gloss, "rows read", "written")

const cli_command cli_data_gloss = {
    .name = "gloss",
    .summary = "translate sentences word by word, for languages with a dictionary but no parallel text",
    CLI_ARGUMENTS("[FILE...]", 0, -1),
    .description = "Writes each sentence and its word-by-word translation from a dictionary; unknown words stay as "
                   "they are. A student learns a language's words from that far better than from the dictionary's "
                   "rows. Files are read one after the other; without files, standard input is read. A file's "
                   "ending chooses its format, as in data convert.",
    .example = "calque data gloss --dictionary en-de.tsv english.txt -o en-de.gloss.tsv.gz",
    CLI_GROUP(&cq_group_corpus_gloss, .left_out = cli_data_inputs_taken),
    .run = run_gloss,
};
