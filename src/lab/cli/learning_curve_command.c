/* calque plot, calque autoencode plot losses: learning curves from the logs of training runs, as SVG.
 *
 * A figure has a chart for each kind of value, one below the other, over the same steps. Losses are means over several
 * steps; what was measured on dev sets has a dot for each evaluation. */
#include "calque/lab/autoencode.h"
#include "calque/lab/learning_curve.h"
#include "cli/frame/output.h"
#include "cli/frame/report.h"
#include "lab/cli/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct args {
  size_t size;
  const char *output;
  int smooth;
};

static const cq_option options[] = {
    {CQ_INT(struct args, "smooth", smooth, CHANGES, 0, 1, 1 << 30, "N", "steps averaged for each point of a curve"),
     .otherwise = "about a 200th of all"},
    CLI_FIGURE_OUTPUT(struct args),
};

int cli_write_figure(const char *path, const cq_chart *charts, size_t n) {
  static const char *const others[] = {".png", ".pdf", ".jpg", ".eps"};
  cq_error error = {0};
  char *svg;
  for (size_t i = 0; path && i < sizeof others / sizeof *others; i++)
    if (strlen(path) > 4 && !strcasecmp(path + strlen(path) - 4, others[i]))
      return cli_fail("%s: figures are written as SVG; name it .svg, and convert it, for example with rsvg-convert",
                      path);
  cq_status status = cq_chart_svg(&svg, charts, n, &error);
  if (!status) status = cli_output_text(path, svg, &error);
  cq_free(svg);
  return status ? cli_fail_error(&error) : CLI_OK;
}

enum { CHART_HEIGHT = 230, TITLE_HEIGHT = 28, LABEL_HEIGHT = 24 };

/* Rounds n up to 1, 2, 5, 10, 20, ... */
static size_t round_steps(size_t n) {
  size_t power = 1;
  while (5 * power < n) power *= 10;
  return n <= power ? power : n <= 2 * power ? 2 * power : 5 * power;
}

/* The title above the first chart, and the x axis's label below the last. */
static void label_charts(cq_chart *charts, size_t n, const char *title, char label[64], size_t smooth) {
  snprintf(label, 64, smooth > 1 ? "step (losses: means of %zu)" : "step", smooth);
  charts[0].title = title, charts[0].height += TITLE_HEIGHT;
  charts[n - 1].x_label = label, charts[n - 1].height += LABEL_HEIGHT;
}

/* --- autoencoders --- */

/* From the top, in the figure's order. */
enum { OF_TOKENS, OF_VECTORS, OF_DISCRIMINATOR, OF_DEV, N_CHARTS };

/* The measures of vectors, and their charts. */
static const struct measured {
  const char *name;
  size_t place; /* in cq_autoencode_log_step */
  int chart;
} measured[] = {
    {"contrast", offsetof(cq_autoencode_log_step, contrast), OF_VECTORS},
    {"squared distance", offsetof(cq_autoencode_log_step, distance), OF_VECTORS},
    {"from the teacher", offsetof(cq_autoencode_log_step, distillation), OF_VECTORS},
    {"discriminator", offsetof(cq_autoencode_log_step, discriminator), OF_DISCRIMINATOR},
};
enum { N_MEASURED = sizeof measured / sizeof *measured };

/* A figure of a step: -log p of each language, then the measures of vectors; NaN: not in this step. */
static double figure_of(const cq_autoencode_log *log, size_t step, size_t which) {
  if (which < log->n_languages) return log->nll[step * log->n_languages + which];
  return *(const double *)((const char *)&log->steps[step] + measured[which - log->n_languages].place);
}

/* A loss curve: means over `smooth` steps of a stage that have the loss, with a gap after the stage. A stage without
 * the loss has only zeros, and is left out. Returns the number of points. */
static size_t follow_log(double *x, double *y, const cq_autoencode_log *log, size_t which, size_t smooth) {
  size_t n = 0;
  for (size_t s = 0; s < log->n_stages; s++) {
    const size_t end = s + 1 < log->n_stages ? log->stages[s + 1].begin : log->n_steps, first = n;
    double steps = 0, sum = 0;
    size_t n_summed = 0;
    bool any = false;
    for (size_t i = log->stages[s].begin; i < end; i++) {
      const double loss = figure_of(log, i, which);
      if (!isnan(loss)) steps += (double)(i + 1), sum += loss, n_summed++, any |= loss != 0;
      if (n_summed == 0 || (n_summed < smooth && i + 1 < end)) continue;
      x[n] = steps / (double)n_summed, y[n++] = sum / (double)n_summed;
      steps = sum = 0, n_summed = 0;
    }
    x[n] = (double)end, y[n++] = NAN;
    if (!any) n = first;
  }
  return n;
}

