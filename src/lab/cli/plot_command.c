/* calque autoencode plot space | losses: figures as SVG. */
#include "base/random.h"
#include "calque/extra/pca.h"
#include "calque/lab/chart.h"
#include "calque/lab/tsne.h"
#include "cli/frame/input_sentences.h"
#include "cli/frame/output.h"
#include "cli/frame/report.h"
#include "cli/frame/stop.h"
#include "lab/cli/autoencode_command.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUT_OPTION(owner)                                                                                           \
  {                                                                                                                    \
    CQ_TEXT(owner, "output", output, CHANGES, "FILE", "write the figure here, as SVG"), .letter = 'o',                 \
                                                                                        .otherwise = "standard output" \
  }

/* Draws the charts and writes them. */
static int write_figure(const char *path, const cq_chart *charts, size_t n) {
  cq_error error = {0};
  char *svg;
  cq_status status = cq_chart_svg(&svg, charts, n, &error);
  if (!status) status = cli_output_text(path, svg, &error);
  cq_free(svg);
  return status ? cli_fail_error(&error) : CLI_OK;
}

/* --- space --- */

enum { BY_PCA, BY_TSNE };
static const char *const methods[] = {"pca", "tsne", NULL};

struct space_args {
  size_t size;
  const char *model, *languages, *output;
  int by, sentences, threads;
  bool join, skip_bad;
  const cq_tsne_options *tsne;
};

static const cq_option space_options[] = {
    {CQ_TEXT(struct space_args, "model", model, CHANGES, "DIR", "what `calque autoencode train` has written"),
     .letter = 'm', .flags = CQ_OPTION_REQUIRED},
    {CQ_TEXT(struct space_args, "languages", languages, CHANGES, "A,B", "codes of the first and second column"),
     .letter = 'l', .otherwise = "the model's first two"},
    {CQ_CHOICE(
        struct space_args, "by", by, CHANGES, BY_PCA, methods, "METHOD",
        "principal components (PCA), which keep distances as far as a plane can, or t-SNE, which keeps neighbors")},
    {CQ_INT(struct space_args, "sentences", sentences, CHANGES, 500, 2, 1 << 20, "N",
            "maximum number of pairs to draw; if there are more, a random sample")},
    {CQ_FLAG(struct space_args, "join", join, CHANGES, "draw a line from each sentence to its translation")},
    OUTPUT_OPTION(struct space_args),
    CLI_SKIP_BAD(struct space_args, skip_bad),
    CLI_THREADS(struct space_args, threads),
};
static const char *const not_of_plots[] = {"exaggeration", "exaggerated", "lr", NULL};
static const cq_option_part space_groups[] = {
    {.group = &cq_group_tsne, .offset = offsetof(struct space_args, tsne), .left_out = not_of_plots}, {0}};

/* The kept pairs: n rows of two texts, owned. */
typedef struct sample {
  char **texts; /* [n, 2] */
  size_t *lengths;
  size_t n;
} sample;

static bool keep_sampled_pair(sample *s, size_t place, const cq_slice *pair) {
  for (size_t c = 0; c < 2; c++) {
    char *copy = malloc(pair[c].n + 1);
    if (!copy) return false;
    memcpy(copy, pair[c].data, pair[c].n);
    free(s->texts[2 * place + c]);
    s->texts[2 * place + c] = copy, s->lengths[2 * place + c] = pair[c].n;
  }
  return true;
}

/* Every pair is kept with the same probability (Vitter 1985, algorithm R). */
static int take_sample(sample *s, cli_sentences *in, size_t max, uint64_t seed) {
  cq_error error = {0};
  uint64_t n_seen = 0;
  cq_random generator = {seed};
  s->texts = calloc(2 * max, sizeof *s->texts);
  s->lengths = calloc(2 * max, sizeof *s->lengths);
  if (!s->texts || !s->lengths) return cli_fail("out of memory");
  for (;;) {
    if (cli_sentences_next(in, &error)) return cli_fail_error(&error);
    if (in->n == 0) break;
    for (size_t i = 0; i < in->n; i++) {
      const uint64_t place = n_seen < max ? n_seen : cq_random_u64(&generator) % (n_seen + 1);
      n_seen++;
      if (place >= max) continue;
      if (place == s->n) s->n++;
      if (!keep_sampled_pair(s, (size_t)place, &in->slices[2 * i])) return cli_fail("out of memory");
    }
  }
  if (s->n == 0) return cli_fail("no pair is left, %" PRIu64 " lines were skipped", in->n_skipped);
  if (in->n_skipped) cli_note("%" PRIu64 " malformed lines were skipped", in->n_skipped);
  return CLI_OK;
}

