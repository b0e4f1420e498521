/* calque eval mse | translation | xsim | search | sts | classify: measures per file, and their average.
 *
 * A measure is a row of the `measures` table (its figures, and a function that computes them for one file) and a
 * command. All share the options, the table, and the JSON. */
#include "cli/frame/command.h"
#include "cli/frame/report.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct args {
  size_t size;
  const char *model, *teacher, *train;
  const char *const *perturb;
  size_t n_perturb;
  int threads;
  bool hard;
  cli_tables as;
  const cq_eval_options *eval;
  const cq_encoder_options *encoder;
  const cq_logistic_options *logistic;
};

enum { MAX_FIGURES = 10 };

/* One column of a measure's table. */
typedef struct figure {
  const char *name;    /* in JSON and CSV */
  const char *heading; /* in the table; NULL: appended to the previous figure, as in "3/10" */
  double scale;        /* of the table */
  int decimals;
  bool averaged; /* over files; else it is a number of rows, and a sum */
} figure;

typedef struct row {
  char *label;
  size_t n, n_skipped;
  double figures[MAX_FIGURES];
} row;

/* Shared by all files of one call. */
typedef struct bench {
  cq_encoder *model, *teacher;
  cq_reranker *reranker;     /* of sts: the model */
  cq_classifier *classifier; /* learned from --train */
  cq_context *ctx;
  cq_eval_options options;
} bench;

typedef struct measure {
  const char *name;
  const figure *figures;
  size_t n_figures;
  cq_status (*of_file)(row *out, const bench *b, const char *file, cq_error *error);
} measure;

/* ---- the measures ---- */

static cq_status mse_of_file(row *out, const bench *b, const char *file, cq_error *error) {
  cq_mse_result r = {0};
  cq_status status = cq_eval_mse(&r, b->teacher, b->model, file, &b->options, b->ctx, error);
  out->n = r.n, out->n_skipped = r.n_skipped;
  out->figures[0] = r.target, out->figures[1] = r.source;
  out->figures[2] = r.teacher_variance, out->figures[3] = r.teacher_norm;
  return status;
}

static cq_status translation_of_file(row *out, const bench *b, const char *file, cq_error *error) {
  cq_translation_result r = {0};
  cq_status status = cq_eval_translation(&r, b->model, file, &b->options, b->ctx, error);
  out->n = r.n, out->n_skipped = r.n_skipped;
  out->figures[0] = r.source_to_target, out->figures[1] = r.target_to_source, out->figures[2] = r.mean;
  out->figures[3] = r.n ? 1 / (double)r.n : NAN;
  return status;
}

static cq_status xsim_of_file(row *out, const bench *b, const char *file, cq_error *error) {
  cq_translation_result r = {0};
  cq_status status = cq_eval_xsim(&r, b->model, file, &b->options, b->ctx, error);
  out->n = r.n, out->n_skipped = r.n_skipped;
  out->figures[0] = r.source_to_target, out->figures[1] = r.target_to_source, out->figures[2] = r.mean;
  return status;
}

static cq_status xsim_hard_of_file(row *out, const bench *b, const char *file, cq_error *error) {
  cq_xsim_hard_result r = {0};
  cq_status status = cq_eval_xsim_hard(&r, b->model, file, &b->options, b->ctx, error);
  const cq_xsim_kind kinds[] = {r.number, r.name, r.negation, r.order};
  out->n = r.n, out->n_skipped = r.n_skipped;
  out->figures[0] = r.error;
  for (size_t i = 0; i < 4; i++) {
    out->figures[1 + 2 * i] = (double)kinds[i].n_errors;
    out->figures[2 + 2 * i] = (double)kinds[i].n_near_misses;
  }
  out->figures[9] = (double)r.n_other;
  return status;
}

static cq_status search_of_file(row *out, const bench *b, const char *file, cq_error *error) {
  cq_eval_search_result r = {0};
  cq_status status = cq_eval_search(&r, b->teacher ? b->teacher : b->model, b->model, file, &b->options, b->ctx, error);
  out->n = r.n, out->n_skipped = r.n_skipped;
  out->figures[0] = r.hits_at_1, out->figures[1] = r.hits_at_10, out->figures[2] = r.mrr;
  return status;
}

static cq_status sts_of_file(row *out, const bench *b, const char *file, cq_error *error) {
  cq_sts_result r = {0};
  cq_status status = b->reranker ? cq_eval_sts_reranker(&r, b->reranker, file, &b->options, b->ctx, error)
                                 : cq_eval_sts(&r, b->model, file, &b->options, b->ctx, error);
  out->n = r.n, out->n_skipped = r.n_skipped;
  out->figures[0] = r.spearman, out->figures[1] = r.pearson;
  return status;
}

