/* calque data convert. */
#include "cli/data/data_command.h"

static bool list_corpus_format(cli_list_item *out, size_t i) {
  const cq_corpus_format *format = cq_corpus_format_at(i);
  if (format) *out = (cli_list_item){format->name, format->inputs, format->help};
  return format;
}

CLI_DATA_RUN(convert, "rows read", "written")

const cli_command cli_data_convert = {
    .name = "convert",
    .summary =
        "Moses, Parquet, TMX, XLIFF, gettext, CSV, OPUS, Tatoeba, MUSE ... to tab-separated columns or one another",
    CLI_ARGUMENTS("FILE...", 0, -1),
    .description = "Reads parallel text as it is published, and writes one row per line: a sentence, a tab, its "
                   "translation; or .csv, .tmx, .xlf, .po, if the output's name ends so. Reports how many rows were "
                   "dropped, and why. Files may be compressed (gzip, xz, "
                   "Zstandard); for --columns, see the format's line below.",
    .list_title = "File formats",
    .list = list_corpus_format,
    .example = "calque data convert --from moses news.en.gz news.de.gz -o en-de.tsv.gz\n"
               "calque data convert --from tmx --columns en,it dgt.tmx -o en-it.tsv.gz\n"
               "calque data convert --from parquet --columns en,de train.parquet -o en-de.tsv\n"
               "calque data convert en-de.tsv --languages en,de -o en-de.tmx",
    CLI_GROUP(&cq_group_corpus_convert, .left_out = cli_data_inputs_taken),
    .run = run_convert,
};
