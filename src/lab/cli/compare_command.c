/* calque compare: do runs differ significantly? */
#include "calque/lab/compare.h"
#include "cli/frame/command.h"
#include "cli/frame/report.h"

#include <string.h>

/* The values of --test: in cq_test's order, then all of them. */
enum { TEST_ALL = CQ_N_TESTS };
static const char *const tests[] = {"wilcoxon", "t", "randomization", "all", NULL};

struct args {
  size_t size;
  int test;
  cli_tables as;
};

static const cq_option options[] = {
    {CQ_CHOICE(
        struct args, "test", test, CHANGES, CQ_TEST_WILCOXON, tests, "TEST",
        "Wilcoxon's signed-rank test, Student's paired t-test, or Fisher's randomization test, of random signs")},
    CLI_TABLES(struct args, as),
};

/* ---- a table ---- */

static void p_value(cli_table *table, double p, const char *mark) {
  cli_table_cell(table, p >= 1e-4 || p == 0 ? "%.4f%s" : "%.1e%s", p, mark);
}

static void result_cells(cli_table *table, const cq_comparison *r, int test) {
  cli_table_cell(table, "%+.4f", r->difference);
  if (r->mean_a != 0)
    cli_table_cell(table, "%+.1f", 100 * r->difference / r->mean_a);
  else
    cli_table_cell(table, "-");
  cli_table_cell(table, "%zu/%zu/%zu", r->n_wins, r->n_losses, r->n_ties);
  for (int t = 0; t < CQ_N_TESTS; t++) {
    if (test != TEST_ALL && test != t) continue;
    const double corrected = r->corrected[t];
    p_value(table, r->p[t], "");
    p_value(table, corrected, corrected < 0.01 ? " **" : corrected < 0.05 ? " * " : "   ");
  }
}

static bool print_comparisons(const cq_comparisons *c, size_t measure, const char *const *runs, const struct args *args,
                              cli_table_format format, bool all_pairs) {
  const int test = args->test;
  const size_t n_pairs = cq_comparisons_n_pairs(c);
  const size_t n_tests = test == TEST_ALL ? CQ_N_TESTS : 1, n_before = all_pairs ? 4 : 2;
  const char *name = cq_comparisons_measure(c, measure);
  cli_table table = {.n_columns = n_before + 3 + 2 * n_tests};
  cli_table_cell(&table, "run");
  cli_table_cell(&table, "%s", name);
  if (all_pairs) {
    cli_table_cell(&table, "against");
    cli_table_cell(&table, "%s", name);
  }
  cli_table_cell(&table, "difference");
  cli_table_cell(&table, "%%");
  cli_table_cell(&table, "won/lost/tied");
  for (int t = 0; t < CQ_N_TESTS; t++) {
    if (test != TEST_ALL && test != t) continue;
    cli_table_cell(&table, "p %s", tests[t]);
    cli_table_cell(&table, "Holm   ");
  }
  if (!all_pairs) {
    cli_table_cell(&table, "%s", runs[0]);
    cli_table_cell(&table, "%.4f", cq_comparisons_result(c, 0, measure)->mean_a);
    for (size_t i = 2; i < table.n_columns; i++) cli_table_cell(&table, "%s", "");
  }
  for (size_t pair = 0; pair < n_pairs; pair++) {
    const cq_comparison *r = cq_comparisons_result(c, pair, measure);
    cli_table_cell(&table, "%s", runs[cq_comparisons_second(c, pair)]);
    cli_table_cell(&table, "%.4f", r->mean_b);
    if (all_pairs) {
      cli_table_cell(&table, "%s", runs[cq_comparisons_first(c, pair)]);
      cli_table_cell(&table, "%.4f", r->mean_a);
    }
    result_cells(&table, r, test);
  }
  const bool failed = table.failed;
  if (!failed) cli_table_print(&table, stdout, format);
  cli_table_free(&table);
  return !failed;
}