/* The points of a loss, at most. */
static size_t room_of(const cq_autoencode_log *log, size_t smooth) {
  return log->n_steps / smooth + 2 * log->n_stages;
}

/* One line for each loss present. numbers [n_languages + N_MEASURED, 2, room]. Returns the series after them. */
static cq_chart_series *add_losses(cq_chart charts[N_CHARTS], cq_chart_series *series, double *numbers,
                                   const cq_autoencode_log *log, size_t smooth) {
  const size_t n_languages = log->n_languages, room = room_of(log, smooth);
  for (size_t i = 0; i < n_languages + N_MEASURED; i++) {
    const bool of_tokens = i < n_languages;
    cq_chart *chart = &charts[of_tokens ? OF_TOKENS : measured[i - n_languages].chart];
    double *x = numbers + i * 2 * room, *y = x + room;
    const size_t n = follow_log(x, y, log, i, smooth);
    if (n == 0) continue;
    if (chart->n_series++ == 0) chart->series = series;
    *series++ = (cq_chart_series){.name = of_tokens ? log->languages[i] : measured[i - n_languages].name,
                                  .x = x,
                                  .y = y,
                                  .n = n,
                                  .kind = CQ_CHART_LINE};
  }
  return series;
}

/* numbers [1 + n_ways, n_devs] */
static void add_bleu(cq_chart *chart, cq_chart_series *series, double *numbers, const cq_autoencode_log *log) {
  const size_t n = log->n_devs;
  for (size_t d = 0; d < n; d++) numbers[d] = (double)log->devs[d].n_steps;
  for (size_t w = 0; w < log->n_ways; w++) {
    double *bleu = numbers + (1 + w) * n;
    for (size_t d = 0; d < n; d++)
      bleu[d] = log->scores[(d * log->n_ways + w) * CQ_AUTOENCODE_N_MEASURES + CQ_AUTOENCODE_BLEU];
    series[w] = (cq_chart_series){.name = log->ways[w], .x = numbers, .y = bleu, .n = n, .kind = CQ_CHART_MARKED_LINE};
  }
  chart->series = series, chart->n_series = log->n_ways;
}

/* "Training of fr, it and en", or the number of languages if the names are too long for a title. */
static void make_title(char *out, size_t size, const cq_autoencode_log *log) {
  const size_t n = log->n_languages;
  size_t at = (size_t)snprintf(out, size, "Training of ");
  for (size_t i = 0; i < n && at < size; i++)
    at += (size_t)snprintf(out + at, size - at, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " and ", log->languages[i]);
  if (at >= size) snprintf(out, size, "Training of %zu languages", n);
}

static int draw_losses(const struct args *args, const cq_autoencode_log *log) {
  const size_t smooth = args->smooth > 0 ? (size_t)args->smooth : round_steps(log->n_steps / 200),
               n_losses = log->n_languages + N_MEASURED, n_points = n_losses * 2 * room_of(log, smooth);
  char title[72], label[64];
  cq_chart all[N_CHARTS] = {[OF_TOKENS] = {.y_label = "\u2212log p of a token, nats"},
                            [OF_VECTORS] = {.y_label = "loss of vectors"},
                            [OF_DISCRIMINATOR] = {.y_label = "languages identified from vectors, share"},
                            [OF_DEV] = {.y_label = "BLEU on dev"}},
           charts[N_CHARTS];
  cq_chart_mark *marks = calloc(2 * log->n_stages, sizeof *marks), *bare;
  cq_chart_series *series = calloc(n_losses + log->n_ways, sizeof *series);
  double *numbers = malloc((n_points + (1 + log->n_ways) * log->n_devs) * sizeof *numbers);
  size_t n = 0;
  int code = marks && series && numbers ? CLI_OK : cli_fail("out of memory");
  if (code) goto done;
  add_bleu(&all[OF_DEV], add_losses(all, series, numbers, log, smooth), numbers + n_points, log);
  bare = marks + log->n_stages;
  for (size_t s = 0; s < log->n_stages; s++) {
    bare[s].x = marks[s].x = (double)log->stages[s].begin;
    marks[s].name = log->stages[s].name;
  }
  for (int i = 0; i < N_CHARTS; i++) {
    if (all[i].n_series == 0) continue;
    all[i].x[1] = (double)log->n_steps;
    all[i].marks = n ? bare : marks, all[i].n_marks = log->n_stages;
    all[i].height = CHART_HEIGHT;
    charts[n++] = all[i];
  }
  if (n == 0) {
    code = cli_fail("%s: all losses are 0", log->path);
    goto done;
  }
  make_title(title, sizeof title, log);
  label_charts(charts, n, title, label, smooth);
  code = cli_write_figure(args->output, charts, n);
done:
  free(numbers);
  free(series);
  free(marks);
  return code;
}

