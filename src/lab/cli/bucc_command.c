/* calque eval bucc: compares mined pairs with gold. The first GOLD and PAIRS choose the threshold; the second ones, if
 * given, are evaluated with it. */
#include "calque/lab/chart.h"
#include "calque/lab/labeled.h"
#include "cli/frame/command.h"
#include "cli/frame/output.h"
#include "cli/frame/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct args {
  size_t size;
  const char *curve;
  int sweep, errors;
  cli_tables as;
  double min_score;
};

static const cq_option options[] = {
    {CQ_INT(struct args, "sweep", sweep, CHANGES, 0, 2, 1000, "N",
            "add a row for each of N thresholds, evenly from the lowest score to the highest"),
     .otherwise = "none"},
    {CQ_INT(struct args, "errors", errors, CHANGES, 0, 1, 0, "N",
            "list on standard error the N best pairs of the last PAIRS that gold lacks (it may miss true pairs)"),
     .otherwise = "none"},
    {CQ_TEXT(struct args, "curve", curve, CHANGES, "FILE.svg", "draw the precision-recall curve of the last PAIRS")},
    {CQ_NUMBER(struct args, "min-score", min_score, CHANGES, -INFINITY, -INFINITY, 0, "X",
               "leave out pairs with a lower score; the threshold on the cosine then applies in addition"),
     .otherwise = "none"},
    CLI_TABLES(struct args, as),
};

/* One row of the table. */
typedef struct figure {
  const char *set, *by;
  cq_f1_point point;
} figure;

typedef struct report {
  figure *rows;
  size_t n, capacity;
} report;

static bool add_report_row(report *r, const char *set, const char *by, cq_f1_point point) {
  if (r->n == r->capacity) {
    const size_t capacity = r->capacity ? 2 * r->capacity : 16;
    figure *rows = realloc(r->rows, capacity * sizeof *rows);
    if (!rows) return false;
    r->rows = rows, r->capacity = capacity;
  }
  r->rows[r->n++] = (figure){set, by, point};
  return true;
}

/* --- what is printed --- */

static void print_bucc_json(const report *r) {
  printf("{\"measure\": \"bucc\", \"results\": [");
  for (size_t i = 0; i < r->n; i++) {
    const cq_f1_point *p = &r->rows[i].point;
    cli_json_text(stdout, i ? ",\n  {\"pairs\": " : "\n  {\"pairs\": ", cq_slice_of(r->rows[i].set));
    printf(
        ", \"by\": \"%s\", \"threshold\": %.9g, \"precision\": %.9g, \"recall\": %.9g, \"f1\": %.9g, \"n_taken\": %zu, "
        "\"n_correct\": %zu}",
        r->rows[i].by, p->threshold, p->precision, p->recall, p->f1, p->n_taken, p->n_correct);
  }
  printf("\n]}\n");
}

static int print_bucc_table(const report *r, cli_table_format format) {
  static const char *const headings[] = {"", "by", "threshold", "taken", "right", "precision %", "recall %", "F1 %"};
  static const char *const names[] = {"pairs", "by", "threshold", "n_taken", "n_correct", "precision", "recall", "f1"};
  enum { N_COLUMNS = sizeof headings / sizeof *headings };
  cli_table table = {.n_columns = N_COLUMNS};
  const bool csv = format == CLI_TABLE_CSV;
  const double scale = csv ? 1 : 100;
  const int decimals = csv ? 6 : 2;
  for (size_t i = 0; i < N_COLUMNS; i++) cli_table_cell(&table, "%s", csv ? names[i] : headings[i]);
  for (size_t i = 0; i < r->n; i++) {
    const cq_f1_point *p = &r->rows[i].point;
    cli_table_cell(&table, "%s", r->rows[i].set);
    cli_table_cell(&table, "%s", r->rows[i].by);
    cli_table_cell(&table, "%.4f", p->threshold);
    cli_table_cell(&table, "%zu", p->n_taken);
    cli_table_cell(&table, "%zu", p->n_correct);
    cli_table_cell(&table, "%.*f", decimals, scale * p->precision);
    cli_table_cell(&table, "%.*f", decimals, scale * p->recall);
    cli_table_cell(&table, "%.*f", decimals, scale * p->f1);
  }
  const bool failed = table.failed;
  if (!failed) cli_table_print(&table, stdout, format);
  cli_table_free(&table);
  return failed ? cli_fail("out of memory") : CLI_OK;
}

static void list_errors(const cq_labeled *l, int n) {
  for (size_t i = 0; i < l->n && n > 0; i++) {
    const cq_labeled_pair *p = &l->pairs[i];
    if (p->correct) continue;
    n--;
    fprintf(stderr, "%.4f  %.*s  %.*s\n", p->score, (int)p->source_id.n, p->source_id.data, (int)p->target_id.n,
            p->target_id.data);
    if (p->source.data)
      fprintf(stderr, "        %.*s\n        %.*s\n", (int)p->source.n, p->source.data, (int)p->target.n,
              p->target.data);
  }
}

/* --- figures --- */

static int report_tuned(report *r, cq_f1_point *best, const cq_labeled *l, const char *set, bool by_cosine) {
  cq_error error = {0};
  cq_f1_point *curve;
  size_t n;
  if (cq_labeled_curve(&curve, &n, l, by_cosine, &error)) return cli_fail_error(&error);
  cq_f1_best(best, curve, n);
  cq_free(curve);
  return add_report_row(r, set, by_cosine ? "cosine" : "score", *best) ? CLI_OK : cli_fail("out of memory");
}

