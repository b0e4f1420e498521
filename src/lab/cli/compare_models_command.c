/* calque eval compare: do two models differ significantly on the same files? */
#include "calque/lab/compare_models.h"
#include "cli/frame/command.h"
#include "cli/frame/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct args {
  size_t size;
  const char *model, *baseline, *documents;
  int threads;
  cli_tables as;
  const cq_eval_options *eval;
  const cq_encoder_options *encoder;
  const cq_compare_models_options *compare;
};

static const cq_option options[] = {
    {CQ_TEXT(struct args, "baseline", baseline, CHANGES, "MODEL", "the model to compare with"),
     .flags = CQ_OPTION_REQUIRED},
    {CQ_TEXT(struct args, "documents", documents, CHANGES, "MODEL",
             "with --measure search: the model that encoded the documents, the first column"),
     .otherwise = "each model its own"},
    CLI_MODEL(struct args, model),
    CLI_TABLES(struct args, as),
    CLI_THREADS(struct args, threads),
};
static const cq_option_part parts[] = {{.group = &cq_group_compare_models, .offset = offsetof(struct args, compare)},
                                       {.group = &cq_group_eval, .offset = offsetof(struct args, eval)},
                                       {.group = &cq_group_encoder, .offset = offsetof(struct args, encoder)},
                                       {0}};

/* The figures of a file; of the last row, their means over files. */
typedef struct row {
  char *label;
  cq_model_difference figures[CQ_MAX_FIGURES];
} row;

static const char *heading_of(const char *figure) {
  static const char *const headings[][2] = {{"source_to_target", "src->trg %"},
                                            {"target_to_source", "trg->src %"},
                                            {"mean", "mean %"},
                                            {"spearman", "Spearman x100"},
                                            {"hits_at_1", "hits@1 %"},
                                            {"hits_at_10", "hits@10 %"},
                                            {"mrr", "MRR x100"}};
  size_t i = 0;
  while (strcmp(headings[i][0], figure) != 0) i++;
  return headings[i][1];
}

static void empty_cell(cli_table *table) {
  cli_table_cell(table, "%s", "");
}

static void csv_cell(cli_table *table, double x) {
  if (isnan(x))
    empty_cell(table);
  else
    cli_table_cell(table, "%.9g", x);
}

static void difference_cells(cli_table *table, const char *label, const cq_model_difference *d, bool csv) {
  cli_table_cell(table, "%s", label);
  cli_table_cell(table, "%s", csv ? d->figure : heading_of(d->figure));
  cli_table_cell(table, "%zu", d->n);
  const double numbers[] = {d->baseline, d->model, d->difference, d->low, d->high, d->p};
  for (size_t i = 0; csv && i < sizeof numbers / sizeof *numbers; i++) csv_cell(table, numbers[i]);
  if (csv) return;
  for (size_t i = 0; i < 2; i++) cli_table_cell(table, isnan(numbers[i]) ? "undefined" : "%.2f", 100 * numbers[i]);
  if (isnan(d->difference)) {
    for (int i = 0; i < 3; i++) empty_cell(table);
    return;
  }
  cli_table_cell(table, "%+.2f", 100 * d->difference);
  cli_table_cell(table, "[%+.2f, %+.2f]", 100 * d->low, 100 * d->high);
  cli_table_cell(table, "%.4f", d->p);
}

/* Figure by figure, so that the files of one stand together. */
static int print_differences(const row *rows, size_t n_rows, size_t n_figures, cli_table_format format) {
  static const char *const headings[] = {"", "figure", "rows", "baseline", "model", "difference", "95 % interval", "p"};
  static const char *const names[] = {"file", "figure", "n", "baseline", "model", "difference", "low", "high", "p"};
  const bool csv = format == CLI_TABLE_CSV;
  cli_table table = {.n_columns = csv ? sizeof names / sizeof *names : sizeof headings / sizeof *headings};
  for (size_t i = 0; i < table.n_columns; i++) cli_table_cell(&table, "%s", csv ? names[i] : headings[i]);
  for (size_t f = 0; f < n_figures; f++)
    for (size_t i = 0; i < n_rows; i++)
      difference_cells(&table, rows[i].label ? rows[i].label : "average", &rows[i].figures[f], csv);
  const bool failed = table.failed;
  if (!failed) cli_table_print(&table, stdout, format);
  cli_table_free(&table);
  return failed ? cli_fail("out of memory") : CLI_OK;
}

static void print_difference_json(const row *r, size_t n_figures) {
  printf("{");
  if (r->label) cli_json_text(stdout, "\"label\": ", cq_slice_of(r->label));
  printf("%s\"n\": %zu, \"n_skipped\": %zu", r->label ? ", " : "", r->figures[0].n, r->figures[0].n_skipped);
  for (size_t f = 0; f < n_figures; f++) {
    const cq_model_difference *d = &r->figures[f];
    printf(", \"%s\": {", d->figure);
    cli_json_number(stdout, "\"baseline\": ", d->baseline, 0);
    cli_json_number(stdout, ", \"model\": ", d->model, 0);
    cli_json_number(stdout, ", \"difference\": ", d->difference, 0);
    cli_json_number(stdout, ", \"low\": ", d->low, 0);
    cli_json_number(stdout, ", \"high\": ", d->high, 0);
    cli_json_number(stdout, ", \"p\": ", d->p, 0);
    printf("}");
  }
  printf("}");
}

