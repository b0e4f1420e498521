/* calque data gloss: translates sentences word by word. */
#include "cli/data/data_command.h"

static int run_gloss(const cli_call *call) {
  cq_corpus_gloss_options *o = call->library;
  cli_data_run run = cli_data_start();
  CLI_DATA_INPUTS(o, call);
  CLI_DATA_WATCH(o, &run);
  const int code = cli_check_options(call);
  return code ? code : cli_data_report(&run, cq_corpus_gloss(&run.counts, o, &run.error));
}

const cli_command cli_data_gloss = {
    .name = "gloss",
    .summary = "translate sentences word by word, for languages with a dictionary but no parallel text",
    CLI_ARGUMENTS("[FILE...]", 0, -1),
    .description = "Writes each sentence and its word-by-word translation from a dictionary; unknown words stay as "
                   "they are. A student learns a language's words from that far better than from the dictionary's "
                   "rows. Files are read one after the other; without files, standard input is read.",
    .example = "calque data gloss --dictionary en-de.tsv english.txt -o en-de.gloss.tsv.gz",
    CLI_GROUP(&cq_group_corpus_gloss, .left_out = cli_data_inputs_taken),
    .run = run_gloss,
};
