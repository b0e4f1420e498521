/* calque data convert. */
#include "cli/data/data.h"

#include <stdlib.h>
#include <string.h>

struct convert_args {
  cli_data_flow flow;
  const char *from, *columns;
  double threshold;
};

static const cq_option convert_options[] = {
    {.name = "from",
     .letter = 'f',
     .type = CQ_OPTION_TEXT,
     .flags = CQ_OPTION_REQUIRED,
     .argument = "FORMAT",
     .offset = offsetof(struct convert_args, from),
     .help = "what FILE... are; see above"},
    {.name = "columns",
     .letter = 'c',
     .type = CQ_OPTION_TEXT,
     .argument = "A,B,...",
     .offset = offsetof(struct convert_args, columns),
     .otherwise = "",
     .help = "what the output's columns are: languages, or columns of the input"},
    {.name = "threshold",
     .type = CQ_OPTION_NUMBER,
     .argument = "X",
     .offset = offsetof(struct convert_args, threshold),
     .max = 1e9,
     .otherwise = "1.05",
     .help = "of wikimatrix: the least score"},
};

static void convert_defaults(void *options) {
  *(struct convert_args *)options = (struct convert_args){.threshold = cq_corpus_convert_default_options().threshold};
}

static bool list_format(cli_list_item *out, size_t i) {
  const cq_corpus_format *format = cq_corpus_format_at(i);
  if (format) *out = (cli_list_item){format->name, format->inputs, format->help};
  return format;
}

static int run_convert(const cli_call *call) {
  const struct convert_args *args = call->options;
  cq_corpus_convert_options o = {CLI_DATA_INPUTS(call), .format = args->from, .threshold = args->threshold};
  cq_corpus_counts counts;
  cq_error error = {0};
  cli_progress progress;
  const char **columns;
  char *copy;
  const cq_corpus_format *format = NULL;
  for (size_t i = 0; (format = cq_corpus_format_at(i)) && strcmp(format->name, args->from) != 0;) i++;
  if (!format) return cli_usage(call->path, "there is no format '%s'", args->from);
  if (o.n_inputs < format->least_inputs || o.n_inputs > format->most_inputs)
    return cli_usage(call->path, "%s is read from %s", format->name, format->inputs);
  if (args->columns && !format->has_columns) return cli_usage(call->path, "%s has no columns to choose", format->name);
  if (cli_given(call, "threshold") && !format->has_scores)
    return cli_usage(call->path, "%s has no scores for --threshold", format->name);
  int code = cli_data_split(&columns, &o.n_columns, &copy, args->columns);
  if (code == CLI_OK) {
    o.columns = columns;
    o.flow = cli_data_flow_of(&args->flow, &progress);
    const cq_status status = cq_corpus_convert(&counts, &o, &error);
    code = cli_data_report(status, &counts, &progress, &error);
  }
  free(columns);
  free(copy);
  return code;
}

const cli_command cli_data_convert = {
    .name = "convert",
    .summary = "Moses, TMX, OPUS, TED2020, Tatoeba, WikiMatrix, MUSE ... to tab-separated columns",
    .arguments = "FILE...",
    .min_arguments = 0,
    .max_arguments = -1,
    .description =
        "Reads parallel text as it is published, and writes a row a line: a sentence, a tab, its translation. Says how "
        "many rows were left out, and why. Files may be gzipped; --columns takes what the format says.",
    .list_title = "Formats",
    .list = list_format,
    .example = "calque data convert --from moses news.en.gz news.de.gz -o en-de.tsv.gz\n"
               "calque data convert --from tmx --columns en,it dgt.tmx -o en-it.tsv.gz",
    CLI_OPTIONS(struct convert_args, convert_options),
    CLI_DATA_FLOW_OPTIONS,
    .defaults = convert_defaults,
    .run = run_convert,
};
