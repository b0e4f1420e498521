/* calque data filter: rows that may be translations. */
#include "cli/data/data.h"

#include <stdlib.h>

struct filter_args {
  cli_data_flow flow;
  uint64_t least, most;
  double ratio;
  const char *languages;
  bool keep_identical;
};

static void filter_defaults(void *options) {
  *(struct filter_args *)options = (struct filter_args){.least = 1, .most = 1000, .ratio = 3};
}

static const cq_option filter_options[] = {
    {.name = "min-characters",
     .type = CQ_OPTION_COUNT,
     .argument = "N",
     .offset = offsetof(struct filter_args, least),
     .help = "of every side"},
    {.name = "max-characters",
     .type = CQ_OPTION_COUNT,
     .argument = "N",
     .offset = offsetof(struct filter_args, most),
     .help = "of every side; 0: any number"},
    {.name = "max-ratio",
     .type = CQ_OPTION_NUMBER,
     .argument = "X",
     .offset = offsetof(struct filter_args, ratio),
     .max = 1e6,
     .help = "of the longer side's characters to the shorter's, ten added to both; 0: any"},
    {.name = "languages",
     .letter = 'l',
     .type = CQ_OPTION_TEXT,
     .argument = "A,B,...",
     .offset = offsetof(struct filter_args, languages),
     .otherwise = "any",
     .help = "the columns' codes: leave out rows in another script"},
    {.name = "keep-identical",
     .type = CQ_OPTION_FLAG,
     .offset = offsetof(struct filter_args, keep_identical),
     .help = "keep rows whose sides say the same, letter for letter"},
};

static int run_filter(const cli_call *call) {
  const struct filter_args *args = call->options;
  cq_corpus_counts counts;
  cq_error error = {0};
  cli_progress progress;
  cq_corpus_filter_options o = {CLI_DATA_INPUTS(call), .least_characters = args->least, .most_characters = args->most,
                                .most_ratio = args->ratio, .keep_identical = args->keep_identical};
  const char **languages;
  char *copy;
  int code = cli_data_split(&languages, &o.n_languages, &copy, args->languages);
  if (code == CLI_OK) {
    o.languages = languages;
    o.flow = cli_data_flow_of(&args->flow, &progress);
    const cq_status status = cq_corpus_filter(&counts, &o, &error);
    code = cli_data_report(status, &counts, &progress, &error);
  }
  free(languages);
  free(copy);
  return code;
}

const cli_command cli_data_filter = {
    .name = "filter",
    .summary = "leave out rows that are no translations: by length, script, identical sides",
    .arguments = "[FILE...]",
    .min_arguments = 0,
    .max_arguments = -1,
    .description =
        "Files are taken one after the other; none is standard input. A side is in the script that most of its "
        "letters have; one without letters is in any.",
    .example = "calque data filter --languages en,ru en-ru.tsv.gz -o clean.tsv.gz",
    CLI_OPTIONS(struct filter_args, filter_options),
    CLI_DATA_FLOW_OPTIONS,
    .defaults = filter_defaults,
    .run = run_filter,
};
