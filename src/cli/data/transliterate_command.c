/* calque data transliterate: writes a text's names in the script of a dictionary's other language. */
#include "cli/data/data_command.h"

CLI_DATA_RUN(transliterate, "names", "rows written")

const cli_command cli_data_transliterate = {
    .name = "transliterate",
    .summary = "complete a dictionary by names of untranslated text, in the other language's letters",
    CLI_ARGUMENTS("[FILE...]", 0, -1),
    .description =
        "Writes rows for words that a dictionary lacks and that the text writes only with a capital letter: names, "
        "which a dictionary of English and Bulgarian may have as \"Obama\" and \"Обама\". How letters are written is "
        "learned from words of the dictionary that sound like their translations (a joint n-gram model of "
        "transliteration); some of what is written is wrong. Languages of one script need none of it, and nothing is "
        "written for them. Use it with the dictionary, as 'calque extend' does. Each FILE is a dictionary, its "
        "translations in the second column and those after it; without files, standard input is read.",
    .example = "calque data transliterate --text english.txt en-bg.dictionary.tsv -o en-bg.names.tsv",
    CLI_GROUP(&cq_group_corpus_transliterate, .left_out = cli_data_inputs_taken),
    .run = run_transliterate,
};
