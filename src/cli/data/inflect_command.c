/* calque data inflect: finds inflected forms of a dictionary's words in text. */
#include "cli/data/data_command.h"

CLI_DATA_RUN(inflect, "words without a translation", "rows written")

const cli_command cli_data_inflect = {
    .name = "inflect",
    .summary = "complete a dictionary by the inflected forms that untranslated text has",
    CLI_ARGUMENTS("[FILE...]", 0, -1),
    .description =
        "Writes rows for words of the text that a dictionary lacks and that are forms of its words: \"houses\" has the "
        "translations of \"house\". The endings and beginnings that words exchange are learned from the text, in any "
        "language with an alphabet (unsupervised morphology): no stemmer or list of forms is needed, and some of what "
        "is found is wrong. Use it with the dictionary, as 'calque extend' does. Each FILE is a dictionary, its "
        "translations in the second column and those after it; without files, standard input is read.",
    .example = "calque data inflect --text german.txt en-de.dictionary.tsv -o en-de.forms.tsv",
    CLI_GROUP(&cq_group_corpus_inflect, .left_out = cli_data_inputs_taken),
    .run = run_inflect,
};
