/* calque autoencode search | ablate: many trainings under one roof. */
#include "cli/autoencode/autoencode.h"

#include <stdlib.h>
#include <string.h>

static void print_table(const char *directory) {
  char path[4096], line[4096];
  if (snprintf(path, sizeof path, "%s/table.md", directory) >= (int)sizeof path) return;
  FILE *f = fopen(path, "r");
  while (f && fgets(line, sizeof line, f)) fputs(line, stdout);
  if (f) fclose(f);
}

/* What the framework says of a command that always needs them. */
static int too_few(const cli_call *call) {
  return cli_usage(call->path, "expected %s", call->command->arguments);
}

/* --- search --- */

struct search_args {
  cli_autoencode_args train;
  int n_trials, n_rungs;
  double eta;
  cli_list ranges;
  bool keep_models, list;
};

static void search_defaults(void *options) {
  struct search_args *args = options;
  const cq_autoencode_search_options o = cq_autoencode_search_default_options();
  cli_autoencode_defaults(&args->train);
  args->n_trials = o.n_trials, args->n_rungs = o.n_rungs, args->eta = o.eta;
}

static const cq_option search_options[] = {
    {.name = "trials",
     .type = CQ_OPTION_INT,
     .argument = "N",
     .offset = offsetof(struct search_args, n_trials),
     .min = 1,
     .max = 10000,
     .help = "how many sets of values are drawn"},
    {.name = "rungs",
     .type = CQ_OPTION_INT,
     .argument = "N",
     .offset = offsetof(struct search_args, n_rungs),
     .min = 1,
     .max = 20,
     .help = "how often the best are trained again, for longer; 1: plain random search"},
    {.name = "eta",
     .type = CQ_OPTION_NUMBER,
     .argument = "X",
     .offset = offsetof(struct search_args, eta),
     .min = 1.01,
     .max = 100,
     .help = "of so many trials one goes on to the next rung, and is trained so much longer"},
    {.name = "range",
     .type = CQ_OPTION_TEXTS,
     .count_offset = offsetof(struct search_args, ranges.n),
     .argument = "OPTION=LOW:HIGH",
     .offset = offsetof(struct search_args, ranges),
     .otherwise = "--list's",
     .help = "search an option's value there; may be given again and again"},
    {.name = "keep",
     .type = CQ_OPTION_FLAG,
     .offset = offsetof(struct search_args, keep_models),
     .help = "keep all models of the last rung, not only the best"},
    {.name = "list",
     .type = CQ_OPTION_FLAG,
     .offset = offsetof(struct search_args, list),
     .help = "print what can be searched, its usual range after tabs, and do nothing else"},
};

/* "lr=1e-4:1e-2"; *name is to be freed. */
static int read_range(cq_autoencode_range *out, char **name, const char *text, const char *path) {
  const char *equals = strchr(text, '='), *colon = equals ? strchr(equals, ':') : NULL;
  char low[64] = "";
  if (colon && colon - equals < 64) memcpy(low, equals + 1, (size_t)(colon - equals - 1));
  if (!colon || !cli_parse_number(&out->low, low) || !cli_parse_number(&out->high, colon + 1))
    return cli_usage(path, "--range is '%s', expected an option and two numbers as lr=1e-4:1e-2", text);
  out->name = *name = strndup(text, (size_t)(equals - text));
  return *name ? CLI_OK : cli_fail("out of memory");
}

static int search(const cli_call *call, const cq_autoencode_range *ranges, const char *const *fixed, size_t n_fixed) {
  const struct search_args *args = call->options;
  const cq_autoencode_search_options o = {.n_trials = args->n_trials,
                                          .n_rungs = args->n_rungs,
                                          .eta = args->eta,
                                          .ranges = ranges,
                                          .n_ranges = args->ranges.n,
                                          .fixed = fixed,
                                          .n_fixed = n_fixed,
                                          .keep_models = args->keep_models};
  cli_autoencode_run run;
  cq_error error = {0};
  int code = cli_autoencode_begin(&run, call);
  if (code == CLI_OK) {
    const cq_status status = cq_autoencode_search(&run.o, &o, run.ctx, &error);
    code = cli_autoencode_failed(&run, call, status, &error);
  }
  if (code == CLI_OK) print_table(run.o.output);
  cli_autoencode_end(&run);
  return code;
}

static int list_values(void) {
  for (size_t i = 0; i < cq_autoencode_search_values(); i++) {
    const cq_autoencode_range value = cq_autoencode_search_value(i);
    printf("%s", value.name);
    if (value.low < value.high) printf("\t%g\t%g", value.low, value.high);
    putchar('\n');
  }
  return CLI_OK;
}

