/* calque data stats. */
#include "cli/data/data_command.h"

#include <inttypes.h>

struct stats_args {
  size_t size;
  cli_tables as;
};

static const cq_option stats_options[] = {
    CLI_TABLES(struct stats_args, as),
};

static void print_scripts(char *out, size_t size, const cq_corpus_column *column) {
  size_t n = 0;
  out[0] = '\0';
  for (int i = 0; i < CQ_CORPUS_MAX_SCRIPTS && column->scripts[i].share > 0 && n < size; i++)
    n += (size_t)snprintf(out + n, size - n, "%s%s %.1f%%", i ? " " : "", column->scripts[i].name,
                          100 * column->scripts[i].share);
}

static int print_stats(const cq_corpus_figures *f, cli_table_format format) {
  static const char *const heads[] = {"column", "rows", "empty", "distinct", "characters",
                                      "median", "95%",  "max",   "words",    "script"};
  cli_table table = {.n_columns = sizeof heads / sizeof *heads};
  char scripts[160];
  for (size_t i = 0; i < table.n_columns; i++) cli_table_cell(&table, "%s", heads[i]);
  for (size_t c = 0; c < f->n_columns; c++) {
    const cq_corpus_column *column = &f->columns[c];
    cli_table_cell(&table, "%zu", c + 1);
    cli_table_cell(&table, "%" PRIu64, column->n);
    cli_table_cell(&table, "%" PRIu64, column->n_empty);
    cli_table_cell(&table, "%" PRIu64, column->n_distinct);
    cli_table_cell(&table, "%.1f", column->mean_characters);
    cli_table_cell(&table, "%" PRIu64, column->median_characters);
    cli_table_cell(&table, "%" PRIu64, column->characters_95);
    cli_table_cell(&table, "%" PRIu64, column->max_characters);
    cli_table_cell(&table, "%.1f", column->mean_words);
    print_scripts(scripts, sizeof scripts, column);
    cli_table_cell(&table, "%s", scripts);
  }
  const bool failed = table.failed;
  if (!failed) cli_table_print(&table, stdout, format);
  cli_table_free(&table);
  return failed ? cli_fail("out of memory") : CLI_OK;
}

static void print_stats_json(const cq_corpus_figures *f) {
  printf("{\"rows\": %" PRIu64 ", \"distinct\": %" PRIu64 ", \"identical\": %" PRIu64 ", \"dropped\": %" PRIu64
         ", \"columns\": [",
         f->n_rows, f->n_distinct, f->n_identical, f->n_dropped);
  for (size_t c = 0; c < f->n_columns; c++) {
    const cq_corpus_column *column = &f->columns[c];
    printf("%s\n  {\"rows\": %" PRIu64 ", \"empty\": %" PRIu64 ", \"distinct\": %" PRIu64
           ", \"mean_characters\": %.9g, "
           "\"median_characters\": %" PRIu64 ", \"characters_95\": %" PRIu64 ", \"max_characters\": %" PRIu64
           ", \"mean_words\": %.9g, \"scripts\": {",
           c ? "," : "", column->n, column->n_empty, column->n_distinct, column->mean_characters,
           column->median_characters, column->characters_95, column->max_characters, column->mean_words);
    for (int i = 0; i < CQ_CORPUS_MAX_SCRIPTS && column->scripts[i].share > 0; i++)
      printf("%s\"%s\": %.9g", i ? ", " : "", column->scripts[i].name, column->scripts[i].share);
    printf("}}");
  }
  printf("\n]}\n");
}

static int run_stats(const cli_call *call) {
  const struct stats_args *args = call->options;
  cq_corpus_stats_options *o = call->library;
  cq_corpus_figures figures;
  cli_data_run run = cli_data_start("rows read", "written");
  cli_table_format format;
  if (cli_tables_format(&format, call, &args->as)) return CLI_USAGE;
  CLI_DATA_INPUTS(o, call);
  CLI_DATA_WATCH(o, &run);
  const cq_status status = cq_corpus_stats(&figures, o, &run.error);
  cli_progress_clear(&run.progress);
  if (status) return cli_fail_error(&run.error);
  int code = CLI_OK;
  if (args->as.json)
    print_stats_json(&figures);
  else
    code = print_stats(&figures, format);
  cli_note("%" PRIu64 " rows, %" PRIu64 " distinct, %" PRIu64 " with identical sides, %" PRIu64 " dropped",
           figures.n_rows, figures.n_distinct, figures.n_identical, figures.n_dropped);
  cq_corpus_figures_free(&figures);
  return code;
}

const cli_command cli_data_stats = {
    .name = "stats",
    .summary = "count rows, lengths, scripts and distinct sentences of each column",
    CLI_ARGUMENTS("[FILE...]", 0, -1),
    .description = "Prints a line for each column: rows, empty sentences, distinct sentences; for non-empty sentences, "
                   "mean, median, 95th percentile and maximum of their characters, mean words (separated by blanks), "
                   "and their scripts. Files are read one after the other; without files, standard input is read. "
                   "A file's ending chooses its format, as in data convert.",
    .example = "calque data stats en-de.tsv.gz",
    CLI_GROUP(&cq_group_corpus_stats, .left_out = cli_data_inputs_taken),
    CLI_OPTIONS(struct stats_args, stats_options),
    .run = run_stats,
};