static void sample_free(sample *s) {
  for (size_t i = 0; s->texts && i < 2 * s->n; i++) free(s->texts[i]);
  free(s->texts);
  free(s->lengths);
}

/* out [2, n, dim]: the vectors of the first column, then of the second. */
static int encode_sample(float **out, int *dim, const cq_autoencoder *model, const char *const languages[2],
                         const sample *s, cq_context *ctx) {
  cq_error error = {0};
  cq_slice *slices = malloc(s->n * sizeof *slices);
  int code = slices ? CLI_OK : cli_fail("out of memory");
  for (size_t c = 0; c < 2 && code == CLI_OK; c++) {
    const cq_encoder *encoder = cq_autoencoder_encoder(model, languages[c]);
    if (!encoder) {
      code = cli_fail("the model has no language '%s'", languages[c]);
      break;
    }
    *dim = cq_encoder_dim(encoder); /* all have the same */
    if (!*out) *out = malloc(2 * s->n * (size_t)*dim * sizeof **out);
    if (!*out) {
      code = cli_fail("out of memory");
      break;
    }
    for (size_t i = 0; i < s->n; i++) slices[i] = (cq_slice){s->texts[2 * i + c], s->lengths[2 * i + c]};
    if (cq_encoder_encode(*out + c * s->n * (size_t)*dim, NULL, encoder, slices, s->n, NULL, ctx, &error))
      code = cli_fail_error(&error);
  }
  free(slices);
  return code;
}

static bool watch_tsne(void *context, uint64_t iteration, uint64_t n_iterations) {
  cli_progress_draw(context, "iteration", iteration, n_iterations, NULL, false);
  return !cli_stop_asked();
}

/* places [n, 2] of vectors [n, dim], and the figure's labels for its axes (NULL: none) and for the method. */
static int project_vectors(double *places, char labels[2][64], char *method, size_t method_size, const float *vectors,
                           size_t n, int dim, const cli_call *call, cq_context *ctx) {
  const struct space_args *args = call->options;
  cq_error error = {0};
  if (args->by == BY_PCA) {
    double shares[2];
    if (cq_pca(places, shares, vectors, n, dim, 2, ctx, &error)) return cli_fail_error(&error);
    for (int c = 0; c < 2; c++)
      snprintf(labels[c], sizeof labels[c], "%s principal component, %.1f%% of the variance", c ? "second" : "first",
               100 * shares[c]);
    snprintf(method, method_size, "by principal components");
    return CLI_OK;
  }
  cq_tsne_options o = *args->tsne;
  cli_progress progress = cli_progress_start();
  double divergence, max = fmax(1.5, (double)(n - 1) / 3); /* a larger perplexity would take in everything */
  if (!cli_given(call, "perplexity") && o.perplexity > max) o.perplexity = max;
  o.progress = watch_tsne, o.progress_context = &progress;
  cli_stop_catch();
  const cq_status status = cq_tsne(places, &divergence, vectors, n, dim, &o, ctx, &error);
  cli_progress_clear(&progress);
  if (status) return cli_fail_error(&error);
  cli_note("Kullback-Leibler divergence %.4f after %d iterations", divergence, o.n_iterations);
  snprintf(method, method_size, "by t-SNE of perplexity %g", o.perplexity);
  return CLI_OK;
}

/* The height of a figure with the aspect ratio of places [n, 2], within limits. */
static int height_of(const double *places, size_t n) {
  double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
  for (size_t i = 0; i < 2 * n; i++) {
    low[i % 2] = fmin(low[i % 2], places[i]);
    high[i % 2] = fmax(high[i % 2], places[i]);
  }
  const double share = high[0] > low[0] ? (high[1] - low[1]) / (high[0] - low[0]) : 1;
  return 120 + (int)(550 * fmin(1, fmax(0.5, share)));
}