static cq_status classify_of_file(row *out, const bench *b, const char *file, cq_error *error) {
  cq_classify_result r = {0};
  cq_status status = cq_eval_classify(&r, b->classifier, file, &b->options, b->ctx, error);
  out->n = r.n, out->n_skipped = r.n_skipped;
  out->figures[0] = r.accuracy, out->figures[1] = r.macro_f1, out->figures[2] = r.chance;
  return status;
}

static const figure mse_figures[] = {
    {"target_mse", "target x100", 1, 4, true},
    {"source_mse", "source x100", 1, 4, true},
    {"teacher_variance", "teacher variance x100", 1, 4, true},
    {"teacher_norm", "teacher norm", 1, 3, true},
};
static const figure translation_figures[] = {
    {"source_to_target", "src->trg %", 100, 2, true},
    {"target_to_source", "trg->src %", 100, 2, true},
    {"mean", "mean %", 100, 2, true},
    {"chance", "chance %", 100, 2, true},
};
static const figure xsim_figures[] = {
    {"source_to_target", "src->trg error %", 100, 2, true},
    {"target_to_source", "trg->src error %", 100, 2, true},
    {"mean", "mean error %", 100, 2, true},
};
static const figure xsim_hard_figures[] = {
    {"error", "error %", 100, 2, true},          {"number_errors", "number", 1, 0, false},
    {"number_near_misses", NULL, 1, 0, false},   {"name_errors", "name", 1, 0, false},
    {"name_near_misses", NULL, 1, 0, false},     {"negation_errors", "negation", 1, 0, false},
    {"negation_near_misses", NULL, 1, 0, false}, {"order_errors", "order", 1, 0, false},
    {"order_near_misses", NULL, 1, 0, false},    {"other_errors", "other", 1, 0, false},
};
static const figure search_figures[] = {
    {"hits_at_1", "hits@1 %", 100, 2, true},
    {"hits_at_10", "hits@10 %", 100, 2, true},
    {"mrr", "MRR x100", 100, 2, true},
};
static const figure sts_figures[] = {
    {"spearman", "Spearman x100", 100, 2, true},
    {"pearson", "Pearson x100", 100, 2, true},
};

static const figure classify_figures[] = {
    {"accuracy", "accuracy %", 100, 2, true},
    {"macro_f1", "macro F1 x100", 100, 2, true},
    {"most_frequent", "most frequent %", 100, 2, true},
};

#define MEASURE(name, title) title, name##_figures, sizeof name##_figures / sizeof *name##_figures, name##_of_file
static const measure measures[] = {{MEASURE(mse, "mse")},          {MEASURE(translation, "translation")},
                                   {MEASURE(xsim, "xsim")},        {MEASURE(xsim_hard, "xsim-hard")},
                                   {MEASURE(search, "search")},    {MEASURE(sts, "sts")},
                                   {MEASURE(classify, "classify")}};

/* ---- what they share ---- */

static char *append_way(char *label, const char *way) {
  const size_t n = label ? strlen(label) : 0, n_both = n + strlen(way) + 2;
  char *both = realloc(label, n_both);
  if (!both) return label;
  snprintf(both + n, n_both - n, " %s", way);
  return both;
}

/* The mean over files: every file counts alike, whatever its number of rows. Numbers of rows are added. */
static row average_of(const row *rows, size_t n_rows, const measure *m) {
  row average = {0};
  for (size_t i = 0; i < n_rows; i++) average.n += rows[i].n, average.n_skipped += rows[i].n_skipped;
  for (size_t f = 0; f < m->n_figures; f++) {
    for (size_t i = 0; i < n_rows; i++) average.figures[f] += rows[i].figures[f];
    if (m->figures[f].averaged) average.figures[f] /= (double)n_rows;
  }
  return average;
}

static void table_row(cli_table *table, const measure *m, const row *r, const char *label, bool csv) {
  cli_table_cell(table, "%s", label);
  cli_table_cell(table, "%zu", r->n);
  for (size_t f = 0; f < m->n_figures; f++) {
    const figure *column = &m->figures[f];
    const bool is_share = f + 1 < m->n_figures && !m->figures[f + 1].heading;
    if (!csv && !column->heading) continue;
    if (!csv && is_share)
      cli_table_cell(table, "%.*f/%.*f", column->decimals, r->figures[f], column->decimals, r->figures[f + 1]);
    else if (isnan(r->figures[f]))
      cli_table_cell(table, csv ? "" : "undefined");
    else if (csv)
      cli_table_cell(table, "%.9g", r->figures[f]);
    else
      cli_table_cell(table, "%.*f", column->decimals, column->scale * r->figures[f]);
  }
}

