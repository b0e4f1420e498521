/* calque data pivot: joins two corpora by a common language. */
#include "cli/data/data_command.h"

static const char *const taken[] = {"first", "second", NULL};

static int run_pivot(const cli_call *call) {
  cq_corpus_pivot_options *o = call->library;
  cli_data_run run = cli_data_start("rows read", "written");
  o->first = call->arguments[0], o->second = call->arguments[1];
  CLI_DATA_WATCH(o, &run);
  const int code = cli_check_options(call);
  return code ? code : cli_data_report(&run, cq_corpus_pivot(&run.counts, o, &run.error));
}

const cli_command cli_data_pivot = {
    .name = "pivot",
    .summary = "join two corpora that have a language in common",
    CLI_ARGUMENTS("FIRST SECOND", 2, 2),
    .description =
        "English-French and English-Italian give French-Italian: rows with the same English are joined, and "
        "their other columns are written, first the first file's, then the second's. Every row of one file "
        "is paired with every row of the other that has the sentence. A file's ending chooses its format, as in "
        "data convert.",
    .example = "calque data pivot en-fr.tsv.gz en-it.tsv.gz --match normalized -o fr-it.tsv.gz",
    CLI_GROUP(&cq_group_corpus_pivot, .left_out = taken),
    .run = run_pivot,
};