/* Arranges places [2, n, 2] as series need them: x, y for each language, and for translations in turn. */
static int draw_space(const struct space_args *args, const char *const languages[2], const double *places, size_t n,
                      char labels[2][64], const char *method) {
  double *numbers = malloc(8 * n * sizeof *numbers), *x = numbers, *y = numbers + 2 * n, *both_x = numbers + 4 * n,
         *both_y = numbers + 6 * n;
  char title[256];
  if (!numbers) return cli_fail("out of memory");
  for (size_t i = 0; i < 2 * n; i++) {
    const size_t in_turn = 2 * (i % n) + i / n;
    x[i] = both_x[in_turn] = places[2 * i];
    y[i] = both_y[in_turn] = places[2 * i + 1];
  }
  const cq_chart_series series[3] = {
      {.name = "translations", .x = both_x, .y = both_y, .n = 2 * n, .kind = CQ_CHART_JOINS},
      {.name = languages[0], .x = x, .y = y, .n = n, .kind = CQ_CHART_POINTS},
      {.name = languages[1], .x = x + n, .y = y + n, .n = n, .kind = CQ_CHART_POINTS}};
  const bool pca = args->by == BY_PCA;
  snprintf(title, sizeof title, "%zu pairs of %s and %s, %s", n, languages[0], languages[1], method);
  const cq_chart chart = {.title = title,
                          .x_label = pca ? labels[0] : NULL,
                          .y_label = pca ? labels[1] : NULL,
                          .series = args->join ? series : series + 1,
                          .n_series = args->join ? 3 : 2,
                          .height = height_of(places, 2 * n),
                          .same_unit = true,
                          .no_numbers = !pca};
  const int code = write_figure(args->output, &chart, 1);
  free(numbers);
  return code;
}

static int run_space(const cli_call *call) {
  const struct space_args *args = call->options;
  const char *languages[2] = {NULL, NULL};
  char codes[CLI_CODES], labels[2][64], method[64];
  cq_error error = {0};
  cq_autoencoder *model = NULL;
  cq_context *ctx = NULL;
  sample s = {0};
  float *vectors = NULL;
  double *places = NULL;
  int dim = 0;
  cli_sentences in = {.paths = call->arguments,
                      .n_paths = call->n_arguments,
                      .columns = {1, 2},
                      .n_columns = 2,
                      .rows = 1024,
                      .skip_bad = args->skip_bad};
  if (args->by == BY_PCA && (cli_given(call, "perplexity") || cli_given(call, "iterations")))
    return cli_usage(call->path, "--perplexity and --iterations are for --by tsne");
  if (args->by == BY_TSNE && 2 * args->sentences > CQ_TSNE_MAX_VECTORS)
    return cli_usage(call->path, "--sentences is %d, --by tsne takes %d pairs at most", args->sentences,
                     CQ_TSNE_MAX_VECTORS / 2);
  int code = args->languages ? cli_two_codes(languages, codes, call->path, args->languages) : CLI_OK;
  if (code) return code;
  code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK && cq_autoencoder_open(&model, args->model, &error)) code = cli_fail_error(&error);
  for (size_t c = 0; c < 2 && code == CLI_OK && !args->languages; c++) languages[c] = cq_autoencoder_language(model, c);
  if (code == CLI_OK) code = take_sample(&s, &in, (size_t)args->sentences, args->tsne->seed);
  if (code == CLI_OK) code = encode_sample(&vectors, &dim, model, languages, &s, ctx);
  if (code == CLI_OK && !(places = malloc(4 * s.n * sizeof *places))) code = cli_fail("out of memory");
  if (code == CLI_OK) code = project_vectors(places, labels, method, sizeof method, vectors, 2 * s.n, dim, call, ctx);
  if (code == CLI_OK) code = draw_space(args, languages, places, s.n, labels, method);
  free(places);
  free(vectors);
  sample_free(&s);
  cli_sentences_close(&in);
  cq_autoencoder_free(model);
  cq_context_free(ctx);
  return code;
}