static int run_search(const cli_call *call) {
  const struct search_args *args = call->options;
  if (args->list) return list_values();
  if (call->n_arguments < 2) return too_few(call);
  cq_autoencode_range *ranges = calloc(args->ranges.n + 1, sizeof *ranges);
  char **names = calloc(args->ranges.n + 1, sizeof *names);
  const char **fixed = calloc(cq_autoencode_search_values(), sizeof *fixed);
  size_t n_fixed = 0;
  int code = ranges && names && fixed ? CLI_OK : cli_fail("out of memory");
  for (size_t i = 0; code == CLI_OK && i < args->ranges.n; i++)
    code = read_range(&ranges[i], &names[i], args->ranges.items[i], call->path);
  for (size_t i = 0; code == CLI_OK && i < cq_autoencode_search_values(); i++)
    if (cli_given(call, cq_autoencode_search_value(i).name)) fixed[n_fixed++] = cq_autoencode_search_value(i).name;
  if (code == CLI_OK) code = search(call, ranges, fixed, n_fixed);
  for (size_t i = 0; names && i < args->ranges.n; i++) free(names[i]);
  free(fixed);
  free(names);
  free(ranges);
  return code;
}

const cli_command cli_autoencode_search = {
    .name = "search",
    .summary = "search the values that autoencoders are trained with",
    .arguments = "DIRECTORY PAIRS...",
    .min_arguments = 0, /* --list takes none */
    .max_arguments = -1,
    .description =
        "Trains with values drawn at random, for a small share of the epochs; then the best of them again for a "
        "greater share, and so on to all epochs: successive halving. --list prints what can be searched. What has a "
        "usual range is, but for options that are given, which stay as they are; the rest where --range says so. "
        "DIRECTORY gets a record of each trial, a table and the best model; with --resume what is done is not done "
        "again. PAIRS and all other options are those of `calque autoencode train`.",
    .example = "calque autoencode search found fr,it=train.tsv.gz --dev fr,it=dev.tsv.gz --range lr=1e-3:1e-2",
    CLI_OPTIONS(struct search_args, search_options),
    CLI_AUTOENCODE_OPTIONS,
    .defaults = search_defaults,
    .run = run_search,
};

/* --- ablate --- */

struct ablate_args {
  cli_autoencode_args train;
  cli_list only;
  bool keep_models, list;
};

static const cq_option ablate_options[] = {
    {.name = "only",
     .type = CQ_OPTION_TEXTS,
     .count_offset = offsetof(struct ablate_args, only.n),
     .argument = "NAME",
     .offset = offsetof(struct ablate_args, only),
     .otherwise = "all",
     .help = "make this change; may be given again and again"},
    {.name = "keep",
     .type = CQ_OPTION_FLAG,
     .offset = offsetof(struct ablate_args, keep_models),
     .help = "keep the models"},
    {.name = "list",
     .type = CQ_OPTION_FLAG,
     .offset = offsetof(struct ablate_args, list),
     .help = "print the names of all changes, and do nothing else"},
};

static int run_ablate(const cli_call *call) {
  const struct ablate_args *args = call->options;
  for (size_t i = 0; args->list && i < cq_autoencode_ablations(); i++) puts(cq_autoencode_ablation(i));
  if (args->list) return CLI_OK;
  if (call->n_arguments < 2) return too_few(call);
  cli_autoencode_run run;
  cq_error error = {0};
  int code = cli_autoencode_begin(&run, call);
  if (code == CLI_OK) {
    const cq_status status =
        cq_autoencode_ablate(&run.o, args->only.items, args->only.n, args->keep_models, run.ctx, &error);
    code = cli_autoencode_failed(&run, call, status, &error);
  }
  if (code == CLI_OK) print_table(run.o.output);
  cli_autoencode_end(&run);
  return code;
}

const cli_command cli_autoencode_ablate = {
    .name = "ablate",
    .summary = "train autoencoders with one thing changed at a time",
    .arguments = "DIRECTORY PAIRS...",
    .min_arguments = 0, /* --list takes none */
    .max_arguments = -1,
    .description =
        "Trains as `calque autoencode train` would with the same options, then again with one thing changed, for "
        "each change by itself that is one; --list prints their names. What cannot be trained with is left out, and "
        "told. DIRECTORY gets a record of each and a table; with --resume what is done is not done again.",
    .example = "calque autoencode ablate changes fr,it=train.tsv.gz --dev fr,it=dev.tsv.gz --only noise-0",
    CLI_OPTIONS(struct ablate_args, ablate_options),
    CLI_AUTOENCODE_OPTIONS,
    .defaults = cli_autoencode_defaults,
    .run = run_ablate,
};