static bool print_tables(const cq_comparisons *c, const char *const *runs, const struct args *args,
                         cli_table_format format, const cq_compare_options *o) {
  const size_t n_pairs = cq_comparisons_n_pairs(c);
  if (format == CLI_TABLE_TEXT && o->topics_per_group)
    printf("%zu topics in %zu groups\n\n", cq_comparisons_n_topics(c), cq_comparisons_n_groups(c));
  else if (format == CLI_TABLE_TEXT)
    printf("%zu topics\n\n", cq_comparisons_n_topics(c));
  for (size_t m = 0; m < cq_comparisons_n_measures(c); m++) {
    if (!print_comparisons(c, m, runs, args, format, o->all_pairs)) return false;
    if (m + 1 < cq_comparisons_n_measures(c) || format == CLI_TABLE_TEXT) printf("\n");
  }
  if (format == CLI_TABLE_TEXT)
    printf("* p < 0.05, ** p < 0.01, two-sided, after Holm's correction for %zu comparison%s per measure\n", n_pairs,
           n_pairs == 1 ? "" : "s");
  return true;
}

/* ---- JSON ---- */

static void print_comparison_json(const cq_comparisons *c, size_t pair, size_t measure, const char *const *runs) {
  const cq_comparison *r = cq_comparisons_result(c, pair, measure);
  cli_json_text(stdout, "{\"measure\": ", cq_slice_of(cq_comparisons_measure(c, measure)));
  cli_json_text(stdout, ", \"a\": ", cq_slice_of(runs[cq_comparisons_first(c, pair)]));
  cli_json_text(stdout, ", \"b\": ", cq_slice_of(runs[cq_comparisons_second(c, pair)]));
  printf(", \"topics\": %zu, \"n\": %zu", cq_comparisons_n_topics(c), r->n);
  cli_json_number(stdout, ", \"mean_a\": ", r->mean_a, 0);
  cli_json_number(stdout, ", \"mean_b\": ", r->mean_b, 0);
  cli_json_number(stdout, ", \"difference\": ", r->difference, 0);
  cli_json_number(stdout, ", \"percent\": ", 100 * r->difference / r->mean_a, 0);
  printf(", \"wins\": %zu, \"losses\": %zu, \"ties\": %zu", r->n_wins, r->n_losses, r->n_ties);
  for (int t = 0; t < CQ_N_TESTS; t++)
    printf(", \"%s\": {\"p\": %.9g, \"holm\": %.9g, \"exact\": %s}", tests[t], r->p[t], r->corrected[t],
           r->exact[t] ? "true" : "false");
  printf("}\n");
}

static int run_compare(const cli_call *call) {
  const struct args *args = call->options;
  const char *const *runs = call->arguments + 1;
  cq_error error = {0};
  cq_comparisons *c;
  int code = CLI_OK;
  cli_table_format format;
  if (cli_tables_format(&format, call, &args->as)) return CLI_USAGE;
  if (cq_compare_runs(&c, call->arguments[0], runs, call->n_arguments - 1, call->library, &error))
    return cli_fail_error(&error);
  if (args->as.json) {
    for (size_t m = 0; m < cq_comparisons_n_measures(c); m++)
      for (size_t pair = 0; pair < cq_comparisons_n_pairs(c); pair++) print_comparison_json(c, pair, m, runs);
  } else if (!print_tables(c, runs, args, format, call->library)) {
    code = cli_fail("out of memory");
  }
  cq_comparisons_free(c);
  return code;
}

const cli_command cli_compare = {
    .name = "compare",
    .summary = "significance tests between ranked runs",
    CLI_ARGUMENTS("QRELS RUN RUN...", 3, -1),
    .description =
        "Evaluates TREC runs against relevance judgments and compares each to the first: means, their difference, on "
        "how many topics it won, lost and tied, and the p-value of a paired two-sided test, uncorrected and corrected "
        "by Holm's method for the number of runs compared. The topics are the judged ones for which at least one run "
        "has a document; a run without one counts as having found nothing. Topics made from one source, such as an "
        "article's sentences, are not independent evidence: --group tests the means of each source. Wilcoxon's test is "
        "exact for up to 50 differences without ties, the randomization test for up to 20; beyond that, Wilcoxon's is "
        "approximated and the randomization test samples.",
    .example = "calque compare qrels.txt before.txt after.txt --measure map --measure P_10 --test all",
    CLI_GROUP(&cq_group_compare),
    CLI_OPTIONS(struct args, options),
    .run = run_compare,
};
