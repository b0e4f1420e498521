/* calque data: parallel text from other forms, joined, sampled, rid of repetitions, filtered. */
#include "command.h"
#include "report.h"
#include "stop.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What all of these commands have; their structs begin with it. */
struct flow_args {
  const char *output;
  bool skip_bad;
};

static const cli_option flow_options[] = {
    {.name = "output",
     .letter = 'o',
     .type = CLI_TEXT,
     .argument = "FILE",
     .offset = offsetof(struct flow_args, output),
     .default_text = "standard output",
     .help = "write the rows here, gzipped when the name ends in .gz"},
    CLI_SKIP_BAD(struct flow_args, skip_bad),
};

#define FLOW_OPTIONS .more_options = flow_options, .n_more_options = sizeof flow_options / sizeof *flow_options

static bool watch(void *context, uint64_t n_read) {
  cli_progress_draw(context, "row", n_read, 0, NULL, false);
  return !cli_stop_asked();
}

static cq_corpus_flow flow_of(const struct flow_args *args, cli_progress *progress) {
  *progress = cli_progress_start();
  cli_stop_catch();
  return (cq_corpus_flow){
      .output = args->output, .skip_bad = args->skip_bad, .progress = watch, .progress_context = progress};
}

/* "20,613 rows read, 19,615 written; 998 too long" */
static int report(cq_status status, const cq_corpus_counts *counts, cli_progress *progress, const cq_error *error) {
  char text[1024];
  cli_progress_clear(progress);
  if (status) return cli_fail_error(error);
  size_t n = (size_t)snprintf(text, sizeof text, "%" PRIu64 " rows read, %" PRIu64 " written", counts->n_read,
                              counts->n_written);
  for (size_t i = 0; i < counts->n_losses && n < sizeof text; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, "%s %" PRIu64 " %s", i ? "," : ";", counts->losses[i].n,
                          counts->losses[i].reason);
  cli_note("%s", text);
  return CLI_OK;
}

/* Standard input where no file is named. */
static const char *const standard_input[] = {"-"};
#define INPUTS(call)                                                                                                   \
  .inputs = (call)->n_arguments ? (call)->arguments : standard_input,                                                  \
  .n_inputs = (call)->n_arguments ? (call)->n_arguments : 1

/* "en,de" to its parts, which borrow from copy; n stays 0 for NULL. */
static int split_list(const char ***out, size_t *n, char **copy, const char *text) {
  *out = NULL, *n = 0, *copy = NULL;
  if (!text) return CLI_OK;
  size_t most = 1;
  for (const char *p = text; *p; p++) most += *p == ',';
  *copy = strdup(text);
  *out = malloc(most * sizeof **out);
  if (!*copy || !*out) return cli_fail("out of memory");
  char *rest = *copy;
  for (char *item; (item = strsep(&rest, ","));) (*out)[(*n)++] = item;
  return CLI_OK;
}

/* --- convert --- */

struct convert_args {
  struct flow_args flow;
  const char *from, *columns;
  double threshold;
};

static const cli_option convert_options[] = {
    {.name = "from",
     .letter = 'f',
     .type = CLI_TEXT,
     .required = true,
     .argument = "FORMAT",
     .offset = offsetof(struct convert_args, from),
     .help = "what FILE... are; see below"},
    {.name = "columns",
     .letter = 'c',
     .type = CLI_TEXT,
     .argument = "A,B,...",
     .offset = offsetof(struct convert_args, columns),
     .default_text = "",
     .help = "what the output's columns are: languages, or columns of the input"},
    {.name = "threshold",
     .type = CLI_NUMBER,
     .argument = "X",
     .offset = offsetof(struct convert_args, threshold),
     .greatest = 1e9,
     .default_text = "1.05",
     .help = "of wikimatrix: the least score"},
};

static bool list_format(cli_list_item *out, size_t i) {
  const cq_corpus_format *format = cq_corpus_format_at(i);
  if (format) *out = (cli_list_item){format->name, format->inputs, format->help};
  return format;
}

