/* calque eval mse | translation | xsim | sts | classify: measures over any number of files, a row each, and their average.
 *
 * A measure is a row of the `measures` table's kind: a heading, a function that fills one file's cells, and a command.
 * All share the options, the table, and the JSON. */
#include "cli/frame/command.h"
#include "cli/frame/report.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct args {
  size_t size;
  const char *model, *teacher, *prompt, *train;
  int threads, max_length;
  uint64_t max_rows;
  double c;
  bool json, csv, skip_bad;
};

enum { MOST_FIGURES = 5 };

/* One column of a measure's table. */
typedef struct figure {
  const char *name;    /* in JSON and CSV */
  const char *heading; /* in the table */
  double scale;        /* of the table */
  int decimals;
  bool averaged;
} figure;

typedef struct row {
  char *label;
  size_t n, n_skipped;
  double figures[MOST_FIGURES];
} row;

/* What every file of one call is measured with. */
typedef struct bench {
  cq_encoder *model, *teacher;
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

static cq_status sts_of_file(row *out, const bench *b, const char *file, cq_error *error) {
  cq_sts_result r = {0};
  cq_status status = cq_eval_sts(&r, b->model, file, &b->options, b->ctx, error);
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
static const figure sts_figures[] = {
    {"spearman", "Spearman x100", 100, 2, true},
    {"pearson", "Pearson x100", 100, 2, true},
};

static const figure classify_figures[] = {
    {"accuracy", "accuracy %", 100, 2, true},
    {"macro_f1", "macro F1 x100", 100, 2, true},
    {"most_frequent", "most frequent %", 100, 2, true},
};

static const measure mse = {"mse", mse_figures, sizeof mse_figures / sizeof *mse_figures, mse_of_file};
static const measure translation = {"translation", translation_figures,
                                    sizeof translation_figures / sizeof *translation_figures, translation_of_file};
static const measure xsim = {"xsim", xsim_figures, sizeof xsim_figures / sizeof *xsim_figures, xsim_of_file};
static const measure sts = {"sts", sts_figures, sizeof sts_figures / sizeof *sts_figures, sts_of_file};
static const measure classify = {"classify", classify_figures, sizeof classify_figures / sizeof *classify_figures,
                                 classify_of_file};

/* ---- what they share ---- */

/* "[LABEL=]FILE"; without a label, the file's name up to ".tsv". */
static char *split_label(const char **file, const char *argument) {
  const char *equals = cli_label_end(argument);
  *file = argument;
  if (equals) {
    *file = equals + 1;
    return strndup(argument, (size_t)(equals - argument));
  }
  const char *slash = strrchr(argument, '/'), *name = slash ? slash + 1 : argument;
  const char *dot = strstr(name, ".tsv");
  return strndup(name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

/* The mean over files: every file counts alike, whatever its number of rows. */
static row average_of(const row *rows, size_t n_rows, const measure *m) {
  row average = {0};
  for (size_t i = 0; i < n_rows; i++) average.n += rows[i].n, average.n_skipped += rows[i].n_skipped;
  for (size_t f = 0; f < m->n_figures; f++) {
    for (size_t i = 0; i < n_rows; i++) average.figures[f] += rows[i].figures[f];
    average.figures[f] /= (double)n_rows;
  }
  return average;
}

static void table_row(cli_table *table, const measure *m, const row *r, const char *label, bool csv) {
  cli_table_cell(table, "%s", label);
  cli_table_cell(table, "%zu", r->n);
  for (size_t f = 0; f < m->n_figures; f++) {
    const figure *column = &m->figures[f];
    if (isnan(r->figures[f]))
      cli_table_cell(table, csv ? "" : "undefined");
    else if (csv)
      cli_table_cell(table, "%.9g", r->figures[f]);
    else
      cli_table_cell(table, "%.*f", column->decimals, column->scale * r->figures[f]);
  }
}

static int print_table(const measure *m, const row *rows, size_t n_rows, bool csv) {
  cli_table table = {.n_columns = 2 + m->n_figures};
  row average = average_of(rows, n_rows, m);
  cli_table_cell(&table, "%s", csv ? "file" : "");
  cli_table_cell(&table, "%s", csv ? "n" : "rows");
  for (size_t f = 0; f < m->n_figures; f++)
    cli_table_cell(&table, "%s", csv ? m->figures[f].name : m->figures[f].heading);
  for (size_t i = 0; i < n_rows; i++) table_row(&table, m, &rows[i], rows[i].label, csv);
  if (n_rows > 1) table_row(&table, m, &average, "average", csv);
  bool failed = table.failed;
  if (!failed) cli_table_print(&table, stdout, csv);
  cli_table_free(&table);
  return failed ? cli_fail("out of memory") : CLI_OK;
}

static json_t *json_row(const measure *m, const row *r) {
  json_t *object = json_object();
  if (r->label) json_object_set_new(object, "label", json_string(r->label));
  json_object_set_new(object, "n", json_integer((json_int_t)r->n));
  json_object_set_new(object, "n_skipped", json_integer((json_int_t)r->n_skipped));
  for (size_t f = 0; f < m->n_figures; f++)
    json_object_set_new(object, m->figures[f].name, isnan(r->figures[f]) ? json_null() : json_real(r->figures[f]));
  return object;
}

static int print_json(const measure *m, const struct args *args, const row *rows, size_t n_rows) {
  row average = average_of(rows, n_rows, m);
  json_t *top = json_object(), *results = json_array();
  json_object_set_new(top, "measure", json_string(m->name));
  json_object_set_new(top, "model", json_string(args->model));
  if (args->teacher) json_object_set_new(top, "teacher", json_string(args->teacher));
  for (size_t i = 0; i < n_rows; i++) json_array_append_new(results, json_row(m, &rows[i]));
  json_object_set_new(top, "results", results);
  json_object_set_new(top, "average", json_row(m, &average));
  char *text = json_dumps(top, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
  json_decref(top);
  if (!text) return cli_fail("out of memory");
  puts(text);
  free(text);
  return CLI_OK;
}

static int open_bench(bench *b, const struct args *args) {
  b->options = cq_eval_default_options();
  b->options.max_rows = args->max_rows, b->options.skip_bad = args->skip_bad, b->options.prompt = args->prompt;
  int code = cli_open_model(&b->model, args->model, args->max_length);
  if (code == CLI_OK && args->teacher) code = cli_open_model(&b->teacher, args->teacher, args->max_length);
  if (code == CLI_OK) code = cli_open_context(&b->ctx, args->threads);
  if (code || !args->train) return code;
  cq_error error = {0};
  cq_logistic_options o = cq_logistic_default_options();
  o.c = args->c;
  if (cq_classifier_train(&b->classifier, b->model, args->train, &o, &b->options, b->ctx, &error))
    return cli_fail_error(&error);
  cli_note("%s: %zu classes%s", args->train, cq_classifier_n_classes(b->classifier),
           cq_classifier_converged(b->classifier) ? "" : "; the regression is not at its end yet: a smaller --c helps");
  return CLI_OK;
}

static int evaluate(const cli_call *call, const measure *m) {
  const struct args *args = call->options;
  bench b = {0};
  cli_progress progress = cli_progress_start();
  size_t n_rows = call->n_arguments;
  if (args->json && args->csv) return cli_usage(call->path, "--json and --csv exclude each other");
  row *rows = calloc(n_rows, sizeof *rows);
  if (!rows) return cli_fail("out of memory");
  int code = open_bench(&b, args);
  for (size_t i = 0; i < n_rows && code == CLI_OK; i++) {
    cq_error error = {0};
    const char *file;
    rows[i].label = split_label(&file, call->arguments[i]);
    cli_progress_draw(&progress, m->name, i, n_rows, rows[i].label, progress.terminal);
    cq_status status = m->of_file(&rows[i], &b, file, &error);
    cli_progress_clear(&progress);
    if (status)
      code = cli_fail_error(&error);
    else if (rows[i].n_skipped)
      cli_note("%s: %zu malformed lines were skipped", file, rows[i].n_skipped);
  }
  if (code == CLI_OK) code = args->json ? print_json(m, args, rows, n_rows) : print_table(m, rows, n_rows, args->csv);
  for (size_t i = 0; i < n_rows; i++) free(rows[i].label);
  free(rows);
  cq_context_free(b.ctx);
  cq_classifier_free(b.classifier);
  cq_encoder_free(b.model);
  cq_encoder_free(b.teacher);
  return code;
}

/* ---- the commands ---- */

#define SHARED_OPTIONS                                                                                                 \
  {.name = "max-rows",                                                                                                 \
   .type = CQ_OPTION_COUNT,                                                                                            \
   .argument = "N",                                                                                                    \
   .offset = offsetof(struct args, max_rows),                                                                          \
   .min = 1,                                                                                                           \
   .otherwise = "all",                                                                                                 \
   .help = "use the first N rows of each file"},                                                                       \
      CLI_PROMPT(struct args, prompt), CLI_MAX_LENGTH(struct args, max_length), CLI_JSON(struct args, json),           \
      {.name = "csv",                                                                                                  \
       .type = CQ_OPTION_FLAG,                                                                                         \
       .offset = offsetof(struct args, csv),                                                                           \
       .help = "print comma-separated values"},                                                                        \
      CLI_SKIP_BAD(struct args, skip_bad), CLI_THREADS(struct args, threads)

static const cq_option options[] = {CLI_MODEL(struct args, model), SHARED_OPTIONS};
static const cq_option mse_options[] = {
    CLI_MODEL(struct args, model),
    {.name = "teacher",
     .type = CQ_OPTION_TEXT,
     .flags = CQ_OPTION_REQUIRED,
     .argument = "MODEL",
     .offset = offsetof(struct args, teacher),
     .help = "the model whose vectors of the first column are the target"},
    SHARED_OPTIONS,
};

static const cq_option classify_options[] = {
    CLI_MODEL(struct args, model),
    {.name = "train",
     .type = CQ_OPTION_TEXT,
     .flags = CQ_OPTION_REQUIRED,
     .argument = "FILE",
     .offset = offsetof(struct args, train),
     .help = "sentences and their classes to learn from, in any language"},
    {.name = "c",
     .type = CQ_OPTION_NUMBER,
     .argument = "X",
     .offset = offsetof(struct args, c),
     .min = 1e-9,
     .max = 1e9,
     .help = "how much what was learned from weighs beside the size of the weights"},
    SHARED_OPTIONS,
};

static void classify_defaults(void *values) {
  ((struct args *)values)->c = cq_logistic_default_options().c;
}

static int run_mse(const cli_call *call) {
  return evaluate(call, &mse);
}

static int run_translation(const cli_call *call) {
  return evaluate(call, &translation);
}

static int run_xsim(const cli_call *call) {
  return evaluate(call, &xsim);
}

static int run_sts(const cli_call *call) {
  return evaluate(call, &sts);
}

static int run_classify(const cli_call *call) {
  return evaluate(call, &classify);
}

static const cli_command eval_mse = {
    .name = "mse",
    .summary = "distance to a teacher's vectors",
    .arguments = "[LABEL=]FILE...",
    .min_arguments = 1,
    .max_arguments = -1,
    .description =
        "Mean squared difference, times 100, between the model's vectors of both columns of a file and a "
        "teacher's vectors of the first. The teacher's own variance stands beside it: a model that gives one "
        "constant vector can reach that figure, so only what is well below it counts.",
    .example = "calque eval mse --model multilingual --teacher all-MiniLM-L6-v2 de=dev/en-de.tsv.gz",
    CLI_OPTIONS(struct args, mse_options),
    .run = run_mse,
};

static const cli_command eval_translation = {
    .name = "translation",
    .summary = "how often the nearest sentence is the translation",
    .arguments = "[LABEL=]FILE...",
    .min_arguments = 1,
    .max_arguments = -1,
    .description =
        "For each sentence of one column, whether the most similar one of the other column is its translation, "
        "both ways. Chance is one in as many as there are rows.",
    .example = "calque eval translation --model multilingual de=test/en-de.tsv.gz ru=test/en-ru.tsv.gz",
    CLI_OPTIONS(struct args, options),
    .run = run_translation,
};

static const cli_command eval_xsim = {
    .name = "xsim",
    .summary = "how often the best margin is not the translation",
    .arguments = "[LABEL=]FILE...",
    .min_arguments = 1,
    .max_arguments = -1,
    .description = "As 'eval translation', but the error rate, and by the margin of the cosine over those of the four "
                   "nearest neighbours (Artetxe & Schwenk 2019), as in mining.",
    .example = "calque eval xsim --model multilingual de=test/en-de.tsv.gz",
    CLI_OPTIONS(struct args, options),
    .run = run_xsim,
};

static const cli_command eval_sts = {
    .name = "sts",
    .summary = "agreement with people's judgements of similarity",
    .arguments = "[LABEL=]FILE...",
    .min_arguments = 1,
    .max_arguments = -1,
    .description =
        "Rank correlation (Spearman) between the cosine of two sentences and a gold score, over files of lines "
        "SENTENCE, SENTENCE, SCORE, separated by tabs.",
    .example = "calque eval sts --model multilingual --json sts/en-de.tsv",
    CLI_OPTIONS(struct args, options),
    .run = run_sts,
};

static const cli_command eval_classify = {
    .name = "classify",
    .summary = "classes learned in one language and found in others",
    .arguments = "[LABEL=]FILE...",
    .min_arguments = 1,
    .max_arguments = -1,
    .description =
        "A logistic regression on the model's vectors, as they are, learns from the sentences of --train, and "
        "is measured on files in other languages: lines of SENTENCE, CLASS, separated by a tab. Beside "
        "the accuracy and the mean of the classes' F1 stands the share of the most frequent class.",
    .example = "calque eval classify --model multilingual --train topics-en.tsv.gz de=topics-de.tsv.gz",
    CLI_OPTIONS(struct args, classify_options),
    .defaults = classify_defaults,
    .run = run_classify,
};

extern const cli_command cli_eval_bucc, cli_eval_mt, cli_eval_retrieval;
static const cli_command *const children[] = {
    &eval_mse,      &eval_translation,   &eval_xsim,   &eval_sts, &eval_classify,
    &cli_eval_bucc, &cli_eval_retrieval, &cli_eval_mt, NULL,
};

const cli_command cli_eval = {
    .name = "eval",
    .summary =
        "measure a model: mse, translation, xsim, sts, classify; what it mined: bucc; what was retrieved: retrieval; "
        "translations: mt",
    .description =
        "Measures a model on files of tab-separated lines, plain or gzipped: a row per file and the average. bucc "
        "measures pairs that were mined, retrieval ranked documents, mt translations.",
    .example = "calque eval translation --model multilingual de=test/en-de.tsv.gz",
    .children = children,
};