static void print_differences_json(const struct args *args, const row *rows, size_t n_files, size_t n_figures) {
  cli_json_text(stdout, "{\"baseline\": ", cq_slice_of(args->baseline));
  cli_json_text(stdout, ", \"model\": ", cq_slice_of(args->model));
  printf(", \"samples\": %llu, \"seed\": %llu, \"results\": [", (unsigned long long)args->compare->n_samples,
         (unsigned long long)args->compare->seed);
  for (size_t i = 0; i < n_files; i++) {
    printf(i ? ",\n  " : "\n  ");
    print_difference_json(&rows[i], n_figures);
  }
  printf("],\n \"average\": ");
  print_difference_json(&rows[n_files], n_figures);
  printf("}\n");
}

static int compare_files(row *rows, size_t *n_figures, cq_model_comparison *c, const cli_call *call, cq_context *ctx) {
  const size_t n_files = call->n_arguments;
  cli_progress progress = cli_progress_start();
  cq_error error = {0};
  for (size_t i = 0; i < n_files; i++) {
    const char *file;
    if (!(rows[i].label = cli_split_label(&file, call->arguments[i]))) return cli_fail("out of memory");
    cli_progress_draw(&progress, "compare", i, n_files, rows[i].label, progress.terminal);
    const cq_status status = cq_model_comparison_file(rows[i].figures, n_figures, c, file, ctx, &error);
    cli_progress_clear(&progress);
    if (status) return cli_fail_error(&error);
    if (rows[i].figures[0].n_skipped)
      cli_note("%s: %zu malformed lines were skipped", file, rows[i].figures[0].n_skipped);
  }
  return cq_model_comparison_mean(rows[n_files].figures, n_figures, c, &error) ? cli_fail_error(&error) : CLI_OK;
}

static int run_compare_models(const cli_call *call) {
  const struct args *args = call->options;
  const size_t n_files = call->n_arguments;
  cq_encoder *model = NULL, *baseline = NULL, *documents = NULL;
  cq_model_comparison *c = NULL;
  cq_context *ctx = NULL;
  cq_error error = {0};
  cli_table_format format;
  size_t n_figures = 0;
  if (cli_tables_format(&format, call, &args->as)) return CLI_USAGE;
  if (args->documents && args->compare->measure != CQ_MEASURE_SEARCH)
    return cli_usage(call->path, "--documents is for --measure search");
  row *rows = calloc(n_files + 1, sizeof *rows);
  const bool of_sts = args->compare->measure == CQ_MEASURE_STS;
  cq_reranker *rerankers[2] = {NULL, NULL};
  int code = rows ? CLI_OK : cli_fail("out of memory");
  if (code == CLI_OK) code = cli_open_measured(&baseline, of_sts ? &rerankers[0] : NULL, args->baseline, args->encoder);
  if (code == CLI_OK) code = cli_open_measured(&model, of_sts ? &rerankers[1] : NULL, args->model, args->encoder);
  if (code == CLI_OK && args->documents) code = cli_open_model(&documents, args->documents, args->encoder);
  if (code == CLI_OK) code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK && cq_model_comparison_new(&c, baseline, model, documents, args->eval, args->compare, &error))
    code = cli_fail_error(&error);
  if (code == CLI_OK && of_sts && cq_model_comparison_rerankers(c, rerankers[0], rerankers[1], &error))
    code = cli_fail_error(&error);
  if (code == CLI_OK) code = compare_files(rows, &n_figures, c, call, ctx);
  if (code == CLI_OK && args->as.json)
    print_differences_json(args, rows, n_files, n_figures);
  else if (code == CLI_OK)
    code = print_differences(rows, n_files > 1 ? n_files + 1 : 1, n_figures, format);
  for (size_t i = 0; rows && i < n_files; i++) free(rows[i].label);
  free(rows);
  cq_model_comparison_free(c);
  cq_context_free(ctx);
  for (size_t i = 0; i < 2; i++) cq_reranker_free(rerankers[i]);
  cq_encoder_free(documents);
  cq_encoder_free(baseline);
  cq_encoder_free(model);
  return code;
}

const cli_command cli_eval_compare = {
    .name = "compare",
    .summary = "do two models differ significantly on the same files? (paired bootstrap)",
    CLI_ARGUMENTS("[LABEL=]FILE...", 1, -1),
    .description =
        "Measures two models on the same files as 'eval translation', 'eval sts' or 'eval search' do, and tests each "
        "difference by the paired bootstrap: rows are drawn with replacement, the same ones for both models, and the "
        "difference is computed again for each sample. Prints a row for each file and figure, and the average over "
        "files, with the 95 % interval of the difference and its two-sided p-value. Files with the same number of rows "
        "are taken for parallel in the average. The smallest possible p-value is 2 / (samples + 1). P-values are not "
        "corrected for the number of files. With --measure sts, a model may be a reranker. Ranked TREC runs are "
        "compared by 'calque compare'.",
    .example = "calque eval compare --baseline before --model after de=test/en-de.tsv.gz ru=test/en-ru.tsv.gz",
    CLI_OPTIONS(struct args, options),
    .groups = parts,
    .run = run_compare_models,
};