static int run_convert(const cli_call *call) {
  const struct convert_args *args = call->options;
  cq_corpus_convert_options o = {.format = args->from, INPUTS(call), .threshold = args->threshold};
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
  int code = split_list(&columns, &o.n_columns, &copy, args->columns);
  if (code == CLI_OK) {
    o.columns = columns;
    o.flow = flow_of(&args->flow, &progress);
    const cq_status status = cq_corpus_convert(&counts, &o, &error);
    code = report(status, &counts, &progress, &error);
  }
  free(columns);
  free(copy);
  return code;
}

static const cli_command data_convert = {
    .name = "convert",
    .summary = "Moses, TMX, OPUS, TED2020, Tatoeba, WikiMatrix, MUSE ... to tab-separated columns",
    .arguments = "FILE...",
    .least_arguments = 0,
    .most_arguments = -1,
    .description =
        "Reads parallel text as it is published, and writes a row a line: a sentence, a tab, its translation. Says how "
        "many rows were left out, and why. Files may be gzipped; --columns takes what the format says.",
    .list_title = "Formats",
    .list = list_format,
    .example = "calque data convert --from moses news.en.gz news.de.gz -o en-de.tsv.gz\n"
               "calque data convert --from tmx --columns en,it dgt.tmx -o en-it.tsv.gz",
    CLI_OPTIONS(struct convert_args, convert_options),
    FLOW_OPTIONS,
    .run = run_convert,
};

/* --- pivot --- */

static const char *const matches[] = {"exact", "normalised", NULL}; /* in cq_corpus_match's order */

#define MATCH_OPTION(owner, field)                                                                                     \
  {                                                                                                                    \
    .name = "match", .type = CLI_CHOICE, .argument = "HOW", .offset = offsetof(owner, field), .choices = matches,      \
    .help = "what makes two sentences the same: every byte, or letters and digits in lower case"                       \
  }

struct pivot_args {
  struct flow_args flow;
  const char *on;
  int match;
  uint64_t most;
  double memory;
};

static void pivot_defaults(void *options) {
  *(struct pivot_args *)options = (struct pivot_args){.on = "1,1", .memory = 1};
}

static const cli_option pivot_options[] = {
    {.name = "on",
     .type = CLI_TEXT,
     .argument = "A,B",
     .offset = offsetof(struct pivot_args, on),
     .help = "the columns of the language that both have"},
    MATCH_OPTION(struct pivot_args, match),
    {.name = "most",
     .type = CLI_COUNT,
     .argument = "N",
     .offset = offsetof(struct pivot_args, most),
     .default_text = "all",
     .help = "partners of a row: a sentence that each file has often gives many"},
    {.name = "memory",
     .type = CLI_NUMBER,
     .argument = "GIB",
     .offset = offsetof(struct pivot_args, memory),
     .least = 0.001,
     .greatest = 1e6,
     .help = "what SECOND may take, about; a larger one is split on disk, in $TMPDIR"},
};

static int run_pivot(const cli_call *call) {
  const struct pivot_args *args = call->options;
  cq_corpus_counts counts;
  cq_error error = {0};
  cli_progress progress;
  cq_corpus_pivot_options o = {.inputs = {call->arguments[0], call->arguments[1]},
                               .match = (cq_corpus_match)args->match,
                               .most = args->most,
                               .memory_gb = args->memory};
  const char **columns;
  char *copy;
  size_t n;
  int code = split_list(&columns, &n, &copy, args->on);
  if (code == CLI_OK && n != 2) code = cli_usage(call->path, "--on is '%s', expected two numbers", args->on);
  for (size_t i = 0; i < 2 && code == CLI_OK; i++) {
    uint64_t number;
    if (!cli_parse_count(&number, columns[i]) || number == 0)
      code = cli_usage(call->path, "--on is '%s', expected two numbers", args->on);
    else
      o.on[i] = number;
  }
  free(columns);
  free(copy);
  if (code) return code;
  o.flow = flow_of(&args->flow, &progress);
  const cq_status status = cq_corpus_pivot(&counts, &o, &error);
  return report(status, &counts, &progress, &error);
}