/* Rows: n_rows as they are written, then as many for each way that --perturb names. */
static int print_eval_table(const measure *m, const row *rows, size_t n_rows, size_t n_ways, cli_table_format format) {
  const bool csv = format == CLI_TABLE_CSV;
  cli_table table = {.n_columns = 2};
  cli_table_cell(&table, "%s", csv ? "file" : "");
  cli_table_cell(&table, "%s", csv ? "n" : "rows");
  for (size_t f = 0; f < m->n_figures; f++) table.n_columns += csv || m->figures[f].heading;
  for (size_t f = 0; f < m->n_figures; f++)
    if (csv || m->figures[f].heading) cli_table_cell(&table, "%s", csv ? m->figures[f].name : m->figures[f].heading);
  for (size_t way = 0; way < n_ways; way++, rows += n_rows) {
    const row average = average_of(rows, n_rows, m);
    for (size_t i = 0; i < n_rows; i++) table_row(&table, m, &rows[i], rows[i].label, csv);
    if (n_rows > 1) table_row(&table, m, &average, "average", csv);
  }
  bool failed = table.failed;
  if (!failed) cli_table_print(&table, stdout, format);
  cli_table_free(&table);
  return failed ? cli_fail("out of memory") : CLI_OK;
}

/* NULL: out of memory. */
static json_t *json_row(const measure *m, const row *r) {
  json_t *object = json_object();
  int failed = r->label && json_object_set_new(object, "label", json_string(r->label));
  failed |= json_object_set_new(object, "n", json_integer((json_int_t)r->n));
  failed |= json_object_set_new(object, "n_skipped", json_integer((json_int_t)r->n_skipped));
  for (size_t f = 0; f < m->n_figures; f++)
    failed |= json_object_set_new(object, m->figures[f].name,
                                  isnan(r->figures[f])     ? json_null()
                                  : m->figures[f].averaged ? json_real(r->figures[f])
                                                           : json_integer((json_int_t)r->figures[f]));
  if (!failed) return object;
  json_decref(object);
  return NULL;
}

