/* calque autoencode search | ablate: series of trainings. */
#include "lab/cli/autoencode_command.h"

#include <stdlib.h>
#include <string.h>

static void print_table(const char *directory) {
  char path[4096], line[4096];
  if (snprintf(path, sizeof path, "%s/table.md", directory) >= (int)sizeof path) return;
  FILE *f = fopen(path, "r");
  while (f && fgets(line, sizeof line, f)) fputs(line, stdout);
  if (f) fclose(f);
}

/* The framework's message for a command that always requires arguments. */
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

#define ARGS struct search_args
static const cq_option search_options[] = {
    {CQ_INT(ARGS, "trials", n_trials, CHANGES, 27, 1, 10000, "N", "how many sets of values are drawn")},
    {CQ_INT(ARGS, "rungs", n_rungs, CHANGES, 3, 1, 20, "N",
            "rounds of training the best again, for longer; 1: plain random search")},
    {CQ_NUMBER(ARGS, "eta", eta, CHANGES, 3, 1.01, 100, "X",
               "one in X trials goes to the next rung, where it is trained X times as long")},
    {CQ_TEXTS(ARGS, "range", ranges, ranges.n, CHANGES, "OPTION=LOW:HIGH", "range to draw an option's values from"),
     .otherwise = "as --list prints"},
    {CQ_FLAG(ARGS, "keep", keep_models, KEEPS, "keep all models of the last rung, not only the best")},
    {CQ_FLAG(ARGS, "list", list, KEEPS, "print what can be searched, its usual range after tabs, and do nothing else")},
    CLI_AUTOENCODE_OPTIONS,
};
#undef ARGS

/* Checks the syntax of ranges before anything is opened. */
static int check_ranges(const cli_call *call, const cli_list *ranges) {
  cq_options *o;
  cq_error error = {0};
  cq_status status = cq_options_new(&o, &cq_group_autoencode_search, &error);
  for (size_t i = 0; !status && i < ranges->n; i++) status = cq_options_set(o, "range", ranges->items[i], &error);
  if (!status) status = cq_options_check(o, &error);
  cq_options_free(o);
  return status ? cli_usage(call->path, "--%s", error.message) : CLI_OK;
}

static int search(const cli_call *call, const char *const *fixed, size_t n_fixed) {
  const struct search_args *args = call->options;
  cq_autoencode_search_options o = cq_autoencode_search_default_options();
  cli_autoencode_run run;
  cq_error error = {0};
  o.n_trials = args->n_trials, o.n_rungs = args->n_rungs, o.eta = args->eta, o.keep_models = args->keep_models;
  o.ranges = args->ranges.items, o.n_ranges = args->ranges.n;
  o.fixed = fixed, o.n_fixed = n_fixed;
  int code = cli_autoencode_begin(&run, call);
  if (code == CLI_OK) {
    const cq_status status = cq_autoencode_search(run.o, &o, run.ctx, &error);
    code = cli_autoencode_failed(&run, call, status, &error);
  }
  if (code == CLI_OK) print_table(run.o->output);
  cli_autoencode_end(&run);
  return code;
}

static int list_values(void) {
  for (size_t i = 0; i < cq_autoencode_search_values(); i++) {
    cq_autoencode_range value;
    cq_autoencode_search_value(&value, i);
    printf("%s", value.name);
    if (value.low < value.high) printf("\t%g\t%g", value.low, value.high);
    putchar('\n');
  }
  return CLI_OK;
}

static int run_autoencode_search(const cli_call *call) {
  const struct search_args *args = call->options;
  if (args->list) return list_values();
  if (call->n_arguments < 2) return too_few(call);
  const size_t n_values = cq_autoencode_search_values();
  const char **fixed = calloc(n_values, sizeof *fixed);
  size_t n_fixed = 0;
  if (!fixed) return cli_fail("out of memory");
  for (size_t i = 0; i < n_values; i++) {
    cq_autoencode_range value;
    cq_autoencode_search_value(&value, i);
    if (cli_given(call, value.name)) fixed[n_fixed++] = value.name;
  }
  int code = check_ranges(call, &args->ranges);
  if (code == CLI_OK) code = search(call, fixed, n_fixed);
  free(fixed);
  return code;
}

const cli_command cli_autoencode_search = {
    .name = "search",
    .summary = "hyperparameter search (successive halving)",
    .arguments = "DIRECTORY PAIRS...",
    .min_arguments = 0, /* --list takes none */
    .max_arguments = -1,
    .description =
        "Hyperparameter search by successive halving: trains with random values for a small share of the epochs, then "
        "the best again for a larger share, up to all epochs. --list prints the options that can be searched and their "
        "usual ranges. Options with a usual range are searched unless they are given; others only with --range. "
        "DIRECTORY gets a record of each trial, a table and the best model; --resume skips trials that are done. PAIRS "
        "and all other options are those of 'calque autoencode train'.",
    .example = "calque autoencode search found fr,it=train.tsv.gz --dev fr,it=dev.tsv.gz --range lr=1e-3:1e-2",
    CLI_OPTIONS(struct search_args, search_options),
    CLI_AUTOENCODE_GROUP,
    .run = run_autoencode_search,
};

/* --- ablate --- */

struct ablate_args {
  cli_autoencode_args train;
  cli_list only;
  bool keep_models, list;
};

static const cq_option ablate_options[] = {
    {CQ_TEXTS(struct ablate_args, "only", only, only.n, CHANGES, "NAME", "make this change"), .otherwise = "all"},
    {CQ_FLAG(struct ablate_args, "keep", keep_models, KEEPS, "keep the models")},
    {CQ_FLAG(struct ablate_args, "list", list, KEEPS, "print the names of all changes, and do nothing else")},
    CLI_AUTOENCODE_OPTIONS,
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
    cq_autoencode_ablate_options o = cq_autoencode_ablate_default_options();
    o.only = args->only.items, o.n_only = args->only.n, o.keep_models = args->keep_models;
    const cq_status status = cq_autoencode_ablate(run.o, &o, run.ctx, &error);
    code = cli_autoencode_failed(&run, call, status, &error);
  }
  if (code == CLI_OK) print_table(run.o->output);
  cli_autoencode_end(&run);
  return code;
}

const cli_command cli_autoencode_ablate = {
    .name = "ablate",
    .summary = "ablation: train with one setting changed at a time",
    .arguments = "DIRECTORY PAIRS...",
    .min_arguments = 0, /* --list takes none */
    .max_arguments = -1,
    .description = "Ablation: trains as 'calque autoencode train' does with the same options, then again with one "
                   "setting changed, for each change in turn; --list prints their names. Changes that cannot be "
                   "trained with these options are left out, with a message. DIRECTORY gets a record of each and a "
                   "table; --resume skips those that are done.",
    .example = "calque autoencode ablate changes fr,it=train.tsv.gz --dev fr,it=dev.tsv.gz --only noise-0",
    CLI_OPTIONS(struct ablate_args, ablate_options),
    CLI_AUTOENCODE_GROUP,
    .run = run_ablate,
};
