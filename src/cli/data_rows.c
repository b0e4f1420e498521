/* calque data pivot, sample, dedup, filter, gloss: from rows to rows. */
#include "data.h"

#include <stdlib.h>

/* --- pivot --- */

static const char *const matches[] = {"exact", "normalised", NULL}; /* in cq_corpus_match's order */

#define MATCH_OPTION(owner, field)                                                                                     \
  {                                                                                                                    \
    .name = "match", .type = CLI_CHOICE, .argument = "HOW", .offset = offsetof(owner, field), .choices = matches,      \
    .help = "what makes two sentences the same: every byte, or letters and digits whatever their case"                 \
  }

struct pivot_args {
  cli_data_flow flow;
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
  int code = cli_data_split(&columns, &n, &copy, args->on);
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
  o.flow = cli_data_flow_of(&args->flow, &progress);
  const cq_status status = cq_corpus_pivot(&counts, &o, &error);
  return cli_data_report(status, &counts, &progress, &error);
}

const cli_command cli_data_pivot = {
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
    CLI_DATA_FLOW_OPTIONS,
    .defaults = pivot_defaults,
    .run = run_pivot,
};

/* --- sample --- */

struct sample_args {
  cli_data_flow flow;
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
  cq_corpus_sample_options o = {CLI_DATA_INPUTS(call), .n = args->n, .share = args->share, .seed = args->seed};
  if ((args->n > 0) == (args->share > 0)) return cli_usage(call->path, "expected either --rows or --share");
  o.flow = cli_data_flow_of(&args->flow, &progress);
  const cq_status status = cq_corpus_sample(&counts, &o, &error);
  return cli_data_report(status, &counts, &progress, &error);
}

const cli_command cli_data_sample = {
    .name = "sample",
    .summary = "some rows at random, in their order",
    .arguments = "[FILE...]",
    .least_arguments = 0,
    .most_arguments = -1,
    .description = "Every row has the same chance. Files are taken one after the other; none is standard input.",
    .example = "calque data sample --rows 50000 en-de.tsv.gz -o 50k.tsv.gz",
    CLI_OPTIONS(struct sample_args, sample_options),
    CLI_DATA_FLOW_OPTIONS,
    .defaults = sample_defaults,
    .run = run_sample,
};

/* --- dedup --- */

static const char *const repeats[] = {"row", "any", "first", "second", NULL}; /* in cq_corpus_repeats's order */

struct dedup_args {
  cli_data_flow flow;
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
  cq_corpus_dedup_options o = {CLI_DATA_INPUTS(call), .held_out = args->against.items, .n_held_out = args->against.n,
                               .match = (cq_corpus_match)args->match, .repeats = (cq_corpus_repeats)args->repeats};
  o.flow = cli_data_flow_of(&args->flow, &progress);
  const cq_status status = cq_corpus_dedup(&counts, &o, &error);
  return cli_data_report(status, &counts, &progress, &error);
}

const cli_command cli_data_dedup = {
    .name = "dedup",
    .summary = "leave out rows that repeat earlier ones, or share a sentence with a test set",
    .arguments = "[FILE...]",
    .least_arguments = 0,
    .most_arguments = -1,
    .description = "Of rows that repeat one another the first is kept. Files are taken one after the other; none is "
                   "standard input. Memory grows by about 20 bytes a row.",
    .example = "calque data dedup train-*.tsv.gz --against test.tsv.gz --against dev.tsv.gz -o train.tsv.gz",
    CLI_OPTIONS(struct dedup_args, dedup_options),
    CLI_DATA_FLOW_OPTIONS,
    .defaults = dedup_defaults,
    .run = run_dedup,
};

/* --- filter --- */

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
    .least_arguments = 0,
    .most_arguments = -1,
    .description =
        "Files are taken one after the other; none is standard input. A side is in the script that most of its "
        "letters have; one without letters is in any.",
    .example = "calque data filter --languages en,ru en-ru.tsv.gz -o clean.tsv.gz",
    CLI_OPTIONS(struct filter_args, filter_options),
    CLI_DATA_FLOW_OPTIONS,
    .defaults = filter_defaults,
    .run = run_filter,
};

/* --- gloss --- */

struct gloss_args {
  cli_data_flow flow;
  cli_list dictionaries;
  uint64_t column, seed;
  double least;
};

static void gloss_defaults(void *options) {
  *(struct gloss_args *)options = (struct gloss_args){.column = 1, .seed = 1};
}

static const cli_option gloss_options[] = {
    {.name = "dictionary",
     .letter = 'd',
     .type = CLI_LIST,
     .argument = "FILE",
     .offset = offsetof(struct gloss_args, dictionaries),
     .required = true,
     .help = "rows of a word and its translations"},
    {.name = "column",
     .type = CLI_COUNT,
     .argument = "N",
     .offset = offsetof(struct gloss_args, column),
     .least = 1,
     .greatest = 256,
     .help = "of the files, in which the sentences stand"},
    {.name = "least",
     .type = CLI_NUMBER,
     .argument = "X",
     .offset = offsetof(struct gloss_args, least),
     .greatest = 1,
     .help = "leave out sentences of whose words a smaller share is known; one must be in any case"},
    {.name = "seed",
     .type = CLI_COUNT,
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
    .least_arguments = 0,
    .most_arguments = -1,
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