static int print_eval_json(const measure *m, const struct args *args, const row *rows, size_t n_rows, size_t n_ways) {
  row average = average_of(rows, n_rows, m);
  json_t *results = json_array();
  int failed = 0;
  for (size_t i = 0; i < n_rows * n_ways; i++) failed |= json_array_append_new(results, json_row(m, &rows[i]));
  json_t *top = json_pack("{s:s, s:s*, s:s*, s:o, s:o}", "measure", m->name, "model", args->model, "teacher",
                          args->teacher, "results", results, "average", json_row(m, &average));
  if (failed) {
    json_decref(top);
    return cli_fail("out of memory");
  }
  char *text = json_dumps(top, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
  json_decref(top);
  if (!text) return cli_fail("out of memory");
  puts(text);
  free(text);
  return CLI_OK;
}

static int open_bench(bench *b, const struct args *args, bool of_sts) {
  cq_error error = {0};
  b->options = *args->eval, b->options.notice = cli_notice;
  int code = cli_open_measured(&b->model, of_sts ? &b->reranker : NULL, args->model, args->encoder);
  if (code == CLI_OK && args->teacher) code = cli_open_model(&b->teacher, args->teacher, args->encoder);
  if (code == CLI_OK) code = cli_open_context(&b->ctx, args->threads);
  if (code == CLI_OK && cq_eval_memory_new(&b->options.memory, &error)) code = cli_fail_error(&error);
  if (code || !args->train) return code;
  if (cq_classifier_train(&b->classifier, b->model, args->train, args->logistic, &b->options, b->ctx, &error))
    return cli_fail_error(&error);
  cli_note("%s: %zu classes%s", args->train, cq_classifier_n_classes(b->classifier),
           cq_classifier_converged(b->classifier)
               ? ""
               : "; the regression has not converged: a smaller --c or more --max-iterations may help");
  return CLI_OK;
}

/* Reports if a student has fewer dimensions: it was trained on the teacher's first ones. */
static void tell_dimensions(const bench *b) {
  const int dim = b->teacher && !b->options.truncate_dim ? cq_encoder_dim(b->model) : 0;
  if (dim && dim < cq_encoder_dim(b->teacher))
    cli_note("comparing the first %d of the teacher's %d dimensions", dim, cq_encoder_dim(b->teacher));
}

static int run_measure(const cli_call *call) {
  const struct args *args = call->options;
  const char *name = args->hard ? "xsim-hard" : call->command->name;
  const measure *m = measures;
  while (strcmp(m->name, name) != 0) m++;
  bench b = {0};
  cli_progress progress = cli_progress_start();
  const size_t n_rows = call->n_arguments, n_ways = 1 + args->n_perturb, n_all = n_rows * n_ways;
  cli_table_format format;
  if (cli_tables_format(&format, call, &args->as)) return CLI_USAGE;
  row *rows = calloc(n_all, sizeof *rows);
  if (!rows) return cli_fail("out of memory");
  int code = open_bench(&b, args, !strcmp(name, "sts"));
  if (code == CLI_OK) tell_dimensions(&b);
  for (size_t i = 0; i < n_all && code == CLI_OK; i++) {
    cq_error error = {0};
    const char *file;
    rows[i].label = cli_split_label(&file, call->arguments[i % n_rows]);
    b.options.perturb = i < n_rows ? NULL : args->perturb[i / n_rows - 1];
    if (b.options.perturb) rows[i].label = append_way(rows[i].label, b.options.perturb);
    cli_progress_draw(&progress, m->name, i, n_all, rows[i].label, progress.terminal);
    cq_status status = m->of_file(&rows[i], &b, file, &error);
    cli_progress_clear(&progress);
    if (status)
      code = cli_fail_error(&error);
    else if (rows[i].n_skipped)
      cli_note("%s: %zu malformed lines were skipped", file, rows[i].n_skipped);
  }
  if (code == CLI_OK)
    code = args->as.json ? print_eval_json(m, args, rows, n_rows, n_ways)
                         : print_eval_table(m, rows, n_rows, n_ways, format);
  for (size_t i = 0; i < n_all; i++) free(rows[i].label);
  free(rows);
  cq_eval_memory_free(b.options.memory);
  cq_context_free(b.ctx);
  cq_classifier_free(b.classifier);
  cq_encoder_free(b.model);
  cq_reranker_free(b.reranker);
  cq_encoder_free(b.teacher);
  return code;
}

/* ---- the commands ---- */

#define SHARED_OPTIONS CLI_MODEL(struct args, model), CLI_TABLES(struct args, as), CLI_THREADS(struct args, threads)
static const cq_option options[] = {SHARED_OPTIONS};
static const cq_option mse_options[] = {{CQ_TEXT(struct args, "teacher", teacher, CHANGES, "MODEL",
                                                 "the model whose vectors of the first column are the target"),
                                         .flags = CQ_OPTION_REQUIRED},
                                        SHARED_OPTIONS};
static const cq_option xsim_options[] = {
    {CQ_FLAG(struct args, "hard", hard, CHANGES,
             "search the English first column with near misses among the candidates (another number or name, a "
             "negation added or removed, clauses swapped), and count errors of each kind")},
    SHARED_OPTIONS};
static const cq_option translation_options[] = {
    {CQ_TEXTS(struct args, "perturb", perturb, n_perturb, CHANGES, "HOW,...",
              "measure again with the second column written as people type it: lower (case), upper, accents (without), "
              "punctuation (without the last marks), nfd (decomposed), hyphen (soft hyphens)"),
     .flags = CQ_OPTION_COMMAS, .otherwise = ""},
    SHARED_OPTIONS};
static const cq_option search_options[] = {{CQ_TEXT(struct args, "documents", teacher, CHANGES, "MODEL",
                                                    "the model that encoded the documents, the first column"),
                                            .otherwise = "--model"},
                                           SHARED_OPTIONS};
static const cq_option classify_options[] = {
    {CQ_TEXT(struct args, "train", train, CHANGES, "FILE", "sentences and their classes to train on, in any language"),
     .flags = CQ_OPTION_REQUIRED},
    SHARED_OPTIONS};

static const cq_option_part parts[] = {{.group = &cq_group_eval, .offset = offsetof(struct args, eval)},
                                       {.group = &cq_group_encoder, .offset = offsetof(struct args, encoder)},
                                       {0}};
static const cq_option_part classify_parts[] = {
    {.group = &cq_group_eval, .offset = offsetof(struct args, eval)},
    {.group = &cq_group_encoder, .offset = offsetof(struct args, encoder)},
    {.group = &cq_group_logistic, .offset = offsetof(struct args, logistic)},
    {0}};

#define OF_FILES CLI_ARGUMENTS("[LABEL=]FILE...", 1, -1), .run = run_measure

static const cli_command eval_mse = {
    .name = "mse",
    .summary = "mean squared error (MSE) against a teacher's vectors",
    OF_FILES,
    .description = "Mean squared error (MSE), times 100, of the model's vectors of both columns against a teacher's "
                   "vectors of the first. The teacher's own variance is printed next to it: a model that gives every "
                   "sentence the same vector reaches that figure, so only an MSE well below it is good.",
    .example = "calque eval mse --model multilingual --teacher all-MiniLM-L6-v2 de=dev/en-de.tsv.gz",
    CLI_OPTIONS(struct args, mse_options),
    .groups = parts,
};

static const cli_command eval_translation = {
    .name = "translation",
    .summary = "translation accuracy: how often the nearest sentence is the translation",
    OF_FILES,
    .description = "Translation accuracy, in both directions: the share of sentences in one column whose nearest "
                   "sentence in the other column is the translation. Chance is 1 divided by the number of rows.",
    .example = "calque eval translation --model multilingual de=test/en-de.tsv.gz ru=test/en-ru.tsv.gz",
    CLI_OPTIONS(struct args, translation_options),
    .groups = parts,
};

static const cli_command eval_xsim = {
    .name = "xsim",
    .summary = "error rate of finding the translation by margin",
    OF_FILES,
    .description = "xsim: the error rate of 'eval translation' when the nearest sentence is chosen by margin-based "
                   "scoring over the four nearest neighbors (Artetxe & Schwenk 2019), as in mining, instead of by "
                   "cosine. With --hard (xsim++, Chen et al. 2023) the error rate of the second column's sentences "
                   "when the candidates are the first column's English sentences and near misses of them, made by "
                   "rules. 3/10 means: of ten near misses of a kind, three were found instead of the sentence.",
    .example = "calque eval xsim --model multilingual --hard de=test/en-de.tsv.gz",
    CLI_OPTIONS(struct args, xsim_options),
    .groups = parts,
};

static const cli_command eval_search = {
    .name = "search",
    .summary = "search an index of another model: hits at 1 and 10, MRR",
    OF_FILES,
    .description =
        "Search in an index that another model made: the sentences of the first column are documents, encoded by "
        "--documents, those of the second are queries, encoded by --model. A student lives in its teacher's "
        "space, so an English index answers questions in the student's languages without being encoded again. "
        "hits@1 and hits@10: for how many queries the row's own document comes first, or among the first ten; "
        "MRR: mean reciprocal rank.",
    .example = "calque eval search --model multilingual --documents all-MiniLM-L6-v2 de=test/en-de.tsv.gz",
    CLI_OPTIONS(struct args, search_options),
    .groups = parts,
};

static const cli_command eval_sts = {
    .name = "sts",
    .summary = "Spearman's correlation with human similarity scores (STS)",
    OF_FILES,
    .description = "Rank correlation (Spearman) between the cosine of two sentences and a gold score. Files have the "
                   "columns SENTENCE, SENTENCE and SCORE, separated by tabs. A reranker is measured by its logits, "
                   "with the query in the first column.",
    .example = "calque eval sts --model multilingual --json sts/en-de.tsv",
    CLI_OPTIONS(struct args, options),
    .groups = parts,
};

static const cli_command eval_classify = {
    .name = "classify",
    .summary = "cross-lingual classification: classes learned in one language, tested in others",
    OF_FILES,
    .description = "Trains a logistic regression on the model's frozen vectors of the sentences of --train, and "
                   "measures it on files in other languages. Their lines are SENTENCE and CLASS, separated by a tab. "
                   "Prints accuracy, macro-averaged F1 and the share of the most frequent class.",
    .example = "calque eval classify --model multilingual --train topics-en.tsv.gz de=topics-de.tsv.gz",
    CLI_OPTIONS(struct args, classify_options),
    .groups = classify_parts,
};

extern const cli_command cli_eval_compare, cli_eval_bucc, cli_eval_mt, cli_eval_retrieval;
static const cli_command *const children[] = {
    &eval_mse,         &eval_translation, &eval_xsim,          &eval_search, &eval_sts, &eval_classify,
    &cli_eval_compare, &cli_eval_bucc,    &cli_eval_retrieval, &cli_eval_mt, NULL,
};

const cli_command cli_eval = {
    .name = "eval",
    .summary = "measure a model: translation, mse, xsim, sts, classify; two models: compare; mined pairs: bucc; "
               "ranked runs: retrieval; machine translation: mt",
    .description = "Measures a model on files of tab-separated lines, plain or compressed. Prints a row for each file, "
                   "and the average. compare tests two models' difference, bucc measures mined pairs, retrieval ranked "
                   "runs, mt machine translation.",
    .example = "calque eval translation --model multilingual de=test/en-de.tsv.gz",
    .children = children,
};