static int draw_log(const cli_call *call, const char *path) {
  cq_autoencode_log log;
  cq_error error = {0};
  if (cq_autoencode_log_read(&log, path, &error)) return cli_fail_error(&error);
  cli_note("%s: %zu steps", log.path, log.n_steps);
  const int code = draw_losses(call->options, &log);
  cq_autoencode_log_free(&log);
  return code;
}

static int run_losses(const cli_call *call) {
  return draw_log(call, call->arguments[0]);
}

const cli_command cli_plot_losses = {
    .name = "losses",
    .summary = "plot a run's losses and its BLEU on the dev set (learning curve)",
    CLI_ARGUMENTS("MODEL", 1, 1),
    .description = "MODEL is what `calque autoencode train` has written or is writing: if MODEL.work exists, its "
                   "current run is drawn. It may also be the log of such a run, log.jsonl in these directories.",
    .example = "calque autoencode plot losses fr-it -o losses.svg",
    CLI_OPTIONS(struct args, options),
    .run = run_losses,
};

/* --- encoders --- */

enum { MAX_RUNS = 8, MAX_LINES = 8 }; /* as many as there are colors */

typedef struct run {
  char *label;
  cq_learning_curve *curve;
} run;

static size_t count_curves(const cq_learning_curve *c, cq_curve_kind kind) {
  size_t n = 0;
  const cq_curve *curve;
  for (size_t i = 0; (curve = cq_learning_curve_get(c, i)); i++) n += curve->kind == kind;
  return n;
}

/* Whether a curve is drawn: one run's curves, if the chart has colors for them; otherwise losses, and means of what has
 * several dev sets. */
static bool is_drawn(const cq_curve *curve, const run *of, size_t n_runs) {
  const size_t n = count_curves(of->curve, curve->kind);
  return curve->kind == CQ_CURVE_LOSS || n == 1 || (n_runs == 1 && n <= MAX_LINES) ||
         !strcmp(curve->name, "mean of dev sets");
}

/* Means over n_summed points at a time; returns their number. */
static size_t smooth_curve(double *x, double *y, const cq_curve *curve, size_t n_summed, double scale) {
  size_t n = 0;
  for (size_t start = 0, end; start < curve->n; start = end, n++) {
    end = start + n_summed < curve->n ? start + n_summed : curve->n;
    x[n] = y[n] = 0;
    for (size_t i = start; i < end; i++) x[n] += curve->steps[i], y[n] += curve->values[i];
    x[n] /= (double)(end - start), y[n] *= scale / (double)(end - start);
  }
  return n;
}

/* "german", "pairs" or, of several runs with several losses, "german: pairs". */
static char *series_name(const run *of, const cq_curve *curve, size_t n_runs) {
  const bool both = n_runs > 1 && curve->kind == CQ_CURVE_LOSS && count_curves(of->curve, CQ_CURVE_LOSS) > 1;
  const size_t size = strlen(of->label) + strlen(curve->name) + 3;
  char *name = malloc(size);
  if (name)
    snprintf(name, size, "%s%s%s", n_runs > 1 ? of->label : "", both ? ": " : "",
             both || n_runs == 1 ? curve->name : "");
  return name;
}

/* Adds the curves of a kind to the chart's series, which has room. The caller frees names and numbers even after an
 * error. */
static bool add_curves(cq_chart *chart, cq_chart_series *series, cq_curve_kind kind, const run *runs, size_t n_runs,
                       size_t smooth) {
  chart->series = series;
  for (size_t r = 0; r < n_runs; r++) {
    const cq_curve *curve;
    for (size_t i = 0; (curve = cq_learning_curve_get(runs[r].curve, i)); i++) {
      if (curve->kind != kind || !is_drawn(curve, &runs[r], n_runs)) continue;
      cq_chart_series *s = &series[chart->n_series++];
      double *numbers = malloc(2 * curve->n * sizeof *numbers);
      s->name = series_name(&runs[r], curve, n_runs), s->x = numbers, s->y = numbers ? numbers + curve->n : NULL;
      if (!s->name || !numbers) return false;
      const bool loss = kind == CQ_CURVE_LOSS, share = !loss && kind != CQ_CURVE_MSE;
      s->n = smooth_curve(numbers, numbers + curve->n, curve, loss ? smooth : 1, share ? 100 : 1);
      s->kind = loss && s->n > 1 ? CQ_CHART_LINE : CQ_CHART_MARKED_LINE;
    }
  }
  return true;
}