static const cli_command plot_space = {
    .name = "space",
    .summary = "plot two languages' sentences in the shared space (PCA or t-SNE)",
    .arguments = "[PAIRS...]",
    .max_arguments = -1,
    .description = "PAIRS are files of two tab-separated columns, or standard input. Each sentence is a point, in the "
                   "color of its language; translations should lie together. t-SNE takes time and memory proportional "
                   "to the square of the number of sentences (at most 5,000), and its long distances mean nothing. For "
                   "fewer than 46 pairs its perplexity is less than 30.",
    .example = "calque autoencode plot space --model fr-it --by tsne --join test.tsv.gz -o space.svg",
    CLI_OPTIONS(struct space_args, space_options),
    .groups = space_groups,
    .run = run_space,
};

/* --- losses --- */

struct losses_args {
  size_t size;
  const char *output;
  int smooth;
};

static const cq_option losses_options[] = {
    {CQ_INT(struct losses_args, "smooth", smooth, CHANGES, 0, 1, 1 << 30, "N",
            "steps averaged for each point of a curve"),
     .otherwise = "about a 200th of all"},
    OUTPUT_OPTION(struct losses_args),
};

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

/* Rounds n up to 1, 2, 5, 10, 20, ... */
static size_t round_steps(size_t n) {
  size_t power = 1;
  while (5 * power < n) power *= 10;
  return n <= power ? power : n <= 2 * power ? 2 * power : 5 * power;
}

/* "Training of fr, it and en", or the number of languages if the names are too long for a title. */
static void make_title(char *out, size_t size, const cq_autoencode_log *log) {
  const size_t n = log->n_languages;
  size_t at = (size_t)snprintf(out, size, "Training of ");
  for (size_t i = 0; i < n && at < size; i++)
    at += (size_t)snprintf(out + at, size - at, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " and ", log->languages[i]);
  if (at >= size) snprintf(out, size, "Training of %zu languages", n);
}

static int draw_losses(const struct losses_args *args, const cq_autoencode_log *log) {
  enum { HIGH = 230, TITLE_HIGH = 28, LABEL_HIGH = 24 };
  const size_t smooth = args->smooth > 0 ? (size_t)args->smooth : round_steps(log->n_steps / 200),
               n_losses = log->n_languages + N_MEASURED, n_points = n_losses * 2 * room_of(log, smooth);
  char title[72], label[64] = "step";
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
    all[i].height = HIGH;
    charts[n++] = all[i];
  }
  if (n == 0) {
    code = cli_fail("%s: all losses are 0", log->path);
    goto done;
  }
  make_title(title, sizeof title, log);
  if (smooth > 1) snprintf(label, sizeof label, "step (losses: means of %zu)", smooth);
  charts[0].title = title, charts[0].height += TITLE_HIGH;
  charts[n - 1].x_label = label, charts[n - 1].height += LABEL_HIGH;
  code = write_figure(args->output, charts, n);
done:
  free(numbers);
  free(series);
  free(marks);
  return code;
}

static int run_losses(const cli_call *call) {
  cq_autoencode_log log;
  cq_error error = {0};
  if (cq_autoencode_log_read(&log, call->arguments[0], &error)) return cli_fail_error(&error);
  cli_note("%s: %zu steps", log.path, log.n_steps);
  const int code = draw_losses(call->options, &log);
  cq_autoencode_log_free(&log);
  return code;
}

static const cli_command plot_losses = {
    .name = "losses",
    .summary = "plot a run's losses and its BLEU on the dev set (learning curve)",
    .arguments = "MODEL",
    .min_arguments = 1,
    .max_arguments = 1,
    .description = "MODEL is what `calque autoencode train` has written or is writing: if MODEL.work exists, its "
                   "current run is drawn. It may also be the log of such a run, log.jsonl in these directories.",
    .example = "calque autoencode plot losses fr-it -o losses.svg",
    CLI_OPTIONS(struct losses_args, losses_options),
    .run = run_losses,
};

static const cli_command *const children[] = {&plot_space, &plot_losses, NULL};

const cli_command cli_autoencode_plot = {
    .name = "plot",
    .summary = "figures as SVG: space, losses",
    .description = "Figures of a model and of its training, as SVG.",
    .example = "calque autoencode plot space --model fr-it test.tsv.gz -o space.svg",
    .children = children,
};