static int report_at(report *r, const cq_labeled *l, const char *set, bool by_cosine, double threshold) {
  cq_error error = {0};
  cq_f1_point point;
  if (cq_labeled_at(&point, l, by_cosine, threshold, &error)) return cli_fail_error(&error);
  return add_report_row(r, set, by_cosine ? "cosine" : "score", point) ? CLI_OK : cli_fail("out of memory");
}

static int report_sweep(report *r, const cq_labeled *l, const char *set, int n) {
  int code = CLI_OK;
  for (int i = 0; i < n && l->n > 0 && code == CLI_OK; i++) {
    const double low = l->pairs[l->n - 1].score, high = l->pairs[0].score;
    code = report_at(r, l, set, false, low + (high - low) * i / (n - 1));
  }
  return code;
}

/* Draws precision over recall, by score and, if known, by cosine. */
static int draw_curve(const cq_labeled *l, const char *set, const char *path) {
  cq_error error = {0};
  cq_chart_series series[2] = {{.name = "by margin"}, {.name = "by cosine"}};
  cq_chart chart = {
      .title = set, .x_label = "recall", .y_label = "precision", .x = {0, 1}, .y = {0, 1}, .series = series};
  char *svg = NULL;
  double *values[2] = {NULL, NULL};
  cq_status status = CQ_OK;
  int code = CLI_OK;
  for (int s = 0; s < 1 + l->has_cosines && !status; s++) {
    cq_f1_point *curve;
    size_t n;
    if ((status = cq_labeled_curve(&curve, &n, l, s == 1, &error))) break;
    if (!(values[s] = malloc((2 * n + 1) * sizeof(double)))) code = cli_fail("out of memory");
    for (size_t i = 0; i < n && values[s]; i++) values[s][i] = curve[i].recall, values[s][n + i] = curve[i].precision;
    series[s].x = values[s], series[s].y = values[s] ? values[s] + n : NULL, series[s].n = values[s] ? n : 0;
    chart.n_series++;
    cq_free(curve);
  }
  if (!status && code == CLI_OK) status = cq_chart_svg(&svg, &chart, 1, &error);
  if (!status && code == CLI_OK) status = cli_output_text(path, svg, &error);
  cq_free(svg);
  free(values[0]);
  free(values[1]);
  return status ? cli_fail_error(&error) : code;
}

static int read_labeled_set(cq_labeled *out, const char *gold, const char *pairs, double min_score) {
  cq_error error = {0};
  size_t n_correct = 0;
  if (cq_labeled_read(out, gold, pairs, &error)) return cli_fail_error(&error);
  for (size_t i = 0; i < out->n; i++) n_correct += out->pairs[i].correct;
  if (out->n && !n_correct)
    cli_note("%s has none of the pairs of %s: are its columns source id and target id?", gold, pairs);
  while (out->n > 0 && out->pairs[out->n - 1].score < min_score) out->n--; /* best first */
  return CLI_OK;
}

static int run_bucc(const cli_call *call) {
  const struct args *args = call->options;
  const char *const *names = call->arguments;
  cq_labeled sets[2] = {{0}, {0}};
  const size_t n_sets = call->n_arguments / 2;
  report r = {0};
  int code = CLI_OK;
  cli_table_format format;
  if (cli_tables_format(&format, call, &args->as)) return CLI_USAGE;
  if (call->n_arguments % 2 != 0) return cli_usage(call->path, "expected GOLD and PAIRS, once or twice");
  for (size_t i = 0; i < n_sets && code == CLI_OK; i++)
    code = read_labeled_set(&sets[i], names[2 * i], names[2 * i + 1], args->min_score);
  const cq_labeled *last = n_sets == 2 ? &sets[1] : &sets[0];
  const char *last_name = names[2 * n_sets - 1];
  for (int by_cosine = 0; by_cosine < 1 + last->has_cosines && code == CLI_OK; by_cosine++) {
    cq_f1_point best;
    if (by_cosine && !sets[0].has_cosines) break;
    code = report_tuned(&r, &best, &sets[0], names[1], by_cosine);
    if (code == CLI_OK && n_sets == 2) code = report_at(&r, last, last_name, by_cosine, best.threshold);
  }
  if (code == CLI_OK && args->sweep) code = report_sweep(&r, last, last_name, args->sweep);
  if (code == CLI_OK && args->curve) code = draw_curve(last, last_name, args->curve);
  if (code == CLI_OK && args->errors) list_errors(last, args->errors);
  if (code == CLI_OK && args->as.json) print_bucc_json(&r);
  if (code == CLI_OK && !args->as.json) code = print_bucc_table(&r, format);
  free(r.rows);
  cq_labeled_free(&sets[0]);
  cq_labeled_free(&sets[1]);
  return code;
}

const cli_command cli_eval_bucc = {
    .name = "bucc",
    .summary = "precision, recall and F1 of mined pairs",
    CLI_ARGUMENTS("GOLD PAIRS [GOLD PAIRS]", 2, 4),
    .description = "Compares mined pairs with a gold standard. Pairs are lines of score, source id and target id, as "
                   "'calque mine' prints for files with ids; gold is lines of source id and target id. The threshold "
                   "is the one with the highest F1 on the first two files; the second two are a test set. Pairs that "
                   "'calque mine --text' printed are also measured by their cosine.",
    .example = "calque eval bucc de-en.train.gold train-pairs.tsv de-en.test.gold test-pairs.tsv --errors 20",
    CLI_OPTIONS(struct args, options),
    .run = run_bucc,
};
