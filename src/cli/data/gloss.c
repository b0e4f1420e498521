/* calque data gloss: sentences translated word by word. */
#include "cli/data/data.h"

struct gloss_args {
  cli_data_flow flow;
  cli_list dictionaries;
  uint64_t column, seed;
  double least;
};

static void gloss_defaults(void *options) {
  *(struct gloss_args *)options = (struct gloss_args){.column = 1, .seed = 1};
}

static const cq_option gloss_options[] = {
    {.name = "dictionary",
     .letter = 'd',
     .type = CQ_OPTION_TEXTS,
     .count_offset = offsetof(struct gloss_args, dictionaries.n),
     .argument = "FILE",
     .offset = offsetof(struct gloss_args, dictionaries),
     .flags = CQ_OPTION_REQUIRED,
     .help = "rows of a word and its translations"},
    {.name = "column",
     .type = CQ_OPTION_COUNT,
     .argument = "N",
     .offset = offsetof(struct gloss_args, column),
     .min = 1,
     .max = 256,
     .help = "of the files, in which the sentences stand"},
    {.name = "least",
     .type = CQ_OPTION_NUMBER,
     .argument = "X",
     .offset = offsetof(struct gloss_args, least),
     .max = 1,
     .help = "leave out sentences of whose words a smaller share is known; one must be in any case"},
    {.name = "seed",
     .type = CQ_OPTION_COUNT,
     .argument = "N",
     .offset = offsetof(struct gloss_args, seed),
     .help = "of which translation is taken, where a word has several"},
};

static int run_gloss(const cli_call *call) {
  const struct gloss_args *args = call->options;
  cq_corpus_counts counts;
  cq_error error = {0};
  cli_progress progress;
  cq_corpus_gloss_options o = {CLI_DATA_INPUTS(call),
                               .dictionaries = args->dictionaries.items,
                               .n_dictionaries = args->dictionaries.n,
                               .column = args->column,
                               .least = args->least,
                               .seed = args->seed};
  o.flow = cli_data_flow_of(&args->flow, &progress);
  const cq_status status = cq_corpus_gloss(&counts, &o, &error);
  return cli_data_report(status, &counts, &progress, &error);
}

const cli_command cli_data_gloss = {
    .name = "gloss",
    .summary = "sentences translated word by word, for languages with a dictionary and no translations",
    .arguments = "[FILE...]",
    .min_arguments = 0,
    .max_arguments = -1,
    .description =
        "Writes each sentence and what becomes of it when the words that a dictionary has are translated one by one, "
        "and the others left as they are. A student learns a language's words from that far better than from the "
        "dictionary's rows. Files are taken one after the other; none is standard input.",
    .example = "calque data gloss --dictionary en-de.tsv english.txt -o en-de.gloss.tsv.gz",
    CLI_OPTIONS(struct gloss_args, gloss_options),
    CLI_DATA_FLOW_OPTIONS,
    .defaults = gloss_defaults,
    .run = run_gloss,
};