static int draw_curves(const struct args *args, const run *runs, size_t n_runs) {
  static const char *const labels[CQ_N_CURVE_KINDS] = {[CQ_CURVE_LOSS] = "loss",
                                                       [CQ_CURVE_TRANSLATION] = "accuracy on dev, %",
                                                       [CQ_CURVE_LOGITS] = "Spearman x100 with teacher",
                                                       [CQ_CURVE_STS] = "Spearman x100 on dev",
                                                       [CQ_CURVE_MSE] = "MSE x100 on dev"};
  cq_chart charts[CQ_N_CURVE_KINDS];
  char label[64];
  size_t n = 0, n_series = 0, n_losses = 0;
  double last = 5; /* with fewer steps, the x axis would have fractions of steps */
  const cq_curve *curve;
  for (size_t r = 0; r < n_runs; r++)
    for (size_t i = 0; (curve = cq_learning_curve_get(runs[r].curve, i)); i++, n_series++) {
      last = fmax(last, curve->steps[curve->n - 1]);
      if (curve->kind == CQ_CURVE_LOSS && curve->n > n_losses) n_losses = curve->n;
    }
  const size_t smooth = args->smooth > 0 ? (size_t)args->smooth : round_steps(n_losses / 200);
  cq_chart_series *series = calloc(n_series + 1, sizeof *series), *at = series;
  int code = series ? CLI_OK : cli_fail("out of memory");
  for (cq_curve_kind kind = 0; kind < CQ_N_CURVE_KINDS && code == CLI_OK; kind++) {
    charts[n] = (cq_chart){.y_label = labels[kind], .x = {0, last}, .height = CHART_HEIGHT};
    if (!add_curves(&charts[n], at, kind, runs, n_runs, smooth)) code = cli_fail("out of memory");
    at += charts[n].n_series;
    n += charts[n].n_series > 0;
  }
  if (code == CLI_OK && n == 0) code = cli_fail("the logs have nothing to draw");
  if (code == CLI_OK) {
    label_charts(charts, n, n_runs == 1 ? runs[0].label : NULL, label, smooth);
    code = cli_write_figure(args->output, charts, n);
  }
  for (size_t i = 0; series && i < n_series; i++) free((char *)series[i].name), free((double *)series[i].x);
  free(series);
  return code;
}

static int run_plot(const cli_call *call) {
  run runs[MAX_RUNS] = {{0}};
  const size_t n_runs = call->n_arguments;
  int code = CLI_OK;
  bool of_autoencoders = false;
  cq_error error = {0};
  for (size_t r = 0; r < n_runs && code == CLI_OK; r++) {
    const char *path;
    if (!(runs[r].label = cli_split_label(&path, call->arguments[r]))) code = cli_fail("out of memory");
    if (code == CLI_OK && cq_learning_curve_read(&runs[r].curve, path, &error)) code = cli_fail_error(&error);
    if (code == CLI_OK) of_autoencoders |= cq_learning_curve_of_autoencoders(runs[r].curve);
  }
  if (code == CLI_OK && of_autoencoders && n_runs > 1)
    code = cli_fail("runs of autoencoders are drawn one at a time");
  else if (code == CLI_OK && of_autoencoders)
    code = draw_log(call, cq_learning_curve_path(runs[0].curve));
  else if (code == CLI_OK)
    code = draw_curves(call->options, runs, n_runs);
  for (size_t r = 0; r < n_runs; r++) {
    free(runs[r].label);
    cq_learning_curve_free(runs[r].curve);
  }
  return code;
}

const cli_command cli_plot = {
    .name = "plot",
    .summary = "learning curves of training runs, as SVG",
    CLI_ARGUMENTS("[LABEL=]RUN...", 1, MAX_RUNS),
    .description =
        "Draws the learning curves of a run of distill, extend, finetune or autoencode train, from its log: the loss, "
        "and translation accuracy (of a reranker, Spearman's correlation with its teacher's logits), Spearman's "
        "correlation (STS) and MSE on the dev sets. RUN is the model that a run "
        "has written or is writing: if RUN.work exists, its current run is drawn. It may also be the log, log.jsonl in "
        "these directories. With several runs, each has a line in every chart, of the mean over its dev sets.",
    .example = "calque plot --output curve.svg multilingual",
    CLI_OPTIONS(struct args, options),
    .run = run_plot,
};