static const cli_command data_pivot = {
    .name = "pivot",
    .summary = "join two corpora that have a language in common",
    .arguments = "FIRST SECOND",
    .least_arguments = 2,
    .most_arguments = 2,
    .description =
        "From English-French and English-Italian comes French-Italian: rows with the same English are joined, "
        "and their other columns written, the first file's and then the second's. Every row of the one "
        "meets every row of the other that has the sentence.",
    .example = "calque data pivot en-fr.tsv.gz en-it.tsv.gz --match normalised -o fr-it.tsv.gz",
    CLI_OPTIONS(struct pivot_args, pivot_options),
    FLOW_OPTIONS,
    .defaults = pivot_defaults,
    .run = run_pivot,
};

/* --- sample --- */

struct sample_args {
  struct flow_args flow;
  uint64_t n, seed;
  double share;
};

static void sample_defaults(void *options) {
  *(struct sample_args *)options = (struct sample_args){.seed = 1};
}

static const cli_option sample_options[] = {
    {.name = "rows",
     .letter = 'n',
     .type = CLI_COUNT,
     .argument = "N",
     .offset = offsetof(struct sample_args, n),
     .least = 1,
     .default_text = "",
     .help = "so many, held in memory; all if there are fewer"},
    {.name = "share",
     .type = CLI_NUMBER,
     .argument = "X",
     .offset = offsetof(struct sample_args, share),
     .greatest = 1,
     .default_text = "",
     .help = "or each row with this chance"},
    {.name = "seed",
     .type = CLI_COUNT,
     .argument = "N",
     .offset = offsetof(struct sample_args, seed),
     .help = "of what is drawn"},
};

static int run_sample(const cli_call *call) {
  const struct sample_args *args = call->options;
  cq_corpus_counts counts;
  cq_error error = {0};
  cli_progress progress;
  cq_corpus_sample_options o = {INPUTS(call), .n = args->n, .share = args->share, .seed = args->seed};
  if ((args->n > 0) == (args->share > 0)) return cli_usage(call->path, "expected either --rows or --share");
  o.flow = flow_of(&args->flow, &progress);
  const cq_status status = cq_corpus_sample(&counts, &o, &error);
  return report(status, &counts, &progress, &error);
}

static const cli_command data_sample = {
    .name = "sample",
    .summary = "some rows at random, in their order",
    .arguments = "[FILE...]",
    .least_arguments = 0,
    .most_arguments = -1,
    .description = "Every row has the same chance. Files are taken one after the other; none is standard input.",
    .example = "calque data sample --rows 50000 en-de.tsv.gz -o 50k.tsv.gz",
    CLI_OPTIONS(struct sample_args, sample_options),
    FLOW_OPTIONS,
    .defaults = sample_defaults,
    .run = run_sample,
};

/* --- dedup --- */

static const char *const repeats[] = {"row", "any", "first", "second", NULL}; /* in cq_corpus_repeats's order */

struct dedup_args {
  struct flow_args flow;
  int match, repeats;
  cli_list against;
};

static void dedup_defaults(void *options) {
  *(struct dedup_args *)options = (struct dedup_args){.match = CQ_CORPUS_NORMALISED};
}

static const cli_option dedup_options[] = {
    {.name = "against",
     .letter = 'a',
     .type = CLI_LIST,
     .argument = "FILE",
     .offset = offsetof(struct dedup_args, against),
     .help = "leave out rows that have a sentence of this file in any column: a test set's"},
    {.name = "by",
     .type = CLI_CHOICE,
     .argument = "WHAT",
     .offset = offsetof(struct dedup_args, repeats),
     .choices = repeats,
     .help = "what must have been there before: the row as a whole, any of its sides, its first or second"},
    MATCH_OPTION(struct dedup_args, match),
};

static int run_dedup(const cli_call *call) {
  const struct dedup_args *args = call->options;
  cq_corpus_counts counts;
  cq_error error = {0};
  cli_progress progress;
  cq_corpus_dedup_options o = {INPUTS(call), .held_out = args->against.items, .n_held_out = args->against.n,
                               .match = (cq_corpus_match)args->match, .repeats = (cq_corpus_repeats)args->repeats};
  o.flow = flow_of(&args->flow, &progress);
  const cq_status status = cq_corpus_dedup(&counts, &o, &error);
  return report(status, &counts, &progress, &error);
}

