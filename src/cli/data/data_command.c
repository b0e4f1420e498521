/* calque data: parallel text is converted from other file formats, joined, sampled, deduplicated, filtered, made from a
 * dictionary, or counted. */
#include "cli/data/data_command.h"

static const cli_command *const children[] = {
    &cli_data_get,           &cli_data_convert, &cli_data_pivot,     &cli_data_sample,
    &cli_data_dedup,         &cli_data_filter,  &cli_data_gloss,     &cli_data_inflect,
    &cli_data_transliterate, &cli_data_stats,   &cli_data_documents, &cli_data_language,
    &cli_data_sentences,     &cli_data_score,   &cli_data_corpus,    NULL};

const cli_command cli_data = {
    .name = "data",
    .summary = "parallel text: get, convert, pivot, sample, dedup, filter, gloss, inflect, transliterate, stats; "
               "documents to JSON lines and to sentences; language identification",
    .description = "Converts parallel text to tab-separated columns, and prepares it for training.",
    .example = "calque data convert --from moses news.en.gz news.de.gz -o raw.tsv\n"
               "calque data filter --languages en,de raw.tsv -o clean.tsv\n"
               "calque data dedup clean.tsv --against test.tsv -o en-de.tsv.gz",
    .children = children,
};