static const cli_command data_dedup = {
    .name = "dedup",
    .summary = "leave out rows that repeat earlier ones, or share a sentence with a test set",
    .arguments = "[FILE...]",
    .least_arguments = 0,
    .most_arguments = -1,
    .description = "Of rows that repeat one another the first is kept. Files are taken one after the other; none is "
                   "standard input. Memory grows by about 20 bytes a row.",
    .example = "calque data dedup train-*.tsv.gz --against test.tsv.gz --against dev.tsv.gz -o train.tsv.gz",
    CLI_OPTIONS(struct dedup_args, dedup_options),
    FLOW_OPTIONS,
    .defaults = dedup_defaults,
    .run = run_dedup,
};

/* --- filter --- */

struct filter_args {
  struct flow_args flow;
  uint64_t least, most;
  double ratio;
  const char *languages;
  bool keep_identical;
};

static void filter_defaults(void *options) {
  *(struct filter_args *)options = (struct filter_args){.least = 1, .most = 1000, .ratio = 3};
}

static const cli_option filter_options[] = {
    {.name = "min-characters",
     .type = CLI_COUNT,
     .argument = "N",
     .offset = offsetof(struct filter_args, least),
     .help = "of every side"},
    {.name = "max-characters",
     .type = CLI_COUNT,
     .argument = "N",
     .offset = offsetof(struct filter_args, most),
     .help = "of every side; 0: any number"},
    {.name = "max-ratio",
     .type = CLI_NUMBER,
     .argument = "X",
     .offset = offsetof(struct filter_args, ratio),
     .greatest = 1e6,
     .help = "of the longer side's characters to the shorter's, ten added to both; 0: any"},
    {.name = "languages",
     .letter = 'l',
     .type = CLI_TEXT,
     .argument = "A,B,...",
     .offset = offsetof(struct filter_args, languages),
     .default_text = "any",
     .help = "the columns' codes: leave out rows in another script"},
    {.name = "keep-identical",
     .type = CLI_FLAG,
     .offset = offsetof(struct filter_args, keep_identical),
     .help = "keep rows whose sides say the same, letter for letter"},
};

static int run_filter(const cli_call *call) {
  const struct filter_args *args = call->options;
  cq_corpus_counts counts;
  cq_error error = {0};
  cli_progress progress;
  cq_corpus_filter_options o = {INPUTS(call), .least_characters = args->least, .most_characters = args->most,
                                .most_ratio = args->ratio, .keep_identical = args->keep_identical};
  const char **languages;
  char *copy;
  int code = split_list(&languages, &o.n_languages, &copy, args->languages);
  if (code == CLI_OK) {
    o.languages = languages;
    o.flow = flow_of(&args->flow, &progress);
    const cq_status status = cq_corpus_filter(&counts, &o, &error);
    code = report(status, &counts, &progress, &error);
  }
  free(languages);
  free(copy);
  return code;
}

static const cli_command data_filter = {
    .name = "filter",
    .summary = "leave out rows that are no translations: by length, script, identical sides",
    .arguments = "[FILE...]",
    .least_arguments = 0,
    .most_arguments = -1,
    .description =
        "Files are taken one after the other; none is standard input. A side is in the script that most of its "
        "letters have; one without letters is in any.",
    .example = "calque data filter --languages en,ru en-ru.tsv.gz -o clean.tsv.gz",
    CLI_OPTIONS(struct filter_args, filter_options),
    FLOW_OPTIONS,
    .defaults = filter_defaults,
    .run = run_filter,
};

static const cli_command *const children[] = {&data_convert, &data_pivot,  &data_sample,
                                              &data_dedup,   &data_filter, NULL};

const cli_command cli_data = {
    .name = "data",
    .summary = "parallel text: convert, pivot, sample, dedup, filter",
    .description = "Brings parallel text into tab-separated columns, and makes training data of it.",
    .example = "calque data convert --from moses news.en.gz news.de.gz -o raw.tsv\n"
               "calque data filter --languages en,de raw.tsv | calque data dedup -o en-de.tsv.gz",
    .children = children,
};
